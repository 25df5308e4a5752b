"""Reasons why there are no intervals: every method of the default configuration has intervals or a listed reason."""

import re
import warnings

import numpy as np
import pytest

import partywise as pw
from every_protocol import fits, generated, planned
from partywise.deployment.statement.intervals import interval_facts
from partywise.experiment.cells import execution
from partywise.experiment.owner_outputs import estimate_rows, with_interval_reason
from partywise.federation.estimators.estimate_rows import table_of
from partywise.federation.run import simulate
from partywise.methods.epidemiology.estimates.inference import Inference
from partywise.methods.epidemiology.estimates.report import report
from partywise.methods.glm.options import NoisyPredictorOptions
from partywise.models.intervals import (
    NOT_COMPUTED,
    REASONS,
    Intervals,
    interval_reason,
    reason_name,
    reason_of,
    summary_lines,
)
from partywise.privacy.accounted_values import Public
from partywise.privacy.mechanisms.quantiles import PrivateQuantile, QuantileRadius

FITS = [(study, case, method) for study, case, method in fits() if planned(study).methods[method].draws_noise]


def ends_of(estimate, data):
    """The numbers of an estimate that are ends of intervals."""
    if hasattr(data, "questions"):
        return [
            end
            for answer in report(estimate.tables(data.questions), Inference())
            for end in (answer.lower, answer.upper)
        ]
    if hasattr(estimate, "intervals"):
        bounds = estimate.intervals.bounds()
        return [] if bounds is None else bounds.ravel().tolist()
    if getattr(estimate, "coefficients", None) is not None:
        return [] if getattr(estimate, "covariance", None) is None else estimate.standard_errors.tolist()
    bands = estimate.bands(together=False) if hasattr(estimate, "bands") and estimate.status == "ok" else []
    return [end for band in bands for end in (*band.lower, *band.upper)]


@pytest.mark.parametrize(("study", "case", "method"), FITS)
def test_every_releasing_method_has_intervals_or_a_listed_reason(study, case, method):
    plan = planned(study)
    data = generated(study, case)
    fit = plan.cases[case].parties[0], 0, plan.epsilons(case, method)[0], data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimate = simulate(plan.methods[method].protocol.fit, execution(plan, case, method, *fit))
    reason = interval_reason(estimate, plan.methods[method].options)
    if not reason:
        assert ends_of(estimate, data)
        return
    assert not ends_of(estimate, data)
    assert reason_name(reason) not in ("not computed", "no noise"), reason
    assert len(reason) > len(reason_name(reason)) + 10


def test_every_method_without_noise_says_so():
    for study in {study for study, _, _ in fits()}:
        for label, method in planned(study).methods.items():
            if not method.draws_noise:
                assert interval_reason(None, method.options) == reason_of("no noise"), (study, label)


def test_quantiles_that_have_no_interval_say_so_and_name_the_remedy():
    one_draw = PrivateQuantile(1.0, 0.5, Public((0.0, 1.0), because="a public range"))
    assert interval_reason(0.5, one_draw).startswith("one draw: ") and "histogram" in interval_reason(0.5, one_draw)
    assert interval_reason(1.0, QuantileRadius(rho=0.1)) == reason_of("later")


def test_a_model_has_a_reason_for_every_number_that_has_no_interval():
    half = {"intercept": 1.0, "coefficients": [{"column": "age", "coefficient": 2.0, "interval": [1.0, 3.0]}]}
    completed = with_interval_reason(half, None, NoisyPredictorOptions())
    rows = {row.name: row for row in estimate_rows(completed)}
    assert [row.interval for row in rows.values()] == ["single records", "95 %"]
    assert (rows["age"].centre, rows["age"].note) == (2.0, "") and rows["intercept"].centre is None
    whole = {"coefficients": half["coefficients"]}
    assert with_interval_reason(whole, None, NoisyPredictorOptions()) is whole
    table = table_of(rows.values()).decode().splitlines()
    assert (
        table[0] == "name,estimate,noise_sd,lower,upper,note,centre,interval"
        and table[2] == "age,2.0,,1.0,3.0,,2.0,95 %"
    )
    stated = {"kind": "over records and noise", "level": 0.95, "numbers": 1}
    assert interval_facts(table_of(rows.values()), None, None, False) == stated | {
        "reasons": {reason_of("single records"): 1}
    }
    assert interval_facts(b"", None, None, False)["kind"] == "none"


def test_a_summary_ends_with_what_intervals_are_of_or_why_there_are_none():
    X = pw.stream(1, "records").normal(size=(2000, 2))
    y = X[:, 0] + pw.stream(1, "errors").normal(size=2000)
    scales = {"location": 0.0, "scale": 1.0, "statistic": (-5, 5), "cipher": "sized"}
    curves = pw.FederatedKaplanMeier(epsilon=2.0, horizon=2.0, parties=2, random_state=1).fit(np.exp(y))
    fits = {
        "rest on normal columns": pw.VerticalGLM("gaussian", "moments", epsilon=8.0, **scales).fit(
            X, y, parties=2, rng=1
        ),
        "not asked for: ": pw.VerticalGLM("gaussian", "moments", epsilon=8.0, intervals="none", **scales).fit(
            X, y, parties=2, rng=1
        ),
        "trees: ": pw.VerticalBoosting("tables", epsilon=2.0, public_edges=[[0.0], [0.0]], num_of_trees=1).fit(
            X, y > 0, parties=2, rng=1
        ),
        "of survival and medians, over records and noise": curves,
        "updates: ": pw.FederatedLogistic(epsilon=2.0).fit(X, y > 0, parties=4, rng=1),
    }
    for words, fit in fits.items():
        above, _, below = fit.summary().rpartition("intervals: ")
        assert words in below and above.startswith(("epsilon ", "gaussian by ")), fit.summary()
    assert summary_lines(Intervals(reason=reason_of("no noise"))) == []
    computed = Intervals(np.zeros(1), np.ones(1), estimand="of a mean", diagnostics={"steps": 4, "shape_test": "none"})
    words = "computed with: steps of the fit 4, p-value of the shapes of columns none"
    assert summary_lines(computed) == ["", "intervals: of a mean", words]


def test_intervals_without_noise_and_in_other_units():
    intervals = Intervals(np.array([1.0, 2.0]), np.array([5.0, 1.0]), noise_part=np.array([4.0, 1.0]))
    np.testing.assert_allclose(intervals.without_noise.standard_errors, [3.0, 0.0])
    scaled = intervals.times(np.array([2.0, 3.0]))
    np.testing.assert_allclose([scaled.centre, scaled.standard_errors, scaled.noise_part], [[2, 6], [10, 3], [8, 3]])
    assert Intervals(np.zeros(1), np.ones(1)).without_noise is NOT_COMPUTED and NOT_COMPUTED.times(2.0).centre is None


def test_numbers_of_intervals_are_those_of_cubes():
    intervals = Intervals(np.array([0.0, 1.0]), np.array([5.0, 1.0]), noise_part=np.array([3.0, 0.0]))
    known = intervals.numbers(np.array([9.0, 1.0]))
    assert known == {
        "identified": True,
        "half_width": pytest.approx(3 * 1.959964, rel=1e-6),
        "half_width_without_noise": pytest.approx(2.5 * 1.959964, rel=1e-6),
        "interval_coverage": 1.0,
        "interval_coverage_without_noise": 0.5,
    }
    assert set(Intervals(np.zeros(1), np.ones(1)).numbers()) == {"identified", "half_width"}
    assert Intervals(reason=reason_of("not identified"), diagnostics={"shape_test": 0.3}).numbers() == {
        "identified": False,
        "shape_test": 0.3,
    }
    assert Intervals(reason=reason_of("trees"), diagnostics={"shape_test": "none"}).numbers() == {}


def test_a_reason_is_one_of_the_list():
    assert (
        reason_of("clipped") == f"clipped: {REASONS['clipped']}" and reason_name(reason_of("later", "soon")) == "later"
    )
    for reason in ("", "none", "too coarse to say"):
        with pytest.raises(ValueError, match=re.escape(f"reason={reason!r} of missing intervals must begin with")):
            Intervals(reason=reason)
    assert NOT_COMPUTED.bounds() is None
    # Names are the cells of a column of estimate.csv.
    assert all(re.fullmatch(r"[a-z ]{4,20}", name) and sentence[-1] != "." for name, sentence in REASONS.items())
