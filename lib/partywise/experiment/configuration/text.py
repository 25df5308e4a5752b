"""The text of a configuration: data only.  Read here before Snakemake reads it, whose reader can execute Python.

YAML allows more than data: Snakemake runs a file with ``__use_yte__: true`` as a program (also in a dry run), tags make
objects, keys that are given twice hide each other, and a few hundred bytes of aliases stand for more values than memory
holds.
"""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import yaml

from ...core.errors import ConfigError
from ...core.files import nearest_file
from .build import refuse_misread

TABLES = (".csv", ".tsv", ".xlsx", ".xls", ".ods", ".parquet", ".feather", ".sav", ".dta", ".rds")
# In a draft: a key whose value is a question, and what tells whose it is.
ASKED = re.compile(r"[\s-]*(\w+):\s*\?\s*(?:#.*)?$")
NAMED = re.compile(r"[\s-]*name:\s*([^#]+)")
KEYED = re.compile(r"\s*(response):\s*$")
# The largest configurations that make sense have some 10,000 values and 1 MB.
LONGEST = 10_000_000
MOST_VALUES = 1_000_000
DEEPEST = 50
# Brackets of a file and letters of a line up to which no nesting is deep.
FEW = 2000
# Keys of YTE, the language of programs that Snakemake looks for; a merge (<<) can bring them to the top.
PROGRAM = ("__use_yte__", "__definitions__", "__variables__")
NAME, MERGE = "tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"
NUMBERS = {"tag:yaml.org,2002:int", "tag:yaml.org,2002:float"}
PLAIN = {f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float", "str", "seq", "map", "merge")}


def read_file(path: Path) -> dict[str, object]:
    """The content of one file of a configuration, in YAML or JSON."""
    text = _text(path)
    try:
        root = _json(text, path)
    except ConfigError:
        raise
    except ValueError:
        root = _yaml(text, path)
    if not isinstance(root, dict):
        raise ConfigError(f"{path} is not a block of keys: begin with `root_seed:` and `studies:`.")
    return root


def _text(path: Path) -> str:
    """The text of a file that is a file, of a length that is read at once."""
    try:
        about = path.stat()
        if stat.S_ISDIR(about.st_mode):
            raise ConfigError(f"{path} is a folder: name a configuration file, such as config/paper.yaml.")
        if path.suffix.lower() in TABLES:
            raise ConfigError(f"{path} is a table and no configuration: ./run check-data {path} drafts one for it.")
        if not stat.S_ISREG(about.st_mode):
            raise ConfigError(f"{path} is not a file: name a configuration file, such as config/paper.yaml.")
        if about.st_size > LONGEST:
            raise ConfigError(f"{path} has {about.st_size} bytes: a configuration has at most {LONGEST}.")
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        near = nearest_file(path)
        hint = f"did you mean {near}? " if near else ""
        raise ConfigError(f"{path} is not there: {hint}name a configuration file, such as config/paper.yaml.") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror}): make it readable.") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not text in UTF-8 (byte {error.start}): save it as UTF-8.") from None


def _json(text: str, path: Path) -> object:
    """JSON as data; ValueError when it is none."""

    def pairs(items: list[tuple[str, object]]) -> dict[str, object]:
        block: dict[str, object] = {}
        for key, value in items:
            if key in block:
                raise ConfigError(f"{path} gives the key {key!r} twice: keep one of them.")
            _check_key(key, f"{path}")
            block[key] = value
        return block

    try:
        return json.loads(text, object_pairs_hook=pairs)
    except RecursionError:
        raise ConfigError(f"{path} is nested too deeply: at most {DEEPEST} levels.") from None


def _yaml(text: str, path: Path) -> object:
    """YAML as data."""
    if left := questions(text):
        raise ConfigError(
            f"{path} has {len(left)} question{'s' * (len(left) > 1)} left: {', '.join(left)}; put an answer in place "
            "of each ?, from the meaning of the column."
        )
    try:
        loader, root = _parse(text)
        if root is None:
            raise ConfigError(f"{path} is empty: begin with `root_seed:` and `studies:`.")
        _check(root, path)
        return loader.construct_document(root)
    except ConfigError:
        raise
    except yaml.MarkedYAMLError as error:
        where = _line(error.problem_mark)
        column = "" if error.problem_mark is None else f" column {error.problem_mark.column + 1}"
        raise ConfigError(f"{path}{where}{column} is not valid YAML: {_problem(error)}.") from None
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"{path} is not valid YAML: {' '.join(str(error).split())}.") from None
    except RecursionError:
        raise ConfigError(f"{path} is nested too deeply: at most {DEEPEST} levels.") from None


def _parse(text: str) -> tuple[yaml.SafeLoader, yaml.Node | None]:
    """A loader and the root of its document: by libyaml, several times as fast, if that is there and finds no mistake.

    A mistake has the words of PyYAML's own parser, whichever found it. That one refuses what is nested too deeply,
    where libyaml's would end the process: without long lines and many brackets nothing can be nested so deeply.
    """
    fast = getattr(yaml, "CSafeLoader", None)
    brackets = text.count("[") + text.count("{")
    if fast is not None and brackets <= FEW and max(map(len, text.splitlines()), default=0) <= FEW:
        loader = fast(text)
        with suppress(yaml.YAMLError):
            return loader, loader.get_single_node()
    loader = yaml.SafeLoader(text)
    return loader, loader.get_single_node()


def questions(text: str) -> list[str]:
    """Keys of a draft whose value is still a `?`, each with the name that it belongs to and its line."""
    left, name, depth = list[str](), "", 0
    for number, line in enumerate(text.splitlines(), 1):
        indent = len(line) - len(line.lstrip(" -"))
        if match := NAMED.match(line):
            name, depth = match[1].strip("\"' "), indent
        elif match := KEYED.match(line):
            name, depth = match[1], indent + 1
        if match := ASKED.match(line):
            left.append(f"{match[1]}{f' of {name}' if indent >= depth and name else ''} (line {number})")
    return left


def _problem(error: yaml.MarkedYAMLError) -> str:
    """Return the message of the parser, with a remedy for tabs and for backslashes."""
    message = " ".join(part for part in (error.context, error.problem) if part)
    if "unknown escape character" in message:
        return f"{message} (divide folders by / in a path, or put it in single quotes)"
    return message + (" (indent with spaces, not with tabs)" if "'\\t'" in message else "")


def _line(mark: yaml.Mark | None) -> str:
    return "" if mark is None else f" line {mark.line + 1}"


def _check(root: yaml.Node, path: Path) -> None:
    """Raise for the first node that is not data, and for aliases that stand for too much."""
    sizes: dict[int, int] = {}
    # Depth first without recursion; a node is measured when all below it are, and aliases are nodes seen before.
    open_nodes: set[int] = set()
    stack = [(root, False)]
    while stack:
        node, left = stack.pop()
        key = id(node)
        if left:
            open_nodes.discard(key)
            sizes[key] = 1 + sum(sizes[id(child)] for child in _children(node))
            if sizes[key] > MOST_VALUES:
                raise ConfigError(
                    f"{path}{_line(node.start_mark)} stands for more than {MOST_VALUES} values: write fewer aliases."
                )
        elif key in open_nodes:
            raise ConfigError(
                f"{path}{_line(node.start_mark)} holds itself: an alias (*name) may not be inside its anchor."
            )
        elif key not in sizes:
            open_nodes.add(key)
            if len(open_nodes) > DEEPEST:
                raise ConfigError(f"{path}{_line(node.start_mark)} is nested too deeply: at most {DEEPEST} levels.")
            _check_node(node, path)
            stack.append((node, True))
            stack += [(child, False) for child in _children(node)]


def _children(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        for pair in node.value:
            yield from pair
    elif isinstance(node, yaml.SequenceNode):
        yield from node.value


def _check_node(node: yaml.Node, path: Path) -> None:
    """Raise when a node has a tag of its own, a number that is misread, or keys that are not names or given twice."""
    where = f"{path}{_line(node.start_mark)}"
    if node.tag not in PLAIN:
        tag = node.tag.replace("tag:yaml.org,2002:", "!!")
        what = "a date: put it in quotes" if tag == "!!timestamp" else "unknown: a configuration holds plain data"
        raise ConfigError(f"{where} has the YAML tag {tag}, which is {what}.")
    if node.tag in NUMBERS:
        refuse_misread(node.value, where)
    if not isinstance(node, yaml.MappingNode):
        return
    seen: dict[str, int] = {}
    for key, _ in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            raise ConfigError(f"{path} line {line} has a list or a block as a key: a key is a name.")
        if key.tag not in (NAME, MERGE):
            raise ConfigError(
                f"{path} line {line} has the key {key.value}, which YAML takes for no text: put it in quotes."
            )
        if key.value in seen:
            raise ConfigError(
                f"{path} line {line} gives the key {key.value!r} twice, first in line {seen[key.value]}: keep one."
            )
        seen[key.value] = line
        _check_key(key.value, f"{path} line {line}")


def _check_key(key: str, where: str) -> None:
    if key in PROGRAM:
        raise ConfigError(f"{where} has the key {key}, which lets Snakemake run the file as a program: remove it.")
