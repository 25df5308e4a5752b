"""Docstrings name modules and functions that exist: a path that moved is found here, all of them at once."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from pipeline import ROOT

LIB = ROOT / "lib" / "partywise"
# A dotted name in backticks, and files, which other tests follow.
DOTTED = re.compile(r"`([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)`")
FILES = (
    "py",
    "csr",
    "csv",
    "png",
    "md",
    "html",
    "json",
    "jsonl",
    "lock",
    "toml",
    "yaml",
    "txt",
    "nc",
    "npz",
    "pem",
    "key",
    "smk",
    "log",
    "svg",
)
# Words of the sources' own programs, and what stands for any module.
FOREIGN = {"generator.R", "vertical.eval", "federate.mode", "package.module", "CITATION.cff"}
MODULES = {
    path.relative_to(LIB).with_suffix("").as_posix().removesuffix("/__init__").replace("/", "."): path
    for path in LIB.rglob("*.py")
}


def docstrings(path: Path) -> Iterator[str]:
    """All of a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def defined(path: Path, name: str) -> bool:
    """Whether a file defines or imports a name."""
    return re.search(rf"\b{name}\b", path.read_text(encoding="utf-8")) is not None


def exists(dotted: str, text: str) -> bool:
    """Whether a path is one of a module of the library, whole or from some folder on, of a package, or an attribute."""
    names = dotted.removeprefix("partywise.").split(".")
    for cut in range(len(names), 0, -1):
        wanted = ".".join(names[:cut])
        found = [path for name, path in MODULES.items() if name == wanted or name.endswith(f".{wanted}")]
        if dotted.startswith("partywise."):
            found = [MODULES[wanted]] if wanted in MODULES else []
        if found and (cut == len(names) or any(defined(path, names[cut]) for path in found)):
            return True
    if dotted.startswith("partywise."):
        return False
    if names[0][0].isupper():
        return any(f"class {names[0]}" in path.read_text(encoding="utf-8") for path in MODULES.values())
    if names[0].endswith("_"):
        return any(defined(path, names[0]) for path in MODULES.values())
    if names[0] in identifiers(text):
        return True
    spec = find_spec(names[0])
    # A folder of the project without Python, such as resources/, is found as a namespace.
    folders = () if spec is None else spec.submodule_search_locations or ()
    return spec is not None and not any(Path(folder).parent == ROOT for folder in folders)


def identifiers(text: str) -> set[str]:
    """Names of variables, arguments, attributes and imports in a file's code."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        found |= {
            getattr(node, name) for name in ("id", "arg", "attr", "name") if isinstance(getattr(node, name, 0), str)
        }
    return found


def strangers() -> list[str]:
    """File and path of every name in a docstring that leads nowhere."""
    found = []
    for folder in ("lib", "workflow", "scripts"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            names = {name for doc in docstrings(path) for name in DOTTED.findall(doc)}
            names = {name for name in names - FOREIGN if name.rpartition(".")[2] not in FILES}
            found += [f"{path.relative_to(ROOT)}: {name}" for name in sorted(names) if not exists(name, text)]
    return found


def test_every_module_that_a_docstring_names_exists():
    """Twelve loaders named `resources.fetch`, which had become `data.fetch`."""
    assert strangers() == []


def test_a_path_that_is_not_there_is_a_stranger():
    assert not exists("resources.fetch", "import numpy") and not exists("partywise.methods.trees.nowhere", "")
    assert not exists("partywise.data.fetch.nothing_at_all", "")
    assert exists("data.fetch", "") and exists("partywise.methods.trees.options", "") and exists("rows.x", "rows = 1")


def test_steps_of_the_pipeline_are_rules():
    """The Snakefile named a rule ``generate`` that is not there."""
    words = re.search(r"Steps: ([^.]*)\.", (ROOT / "Snakefile").read_text(encoding="utf-8"))
    rules = set(re.findall(r"^(?:use rule \w+ as|rule) (\w+)", (ROOT / "workflow/rules/study.smk").read_text(), re.M))
    assert words is not None
    named = set(re.findall(r"[a-z]+", re.sub(r"\(.*?\)", "", words[1]))) - {"or"}
    assert named == rules


def test_benchmarks_import_what_is_there():
    """Nothing else reads them before somebody runs one: a name that was renamed is found here."""
    found = [
        f"{path.name}: {node.module}.{alias.name}"
        for path in sorted((ROOT / "tests" / "benchmarks").glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("partywise.")
        for alias in node.names
        if not exists(f"{node.module}.{alias.name}", "")
    ]
    assert found == []
