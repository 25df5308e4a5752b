"""The verb ``./run clean``: remove results, after naming them, while no run is alive in the folder."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from guard import Occupied, refuse_foreign, take
from partywise.core.project import exit_code
from partywise.core.verbs import new_parser
from place import RECORD, RESULTS, read_record

# Of a party that runs apart (`partywise.federation.account`).
ACCOUNT = "ledger.jsonl"
# In the folder of all results, tracked: what each file of a run is.
GUIDE = "README.md"


def main(words: Sequence[str]) -> int:
    """Name what goes, ask, and remove it; 0 when it is gone, 1 after a no, 2 if it cannot ask or may not remove."""
    parser = new_parser("clean")
    parser.add_argument("name", nargs="?", help="the results of one configuration only, such as default")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    arguments = parser.parse_args(words)
    try:
        claim = take(Path())
        try:
            refuse_foreign(Path(), claim.killed)
            return clean(arguments.name, arguments.yes)
        finally:
            claim.restore()
    except Occupied as reason:
        print(reason, file=sys.stderr)
        return 2


def clean(name: str | None, yes: bool) -> int:
    """Name what goes, ask, and remove it, in a folder that is held; return the exit code."""
    top = Path(RESULTS)
    here = sorted(top.iterdir()) if top.is_dir() else []
    paths = [path for path in here if path.name != GUIDE and name in (None, path.name)]
    if not paths:
        known = ", ".join(path.name for path in here if path.is_dir()) or "nothing"
        print("There are no results." if name is None else f"{RESULTS}/{name} is not there: {RESULTS} holds {known}.")
        return 0 if name is None else 2
    for path in paths:
        print(f"{path}: {megabytes(path):.1f} MB{whose(path)}{accounts(path)}")
    if not yes:
        if not sys.stdin.isatty():
            print("Nothing was removed: without a terminal use `--yes`.", file=sys.stderr)
            return 2
        if input("Remove them? [y/N] ").strip().lower() not in ("y", "yes"):
            print("Nothing was removed.")
            return 1
    for path in paths:
        remove(path)
    if not top.is_symlink() and not any(top.iterdir()):
        top.rmdir()
    return 0


def remove(path: Path) -> None:
    """A file, a link or a whole folder."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def megabytes(path: Path) -> float:
    """Size of a file, or of all files of a folder."""
    files = path.rglob("*") if path.is_dir() and not path.is_symlink() else [path]
    return sum(file.lstat().st_size for file in files) / 1e6


def accounts(path: Path) -> str:
    """Return the warning that accounts of parties are lost as well; empty if the folder has none."""
    count = sum(1 for _ in path.rglob(ACCOUNT))
    return f"; {count} accounts of parties, without which no party knows what it has paid" if count else ""


def whose(path: Path) -> str:
    """Return the configuration that a folder belongs to, as the end of a sentence."""
    if owner := read_record(path / RECORD):
        return f", of {owner.configuration}"
    return ", from before 0.7" if (path / "cube.nc").exists() else ""


if __name__ == "__main__":
    sys.exit(exit_code(lambda: main(sys.argv[1:])))
