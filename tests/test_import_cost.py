"""Importing the privacy core is cheap: every job of every study does it."""

from __future__ import annotations

import subprocess
import sys

from pipeline import ROOT, environment

MODULES = sorted(path.stem for path in (ROOT / "lib" / "partywise" / "privacy").glob("[a-z]*.py"))
CORE = ("calibration", "mechanisms", "accounting", "ledger", "audit", "sensitivity", "sampling")
MEASURE = "import sys, time; sys.path.insert(0, {lib!r}); t = time.process_time(); {what}; "
MEASURE += "print(time.process_time() - t)"


def cost(what: str, runs: int = 5) -> float:
    """Least CPU time in seconds of some imports in a new process, numpy included."""
    code = MEASURE.format(lib=str(ROOT / "lib"), what=what)
    command = [sys.executable, "-c", code]
    done = [subprocess.run(command, env=environment(), capture_output=True, text=True, check=True) for _ in range(runs)]
    return min(float(one.stdout) for one in done)


def test_the_core_is_where_it_is_looked_for():
    assert set(CORE) <= set(MODULES)


def test_the_whole_core_costs_at_most_a_quarter_of_scipy_stats():
    names = ", ".join(f"partywise.privacy.{name}" for name in MODULES)
    assert cost(f"import {names}") <= 0.25 * cost("import scipy.stats")
