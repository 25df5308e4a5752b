"""Importing the privacy core is cheap: every job of every study does it."""

from __future__ import annotations

import subprocess
import sys

from partywise.experiment.study import available
from pipeline import ROOT, environment

HOME = ROOT / "lib" / "partywise" / "privacy"
MODULES = sorted(".".join(path.relative_to(HOME).with_suffix("").parts) for path in HOME.rglob("[a-z]*.py"))
CORE = ("accounting.calibration", "mechanisms.gaussian", "ledger.compose", "ledger.ledger", "audit.pairs")
CORE += ("statistics.records",)


def foreign(what: str) -> set[str]:
    """Modules from outside the standard library that a statement loads in a new process."""
    code = f"import sys; {what}; print(*sys.modules)"
    path = {"PYTHONPATH": str(ROOT / "lib")}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment() | path, capture_output=True, text=True, check=True)
    own = {*sys.stdlib_module_names, *sys.builtin_module_names, "__main__", "partywise", "sitecustomize"}
    return {name for name in done.stdout.split() if name.partition(".")[0] not in own}


def test_all_names_import_without_the_modules_of_unix():
    """So that the library is not tied to it where only parties apart and runs are."""
    absent = "sys.modules.update(dict.fromkeys(('fcntl', 'grp', 'pwd', 'resource', 'termios')))"
    assert foreign(f"{absent}; import partywise; [getattr(partywise, name) for name in dir(partywise)]") >= {"numpy"}


def test_the_core_is_where_it_is_looked_for():
    assert set(CORE) <= set(MODULES)


def test_the_core_stands_on_numpy_and_special_functions_alone():
    """What every job pays for certificates is what these two cost; the package itself loads neither."""
    site = foreign("pass")
    assert foreign("import partywise.privacy") == site
    names = ", ".join(f"partywise.privacy.{name}" for name in MODULES)
    more = foreign(f"import {names}") - foreign("import numpy, scipy.special") - site
    assert sorted(name for name in more if not name.startswith(("numpy.", "scipy._lib"))) == []


def test_settings_of_all_studies_are_checked_by_the_standard_library():
    """A configuration is read before any job and by every verb: no study brings numpy for it."""
    named = ", ".join(f"partywise.studies.{name}.study" for name in available())
    assert sorted(name for name in foreign(f"import {named}") - foreign("pass") if name.startswith("numpy")) == []


def test_the_face_costs_nothing_until_a_name_is_asked_for():
    """Importing the package brings the module that finds names, and no numpy; a name brings its own home only."""
    code = """
import sys
import partywise as pw
loaded = [name for name in sys.modules if name.startswith(("partywise.", "numpy", "scipy"))]
assert loaded == ["partywise.core", "partywise.core.lazy"], loaded
pw.split_rows
assert "partywise.federation.parties" in sys.modules and "partywise.privacy" not in sys.modules
assert "scipy" not in sys.modules
methods = {name: home for name, home in pw.public_homes().items() if home.startswith("methods.")}
estimators = set(methods) - {"CertifiedFilter"}
assert len(estimators) > 9
for name in set(pw.__all__) - estimators:
    getattr(pw, name)
assert not {"scipy.stats", "sklearn", "dp_accounting"} & set(sys.modules)
for name in estimators:  # their base is scikit-learn's, where that is installed
    getattr(pw, name)
assert "sklearn" in sys.modules and "dp_accounting" not in sys.modules
assert not [name for name in sys.modules if name.startswith("partywise.studies")]
"""
    path = {"PYTHONPATH": str(ROOT / "lib")}
    done = subprocess.run([sys.executable, "-c", code], env=environment() | path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_pynacl_is_loaded_where_lists_are_intersected_or_frames_sealed_and_nowhere_else():
    """Not by the programs of all studies, not by aligned records or digests; and two files alone may import it."""
    code = """
import importlib, sys, warnings
from partywise.experiment.study import available, load
for name in available():
    for protocol in load(name).methods.values():
        importlib.import_module(protocol.fit.module)
from partywise.alignment.rows import common_rows
from unaligned import rows_and_number, unaligned
from partywise.federation.run import simulate
ids = [["a", "b"], ["b", "c"]]
simulate(rows_and_number, unaligned([[str(i) for i in range(12)]] * 2, "psi", aligned=True))
for mode in ("hmac", "sha256"):
    simulate(rows_and_number, unaligned(ids, mode))
assert not {"nacl", "_cffi_backend"} & set(sys.modules)
simulate(rows_and_number, unaligned(ids, "psi"))
assert "nacl" in sys.modules
"""
    path = {"PYTHONPATH": f"{ROOT / 'lib'}:{ROOT / 'tests' / 'support'}"}
    done = subprocess.run([sys.executable, "-c", code], env=environment() | path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lib = ROOT / "lib" / "partywise"
    users = [str(path.relative_to(lib)) for path in lib.rglob("*.py") if "nacl" in path.read_text(encoding="utf-8")]
    assert sorted(users) == ["deployment/wire/relay.py", "federation/exchanges/psi.py"]


def test_a_fit_loads_nothing_that_writes_tables():
    """Not the script of fits, not the programs of all studies, not a cell of a study; collect does, for all of them."""
    code = """
import sys
from importlib import import_module
from pathlib import Path
from fingerprint import script_roots
from partywise.experiment.study import available, load
tables = {"jinja2", "matplotlib", "pandas", "xarray"}
for module in script_roots(Path(sys.argv[1])):
    import_module(module)
for study in map(load, available()):
    named = [study.data, study.split, study.folds, study.metrics, study.example_fits]
    named += [source.generate for source in study.sources.values()] + [one.fit for one in study.methods.values()]
    for module in {one.module for one in named if one is not None}:
        import_module(module)
import toy
from partywise.experiment.cells import run
from partywise.experiment.data import generate
plan = toy.toy_plan()
(case, *_), (method, *_) = plan.cases, plan.methods
assert run(plan, case, method, 1, [0], [0], generate(plan, case, [0], Path()))
assert not tables & set(sys.modules), tables & set(sys.modules)
import_module("partywise.experiment.collect")
assert tables - set(sys.modules) == {"matplotlib"}
"""
    path = {"PYTHONPATH": f"{ROOT / 'lib'}:{ROOT / 'workflow'}:{ROOT / 'tests' / 'support'}"}
    command = [sys.executable, "-c", code, str(ROOT / "scripts" / "fit.py")]
    done = subprocess.run(command, env=environment() | path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
