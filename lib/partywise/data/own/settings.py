"""Settings of own tables: who holds which columns and rows, in a file of each party or of all, and what is public.

Standard library only, checked before any job starts; the files themselves are read by the jobs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import ClassVar, Literal

from ...core.checks import Count, check_name
from ..column_facts import INDICATOR, ColumnFacts
from ..columns.settings import ColumnSettings, RowSettings
from .grammar import (
    ColumnBlock,
    FileBlock,
    OwnFiles,
    check_apart,
    check_party_names,
    check_persons,
    increasing,
    twice,
    without_patterns,
)

# Places without data, whose names no client may have.
RESERVED = ("server", "aggregator")
# A placeholder of a number that is explained: every family of responses takes these.
NUMBERS = (1, 2)


@dataclass(frozen=True)
class FileHolder:
    """The content of one party's file that is read.

    block : keys of the file; None for those of the case
    columns : features; roles : the column of each role, such as ``response``, ``id`` or ``user``, in this order
    may_be_empty : columns without an entry of which a record is complete
    """

    party: str
    file: str
    block: FileBlock | None
    columns: tuple[ColumnBlock, ...]
    roles: Mapping[str, str]
    may_be_empty: frozenset[str] = frozenset()

    @property
    def label(self) -> str:
        """Party and file, for messages."""
        return f"{self.party} ({self.file})"

    @property
    def names(self) -> list[str]:
        """Names of the columns of which a complete record has an entry."""
        names = [*(column.name for column in self.columns), *self.roles.values()]
        return [name for name in names if name not in self.may_be_empty]


@dataclass(frozen=True, kw_only=True)
class RecordTable(OwnFiles):
    """Settings that every source of own tables shares: a layout is what its `holders` have, and whether rows match.

    tables : the file of each party
    user, rows_per_user : column that names the person behind a record, and the public bound on the records of one
    """

    tables: tuple[FileBlock, ...]
    user: str | None = None
    rows_per_user: Count | None = None

    # Whether all parties have the same records, matched by ids; else each has records of its own.
    same_records: ClassVar[bool] = True
    # Whether fits read how columns are distributed.
    reads_kinds: ClassVar[bool] = False

    def check_kinds(self, columns: Sequence[ColumnBlock]) -> None:
        """Raise a named error for a kind of a column that nothing reads."""
        for column in () if self.reads_kinds else columns:
            if column.kind is not None:
                raise ValueError(
                    f"kind of column {column.name!r} is {column.kind!r}: this study reads none; leave it out."
                )

    @property
    def holders(self) -> tuple[FileHolder, ...]:
        """The parties with what each has, in the order in which they take part."""
        raise NotImplementedError

    @property
    def role_entries(self) -> Mapping[str, Sequence[object]]:
        """Entries that columns of roles may have, by the role, from public settings: those of placeholders."""
        raise NotImplementedError

    @property
    def files(self) -> dict[str, str]:
        """Files that the data are made from, by their keys in the configuration."""
        return {f"tables[{k}].file": table.file for k, table in enumerate(self.tables)}

    def by_party(self, n_parties: int) -> dict[str, tuple[str, ...]]:
        """Keys of the files of every party, in a distributed run; ValueError if they cannot be distinguished."""
        keys = {table.party: key for table, key in zip(self.tables, self.files, strict=False)}
        return {holder.party: (keys.get(holder.party, "file"),) for holder in self.holders[:n_parties]}


def class_entries(positive: str | float | None) -> tuple[object, object]:
    """An entry of each of two classes, for a file without data."""
    if positive is None:
        return 0, 1
    return (f"not {positive}" if isinstance(positive, str) else positive + 1), positive


@dataclass(frozen=True, kw_only=True)
class OwnRecords(RecordTable):
    """Settings of records with the same columns: all settings are public and fixed before data are seen.

    file : of all rows, or tables : the file of each party
    columns : that are used, each with ``bounds`` (values outside are clipped) or the ``levels`` of a category
    user, rows_per_user : column that names the person behind a row, and the public bound m on the rows of one: those
        after the first m in the order of the file are left out
    """

    file: str | None = None
    tables: tuple[FileBlock, ...] = ()
    columns: tuple[ColumnBlock, ...]

    # Whether at least one column is needed beside those that are explained, and whether columns may have edges.
    needs_columns: ClassVar[bool] = True
    takes_edges: ClassVar[bool] = False

    @property
    def response_columns(self) -> dict[str, str]:
        """Columns that are explained, by the keys that name them."""
        raise NotImplementedError

    def check_records(self, **taken: str | None) -> None:
        """Raise a named error for files and columns that contradict each other; ``taken`` are other columns."""
        object.__setattr__(self, "columns", without_patterns(self.columns))
        self.check_files(self.tables, self.file)
        if (self.file is None) == (not self.tables):
            raise ValueError(
                f"file is {self.file!r} and tables has {len(self.tables)} entries: give one file, or a table of each "
                "party."
            )
        if self.file is not None:
            check_name("file", self.file)
        if self.needs_columns and not self.columns:
            raise ValueError("columns is empty: list at least one.")
        names = [column.name for column in self.columns]
        if (again := twice(names)) is not None:
            raise ValueError(f"columns has {again!r} twice: list it once.")
        roles = dict[str, str]()
        for key, other in (self.response_columns | {"id": self.id, "user": self.user} | taken).items():
            if other is None:
                continue
            check_name(key, other)
            if other in names:
                raise ValueError(f"columns has {other!r}, which is the {key}: take it out of one of them.")
            if roles.setdefault(other, key) != key:
                raise ValueError(f"{key} is {other!r}, which is the {roles[other]} too: give another column.")
        for place, column in enumerate(self.columns):
            _check_column(f"columns[{place}]", column, self.takes_edges)
        self.check_kinds(self.columns)
        check_persons(self.user, self.rows_per_user)

    def holder(
        self, party: str, block: FileBlock | None, columns: tuple[ColumnBlock, ...], /, **roles: str | None
    ) -> FileHolder:
        """A party with these roles."""
        file = self.file if block is None else block.file
        return FileHolder(party, file or "", block, columns, {role: name for role, name in roles.items() if name})

    @property
    def files(self) -> dict[str, str]:
        """Files that the data are made from, by their keys in the configuration."""
        return super().files if self.file is None else {"file": self.file}


def _check_column(where: str, column: ColumnBlock, takes_edges: bool) -> None:
    increasing(f"{where}.bounds", column.bounds)
    if column.edges is not None and takes_edges:
        return
    if column.edges is not None:
        raise ValueError(f"{where}.edges is {list(column.edges)}: they are read by trees only; leave them out.")
    if column.bounds is None and column.levels is None:
        raise ValueError(
            f"{where} ({column.name}) has neither bounds nor levels: a column is scaled by its public range; declare "
            "bounds: [low, high], or the levels of a category."
        )


@dataclass(frozen=True, kw_only=True)
class OwnClients(OwnRecords):
    """Own records of several clients, who hold different records of the same columns.

    party, parties : of one file, the column that names the client of a row, and the entries of that column, in the
        order in which clients take part
    """

    party: str | None = None
    parties: tuple[str, ...] = ()

    same_records = False
    # How many records a client has is public, and another number at each.
    rows_differ: ClassVar[bool] = True

    def check_clients(self) -> None:
        """Raise a named error for files, columns and clients that contradict each other."""
        self.check_records(party=self.party)
        if self.tables:
            for key in ("party", "parties"):
                if getattr(self, key):
                    value = getattr(self, key)
                    raise ValueError(f"{key} is {value!r}: every table has its own party; leave it out.")
        elif self.party is None or not self.parties:
            raise ValueError(
                f"party is {self.party!r} and parties is {list(self.parties)}: name the column of the client, and "
                "list its entries, which are public."
            )
        check_party_names("tables" if self.tables else "parties", self.party_names, RESERVED)

    @property
    def holders(self) -> tuple[FileHolder, ...]:
        """The clients, with a file each or with rows of one file."""
        blocks = self.tables or (None,) * len(self.parties)
        roles = self.response_columns | {"party": self.party}
        return tuple(
            self.holder(name, block, self.columns, **roles, id=self.id_of(block), user=self.user)
            for name, block in zip(self.party_names, blocks, strict=True)
        )

    @property
    def party_names(self) -> tuple[str, ...]:
        """The clients, in the order in which they take part."""
        return tuple(table.party for table in self.tables) or self.parties

    @property
    def clients(self) -> int:
        """Number of clients."""
        return len(self.party_names)


@dataclass(frozen=True, kw_only=True)
class TableFile(FileBlock):
    """The file of one party, who holds columns.

    columns : that are used, in this order
    """

    columns: tuple[ColumnBlock, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "columns", without_patterns(self.columns))
        if not self.columns:
            raise ValueError("columns is empty: a party holds at least one.")

    @property
    def label_columns(self) -> dict[str, str]:
        """Columns next to the response, by their role."""
        return {}


@dataclass(frozen=True, kw_only=True)
class OwnTables(RecordTable, ColumnSettings):
    """Settings of tables whose columns lie at several parties.

    tables : the parties' files, in the order of the pooled columns
    response, response_party : column that is explained, and the party whose file has it, the active one
    match : what ids that some files lack mean, ``refuse`` (an error) or ``common`` (the ids of all files are used)
    positive : entry of the response that counts as 1, where its entries are not 0 and 1
    response_bounds : public range of a response that is a number
    user, rows_per_user : column that names the person behind a record, in the file with the response, and the public
        bound on the records of one: those after the first ones are left out, and all of a person are held out together
    """

    id: str = field()
    tables: tuple[TableFile, ...]
    response: str
    response_party: str
    match: Literal["refuse", "common"] = "refuse"
    positive: str | float | None = None
    response_bounds: tuple[float, float] | None = None

    # Entries of the response in the order of its classes, where there are more than two.
    class_names: ClassVar[tuple[str, ...]] = ()
    # Names that protocols use themselves.
    reserved_names: ClassVar[tuple[str, ...]] = ()
    # Whether a category becomes an indicator of each level but the first, or stays one column of the levels' numbers.
    indicators: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.check_undivided("tables say who holds what")
        super().__post_init__()
        self.check_files(self.tables)
        if self.positive is not None and not self.binary_labels:
            raise ValueError(
                f"positive is {self.positive!r}: it names a class, and the response is a number; leave it out."
            )
        if len(self.tables) < 2:
            raise ValueError(f"tables has {len(self.tables)} files: give one for each of at least two parties.")
        names, columns = [table.party for table in self.tables], [column.name for column in self.columns]
        for key, values in (("party", names), ("column", columns)):
            twice = [value for value in values if values.count(value) > 1]
            if twice:
                raise ValueError(f"tables has the {key} {twice[0]!r} twice: give each its own name.")
        reserved = [name for name in names if name in self.reserved_names]
        if reserved:
            raise ValueError(f"tables has the party {reserved[0]!r}: that name belongs to a protocol; choose another.")
        check_name("response", self.response)
        if self.response_party not in names:
            raise ValueError(f"response_party is {self.response_party!r}: the tables are of {', '.join(names)}.")
        if self.response in [column.name for column in self.tables[self.response_holder].columns]:
            raise ValueError(
                f"response is {self.response!r}, which {self.response_party!r} has among its columns: it cannot "
                "predict itself."
            )
        for column in self.columns if self.indicators else ():
            if column.edges is not None:
                raise ValueError(f"edges of column {column.name!r} are read by trees only; leave them out.")
        self.check_kinds(self.columns)
        self._check_user()
        increasing("response_bounds", self.response_bounds)

    def _check_user(self) -> None:
        """Raise a named error for a column of persons that is another thing too."""
        check_persons(self.user, self.rows_per_user)
        if self.user is None:
            return
        check_name("user", self.user)
        active = self.tables[self.response_holder]
        if self.user == (active.id or self.id):
            raise ValueError(f"user is {self.user!r}, the id: an id appears once, so every person has one row.")
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
        """Columns of all files, in order."""
        return tuple(column for table in self.tables for column in table.columns)

    @property
    def n_columns(self) -> int:
        """Columns of the data."""
        return len(self.column_names)

    def names_of(self, column: ColumnBlock) -> tuple[str, ...]:
        """Names of the columns of the data that one of a file becomes, with units; of a category its levels."""
        return column.names if self.indicators else (column.label,)

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names that the files give."""
        return tuple(name for column in self.columns for name in self.names_of(column))

    @property
    def column_facts(self) -> tuple[ColumnFacts, ...]:
        """Declarations about the columns of the data."""
        facts = list[ColumnFacts]()
        for column in self.columns:
            divided = self.indicators and column.levels is not None
            declared = replace(INDICATOR, because=column.because, kind=column.facts.kind) if divided else column.facts
            facts += [declared] * len(self.names_of(column))
        return tuple(facts)

    def groups(self, n_parties: int) -> tuple[tuple[int, ...], ...]:
        """Columns of each party: those of its file; ValueError for another number of parties."""
        if n_parties != len(self.tables):
            raise ValueError(f"parties is {n_parties}: the settings name {len(self.tables)} files.")
        ends = [0, *accumulate(sum(len(self.names_of(column)) for column in table.columns) for table in self.tables)]
        return tuple(tuple(range(a, b)) for a, b in pairwise(ends))

    def active_index(self, n_parties: int) -> int:
        """Number of the party that has the response."""
        return self.response_holder

    def party_names(self, n_parties: int) -> tuple[str, ...]:
        """The names that the files give."""
        return tuple(table.party for table in self.tables)

    @property
    def holders(self) -> tuple[FileHolder, ...]:
        """The parties, of which the active one has the response, the persons and the columns next to the response."""
        roles = {"response": self.response} | ({} if self.user is None else {"user": self.user})
        return tuple(
            FileHolder(
                table.party,
                table.file,
                table,
                table.columns,
                roles | table.label_columns if table.party == self.response_party else {},
            )
            for table in self.tables
        )

    @property
    def role_entries(self) -> Mapping[str, Sequence[object]]:
        """Labels of all classes, or numbers."""
        response = self.class_names or (class_entries(self.positive) if self.binary_labels else NUMBERS)
        others = self.tables[self.response_holder].label_columns
        return {"response": response} | dict.fromkeys(others, NUMBERS)

    def by_party(self, n_parties: int) -> dict[str, tuple[str, ...]]:
        """Keys of the files of every party, in a distributed run; ValueError if they cannot be distinguished."""
        check_apart(self.match)
        return super().by_party(n_parties)

    @property
    def response_holder(self) -> int:
        """Number of the party that has the response."""
        return [table.party for table in self.tables].index(self.response_party)


@dataclass(frozen=True, kw_only=True)
class LearnedTables(OwnTables, RowSettings):
    """Own tables of which a model is learned from the rows that train: a file of each party, whose rows carry ids."""
