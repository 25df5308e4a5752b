"""The place of the results of a run: a folder for each configuration, into which no other configuration writes."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from partywise.core.errors import ConfigError
from partywise.core.project import command
from partywise.experiment.results.folder import KEPT, RESULTS, checked_name, result_name

ROOT = Path(__file__).resolve().parents[1]
# In the folder of a configuration: whose it is.
RECORD = "configuration.json"
# Folders beside those of the studies.
TAKEN = (KEPT, "benchmarks", "figures", "logs", "provenance")


@dataclass(frozen=True)
class Place:
    """The folder of a configuration.

    name : of the folder, in results/; configuration : the file that it belongs to, as a path from the folder of the run
    or, for one of the project elsewhere, from that of the project
    sha256 : of the text of that file, so that it may move
    """

    name: str
    configuration: str
    sha256: str = ""

    @property
    def folder(self) -> str:
        """Path from the folder of the run."""
        return f"{RESULTS}/{self.name}"

    def refuse_other(self, run: Path) -> None:
        """Raise :class:`ConfigError` where the folder holds the results of another configuration."""
        owner = read_record(run / self.folder / RECORD)
        if owner is None or self.configuration == owner.configuration or (self.sha256 and self.sha256 == owner.sha256):
            return
        raise ConfigError(
            f"{self.folder} belongs to {owner.configuration}, and {self.configuration} would write there too: give one "
            f"of the two a name of its own, as in `name: {self.name}_2` at its top, or remove those results by "
            f"`{command('clean')} {self.name}`."
        )

    def record(self, run: Path) -> None:
        """Write down whose folder it is."""
        write_json(run / self.folder / RECORD, asdict(self))


def place(config: Mapping[str, Any], files: Sequence[Path], run: Path) -> Place:
    """The place of the results of a configuration in force; ConfigError when its name is none, or no file gives one.

    files : from which it was read and that name studies, in order; the last one gives the name where no ``name`` does
    run : folder of the run
    """
    studies = config.get("studies")
    for study in studies if isinstance(studies, Mapping) else ():
        if study in TAKEN:
            raise ConfigError(f"studies.{study} has the name of a folder of results: give that study another one.")
    if not files:
        return Place(checked_name(config.get("name")), "--config")
    path = files[-1].parent.resolve() / files[-1].name
    name = result_name(config, path)
    digest, top = hashlib.sha256(path.read_bytes()).hexdigest(), run.resolve()
    in_clone = path.is_relative_to(ROOT) and not path.is_relative_to(top)
    return Place(name, os.path.relpath(path, ROOT if in_clone else top), digest)


def shipped(name: str) -> Path:
    """A file or folder by its path or, where there is none, by its path in the project or in its folder ``config``."""
    candidates = (Path(name), ROOT / name, ROOT / "config" / name)
    return next((path for path in candidates if path.exists()), Path(name))


def read_record(path: Path) -> Place | None:
    """Read the configuration that a folder belongs to; None if the record is absent or cannot be read."""
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        return Place(str(stored["name"]), str(stored["configuration"]), str(stored.get("sha256", "")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def write_json(path: Path, content: Any) -> None:
    """A small file, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part{os.getpid()}")
    part.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    part.replace(path)
