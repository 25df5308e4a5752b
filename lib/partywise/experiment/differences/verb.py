"""The verb ``compare --findings``: what two runs find differently, printed; everything as a table on request."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

EPILOG = """exit code: 0 nothing differs, 1 something differs, 2 nothing could be compared (as `diff` of files)

A cell is a case, a method, a number of parties and an epsilon.  Its mean is that over replicates of each one's mean
over folds.  With one root seed the replicates share their random numbers: their differences are tested (paired); with
two root seeds the means of two independent samples.  Without --findings the
verb reports every bit that moved."""


def compare_findings(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    """Print what differs between two cubes or folders; 1 when something does."""
    parser.add_argument("first", type=Path, help="a cube, or a folder of results such as results/default")
    parser.add_argument("second", type=Path)
    parser.add_argument("--only-changed", action="store_true", help="leave out cubes and cases without a difference")
    parser.add_argument("--csv", type=Path, help="write everything that differs to this file, not a screen of it")
    parser.epilog = EPILOG
    options = parser.parse_args(words)
    return print_findings(options.first, options.second, options.only_changed, options.csv)


def print_findings(first: Path, second: Path, only_changed: bool, csv: Path | None) -> int:
    """Print what differs between two cubes or folders; 1 when something does."""
    from ..tables.rows import write_csv
    from .difference import differences, rows
    from .summary import text

    findings = list(differences(first, second))
    print(text(findings, only_changed))
    if csv is not None:
        write_csv(csv, rows(findings))
        print(f"Everything that differs: {csv}")
    return 0 if all(finding.equal for finding in findings) else 1
