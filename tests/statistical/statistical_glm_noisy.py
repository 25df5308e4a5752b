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
    fit, options = method
    found = excess_deviances(table(*case), *method, epsilon, draws)
    centre, error = float(np.median(found)), sqrt(np.pi / 2) * found.std(ddof=1) / sqrt(draws)
    name = NAMES[fit, replace(options, radius_rule="chi")]
    print(
        f"{' '.join(case)}, {name}, {options.radius_rule} radii, epsilon {epsilon:g}: {centre:.4f} ({error:.4f}), "
        f"{draws} draws"
    )
    return centre


INJURY = "injury", "log_durat"
GAMMA = "injury", "durat", "gamma"
INVERSE = "injury", "durat", "inverse_gaussian"

# Medians of section 9 at epsilon 1, 2, 4, 8; of the gradient its two steps, the better one first in the text. Newton's
# on `injury` at 4 is .007 there and .0046 (.0002) in 200 draws here: the text's were few. Its radii are the small ones.
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
    fit, options = method
    found = [median(case, (fit, replace(options, radius_rule="small")), epsilon, DRAWS) for epsilon in EPSILONS]
    np.testing.assert_allclose(found, wanted, rtol=0.3)


# The table of docs/vertical_glm.md: at four or two epsilons, by default radii.
PAGE = {
    INJURY: (
        (MOMENTS, (0.122, 0.055, 0.021, 0.008)),
        (NEWTON, (0.042, 0.014, 0.006, 0.003)),
        (SLOW, (0.041, 0.036, 0.035, 0.034)),
        (FAST, (0.024, 0.009, 0.005, 0.003)),
        (PREDICTOR, (1.31, 0.76, 0.42, 0.21)),
        (EXACT, (0.75, 0.34, 0.20, 0.12)),
    ),
    GAMMA: (
        (MOMENTS, (0.33, 0.27, 0.24, 0.23)),
        (NEWTON, (0.26, 0.17, 0.14, 0.12)),
        (SLOW, (0.20, 0.15, 0.13, 0.13)),
        (FAST, (0.33, 0.18, 0.13, 0.12)),
    ),
    INVERSE: (
        (MOMENTS, (0.22, 0.16, 0.13, 0.12)),
        (NEWTON, (0.29, 0.20, 0.16, 0.14)),
        (SLOW, (0.30, 0.23, 0.21, 0.21)),
        (FAST, (0.65, 0.38, 0.31, 0.29)),
    ),
    ("adult_three_parties",): (
        (MOMENTS, (0.047, 0.052)),
        (NEWTON, (0.005, 0.004)),
        (SLOW, (0.072, 0.071)),
        (FAST, (0.008, 0.008)),
        (PREDICTOR, (0.15, 0.22)),
        (EXACT, (0.12, 0.10)),
    ),
    ("hmda",): (
        (MOMENTS, (0.38, 0.26)),
        (NEWTON, (0.51, 0.16)),
        (SLOW, (0.18, 0.12)),
        (FAST, (0.21, 0.040)),
        (PREDICTOR, (0.94, 0.82)),
    ),
    ("nhefs",): ((MOMENTS, (0.56, 0.14)), (NEWTON, (0.18, 0.044)), (SLOW, (0.28, 0.048)), (FAST, (0.80, 0.073))),
    ("nmes",): ((MOMENTS, (0.44, 0.18)), (NEWTON, (0.28, 0.24)), (SLOW, (0.37, 0.36)), (FAST, (0.51, 0.46))),
    ("doctor_visits",): (
        (MOMENTS, (0.48, 0.22)),
        (NEWTON, (0.035, 0.017)),
        (SLOW, (0.034, 0.026)),
        (FAST, (0.079, 0.054)),
    ),
}


@pytest.mark.parametrize("case", PAGE, ids=" ".join)
def test_medians_are_those_of_the_page(case):
    """To the digits of the page, since the draws are the same."""
    draws = {"injury": DRAWS, "adult_three_parties": 3}.get(case[0], 20)
    for method, wanted in PAGE[case]:
        epsilons = EPSILONS if len(wanted) == len(EPSILONS) else (1, 4)
        found = [median(case, method, epsilon, draws) for epsilon in epsilons]
        np.testing.assert_allclose(found, wanted, rtol=0.12)


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
