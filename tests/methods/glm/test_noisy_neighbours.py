"""Private GLM protocols recorded and replayed on neighbours, and errors planted in them, which must be caught."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from glm_driver import FAMILIES
from noisy_driver import private_run, subject
from partywise.audits.contract import check_neighbours
from partywise.core.errors import ContractError
from partywise.methods.glm.noisy_statistics import blocks, scores, sweeps
from partywise.methods.glm.options import GlmNoisyGradientOptions, NoisyNewtonOptions, NoisyPredictorOptions
from partywise.methods.glm.protocols import noisy_blocks, noisy_gradient, noisy_newton, noisy_predictor
from partywise.privacy.accounted_values import Public
from partywise.privacy.accounting.calibration import gaussian_epsilon, gdp_mu
from partywise.privacy.mechanisms import integer
from partywise.privacy.statistics.clips import ClipResult

NEWTON = noisy_newton.fit, NoisyNewtonOptions()
GRADIENT = noisy_gradient.fit, GlmNoisyGradientOptions(steps=3, rate=0.4)
PREDICTOR = noisy_predictor.fit, NoisyPredictorOptions(sweeps=2, cipher="sized")
CASES = [
    *((*NEWTON, family) for family in FAMILIES),
    (noisy_newton.fit, NoisyNewtonOptions(clip="record"), "gamma"),
    (noisy_newton.fit, NoisyNewtonOptions(clip="residual"), "binomial"),
    (*GRADIENT, "gaussian"),
    (*GRADIENT, "inverse_gaussian"),
    (*PREDICTOR, "gaussian"),
    (*PREDICTOR, "binomial"),
    (noisy_predictor.fit, NoisyPredictorOptions(sweeps=2, own="exact", cipher="sized"), "gaussian"),
]


@pytest.mark.parametrize(("fit", "options", "family"), CASES)
def test_a_replaced_record_shows_in_nothing_but_what_is_certified(fit, options, family):
    epsilon = check_neighbours(subject(fit, options, family), ["row"], pairs=10, seeds=2)["row"]
    assert epsilon == pytest.approx(2.0, abs=1e-9)


def quartered(module, name):
    """A squared bound that says a quarter of what it is."""
    whole = getattr(module, name)
    return lambda *given: whole(*given) // 4


def unclipped(clip, terms, bits):
    """Records in whole steps, of any length."""
    return ClipResult(np.rint(terms / clip.step(bits)), 0, len(terms))


def total_halved(*given):
    whole = blocks.product_total(*given)
    certificate = replace(whole.certificate, value=whole.certificate.value / 2)
    return replace(whole, squares=whole.squares / 4, certificate=certificate)


@pytest.mark.parametrize(
    ("module", "name", "value", "tried"),
    [
        (scores, "gram_squares", quartered(scores, "gram_squares"), NEWTON),
        (scores.ScoreClip, "steps", unclipped, GRADIENT),
        (blocks, "gram_squares", quartered(blocks, "gram_squares"), PREDICTOR),
        (noisy_blocks, "product_total", total_halved, PREDICTOR),
    ],
    ids=["second moments", "unclipped", "block moments", "product"],
)
def test_a_bound_that_is_too_small_is_caught(monkeypatch, module, name, value, tried):
    monkeypatch.setattr(module, name, value)
    kept = subject(*tried, "gaussian")
    with pytest.raises(ContractError, match=r"moved by .* certified for"):
        check_neighbours(kept, ["row"], pairs=30, seeds=3)


def test_products_of_records_that_are_not_clipped_end_the_run(monkeypatch):
    monkeypatch.setattr(noisy_blocks, "whole_block", lambda x, c: np.rint(x / c.value * 2**15).astype(np.int64))
    with pytest.raises(OverflowError, match=r"a column leaves -32768 \.\. 32768: clip records"):
        check_neighbours(subject(*PREDICTOR, "gaussian"), ["row"], pairs=30, seeds=3)


@pytest.mark.parametrize("tried", [GRADIENT, NEWTON, PREDICTOR], ids=["gradient", "newton", "predictor"])
def test_constants_from_the_data_that_are_called_public_are_caught(tried):
    """A start at the mean response, a range and a scale of the sample: what the text forbids."""
    for name in ("eta_start", "scale", "statistic"):

        def begun(data, seed, name=name):
            X, y = data
            of_data = {"eta_start": y.mean(), "scale": X.std(axis=0), "statistic": (y.min() - 1, y.max() + 1)}
            given = {name: Public(of_data[name], because="it is not")}
            return private_run(X, y, tried[1], "gaussian", 2.0, seed=seed, facts=given)

        with pytest.raises(ContractError):
            check_neighbours(replace(subject(*tried, "gaussian"), start=begun), ["row"], pairs=10, seeds=1)


@pytest.mark.parametrize("tried", [GRADIENT, NEWTON, PREDICTOR], ids=["gradient", "newton", "predictor"])
def test_half_the_noise_is_caught(tried, monkeypatch):
    asked = integer.draw_noise
    monkeypatch.setattr(integer, "draw_noise", lambda *given: asked(*given) // 2)
    with pytest.raises(ContractError, match="the noise of"):
        check_neighbours(subject(*tried, "gaussian"), ["row"], pairs=1, seeds=6)


def test_a_budget_that_is_spent_twice_shows_in_the_total(monkeypatch):
    whole = sweeps.split_budget
    monkeypatch.setattr(sweeps, "split_budget", lambda *given: tuple(2**0.5 * mu for mu in whole(*given)))
    kept = subject(*PREDICTOR, "gaussian")
    twice = float(gaussian_epsilon(2**0.5 * gdp_mu(2.0, 1e-5), 1e-5))
    assert check_neighbours(kept, ["row"], pairs=1, seeds=1)["row"] == pytest.approx(twice, abs=1e-6)
