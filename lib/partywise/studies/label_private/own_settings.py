"""Settings of the source ``table``: a person's own table, in one file, or one of the features and one of the labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...core.checks import check_fields, check_unread_options
from ...data.own.grammar import check_apart, check_party_names
from ...data.own.settings import FileHolder, OwnRecords, class_entries
from .settings import LabelCaseSettings


@dataclass(frozen=True, kw_only=True)
class OwnLabelSettings(OwnRecords, LabelCaseSettings):
    """Own data, whose features are public and whose labels are not.

    response : column of the labels
    positive : entry of the response that counts as 1, where the entries are not 0 and 1
    tables : the file of the features and that of the labels, matched by ``id``, where not one file has both
    response_party : the party whose file has the labels, where there are two tables
    match : what ids that one of two files lacks mean, ``refuse`` (an error) or ``common`` (those of both are used)
    """

    response: str
    response_party: str | None = None
    positive: str | float | None = None
    match: Literal["refuse", "common"] = "refuse"

    def __post_init__(self) -> None:
        check_fields(self)
        self.check_records()
        if self.file is not None:
            check_unread_options(self, ("match", "response_party"), "two tables")
            return
        names = [table.party for table in self.tables]
        if len(names) != 2:
            raise ValueError(f"tables has {len(names)} entries: give two, one with features and one with the labels.")
        check_party_names("tables", tuple(names), ())
        if self.response_party not in names:
            raise ValueError(f"response_party is {self.response_party!r}: the tables are of {' and '.join(names)}.")
        if any(self.id_of(table) is None for table in self.tables):
            raise ValueError("id is None: two tables are matched by ids; name their column.")

    @property
    def response_columns(self) -> dict[str, str]:
        """The label."""
        return {"response": self.response}

    @property
    def role_entries(self) -> dict[str, tuple[object, ...]]:
        """An entry of each class."""
        return {"response": class_entries(self.positive)}

    @property
    def holders(self) -> tuple[FileHolder, ...]:
        """The party with the features and the party with the labels, or the one with both."""
        if not self.tables:
            return (self.holder("", None, self.columns, id=self.id, user=self.user, response=self.response),)
        features, labels = sorted(self.tables, key=lambda table: table.party == self.response_party)
        return (
            self.holder(features.party, features, self.columns, id=self.id_of(features), user=self.user),
            self.holder(labels.party, labels, (), id=self.id_of(labels), response=self.response),
        )

    @property
    def party_names(self) -> tuple[str, str]:
        """Names of the party with the features and of the party with the labels."""
        return (self.holders[0].party, self.holders[1].party) if self.tables else ("trainer", "measurer")

    def by_party(self, n_parties: int) -> dict[str, tuple[str, ...]]:
        """Keys of the files of both, in a distributed run; ValueError if they cannot be distinguished."""
        if self.file is not None:
            raise ValueError(
                f"file is {self.file!r}, which holds features and labels: in a distributed run, each party reads "
                "its own file alone; give tables, one with the features and one with the labels."
            )
        check_apart(self.match)
        if self.missing != "refuse":
            raise ValueError(
                f"missing is {self.missing!r}: in a distributed run, no party knows which rows the other drops; leave "
                "them out of both files, and missing too."
            )
        return super().by_party(n_parties)
