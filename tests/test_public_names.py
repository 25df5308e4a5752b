"""Names that users are promised: each is there, and is what it says."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import re
import subprocess
import sys
import textwrap
from collections import defaultdict

import pytest

import documented
import partywise
from fingerprint import closure, imports
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
    "partywise.core.randomness": ("SimulationRandom", "stream"),
    "partywise.methods.logistic": ("fit_walr", "plan_label_dp", "boundedness", "release_dot_product"),
    "partywise.methods.inverse_regression": ("sir", "projection_loss"),
    "partywise.methods.inverse_regression.models": ("draw",),
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
    homes = partywise.public_homes()
    assert partywise.__all__ == sorted(homes) and set(dir(partywise)) == {"__version__", *homes}
    for name, module in homes.items():
        found = getattr(partywise, name)
        home = importlib.import_module(f"partywise.{module}")
        assert found.__doc__ and (found is home if name == module else callable(found)), name
        assert found is home or found is getattr(home, name)
    stub = (ROOT / "lib" / "partywise" / "__init__.pyi").read_text(encoding="utf-8")
    statements = re.findall(r"import (\w+) as (\w+)$", stub, flags=re.M)
    assert sorted(statements) == [(name, name) for name in sorted(homes)]
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        partywise.nonsense  # noqa: B018


def test_no_job_depends_on_the_face():
    """What a job imports it imports from the modules: a new name reruns nothing."""
    package = ROOT / "lib" / "partywise"
    helper = {"partywise.core.lazy", "partywise.core.lazy.lazy_names"}
    assert set(imports(package / "__init__.py", "partywise")) == helper
    names = set(partywise.public_homes())
    for path in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level == len(path.relative_to(package).parts):
                assert node.module or not names & {alias.name for alias in node.names}, path
    assert set(closure(["partywise"])) == {"partywise", "partywise.core", "partywise.core.lazy"}


PUBLIC = documented.public()
# A header of a section and the line under it.
HEADER = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.M)


def sections(thing: object) -> dict[str, str]:
    """The text of every section of a docstring, by its header; what stands before the first has none."""
    found = HEADER.split(inspect.cleandoc(thing.__doc__ or ""))
    return {"": found[0]} | dict(zip(found[1::2], found[2::2], strict=True))


def without_examples(things: dict[str, object]) -> list[str]:
    """Addresses; a property may be shown by its class, or by one that inherits it."""
    tests = {address: documented.doctests(address, thing).examples for address, thing in things.items()}
    shown = defaultdict[str, str](str)
    for address, thing in things.items():
        for owner in getattr(thing, "__mro__", ()):
            shown[f"{owner.__module__}.{owner.__qualname__}"] += "".join(one.source for one in tests[address])
    bare = [one for one in things if "Examples" not in sections(things[one]) or not tests[one]]
    return [one for one in bare if not (documented.is_property(things[one]) and named_in(one, shown))]


def named_in(address: str, shown: dict[str, str]) -> bool:
    """Whether the code of a class reads an attribute."""
    owner, _, name = address.rpartition(".")
    return re.search(rf"\.{name}\b", shown[owner]) is not None


def undescribed_parameters(things: dict[str, object]) -> dict[str, list[str]]:
    """Names without an entry in the section Parameters, by address; errors take a message and nothing else."""
    missing = {}
    for address, thing in things.items():
        if documented.is_property(thing) or (inspect.isclass(thing) and issubclass(thing, Exception)):
            continue
        lines = sections(thing).get("Parameters", "").splitlines()
        entries = ",".join(line.partition(":")[0] for line in lines if line[:1].strip())
        described = {name.strip(" *") for name in entries.split(",")}
        named = inspect.signature(thing).parameters
        missing[address] = [name for name in named if name not in ("self", "cls", *described)]
    return {address: names for address, names in missing.items() if names}


def undescribed_errors(things: dict[str, object]) -> list[str]:
    """Addresses of what raises by itself and has no section Raises: of a class, what makes its instances."""
    return [one for one, thing in things.items() if "Raises" not in sections(thing) and any(map(raises, codes(thing)))]


def codes(thing: object) -> list[object]:
    """The functions behind a public name that were written down."""
    makers = [vars(thing).get(name) for name in ("__init__", "__post_init__")] if inspect.isclass(thing) else [thing]
    found = [getattr(one, "fget", None) or getattr(one, "func", None) or one for one in makers if one]
    # What a dataclass makes was not.
    return [one for one in found if inspect.unwrap(one).__code__.co_filename != "<string>"]


def raises(code: object) -> bool:
    """Whether a function has a statement that raises."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(code))))
    return any(isinstance(node, ast.Raise) for node in ast.walk(tree))


def test_every_public_docstring_has_examples():
    assert len(PUBLIC) > 150 and without_examples(PUBLIC) == []


def test_examples_in_docstrings_print_what_stands_under_them():
    assert documented.run_docstrings(extras=True) == []


def test_no_example_is_left_out():
    """But for what says which extra it needs, in an environment without it."""
    tests = [documented.doctests(address, thing) for address, thing in PUBLIC.items()]
    assert not [test.name for test in tests for one in test.examples if doctest.SKIP in one.options]


def test_parameters_of_public_functions_are_described():
    assert undescribed_parameters(PUBLIC) == {}


def test_errors_that_public_functions_raise_are_described():
    assert undescribed_errors(PUBLIC) == []


class Wrong:
    """Says too little.

    Examples
    --------
    >>> 1 + 1
    3
    >>> # Needs the extra `figures`.
    """

    @property
    def size(self) -> int:
        """No example reads it."""
        return 1

    def grow(self, by: int) -> None:
        """By how much, and what if not?"""
        raise ValueError(by)


def test_what_says_too_little_or_is_wrong_is_seen(monkeypatch):
    wrong = {f"{__name__}.Wrong": Wrong} | {f"{__name__}.Wrong.{name}": vars(Wrong)[name] for name in ("size", "grow")}
    assert without_examples(wrong) == [f"{__name__}.Wrong.size", f"{__name__}.Wrong.grow"]
    assert undescribed_parameters(wrong) == {f"{__name__}.Wrong.grow": ["by"]}
    assert undescribed_errors(wrong) == [f"{__name__}.Wrong.grow"]
    monkeypatch.setattr(documented, "public", lambda extras: wrong)
    (difference,) = documented.run_docstrings(extras=True)
    assert "Expected:\n    3\nGot:\n    2" in difference and documented.run_docstrings(extras=False) == []
