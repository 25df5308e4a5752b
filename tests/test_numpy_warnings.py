"""Every protocol of every estimator at the edge of numbers: a fit reports in words, and NumPy stays silent."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest

import partywise as pw
from partywise.federation.estimators.estimator import Estimator

N = 60
RNG = pw.stream(1, "records at the edge of numbers")
X = RNG.uniform(0, 1, size=(N, 3))
NUMBERS = X[:, 0] - X[:, 1] + RNG.normal(size=N)
LABELS = (NUMBERS > 0).astype(float)
TIMES, EVENTS = RNG.exponential(size=N), RNG.random(N) < 0.8
# Columns in other units, with one far record, of events in the order of time, and of the responses themselves.
EDGES = {
    "plain": X,
    "columns of 1e6": X * 1e6,
    "columns of 1e150": X * 1e150,
    "one record of 1e6": np.where(np.arange(N)[:, None] == 0, 1e6, X),
    "a monotone column": np.column_stack([-TIMES, X[:, 1:]]),
    "columns of responses": np.column_stack([LABELS, EVENTS, X[:, 2]]).astype(float),
}
Fit = Callable[..., object]


def by_labels(kind: type[Estimator]) -> Fit:
    """Fit labels by columns."""
    return lambda protocol, x, **options: kind(protocol, **options).fit(x, LABELS)


def by_numbers(kind: type[Estimator]) -> Fit:
    """Fit numbers by columns."""
    return lambda protocol, x, **options: kind(protocol, **options).fit(x, NUMBERS)


def glm(protocol: str, x: np.ndarray, **options: object) -> object:
    """Fit labels by columns."""
    return pw.VerticalGLM("binomial", protocol, **options).fit(x, LABELS)


def curves(protocol: str, x: np.ndarray, **options: object) -> object:
    """Fit numbers by curves of one point."""
    return pw.FunctionalBoosting(protocol, **options).fit(x[:, :, None], NUMBERS[:, None])


def survival(protocol: str, x: np.ndarray, **options: object) -> object:
    """Draw the curves of five records: columns play no part."""
    return pw.FederatedKaplanMeier(protocol, **options).fit(TIMES[:5], EVENTS[:5])


def tables(protocol: str, x: np.ndarray, **options: object) -> object:
    """Describe labels, events and times by bands and means of columns, and compute every number and test."""
    frame = dict(zip(("first", "second", "third"), x.T, strict=True))
    frame |= {"label": LABELS, "event": EVENTS.astype(int), "time": TIMES}
    model = pw.FederatedEpidemiology(QUESTIONS, protocol, **options).fit(frame)
    model.answers(), model.tests(), model.table_one().html()
    return model


QUESTIONS = pw.Questions(
    by="label",
    levels={"label": [0, 1], "event": [0, 1]},
    table_one={"first": pw.Bands([0, 0.25, 0.5, 0.75, 1]), "third": pw.Bands([0, 0.5, 1])},
    means={"second": (0, 1)},
    cross=[("label", "event"), ("label", "event", "third"), ("event", "first")],
    incidence=[pw.Incidence("time", "event", [1], 2.0, 4)],
    complete=["label", "event", "first", "third"],
)
BOUNDS = {"epsilon": 1.0, "clipped": "allow"}
SCALED = BOUNDS | {"location": 0.0, "scale": 1.0, "statistic": (-2.0, 2.0)}
STARTED = BOUNDS | {"location": 0.0, "scale": 1.0, "eta_start": 0.0}
BOX = BOUNDS | {"horizon": 2.0, "centre": [0.5] * 3, "scale": [0.5] * 3}
CURVES = {"s": 0.5, "radius_value": 3.0, "clipped": "allow"}
STEPS = CURVES | {"min_steps": 1, "max_steps": 2}
TREES = {"num_of_trees": 2}
EDGED = BOUNDS | TREES | {"public_edges": [[0.5]] * 3, "cipher": "sized"}
# What each protocol of an estimator is given beside the records.
PROTOCOLS: dict[type[Estimator], tuple[Fit, dict[str, dict[str, object]]]] = {
    pw.VerticalGLM: (
        glm,
        {
            "joint": {},
            "bcd": {"variant": "corrected", "max_sweeps": 20},
            "reference": {},
            "moments": SCALED | {"cipher": "sized"},
            "noisy_newton": STARTED | {"steps": 2},
            "noisy_gradient": STARTED | {"steps": 2},
            "noisy_predictor": STARTED | {"cipher": "sized"},
        },
    ),
    pw.VerticalLinear: (
        by_labels(pw.VerticalLinear),
        {"certified": {"bounds": 1.0, "cipher": "sized"}, "published": {}, "pooled": {}, "exact": {}},
    ),
    pw.VerticalPCA: (
        lambda protocol, x, **options: pw.VerticalPCA(protocol, **options).fit(x),
        {"correlation": {}, "block_svd": {}},
    ),
    pw.VerticalBoosting: (
        by_labels(pw.VerticalBoosting),
        {
            "tables": EDGED,
            "local_tables": {key: value for key, value in EDGED.items() if key != "cipher"},
            "feature_gathering": TREES,
            "label_scattering": TREES | {"cipher": "sized"},
            "pooled": TREES,
            "active_only": TREES,
        },
    ),
    pw.SlicedInverseRegression: (
        by_numbers(pw.SlicedInverseRegression),
        {
            "certified": BOUNDS | {"edges": (0.0,)},
            "whitened": BOUNDS | {"edges": (0.0,)},
            "published": BOUNDS | {"edges": (0.0,)},
            "reference": {"edges": (0.0,), "slices": "public"},
        },
    ),
    pw.FunctionalBoosting: (
        curves,
        {
            "boosting": STEPS,
            "published": {"s": 0.5, "min_steps": 1, "max_steps": 2},
            "moments": BOUNDS | {"radius_value": 3.0, "response_radius": 4.0, "cipher": "sized"},
            "roundwise": STEPS,
            "central": CURVES,
            "baseline": {"kind": "least_squares"},
        },
    ),
    pw.LabelPrivateLogisticRegression: (
        by_labels(pw.LabelPrivateLogisticRegression),
        {
            "walr": {"epsilon": 1.0, "trainer": "hybrid", "steps": 60},
            "buckets": {"epsilon": 1.0, "bins": 3},
            "noisy_gradient": {"epsilon": 1.0},
            "label_sgd": {"epsilon": float("inf"), "rounds": 20},
            "objective_perturbation": {"epsilon": 1.0},
            "non_private": {"trainer": "full_batch", "steps": 60},
        },
    ),
    pw.FederatedLogistic: (
        by_labels(pw.FederatedLogistic),
        {"row_gradients": {"epsilon": 1.0}, "fedavg": {}},
    ),
    pw.FederatedKaplanMeier: (
        survival,
        {
            "table": {"epsilon": float("inf"), "horizon": 2.0, "bins": 12},
            "reference": {"horizon": 2.0},
            "piecewise": {"horizon": 2.0},
            "risk_sets": {"horizon": 2.0},
            "noised_times": {"horizon": 2.0},
            "encrypted_histogram": {"horizon": 2.0},
        },
    ),
    pw.FederatedCox: (
        lambda protocol, x, **options: pw.FederatedCox(protocol, **options).fit(x, TIMES, EVENTS),
        {
            "scores": BOX,
            "gradient": BOX,
            "moments": BOX,
            "cells": BOX,
            "reference": {"horizon": 2.0},
            "piecewise": {"horizon": 2.0},
            "risk_sets": {"horizon": 2.0},
            "noisy_gradient": BOX,
        },
    ),
    pw.FederatedEpidemiology: (
        tables,
        {
            "tables": BOUNDS,
            "products": BOUNDS | {"cipher": "sized"},
            "reference": {"clipped": "allow"},
            "suppressed": {"clipped": "allow"},
            "rounded": {"clipped": "allow"},
            "geometric_box": BOUNDS,
        },
    ),
}
# Two places by their names, which are not counted.
PARTIES = {pw.LabelPrivateLogisticRegression: {"parties": ("trainer", "measurer")}}
CASES = [(kind, protocol) for kind, (_, options) in PROTOCOLS.items() for protocol in options]


def test_every_protocol_is_asked():
    named = {kind for name in pw.__all__ if isinstance(kind := getattr(pw, name), type) and issubclass(kind, Estimator)}
    assert set(PROTOCOLS) == {kind for kind in named if getattr(kind, "methods", None)}
    for kind, (_, options) in PROTOCOLS.items():
        assert set(options) == set(kind.methods), kind


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize(("kind", "protocol"), CASES)
def test_numpy_is_silent(kind, protocol, edge):
    fit, options = PROTOCOLS[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        try:
            fit(protocol, EDGES[edge], random_state=1, **PARTIES.get(kind, {"parties": 2}), **options[protocol])
        except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
            # Refused in a sentence, which plain records never are.
            assert edge != "plain" and str(error).endswith("."), error


def test_bands_of_five_records_are_numbers():
    """Variances that are 0 are not the root of a rounding error below it."""
    for seed in range(25):
        rng = pw.stream(seed, "five records")
        times, events = rng.uniform(1, 12, 5), rng.random(5) < (0.7 if seed % 2 else 1)
        options = {"epsilon": float("inf"), "horizon": 10.0, "bins": 12, "parties": 1, "random_state": 1}
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            model = pw.FederatedKaplanMeier("table", **options).fit(times, events)
        assert np.isfinite(model.confidence_interval_).all() and np.isfinite(model.confidence_band_).all()
