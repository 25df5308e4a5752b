"""Importing the privacy core is cheap: every job of every study does it."""

from __future__ import annotations

import subprocess
import sys

from pipeline import ROOT, environment

HOME = ROOT / "lib" / "partywise" / "privacy"
MODULES = sorted(".".join(path.relative_to(HOME).with_suffix("").parts) for path in HOME.rglob("[a-z]*.py"))
CORE = ("accounting.calibration", "mechanisms.gaussian", "ledger.compose", "ledger.ledger", "audit.pairs")
CORE += ("statistics.records",)
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


def test_importing_the_package_costs_at_most_a_quarter_of_scipy_stats():
    assert cost("import partywise.privacy") <= 0.25 * cost("import scipy.stats")


def test_the_whole_core_adds_next_to_nothing_to_what_it_stands_on():
    """numpy and scipy.special are its only foundations; what it adds itself is a tenth of scipy.stats at most."""
    names = ", ".join(f"partywise.privacy.{name}" for name in MODULES)
    base = cost("import numpy, scipy.special")
    assert cost(f"import {names}") - base <= 0.1 * cost("import scipy.stats")


def test_the_face_costs_nothing_until_a_name_is_asked_for():
    """Importing the package brings neither numpy nor any module of its own; a name brings its own home only."""
    code = """
import sys
import partywise as pw
loaded = [name for name in sys.modules if name.startswith(("partywise.", "numpy", "scipy"))]
assert not loaded, loaded
pw.split_rows
assert "partywise.federation.parties" in sys.modules and "partywise.privacy" not in sys.modules
assert "scipy" not in sys.modules
for name in pw.__all__:
    getattr(pw, name)
assert "scipy.stats" not in sys.modules and "dp_accounting" not in sys.modules
assert not [name for name in sys.modules if name.startswith("partywise.studies")]
"""
    path = {"PYTHONPATH": str(ROOT / "lib")}
    done = subprocess.run([sys.executable, "-c", code], env=environment() | path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
