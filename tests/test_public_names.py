"""Names that users are promised: each is there, and is what it says."""

from __future__ import annotations

import ast
import doctest
import importlib
import subprocess
import sys

import pytest

import partywise
from fingerprint import closure, imports
from partywise import face
from pipeline import ROOT, environment

PROMISED = {
    "partywise.privacy.accounting.calibration": (
        "gaussian_delta",
        "gaussian_epsilon",
        "gdp_mu",
        "analytic_gaussian_sigma",
        "classic_gaussian_sigma",
        "zcdp_rho",
        "zcdp_epsilon",
        "randomized_response_probability",
    ),
    "partywise.privacy.mechanisms": (
        "Gaussian",
        "DiscreteGaussian",
        "SymmetricGaussian",
        "RandomizedResponse",
        "DistanceExponential",
        "AdjustedDistanceExponential",
        "ReportNoisyMax",
        "PrivateQuantile",
    ),
    "partywise.privacy.ledger.budget": ("PrivacyFilter",),
    "partywise.privacy.ledger.compose": ("epsilon",),
    "partywise.privacy.ledger.ledger": ("Ledger",),
    "partywise.privacy.audit.exact": ("audit_exact",),
    "partywise.privacy.audit.one_run": ("audit_one_run",),
    "partywise.privacy.audit.pairs": ("audit_pair",),
    "partywise.privacy.mechanisms.random": ("SecureRandom",),
    "partywise.randomness": ("SimulationRandom", "stream"),
    "partywise.logistic": ("fit_walr", "plan_label_dp", "boundedness", "release_dot_product"),
    "partywise.inverse_regression": ("sir", "projection_loss"),
    "partywise.inverse_regression.models": ("draw",),
}
PAIRS = [(module, name) for module, names in PROMISED.items() for name in names]


def test_a_promised_name_is_there_and_can_be_called():
    found = {(module, name): getattr(importlib.import_module(module), name, None) for module, name in PAIRS}
    assert not [pair for pair, thing in found.items() if not callable(thing) or not thing.__doc__]


def test_names_stay_what_they_are_whatever_else_was_imported():
    """In a new process, everything at once: no submodule may hide a function of its name."""
    lines = [f"from {module} import {', '.join(names)}" for module, names in PROMISED.items()]
    uses = [f"assert callable({name}), {name!r}" for _, name in PAIRS]
    again = [f"from {module} import {name}; assert callable({name}), {name!r}" for module, name in PAIRS]
    code = "\n".join([f"import sys; sys.path.insert(0, {str(ROOT / 'lib')!r})", *lines, *uses, *again])
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_face_has_every_name_once_and_each_is_there():
    assert list(face.__all__) == sorted(face.HOME) and len(face.HOME) == sum(map(len, face.HOMES.values()))
    for name in face.__all__:
        found = getattr(partywise, name)
        assert callable(found) and found.__doc__, name
        assert found is getattr(importlib.import_module(f"partywise.{face.HOME[name]}"), name)
    assert set(face.__all__) <= set(dir(partywise)) and partywise.__version__
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        partywise.nonsense  # noqa: B018


def test_editors_see_what_is_there():
    """The imports for type checking are the table of homes."""
    tree = ast.parse((ROOT / "lib" / "partywise" / "face.py").read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    shown = {alias.name: node.module for node in block.body for alias in node.names}
    assert shown == face.HOME


def test_no_job_depends_on_the_face():
    """What a job imports it imports from the modules: a new name reruns nothing."""
    assert set(closure(["partywise.functional.protocols.curves"])) & {"partywise", "partywise.face"} == {"partywise"}
    for path in sorted((ROOT / "lib").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT / "lib").with_suffix("").parts).removesuffix(".__init__")
        assert "partywise.face" not in imports(path, module), module
    assert set(closure(["partywise"])) == {"partywise"}


def test_examples_in_docstrings_print_what_stands_under_them():
    """Of every module behind the face; an estimator has one."""
    found = {home: doctest.testmod(importlib.import_module(f"partywise.{home}")) for home in face.HOMES}
    assert not [home for home, run in found.items() if run.failed]
    assert not [home for home, run in found.items() if home.endswith(".estimator") and not run.attempted]
