"""Both estimators: what they give, in the units that were given, and what they refuse."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest
from lifelines import KaplanMeierFitter
from lifelines.utils import median_survival_times

import partywise as pw
from partywise.core.errors import ModelError
from partywise.methods.survival import exact
from partywise.methods.survival.models import STRONG, Weibull
from partywise.methods.survival.records import SurvivalRecords, scale

WEIBULL = Weibull(coefficients=tuple(b / 2 for b in STRONG))


@pytest.fixture(scope="module")
def drawn() -> SurvivalRecords:
    """Raw covariates."""
    return WEIBULL.draw(2000, np.random.default_rng(5))


def cox(protocol: str = "scores", **given: object) -> pw.FederatedCox:
    """An estimator with the public facts of the generator."""
    given = {"horizon": 2.0, "centre": WEIBULL.centre, "scale": WEIBULL.half_width, "parties": 3} | given
    return pw.FederatedCox(protocol, **given)


def test_exact_protocols_give_the_fit_in_the_units_that_were_given(drawn):
    for protocol in ("reference", "risk_sets", "piecewise"):
        ties = {"ties": "efron"} if protocol == "risk_sets" else {}
        bare = pw.FederatedCox(protocol, horizon=2.0, parties=3, **ties).fit(
            drawn.covariates, drawn.times, drawn.events, rng=1
        )
        scaled = cox(protocol, **ties).fit(drawn.covariates, drawn.times, drawn.events, rng=1)
        np.testing.assert_allclose(bare.params_, scaled.params_, atol=1e-8)
        np.testing.assert_allclose(bare.standard_errors_, scaled.standard_errors_, atol=1e-8)
        pooled = exact.cox(drawn)
        if protocol != "piecewise":
            np.testing.assert_allclose(bare.params_, pooled.coefficients, atol=1e-8)
        assert np.isinf(bare.privacy_.epsilon_certified) and np.isnan(bare.epsilon_claimed_)


def test_a_certified_fit_costs_its_epsilon_and_covers_the_truth(drawn):
    model = cox(epsilon=4.0).fit(drawn.covariates, drawn.times, drawn.events, rng=3)
    assert model.privacy_.epsilon_certified == pytest.approx(4.0, abs=1e-9)
    truth = np.asarray(WEIBULL.coefficients)
    inside = (model.confidence_intervals_[:, 0] <= truth) & (truth <= model.confidence_intervals_[:, 1])
    assert inside.sum() >= 5
    np.testing.assert_allclose(model.hazard_ratios_, np.exp(model.params_))
    lines = model.summary().splitlines()
    assert "epsilon 4" in lines[0] and "exp(coef)" in lines[2] and len(lines) == 3 + 6 + 2
    risk = model.predict_partial_hazard(drawn.covariates[:5])
    np.testing.assert_allclose(risk, np.exp((drawn.covariates[:5] - WEIBULL.centre) @ model.params_))
    curves = model.predict_survival_function(drawn.covariates[:5], [0.0, 1.0, 2.0])
    assert curves.shape == (5, 3) and (curves[:, 0] == 1).all() and (np.diff(curves, axis=1) < 0).all()
    at_centre = model.predict_survival_function(WEIBULL.centre[None], model.timeline)
    np.testing.assert_allclose(at_centre[0], model.baseline_survival_)


@pytest.mark.parametrize("protocol", ["gradient", "moments", "cells"])
def test_certified_competitors_cost_their_epsilon_and_have_no_standard_errors(protocol, drawn):
    """Much closer to the truth than coefficients of 0; only gradient steps have a baseline."""
    model = cox(protocol, epsilon=8.0).fit(drawn.covariates, drawn.times, drawn.events, rng=3)
    assert model.privacy_.epsilon_certified == pytest.approx(8.0, abs=1e-9)
    # Signs stand for covariates that are no indicators: cells are asked for those that are.
    judged = slice(3 if protocol == "cells" else 0, None)
    truth = np.asarray(WEIBULL.coefficients)[judged]
    assert np.linalg.norm(model.params_[judged] - truth) < 0.6 * np.linalg.norm(truth)
    assert np.isnan(model.standard_errors_).all() and "nan" in model.summary()
    assert (model.baseline_survival_ is None) == (protocol != "gradient")


def test_nothing_is_estimated_where_the_events_do_not_stand_out():
    few = WEIBULL.draw(30, np.random.default_rng(1))
    with pytest.warns(UserWarning, match="the fit is not_estimable: the released events do not stand out"):
        model = cox(epsilon=0.5).fit(few.covariates, few.times, few.events, rng=3)
    assert np.isnan(model.params_).all() and model.baseline_survival_ is None


def test_curves_have_intervals_bands_medians_and_a_test_of_two_groups():
    two = Weibull(coefficients=(), hazard_ratio=1.6)
    drawn = two.draw(4000, np.random.default_rng(7))
    model = pw.FederatedKaplanMeier(epsilon=1.0, horizon=2.0, groups=["control", "treated"], parties=4)
    names = np.array(["control", "treated"])[drawn.groups]
    model.fit(drawn.times, drawn.events, names, rng=2)
    truth = np.stack([two.survival(model.timeline, group) for group in (0, 1)])
    inside = (model.confidence_interval_[..., 0] <= truth) & (truth <= model.confidence_interval_[..., 1])
    assert inside.mean() > 0.85
    assert (model.confidence_band_[..., 0] <= model.confidence_interval_[..., 0] + 1e-12).all()
    assert model.logrank_.p_value < 1e-4 and model.event_table_.shape == (2, 2 * (len(model.timeline) - 1) + 1)
    medians = [two.survival(np.array([m]), g)[0] for g, m in enumerate(model.median_survival_time_)]
    np.testing.assert_allclose(medians, 0.5, atol=0.05)
    compared = model.compare_restricted_means()
    means = model.restricted_mean_survival_time()
    assert compared.difference == means[1] - means[0] and compared.ratio == means[1] / means[0]
    assert compared.p_value < 1e-4 and (model.median_standard_errors_ < 0.2).all()
    assert model.restricted_mean_survival_time().shape == (2,) and model.privacy_.epsilon_certified < 1.0 + 1e-9


def test_a_group_that_does_not_stand_out_of_the_noise_is_named():
    """The third of three groups is empty, and of five records nothing is known at epsilon 0.1."""
    times = np.random.default_rng(0).exponential(5.0, 300)
    group = np.array(["young", "old"])[np.arange(300) % 2]
    model = pw.FederatedKaplanMeier(epsilon=1.0, horizon=10.0, groups=["young", "old", "unknown"], random_state=1)
    with pytest.warns(UserWarning, match="the fit is not_estimable: the numbers at risk of group unknown do not stand"):
        model.fit(times, group=group, parties=2)
    assert model.median_survival_time_[2] is None and np.isnan(model.restricted_mean_survival_time()[2])
    alone = pw.FederatedKaplanMeier(epsilon=0.1, horizon=10.0, random_state=1)
    with pytest.warns(UserWarning, match="the fit is not_estimable: the numbers at risk of group all do not stand"):
        alone.fit(times[:5], parties=1)
    assert (alone.confidence_band_[0, 1:] == [0, 1]).all()


@pytest.mark.parametrize("protocol", ["reference", "piecewise", "risk_sets", "noised_times", "encrypted_histogram"])
def test_exact_and_published_curves_come_without_bands(protocol):
    drawn = Weibull(coefficients=()).draw(300, np.random.default_rng(7))
    days = np.ceil(drawn.times * 365)
    model = pw.FederatedKaplanMeier(protocol, horizon=730.0, parties=3).fit(days, drawn.events, rng=1)
    assert model.confidence_band_ is None and model.logrank_ is None
    assert np.isnan(model.median_standard_errors_).all()
    if protocol == "piecewise":
        assert model.confidence_interval_ is None and np.isnan(model.restricted_mean_standard_errors()).all()
    else:
        lower, upper = model.confidence_interval_[0].T
        assert (lower <= model.survival_function_[0]).all() and (model.survival_function_[0] <= upper).all()
        assert 0 < model.restricted_mean_standard_errors()[0] < 40
    known = exact.kaplan_meier(exact.event_table(SurvivalRecords(days, drawn.events), np.unique(days[drawn.events])))
    assert abs(model.predict([365.0])[0, 0] - known.at(np.array([365.0]))[0]) < 0.05


def test_a_release_comes_from_the_operating_system():
    drawn = Weibull(coefficients=()).draw(400, np.random.default_rng(7))
    given = {"epsilon": 2.0, "horizon": 2.0, "parties": 3}
    one, two = (pw.FederatedKaplanMeier(**given).fit(drawn.times, rng=pw.SecureStreams(1)) for _ in range(2))
    assert {row.sampler for row in one.ledger_.rows if row.mu} == {"secure"}
    assert not np.array_equal(one.event_table_, two.event_table_)


TIMES = np.array([1.0, 2.0, 3.0, 4.0])


@pytest.mark.parametrize(
    ("given", "fitted", "words"),
    [
        ({}, {}, "horizon is missing"),
        ({"horizon": -1.0}, {}, "horizon"),
        ({"horizon": 2.0}, {"durations": -TIMES}, "negative"),
        ({"horizon": 2.0}, {"durations": np.array([1.0, np.nan])}, "not finite"),
        ({"horizon": 2.0}, {"event_observed": [0, 1, 2, 1]}, "0 and 1"),
        ({"horizon": 2.0}, {"event_observed": [0, 1]}, "entries"),
        ({"horizon": 2.0}, {"group": [0, 1, 0, 1]}, "group and groups"),
        ({"horizon": 2.0, "groups": [0, 1]}, {"group": [0, 1, 2, 1]}, "declare every group"),
        ({"horizon": 2.0, "edges": [0.0, 1.0]}, {}, "0 to the horizon"),
        ({"horizon": 2.0, "edges": [0.0, 2.0, 1.0, 2.0]}, {}, "must increase"),
        ({"horizon": 2.0, "bins": 1}, {}, "bins"),
        ({"horizon": 2.0, "relation": "add_remove"}, {}, "give bins"),
        ({"horizon": 2.0, "parties": 9}, {}, "parties"),
    ],
)
def test_curves_refuse_what_they_cannot_use_and_say_what_to_do(given, fitted, words):
    given = {"epsilon": 1.0, "parties": 2} | given
    with pytest.raises(ValueError, match=words):
        pw.FederatedKaplanMeier(**given).fit(**({"durations": TIMES} | fitted), rng=1)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"centre": None}, "go together"),
        ({"centre": None, "scale": None}, "centre is missing"),
        ({"centre": [0.0]}, "centre has shape"),
        ({"scale": np.zeros(6)}, "must be positive"),
        ({"radius": 0.0}, "radius"),
        ({"shares": (0.5, 0.4)}, "sum to 1"),
        ({"horizon": None}, "horizon is missing"),
        ({"relation": "add_remove"}, "add_remove"),
    ],
)
def test_cox_refuses_what_it_cannot_use_and_says_what_to_do(drawn, given, words):
    with pytest.raises(ValueError, match=words):
        cox(**({"epsilon": 1.0} | given)).fit(drawn.covariates, drawn.times, drawn.events, rng=1)


def test_published_steps_have_no_standard_errors(drawn):
    model = cox("noisy_gradient", epsilon=3.0, steps=20).fit(drawn.covariates, drawn.times, drawn.events, rng=1)
    assert np.isfinite(model.params_).all() and np.isnan(model.standard_errors_).all()
    assert model.privacy_.epsilon_certified > 3.0 == model.epsilon_claimed_
    with pytest.raises(ValueError, match="no baseline"):
        model.predict_survival_function(drawn.covariates[:1], [1.0])


def test_scaling_uses_public_numbers_alone():
    X = np.array([[3.0, -8.0], [0.5, 0.5]])
    scaled = scale(X, np.array([0.0, 0.0]), np.array([1.0, 2.0]), 1.0)
    np.testing.assert_allclose(np.linalg.norm(scaled[0]), 1.0)
    np.testing.assert_allclose(scaled[1], [0.5, 0.25])


def test_names_of_covariates_are_kept_and_compared(drawn):
    frame = pd.DataFrame(drawn.covariates, columns=list("abcdef"))
    model = cox("reference").fit(frame, drawn.times, drawn.events, rng=1)
    assert model.feature_names_in_.tolist() == list("abcdef")
    assert "a " in model.summary().splitlines()[3]
    np.testing.assert_array_equal(
        model.predict_partial_hazard(frame[:3]), model.predict_partial_hazard(frame[:3].values)
    )
    with pytest.raises(ValueError, match="give these in this order"):
        model.predict_partial_hazard(frame[list("bacdef")])


def test_a_saved_fit_answers_to_the_last_bit(drawn, tmp_path):
    """What it cost and what it releases go along; curves that jump at times of records are not saved."""
    file = tmp_path / "model.json"
    model = cox(epsilon=4.0).fit(drawn.covariates, drawn.times, drawn.events, rng=3)
    model.save(file)
    found = pw.load(file)
    # Nobody ran the protocol of a file: its cost reads so, and all else is the same.
    assert isinstance(found, pw.FederatedCox) and found.summary().replace(", not verified", "", 1) == model.summary()
    rows = drawn.covariates[:4]
    np.testing.assert_array_equal(found.predict_partial_hazard(rows), model.predict_partial_hazard(rows))
    expected = model.predict_survival_function(rows, [0.5, 2.0])
    np.testing.assert_array_equal(found.predict_survival_function(rows, [0.5, 2.0]), expected)
    given = {"horizon": 2.0, "groups": ["a", "b"], "parties": 3}
    arm = np.where(drawn.covariates[:, -1] > 0, "a", "b")
    curves = pw.FederatedKaplanMeier(epsilon=1.0, **given).fit(drawn.times, drawn.events, arm, rng=3)
    curves.save(file)
    again = pw.load(file)
    assert isinstance(again, pw.FederatedKaplanMeier) and again.logrank_.p_value == curves.logrank_.p_value
    for name in ("survival_function_", "confidence_band_", "confidence_interval_", "event_table_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(curves, name))
    assert again.privacy_ == curves.privacy_ and again.median_survival_time_ == curves.median_survival_time_
    exact_curves = pw.FederatedKaplanMeier("reference", **given).fit(drawn.times, drawn.events, arm, rng=3)
    with pytest.raises(ModelError, match="jump at times of records"):
        exact_curves.save(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda made: replace(made, table=None), "has no cells of 1 groups"),
        (lambda made: replace(made, table=replace(made.table, edges=-made.table.edges)), "do not increase from 0"),
        (lambda made: replace(made, table=replace(made.table, cells=np.full_like(made.table.cells, np.nan))), "finite"),
    ],
)
def test_a_saved_table_that_no_fit_leaves_is_refused(change, words, drawn, tmp_path):
    model = pw.FederatedKaplanMeier(epsilon=1.0, horizon=2.0, parties=3).fit(drawn.times, drawn.events, rng=3)
    model.estimate_ = change(model.estimate_)
    model.save(tmp_path / "model.json")
    with pytest.raises(ModelError, match=words):
        pw.load(tmp_path / "model.json")


@pytest.mark.parametrize(("name", "words"), [("entry", "left truncation is not offered"), ("strata", "not offered")])
def test_what_is_not_offered_says_why(name, words, drawn):
    given = {name: drawn.times}
    with pytest.raises(ValueError, match=f"{name} is given: .*{words}"):
        cox(epsilon=1.0).fit(drawn.covariates, drawn.times, drawn.events, rng=1, **given)
    with pytest.raises(ValueError, match=f"{name} is given: .*{words}"):
        pw.FederatedKaplanMeier(epsilon=1.0, horizon=2.0, parties=3).fit(drawn.times, rng=1, **given)


def test_times_beyond_any_horizon_are_no_error_and_unequal_lengths_are(drawn):
    times = np.array([1e16, 1e300, 0.0, 0.5] * 20)
    model = pw.FederatedKaplanMeier(epsilon=np.inf, horizon=2.0, bins=4, parties=2).fit(times, rng=1)
    np.testing.assert_allclose(model.predict([2.0]), 0.5)
    with pytest.raises(ValueError, match=r"durations has 3 entries for 2000 rows of X"):
        cox(epsilon=1.0).fit(drawn.covariates, drawn.times[:3], rng=1)
    with pytest.raises(ValueError, match=r"X has 0 feature"):
        cox(epsilon=1.0).fit(drawn.covariates[:, :0], drawn.times, rng=1)


def test_ties_are_handled_alike_in_all_protocols():
    methods = pw.FederatedCox.methods.values()
    defaults = [option.default for method in methods for option in fields(method.options) if option.name == "ties"]
    assert defaults == ["efron", "efron"]


@pytest.mark.parametrize("protocol", ["table", "reference", "piecewise", "risk_sets"])
def test_nothing_is_said_of_times_beyond_the_horizon(protocol):
    durations = np.random.default_rng(3).exponential(80.0, 200)
    given = {"epsilon": 4.0} if protocol == "table" else {}
    model = pw.FederatedKaplanMeier(protocol, horizon=100.0, parties=2, **given).fit(durations, rng=1)
    assert model.timeline.max() <= 100
    assert model.predict([0.0, 100.0]).shape == (1, 2)
    for wrong in ([500.0], [-1.0]):
        with pytest.raises(ValueError, match=rf"times holds {wrong[0]:g}: .* the horizon, 100"):
            model.predict(wrong)
    for function in (model.restricted_mean_survival_time, model.restricted_mean_standard_errors):
        np.testing.assert_array_equal(function(100.0), function())
        with pytest.raises(ValueError, match=r"t is 500: .* the horizon, 100"):
            function(500.0)


def test_a_cox_model_says_nothing_of_times_beyond_the_horizon(drawn):
    model = cox(epsilon=8.0).fit(drawn.covariates, drawn.times, drawn.events, rng=1)
    with pytest.raises(ValueError, match=r"times holds 2.5: .* the horizon, 2"):
        model.predict_survival_function(drawn.covariates[:1], [1.0, 2.5])


def test_a_covariate_without_a_finite_coefficient_is_named():
    frame = pd.DataFrame({"age": np.random.default_rng(1).normal(60, 9, 200), "dose": np.arange(200) % 4 == 0})
    durations, X = np.random.default_rng(2).exponential(2.0, 200), frame.astype(float)
    for protocol in ("reference", "risk_sets", "piecewise"):
        with pytest.warns(UserWarning, match="the fit is separated: covariate dose tells the events apart"):
            model = pw.FederatedCox(protocol, horizon=5.0, parties=2).fit(X, durations, ~frame.dose, rng=1)
        assert model.status_ == "separated" and "covariate dose" in model.intervals_.reason
        assert np.isnan(model.params_).all() and np.isnan(model.standard_errors_).all()


def test_steps_take_no_more_batches_than_there_are_records():
    drawn = WEIBULL.draw(20, np.random.default_rng(1))
    p = drawn.covariates.shape[1]
    given = {"variant": "federated", "epsilon": 1.0, "radius": 2.0, "horizon": 2.0, "parties": 2, "random_state": 1}
    given |= {"centre": np.zeros(p), "scale": np.full(p, 5.0)}
    with pytest.raises(ValueError, match=r"steps=\d+ .* has 10 records: give at most as many steps, steps=10"):
        pw.FederatedCox("noisy_gradient", steps=11, **given).fit(drawn.covariates, drawn.times, drawn.events)


@pytest.mark.filterwarnings("ignore:Starting with pandas")  # lifelines asks for an older one
@pytest.mark.parametrize("protocol", ["reference", "risk_sets"])
@pytest.mark.parametrize(("n", "censoring"), [(31, 1.0), (211, 1.5), (211, 0.25)])
def test_intervals_of_exact_medians_are_those_of_lifelines(protocol, n, censoring):
    """An odd number without ties: no product is one half up to a rounding. Strong censoring leaves the end open."""
    rng = np.random.default_rng(n)
    times, ends = (
        rng.exponential(size=n),
        rng.exponential(1 / censoring, size=n) if censoring > 0.5 else np.full(n, 0.7),
    )
    durations, events = np.minimum(times, ends), times <= ends
    model = pw.FederatedKaplanMeier(protocol, horizon=9.0, parties=3).fit(durations, events, rng=1)
    known = median_survival_times(KaplanMeierFitter().fit(durations, events).confidence_interval_)
    np.testing.assert_allclose(model.median_confidence_interval_, known.to_numpy(), rtol=1e-6)


def test_intervals_of_released_medians_are_those_of_their_errors():
    drawn = Weibull(coefficients=()).draw(3000, np.random.default_rng(7))
    model = pw.FederatedKaplanMeier(epsilon=1.0, horizon=2.0, parties=3).fit(drawn.times, drawn.events, rng=1)
    half = 1.959963984540054 * model.median_standard_errors_[0]
    centre = model.median_survival_time_[0]
    np.testing.assert_allclose(model.median_confidence_interval_, [[centre - half, centre + half]])
