"""Settings of the source ``table``: a person's own clients, a file each, or one file with a column that names them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from ...core.checks import Count, Range, check_fields
from ...data.own.grammar import ColumnBlock, increasing, twice
from ...data.own.settings import OwnClients
from ...models.kinds import Kind
from .settings import SlicingCaseSettings


@dataclass(frozen=True, kw_only=True)
class OwnSlicingSettings(OwnClients, SlicingCaseSettings):
    """Own data of several clients, who hold different records of the same columns.

    response : column that is explained
    edges, n_slices, response_bounds, levels : slices of the response: cuts, or equal parts of its range, or the entries
        of a category
    least : public bound from below on the records of every client, behind delta
    n_directions : d; n_shown : records that figures draw; screen : whether columns are screened first
    """

    response: str
    edges: tuple[Annotated[float, Range()], ...] = ()
    response_bounds: tuple[float, float] | None = None
    n_slices: Annotated[int, Range(2)] | None = None
    levels: tuple[str, ...] = ()
    least: Annotated[int, Range(2)]
    n_directions: Count = 1
    n_shown: Count = 1000
    screen: bool = False
    rows_per_user: Count | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        self.check_clients()
        self._check_slices()
        if self.n_directions > min(self.slices - 1, self.n_columns):
            raise ValueError(
                f"n_directions is {self.n_directions}: {self.slices} slices of {self.n_columns} columns show at most "
                f"{min(self.slices - 1, self.n_columns)}."
            )

    @property
    def kinds(self) -> dict[str, Kind]:
        """Kinds of the columns by name; empty unless all are declared, of categories none is."""
        declared = {column.name: Kind(because=column.because) for column in self.columns if column.kind is not None}
        return declared if len(declared) == self.n_columns else {}

    def check_kinds(self, columns: Sequence[ColumnBlock]) -> None:
        """Raise a named error for a kind without a law within slices."""
        for column in columns:
            if column.kind not in (None, "normal"):
                raise ValueError(
                    f"kind of column {column.name!r} is {column.kind!r}: only normal columns have a law within slices; "
                    "leave it out for no intervals."
                )

    def _check_slices(self) -> None:
        equal = self.response_bounds is not None or self.n_slices is not None
        ways = [bool(self.edges), equal, bool(self.levels)]
        if sum(ways) != 1:
            raise ValueError(
                f"response {self.response!r} is sliced in {sum(ways)} ways: give edges, or response_bounds with "
                "n_slices, or the levels of a category; all are public."
            )
        if self.edges and list(self.edges) != sorted(set(self.edges)):
            raise ValueError(f"edges is {list(self.edges)}: give increasing numbers.")
        if equal and (self.response_bounds is None or self.n_slices is None):
            raise ValueError(
                f"response_bounds is {self.response_bounds} and n_slices is {self.n_slices}: give both, the public "
                "range of the response and into how many equal parts it is cut."
            )
        increasing("response_bounds", self.response_bounds)
        if self.levels and (len(self.levels) < 2 or twice(self.levels) is not None):
            raise ValueError(f"levels is {list(self.levels)}: give at least two and none twice.")

    @property
    def response_columns(self) -> dict[str, str]:
        """The response."""
        return {"response": self.response}

    @property
    def role_entries(self) -> dict[str, tuple[object, ...]]:
        """Two responses, or all levels."""
        ends = self.response_bounds or (() if self.levels else (self.cuts[0] - 1.0, self.cuts[-1] + 1.0))
        return {"response": self.levels or ends}

    @property
    def cuts(self) -> tuple[float, ...]:
        """Public slice edges; none of a category."""
        if self.response_bounds is None or self.n_slices is None:
            return self.edges
        low, high = self.response_bounds
        return tuple(low + (high - low) * k / self.n_slices for k in range(1, self.n_slices))

    @property
    def n_columns(self) -> int:
        """Columns p of the data: a category is an indicator of each level but the first."""
        return sum(column.width for column in self.columns)

    @property
    def slices(self) -> int:
        """Number of slices H."""
        return len(self.levels) if self.levels else len(self.cuts) + 1

    @property
    def least_size(self) -> int:
        """Public bound on the records of a client from below."""
        return self.least

    @property
    def screened(self) -> bool:
        """Whether columns are screened before anything else is released."""
        return self.screen
