"""Long check of noisy moments without a dealer: what slopes lose by it, and whether their intervals know."""

from __future__ import annotations

import math

import numpy as np
import pytest

from glm_driver import DECLARED, fitted
from partywise.core.randomness import Streams, stream
from partywise.methods.glm.options import GlmMomentsOptions
from partywise.methods.glm.protocols.moments import fit
from partywise.privacy.accounted_values import Public

pytestmark = pytest.mark.statistical

SLOPES, GROUPS, N, EPSILON, REPLICATES = np.array([0.5, -0.3, 0.2, 0.4, -0.1]), ((0, 1), (2, 3), (4,)), 2000, 2.0, 400
RANGE = -4.0, 6.0
WAYS = {"dealer": GlmMomentsOptions(dealer="dealer"), "none": GlmMomentsOptions(cipher="sized")}


def drawn(n: int, *address: object) -> tuple[np.ndarray, np.ndarray]:
    """Columns of correlation .5^|i - j| and a response."""
    rng, places = stream(1, "slopes", *address), np.arange(len(SLOPES))
    X = rng.standard_normal((n, len(SLOPES))) @ np.linalg.cholesky(0.5 ** np.abs(np.subtract.outer(places, places))).T
    return X, 1 + X @ SLOPES + 0.7 * rng.standard_normal(n)


def among_clipped() -> np.ndarray:
    """Coefficients among clipped records, from so many that their error is a thirtieth of that of a fit."""
    X, y = drawn(1_000_000, "truth")
    for group in map(list, GROUPS):
        lengths = np.linalg.norm(X[:, group], axis=1)
        X[:, group] *= np.minimum(1, 1.4 * math.sqrt(len(group)) / lengths)[:, None]
    return np.linalg.lstsq(np.column_stack([np.ones(len(X)), X]), np.clip(y, *RANGE), rcond=None)[0]


def test_slopes_lose_a_third_and_nobody_is_trusted():
    truth, facts = among_clipped(), {"statistic": Public(RANGE, DECLARED)}
    errors, held, totals = {}, {}, {}
    for way, options in WAYS.items():
        errors[way], held[way] = [], []
        for k in range(REPLICATES):
            given = {"facts": facts, "epsilon": EPSILON, "rng_for": Streams(k, "noise", way)}
            estimate, run = fitted(fit, *drawn(N, k), GROUPS, options, **given)
            bounds = estimate.intervals.bounds()
            errors[way].append(estimate.intervals.centre - truth)
            held[way].append((bounds[:, 0] <= truth) & (truth <= bounds[:, 1]))
        totals[way] = run.channel.ledger.worst_total(run.names, "row", 1e-5)
    lengths = {way: math.sqrt(np.mean(np.array(found)[:, 1:] ** 2)) for way, found in errors.items()}
    ratio = lengths["none"] / lengths["dealer"]
    coverage = {way: np.mean(found, axis=0) for way, found in held.items()}
    print(f"slopes err {lengths['dealer']:.4f} with a dealer, {ratio:.3f} times that without one")
    print(
        *(f"{way}: intervals hold {found.mean():.4f}, {np.round(found, 3).tolist()}" for way, found in coverage.items())
    )
    assert 1.1 < ratio < 1.4
    for found in coverage.values():
        assert 0.935 <= found.mean() <= 0.965 and found.min() >= 0.92 and found.max() <= 0.98
    assert totals["none"].epsilon_certified == pytest.approx(totals["dealer"].epsilon_certified, rel=1e-9)
    assert totals["none"].epsilon_any == totals["none"].epsilon_certified
    assert totals["dealer"].epsilon_any == math.inf
