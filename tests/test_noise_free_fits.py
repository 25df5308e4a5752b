"""Protocols that add noise or take steps, on public tables and without noise: near the pooled fit, or reported.

Next to `test_pooled_fits`, which asks the exact protocols; together they ask every protocol of every estimator.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from test_pooled_fits import SPREAD, moved, paper, verdict

import partywise as pw
from glm_oracle import oracle
from partywise.federation.estimators.estimator import Estimator
from public_tables import FOLLOW_UPS, REGRESSIONS

# Protocols of `test_pooled_fits`.
EXACT = {
    "VerticalGLM": ("reference", "joint", "bcd"),
    "VerticalLinear": ("exact",),
    "VerticalPCA": ("correlation",),
    "VerticalBoosting": ("pooled", "feature_gathering", "label_scattering", "active_only"),
    "SlicedInverseRegression": ("reference",),
    "LabelPrivateLogisticRegression": ("non_private",),
    "FederatedKaplanMeier": ("reference", "risk_sets"),
    "FederatedCox": ("reference", "risk_sets"),
    "FederatedEpidemiology": ("reference",),
}
# Protocols that have no pooled fit to be near to.
APART = {
    ("LabelPrivateLogisticRegression", "buckets"): "a regression on indicators of cells, coarser than the columns",
    ("VerticalLinear", "published"): "a Taylor polynomial of the logistic loss, whose optimum is another one",
    ("FunctionalBoosting", "published"): "its stopping rule is made for noise, and its increments are the source's",
    ("FunctionalBoosting", "central"): "it boosts curves whose noise has a fixed deviation",
}
INF = np.inf
TWO = [[0], [1, 2, 3]]


class Columns:
    """Columns of a table in other units, public numbers in these units, and the pooled fit.

    standard : columns that were standardised by public numbers before the fit, for protocols that ask for it
    """

    def __init__(self, name: str, spread: str) -> None:
        table = REGRESSIONS[name]()
        self.X, self.scale = moved(table, spread)
        self.y = table.y
        self.mean, self.sd = self.X.mean(axis=0), self.X.std(axis=0)
        self.standard = (self.X - self.mean) / self.sd
        pooled = oracle(table.X, table.y, table.family)
        self.slopes, self.errors = np.asarray(pooled.params)[1:], np.asarray(pooled.bse)[1:]
        self.fitted = np.asarray(pooled.fittedvalues)
        self.statistic = (float(self.y.min()), float(self.y.max()))

    def off(self, coefficients: np.ndarray, *, standardised: bool = False, unit: float = 1.0) -> float:
        """Largest distance of coefficients from the pooled ones, in standard errors."""
        own = unit * np.ravel(coefficients) * self.scale / (self.sd if standardised else 1.0)
        return float(np.max(np.abs(own - self.slopes) / self.errors))


columns = cache(Columns)
Fitted = tuple[object, str, Callable[[object], float]]


def glm(protocol: str, name: str, spread: str, **options: object) -> Fitted:
    """A private linear model without noise; public numbers move with the columns."""
    at = columns(name, spread)
    public = {"location": at.mean, "scale": at.sd, "radii": (10.0, 10.0), "statistic": at.statistic}
    if protocol != "moments":
        public["eta_start"] = float(at.y.mean()) if name == "diabetes" else 0.0
    family = REGRESSIONS[name]().family
    fit = pw.VerticalGLM(
        family, protocol, epsilon=INF, parties=TWO, random_state=1, clipped="allow", **public, **options
    )
    return *verdict(lambda: fit.fit(at.X, at.y)), lambda model: at.off(model.coef_)


def linear(protocol: str, spread: str, **options: object) -> Fitted:
    """Gradient steps on standardised columns and responses."""
    at = columns("diabetes", spread)
    unit = at.y.std()
    fit = pw.VerticalLinear(protocol, model="linear", parties=TWO, total_round_num=200, random_state=1, **options)
    found = verdict(lambda: fit.fit(at.standard, (at.y - at.y.mean()) / unit))
    return *found, lambda model: at.off(model.coef_, standardised=True, unit=unit)


def labels(cls: type, protocol: str, spread: str, **options: object) -> Fitted:
    """Labels by standardised columns."""
    at = columns("birthwt", spread)
    fit = cls(protocol, random_state=1, **options)
    return *verdict(lambda: fit.fit(at.standard, at.y)), lambda model: at.off(model.coef_, standardised=True)


def label_private(protocol: str, spread: str, **options: object) -> Fitted:
    return labels(pw.LabelPrivateLogisticRegression, protocol, spread, epsilon=INF, **options)


def in_ranges(protocol: str, spread: str) -> Fitted:
    """Labels by raw columns with public ranges."""
    at = columns("birthwt", spread)
    ranges = list(zip(at.X.min(axis=0), at.X.max(axis=0), strict=True))
    fit = pw.LabelPrivateLogisticRegression(protocol, epsilon=INF, public_bounds=ranges, random_state=1)
    return *verdict(lambda: fit.fit(at.X, at.y)), lambda model: at.off(model.coef_)


def curves(protocol: str, spread: str, **options: object) -> Fitted:
    """Columns as curves of one coordinate: what the fit explains less than least squares."""
    at = columns("diabetes", spread)
    y, explained = ((at.y - at.y.mean()) / at.y.std())[:, None], 1 - np.var(at.y - at.fitted) / np.var(at.y)
    fit = pw.FunctionalBoosting(protocol, parties=TWO, random_state=1, **options)
    return (
        *verdict(lambda: fit.fit(at.standard[:, :, None], y)),
        lambda model: abs(model.score(at.standard[:, :, None], y) - explained),
    )


def raw_curves(protocol: str, spread: str, **options: object) -> Fitted:
    """The same columns in their own units."""
    at = columns("diabetes", spread)
    explained = 1 - np.var(at.y - at.fitted) / np.var(at.y)
    fit = pw.FunctionalBoosting(protocol, parties=TWO, random_state=1, **options)
    found = verdict(lambda: fit.fit(at.X[:, :, None], at.y[:, None]))
    return *found, lambda model: abs(model.score(at.X[:, :, None], at.y[:, None]) - explained)


def slices(protocol: str, spread: str) -> Fitted:
    """Directions of standardised columns next to those of the reference; 1 less the cosine."""
    at, edges = columns("diabetes", spread), np.quantile(columns("diabetes", spread).y, [0.3, 0.6])
    options = {"edges": edges, "parties": 2, "random_state": 1}
    pooled = pw.SlicedInverseRegression("reference", slices="public", **options).fit(at.standard, at.y).components_[0]
    fit = pw.SlicedInverseRegression(protocol, epsilon=INF, radius=10.0, **options)

    def distance(model: object) -> float:
        found = model.components_[0]
        return 1 - abs(found @ pooled) / np.linalg.norm(found) / np.linalg.norm(pooled)

    return *verdict(lambda: fit.fit(at.standard, at.y)), distance


def cox(protocol: str, name: str, spread: str) -> Fitted:
    """A hazard model with public ranges of covariates next to the partial likelihood, in standard errors."""
    table = FOLLOW_UPS[name]()
    X, scale = moved(table, spread)
    common = {"horizon": table.horizon, "parties": 3, "random_state": 1}
    pooled = pw.FederatedCox("reference", **common).fit(table.X, table.times, table.events)
    options = {}
    if protocol != "piecewise":
        options = {"epsilon": INF, "centre": (X.max(axis=0) + X.min(axis=0)) / 2, "scale": np.ptp(X, axis=0) / 2}
    fit = pw.FederatedCox(protocol, **common, **options)
    return (
        *verdict(lambda: fit.fit(X, table.times, table.events)),
        lambda model: float(np.max(np.abs(model.params_ * scale - pooled.params_) / pooled.standard_errors_)),
    )


def survival(protocol: str, name: str, **options: object) -> Fitted:
    """Curves of two groups next to the exact ones: the largest difference."""
    table = FOLLOW_UPS[name]()
    group = table.X[:, -1] > table.X[:, -1].mean()
    common = {"horizon": table.horizon, "groups": [False, True], "parties": 3, "random_state": 1}
    pooled = pw.FederatedKaplanMeier("reference", **common).fit(table.times, table.events, group=group)
    points = np.linspace(0, table.horizon, 200)
    fit = pw.FederatedKaplanMeier(protocol, **common, **options)
    return (
        *verdict(lambda: fit.fit(table.times, table.events, group=group)),
        lambda model: float(np.max(np.abs(model.predict(points) - pooled.predict(points)))),
    )


def trees(protocol: str, name: str, spread: str, **options: object) -> Fitted:
    """Tables of gradients next to the pooled trees on the same bins: what their loss is above theirs, relative."""
    at = columns(name, spread)
    edges = [sorted(set(np.quantile(column, [0.25, 0.5, 0.75]))) for column in at.X.T]
    bins = np.column_stack([np.searchsorted(cuts, column) for cuts, column in zip(edges, at.X.T, strict=True)])
    growth = {"num_of_trees": 3, "parties": TWO, "random_state": 1}
    growth["loss"] = "RegressionMSELoss" if name == "diabetes" else "CrossEntropyLoss"
    if name == "diabetes":
        growth["base_score"] = float(at.y.mean())
        options |= {"residual_bound": 2 * float(np.ptp(at.y))}
    pooled = pw.VerticalBoosting("pooled", own_n_bins=None, **growth).fit(bins.astype(float), at.y)
    fit = pw.VerticalBoosting(protocol, epsilon=INF, public_edges=edges, **growth, **options)

    def loss(model: object, X: np.ndarray) -> float:
        return model._loss(model._scores(X), at.y)

    expected = loss(pooled, bins.astype(float))
    return *verdict(lambda: fit.fit(at.X, at.y)), lambda model: loss(model, at.X) / expected - 1


def components(protocol: str, spread: str) -> Fitted:
    """Variances of components next to the singular values of standardised columns."""
    at = columns("diabetes", spread)
    pooled = np.linalg.svd(at.standard, compute_uv=False) ** 2 / len(at.X)
    fit = pw.VerticalPCA(protocol, parties=TWO, random_state=1)
    return *verdict(lambda: fit.fit(at.X)), lambda model: float(np.max(np.abs(model.explained_variance_ / pooled - 1)))


def tables(protocol: str, spread: str, **options: object) -> Fitted:
    """Numbers of a paper next to the exact ones: the largest difference, in widths of their intervals.

    All numbers are asked, or under ``suppressed`` those whose tables no party refuses.
    """
    questions, frame, _ = paper(spread)
    common = {"parties": 3, "random_state": 1}
    pooled = {one.name: one for one in pw.FederatedEpidemiology(questions, "reference", **common).fit(frame).answers()}
    fit = pw.FederatedEpidemiology(questions, protocol, **common | options)

    def distance(model: object) -> float:
        found = model.answers()
        assert all(one.determined for one in found)
        names = [one.name for one in found]
        assert (set(names) < set(pooled) and len(names) > 20) if protocol == "suppressed" else names == list(pooled)
        return max(abs(one.estimate - pooled[one.name].estimate) / pooled[one.name].width for one in found)

    return *verdict(lambda: fit.fit(frame)), distance


SIZED = {"cipher": "sized"}
COLUMNS_OF_PAPER = {"hospital": ["hormon", "age", "old"], "registry": ["relapse", "nodes", "time"]}
# Bounds that no score reaches, and not so wide that the grid of the noise is coarse.
SCORES, RESIDUALS = {"bound": 15.0}, {"bound": 1e4}
# By estimator, protocol and a note: what fits it in other units, and what it may be off by; `INF` where a protocol is
# made of one step from no effect, or of so many as its source takes, so that only units are asked.
NEAR: dict[tuple[str, str, str], tuple[Callable[[str], Fitted], float]] = {
    ("VerticalGLM", "moments", "numbers"): (lambda s: glm("moments", "diabetes", s, **SIZED), 1e-3),
    # Moments of labels have a bias that no epsilon removes.
    ("VerticalGLM", "moments", "labels"): (lambda s: glm("moments", "birthwt", s, **SIZED), 0.5),
    ("VerticalGLM", "noisy_newton", "numbers"): (lambda s: glm("noisy_newton", "diabetes", s, **RESIDUALS), 1e-3),
    ("VerticalGLM", "noisy_newton", "labels"): (lambda s: glm("noisy_newton", "birthwt", s, steps=10, **SCORES), 1e-3),
    ("VerticalGLM", "noisy_gradient", "numbers"): (
        lambda s: glm("noisy_gradient", "diabetes", s, steps=300, **RESIDUALS),
        1e-3,
    ),
    ("VerticalGLM", "noisy_gradient", "labels"): (
        lambda s: glm("noisy_gradient", "birthwt", s, steps=300, **SCORES),
        1e-3,
    ),
    **{
        ("VerticalGLM", "noisy_predictor", name): (
            lambda s, name=name: glm("noisy_predictor", name, s, sweeps=30, **SIZED),
            1e-3,
        )
        for name in ("diabetes", "birthwt")
    },
    ("VerticalLinear", "pooled", ""): (lambda s: linear("pooled", s), 0.05),
    ("VerticalLinear", "certified", ""): (
        lambda s: linear("certified", s, bounds=10.0, label_bound=10.0, **SIZED),
        0.05,
    ),
    ("VerticalPCA", "block_svd", ""): (lambda s: components("block_svd", s), 1e-9),
    **{
        ("VerticalBoosting", way, name): (lambda s, way=way, name=name, more=more: trees(way, name, s, **more), 0.05)
        for way, more in (("tables", SIZED), ("local_tables", {}))
        for name in ("diabetes", "birthwt")
    },
    ("SlicedInverseRegression", "certified", ""): (lambda s: slices("certified", s), 1e-9),
    ("SlicedInverseRegression", "whitened", ""): (lambda s: slices("whitened", s), 2e-3),
    ("SlicedInverseRegression", "published", ""): (lambda s: slices("published", s), 2e-3),
    ("LabelPrivateLogisticRegression", "walr", ""): (lambda s: label_private("walr", s), 0.3),
    ("LabelPrivateLogisticRegression", "walr", "ranges"): (lambda s: in_ranges("walr", s), 0.3),
    ("LabelPrivateLogisticRegression", "noisy_gradient", ""): (lambda s: label_private("noisy_gradient", s), 1e-3),
    ("LabelPrivateLogisticRegression", "label_sgd", ""): (lambda s: label_private("label_sgd", s), 1.0),
    ("LabelPrivateLogisticRegression", "objective_perturbation", "ranges"): (
        lambda s: in_ranges("objective_perturbation", s),
        1e-6,
    ),
    ("FederatedLogistic", "row_gradients", ""): (
        lambda s: labels(pw.FederatedLogistic, "row_gradients", s, parties=3, epsilon=INF, rounds=200, clip=10.0),
        1e-6,
    ),
    ("FederatedLogistic", "fedavg", ""): (lambda s: labels(pw.FederatedLogistic, "fedavg", s, parties=3), 0.5),
    ("FunctionalBoosting", "baseline", ""): (lambda s: curves("baseline", s, kind="least_squares"), 1e-9),
    ("FunctionalBoosting", "baseline", "own units"): (lambda s: raw_curves("baseline", s, kind="least_squares"), 1e-6),
    ("FunctionalBoosting", "boosting", ""): (lambda s: curves("boosting", s, noise="none"), 0.03),
    ("FunctionalBoosting", "roundwise", ""): (lambda s: curves("roundwise", s, radius_value=100.0, s=1e-6), 0.03),
    ("FunctionalBoosting", "moments", ""): (
        lambda s: curves("moments", s, epsilon=INF, radius_value=100.0, response_radius=100.0, **SIZED),
        0.03,
    ),
    ("FederatedCox", "piecewise", ""): (lambda s: cox("piecewise", "gbsg", s), 0.1),
    ("FederatedCox", "scores", ""): (lambda s: cox("scores", "mgus", s), 0.3),
    ("FederatedCox", "gradient", ""): (lambda s: cox("gradient", "veteran", s), 0.4),
    **{
        ("FederatedCox", way, ""): (lambda s, way=way: cox(way, "veteran", s), INF)
        for way in ("moments", "cells", "noisy_gradient")
    },
    ("FederatedEpidemiology", "tables", ""): (lambda s: tables("tables", s, epsilon=INF), 1e-9),
    ("FederatedEpidemiology", "tables", "epsilon 1e6"): (lambda s: tables("tables", s, epsilon=1e6), 1e-3),
    ("FederatedEpidemiology", "products", ""): (
        lambda s: tables("products", s, epsilon=INF, parties=COLUMNS_OF_PAPER, **SIZED),
        # Means are rounded more finely than those of the reference.
        0.01,
    ),
    ("FederatedEpidemiology", "suppressed", ""): (lambda s: tables("suppressed", s), 1e-9),
    # Each of three parties moves a count by up to 2.
    ("FederatedEpidemiology", "rounded", ""): (lambda s: tables("rounded", s), 0.3),
    # Values of means are rounded to 2^-8 of their sum, and not to 2^-12.
    ("FederatedEpidemiology", "geometric_box", ""): (lambda s: tables("geometric_box", s, epsilon=INF), 0.05),
}
# Curves do not depend on columns: by protocol, its options, and what it may be off by.
CURVES = {
    "piecewise": ({}, 0.1),
    "noised_times": ({"noise": "none"}, 1e-12),
    "encrypted_histogram": ({"width": 1.0}, 1e-12),
    "table": ({"epsilon": INF}, 0.05),
}


@pytest.mark.parametrize("case", NEAR, ids=" ".join)
def test_without_noise_a_fit_is_near_the_pooled_one_in_any_units_or_reported(case):
    fit, tolerance = NEAR[case]
    distances = []
    for spread in SPREAD:
        model, sentence, distance = fit(spread)
        if not sentence:
            distances.append(distance(model))
    assert all(distance <= tolerance for distance in distances), distances
    assert len(distances) < 2 or distances[0] == pytest.approx(distances[1], rel=1e-3, abs=1e-6), distances


@pytest.mark.parametrize("name", FOLLOW_UPS)
@pytest.mark.parametrize("protocol", CURVES)
def test_without_noise_curves_are_near_the_exact_ones(protocol, name):
    options, tolerance = CURVES[protocol]
    model, sentence, distance = survival(protocol, name, **options)
    assert not sentence, sentence
    assert distance(model) <= tolerance


def test_every_protocol_of_every_estimator_is_asked():
    """By this module or the one of exact protocols; whoever adds a protocol adds a line, or a reason."""
    asked = {(name, protocol) for name, protocol, _ in NEAR}
    asked |= {("FederatedKaplanMeier", protocol) for protocol in CURVES}
    asked |= {(name, protocol) for name, protocols in EXACT.items() for protocol in protocols}
    public = [getattr(pw, name) for name in pw.__all__]
    estimators = [one for one in public if inspect.isclass(one) and issubclass(one, Estimator)]
    assert asked | set(APART) == {(cls.__name__, protocol) for cls in estimators for protocol in cls.methods}
    assert not asked & set(APART)
