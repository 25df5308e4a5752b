"""Private GLM protocols on real tables against the specification's medians, and audits (``./run test --long``).

Excess deviance is 0 for the pooled fit and 1 for the null model.  Prints every median with its standard error.  The
table of the specification was measured in a prototype: cells are asserted within 30 % of it, but where its own text
gives another number, which is named.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import sqrt

import numpy as np
import pytest

from extreme_records import directions, public
from glm_tables import excess_deviances, table
from partywise.core.randomness import stream
from partywise.methods.glm.model import GlmFacts
from partywise.methods.glm.noisy_statistics.blocks import (
    block_moments,
    block_predictor,
    block_score,
    product_total,
    whole_block,
)
from partywise.methods.glm.noisy_statistics.scores import ScoreClip, mean_score, second_moments
from partywise.methods.glm.options import (
    GlmMomentsOptions,
    GlmNoisyGradientOptions,
    NoisyNewtonOptions,
    NoisyPredictorOptions,
)
from partywise.methods.glm.protocols import moments, noisy_gradient, noisy_newton, noisy_predictor
from partywise.privacy.accounting.calibration import gdp_mu
from partywise.privacy.audit.pairs import audit_pair
from partywise.privacy.mechanisms.integer import IntegerGaussian

pytestmark = pytest.mark.statistical

EPSILONS = (1, 2, 4, 8)
DRAWS = 40
NEWTON = noisy_newton.fit, NoisyNewtonOptions(intervals="none")
SLOW = noisy_gradient.fit, GlmNoisyGradientOptions(rate=0.15)
FAST = noisy_gradient.fit, GlmNoisyGradientOptions(rate=0.4)
PREDICTOR = noisy_predictor.fit, NoisyPredictorOptions(cipher="sized")
EXACT = noisy_predictor.fit, NoisyPredictorOptions(own="exact", cipher="sized")
MOMENTS = moments.fit, GlmMomentsOptions(dealer="dealer", intervals="none")
NAMES = {
    NEWTON: "newton",
    SLOW: "gradient .15",
    FAST: "gradient .4",
    PREDICTOR: "predictor",
    EXACT: "predictor, exact own",
    MOMENTS: "moments",
}


@cache
def median(case: tuple[str, ...], method: tuple, epsilon: float, draws: int) -> float:
    """Median excess deviance, printed with its standard error."""
    found = excess_deviances(table(*case), *method, epsilon, draws)
    centre, error = float(np.median(found)), sqrt(np.pi / 2) * found.std(ddof=1) / sqrt(draws)
    print(f"{' '.join(case)}, {NAMES[method]}, epsilon {epsilon:g}: {centre:.4f} ({error:.4f}), {draws} draws")
    return centre


INJURY = "injury", "log_durat"
GAMMA = "injury", "durat", "gamma"
INVERSE = "injury", "durat", "inverse_gaussian"

# Medians of section 9 at epsilon 1, 2, 4, 8; of the gradient its two steps, the better one first in the text. Newton's
# on `injury` at 4 is .007 there and .0046 (.0002) in 200 draws here: the text's were few.
WANTED = [
    (INJURY, NEWTON, (0.027, 0.011, 0.0046, 0.004)),
    (INJURY, FAST, (0.028, 0.010, 0.004, 0.003)),
    (INJURY, SLOW, (0.044, 0.037, 0.035, 0.034)),
    (INJURY, MOMENTS, (0.079, 0.031, 0.011, 0.005)),
    (GAMMA, NEWTON, (0.22, 0.15, 0.13, 0.12)),
    (GAMMA, SLOW, (0.17, 0.14, 0.13, 0.13)),
    (GAMMA, FAST, (0.26, 0.16, 0.12, 0.11)),
    (INVERSE, NEWTON, (0.24, 0.19, 0.17, 0.17)),
    (INVERSE, SLOW, (0.26, 0.22, 0.20, 0.20)),
    (INVERSE, FAST, (0.47, 0.32, 0.28, 0.27)),
]


@pytest.mark.parametrize(("case", "method", "wanted"), WANTED)
def test_medians_are_those_of_the_specification(case, method, wanted):
    found = [median(case, method, epsilon, DRAWS) for epsilon in EPSILONS]
    np.testing.assert_allclose(found, wanted, rtol=0.3)


ADULT = [(NEWTON, (0.006, 0.005)), (FAST, (0.010, 0.009)), (SLOW, (0.075, 0.074)), (EXACT, (0.104, 0.095))]


@pytest.mark.parametrize(("method", "wanted"), ADULT)
def test_medians_on_adult(method, wanted):
    found = [median(("adult_three_parties",), method, epsilon, 3) for epsilon in (1, 4)]
    np.testing.assert_allclose(found, wanted, rtol=0.3)


@pytest.mark.parametrize(
    ("case", "wanted", "draws"), [("adult_three_parties", (0.19, 0.24), 3), ("hmda", (1.10, 1.11), 20)]
)
def test_medians_of_the_architecture_on_labels_are_those_of_the_page(case, wanted, draws):
    found = [median((case,), PREDICTOR, epsilon, draws) for epsilon in (1, 4)]
    np.testing.assert_allclose(found, wanted, rtol=0.3)


def test_what_the_architecture_of_the_source_costs():
    """Less than in the specification's prototype (1.15, .79, .53, .42), whose bounds the text does not tell.

    The second moments, with which nobody needs to be trusted, are ten times better at one epsilon; seven to twenty
    times where the active party uses its own predictor without noise, which costs nothing more.
    """
    for epsilon, wanted in zip(EPSILONS, (1.15, 0.79, 0.53, 0.42), strict=True):
        architecture, other = median(INJURY, PREDICTOR, epsilon, DRAWS), median(INJURY, EXACT, epsilon, DRAWS)
        ratio = median(INJURY, MOMENTS, epsilon, DRAWS) / architecture
        print(f"epsilon {epsilon}: moments / predictor {ratio:.3f}")
        assert ratio <= 0.1
        assert other < architecture < wanted


def test_no_step_of_the_gradient_is_better_everywhere():
    better = [
        median(case, FAST, epsilon, DRAWS) < median(case, SLOW, epsilon, DRAWS)
        for case in (INJURY, INVERSE)
        for epsilon in EPSILONS
    ]
    assert better == [True] * 4 + [False] * 4


DELTA, TRIALS, EPSILON = 1e-5, 100_000, 16.0
C = 1.4 * sqrt(3)
LENGTH, WIDTH = public(C), public(6.0)
MU = float(gdp_mu(EPSILON, DELTA))


def worlds(kind):
    """A statistic of a single record and of the one that replaces it, as far as any, and its part of the budget."""
    z, opposite = directions(3, [((0, 1, 2), C)], 1)
    right = np.array([[C, 0.0, 0.0], [0.0, C, 0.0]])
    # v and v~ have the same constant entry C / sqrt(3): z'z~ = -C^2 / 3 makes them orthogonal.
    tilted = C * np.array([[1.0, 0.0, 0.0], [-1 / 3, sqrt(8) / 3, 0.0]])
    facts = GlmFacts("gaussian", tuple("abc"), eta_start=public(0.0), statistic=public((-3.0, 3.0)))
    clip, beta, far = ScoreClip(public(4.0)), public(np.zeros(4)), np.array([50.0])
    residual = whole_block(far[:, None], WIDTH)[:, 0]
    crossing = [(product_total(3, LENGTH, WIDTH), whole_block(one[None], LENGTH).T @ residual) for one in (z, opposite)]
    return {
        "score": ([mean_score(z[None], y, beta, clip, facts) for y in (far, -far)], 0.225),
        "second moments": ([second_moments(one[None], LENGTH) for one in tilted], 0.1),
        "block moments": ([block_moments(one[None], LENGTH) for one in right], 0.2 / 3),
        "X'r": ([block_score(one[None], far, LENGTH, WIDTH) for one in (z, opposite)], 0.5 / 3),
        # What is left of the noise where the other party of the product says what it added.
        "X'r of two parties": ([replace(total, integers=steps) for total, steps in crossing], 0.5 / 3),
        "linear predictor": ([block_predictor(one[None], public(z), LENGTH) for one in (z, opposite)], 0.1),
    }[kind]


def audited(kind, scores, mu):
    found = audit_pair(*scores, DELTA)
    print(f"{kind}: mu {mu:.4f}, audited at least {found.mu_lower:.4f}, {found.mu_lower / mu:.3f} of it")
    assert 0.95 <= found.mu_lower / mu <= 1


@pytest.mark.parametrize(
    "kind", ["score", "second moments", "block moments", "X'r", "X'r of two parties", "linear predictor"]
)
def test_audits_reach_what_is_certified(kind):
    """1e5 draws a world of neighbours at the bound: mu of the audit over that of the event."""
    bounded, share = worlds(kind)
    gap = np.ravel(bounded[1].value - bounded[0].value)
    mechanism, direction = IntegerGaussian(mu=MU * sqrt(share)), gap / np.linalg.norm(gap)
    scores = []
    for world, one in enumerate(bounded):
        rng = stream(7, "audit", kind, world)
        scores.append(np.array([np.ravel(mechanism(one, rng).value) @ direction for _ in range(TRIALS)]))
    # Records are rounded to whole steps inside of their clip: 2^-20 of it, 2^-15 where two parties multiply.
    assert 1 - (1e-4 if "parties" in kind else 1e-6) < np.linalg.norm(gap) / bounded[0].certificate.value <= 1
    audited(kind, scores, mechanism.mu)
