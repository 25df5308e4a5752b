"""The verb ``./run bench``: every benchmark in turn; 1 if one misses its limit."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from partywise.core.verbs import new_parser


def main(words: Sequence[str]) -> int:
    """Run all benchmarks, and go on after one that fails."""
    new_parser("bench").parse_args(words)
    missed = 0
    for path in sorted(Path("tests/benchmarks").glob("[a-z]*.py")):
        print(f"== {path}", flush=True)
        missed |= subprocess.run([sys.executable, path]).returncode != 0
    return int(missed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
