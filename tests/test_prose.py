"""Docstrings and messages are plain English: a table of patterns that they do not have.

The patterns are those of words that stand for another one, or that a reader in another country reads twice. Names of
settings, messages on the wire, releases, columns and files are exempt: they are in backticks or quotation marks.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from house_counts import docstrings, room_files
from pipeline import ROOT

LIB = ROOT / "lib" / "partywise"
# What is not written, and what is written instead.
PATTERNS = {
    r"\b(?:is|are|was|were|be) no (?!longer\b|more\b|less\b|fewer\b|\w+er than\b)\w+": "is not a",
    r"\b(?:is|are|was|were|be|been) told\b|\b(?:say|says|said|tell|tells|told)\b": "state, report, name, list, give",
    r"\bbut for\b": "except, apart from, except with probability",
    r"\b(?:who|what)ever\b|\b(?:some|no|every|any)body\b": "the role: owner, analyst, server, party, reader",
    r"\bbeside\b": "next to, in addition to",
    r"\b(?:stands?|stood)\b(?! (?:for|out)\b)": "is, appears, is in",
    r"\bruns? apart\b|\bparties apart\b": "in a distributed run",
    r"(?<![\w.:%])\.\d": "0.5",
}
# Rooms that keep the table; the others follow, one at a time.
FINISHED = (
    "__main__.py",
    "alignment",
    "audits",
    "check_data.py",
    "commands.py",
    "core",
    "data",
    "deployment",
    "experiment",
    "federation",
    "methods",
    "models",
    "plot",
    "privacy",
    "scoring.py",
    "studies",
)
FINISHED += ("workflow/**/*.py", "scripts/*.py", "docs/*.py")
# Rooms of which every text is a sentence that a reader sees, wherever it is built.
WHOLE = ("__main__.py", "alignment", "audits", "check_data.py", "deployment", "models", "plot")
# The texts of a published statement: a checker of another version compares them word by word.
PUBLISHED = LIB / "deployment" / "statement" / "statement.py"
PAGES = (".github/SECURITY.md", "README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")))
WORDS, SEMICOLONS = 30, 1
HEADING = re.compile(r"(?:What|Who|Which|Why|How|When|Where(?! to start))\b(?!-)")
FENCED = re.compile(r"^```.*?^```$|<!--.*?-->|^<img .*?>$", re.DOTALL | re.MULTILINE)
CELLS = re.compile(r"^\|.*$", re.MULTILINE)
LINK = re.compile(r"!?\[([^\]]*)\]\([^)\s]*\)")
ITEM = re.compile(r"\n(?=(?:[-*]|\d+\.) )")
QUOTED = re.compile(r"``[^`]*``|`[^`]*`|(?<!\w)'[^']*'(?!\w)|\"[^\"]*\"")


def messages(tree: ast.AST) -> Iterator[str]:
    """Texts of errors that are raised, and of warnings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and node.exc is not None:
            yield from texts(node.exc)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "warn":
            yield from texts(node)


def texts(node: ast.AST) -> Iterator[str]:
    """Texts in an expression: sentences, not single words, which are keys."""
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and " " in part.value.strip():
            yield part.value


def literals(tree: ast.AST) -> Iterator[str]:
    """Texts of a module apart from its docstrings."""
    documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in documented:
            yield from texts(node)


def offences(text: str) -> list[str]:
    """Sentences of a text with a pattern of the table, without what is quoted and without examples of code."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith((">>>", "..."))]
    plain = QUOTED.sub("", "\n".join(lines))
    return [found.group() for pattern in PATTERNS for found in re.finditer(pattern, plain, re.IGNORECASE)]


@pytest.mark.parametrize("room", FINISHED)
def test_docstrings_and_messages_are_plain(room):
    found: dict[str, list[str]] = {}
    assert room_files(LIB, room)
    for file in room_files(LIB, room):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        whole = room in WHOLE and file != PUBLISHED
        written = literals(tree) if whole else messages(tree)
        wrong = [match for text in (*docstrings(tree), *written) for match in offences(text)]
        if wrong:
            found[str(file.relative_to(ROOT))] = wrong
    assert found == {}


def paragraphs(page: str) -> Iterator[str]:
    """Paragraphs and entries of lists of a page, on one line each: without code, tables, quotations and addresses."""
    text = CELLS.sub("", FENCED.sub("", page))
    for part in re.split(r"\n\s*\n", text):
        for item in ITEM.split(part):
            line = QUOTED.sub("x", LINK.sub(r"\1", " ".join(item.split())))
            if line and not line.startswith("#"):
                yield line.removeprefix("- ")


def page_offences(page: str) -> Iterator[str]:
    """Yield what a page has against the rules: patterns, headings that are questions, long sentences, semicolons."""
    yield from offences(LINK.sub(r"\1", FENCED.sub("", page)))
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", page), re.MULTILINE)
    yield from (f"heading: {heading}" for heading in headings if HEADING.match(heading))
    for line in paragraphs(page):
        if line.count(";") > SEMICOLONS:
            yield f"{line.count(';')} semicolons: {line}"
        for sentence in re.split(r"(?<=[.?!:])[*_)]* ", line):
            if len(sentence.split()) > WORDS:
                yield f"{len(sentence.split())} words: {sentence}"


@pytest.mark.parametrize("name", PAGES)
def test_pages_are_plain(name):
    assert list(page_offences((ROOT / name).read_text(encoding="utf-8"))) == []


def test_the_rules_of_pages_see_what_they_are_for():
    for page in ("a page that is no list", "## What falls short", "a; b; c", f"{'word ' * 31}.", "it is [told](x.md)"):
        assert list(page_offences(page)), page
    code = "```\nit is no list; a; b\n```\n| a; b; c | `nobody` |\n\nOne; two. [Three](nobody.md).\n\n## Whatnot\n"
    assert list(page_offences(code)) == []


def test_the_table_sees_what_it_is_for():
    seen = ("it is no list", "who is told", "but for one", "nobody has it", "beside it", "it stands here", "sd .5")
    assert all(map(offences, seen))
    assert not any(
        map(offences, ("it is no longer than 3", "x stands for y", "the key 'say'", "1.5", "`beside`", "``beside``"))
    )
