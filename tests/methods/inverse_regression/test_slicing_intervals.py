"""Intervals of a direction and the bound of its loss: who has them, what they hold, and why others have none."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

import partywise as pw
from partywise.core.randomness import stream
from partywise.methods.inverse_regression.subspace import projection_loss

P, TRUTH = 3, np.array([0.8, -0.6, 0.0])
NORMAL = {f"x{column}": "normal" for column in range(P)}
EDGES = (-0.8, 0.0, 0.8)


def fitted(protocol="certified", n=2000, seed=1, **given):
    """Fit one direction of normal columns at three clients that share the noise."""
    rng = stream(seed, "intervals of a direction")
    X = rng.standard_normal((n, P))
    y = X @ TRUTH + 0.5 * rng.standard_normal(n)
    settings = {"epsilon": 4.0, "edges": EDGES, "radius": 1.5, "kinds": NORMAL, "noise": "shared", "clipped": "allow"}
    model = pw.SlicedInverseRegression(protocol, parties=3, random_state=seed, **(settings | given))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


@pytest.mark.parametrize("protocol", ["certified", "whitened"])
def test_intervals_hold_the_true_direction_with_the_sign_of_the_estimate(protocol):
    """Five errors hold it at any seed; the bound of 95 % holds the loss of this one."""
    model = fitted(protocol)
    reported = model.components_[0] / np.linalg.norm(model.components_[0])
    centre, errors = model.intervals_.centre, model.intervals_.standard_errors
    assert np.linalg.norm(centre) == pytest.approx(1.0) and centre @ reported > 0.9
    assert np.all(np.abs(centre - TRUTH * np.sign(reported[0])) < 5 * errors) and errors.max() < 0.05
    assert np.all(model.intervals_.noise_part < errors) and model.intervals_.diagnostics["clipped"] > 0.1
    assert projection_loss(model.components_.T, TRUTH) <= model.loss_bound_ < 0.5


def test_levels_the_summary_and_a_copy():
    model = fitted()
    wide, narrow = model.conf_int(0.01), model.conf_int(0.2)
    assert wide.shape == (P, 2) and np.all(wide[:, 0] < narrow[:, 0]) and np.all(wide[:, 1] > narrow[:, 1])
    text = model.summary()
    assert f"at most {model.loss_bound_:.3g} (95 %)" in text
    assert "97.5 %" in text and "records clipped by the fitted law" in text
    assert f"intervals: {model.intervals_.estimand}" in text
    again = fitted()
    assert again.loss_bound_ == model.loss_bound_ and np.array_equal(again.conf_int(), model.conf_int())
    with pytest.raises(ValueError, match=r"alpha=0.0 must lie in \(0, 1\): give 0.05"):
        model.conf_int(0.0)


def test_more_noise_gives_longer_intervals_and_a_larger_bound():
    strong, weak = fitted(epsilon=3.0), fitted(epsilon=12.0)
    assert strong.loss_bound_ > 1.3 * weak.loss_bound_
    assert np.all(strong.intervals_.standard_errors > 1.3 * weak.intervals_.standard_errors)


def test_of_two_directions_only_the_span_has_a_bound():
    rng = stream(1, "two directions")
    X = rng.standard_normal((20_000, P))
    y = X[:, 0] + (X[:, 1] + 1) ** 2 + 0.3 * rng.standard_normal(len(X))
    edges = (0.0, 1.0, 2.5, 5.0)
    model = pw.SlicedInverseRegression(
        epsilon=8.0, edges=edges, n_directions=2, radius=3.0, kinds=NORMAL, parties=2, noise="shared", random_state=1
    ).fit(X, y)
    assert model.intervals_.reason.startswith("later: 2 directions") and model.conf_int() is None
    assert model.estimate_.intervals.record_law.draws >= 40_000
    assert projection_loss(model.components_.T, np.eye(P)[:, :2]) <= model.loss_bound_ < 0.5
    assert "at most" in model.summary() and "no intervals: later" in model.summary()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"kinds": None}, "undeclared kinds: .*`kind: normal` for every column .*`kinds`"),
        ({"intervals": "none"}, "not asked for"),
        ({"second": "mirrored"}, "later: .*'goe'"),
        ({"aggregation": "kernel", "noise": "local"}, "later: .*'mean'"),
        ({"screened": True, "active": 1}, "selection: columns were screened"),
        ({"dimension": "estimated"}, "selection: the number of directions"),
        ({"rows_per_user": 2}, "dependent records"),
        ({"n": 290, "epsilon": np.inf}, "few records: n = 290"),
        ({"n": 400, "epsilon": 0.5}, "not identified: .*direction 1.*larger epsilon|not estimable"),
    ],
)
def test_there_are_none_for_a_stated_reason(given, words):
    model = fitted(**given)
    assert re.match(words, model.intervals_.reason), model.intervals_.reason
    assert model.loss_bound_ is None and model.conf_int() is None
    assert f"no intervals: {model.intervals_.reason}" in model.summary()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"kinds": {"x0": "normal"}}, r"kinds is \{'x0': .normal.\}: give one of each column"),
        ({"kinds": NORMAL | {"x1": "uniform"}}, "kinds has 'uniform' for column 'x1': only 'normal'"),
    ],
)
def test_kinds_that_nothing_reads_are_refused(given, words):
    with pytest.raises(ValueError, match=words):
        fitted(**given)


@pytest.mark.parametrize("protocol", ["published", "reference"])
def test_protocols_without_a_law_refuse_kinds(protocol):
    epsilon = {} if protocol == "reference" else {"epsilon": 4.0}
    model = pw.SlicedInverseRegression(protocol, edges=EDGES, kinds=NORMAL, parties=2, random_state=1, **epsilon)
    with pytest.raises(ValueError, match=r"kinds.*'certified' and 'whitened' only"):
        model.fit(np.zeros((10, P)), np.arange(10.0))
