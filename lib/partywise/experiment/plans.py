"""Read configurations: files -> blocks in full -> checked plans.

A study may have a file of its own: its value is the name of that file, or a block whose key ``file`` names it and whose
other keys override it.  An option of a method that is a matrix may be ``file: NAME.csv``, or ``file: NAME.npz`` with
several: the numbers take the place of the name, so that jobs and readers of a configuration need no further file.
Names of files begin in the folder of the file that names them.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

# Any: blocks of a configuration.
from typing import Any

from ..core.errors import ConfigError
from .configuration.build import build
from .configuration.grammar import Configuration
from .plan import Plan, plan

FILE = "file"


def read_file(path: Path) -> dict[str, object]:
    """A file as people write it; a published configuration is JSON, and its checker needs no reader of YAML."""
    from .configuration.text import read_file as read

    return read(path)


def read_configuration(path: Path) -> dict[str, object]:
    """The content of a configuration file, studies in files of their own included."""
    config = read_file(path)
    if isinstance(studies := config.get("studies"), Mapping):
        files = _Files([path])
        config["studies"] = {name: _whole(name, block, files)[0] for name, block in studies.items()}
    return config


def plans(config: Mapping[str, object], files: Sequence[Path] = ()) -> dict[str, Plan]:
    """One plan for each study of a configuration."""
    configuration: Configuration = build(Configuration, config, "")
    by_study, where = {}, _Files(files)
    for name, written in configuration.studies.items():
        block, file = _whole(name, written, where)
        try:
            by_study[name] = plan(name, block, configuration.root_seed)
        except ConfigError as error:
            raise ConfigError(f"{file}: {error}" if file else str(error)) from None
    return by_study


class _Files:
    """The files of a configuration in order, each read once, and only where a study names a file."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = paths
        self.contents: list[dict[str, object]] | None = None

    def folder(self, study: str, file: str) -> Path:
        """Folder of the last file that names this file in a study; that of the run where ``--config`` does."""
        if self.contents is None:
            self.contents = [read_file(path) for path in self.paths]
        for path, content in zip(reversed(self.paths), reversed(self.contents), strict=True):
            studies = content.get("studies")
            if isinstance(studies, Mapping) and _names(studies.get(study), file):
                return path.parent
        return Path()


def _names(written: object, file: str) -> bool:
    """Whether a block, or one inside it, names this file."""
    if not isinstance(written, Mapping):
        return written == file
    return written.get(FILE) == file or any(_names(v, file) for v in written.values() if isinstance(v, Mapping))


def _whole(name: str, written: object, files: _Files) -> tuple[object, str]:
    """The block of a study with the content of the file that it names, and that file; empty where it names none."""
    written = _with_matrices(name, written, files)
    if not (isinstance(written, str) or (isinstance(written, Mapping) and FILE in written)):
        return written, ""
    overrides = {} if isinstance(written, str) else {key: value for key, value in written.items() if key != FILE}
    file, at = (written, f"studies.{name}") if isinstance(written, str) else (written[FILE], f"studies.{name}.{FILE}")
    if not isinstance(file, str) or not file:
        raise ConfigError(f"{at} is {file!r}: it must be the name of a file with the block of the study.")
    path = files.folder(name, file) / file
    try:
        content = read_file(path)
    except ConfigError as error:
        raise ConfigError(f"{at} is {file!r}: {error}") from None
    if FILE in content:
        raise ConfigError(
            f"{path}: {FILE} is {content[FILE]!r}: a file that is named holds the whole block of a study."
        )
    content = _with_matrices(name, content, path.parent)
    where = _display_path(path) + (f" and {', '.join(overrides)} next to its name" if overrides else "")
    return _merge(content, overrides), where


def _with_matrices(name: str, block: Any, files: _Files | Path) -> Any:
    """A block of a study in which numbers take the place of the files that its methods name for an option."""
    methods = block.get("methods") if isinstance(block, Mapping) else None
    if not isinstance(methods, Mapping):
        return block
    whole = dict(methods)
    for label, method in methods.items():
        for option, value in method.items() if isinstance(method, Mapping) else ():
            if isinstance(value, Mapping) and set(value) == {FILE}:
                file, at = str(value[FILE]), f"studies.{name}.methods.{label}.{option}"
                folder = files if isinstance(files, Path) else files.folder(name, file)
                whole[label] = {**whole[label], option: _matrices(folder / file, f"{at} is {file!r}")}
    return {**block, "methods": whole}


def _matrices(path: Path, where: str) -> list[Any]:
    """Numbers of a file: one matrix of a CSV file without a header, all arrays of an npz file in their order."""
    try:
        if path.suffix == ".npz":
            from ..core.files import open_npz

            return [array.tolist() for array in open_npz(path).part("").values()]
        if path.suffix == ".csv":
            with path.open(encoding="utf-8", newline="") as handle:
                return [list(map(float, row)) for row in csv.reader(handle) if row]
    except (OSError, ValueError) as error:
        raise ConfigError(f"{where}: {path} holds no matrix of numbers ({error}); write rows of numbers.") from None
    raise ConfigError(f"{where}: name a CSV file with one matrix, or an npz file with several.")


def _display_path(path: Path) -> str:
    """A file for messages: from the folder of the run where it lies below it."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def _merge(block: Mapping[str, object], overrides: Mapping[str, object]) -> dict[str, object]:
    """A block in which the keys of another have the last word, blocks inside blocks included."""
    merged = dict(block)
    for key, value in overrides.items():
        current = merged.get(key)
        merged[key] = _merge(current, value) if isinstance(current, Mapping) and isinstance(value, Mapping) else value
    return merged
