"""The verb ``./run summary [STUDY] [--folder results/NAME]``: the full tables of a run as text."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from last_run import read
from partywise.core.project import command, exit_code
from partywise.core.verbs import new_parser
from place import RESULTS

TABLE = "summary.txt"


def main(words: Sequence[str]) -> int:
    """Print the table of one study, or of all of them; 2 when there is none."""
    parser = new_parser("summary")
    parser.add_argument("study", nargs="?", help="one of its studies; all of them by default")
    parser.add_argument("--folder", type=Path, help="results of another run, such as results/default")
    arguments = parser.parse_args(words)
    last = read(Path())
    folder = arguments.folder or (Path(RESULTS) / last.name if last else None)
    if folder is None:
        print(
            f"There is no last run: run {command()} first, or name a folder with --folder results/NAME.",
            file=sys.stderr,
        )
        return 2
    tables = {path.parent.name: path for path in sorted(folder.glob(f"*/{TABLE}"))}
    if not tables:
        print(
            f"{folder} holds no tables: the run has not finished a study yet, or it is another folder.", file=sys.stderr
        )
        return 2
    if arguments.study is not None and arguments.study not in tables:
        known = ", ".join(tables)
        print(f"{folder} has no table of {arguments.study!r}: its studies are {known}.", file=sys.stderr)
        return 2
    chosen = [tables[arguments.study]] if arguments.study else list(tables.values())
    print("\n".join(path.read_text(encoding="utf-8").rstrip("\n") + "\n" for path in chosen), end="")
    return 0


if __name__ == "__main__":
    sys.exit(exit_code(lambda: main(sys.argv[1:])))
