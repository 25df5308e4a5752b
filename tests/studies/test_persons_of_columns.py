"""A person behind several records of own tables whose columns are split: which count, folds, and what is certified."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from own_columns import STUDIES, Columns
from partywise.audits.contract import Subject, check_neighbours
from partywise.core.errors import ConfigError, ContractError, DataMissing
from partywise.core.randomness import stream
from partywise.experiment.trial import execution
from partywise.methods.trees.histograms.feature_sets import drawn_features, strata

PERSONS = {"user": "person", "rows_per_user": 3}
# Certified for all records of a person, at the target.
FINITE = {
    "vertical_glm": [
        {"protocol": "moments", "cipher": "sized"},
        {"protocol": "noisy_newton"},
        {"protocol": "noisy_gradient"},
        {"protocol": "noisy_predictor", "cipher": "sized"},
    ],
    "vertical_trees": [
        {"protocol": "feature_gathering", "protect": "dp"},
        {"protocol": "feature_gathering", "protect": "dp", "edges": "quantile", "n_bins": 4},
        {"protocol": "feature_gathering", "protect": "op_boost", "budget": "record", "extremes": "declared"},
        {"protocol": "local_tables"},
        {"protocol": "tables", "cipher": "sized"},
        {"protocol": "tables", "cipher": "sized", "algo": "gbdt"},
    ],
}
UNPROTECTED = {
    "vertical_glm": [{"protocol": "joint"}, {"protocol": "bcd"}],
    "vertical_trees": [{"protocol": "pooled"}, {"protocol": "label_scattering"}],
    "vertical_linear": [{"protocol": "exact"}, {"protocol": "certified", "cipher": "sized", "total_round_num": 2}],
}


def listed(methods):
    return [(study, method) for study, own in methods.items() for method in own]


@pytest.fixture
def made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def of(study, method=None, unit="user", **more):
        own = Columns(tmp_path, study)
        own.settings |= PERSONS | more
        own.spec = {"delta": 1e-5, "unit": unit}
        own.method = method or own.method
        return own

    return of


@pytest.mark.parametrize("study", STUDIES)
def test_the_first_records_of_a_person_count_and_stay_together(made, study):
    own = made(study)
    data = own.load()
    whose = {row[0]: row[1] for row in own.bank[1:]}
    assert data.ids.tolist() == [row[0] for i, row in enumerate(own.shop[1:]) if i % 4 < 3]
    persons = np.array([whose[name] for name in data.ids])
    chosen = own.plan().cases["own"]
    for count in (1, 2, 5):
        of = own.plan().study.folds(data, count, chosen.settings)
        for person in set(persons):
            assert len(set(of[persons == person])) == 1
        if count > 1:
            assert np.bincount(of).tolist() == [30 // count] * count
    if study != "vertical_glm":
        assert 0 < (own.plan().study.folds(data, 1, chosen.settings) == 0).sum() < 30


@pytest.mark.parametrize("study", STUDIES)
def test_without_persons_every_record_is_one(made, study):
    data = made(study, unit="row", user=None, rows_per_user=None).load()
    assert data.ids.tolist() == [f"c{1000 + i}" for i in range(40)]
    assert sorted(data.order.tolist()) == list(range(40))


@pytest.mark.parametrize(("study", "method"), listed(FINITE), ids=lambda one: str(one)[:60])
def test_noise_is_planned_for_all_records_of_a_person(made, study, method):
    found = made(study, method).fit()
    assert 0.999 < found["epsilon_certified"] <= 1 and found["unit"] == "user"


@pytest.mark.parametrize(("study", "method"), listed(FINITE), ids=lambda one: str(one)[:60])
def test_one_record_costs_less_than_a_person(made, study, method):
    """The same noise for a row: what the bound on the rows is paid with."""
    row = made(study, method, unit="row").fit()
    assert 0.999 < row["epsilon_certified"] <= 1
    alone = made(study, method, unit="user", rows_per_user=1, min_records=2).fit()
    assert alone["epsilon_certified"] == pytest.approx(row["epsilon_certified"], rel=1e-3)


@pytest.mark.parametrize(("study", "method"), listed(UNPROTECTED), ids=lambda one: str(one)[:60])
def test_what_certifies_no_record_certifies_no_person(made, study, method):
    assert math.isinf(made(study, method).fit()["epsilon_certified"])


@pytest.mark.parametrize("study", STUDIES)
@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"rows_per_user": None}, "user is 'person' and rows_per_user is None: give both"),
        ({"user": None}, "user is None and rows_per_user is 3: give both"),
        (
            {"user": None, "rows_per_user": None},
            "spec.unit is 'user': case own does not state how many records a person",
        ),
        ({"user": "id"}, "user is 'id', the id: an id appears once, so every person has one row"),
        ({"user": "late"}, "user is 'late', which is the response or a column already"),
        ({"user": "b"}, "user is 'b', which is the response or a column already"),
        ({"rows_per_user": 0}, "rows_per_user is 0: it must be at least 1"),
    ],
)
def test_contradictions_are_named_before_a_job(made, study, change, says):
    with pytest.raises(ConfigError, match=says):
        made(study, **change).plan()


@pytest.mark.parametrize("study", STUDIES)
def test_few_records_of_many_rows_are_told_why(made, study):
    with pytest.raises(
        DataMissing, match=r"10 records are in all files, at most 1 of a person \(rows_per_user\), where "
    ):
        made(study, rows_per_user=1).load()


def test_records_that_arrive_unaligned_have_no_persons(made):
    with pytest.raises(ConfigError, match="user is 'person': records that arrive unaligned are found by a protocol"):
        made("vertical_glm", records="unaligned").plan()


def changed(data, count, rng):
    """All records of one person have another label, other numbers at both parties, and another category."""
    for number, first in enumerate(3 * rng.permutation(len(data.y) // 3)[:count]):
        rows, X, y = np.arange(first, first + 3), data.X.copy(), data.y.copy()
        numeric = [k for k in range(X.shape[1]) if not set(np.unique(X[:, k])) <= {0.0, 1.0, 2.0}]
        others = [k for k in range(X.shape[1]) if k not in numeric]
        X[np.ix_(rows, numeric)] = (1e6, -X[np.ix_(rows, numeric)], -3.0)[number % 3]
        X[np.ix_(rows, others)] = X[[(first + 4) % len(y)]][:, others]
        y[rows] = (1 - y[rows], y[rows], 1 - y[rows])[number % 3]
        yield f"person at {first}", replace(data, X=X, y=y)


def person_subject(own, rows_per_user):
    chosen, data = own.plan(), own.load()
    order = np.argsort(data.order, kind="stable")
    # Records of a person side by side, and none held out: who trains is public.
    aligned = {"X": data.X[order], "y": data.y[order], "order": data.order[order], "ids": data.ids[order]}
    aligned |= {"train": np.ones(len(order), dtype=bool)} if hasattr(data, "train") else {}
    data = replace(data, **aligned)
    return Subject(
        fit=chosen.methods["m"].protocol.fit,
        data=lambda seed: data,
        start=lambda one, seed: execution(chosen, "own", "m", one, seed),
        neighbours=lambda one, unit, count, seed: changed(one, count, stream(seed, "persons")),
        delta=chosen.delta("own"),
        rows_per_user=rows_per_user,
    )


@pytest.mark.parametrize(("study", "method"), listed(FINITE), ids=lambda one: str(one)[:60])
def test_a_person_moves_no_statistic_of_columns_by_more_than_is_certified(made, study, method):
    own = made(study, method)
    own.grid["folds"] = 1
    totals = check_neighbours(person_subject(own, 3), ["user"], 4, 1)
    assert totals["user"] <= 1


@pytest.mark.parametrize(
    "method",
    [{"protocol": "noisy_newton"}, {"protocol": "moments", "cipher": "sized"}],
    ids=lambda one: one["protocol"],
)
def test_a_bound_on_the_records_of_a_person_that_is_too_small_is_seen(made, method):
    own = made("vertical_glm", method)
    own.grid["folds"] = 1
    with pytest.raises(ContractError, match=r"moved by .* certified for"):
        check_neighbours(person_subject(own, 1), ["user"], 4, 1)


@pytest.mark.parametrize("m", [1, 2, 5])
def test_every_stratum_costs_a_person_the_same(m):
    """A person may have records in several strata: the largest one bounds their cost only if all cost the same."""
    released = drawn_features(200, 7, m, lambda *names: stream(6, *names))
    found = strata(released, [("one", [0, 1, 2]), ("two", [3, 4]), ("three", [5, 6])])
    assert len(found) > 2 and {sum(one.counts.values()) for one in found} == {m}
