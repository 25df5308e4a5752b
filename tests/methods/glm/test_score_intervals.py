"""Intervals of noisy Newton steps: their sums are those of the release, all ways give them, and what has none."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.special import expit

import partywise as pw
from forked import in_all_ways
from glm_driver import DECLARED
from noisy_driver import private_run
from partywise.core.randomness import stream
from partywise.federation.run import simulate
from partywise.methods.glm.noisy_statistics.moments import MomentScale
from partywise.methods.glm.noisy_statistics.scores import (
    NoisyScores,
    ScoreClip,
    constant_entry,
    mean_score,
    second_moments,
)
from partywise.methods.glm.options import NoisyNewtonOptions
from partywise.methods.glm.protocols import noisy_newton
from partywise.privacy.accounted_values import Public

GROUPS = ((0,), (1, 2))
TRUTH = np.array([0.3, 0.5, -0.3, 0.2])
STATISTIC = {"gaussian": (-5.0, 5.0), "binomial": (0.0, 1.0), "poisson": (0.0, 10.0), "gamma": (-4.0, 4.0)}


def records(family: str, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = stream(seed, "scores", family)
    X = rng.standard_normal((n, 3))
    eta = TRUTH[0] + X @ TRUTH[1:]
    draw = {
        "gaussian": lambda: eta + rng.standard_normal(n),
        "binomial": lambda: (rng.random(n) < expit(eta)).astype(float),
        "poisson": lambda: rng.poisson(np.exp(eta)).astype(float),
        "gamma": lambda: rng.gamma(2.0, np.exp(eta) / 2),
    }
    return X, draw[family]()


def fitted(family: str, n: int = 2000, **changes: object) -> pw.VerticalGLM:
    X, y = records(family, n)
    given = {"epsilon": 8.0, "location": 0.0, "scale": 1.0, "eta_start": 0.0, "statistic": STATISTIC[family]}
    given |= {"kinds": {f"x{j}": "normal" for j in range(3)}, "clipped": "allow"}
    with warnings.catch_warnings():
        # That radii clip many records is what most of these tests are about.
        warnings.simplefilter("ignore", UserWarning)
        return pw.VerticalGLM(family, "noisy_newton", **given | changes).fit(X, y, parties=GROUPS, rng=3)


@pytest.mark.parametrize(("bound", "residual"), [(1.0, np.inf), (3.0, 0.7)])
@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson", "gamma"])
def test_the_clip_of_the_law_is_that_of_the_scores(family, bound, residual):
    """The mean of the same records in floats and in whole steps differs by one step of a record at most."""
    X, y = records(family, 300)
    clip = ScoreClip(Public(bound, DECLARED), residual=residual)
    at = Public(np.array([0.1, -0.2, 0.4, 3.0]), DECLARED)
    public = private_run(X, y, NoisyNewtonOptions(), family, 1.0, groups=GROUPS).spec.public
    released = mean_score(X, y, at, clip, public)
    x = np.column_stack([np.ones(len(X)), X])
    mean = expit(x @ at.value) if family == "binomial" else np.exp(x @ at.value)
    residuals = {"gaussian": y - x @ at.value, "gamma": y / np.exp(x @ at.value) - 1}.get(family, y - mean)
    floats = clip.of_model(x, residuals)
    assert 0.05 < released.clip_share < 1
    np.testing.assert_allclose(floats.mean(axis=0), released.value, rtol=0, atol=released.step * len(X))


def test_the_second_moments_of_the_law_are_those_of_the_release():
    X, _ = records("gaussian", 300)
    radius = Public(float(np.linalg.norm(X, axis=1).max()), DECLARED)
    released = second_moments(X, radius)
    facts = MomentScale(float(radius.value), 3, 0.0, 1.0), np.zeros(3), np.ones(3)
    constant = constant_entry(radius, 3, len(X))
    noisy = NoisyScores((), (), (), np.empty((0, 4)), ScoreClip(radius), constant, len(X), *facts)
    step = 2 * np.sqrt(2) * float(radius.value) ** 2 * 2.0**-20
    np.testing.assert_allclose(noisy.moments_of(X).mean(axis=0), released.value, rtol=0, atol=step)


@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_the_estimator_has_intervals_of_coefficients_before_clipping(family):
    """All within 4.5 standard errors, of one fit; their centre is not the estimate, which clipping biases."""
    fit = fitted(family, radii=(1.0, 1.4))
    intervals = fit.intervals_
    assert np.all(np.abs(intervals.centre - TRUTH) < 4.5 * intervals.standard_errors)
    assert np.all(intervals.noise_part < intervals.standard_errors) and intervals.models_clipping
    bounds = np.asarray(fit.conf_int())
    np.testing.assert_array_equal(bounds, intervals.bounds())
    assert f"{bounds[1, 0]:.4g}" in fit.summary() and "the declared kinds" in fit.summary()
    assert intervals.diagnostics["degrees"] == {"binomial": 8, "poisson": 9}[family]
    assert np.abs(fit.params.to_numpy() - intervals.centre).max() > 1e-3


def test_undeclared_columns_count_as_normal_at_wide_radii_alone():
    assert not fitted("binomial", kinds=None).intervals_.models_clipping
    assert "% of records are clipped" in fitted("binomial", kinds=None, radii=(1.4, 2.0)).intervals_.reason


def test_a_dispersion_shows_where_scores_are_clipped():
    """Without clipping a mean score says nothing of how far responses scatter, and the error of records is unknown."""
    wide = fitted("gaussian", 4000)
    assert "do not show how far 4000 responses scatter" in wide.intervals_.reason and wide.conf_int() is None
    tight = fitted("gaussian", 4000, bound=0.8).intervals_
    assert np.all(np.abs(tight.centre - TRUTH) < 4.5 * tight.standard_errors)


def test_what_is_not_asked_for_or_has_no_law_has_its_reason():
    assert "not asked for" in fitted("binomial", 400, intervals="none").intervals_.reason
    X, y = records("gamma", 400)
    options = NoisyNewtonOptions()
    estimate = simulate(noisy_newton.fit, private_run(X, y, options, "inverse_gaussian", 2.0, groups=GROUPS))
    assert "'inverse_gaussian'" in estimate.intervals.reason
    with pytest.raises(ValueError, match="intervals"):
        NoisyNewtonOptions(intervals="closed_form")


def test_a_response_without_a_public_range_is_not_counted_and_has_intervals():
    X, y = records("poisson", 1000)
    run = private_run(X, y, NoisyNewtonOptions(), "poisson", 8.0, groups=GROUPS, facts={"statistic": None})
    intervals = simulate(noisy_newton.fit, run).intervals
    assert intervals.centre is not None and intervals.diagnostics["degrees"] == 8


def test_all_ways_give_the_same_intervals():
    X, y = records("binomial", 400)
    estimate, _ = in_all_ways(
        noisy_newton.fit, lambda: private_run(X, y, NoisyNewtonOptions(), "binomial", 40.0, groups=GROUPS)
    )
    assert estimate.intervals.bounds().shape == (4, 2)


def test_they_are_saved_with_the_model(tmp_path):
    fit = fitted("binomial", 1000)
    fit.save(tmp_path / "model.json")
    loaded = pw.load(tmp_path / "model.json")
    np.testing.assert_array_equal(np.asarray(loaded.conf_int()), np.asarray(fit.conf_int()))
    assert loaded.intervals_.estimand == fit.intervals_.estimand and "2.5 %" in loaded.summary()
