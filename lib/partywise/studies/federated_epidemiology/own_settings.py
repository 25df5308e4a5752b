"""Settings of the source ``table``: own records of several clients in a file each or in one, and questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, ClassVar

from ...core.checks import CheckedFields, Positive, Range, check_fields, check_name
from ...data.own.grammar import ColumnBlock
from ...data.own.settings import FileHolder, OwnClients
from .settings import EpidemiologyCaseSettings, Target
from .tables import column_questions

if TYPE_CHECKING:
    from ...methods.epidemiology.questions import Questions

# What a column needs for what questions ask of it.
LEVELS, BANDS, RANGE = "levels: [...]", "edges: [...], the ends of its bands", "bounds: [low, high]"


@dataclass(frozen=True, kw_only=True)
class IncidenceBlock(CheckedFields):
    """Curves of causes by which records leave, as `Incidence` of the library has them.

    time, cause : columns; causes : public entries of the cause, every other entry is a censoring
    horizon : public end of follow-up, in the unit of the times
    bins : of the times until the horizon
    person_time : whether rates are asked for as well
    """

    time: str
    cause: str
    causes: tuple[str, ...]
    horizon: Positive
    bins: Annotated[int, Range(1)] = 12
    person_time: bool = True

    def __post_init__(self) -> None:
        check_fields(self)
        check_name("time", self.time)
        check_name("cause", self.cause)


@dataclass(frozen=True, kw_only=True)
class QuestionBlock(CheckedFields):
    """The question set in the words of the class `Questions`; levels, bands and ranges are those of the columns.

    by : column of the groups that are compared
    table_one : columns that are described by group, with ``levels`` or ``edges``; means : those with ``bounds``
    cross : further tables, such as [arm, died, stage]; incidence : curves
    complete : columns of tables that are never empty; others have the level "missing"
    may_be_missing : columns of means that may be empty
    whole : columns with edges that hold whole numbers
    sd : whether means have standard deviations; by_party : whether every table is released by client
    where : lists of levels by column that a record must have; impossible : combinations of levels that cannot occur
    column_holders : columns of each party, times and causes included, where all hold different columns of the same
        records, in the same order; without it each holds all columns of other records
    """

    by: str | None = None
    table_one: tuple[str, ...] = ()
    means: tuple[str, ...] = ()
    cross: tuple[tuple[str, ...], ...] = ()
    incidence: tuple[IncidenceBlock, ...] = ()
    complete: tuple[str, ...] = ()
    may_be_missing: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    sd: bool = True
    where: dict[str, list[str]] = field(default_factory=dict)
    impossible: tuple[dict[str, str], ...] = ()
    by_party: bool = False
    column_holders: dict[str, list[str]] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash(repr(self))

    @property
    def tables(self) -> tuple[str, ...]:
        """Columns that tables have, each once."""
        crossed = [name for names in self.cross for name in names]
        conditions = [*self.where, *(name for row in self.impossible for name in row)]
        group = [] if self.by is None else [self.by]
        return tuple(dict.fromkeys([*group, *self.table_one, *crossed, *conditions]))

    def roles(self) -> Iterator[tuple[str, str]]:
        """Yield key and column of the times and causes of curves, each column once."""
        columns = dict[str, str]()
        for place, incidence in enumerate(self.incidence):
            for key in ("time", "cause"):
                columns.setdefault(getattr(incidence, key), f"questions.incidence[{place}].{key}")
        for column, key in columns.items():
            yield key, column


@dataclass(frozen=True, kw_only=True)
class AskedColumns(CheckedFields):
    """Columns with what is public of them, and the questions that are asked of them.

    columns : with public ``levels``, ``edges`` of bands or ``bounds`` of means, and ``because``
    questions : that the release answers
    """

    columns: tuple[ColumnBlock, ...] = ()
    questions: QuestionBlock

    def __post_init__(self) -> None:
        self._check_columns()
        # Levels, bands and ranges that contradict each other are an error before any file is opened.
        _ = self.question_set
        super().__post_init__()

    def _check_columns(self) -> None:
        """Raise a named error for a question whose column lacks what it needs, and for a column without a question."""
        asked, declared = self.questions, {column.name: column for column in self.columns}
        wanted = {"table_one": f"{LEVELS} or {BANDS}", "means": RANGE, "whole": BANDS, "may_be_missing": RANGE}
        suits = {
            "table_one": lambda column: column.levels or column.edges,
            "means": lambda column: column.bounds,
            "whole": lambda column: column.edges,
            "may_be_missing": lambda column: column.bounds,
        }
        names = {key: getattr(asked, key) for key in wanted} | {"table_one": asked.tables}
        for key, needs in wanted.items():
            for name in names[key]:
                what = "questions" if key == "table_one" else f"questions.{key}"
                if name not in declared:
                    raise ValueError(f"{what} has {name!r}, which is not among the columns: list it with {needs}.")
                if not suits[key](declared[name]):
                    raise ValueError(f"{what} has {name!r}, whose column lacks what it needs: give it {needs}.")
        for name in asked.complete:
            if name not in (*asked.tables, *asked.means):
                raise ValueError(f"questions.complete has {name!r}, which is not a column of a table: leave it out.")
        unread = [name for name in declared if name not in (*asked.tables, *asked.means)]
        if unread:
            raise ValueError(
                f"columns has {unread[0]!r}, which the questions do not read: ask for it, or leave it out."
            )

    @cached_property
    def question_set(self) -> Questions:
        """The question set with its public levels, bands and ranges."""
        from ...methods.epidemiology.questions import Bands

        asked = self.questions
        apart = {"complete", "whole", "column_holders"}
        block = {key: value for key, value in asdict(asked).items() if key not in apart}
        levels = {
            column.name: column.levels or Bands(column.edges or (), whole=column.name in asked.whole)
            for column in self.columns
            if column.levels or column.edges
        }
        bounds = {column.name: column.bounds for column in self.columns}
        return column_questions(block, levels, bounds, self._never_empty)

    @property
    def _never_empty(self) -> set[str]:
        """Columns that are complete, or of which means are taken and that may not be missing."""
        asked = self.questions
        return {*asked.complete, *(name for name in asked.means if name not in asked.may_be_missing)}


@dataclass(frozen=True, kw_only=True)
class OwnEpidemiologySettings(OwnClients, AskedColumns, EpidemiologyCaseSettings):
    """Own records of several clients, of which one release answers the questions.

    target : whether intervals are about a population, or about these records
    """

    target: Target = "population"

    needs_columns: ClassVar[bool] = False
    takes_edges: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self)
        self.check_clients()
        if self.user is not None and self.organisations:
            raise ValueError(f"user is {self.user!r}: with column_holders a record is one person; leave user out.")
        if (self.rows_per_user or 1) > 1 and self.target == "population":
            raise ValueError(
                f"target is 'population' with rows_per_user {self.rows_per_user}: rows of one person are not "
                "independent; give target: cohort, or rows_per_user: 1, which keeps the first row of each person."
            )
        AskedColumns.__post_init__(self)
        if self.organisations:
            self._check_organisations()

    def _check_organisations(self) -> None:
        """Raise a named error for columns that are not at one party each, or whose records could not be matched."""
        from ...methods.epidemiology.protocols.products import items_by_party

        where, parties = "questions.column_holders", [table.party for table in self.tables]
        if sorted(self.organisations) != sorted(parties):
            raise ValueError(f"{where} has {sorted(self.organisations)}: give one entry for each party of tables.")
        if self.id is None or self.missing == "drop":
            key, value = ("id", self.id) if self.id is None else ("missing", self.missing)
            raise ValueError(
                f"{key} is {value!r}: parties with different columns of the same records need the id of each and "
                "leave none out; name the column, and give missing: refuse."
            )
        items_by_party(self.question_set.layout(parties), self.organisations)

    @property
    def response_columns(self) -> dict[str, str]:
        """Times and causes of curves."""
        return dict(self.questions.roles())

    @property
    def role_entries(self) -> dict[str, tuple[object, ...]]:
        """Times until the horizon, and the causes."""
        entries = dict[str, tuple[object, ...]]()
        for place, row in enumerate(self.questions.incidence):
            entries[f"questions.incidence[{place}].time"] = (row.horizon / 2, row.horizon)
            entries[f"questions.incidence[{place}].cause"] = row.causes
        return entries

    @property
    def holders(self) -> tuple[FileHolder, ...]:
        """The clients; columns of tables may be empty unless they are complete, and an empty cause is a censoring."""
        optional = {column.name for column in self.columns} | {row.cause for row in self.questions.incidence}
        may_be_empty = frozenset(optional - self._never_empty)
        holders = tuple(replace(holder, may_be_empty=may_be_empty) for holder in super().holders)
        return tuple(map(self._own_columns, holders)) if self.organisations else holders

    def _own_columns(self, holder: FileHolder) -> FileHolder:
        """A holder with its columns alone."""
        names = (*self.organisations[holder.party], self.id_of(holder.block))
        columns = tuple(column for column in holder.columns if column.name in names)
        return replace(
            holder, columns=columns, roles={role: name for role, name in holder.roles.items() if name in names}
        )

    @property
    def natural_clients(self) -> tuple[str, ...]:
        """The clients."""
        return self.party_names

    @property
    def organisations(self) -> Mapping[str, tuple[str, ...]]:
        """Columns of each party, where all hold the same records."""
        return {party: tuple(names) for party, names in self.questions.column_holders.items()}

    @property
    def same_records(self) -> bool:  # type: ignore[override]
        """Whether records are those of all parties."""
        return bool(self.organisations)

    @property
    def rows_differ(self) -> bool:  # type: ignore[override]
        """Whether each party has a number of records of its own."""
        return not self.organisations
