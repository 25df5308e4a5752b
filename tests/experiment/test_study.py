"""Plans from configurations, data files, and blocks of cells."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import get_type_hints

import mpmath as mp
import numpy as np
import pytest

import every_protocol
import toy
from partywise.core import files
from partywise.core.errors import ConfigError
from partywise.core.files import replacing
from partywise.experiment.cells import compute, run
from partywise.experiment.configuration.build import build
from partywise.experiment.data import generate
from partywise.experiment.jobs import Timings
from partywise.experiment.plan import plan
from partywise.experiment.plans import plans
from partywise.experiment.study import Lazy, Study, available, load
from partywise.privacy.accounting.calibration import gaussian_epsilon

ONE = {"methods": ("clear",), "replicates": 1, "parties": (1,), "folds": 1, "epsilon": (inf,)}


@dataclass(frozen=True)
class Inner:
    depth: int


@dataclass(frozen=True)
class Sample:
    count: int
    share: float = 0.5
    label: str | None = None
    pair: tuple[float, float] = (0.0, 1.0)
    many: tuple[int, ...] = ()
    either: float | tuple[float, ...] = 1.0
    switch: bool = False
    inner: Inner | None = None

    def __post_init__(self) -> None:
        if self.share < 0:
            raise ValueError(f"share is {self.share}: it must not be negative.")
        if self.many and self.many[0] < 0:
            raise ValueError(f"many[0] is {self.many[0]}: it must not be negative.")
        if self.count > 9 and self.switch:
            raise ValueError("a large count excludes the switch.")


def test_build_takes_what_is_typed_and_defaults_the_rest():
    made = build(Sample, {"count": 3, "share": 1, "many": [1, 2], "either": [1, 2.5], "inner": {"depth": 2}}, "at")
    assert made == Sample(3, 1.0, None, (0.0, 1.0), (1, 2), (1.0, 2.5), False, Inner(2))
    assert isinstance(made.share, float)
    assert build(Sample, {"count": 1, "label": None, "either": 2, "share": inf}, "at").either == 2.0


@pytest.mark.parametrize(
    ("block", "sentence"),
    [
        ({}, "at.count is missing: give a whole number."),
        ({"cuont": 1}, "at.cuont is unknown: did you mean count? allowed here: count, "),
        ({"count": True}, "at.count is True: it must be a whole number."),
        ({"count": 2.0}, "at.count is 2.0: it must be a whole number."),
        ({"count": 1, "switch": 1}, "at.switch is 1: it must be true or false."),
        ({"count": 1, "label": 3}, "at.label is 3: it must be text or null (put quotes around it)."),
        ({"count": 1, "pair": [1.0]}, "at.pair is [1.0]: it must be a list of 2 numbers."),
        ({"count": 1, "many": [1, "x"]}, "at.many[1] is 'x': it must be a whole number."),
        ({"count": 1, "share": "1e-5"}, "at.share is '1e-5': it must be a number (YAML reads 1e-5 as text;"),
        ({"count": 1, "inner": {"deep": 1}}, "at.inner.deep is unknown: did you mean depth?"),
        ({"count": 1, "inner": 4}, "at.inner is 4: a block of keys is needed here."),
        ({"count": 1, "share": -1}, "at.share is -1.0: it must not be negative."),
        ({"count": 1, "many": [-1]}, "at.many[0] is -1: it must not be negative."),
        ({"count": 10, "switch": True}, "at: a large count excludes the switch."),
        ([1], "at is [1]: a block of keys is needed here."),
        ({1: 2}, "at.1 is unknown: keys are text."),
    ],
)
def test_build_says_what_is_wrong(block, sentence):
    with pytest.raises(ConfigError) as told:
        build(Sample, block, "at")
    assert str(told.value).startswith(sentence)


def test_lazy_imports_on_first_call_and_names_what_is_missing():
    assert Lazy("math:sqrt")(4) == 2
    assert Lazy("math:sqrt").module == "math"
    with pytest.raises(ValueError, match=r"address is 'math:squirt': math defines no 'squirt'"):
        Lazy("math:squirt")()
    with pytest.raises(ValueError, match=r"address is 'math.sqrt': write it as package.module:name"):
        Lazy("math.sqrt")


def test_studies_are_found_by_their_file():
    assert "functional_boosting" in available()
    study = load("functional_boosting")
    assert isinstance(study, Study)
    with pytest.raises(ConfigError, match=r"studies.nothing is unknown: the studies are .*functional_boosting"):
        load("nothing")


def test_every_reference_of_every_study_exists():
    for name in available():
        study = load(name)
        parts = [study.data, study.split, study.folds, study.metrics, study.example_fits, *study.figures.values()]
        parts += [source.generate for source in study.sources.values()]
        parts += [protocol.fit for protocol in study.methods.values()]
        for part in parts:
            assert part is None or callable(part.target), part
        for protocol in study.methods.values():
            assert isinstance(protocol.options.uses_epsilon, bool | property)


EPSILON = [4, inf]
MOMENTS = {"protocol": "moments", "cipher": "sized"}
BLOCK = {
    "spec": {"delta": 1e-5},
    "methods": {
        "quiet": {"protocol": "boosting", "noise": "none"},
        "target": {"protocol": "moments", "cipher": "sized"},
    },
    "cases": {
        "simulated": {
            "settings": {"n": 40, "p": 3, "n_basis_x": 5, "n_basis_y": 5, "active": [0]},
            "grid": {
                "methods": ["quiet", "target"],
                "replicates": 2,
                "parties": [1, 3],
                "folds": 2,
                "epsilon": [4, inf],
            },
        }
    },
}


def test_a_part_of_a_plan_is_what_a_job_may_depend_on():
    made = plan("functional_boosting", BLOCK, 1)
    assert made.epsilons("simulated", "quiet") == (inf,)
    assert made.epsilons("simulated", "target") == (4.0, inf)
    part = made.part({"simulated": ["target"]})
    assert part["block"]["methods"] == {"target": MOMENTS}
    assert part["block"]["cases"]["simulated"]["grid"] == {"folds": 2, "epsilon": [4.0, inf], "methods": ["target"]}
    again = plan(**part, complete=False)
    assert again.methods["target"] == made.methods["target"]
    assert again.cases["simulated"].settings == made.cases["simulated"].settings
    assert again.epsilons("simulated", "target") == (4.0, inf)
    with pytest.raises(ConfigError, match=r"root_seed is 1.5: it must be a whole number."):
        plans({"root_seed": 1.5, "studies": {"functional_boosting": BLOCK}}, [])


def test_a_part_gives_the_cells_of_the_whole_plan(tmp_path):
    made = plan("functional_boosting", BLOCK, 1)
    data = generate(made, "simulated", range(2), tmp_path)
    whole = run(made, "simulated", "target", 3, range(2), range(2), data)
    part = plan(**made.part({"simulated": ["target"]}), complete=False)
    alone = run(part, "simulated", "target", 3, [1], [0], data)
    wanted = [cell for cell in whole if cell.coords["replicate"] == 1 and cell.coords["fold"] == 0]
    assert [cell.coords for cell in alone] == [cell.coords for cell in wanted]
    for one, other in zip(alone, wanted, strict=True):
        assert repr(one.scalars) == repr(other.scalars)
        assert one.ledger == other.ledger


def test_data_are_the_same_at_every_call_and_share_what_is_shared(tmp_path):
    made = toy.toy_plan()
    data, again = (generate(made, "one", [0, 3], tmp_path) for _ in range(2))
    for replicate, item in data.items():
        np.testing.assert_array_equal(again[replicate].x, item.x)
    assert data[0].level == data[3].level, "shared randomness is the same for all replicates"
    assert not np.array_equal(data[0].x, data[3].x)


@pytest.fixture
def data(tmp_path):
    return generate(toy.toy_plan(), "one", range(2), tmp_path)


def test_cells_carry_their_privacy_beside_their_error(data):
    cells = run(toy.toy_plan(), "one", "noisy", 1, [0, 1], [0, 1], data)
    assert [tuple(cell.coords.values()) for cell in cells[:4]] == [
        ("one", "noisy", 0, 1, 0, 1.0),
        ("one", "noisy", 0, 1, 0, 4.0),
        ("one", "noisy", 0, 1, 0, inf),
        ("one", "noisy", 0, 1, 1, 1.0),
    ]
    first = cells[0].scalars
    # Sensitivity 2 (radius 1), sigma 2 / epsilon: mu equals epsilon.
    assert first["mu_total"] == pytest.approx(1.0)
    assert first["epsilon_claimed"] == 1.0
    assert first["certified"] is True and first["n_releases"] == 1
    assert first["bytes_measured"] == 8
    assert first["n_train"] == 6 and first["status"] == "ok"
    assert len(first["ledger_sha256"]) == 64
    assert cells[0].names == ("active", "owner")
    clear = run(toy.toy_plan(), "one", "clear", 1, [0], [0], data)[0].scalars
    assert clear["epsilon_certified"] == inf and clear["certified"] is False


@pytest.mark.parametrize("delta", [1e-5, 1e-3])
def test_one_gaussian_release_through_a_cell_is_the_number_of_the_calibration(data, delta):
    """Sensitivity 2 over sigma 2 / epsilon is mu = epsilon: the cell says what 50 digits say of it."""
    made = replace(toy.toy_plan(), spec=toy.Spec(delta=delta))
    for cell in run(made, "one", "noisy", 1, [0, 1], [0, 1], data):
        mu, found = min(cell.coords["epsilon"], 100.0), cell.scalars
        assert found["delta"] == delta and found["mu_total"] == mu and cell.ledger[0].mu == mu
        assert found["epsilon_certified"] == found["epsilon_certified_part"] == gaussian_epsilon(mu, delta)
        with mp.workdps(50):
            said = mp.mpf(found["epsilon_certified"])
            real = mp.ncdf(mu / 2 - said / mu) - mp.exp(said) * mp.ncdf(-mu / 2 - said / mu)
            assert (1 - 1e-9) * delta < real <= delta


def test_a_case_with_its_own_delta_is_certified_at_that_delta(data):
    @dataclass(frozen=True)
    class WithDelta:
        n: int = 12
        delta: float = 1e-3

    made = toy.toy_plan()
    case = replace(made.cases["one"], settings=WithDelta())
    found = run(replace(made, cases={**made.cases, "one": case}), "one", "noisy", 1, [0], [0], data)[0].scalars
    assert found["delta"] == 1e-3 and found["epsilon_certified"] == gaussian_epsilon(1.0, 1e-3)


def test_noise_is_one_draw_rescaled_over_epsilon_and_shared_by_folds(data):
    cells = {tuple(c.coords.values())[2:]: c for c in run(toy.toy_plan(), "one", "noisy", 1, [0], [0, 1], data)}
    released = {key: cell.ledger[0].noise_digest for key, cell in cells.items()}
    assert released[0, 1, 0, 4.0] == released[0, 1, 1, 4.0], "folds re-use the release"
    x = data[0].x
    clipped = np.clip(x, -1, 1).sum() / 12
    mean = {e: cells[0, 1, 0, e].scalars["error"] + x[:6].mean() for e in (1.0, 4.0)}
    assert (mean[1.0] - clipped) / (mean[4.0] - clipped) == pytest.approx(4.0)


def test_each_replicate_draws_its_own_noise_with_the_stated_spread(data):
    """A job with the same records in 200 replicates: errors differ by noise of sd sigma / n alone."""
    share = {"case": "one", "methods": ["noisy"], "parties": [1], "replicates": range(200), "folds": [0]}
    cells = compute(toy.toy_plan(), share, lambda case, replicate: data[0], Timings())
    errors = np.array([cell.scalars["error"] for cell in cells if cell.coords["epsilon"] == 1.0])
    assert len(set(errors)) == 200
    # The variance of 200 draws has a relative standard error of .1; neighbours would be equal or correlated.
    assert errors.var(ddof=1) == pytest.approx((2.0 / 12) ** 2, rel=0.6)
    assert abs(np.corrcoef(errors[:-1], errors[1:])[0, 1]) < 0.4


@pytest.mark.parametrize("name", ["functional_boosting", "vertical_glm", "vertical_linear"])
@pytest.mark.parametrize("count", [2, 3, 5, 7])
def test_folds_of_a_study_hold_out_every_record_once(name, count, tmp_path):
    made = plan(name, every_protocol.block(name), every_protocol.ROOT_SEED)
    cases = [case for case in made.cases.values() if not case.resources and not getattr(case.settings, "n_test", 0)]
    for case in cases:
        (replicate,) = generate(made, case.name, [0], tmp_path).values()
        of = made.study.folds(replicate, count, case.settings)
        sizes = np.bincount(of, minlength=count)
        assert len(sizes) == count and max(sizes) - min(sizes) <= 1, (case.name, sizes)
    assert cases


def test_example_fits_and_wire_come_from_the_first_replicate_and_fold_only(data):
    cells = run(toy.toy_plan(), "one", "noisy", 2, [0, 1], [0, 1], data)
    for cell in cells:
        first = cell.coords["replicate"] == 0 and cell.coords["fold"] == 0
        assert bool(cell.example_fits) == first and bool(cell.wire) == first
    assert cells[0].wire[0]["name"] == "sum"


def test_a_failing_cell_names_itself_and_keeps_its_cause(data):
    made = toy.toy_plan(one={**ONE, "methods": ("broken",)})
    where = "study toy, case one, method broken, replicate 0, parties 1, fold 0, epsilon inf"
    message = rf"cell \({where}\) failed: FloatingPointError: a division by nothing"
    with pytest.raises(RuntimeError, match=message) as told:
        run(made, "one", "broken", 1, [0], [0], data)
    assert isinstance(told.value.__cause__, FloatingPointError)
    with pytest.raises(RuntimeError, match=r"parties 99, fold any, epsilon any\) failed: ValueError: n_parties is 99"):
        run(made, "one", "broken", 99, [0], [0], data)


def test_measures_must_be_declared_and_divergence_is_a_record(data):
    for metrics, sentence in (
        ("undeclared", "mystery is reported and not among the measures of ToyMeasures: declare it in toy."),
        ("as_mapping", "metrics returns a dict: give a ToyMeasures."),
    ):
        wrong = toy.toy_plan(toy.varied(metrics=toy.lazy(f"metrics_{metrics}")), one=ONE)
        with pytest.raises(RuntimeError, match=sentence):
            run(wrong, "one", "clear", 1, [0], [0], data)
    diverged = toy.toy_plan(toy.varied(metrics=toy.lazy("metrics_diverged"), example_fits=None), one=ONE)
    assert run(diverged, "one", "clear", 1, [0], [0], data)[0].scalars["status"] == "diverged"


def test_one_fold_trains_on_all(data):
    assert run(toy.toy_plan(one=ONE), "one", "clear", 1, [0], [0], data)[0].scalars["n_train"] == 12


def test_a_file_is_replaced_as_a_whole_or_not_at_all(tmp_path):
    target = tmp_path / "kept.txt"
    target.write_text("before")
    with pytest.raises(KeyError), replacing(target) as temporary:
        temporary.write_text("half")
        temporary.with_name(temporary.name.replace(f"-{os.getpid()}.", "-99999999.")).write_text("of a killed process")
        raise KeyError
    assert target.read_text() == "before"
    with suppress(KeyError), replacing(target):
        raise KeyError
    assert target.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["kept.txt"]
    with replacing(target) as temporary:
        temporary.write_text("after")
    assert target.read_text() == "after"
    told = r"kept.txt cannot be written \(No space left.*\): free space or make"
    with pytest.raises(OSError, match=told), replacing(target):
        raise OSError(28, "No space left on device")
    assert target.read_text() == "after"


def test_a_link_of_the_name_of_the_temporary_file_is_not_followed(tmp_path):
    precious, target = tmp_path / "precious", tmp_path / "kept.txt"
    precious.write_text("numbers")
    with replacing(target) as temporary:
        temporary.symlink_to(precious)
        with replacing(target) as again:
            assert again == temporary
            again.write_text("new")
        temporary.write_text("newer")
    assert precious.read_text() == "numbers" and target.read_text() == "newer"


def test_a_writer_leaves_the_temporary_file_of_a_living_one_alone(tmp_path):
    """An orphan of a killed run and the job that repeats it write the same file at the same time: both end well."""
    target = tmp_path / "kept.txt"
    code = "import sys; from partywise.core.files import replacing\n"
    code += "with replacing(sys.argv[1]) as temporary:\n"
    code += "    temporary.write_text('of the orphan'); print(temporary.name, flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", code, str(target)]
    environ = {**os.environ, "PYTHONPATH": str(Path(files.__file__).parents[1])}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ) as orphan:
        name = orphan.stdout.readline().strip()
        elsewhere = tmp_path / f".kept.00000000-{orphan.pid + 1}.part.txt"
        elsewhere.write_text("of a machine that nobody can ask from here")
        with replacing(target) as temporary:
            temporary.write_text("of the repeated job")
            assert {path.name for path in tmp_path.iterdir()} == {name, temporary.name, elsewhere.name}
        assert target.read_text() == "of the repeated job"
        orphan.stdin.close()
        assert orphan.wait(timeout=60) == 0
    assert target.read_text() == "of the orphan"
    assert {path.name for path in tmp_path.iterdir()} == {"kept.txt", elsewhere.name}


def test_a_name_has_one_meaning_in_all_studies():
    """What several studies report is one quantity of the kit, of one type: its words are written once."""
    found, types = defaultdict(dict), defaultdict(set)
    for name in available():
        study = load(name)
        classes = [cls for cls in (study.measures, study.examples) if cls]
        hints = {field: hint for cls in classes for field, hint in get_type_hints(cls, {"np": np}).items()}
        for variable, one in study.own_measures.items():
            found[variable][name] = one
            types[variable].add((hints[variable], one.dims))
    shared = {variable: studies for variable, studies in found.items() if len(studies) > 1}
    assert len(found) > 200 and {"auc", "noise_sd", "projected"} <= set(shared)
    assert {variable for variable in shared if len(types[variable]) > 1} == set()
    written_twice = {v for v, studies in shared.items() if len({id(one.quantity) for one in studies.values()}) > 1}
    assert written_twice == set()


def test_what_a_fit_reports_is_what_was_declared():
    """None is a value that is undefined, and unlike what a fit does not report; the second of two reports counts."""
    one, other = toy.ToyMeasures(error=None, n_train=3), toy.ToyMeasures(error=2.0)
    assert one.as_dict() == {"error": None, "n_train": 3}
    assert (one | other).as_dict() == {"error": 2.0, "n_train": 3}
    assert toy.ToyExamples(shown=1).arrays() == {"shown": (("record",), 1)}
    assert toy.ToyExamples.with_dims({"shown": (("record",), 1)}) == toy.ToyExamples(shown=1)
    with pytest.raises(ValueError, match=r"shown has dims \('row',\): ToyExamples declares \('record',\)"):
        toy.ToyExamples.with_dims({"shown": (("row",), 1)})
    with pytest.raises(TypeError, match="eror"):
        toy.ToyMeasures(eror=1.0)


def test_parts_are_found_beside_the_file_of_a_study():
    study = load("vertical_linear")
    assert study.name == "vertical_linear"
    assert study.metrics == Lazy("partywise.studies.vertical_linear.metrics:metrics")
    assert study.data == Lazy("partywise.studies.vertical_linear.data:LinearData")
    assert study.sources["dataset"].generate == Lazy("partywise.studies.vertical_linear.cases:draw_dataset")
    assert study.sources["table"].apart == Lazy("partywise.data.own.remote:placeholders")
    assert study.methods["exact"].fit == Lazy("partywise.methods.linear.protocols.pooled:fit")
    assert study.figures["loss_by_round"].address == "partywise.studies.vertical_linear.figures.training:loss_by_round"
    assert toy.STUDY.metrics == Lazy("toy:metrics"), "a study in a single file has its parts in that file"
    assert load("privacy_audit").trials is None, "it has no trials.py"
