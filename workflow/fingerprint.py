"""SHA-256 of the library files that a job uses, found by following its import statements.

Snakemake does not see edits in lib/: with this fingerprint among the params of a rule, an edit reruns the jobs that
use the edited file, and nothing else.  Methods and studies from elsewhere are followed as well: through their own
package where that is installed, through the whole folder where it is not.
"""

from __future__ import annotations

import ast
import atexit
import hashlib
import importlib.util
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

PACKAGE = "partywise"
ROOT = Path(__file__).resolve().parents[1]
IN_CLONE = (ROOT / "lib").is_dir()
# The library of this very folder: beside it in a clone, around it in an installed package.
LIB = ROOT / "lib" if IN_CLONE else ROOT.parents[1]


def share_library(folder: Path) -> None:
    """Put the library of this folder on the path, here and for scripts in any environment.

    folder : of the run; of an installed package it gets a link to the library alone, without its neighbours
    """
    shared = LIB if IN_CLONE else folder.resolve() / ".snakemake" / "library"
    if not IN_CLONE and not (shared / PACKAGE).exists():
        shared.mkdir(parents=True, exist_ok=True)
        (shared / PACKAGE).unlink(missing_ok=True)
        (shared / PACKAGE).symlink_to(LIB / PACKAGE, target_is_directory=True)
    sys.path.insert(0, str(shared))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(shared), os.environ.get("PYTHONPATH")]))


@cache
def module_file(module: str, lib: Path = LIB) -> Path | None:
    """Source of a module of the package; None when the name is not a module (but something inside one)."""
    stem = lib.joinpath(*module.split("."))
    for path in (stem / "__init__.py", stem.with_suffix(".py")):
        if path.is_file():
            return path
    return None


@cache
def home(top: str) -> Path | None:
    """Folder of a module or package that is not of this project, None when there is none with a source."""
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations))).parent
    return Path(spec.origin).parent if spec.origin and spec.origin.endswith(".py") else None


def source(module: str, packages: Iterable[str], lib: Path = LIB) -> Path | None:
    """Return the source of a module of the package, of one of ``packages``, or of a module next to one of these."""
    top = module.partition(".")[0]
    if top == PACKAGE:
        return module_file(module, lib)
    for name in packages:
        folder = home(name)
        installed = folder is not None and {"site-packages", "dist-packages"} & set(folder.parts)
        if folder is not None and (top == name or not installed) and (path := module_file(module, folder)):
            return path
    return None


@cache
def imports(path: Path, module: str) -> frozenset[str]:
    """Modules of the package that a source file imports anywhere, except for type checking only."""
    return frozenset(name for name in imported_names(path, module) if name.split(".")[0] == PACKAGE)


@cache
def imported_names(path: Path, module: str) -> frozenset[str]:
    """Everything that a source file imports anywhere, except for type checking only."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    return _import_cache().names(path.read_bytes(), package)


class ImportCache:
    """Imports of sources, kept in a file by their content: to parse all sources takes half of the time of a plan.

    place : of the file; where its folder is absent or cannot be written, the next process parses again
    """

    def __init__(self, place: Path) -> None:
        self.place, self.used = place, dict[str, list[str]]()
        # Of this very file: another one may find other imports.
        self.reader = hashlib.sha256(Path(__file__).read_bytes()).digest()
        try:
            self.earlier: dict[str, list[str]] = json.loads(place.read_bytes())
        except (OSError, ValueError):
            self.earlier = {}

    def names(self, content: bytes, package: str) -> frozenset[str]:
        """Return the names that a source file of a package imports."""
        key = hashlib.sha256(b"\0".join([self.reader, package.encode(), content])).hexdigest()
        if key not in self.used:
            self.used[key] = self.earlier.get(key) or sorted(_names(content, package))
        return frozenset(self.used[key])

    def keep(self) -> None:
        """Write what this process used, if some of it is new."""
        if self.used.keys() <= self.earlier.keys() or not self.place.parent.is_dir():
            return
        temporary = self.place.with_name(f".{self.place.name}.{os.getpid()}")
        try:
            temporary.write_text(json.dumps(self.used))
            temporary.replace(self.place)
        except OSError:
            temporary.unlink(missing_ok=True)


@cache
def _import_cache() -> ImportCache:
    """Return the stored imports of the folder of the run."""
    cache_of_run = ImportCache(Path.cwd() / ".snakemake" / "imports.json")
    atexit.register(cache_of_run.keep)
    return cache_of_run


def _names(content: bytes, package: str) -> set[str]:
    """Return the full names in the import statements of a source."""
    names = set()
    for node in _statements(ast.parse(content)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        else:
            up = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*up, *([node.module] if node.module else [])])
            names |= {base} | {f"{base}.{alias.name}" for alias in node.names}
    return names


@cache
def discovered_modules(path: Path, module: str) -> frozenset[str]:
    """Modules of a package that finds them itself (``iter_modules``), as accountants are found: all in its folder."""
    if path.name != "__init__.py" or b"iter_modules(__path__)" not in path.read_bytes():
        return frozenset()
    return frozenset(f"{module}.{file.stem}" for file in path.parent.glob("*.py") if file != path)


def _statements(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Import statements of a syntax tree, without those under ``if TYPE_CHECKING``."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        # No expression holds a statement.
        elif not isinstance(node, ast.expr) and not (
            isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        ):
            yield from _statements(node)


def closure(roots: Iterable[str], lib: Path = LIB) -> dict[str, Path]:
    """Every module of the package and of packages of the roots that importing the roots brings in, with its source."""
    modules: dict[str, Path] = {}
    queue = list(roots)
    packages = {root.partition(".")[0] for root in queue} - {PACKAGE}
    while queue:
        module = queue.pop()
        if module in modules or (path := source(module, packages, lib)) is None:
            continue
        modules[module] = path
        queue += imported_names(path, module) if packages else imports(path, module)
        queue += discovered_modules(path, module)
        if "." in module:
            queue.append(module.rpartition(".")[0])
    return modules


@cache
def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def sources(roots: Iterable[str], lib: Path = LIB) -> dict[str, str]:
    """SHA-256 of every module that the roots use and of the templates of their packages, in the order of their names.

    ValueError when a root is not a module of the package: its edits would go unseen.
    """
    roots = tuple(roots)
    for root in roots:
        if source(root, [root.partition(".")[0]], lib) is None:
            raise ValueError(f"root {root!r} is not a module with a source: correct the name in the study.")
    modules = closure(roots, lib)
    templates = {
        f"{module}/{template.name}": template
        for module, path in modules.items()
        if path.name == "__init__.py"
        for template in path.parent.glob("*.jinja")
    }
    return {name: _digest(path) for name, path in sorted((modules | templates).items())}


def fingerprint(roots: Iterable[str], lib: Path = LIB) -> str:
    """SHA-256 over the names and sources of all modules that the roots use, and of their templates."""
    return digest_of(sources(roots, lib))


def digest_of(digests: Mapping[str, str]) -> str:
    """SHA-256 over names and digests, in their order."""
    return hashlib.sha256("".join(f"{name}\0{digest}\n" for name, digest in digests.items()).encode()).hexdigest()


def script_roots(script: Path) -> tuple[str, ...]:
    """Modules of the package that a script imports."""
    return tuple(sorted(name for name in imports(script, "__main__") if module_file(name) is not None))
