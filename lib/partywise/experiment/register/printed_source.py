"""Printed numbers of source documents and the choice of our numbers: read from ``register/*.toml`` of the studies.

A file is one document's: ``document``, ``defaults`` of ``reproduction``, ``entries``, ``reasons`` and ``notable`` ids.
A block of ``entries`` has what is printed under the name of its kind (``at_most = "1"``; of a claim of epsilon the
quantity is ``epsilon``), and the ``reason`` of all its entries that differ or cannot be reproduced. ``reasons`` are
those of some entries of a block, or of several blocks. One block makes as many entries as its ``each`` (a product of
lists) and its ``rows`` (a list of tables, or the lines of a CSV file that ``where`` names) have; ``{name}`` in its
texts stands for their values, and for those of ``words``, which translate them.
"""

from __future__ import annotations

import csv
import itertools
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from pathlib import Path

# Any: blocks of a TOML file.
from typing import Any, Literal, get_args

from ...core.errors import ConfigError

STUDIES = Path(__file__).parents[2] / "studies"
PLACEHOLDER = re.compile(r"\{(\w+)\}")
Kind = Literal[
    "value", "at_most", "at_least", "between", "epsilon", "claimed_at_most", "claimed_at_least", "hidden", "none"
]
KINDS: tuple[Kind, ...] = get_args(Kind)
KEYS = {"id", "rows", "where", "each", "words", "place", "quantity", "reason", *KINDS} - {"none"} | {
    *("spread", "spread_of", "saturated", "reproduction"),
}


@dataclass(frozen=True)
class Reproduction:
    """Choice of our number: in a cube, by settings and options in force, or computed by a function.

    study, configuration : whose cube, of which configuration file
    case, method : settings and options that the one case and the one method have; ``source`` and ``protocol`` too
    parties, epsilon : labels of the cube; None where there is one only
    variable, reduce : ``mean``, ``sd``, ``min``, ``max``, ``median`` over replicates of the means over folds
    minus, over : keys of another number that is subtracted from, or divides, this one replicate by replicate
    function, arguments : an address ``package.module:name`` and what it is called with, in place of all of these; it
        returns a number, or an array of one for each replicate, which are reduced
    rows : pattern of ids of earlier entries, whose rows of the register are the first argument of the function
    """

    study: str = ""
    configuration: str = ""
    case: Mapping[str, object] | None = None
    method: Mapping[str, object] | None = None
    parties: int | None = None
    epsilon: float | None = None
    variable: str = ""
    reduce: str = "mean"
    minus: Mapping[str, object] | None = None
    over: Mapping[str, object] | None = None
    function: str = ""
    arguments: Mapping[str, object] | None = None
    rows: str = ""

    def with_keys(self, keys: Mapping[str, Any]) -> Reproduction:
        """Return a copy with other keys: those of ``case`` and ``method`` one by one, without a second number."""
        current = {entry.name: getattr(self, entry.name) for entry in fields(self)} | {"minus": None, "over": None}
        inner = {name: {**(current[name] or {}), **keys[name]} for name in ("case", "method") if name in keys}
        return Reproduction(**{**current, **keys, **inner})


@dataclass(frozen=True)
class Entry:
    """One printed number or sentence.

    kind : ``value``; a bound, or ``between`` two; ``epsilon`` that is claimed, and audited; ``claimed_at_most`` and
        ``claimed_at_least``, a bound that is a claim of privacy, and computed; ``hidden``, a share that must not be
        found; ``none``, which nothing can be compared with
    printed : as it is printed; two bounds for ``between``; empty for ``none``
    spread, spread_of : standard deviation over that many replicates, as printed; empty where there is none
    words : values that the entry was made with
    saturation : printed numbers from here on are worth nothing as evidence: nearly every choice gives them
    """

    id: str
    document: str
    place: str
    quantity: str
    kind: Kind
    printed: str
    spread: str
    spread_of: int
    reproduction: Reproduction | None
    words: Mapping[str, str]
    saturation: float | None = None


@dataclass(frozen=True)
class Reason:
    """Why entries differ or cannot be reproduced; those whose id fits a pattern and whose words are as in ``when``.

    alternative : keys of ``reproduction`` under which the entry agrees by this reason: the register looks
    status : the one that it explains; None for any
    """

    ids: tuple[str, ...]
    text: str
    when: Mapping[str, object]
    alternative: Mapping[str, object] | None = None
    status: str | None = None

    def covers(self, entry: Entry, status: str) -> bool:
        """Whether it is about an entry of that status."""
        named = self.status in (None, status) and any(fnmatchcase(entry.id, pattern) for pattern in self.ids)
        return named and all(entry.words.get(name) in _texts(wanted) for name, wanted in self.when.items())


@dataclass(frozen=True)
class PrintedSource:
    """All of a file; ``notable`` are ids of entries that a reader should see first, ``note`` what to know of all.

    ``fit_note`` is a clause on what was fitted to the printed numbers.
    """

    path: Path
    entries: tuple[Entry, ...]
    reasons: tuple[Reason, ...]
    notable: tuple[str, ...] = ()
    document: str = ""
    note: str = ""
    fit_note: str = ""


def files() -> tuple[Path, ...]:
    """The files of all studies of this package."""
    return tuple(sorted(STUDIES.glob("*/register/*.toml")))


def read(path: Path) -> PrintedSource:
    """Entries and reasons of a file."""
    with path.open("rb") as handle:
        content = tomllib.load(handle)
    document = content["document"]
    defaults = content.get("defaults", {})
    blocks = [(block, tuple(_entries(path, document, defaults, block))) for block in content["entries"]]
    entries = tuple(entry for _, block_entries in blocks for entry in block_entries)
    seen: set[str] = set()
    for entry in entries:
        if entry.id in seen:
            raise ConfigError(f"{path.name} has two entries with the id {entry.id!r}: ids must differ.")
        seen.add(entry.id)
    reasons = [
        Reason(tuple(entry.id for entry in block_entries), block["reason"], {})
        for block, block_entries in blocks
        if "reason" in block
    ]
    reasons += [
        Reason(tuple(r["ids"]), r["text"], r.get("when", {}), r.get("alternative"), r.get("status"))
        for r in content.get("reasons", ())
    ]
    notable = tuple(content.get("notable", ()))
    if unknown := sorted(set(notable) - seen):
        raise ConfigError(f"{path.name} calls {unknown[0]!r} notable: no entry has that id.")
    note, fit_note = content.get("note", ""), content.get("fitted", "")
    return PrintedSource(path, entries, tuple(reasons), notable, document, note, fit_note)


def _entries(path: Path, document: str, defaults: Mapping[str, Any], block: Mapping[str, Any]) -> Iterator[Entry]:
    if unknown := sorted(set(block) - KEYS):
        raise ConfigError(
            f"{path.name}, entry {block.get('id')!r}: {unknown[0]} is not a key of an entry ({sorted(KEYS)})."
        )
    kinds = [kind for kind in KINDS if kind in block]
    if len(kinds) > 1 or bool(kinds) != ("reproduction" in block):
        raise ConfigError(
            f"{path.name}, entry {block.get('id')!r}: it has {kinds or 'no kind'}: give what is printed under one of "
            f"{list(KINDS[:-1])} next to reproduction, and neither where nothing can be compared."
        )
    kind = kinds[0] if kinds else "none"
    for words in _words(path, block):
        texts = _as_written(block, words, kind)
        yield _entry(document, defaults, kind, {**substitute(block, words), **texts}, words)


def _words(path: Path, block: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """Values of the placeholders, as text: lines of a CSV file times lists, and translations of both."""
    lines: list[dict[str, str]] = [{}]
    if isinstance(rows := block.get("rows"), list):
        lines = [{name: str(value) for name, value in row.items()} for row in rows]
    elif rows:
        with (path.parent / rows).open(encoding="utf-8", newline="") as handle:
            lines = [row for row in csv.DictReader(handle) if _fits(row, block.get("where", {}))]
    each = block.get("each", {})
    for line in lines:
        for values in itertools.product(*(_texts(value) for value in each.values())):
            words = {**line, **dict(zip(each, values, strict=True))}
            for name, translation in block.get("words", {}).items():
                words[name] = str(translation[words[translation["of"]]])
            yield words


def _fits(row: Mapping[str, str], where: Mapping[str, object]) -> bool:
    return all(row[name] in _texts(wanted) for name, wanted in where.items())


def _texts(value: object) -> list[str]:
    return [str(element) for element in value] if isinstance(value, list) else [str(value)]


def substitute(value: Any, words: Mapping[str, str]) -> Any:
    """A block with its placeholders filled; a text that is one placeholder becomes a number where it reads as one."""
    if isinstance(value, str):
        if whole := PLACEHOLDER.fullmatch(value):
            return number(words[whole[1]])
        return PLACEHOLDER.sub(lambda match: words[match[1]], value)
    if isinstance(value, dict):
        return {key: substitute(inner, words) for key, inner in value.items()}
    return [substitute(inner, words) for inner in value] if isinstance(value, list) else value


def _as_written(block: Mapping[str, object], words: Mapping[str, str], kind: Kind) -> dict[str, str]:
    """Texts of an entry with their placeholders filled: 0.650 keeps its last digit."""
    quantity, texts = "epsilon" if kind == "epsilon" else "", dict[str, str]()
    block = {"quantity": quantity, **block, "printed": block.get(kind, "")}
    for name in ("id", "place", "quantity", "printed", "spread"):
        parts = block.get(name, "")
        text = " to ".join(map(str, parts)) if isinstance(parts, list) else str(parts)
        texts[name] = PLACEHOLDER.sub(lambda placeholder: words[placeholder[1]], text)
    return texts


def number(text: str) -> int | float | str:
    """A whole number, a number, or the text itself."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def _entry(
    document: str, defaults: Mapping[str, Any], kind: Kind, block: Mapping[str, Any], words: Mapping[str, str]
) -> Entry:
    keys = block.get("reproduction")
    return Entry(
        id=block["id"],
        document=document,
        place=block["place"],
        quantity=block["quantity"],
        kind=kind,
        printed=block["printed"],
        spread=block["spread"],
        spread_of=int(block.get("spread_of", 0)),
        reproduction=None if keys is None else Reproduction(**({} if "function" in keys else dict(defaults)) | keys),
        words=words,
        saturation=block.get("saturated"),
    )
