"""Settings of the source ``table``: a person's own clients, a file each, or one file with a column that names them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ...checks import Count, Range, check_fields
from ...datasets.own.grammar import check_party_names, increasing, twice
from ...datasets.own.records.settings import OwnRecords
from .settings import CaseSettings

RESERVED = ("server",)


@dataclass(frozen=True, kw_only=True)
class OwnSettings(OwnRecords, CaseSettings):
    """Own data of several clients, who hold different records of the same columns.

    party, parties : of one file, the column that names the client of a row, and the entries of that column, in the
        order in which clients take part
    edges, n_slices, response_bounds, levels : slices of the response: cuts, or equal parts of its range, or the entries
        of a category
    least : public bound from below on the records of every client, behind delta
    n_directions : d; n_shown : records that figures draw; screen : whether columns are screened first
    """

    party: str | None = None
    parties: tuple[str, ...] = ()
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
        self.check_records(party=self.party)
        self._check_files()
        self._check_slices()
        if self.n_directions > min(self.slices - 1, self.n_columns):
            raise ValueError(
                f"n_directions is {self.n_directions}: {self.slices} slices of {self.n_columns} columns show at most "
                f"{min(self.slices - 1, self.n_columns)}."
            )

    def _check_files(self) -> None:
        if self.tables:
            for key in ("party", "parties"):
                if getattr(self, key):
                    given = getattr(self, key)
                    raise ValueError(f"{key} is {given!r}: every table has its own party; leave it out.")
            if (file := twice([one.file for one in self.tables])) is not None:
                raise ValueError(f"tables has the file {file!r} twice: its records would count at two clients.")
        elif self.party is None or not self.parties:
            raise ValueError(
                f"party is {self.party!r} and parties is {list(self.parties)}: name the column of the client, and "
                "list its entries, which are public."
            )
        check_party_names("tables" if self.tables else "parties", self.party_names, RESERVED)

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
    def id_names(self) -> tuple[str | None, ...]:
        """Name of the column of ids of every client."""
        return tuple(self.id_of(one) for one in self.tables) or (self.id,) * len(self.parties)

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
        """As the settings say."""
        return self.screen

    @property
    def party_names(self) -> tuple[str, ...]:
        """The clients, in the order in which they take part."""
        return tuple(one.party for one in self.tables) or self.parties

    # How many records a client has is public, and another number at each.
    rows_differ = True

    def by_party(self, n_parties: int) -> dict[str, tuple[str, ...]]:
        """Keys of the files of the clients that take part, where they run apart; of one file each has its own rows."""
        keys = [f"tables[{k}].file" for k in range(len(self.tables))] or ["file"] * len(self.parties)
        return {name: (key,) for name, key in list(zip(self.party_names, keys, strict=True))[:n_parties]}

    @property
    def clients(self) -> int:
        """Number of clients."""
        return len(self.party_names)
