"""Settings of own tables whose columns lie at several parties: one CSV file a party, rows matched by their ids."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ...checks import Count, check_name
from ...models.criteria import CLASSES
from .grammar import ColumnBlock, FileBlock, OwnFiles, check_apart, check_persons


@dataclass(frozen=True, kw_only=True)
class TableFile(FileBlock):
    """The file of one party, who holds columns.

    columns : that are used, in this order
    """

    columns: tuple[ColumnBlock, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.columns:
            raise ValueError("columns is empty: a party holds at least one.")


@dataclass(frozen=True, kw_only=True)
class OwnTables(OwnFiles):
    """What the settings of every source of own tables share.

    tables : the parties' files, in the order of the pooled columns
    response, response_party : column that is explained, and the party whose file has it, the active one
    match : what ids that some files lack mean, ``refuse`` (an error) or ``common`` (the ids of all files are used)
    positive : entry of the response that counts as 1, where its entries are not 0 and 1
    user, rows_per_user : column that names the person behind a record, in the file with the response, and the public
        bound on the records of one: those after the first ones are left out, and all of a person are held out together
    """

    id: str = field()
    tables: tuple[TableFile, ...]
    response: str
    response_party: str
    match: Literal["refuse", "common"] = "refuse"
    positive: str | float | None = None
    user: str | None = None
    rows_per_user: Count | None = None

    def check_tables(self, reserved: tuple[str, ...]) -> None:
        """Raise a named error for files that make no parties; ``reserved`` are names that protocols use themselves."""
        self.check_files()
        if self.positive is not None and not self.binary_labels:
            raise ValueError(
                f"positive is {self.positive!r}: it names a class, and the response is a number; leave it out."
            )
        if len(self.tables) < 2:
            raise ValueError(f"tables has {len(self.tables)} files: give one for each of at least two parties.")
        names, columns = [one.party for one in self.tables], [column.name for column in self.columns]
        for key, values in (("party", names), ("column", columns)):
            twice = [value for value in values if values.count(value) > 1]
            if twice:
                raise ValueError(f"tables has the {key} {twice[0]!r} twice: give each its own name.")
        taken = [name for name in names if name in reserved]
        if taken:
            raise ValueError(f"tables has the party {taken[0]!r}: that name belongs to a protocol; choose another.")
        check_name("response", self.response)
        if self.response_party not in names:
            raise ValueError(f"response_party is {self.response_party!r}: the tables are of {', '.join(names)}.")
        if self.response in [column.name for column in self.tables[self.response_holder].columns]:
            raise ValueError(
                f"response is {self.response!r}, which {self.response_party!r} has among its columns: it cannot "
                "predict itself."
            )
        self._check_user()

    def _check_user(self) -> None:
        """Raise a named error for a column of persons that is another thing too."""
        check_persons(self.user, self.rows_per_user)
        if self.user is None:
            return
        check_name("user", self.user)
        active = self.tables[self.response_holder]
        if self.user == (active.id or self.id):
            raise ValueError(f"user is {self.user!r}, the id: an id stands once, so that every person has one row.")
        if self.user == self.response or self.user in [column.name for column in active.columns]:
            raise ValueError(f"user is {self.user!r}, which is the response or a column already: give another one.")

    def check_folds(self, folds: int) -> None:
        """Raise a named error for more folds than there are sure to be records, or persons, to hold out."""
        sure = -(-self.min_records // (self.rows_per_user or 1))
        if folds > sure:
            of = "" if self.rows_per_user is None else f", at most {self.rows_per_user} of a person,"
            raise ValueError(
                f"folds is {folds}: min_records is {self.min_records}{of} and no more are sure before the files are "
                "read; take fewer folds, or raise min_records to what the files have."
            )

    @property
    def columns(self) -> tuple[ColumnBlock, ...]:
        """Of all files, in order."""
        return tuple(column for one in self.tables for column in one.columns)

    @property
    def binary_labels(self) -> bool:
        """Whether labels are classes, 0 and 1."""
        return getattr(self, "loss_in_force", None) == CLASSES

    @property
    def files(self) -> dict[str, str]:
        """Files that the data are made from, by their keys in the configuration."""
        return {f"tables[{k}].file": one.file for k, one in enumerate(self.tables)}

    def by_party(self, n_parties: int) -> dict[str, tuple[str, ...]]:
        """Keys of the files of every party, where they run apart; ValueError where these cannot be told apart."""
        check_apart({one.party: one.file for one in self.tables}, self.match)
        return {one.party: (f"tables[{k}].file",) for k, one in enumerate(self.tables)}

    @property
    def response_holder(self) -> int:
        """Number of the party that has the response."""
        return [one.party for one in self.tables].index(self.response_party)

    def response_of(self, one: TableFile) -> str | None:
        """The response, in the file that has it."""
        return self.response if one.party == self.response_party else None
