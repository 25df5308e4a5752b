"""The verb ``./run test``: pytest on the fast tests, or with an option on what they leave out."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from partywise.core.verbs import HELP, below, new_parser

FAST = "not runs and not statistical and not system"
# One file of tests at a time on every core, the longest first (tests/conftest.py).
TEST = ["-m", "pytest", "-n", "auto", "--dist", "loadfile", "--no-loadscope-reorder", "-m", FAST]
# Patterns and one folder: pytest drops a file that is named beside a folder that holds it.
LONG = ["-m", "pytest", "-m", "statistical", "-o", "python_files=test_*.py statistical*.py", "tests", "-s"]
# Nothing of the suite's own fixtures, which need its tools; warnings of the frameworks are theirs.
FRAMEWORKS = ["-m", "pytest", "--noconftest", "-p", "no:cacheprovider", "-o", "filterwarnings=default"]
FRAMEWORKS += ["--disable-warnings", *map(str, sorted(Path("tests/methods/filters").glob("frameworks_*.py")))]
LAYERS = ["tests/support/framework_layers.py"]
# Installs system packages first, and leaves no daemon behind.
SYSTEM = "tests/system/suite.sh"


def main(words: Sequence[str]) -> None:
    """Become pytest, with the words that are left."""
    mode = next((option for option in below("test") if option in words), "")
    words = [word for word in words if word != mode]
    if set(HELP) & set(words):
        print(new_parser("test").format_help().replace("[-h]", f"[{' | '.join(below('test'))}] [words of pytest]"))
        return
    if mode == "--system":
        os.execv(SYSTEM, [SYSTEM, sys.executable, *words])
    if mode == "--frameworks" and words[:1] == ["--write"]:
        program = LAYERS
    else:
        program = [*{"": TEST, "--long": LONG, "--frameworks": FRAMEWORKS}[mode], *words]
    os.execv(sys.executable, [sys.executable, *program])


if __name__ == "__main__":
    main(sys.argv[1:])
