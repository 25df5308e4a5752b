"""Counts of the text that a reader of this project meets: lines, files, definitions, names, docstrings, verbs.

`./run check` prints them (20 CPU seconds). They hold nothing: `tests/test_words.py` holds the rules of names.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from partywise.core.verbs import first_level

ROOT = Path(__file__).resolve().parents[2]
# Words of speech and participles, which say of a value where it came from and not what it is.
PRIVATE_WORDS = {"found", "one", "own", "given", "told", "made", "held", "kept", "shown", "said", "beside"}
# First words of docstrings that are neither a verb nor a noun phrase.
VERBLESS = re.compile(r"(Of|The same|What|As|Where|Who|Whom|Whose|With|How|That|Which|At|For|From|By|In|On|Beside)\b")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LONG_FILE = 480


def source_files(folder: Path) -> list[Path]:
    """Python files below a folder."""
    return sorted(folder.rglob("*.py"))


def room_files(library: Path, room: str) -> list[Path]:
    """Python files of a room of the library, or of the project by a pattern such as ``scripts/*.py``."""
    if "*" in room:
        return sorted(ROOT.glob(room))
    path = library / room
    return source_files(path) if path.is_dir() else [path]


def count_lines(paths: list[Path]) -> int:
    """Lines of files."""
    return sum(path.read_text(encoding="utf-8").count("\n") for path in paths)


def count_code(path: Path) -> int:
    """Lines with code: no blank line, no comment, no docstring."""
    text = path.read_text(encoding="utf-8")
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS)) and ast.get_docstring(node) is not None:
            expression = node.body[0]
            lines.difference_update(range(expression.lineno, (expression.end_lineno or 0) + 1))
    return len(lines - {0})


def local_names(tree: ast.AST) -> Iterator[str]:
    """Names of arguments, of locals (each once per function) and of definitions."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.ClassDef, *FUNCTIONS)):
            yield node.name
        if isinstance(node, (ast.Lambda, *FUNCTIONS)):
            arguments = node.args
            for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
                yield argument.arg
            body = node.body if isinstance(node.body, list) else [node.body]
            stored = (name for statement in body for name in ast.walk(statement) if isinstance(name, ast.Name))
            yield from {name.id for name in stored if isinstance(name.ctx, ast.Store)}


def docstrings(tree: ast.AST) -> Iterator[str]:
    """Docstrings of a module, its classes and functions."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS)):
            text = ast.get_docstring(node)
            if text:
                yield text


def house_counts(root: Path) -> dict[str, int]:
    """Every count, by what it counts."""
    paths = source_files(root / "lib" / "partywise")
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in paths]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    classes = Counter(node.name for node in nodes if isinstance(node, ast.ClassDef))
    names = Counter(name for tree in trees for name in local_names(tree))
    tracked = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True).stdout
    pages = [root / "README.md", *sorted((root / "docs").glob("*.md"))]
    return {
        "lines": count_lines(paths),
        "lines of code": sum(map(count_code, paths)),
        "files": len(paths),
        "definitions": sum(isinstance(node, (ast.ClassDef, *FUNCTIONS)) for node in nodes),
        "classes that share their name": sum(number for number in classes.values() if number > 1),
        "names that are private words": sum(names[word] for word in PRIVATE_WORDS),
        "docstrings without a verb": sum(bool(VERBLESS.match(text)) for tree in trees for text in docstrings(tree)),
        f"files above {LONG_FILE} lines": sum(count_lines([path]) > LONG_FILE for path in paths),
        "entries of the root": len({line.split("/")[0] for line in tracked.splitlines()}),
        "verbs of the first level": len(first_level(in_clone=True)),
        "words of pages": sum(len(page.read_text(encoding="utf-8").split()) for page in pages),
        "lines of tests": count_lines(source_files(root / "tests")),
    }


if __name__ == "__main__":
    for what, number in house_counts(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT).items():
        print(f"{number:>8,}  {what}")
