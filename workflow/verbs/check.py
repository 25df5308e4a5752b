"""The verb ``./run check``: linters, types and spelling, counts of the library, and the points of ``--artifact``."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from partywise.core.verbs import new_parser

TOOLS = Path(sys.executable).parent
PAGES = ("README.md", *sorted(map(str, (*Path("docs").glob("*.md"), *Path(".github").glob("*.md")))))
COMMANDS = (
    [TOOLS / "ruff", "check", "."],
    [TOOLS / "ruff", "format", "--check", "."],
    [TOOLS / "snakefmt", "--check", "Snakefile", "workflow"],
    [TOOLS / "mypy"],
    [TOOLS / "codespell", *PAGES, "CHANGELOG.md", "Snakefile", "lib", "workflow", "scripts"],
    [TOOLS / "proselint", "check", "--config", "docs/proselint.json", *PAGES],
    # What a reader has to know, in numbers: printed, and held by nothing.
    [sys.executable, "tests/support/house_counts.py"],
    [sys.executable, "workflow/verbs/artifact.py"],
)


def main(words: Sequence[str]) -> int:
    """Run every check up to the first that fails; its exit code."""
    new_parser("check").parse_args(words)
    return next((code for command in COMMANDS if (code := subprocess.run(command).returncode)), 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
