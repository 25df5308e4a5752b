"""Drafts of settings of own tables: parties, columns, levels and roles as files show them; public ones are questions.

A draft is plain data with an `Ask` wherever only a person can answer, from the meaning of a column and never from the
data, and a `Remark` value wherever something was guessed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time
from itertools import pairwise
from pathlib import PurePath
from typing import Protocol

from ..grammar import TextForm
from .survey import CLOCK, ColumnSurvey, TableSurvey, canonical

BOUNDS = "the public range [low, high]: from the meaning of the column, never from these data"
LEVELS = "public: all that may occur, from the meaning of the column; the file has"
LABELS = ("1", "ja", "j", "yes", "y", "true", "wahr", "oui", "si", "sí", "sim")
PLAIN_TEXT = re.compile(r"[A-Za-z_äöüÄÖÜß][\w äöüÄÖÜß/.-]*[\wäöüÄÖÜß]|[A-Za-z_]")
RESERVED = {"yes", "no", "on", "off", "true", "false", "null", "y", "n"}


@dataclass(frozen=True)
class Ask:
    """A question: written as `?` with a comment, and refused until it is answered."""

    comment: str


@dataclass(frozen=True)
class Remark:
    """A value with a comment."""

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


class Needs(Protocol):
    """What a study wants of a draft: cuts of passive columns, and keys for responses of two classes or of numbers."""

    @property
    def edges(self) -> bool: ...
    @property
    def for_classes(self) -> Mapping[str, object]: ...
    @property
    def for_numbers(self) -> Mapping[str, object]: ...


class NotSuited(ValueError):
    """The files do not suit a study; says what it needs."""


@dataclass(frozen=True)
class CommonIds:
    """What several files have in common: the name of the ids of each, and keys that make them agree."""

    ids: tuple[str, ...]
    keys: Mapping[str, object]


def shared_ids(tables: Sequence[TableSurvey]) -> CommonIds | None:
    """The columns of ids by which the rows of these files are matched; None where no two fit."""
    first, rest = tables[0], tables[1:]
    best: tuple[float, tuple[str, ...]] = (0.0, ())
    for anchor in (one for one in first.columns if one.is_id):
        names, share = [anchor.name], 1.0
        for other in rest:
            overlaps = [(len(anchor.whole & one.whole), one.name) for one in other.columns if one.is_id]
            count, name = max(overlaps, default=(0, ""))
            share = min(share, count / max(1, min(len(anchor.whole), other.n_rows)))
            names.append(name)
        if share > max(0.5, best[0]):
            best = share, tuple(names)
    if not best[1]:
        return None
    columns = [one.column(name) for one, name in zip(tables, best[1], strict=True)]
    return CommonIds(best[1], dict(_id_keys([column for column in columns if column is not None])))


def _id_keys(columns: Sequence[ColumnSurvey]) -> Iterator[tuple[str, object]]:
    as_text, whole = [set(one.entries) for one in columns], [one.whole for one in columns]
    if len(set.intersection(*whole)) > len(set.intersection(*as_text)):
        longest = max(len(text) for one in columns for text in one.entries if text.isdecimal())
        example = min((text for one in as_text for text in one if text != canonical(text)), default="")
        yield "id_as_text", Remark(f"{longest:02d}d", f"{canonical(example)} and {example} are one record")
    if any(one != whole[0] for one in whole):
        lost = len(set.union(*whole)) - len(set.intersection(*whole))
        yield "match", Remark("common", f"{lost} ids are not in all files; their records are left out")


def file_keys(table: TableSurvey, but: TextForm = TextForm()) -> dict[str, object]:  # noqa: B008
    """Keys of the text of a file that are not the defaults."""
    names = ("delimiter", "encoding", "decimal", "thousands", "time_format")
    return {name: getattr(table.form, name) for name in names if getattr(table.form, name) != getattr(but, name)}


def gap_keys(tables: Sequence[TableSurvey]) -> dict[str, object]:
    """What entries stand for missing values, and that their rows are left out."""
    marks = list(dict.fromkeys(mark for one in tables for mark in one.marks))
    found: dict[str, object] = {"marks": Remark(marks, "entries that stand for a missing value")} if marks else {}
    if any(one.has_gaps for one in tables):
        found["missing"] = Remark("drop", "rows without an entry are left out; the log counts them")
    return found


def column_blocks(table: TableSurvey, but: Sequence[str], question: str | None = "bounds") -> list[dict[str, object]]:
    """Blocks of the columns that are used: all with a question.

    but : names of columns with another role; question : key of what is asked of numbers, None for nothing
    """
    blocks: list[dict[str, object]] = []
    for one in table.columns:
        if one.name in but or one.is_id or one.kind in ("text", "constant", "empty"):
            continue
        other = one.time_format not in ("", table.form.time_format)
        block: dict[str, object] = {"name": one.name, **({"time_format": one.time_format} if other else {})}
        if one.kind == "levels":
            block["levels"] = levels_key(one)
        elif question is not None:
            unit = "" if not one.time_format else ", in hours" if one.time_format in CLOCK else ", in years"
            asked = BOUNDS if question == "bounds" else "public cuts, such as [10, 20, 50], from the meaning"
            block[question] = Ask(asked + unit)
        blocks.append(block)
    return blocks


def levels_key(column: ColumnSurvey) -> Ask:
    """The value of ``levels``: what stands in a file is not what everybody knows, and is told to its owner alone."""
    return Ask(f"{LEVELS} {_scalar(list(column.levels))}")


def response_of(
    tables: Sequence[TableSurvey], named: str | None, classes: bool | None = None
) -> tuple[int, ColumnSurvey]:
    """Number of the file and column that is explained: the named one, else the last label, else the last number."""
    every = [(k, one) for k, table in enumerate(tables) for one in table.columns]
    if named is not None:
        found = [(k, one) for k, one in every if one.name == named]
        if not found:
            raise NotSuited(f"no file has the column {named!r}, which --response names")
    else:
        labels = [(k, one) for k, one in every if one.two_entries and not one.time_format]
        found = labels if classes is not False else []
        if not found and classes is not True:
            found = [(k, one) for k, one in every if one.kind == "numbers" and not one.is_id]
    if not found or (classes and not found[-1][1].two_entries) or (classes is False and found[-1][1].kind != "numbers"):
        raise NotSuited(f"it needs a response with {'two entries' if classes else 'numbers'} (name it with --response)")
    return found[-1]


def response_key(column: ColumnSurvey, named: str | None) -> object:
    """The value of ``response``, with a note where it was guessed."""
    return column.name if named else Remark(column.name, "a guess; say which with --response NAME")


def positive_key(column: ColumnSurvey) -> dict[str, object]:
    """Which entry of a label counts as 1, where they are not 0 and 1."""
    entries = sorted(set(column.values))
    if set(entries) == {"0", "1"}:
        return {}
    positive = next((one for one in entries if one.lower() in LABELS), entries[-1])
    return {
        "positive": Remark(
            QuotedText(positive), f"counts as 1, and {next(one for one in entries if one != positive)!r} as 0"
        )
    }


def person_keys(table: TableSurvey) -> dict[str, object]:
    """The column that may name the persons behind rows, text that stands more than once, and how many rows count."""
    found = [one for one in table.columns if one.kind == "text" and not one.missing and not one.unique]
    if not found:
        return {}
    asked = Ask("public bound on the rows of one person; those after the first ones are left out")
    return {"user": Remark(found[0].name, "a guess: whose rows they are"), "rows_per_user": asked}


def party_name(table: TableSurvey) -> str:
    """The name of who holds a file: that of the file."""
    return re.sub(r"[^\w ]+", " ", PurePath(table.file).stem).strip() or "party"


def party_names(tables: Sequence[TableSurvey]) -> list[str]:
    """Names of the holders of files, each once."""
    names = [party_name(one) for one in tables]
    return [f"{name} {k + 1}" if names.count(name) > 1 else name for k, name in enumerate(names)]


@dataclass(frozen=True)
class QuotedText:
    """Text that is written in quotes always."""

    text: str


def yaml_lines(value: object, indent: int = 0) -> Iterator[str]:
    """Lines of YAML of blocks, lists and values, with their comments."""
    pad = " " * indent
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _entry(f"{pad}{key}:", one, indent + 2)
    elif isinstance(value, list | tuple):
        for one in value:
            first, *rest = yaml_lines(one, indent + 2)
            yield f"{pad}- {first.lstrip()}"
            yield from rest
    else:
        yield f"{pad}{_scalar(value)}"


def _entry(head: str, value: object, indent: int) -> Iterator[str]:
    if isinstance(value, Ask):
        yield f"{head} ?  # {value.comment}"
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
        return f"[{', '.join(_scalar(one if not isinstance(one, str) else QuotedText(one)) for one in value)}]"
    if isinstance(value, str):
        plain = PLAIN_TEXT.fullmatch(value) and value.lower() not in RESERVED
        return value if plain else json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        return "{}"
    # YAML reads 1e-05 as text.
    return re.sub(r"^(-?\d+)e", r"\1.0e", json.dumps(value))


def period_of(stamps: Sequence[datetime]) -> str:
    """The shortest period in which a time stamp tells the time of a curve, with four measurements at least in most."""
    if any(stamp.time() != time() for stamp in stamps):
        return "day"
    years = [stamp.year for stamp in sorted(stamps)]
    gaps = sorted((b - a).days for a, b in pairwise(sorted(set(stamps))))
    return "year" if len(set(years)) > 1 and gaps and gaps[len(gaps) // 2] > 4 else "month"
