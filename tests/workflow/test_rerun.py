"""What an edit makes run again: exactly what it touches.  Every case edits one file of a copy of a finished run."""

from __future__ import annotations

from pathlib import Path

import pytest

from fingerprint import ImportCache, closure, discovered_modules, fingerprint, imported_names, imports
from pipeline import STUDY, TINY, Planned, add_comment, copy_run, edit, planned, planned_after

METHODS = {"mean_curve", "predictor_none", "predictor_fixed", "party_fixed", "moments"}
FIGURES = {"error_by_parties", "error_by_epsilon"}
LIB = "lib/partywise/"
FUNCTIONAL = "methods/functional/protocols"
DOWNSTREAM = {"collect": 1, "figure": 2}
FITS = {"fit": 10, **DOWNSTREAM}
ALL = {"generate": 1, **FITS}
TINY_FILE = "config/tiny.yaml"
STEPS = "moments\n        max_steps: "


@pytest.fixture(scope="module")
def copy(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_run(finished, tmp_path_factory.mktemp("edited") / "copy")


def jobs(found: Planned) -> dict[str, int]:
    return dict(sorted(found.jobs.items()))


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ([f"{LIB}studies/{STUDY}/study.py"], ALL),
        ([f"{LIB}studies/{STUDY}/metrics.py"], FITS),
        ([f"{LIB}experiment/results/cube.py"], DOWNSTREAM),
        ([f"{LIB}experiment/plotting/style.py"], {"figure": 2}),
        ([f"{LIB}studies/{STUDY}/figures/curves.py", f"{LIB}{FUNCTIONAL}/rounds.py", "workflow/launch.py"], {}),
        (["scripts/generate.py"], ALL),
        (["envs/fit.yaml"], FITS),
        (["scripts/collect.py"], DOWNSTREAM),
        (["envs/figure.yaml"], {"figure": 2}),
    ],
)
def test_an_edited_file_reruns_its_users(copy, files, expected):
    """Of each rule; that the fingerprint sees every module of a job is `test_code_closure.py`."""
    assert jobs(planned_after(copy, files, add_comment, *TINY)) == dict(sorted(expected.items()))


def test_nothing_would_run_after_the_edits_above_were_taken_back(copy):
    assert jobs(planned(copy, *TINY)) == {}


@pytest.mark.parametrize(
    ("old", "new", "expected", "methods", "figures"),
    [
        # Blocks of two folds: the finished block changes its meaning, and there is one more.
        ("folds: 2\n", "folds: 4\n", {"fit": 20, **DOWNSTREAM}, METHODS, FIGURES),
        # Two more replicates are one more block; the finished ones stay.
        ("replicates: 2\n", "replicates: 4\n", ALL, METHODS, FIGURES),
        ("parties: [2, 4]", "parties: [2, 3, 4]", {"fit": 5, **DOWNSTREAM}, METHODS, FIGURES),
        # Only the moments have a target.
        ("epsilon: [8.0, 64.0]", "epsilon: [8.0, 32.0]", {"fit": 2, **DOWNSTREAM}, {"moments"}, FIGURES),
        (
            "dealer\n        max_steps: 30",
            "dealer\n        max_steps: 31",
            {"fit": 2, **DOWNSTREAM},
            {"moments"},
            FIGURES,
        ),
        ("snr: 10.0", "snr: 11.0", ALL, METHODS, FIGURES),
        ("root_seed: 7", "root_seed: 8", ALL, METHODS, FIGURES),
        ("delta: 1.0e-5", "delta: 1.0e-6", ALL, METHODS, FIGURES),
        ("[error_by_parties, error_by_epsilon]", "[error_by_parties, operators]", {"figure": 1}, set(), {"operators"}),
    ],
)
def test_an_edited_key_reruns_what_depends_on_it(copy, old, new, expected, methods, figures):
    found = planned_after(copy, [TINY_FILE], lambda path: edit(path, old, new), *TINY)
    assert jobs(found) == dict(sorted(expected.items()))
    assert found.methods() == methods
    assert found.figures() == figures


def test_fingerprint_follows_imports_only(tmp_path):
    package = tmp_path / "partywise"
    (package / "sub").mkdir(parents=True)
    files = {
        "__init__.py": "",
        "sub/__init__.py": "from . import deep\n",
        "sub/deep.py": "",
        "a.py": "from .b import x\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .never import y\n",
        "b.py": "def f():\n    import partywise.sub.late\n",
        "sub/late.py": "from ..c import z\n",
        "c.py": "import json\n",
        "never.py": "",
    }
    for name, text in files.items():
        (package / name).write_text(text)
    names = {name.removeprefix("partywise").lstrip(".") for name in closure(["partywise.a"], tmp_path)}
    assert names == {"", "a", "b", "sub", "sub.late", "sub.deep", "c"}
    # A package that finds its files itself uses all of them.
    (package / "sub" / "__init__.py").write_text("from pkgutil import iter_modules\nFOUND = iter_modules(__path__)\n")
    imports.cache_clear(), imported_names.cache_clear(), discovered_modules.cache_clear()
    before = closure(["partywise.sub"], tmp_path)
    assert {"partywise.sub.late", "partywise.sub.deep", "partywise.c"} <= set(before)
    with pytest.raises(ValueError, match=r"root .partywise\.nowhere. is not a module"):
        fingerprint(["partywise.nowhere"], tmp_path)


def test_what_was_parsed_is_kept_by_content_and_package(tmp_path):
    place = tmp_path / "imports.json"
    first = ImportCache(place)
    for content, package, found in ((b"import a", "p", {"a"}), (b"from . import a", "p", {"p", "p.a"})):
        assert first.names(content, package) == found
    first.keep()
    second = ImportCache(place)
    assert second.earlier == first.used and len(first.used) == 2
    assert second.names(b"from . import a", "q") == {"q", "q.a"} and second.names(b"import a, b", "p") == {"a", "b"}
    assert second.names(b"import a", "p") == {"a"}
    second.keep()
    # What no source needs any more goes.
    assert set(ImportCache(place).earlier) == set(second.used) != set(first.used)
    place.write_text("{")
    assert ImportCache(place).names(b"import a", "p") == {"a"}
    ImportCache(tmp_path / "none" / "imports.json").keep()
    assert [file.name for file in tmp_path.iterdir()] == ["imports.json"]


def test_closures_of_the_real_study_stay_apart():
    """A method's module is behind its own fits only; figures and datasets are behind no fit of simulated data."""
    names = closure(["partywise.methods.functional.protocols.curves"])
    assert "partywise.methods.functional.protocols.moments" not in names
    assert "partywise.methods.functional.protocols.rounds" not in names
    assert not any(name.startswith(("partywise.experiment.plotting", "partywise.studies.")) for name in names)
