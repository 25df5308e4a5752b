"""Loader of the modules of a job from the bytes of their sources, each with its SHA-256.

Python takes bytecode for current by the time and the size of its source alone, and a source can be edited after a run
was planned.  A script imports this module first; all sources from which the library is then loaded are known.
"""

from __future__ import annotations

import gc
import hashlib
import marshal
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import MAGIC_NUMBER, cache_from_source, source_hash
from pathlib import Path
from types import CodeType, ModuleType

# Of bytecode that holds for a source of one content, whatever its time (PEP 552).
CHECKED = (3).to_bytes(4, "little")
SCRIPT = "__main__"
# Snakemake runs a copy of a script, with lines of its own before it.
PREAMBLE_END = b"######## snakemake preamble end #########\n"
LOADED: dict[str, str] = {}


class Loader(SourceFileLoader):
    """Loads a module from its source, or from bytecode of the same content, and keeps the digest of that content."""

    def get_code(self, fullname: str) -> CodeType:
        source = self.get_data(self.path)
        LOADED[fullname] = hashlib.sha256(source).hexdigest()
        bytecode_path, head = cache_from_source(self.path), MAGIC_NUMBER + CHECKED + source_hash(source)
        try:
            bytecode = self.get_data(bytecode_path)
        except OSError:
            bytecode = b""
        if bytecode.startswith(head):
            compiled: CodeType = marshal.loads(memoryview(bytecode)[len(head) :])
            return compiled
        code: CodeType = self.source_to_code(source, self.path)
        if not sys.dont_write_bytecode:
            self.set_data(bytecode_path, head + marshal.dumps(code))
        return code


class Finder:
    """Finds the modules that a plan names, wherever Python would find them."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = frozenset(names)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module that a plan names; None for any other."""
        spec = PathFinder.find_spec(name, path, target) if name in self.names else None
        if spec is not None and spec.origin and isinstance(spec.loader, SourceFileLoader):
            spec.loader = Loader(name, spec.origin)
        return spec


def load_by_content(sources: Mapping[str, str]) -> None:
    """Load the modules that ``sources`` names by the content of their sources from now on, this one included.

    Modules are many objects and no garbage: collection is off until `jobs.log_to`, when all of them are there.
    """
    gc.disable()
    sys.meta_path.insert(0, Finder(list(sources)))
    for name in set(sources) - {SCRIPT}:
        sys.modules.pop(name, None)
    vars(import_module(__name__))["LOADED"] = LOADED


def changed_sources(sources: Mapping[str, str]) -> Iterator[str]:
    """Files whose content here has another SHA-256 than ``sources`` gives by module, or by package and template."""
    for name, module in list(sys.modules.items()):
        if name in sources and sources[name] != (_script(module) if name == SCRIPT else LOADED.get(name)):
            yield str(module.__file__)
    for name, digest in sources.items():
        package, _, template = name.partition("/")
        if template and package in sys.modules:
            path = Path(str(sys.modules[package].__file__)).with_name(template)
            if hashlib.sha256(path.read_bytes()).hexdigest() != digest:
                yield str(path)


def _script(module: ModuleType) -> str:
    """SHA-256 of the script that this process was started with."""
    text = Path(getattr(module, "__real_file__", str(module.__file__))).read_bytes()
    return hashlib.sha256(text.partition(PREAMBLE_END)[2] or text).hexdigest()
