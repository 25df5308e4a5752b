"""Every exact protocol of every estimator on public tables, next to the pooled fit of another library.

A fit is equal to the pooled one, or it is reported: an error or a status, with a sentence.  Nothing else passes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from itertools import product

import numpy as np
import pytest
import xgboost
from lifelines import KaplanMeierFitter
from lifelines.statistics import logrank_test
from statsmodels.duration.hazard_regression import PHReg
from statsmodels.stats.contingency_tables import StratifiedTable, Table2x2
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

import partywise as pw
import xgboost_trees
from glm_oracle import oracle
from partywise.methods.trees.codes import dense_ranks
from partywise.methods.trees.options import TreePooledOptions
from partywise.models.criteria import CLASSES
from partywise.models.criteria import NUMBERS as SQUARES
from public_tables import FOLLOW_UPS, REGRESSIONS, FollowUp, Regression

# Protocols of generalised linear models, and what a coefficient may be off by, in standard errors.
GLMS: dict[str, tuple[str, dict[str, object], float]] = {
    "reference": ("reference", {}, 1e-6),
    "joint, Newton": ("joint", {}, 1e-6),
    "joint, L-BFGS": ("joint", {"solver": "lbfgs"}, 1e-4),
    "joint, shared link": ("joint", {"link": "shared", "solver": "lbfgs", "tolerance": 1e-3}, 1e-2),
    "bcd, corrected": ("bcd", {"variant": "corrected", "ridge": 0.0, "tolerance": 1e-10}, 1e-3),
}
# Shift of every column in standard deviations, and decades between the smallest and the largest scale.
SPREAD = {"plain": (0.0, 0.0), "shifts of 1e5 deviations, scales 1e6 apart": (1e5, 6.0)}


def in_turns(*questions: object) -> list[tuple[object, ...]]:
    """Return all combinations, each with one spread, so that every table and every protocol meets both in turn."""
    found = list(product(*map(list, questions)))
    places = [{value: k for k, value in enumerate(values)} for values in map(list, questions)]
    turns = [sum(place[value] for place, value in zip(places, row, strict=True)) % len(SPREAD) for row in found]
    return [(*row, list(SPREAD)[turn]) for row, turn in zip(found, turns, strict=True)]


def moved(table: Regression | FollowUp, spread: str) -> tuple[np.ndarray, np.ndarray]:
    """Columns in other units, and the scale (p,) of each."""
    shift, decades = SPREAD[spread]
    p = table.X.shape[1]
    scale = 10.0 ** (decades * np.arange(p) / max(p - 1, 1))
    return (table.X + shift * table.X.std(axis=0)) * scale, scale


def verdict(fit: Callable[[], object]) -> tuple[object, str]:
    """The fitted model, and the sentence that reports it; empty where nothing is reported."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            model = fit()
        except (ValueError, np.linalg.LinAlgError) as error:
            return None, str(error)
    status = getattr(model, "status_", "ok")
    sentences = [str(one.message) for one in warned if one.category is UserWarning]
    assert (status == "ok") or sentences, f"status_ is {status!r}, and no warning says why"
    return model, "" if status == "ok" else f"{status}: {sentences[0]}"


@pytest.mark.parametrize(("name", "way", "spread"), in_turns(REGRESSIONS, GLMS))
def test_linear_models_equal_statsmodels(name, way, spread):
    table, (protocol, options, tolerance) = REGRESSIONS[name](), GLMS[way]
    X, scale = moved(table, spread)
    parties = [[0], list(range(1, X.shape[1]))]
    if (name, protocol) == ("longley", "bcd"):
        # Its columns nearly depend on each other: sweeps need more than 5,000, and the status says that they do.
        options = options | {"max_sweeps": 50}
    model, sentence = verdict(
        lambda: pw.VerticalGLM(table.family, protocol, parties=parties, random_state=1, **options).fit(
            X, table.y, **table.extra
        )
    )
    if (name, protocol) == ("longley", "bcd"):
        assert sentence.startswith("not_converged")
        return
    assert not sentence, sentence
    pooled = pooled_glm(name)
    slopes, errors = np.asarray(pooled.params)[1:], np.asarray(pooled.bse)[1:]
    off = np.abs(model.coef_ * scale - slopes) / errors
    assert off.max() <= tolerance, off
    if model.bse is not None:
        np.testing.assert_allclose(np.asarray(model.bse)[1:] * scale, errors, rtol=max(tolerance, 1e-6))


@cache
def pooled_glm(name: str) -> object:
    """Statsmodels' fit, of shares of trials where there are any: they weigh what their trials do."""
    table = REGRESSIONS[name]()
    more, y = dict(table.extra), table.y
    weights = more.pop("trials", more.pop("sample_weight", None))
    if weights is None:
        return oracle(table.X, y, table.family, **more)
    held = weights > 0
    if "trials" in table.extra:
        y = y / np.where(held, weights, 1.0)
    return oracle(table.X[held], y[held], table.family, var_weights=weights[held], **more)


# What makes columns depend on each other; the last one adds nothing to those before it and the intercept.
DEPENDENT: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "a column twice": lambda X: np.column_stack([X, 3 * X[:, 0] - 7]),
    "a constant column": lambda X: np.column_stack([X, np.full(len(X), 3.0)]),
    "an empty group": lambda X: np.column_stack([X, np.zeros(len(X))]),
    "a sum of columns": lambda X: np.column_stack([X, X[:, 0] + X[:, 1]]),
}


def in_two(X: np.ndarray) -> list[list[int]]:
    """The first column at one party, the others at another."""
    return [[0], list(range(1, X.shape[1]))]


def glm_fit(way: str, table: Regression) -> Callable[[np.ndarray], object]:
    """A protocol of generalised linear models on a table, as a function of its columns."""
    protocol, options, _ = GLMS[way]
    if protocol == "bcd":
        options = options | {"max_sweeps": 300}
    return lambda X: pw.VerticalGLM(table.family, protocol, parties=in_two(X), random_state=1, **options).fit(
        X, table.y
    )


def linear_fit(model: str, table: Regression) -> Callable[[np.ndarray], object]:
    """The exact protocol of linear models on a table, as a function of its columns."""
    return lambda X: pw.VerticalLinear("exact", model=model, parties=in_two(X)).fit(X, table.y, rng=1)


def cox_fit(protocol: str, table: FollowUp) -> Callable[[np.ndarray], object]:
    """A protocol of Cox regression on a table, as a function of its columns."""
    return lambda X: pw.FederatedCox(protocol, horizon=table.horizon, parties=3, random_state=1).fit(
        X, table.times, table.events
    )


def label_private_fit(table: Regression) -> Callable[[np.ndarray], object]:
    """The optimum of logistic regression without noise and ridge, as a function of the columns of a table."""
    return lambda X: pw.LabelPrivateLogisticRegression("non_private", ridge=0.0, random_state=1).fit(X, table.y)


# Every protocol without noise and ridge whose fit is an optimum: a table, and what fits its columns.
OPTIMA: dict[str, tuple[Callable[[], Regression | FollowUp], Callable[..., Callable[[np.ndarray], object]]]] = {
    **{f"GLM, {way}": (REGRESSIONS["birthwt"], partial(glm_fit, way)) for way in GLMS},
    "least squares": (REGRESSIONS["diabetes"], partial(linear_fit, "linear")),
    "logistic": (REGRESSIONS["birthwt"], partial(linear_fit, "logistic")),
    "label-private": (REGRESSIONS["birthwt"], label_private_fit),
    **{
        f"Cox, {protocol}": (FOLLOW_UPS["veteran"], partial(cox_fit, protocol))
        for protocol in ("reference", "risk_sets", "piecewise")
    },
}


@pytest.mark.parametrize("fault", DEPENDENT)
@pytest.mark.parametrize("way", OPTIMA)
def test_columns_that_depend_on_each_other_are_named(way, fault):
    tables, fit_of = OPTIMA[way]
    table = tables()
    X = DEPENDENT[fault](table.X)
    model, sentence = verdict(partial(fit_of(table), X))
    if way == "GLM, bcd, corrected" and fault in ("a column twice", "a sum of columns"):
        # Nothing that its parties open shows that columns depend on each other: the fit is one of many, and right.
        pooled = oracle(table.X, table.y, "binomial")
        np.testing.assert_allclose(model.linear_predictor(X), np.asarray(pooled.predict(which="linear")), atol=1e-3)
        return
    assert f"x{table.X.shape[1]}" in sentence, sentence
    assert model is None or model.status_ == "singular"


@pytest.mark.parametrize("share", ["a quarter of them", "all of them"])
@pytest.mark.parametrize("way", GLMS)
def test_a_column_that_separates_responses_of_linear_models_is_named(way, share):
    table = REGRESSIONS["birthwt"]()
    separating = (table.y > 0) & ((np.arange(len(table.y)) % 4 == 0) | (share == "all of them"))
    # At the place of the second column, so that parties' columns are not in the order of their names.
    X = np.insert(table.X, 1, separating, axis=1)
    fit = pw.VerticalGLM("binomial", GLMS[way][0], parties=[[2, 0], [4, 1, 3]], random_state=1, **GLMS[way][1])
    model, sentence = verdict(lambda: fit.fit(X, table.y, names=["age", "marker", "weight", "smoke", "pressure"]))
    if way == "bcd, corrected":
        # No place has the sums over the columns of all parties, from which the column would follow.
        reported = "the coefficient of a column runs off" if share == "all of them" else "max_sweeps="
        assert reported in sentence and "marker" not in sentence
        return
    assert model.status_ == "diverged" and "the coefficient of 'marker' runs off to infinity" in sentence, sentence


@pytest.mark.parametrize(
    ("name", "protocol", "ties", "spread"), in_turns(FOLLOW_UPS, ["reference", "risk_sets"], ["efron", "breslow"])
)
def test_hazard_ratios_equal_statsmodels(name, protocol, ties, spread):
    table = FOLLOW_UPS[name]()
    X, scale = moved(table, spread)
    model, sentence = verdict(
        lambda: pw.FederatedCox(protocol, ties=ties, horizon=table.horizon, parties=3, random_state=1).fit(
            X, table.times, table.events
        )
    )
    assert not sentence, sentence
    spread = table.X.std(axis=0)
    step, errors = pooled_step(table, ties, model.params_ * scale * spread)
    assert np.max(np.abs(step) / errors) < 1e-6
    np.testing.assert_allclose(model.standard_errors_ * scale * spread, errors, rtol=1e-6)


def pooled_step(table: FollowUp, ties: str, coefficients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return statsmodels' Newton step (p,) at coefficients of standardised columns, and its standard errors there.

    Its own iteration takes whole steps and runs off on two of these tables.
    """
    late = table.times > table.horizon
    times, events = np.where(late, table.horizon, table.times), table.events & ~late
    columns = (table.X - table.X.mean(axis=0)) / table.X.std(axis=0)
    model = PHReg(times, columns, status=events, ties=ties)
    covariance = np.linalg.inv(-model.hessian(coefficients))
    return covariance @ model.score(coefficients), np.sqrt(np.diag(covariance))


@pytest.mark.parametrize("protocol", ["reference", "risk_sets", "piecewise"])
def test_separated_events_are_reported(protocol):
    table = FOLLOW_UPS["veteran"]()
    group = table.events & (np.arange(len(table.events)) % 4 == 0)
    table = replace(table, events=table.events & ~group)
    model, sentence = verdict(partial(cox_fit(protocol, table), np.column_stack([table.X, group]).astype(float)))
    assert sentence and (model is None or np.isnan(model.params_).all())


@pytest.mark.filterwarnings("ignore:Starting with pandas")  # lifelines asks for an older one
@pytest.mark.parametrize("horizon", [1.0, 0.3, 0.1])
@pytest.mark.parametrize("protocol", ["reference", "risk_sets"])
@pytest.mark.parametrize("name", FOLLOW_UPS)
def test_survival_equals_lifelines(name, protocol, horizon):
    table = FOLLOW_UPS[name]()
    end = horizon * table.horizon
    group = table.X[:, -1] > table.X[:, -1].mean()
    model = pw.FederatedKaplanMeier(protocol, horizon=end, groups=[False, True], parties=3, random_state=1).fit(
        table.times, table.events, group=group
    )
    curves, expected = pooled_survival(name, end)
    for k, pooled in enumerate(curves):
        points = np.linspace(0, end, 30)
        np.testing.assert_allclose(model.predict(points)[k], pooled.predict(points), atol=1e-12)
        # lifelines' own median is one event late where its product of floats lies above 1/2 by a rounding.
        reached = pooled.survival_function_.index[pooled.survival_function_.iloc[:, 0] <= 0.5 + 1e-12]
        assert model.median_survival_time_[k] == (pytest.approx(reached[0]) if len(reached) else None)
    assert model.logrank_.p_value == pytest.approx(expected, rel=1e-6)


@cache
def pooled_survival(name: str, end: float) -> tuple[list[KaplanMeierFitter], float]:
    """Return lifelines' curves of both groups until a time, and the p-value of its log-rank test."""
    table = FOLLOW_UPS[name]()
    group, late = table.X[:, -1] > table.X[:, -1].mean(), table.times > end
    times, events = np.where(late, end, table.times), table.events & ~late
    curves = [KaplanMeierFitter().fit(times[group == k], events[group == k]) for k in (0, 1)]
    return curves, logrank_test(times[group], times[~group], events[group], events[~group]).p_value


@pytest.mark.parametrize("spread", SPREAD)
@pytest.mark.parametrize("protocol", ["exact", "pooled"])
@pytest.mark.parametrize("name", ["longley", "diabetes", "stackloss"])
def test_vertical_least_squares_equal_numpy(name, protocol, spread):
    table = REGRESSIONS[name]()
    X, scale = moved(table, spread)
    options = {"ridge": 0.0} if protocol == "exact" else {}
    model, sentence = verdict(
        lambda: pw.VerticalLinear(protocol, model="linear", parties=[[0], [*range(1, X.shape[1])]], **options).fit(
            X, table.y, rng=1
        )
    )
    centred = table.X - table.X.mean(axis=0)
    expected = np.linalg.lstsq(centred, table.y - table.y.mean(), rcond=None)[0]
    if protocol == "pooled":
        # Its gradient steps of one length do not bear raw units, and say so.
        assert sentence
        return
    assert not sentence, sentence
    np.testing.assert_allclose(model.coef_ * scale, expected, rtol=1e-6)


@pytest.mark.parametrize("spread", SPREAD)
@pytest.mark.parametrize("name", ["longley", "diabetes", "star98"])
def test_correlations_equal_numpy(name, spread):
    table = REGRESSIONS[name]()
    X, _ = moved(table, spread)
    model, sentence = verdict(lambda: pw.VerticalPCA(parties=[[0], [*range(1, X.shape[1])]], random_state=1).fit(X))
    assert not sentence, sentence
    np.testing.assert_allclose(model.correlation_, np.corrcoef(table.X, rowvar=False), atol=1e-6)


# Protocols of trees whose model is the pooled one, with their options.
TREES: dict[str, tuple[str, dict[str, object]]] = {
    "pooled": ("pooled", {}),
    "ranks in the clear": ("feature_gathering", {}),
    "gradients under encryption": ("label_scattering", {"cipher": "sized", "n_bins": 300}),
    "gradients in the clear": ("label_scattering", {"cipher": "identity", "n_bins": 300, "hide_instances": True}),
    "active party alone": ("active_only", {}),
}


@pytest.mark.parametrize(
    ("name", "way", "spread"), in_turns(["longley", "diabetes", "stackloss", "birthwt", "spector"], TREES)
)
def test_trees_equal_xgboost(name, way, spread):
    table, (protocol, options) = REGRESSIONS[name](), TREES[way]
    X, _ = moved(table, spread)
    loss = CLASSES if table.family == "binomial" else SQUARES
    if protocol == "label_scattering" and loss == SQUARES:
        options = options | {"residual_bound": 2.0 * np.ptp(table.y)}
    growth = {"num_of_trees": 3, "own_n_bins": None, "base_score": "mean"}
    parties = [[0], list(range(1, X.shape[1]))]
    model, sentence = verdict(
        lambda: pw.VerticalBoosting(protocol, loss=loss, parties=parties, random_state=1, **growth, **options).fit(
            X, table.y
        )
    )
    assert not sentence, sentence
    held = parties[1] if protocol == "active_only" else slice(None)
    codes = dense_ranks(table.X[:, held])
    booster = xgboost_trees.oracle(codes, table.y, TreePooledOptions(**growth), loss, "exact")
    pooled = booster.predict(xgboost.DMatrix(codes.codes.astype(float)), output_margin=True)
    scores = model.predict(X) if loss == SQUARES else model.decision_function(X)
    np.testing.assert_allclose(scores, pooled, rtol=1e-5, atol=1e-5 * np.abs(pooled).max())


@pytest.mark.parametrize("spread", SPREAD)
@pytest.mark.parametrize("name", ["longley", "diabetes", "stackloss"])
def test_slices_equal_numpy(name, spread):
    """The estimate of Li (1991), for which the published kernel of federated slices is another one."""
    table = REGRESSIONS[name]()
    X, scale = moved(table, spread)
    edges, options = np.quantile(table.y, [0.3, 0.6]), {"slices": "public", "kernel": "classical"}
    model, sentence = verdict(
        lambda: pw.SlicedInverseRegression("reference", edges=edges, parties=2, random_state=1, **options).fit(
            X, table.y
        )
    )
    assert not sentence, sentence
    centred = (table.X - table.X.mean(axis=0)) / table.X.std(axis=0)
    slices = np.searchsorted(edges, table.y, side="left")
    means = np.array([np.sqrt(np.mean(slices == k)) * centred[slices == k].mean(axis=0) for k in range(3)])
    values, vectors = np.linalg.eig(np.linalg.solve(np.cov(centred, rowvar=False, bias=True), means.T @ means))
    pooled = vectors[:, np.argmax(values.real)].real
    found = model.components_[0] * scale * table.X.std(axis=0)
    cosine = abs(found @ pooled) / np.linalg.norm(found) / np.linalg.norm(pooled)
    assert cosine == pytest.approx(1, abs=1e-8)


@pytest.mark.parametrize("name", ["spector", "birthwt"])
def test_logistic_regression_without_noise_equals_statsmodels(name):
    table = REGRESSIONS[name]()
    model, sentence = verdict(
        lambda: pw.LabelPrivateLogisticRegression("non_private", random_state=1).fit(table.X, table.y)
    )
    assert not sentence, sentence
    pooled = oracle(table.X, table.y, "binomial")
    assert np.max(np.abs(model.coef_ - np.asarray(pooled.params)[1:]) / np.asarray(pooled.bse)[1:]) < 1e-3


def paper(spread: str) -> tuple[pw.Questions, dict[str, np.ndarray], float]:
    """Questions on breast cancer by treatment, its columns with nodes and ages in other units, and the unit of ages."""
    table = FOLLOW_UPS["gbsg"]()
    X, scale = moved(table, spread)
    shift, ages = SPREAD[spread][0] * table.X.std(axis=0), [20.5, 40.5, 50.5, 60.5, 80.5]
    old = [(age + shift[1]) * scale[1] for age in ages]
    frame = {"hormon": table.X[:, 2].astype(int), "relapse": table.events.astype(int), "time": table.times}
    frame |= {"age": X[:, 1], "nodes": X[:, 0], "old": (table.X[:, 1] > 50).astype(int)}
    binary = ("hormon", "relapse", "old")
    questions = pw.Questions(
        by="hormon",
        levels=dict.fromkeys(binary, (0, 1)) | {"nodes": pw.Bands([(n + shift[0]) * scale[0] for n in (0.5, 3.5, 60)])},
        table_one={"age": pw.Bands(old)},
        means={"age": (old[0], old[-1])},
        cross=[("hormon", "relapse", "old"), ("relapse", "nodes")],
        incidence=[pw.Incidence("time", "relapse", [1], table.horizon, 6)],
        complete=[*binary, "age", "nodes"],
    )
    return questions, frame, float(scale[1])


@pytest.mark.parametrize("spread", SPREAD)
def test_exact_tables_equal_statsmodels(spread):
    """Crude and stratified associations, and means that are rounded to 1/2048 of half of their public range."""
    questions, frame, unit = paper(spread)
    model, sentence = verdict(lambda: pw.FederatedEpidemiology(questions, "reference", parties=3).fit(frame))
    assert not sentence, sentence
    treated, relapse, old = (frame[name] == 1 for name in ("hormon", "relapse", "old"))
    strata = [
        np.array([[np.sum((treated == a) & (relapse == y) & (old == s)) for y in (True, False)] for a in (True, False)])
        for s in (False, True)
    ]
    crude, pooled = Table2x2(sum(strata)), StratifiedTable([one.astype(float) for one in strata])
    found = model.two_by_two("hormon", "relapse") | model.mantel_haenszel("hormon", "relapse", "old")
    assert found["odds ratio"].estimate == pytest.approx(crude.oddsratio, rel=1e-9)
    assert found["risk ratio"].estimate == pytest.approx(crude.riskratio, rel=1e-9)
    common = found["Mantel-Haenszel odds ratio"]
    assert common.estimate == pytest.approx(pooled.oddsratio_pooled, rel=1e-9)
    assert (common.lower, common.upper) == pytest.approx(pooled.oddsratio_pooled_confint(), rel=1e-9)
    ages = [DescrStatsW(frame["age"][treated == a] / unit) for a in (True, False)]
    difference, (low, high) = ages[0].mean - ages[1].mean, CompareMeans(*ages).tconfint_diff(usevar="unequal")
    answer = model.means("age")["difference of means of age"]
    # Half of the range is 30 years: a value is rounded by at most 30 / 4096.
    assert answer.estimate / unit == pytest.approx(difference, abs=2 * 30 / 4096)
    assert answer.width / unit == pytest.approx(high - low, rel=0.01)
