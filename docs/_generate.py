"""Pages of the site that come from the code: keys, variables, names in Python, sequence diagrams, claims.

They are written where `conf.py` asks for them each time the site is built, and never committed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from inspect import cleandoc, isclass, ismodule
from math import inf
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import partywise
from partywise.core.checks import Range
from partywise.experiment.cells import COMMON
from partywise.experiment.configuration.build import describe
from partywise.experiment.configuration.grammar import Batch, Grid
from partywise.experiment.register import table
from partywise.experiment.register.printed_source import files, read
from partywise.experiment.register.text import page
from partywise.experiment.register.verb import fit_notes, notable, notes
from partywise.experiment.results.assemble import COORDS
from partywise.experiment.study import Study, available, load
from partywise.experiment.tables.templates import pipe_table

sys.path.insert(0, str(Path(__file__).parent))
import _protocols
from _words import WORDS

ROOT = Path(__file__).resolve().parents[1]
WORD = r"[a-z]\w*"
# `name, other : text` at the start of a line, of a sentence or after a semicolon, as the docstrings have it.
ENTRY = re.compile(rf"(?:^|; |\. )\s*({WORD}(?:(?:,\s+| and ){WORD})*) : ", re.MULTILINE)


def write(folder: Path) -> None:
    """Write all pages into a folder that need not exist; a page that would not change is left alone."""
    folder.mkdir(exist_ok=True)
    _protocols.write(folder)
    pages = {"keys": keys_page(), "variables": variables_page(), "api": api_page(), "claims": claims_page()}
    for name, text in pages.items():
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def keys_page() -> str:
    """Every key of every study: constants, settings of sources, options of protocols, and the blocks inside them."""
    lines = [
        "# All keys",
        "",
        "Made from the dataclasses that check a configuration. What the blocks are for, sweeps and folders: "
        "[the configuration](../configuration.md).",
        "",
        "## Every study",
        "",
        *_class("`grid`", Grid),
        *_class("`batch`", Batch),
    ]
    for name in available():
        study = load(name)
        lines += [f"## {name}", "", f"{study.title}: [page of the study](../{name}.md).", ""]
        for heading, cls in blocks(study):
            lines += _class(heading, cls)
    return "\n".join(lines)


def blocks(study: Study) -> Iterator[tuple[str, type]]:
    """Yield the dataclasses of a study, each once, with the parts of a configuration whose keys they are."""
    users: dict[type, list[str]] = {study.spec: ["`spec`"]}
    for word, entries in (("source", study.sources), ("protocol", study.methods)):
        for name, entry in entries.items():
            users.setdefault(getattr(entry, "settings", None) or entry.options, []).append(f"{word} `{name}`")
    for cls in list(users):
        for key, inner in _inner(cls):
            users.setdefault(inner, []).append(f"block `{key}`")
    for cls, names in users.items():
        yield f"{study.name}: {', '.join(dict.fromkeys(names))}", cls


def _inner(cls: type) -> Iterator[tuple[str, type]]:
    """Dataclasses inside the fields of one, at any depth."""
    for key, hint in get_type_hints(cls).items():
        for nested in _classes(hint):
            yield key, nested
            yield from _inner(nested)


def _classes(hint: Any) -> Iterator[type]:
    if isclass(hint) and is_dataclass(hint):
        yield hint
    for arg in get_args(hint):
        yield from _classes(arg)


def _class(heading: str, cls: type) -> list[str]:
    """A heading, the first sentence of a dataclass, and a row for each of its keys."""
    rows = [(f.name, _allowed(cls, f.name), _default(f), meanings(cls)[f.name]) for f in fields(cls)]  # type: ignore[arg-type]
    body = [(f"`{key}`", cell(kind), default, cell(words)) for key, kind, default, words in rows]
    table = pipe_table(("key", "value", "default", "meaning"), body) if rows else "It has no keys."
    first = _markdown(cleandoc(cls.__doc__ or "").split("\n\n")[0].split(". ")[0].rstrip("."))
    return [f"### {heading}", "", f"{first}.", "", table, ""]


def meanings(cls: type) -> dict[str, str]:
    """Return the meaning of each field of a dataclass, from its docstring and those of its bases, or empty."""
    texts: dict[str, str] = {}
    for base in cls.__mro__:
        text = cleandoc(base.__dict__.get("__doc__") or "")
        # Entries end where the next one begins, or at an empty line.
        pieces = ENTRY.split(text)
        for names, words in zip(pieces[1::2], pieces[2::2], strict=True):
            meaning = " ".join(words.split("\n\n")[0].split()).rstrip(" ;")
            for name in re.findall(WORD, names):
                texts.setdefault(name, _markdown(meaning))
    names = [f.name for f in fields(cls)]  # type: ignore[arg-type]
    return {name: texts.get(name) or _mentioned(cls, name) or _word(cls, name) for name in names}


def _word(cls: type, name: str) -> str:
    """The words for a key that no docstring explains, for one class or for all."""
    return WORDS.get(f"{cls.__name__}.{name}") or WORDS.get(name, "")


def _mentioned(cls: type, name: str) -> str:
    """The first clause of the docstrings that names a field in backticks."""
    for base in cls.__mro__:
        text = " ".join(cleandoc(base.__dict__.get("__doc__") or "").split())
        for clause in re.split(r"(?<=\w\w)\. |; ", text):
            if f"``{name}``" in clause and " : " not in clause:
                return _markdown(clause.rstrip("."))
    return ""


def _allowed(cls: type, name: str) -> str:
    """Return the type of a field in words, with its range."""
    limits = []
    for limit in _ranges(get_type_hints(cls, include_extras=True)[name]):
        if limit.high < inf:
            limits.append(f"in {limit.ends[0]}{limit.low:g}, {limit.high:g}{limit.ends[1]}")
        elif limit.low > -inf:
            limits.append(f"{'at least' if limit.ends[0] == '[' else 'above'} {limit.low:g}")
    kind = describe(get_type_hints(cls)[name]).replace("list of whole numberss", "lists of whole numbers")
    return ", ".join([kind, *dict.fromkeys(limits)])


def _ranges(hint: Any) -> Iterator[Range]:
    if get_origin(hint) is Annotated:
        yield from (note for note in hint.__metadata__ if isinstance(note, Range))
    if get_origin(hint) is Literal:
        return
    args = get_args(hint) if get_origin(hint) in (Union, UnionType, tuple, Annotated) else ()
    for arg in args:
        yield from _ranges(arg)


def _default(entry: Any) -> str:
    if entry.default is not MISSING:
        return f"`{_plain(entry.default)}`"
    return "needed" if entry.default_factory is MISSING else "its own defaults"


def _plain(value: Any) -> str:
    """A default as YAML has it."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(_plain, value))}]"
    if is_dataclass(value):
        return "{}"
    words = {None: "null", True: "true", False: "false"}
    return words[value] if value is None or isinstance(value, bool) else str(value).replace("inf", ".inf")


def variables_page() -> str:
    """Every variable of the cubes, with what it is and its unit."""
    lines = ["# Variables of the cubes", "", "Made from what each study declares; nothing else enters a cube.", ""]
    lines += ["How to read them: [reading results](../reading_results.md#the-cube).", ""]
    lines += [*_variables("Dimensions", COORDS), *_variables("In every study", COMMON)]
    for name in available():
        lines += _variables(name, load(name).variables, f"[Page of the study](../{name}.md).")
    return "\n".join(lines)


def _variables(heading: str, entries: Any, note: str = "") -> list[str]:
    rows = ((f"`{name}`", cell(words), cell(unit)) for name, (words, unit) in entries.items())
    return [f"## {heading}", "", *([note, ""] if note else []), pipe_table(("name", "what", "unit"), rows), ""]


def claims_page() -> str:
    """The claims register in words: counts, reasons, selected entries."""
    printed = [read(path) for path in files()]
    return page(table.read(ROOT / "docs" / table.NAME), notable(printed), notes(printed), fit_notes(printed))


def api_page() -> str:
    """The names of ``import partywise as pw``, each with its docstring."""
    lines = ["# Names of `pw`", "", "With examples that run: [in Python](../python.md).", ""]
    for name in sorted(partywise.public_homes()):
        entry = getattr(partywise, name)
        lines += [f"## {name}", ""]
        for member in [getattr(entry, inner) for inner in dir(entry)] if ismodule(entry) else [entry]:
            kind = "autoclass" if isclass(member) else "autofunction"
            lines += ["```{eval-rst}", f".. {kind}:: {member.__module__}.{member.__qualname__}"]
            lines += ["   :members:", "   :inherited-members: Exception, object"] if isclass(member) else []
            lines += ["```", ""]
    return "\n".join(lines)


def _markdown(text: str) -> str:
    """A docstring's marks as Markdown has them."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text)
    return " ".join(text.replace("``", "`").split())


def cell(text: str) -> str:
    """A text inside a table: no tag begins, nothing is set off."""
    parts = text.split("`")
    outside = [part.replace("<", "&lt;").replace("*", r"\*").replace("_", r"\_") for part in parts[::2]]
    inside = parts[1::2]
    joined = [piece for pair in zip(outside, [f"`{word}`" for word in inside] + [""], strict=False) for piece in pair]
    return "".join(joined)
