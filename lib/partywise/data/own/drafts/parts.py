"""Drafts of settings of own tables: parties, columns, levels and roles as files show them; public ones are questions.

A draft is plain data with an `Ask` wherever only a person can answer, from the meaning of a column and never from the
data, and a `Remark` value wherever something was guessed.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, time
from itertools import pairwise
from pathlib import PurePath
from typing import Protocol

from ..grammar import TextForm
from .survey import CLOCK, READ, ColumnSurvey, TableSurvey, canonical

BOUNDS = "the public range [low, high]: from the meaning of the column, never from these data"
CUTS = "public cuts, such as [10, 20, 50], from the meaning"
LEVELS = "public: all that may occur, from the meaning of the column"
LABELS = ("1", "ja", "j", "yes", "y", "true", "wahr", "oui", "si", "sí", "sim")
PLAIN_TEXT = re.compile(r"[A-Za-z_äöüÄÖÜß][\w äöüÄÖÜß/.-]*[\wäöüÄÖÜß]|[A-Za-z_]")
# Names of columns that are explained, and of those that name a person.
RESPONSES = re.compile(r"(?i)y|label|class|klasse|target|outcome|response|ziel|zielvariable|event|default|verzug|churn")
PERSONS = re.compile(
    r"(?i)(.*[\W_])?(person|patient|user|customer|client|kunde|nutzer|subject|participant|teilnehmer|member)(in)?"
    r"([\W_]*(id|nr|no|number|nummer|name|key|code))?"
)
# Share of the rows of a file that may lack an entry before a draft asks what becomes of them.
FEW_GAPS = 0.05
# Columns of numbers whose names begin alike, and share a block of the draft from so many on.
FAMILY = 3
RESERVED = {"yes", "no", "on", "off", "true", "false", "null", "y", "n"}


@dataclass(frozen=True)
class Ask:
    """A question: written as `?` with a comment, and refused until it is answered.

    of_data : end of the comment that only the owner of the data may read
    """

    comment: str
    of_data: str = ""


@dataclass(frozen=True)
class Remark:
    """A value with a comment, which may depend on the data."""

    value: object
    comment: str


@dataclass(frozen=True)
class Draft:
    """Settings of a case as files suggest them.

    n_parties : of its grid; numeric : whether the response is a number, where a study asks
    """

    settings: Mapping[str, object]
    n_parties: int
    numeric: bool = False


@dataclass(frozen=True)
class Roles:
    """Columns that a person names: what is explained, and those of parties, of events, of ids and of persons.

    me : name of the party whose part is drafted, from its file alone; None where the files of all parties are there
    """

    response: str | None = None
    party: str | None = None
    event: str | None = None
    id: str | None = None
    person: str | None = None
    me: str | None = None

    @property
    def columns(self) -> dict[str, str]:
        """The columns that are named, by their roles."""
        names = {role: name for role, name in asdict(self).items() if role != "me"}
        return {role: name for role, name in names.items() if name is not None}

    def column(self, table: TableSurvey, role: str) -> ColumnSurvey | None:
        """The column of a role in a table; None where the role is not named, or the table lacks it."""
        name = getattr(self, role)
        return None if name is None else table.column(name)


def other_entry(*keys: str) -> dict[str, object]:
    """The entry of each other party in the part of one: a question, which that party answers by its own part."""
    return {"party": Ask("another party: its entry is in its own part"), **{key: Ask("of that party") for key in keys}}


class Needs(Protocol):
    """The needs of a study: whether passive columns have cuts, and keys for responses of two classes or of numbers."""

    @property
    def edges(self) -> bool: ...
    @property
    def for_classes(self) -> Mapping[str, object]: ...
    @property
    def for_numbers(self) -> Mapping[str, object]: ...


class NotSuited(ValueError):
    """The files do not suit a study; the text names what it needs."""


@dataclass(frozen=True)
class CommonIds:
    """The ids that several files share: their name in each file, and keys that make them agree."""

    ids: tuple[str, ...]
    keys: Mapping[str, object]

    def own_id(self, number: int) -> str | None:
        """The name in a file, where it is not that of the first one."""
        return None if self.ids[number] == self.ids[0] else self.ids[number]


def shared_ids(tables: Sequence[TableSurvey], named: str | None = None) -> CommonIds | None:
    """The columns of ids by which the rows of these files are matched; None where no two fit.

    named : column of ids of the files that have it
    """
    first, rest = tables[0], tables[1:]
    best: tuple[float, tuple[str, ...]] = (0.0, ())

    def ids_of(table: TableSurvey) -> list[ColumnSurvey]:
        named_column = None if named is None else table.column(named)
        return [column for column in table.columns if column.is_id] if named_column is None else [named_column]

    for anchor in ids_of(first):
        names, share = [anchor.name], 1.0
        for other in rest:
            overlaps = [(len(anchor.whole & ids.whole), ids.name) for ids in ids_of(other)]
            count, name = max(overlaps, default=(0, ""))
            share = min(share, count / max(1, min(len(anchor.whole), other.n_rows)))
            names.append(name)
        if share > max(0.5, best[0]):
            best = share, tuple(names)
    if not best[1]:
        return None
    columns = [table.column(name) for table, name in zip(tables, best[1], strict=True)]
    return CommonIds(best[1], dict(_id_keys([column for column in columns if column is not None])))


def _id_keys(columns: Sequence[ColumnSurvey]) -> Iterator[tuple[str, object]]:
    as_text, whole = [set(column.entries) for column in columns], [column.whole for column in columns]
    if len(set.intersection(*whole)) > len(set.intersection(*as_text)):
        longest = max(len(text) for column in columns for text in column.entries if text.isdecimal())
        example = min((text for texts in as_text for text in texts if text != canonical(text)), default="")
        yield "id_as_text", Remark(f"{longest:02d}d", f"{canonical(example)} and {example} are one record")
    if any(ids != whole[0] for ids in whole):
        lost = len(set.union(*whole)) - len(set.intersection(*whole))
        yield "match", Remark("common", f"{lost} ids are not in all files; their records are left out")


def file_keys(table: TableSurvey, but: TextForm = TextForm()) -> dict[str, object]:  # noqa: B008
    """Keys of the text of a file that are not the defaults."""
    names = ["delimiter", "encoding", "decimal", "thousands", "time_format"]
    names += ["lines_above", "lines_below", "header_rows", "equal_names"]
    keys: dict[str, object] = {
        name: getattr(table.form, name) for name in names if getattr(table.form, name) != getattr(but, name)
    }
    if table.form.percent != "refuse":
        keys["percent"] = Remark(table.form.percent, "12 % is 12; share makes 0.12 of it")
    if limits := {text: count for column in table.columns for text, count in column.limits.items()}:
        note = f"{next(iter(limits))!r} and alike, {sum(limits.values())} entries, are not missing values"
        keys["below"] = Remark(table.form.below, f"{note}: half of the limit counts (or limit, or zero)")
    if any(column.zones for column in table.columns):
        keys["time_zone"] = Ask("UTC or an offset, such as +01:00: the zone of time stamps that name none")
    return keys


def file_entry(table: TableSurvey, party: str, id: str | None = None) -> dict[str, object]:
    """The block of the file of a party."""
    return {"party": party, "file": table.file} | ({} if id is None else {"id": id}) | file_keys(table)


def gap_keys(tables: Sequence[TableSurvey]) -> dict[str, object]:
    """Keys of missing values: the entries that stand for them, and the question or remark about their rows."""
    marks = list(dict.fromkeys(mark for table in tables for mark in table.marks))
    keys: dict[str, object] = {"marks": Remark(marks, "entries that stand for a missing value")} if marks else {}
    gaps = [table for table in tables if table.incomplete]
    gaps_text = "; ".join(table.gaps_text for table in gaps)
    if any(table.incomplete > FEW_GAPS * table.n_rows for table in gaps):
        keys["missing"] = Ask(
            "drop leaves out what lacks an entry; or refuse, without the columns with gaps", f": {gaps_text}"
        )
    elif gaps:
        keys["missing"] = Remark("drop", f"rows without an entry are left out, {gaps_text}")
    return keys


def column_blocks(table: TableSurvey, but: Sequence[str], question: str | None = "bounds") -> list[dict[str, object]]:
    """Blocks of the columns that are used, with questions for levels and, unless ``question`` is None, for numbers.

    but : names of columns with another role; question : key of what is asked of numbers, None for nothing
    """
    blocks: list[dict[str, object]] = []
    read = [
        column for column in table.columns if column.name not in but and not column.likely_id and column.kind in READ
    ]
    families = Counter(family_of(column) for column in read)
    for column in read:
        family = family_of(column)
        if question is not None and family and families[family] >= FAMILY:
            if not any(block["name"] == family for block in blocks):
                asked = BOUNDS if question == "bounds" else CUTS
                blocks.append(
                    {"name": family, question: Ask(f"{asked}; of {families[family]} columns, unless one has its own")}
                )
            blocks.append({"name": column.name})
            continue
        other = column.time_format not in ("", table.form.time_format)
        block: dict[str, object] = {"name": column.name, **({"time_format": column.time_format} if other else {})}
        if column.kind == "levels":
            block["levels"] = levels_key(column)
        elif question is not None:
            unit = "" if not column.time_format else ", in hours" if column.time_format in CLOCK else ", in years"
            asked = BOUNDS if question == "bounds" else CUTS
            block[question] = Ask(asked + unit)
        blocks.append(block)
    return blocks


def family_of(column: ColumnSurvey) -> str:
    """The pattern of columns of numbers whose names begin alike, such as ``lab_*``; empty for other names."""
    stem = column.name.rpartition("_")[0]
    return f"{stem}_*" if stem and column.kind == "numbers" else ""


def levels_key(column: ColumnSurvey) -> Ask:
    """The value of ``levels``: a question, since the entries of a file are not public; only its owner sees them."""
    return Ask(LEVELS, f"; the file has {_scalar(list(column.levels))}")


def response_of(
    tables: Sequence[TableSurvey], named: str | None, classes: bool | None = None
) -> tuple[int, ColumnSurvey]:
    """Number of the file and column that is explained: the named one, else the last label, else the last number."""
    every = [(k, column) for k, table in enumerate(tables) for column in table.columns]
    if named is not None:
        candidates = [(k, column) for k, column in every if column.name == named]
        if not candidates:
            raise NotSuited(f"no file has the column {named!r}, which --response names")
    else:
        labels = [
            (k, column)
            for k, column in every
            if (column.kind == "levels" and column.two_entries) or set(column.values) == {"0", "1"}
        ]
        # One whose name says so comes before the others, which are a question.
        labels.sort(key=lambda pair: RESPONSES.fullmatch(pair[1].name) is not None)
        candidates = labels if classes is not False else []
        if not candidates and classes is not True:
            candidates = [(k, column) for k, column in every if column.kind == "numbers" and not column.likely_id]
    if (
        not candidates
        or (classes and not candidates[-1][1].two_entries)
        or (classes is False and candidates[-1][1].kind != "numbers")
    ):
        raise NotSuited(f"it needs a response with {'two entries' if classes else 'numbers'} (name it with --response)")
    return candidates[-1]


def response_key(column: ColumnSurvey, named: str | None) -> object:
    """The value of ``response``: a question unless a person or its name identifies it."""
    if named:
        return column.name
    if RESPONSES.fullmatch(column.name):
        return Remark(column.name, "by its name; name another with --response")
    return Ask(f"what is explained: {column.name}? The rest of this draft holds for it; --response NAME drafts another")


def response_part(column: ColumnSurvey | None, roles: Roles, me: str) -> dict[str, object]:
    """Keys of the response in the part of one party: questions where another one has it."""
    if column is None:
        asked = "what is explained; where this file has it, draft this part again with --response COLUMN"
        return {"response": Ask(asked), "response_party": Ask("who has it")}
    positive = positive_key(column) if column.two_entries else {}
    return {"response": response_key(column, roles.response), "response_party": me, **positive}


def positive_key(column: ColumnSurvey) -> dict[str, object]:
    """Key of the entry of a label that counts as 1; empty if its entries are 0 and 1."""
    entries = sorted(set(column.values))
    if set(entries) == {"0", "1"}:
        return {}
    positive = next((entry for entry in entries if entry.lower() in LABELS), None)
    if positive is None:
        return {"positive": Ask("the entry that counts as 1, in quotes", f": one of {_scalar(entries)}")}
    return {
        "positive": Remark(
            QuotedText(positive), f"counts as 1, and {next(entry for entry in entries if entry != positive)!r} as 0"
        )
    }


def id_of(table: TableSurvey, roles: Roles) -> str | None:
    """The column that identifies the record of a row, as named or by its name; None if row numbers do."""
    named = roles.column(table, "id")
    return named.name if named else next((column.name for column in table.columns if column.likely_id), None)


def person_keys(table: TableSurvey, roles: Roles) -> dict[str, object]:
    """The column that names the persons behind rows, and how many rows of one count."""
    asked = Ask("public bound on the rows of one person; those after the first ones are left out")
    if named := roles.column(table, "person"):
        return {"user": named.name, "rows_per_user": asked}
    repeated = [
        column for column in table.columns if column.kind == "text" and not column.missing and not column.unique
    ]
    likely = [column for column in repeated if PERSONS.fullmatch(column.name)]
    if likely:
        return {"user": Remark(likely[0].name, "by its name: whose rows they are"), "rows_per_user": asked}
    if not repeated:
        return {}
    names = ", ".join(column.name for column in repeated)
    return {
        "user": Ask(f"the column of persons, if {names} is one (--person); else delete two lines"),
        "rows_per_user": asked,
    }


def party_name(table: TableSurvey) -> str:
    """The name of who holds a file: that of the file."""
    return re.sub(r"[^\w ]+", " ", PurePath(table.file).stem).strip() or "party"


def party_names(tables: Sequence[TableSurvey]) -> list[str]:
    """Names of the holders of files, each once."""
    names = [party_name(table) for table in tables]
    return [f"{name} {k + 1}" if names.count(name) > 1 else name for k, name in enumerate(names)]


@dataclass(frozen=True)
class QuotedText:
    """Text that is written in quotes always."""

    text: str


def without_comments_of_data(value: object) -> object:
    """Return a draft that others may read: no comment counts rows or lists what a file has."""
    if isinstance(value, Mapping):
        return {key: without_comments_of_data(part) for key, part in value.items()}
    if isinstance(value, list):
        return [without_comments_of_data(part) for part in value]
    return Ask(value.comment) if isinstance(value, Ask) else value.value if isinstance(value, Remark) else value


def yaml_lines(value: object, indent: int = 0) -> Iterator[str]:
    """Lines of YAML of blocks, lists and values, with their comments."""
    pad = " " * indent
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _entry(f"{pad}{key}:", part, indent + 2)
    elif isinstance(value, list | tuple):
        for part in value:
            first, *rest = yaml_lines(part, indent + 2)
            yield f"{pad}- {first.lstrip()}"
            yield from rest
    else:
        yield f"{pad}{_scalar(value)}"


def _entry(head: str, value: object, indent: int) -> Iterator[str]:
    if isinstance(value, Ask):
        yield f"{head} ?  # {value.comment}{value.of_data}"
    elif isinstance(value, Remark):
        yield f"{head} {_scalar(value.value)}  # {value.comment}"
    elif (isinstance(value, Mapping) and value) or (
        isinstance(value, list) and any(isinstance(v, Mapping) for v in value)
    ):
        yield head
        yield from yaml_lines(value, indent)
    else:
        yield f"{head} {_scalar(value)}"


def _scalar(value: object) -> str:
    if isinstance(value, QuotedText):
        return json.dumps(value.text, ensure_ascii=False)
    if isinstance(value, list | tuple):
        return f"[{', '.join(_scalar(entry if not isinstance(entry, str) else QuotedText(entry)) for entry in value)}]"
    if isinstance(value, str):
        plain = PLAIN_TEXT.fullmatch(value) and value.lower() not in RESERVED
        return value if plain else json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        return "{}"
    # YAML reads 1e-05 as text.
    return re.sub(r"^(-?\d+)e", r"\1.0e", json.dumps(value))


def period_of(stamps: Sequence[datetime]) -> str:
    """The shortest period that can be the domain of a curve: most periods have at least four measurements."""
    if any(stamp.time() != time() for stamp in stamps):
        return "day"
    years = [stamp.year for stamp in sorted(stamps)]
    gaps = sorted((b - a).days for a, b in pairwise(sorted(set(stamps))))
    return "year" if len(set(years)) > 1 and gaps and gaps[len(gaps) // 2] > 4 else "month"
