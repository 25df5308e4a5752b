"""The last run of a folder, and the results of runs before 0.7 there."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from partywise.core.project import command
from place import RESULTS, write_json


@dataclass(frozen=True)
class LastRun:
    """The name of its results, the file of its configuration, and the words that it was called with."""

    name: str
    configuration: str
    words: tuple[str, ...]

    def write(self, folder: Path) -> None:
        """Keep it in results/last_run.json."""
        write_json(path_of(folder), asdict(self))


def path_of(folder: Path) -> Path:
    """Its file in the folder of the run."""
    return folder / RESULTS / "last_run.json"


def read(folder: Path) -> LastRun | None:
    """The last run of a folder; None where there was none."""
    try:
        stored = json.loads(path_of(folder).read_text(encoding="utf-8"))
        return LastRun(str(stored["name"]), str(stored["configuration"]), tuple(map(str, stored["words"])))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def restore(earlier: LastRun | None, folder: Path) -> None:
    """Undo the record of a run that began nothing; without an earlier run the folder of results goes as well."""
    if earlier is not None:
        earlier.write(folder)
        return
    path_of(folder).unlink(missing_ok=True)
    with suppress(OSError):
        path_of(folder).parent.rmdir()


def old_results(folder: Path) -> list[Path]:
    """Folders of studies from before every configuration had a folder of its own."""
    return sorted(path.parent for path in (folder / RESULTS).glob("*/cube.nc"))


def tell_old(folder: Path) -> None:
    """Name them: nothing here reads or removes them."""
    if folders := old_results(folder):
        names = ", ".join(str(path) for path in folders)
        print(
            f"Results from before 0.7, when all configurations shared one folder, lie in {names}: they stay, no run "
            f"uses them any more, and `{command('clean')}` names and removes them.",
            file=sys.stderr,
        )
