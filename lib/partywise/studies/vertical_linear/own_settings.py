"""Settings of the source ``table``: a person's own tables, one CSV file a party, described by keys alone."""

from __future__ import annotations

from dataclasses import dataclass

from ...datasets.columns.settings import ColumnSettings
from ...datasets.own.grammar import increasing
from ...datasets.own.indicators import runs, width
from ...datasets.own.table_files import OwnTables
from ...models.criteria import CLASSES, NUMBERS

# The name of the key holder on the channel between the parties.
RESERVED = ("server",)


@dataclass(frozen=True, kw_only=True)
class TableSettings(OwnTables, ColumnSettings):
    """Own data: a file of each party, whose rows carry ids.

    response_bounds : public range of the response in regression, which becomes [-1, 1]
    """

    response_bounds: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        for name, wanted in (("dims", None), ("active", "last")):
            if getattr(self, name) != wanted:
                raise ValueError(f"{name} is {getattr(self, name)!r}: tables say who holds what; leave it out.")
        super().__post_init__()
        self.check_tables(RESERVED)
        for column in self.columns:
            if column.bounds is None and column.levels is None:
                raise ValueError(
                    f"column {column.name!r} has no bounds: a linear model scales it by its public range; declare one, "
                    "or levels."
                )
            if column.edges is not None:
                raise ValueError(f"edges of column {column.name!r} are read by trees only; leave them out.")
        increasing("response_bounds", self.response_bounds)
        if (self.response_bounds is None) != (self.loss_in_force == CLASSES):
            raise ValueError(
                f"response_bounds is {self.response_bounds!r}: give the public range of the response with loss "
                f"{NUMBERS!r}, and only there."
            )

    @property
    def n_columns(self) -> int:
        """Features of the data."""
        return sum(map(width, self.columns))

    def party_names(self, n_parties: int) -> tuple[str, ...]:
        """The names that the files give."""
        return tuple(one.party for one in self.tables)

    def groups(self, n_parties: int) -> tuple[tuple[int, ...], ...]:
        """Features of each party: those of its file; ValueError for another number of parties."""
        return runs(self.tables, n_parties)

    def active_index(self, n_parties: int) -> int:
        """Number of the party that has the response."""
        return self.response_holder
