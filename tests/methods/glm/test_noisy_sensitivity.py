"""How far one record moves what private GLM protocols release: never beyond the certificate, and nearly as far."""

from __future__ import annotations

import numpy as np
import pytest

from extreme_records import DOMAIN, directions, moved, public
from glm_driver import FAMILIES
from noisy_driver import facts
from partywise.core.randomness import stream
from partywise.methods.glm.model import GlmFacts
from partywise.methods.glm.noisy_statistics.blocks import (
    block_moments,
    block_predictor,
    block_score,
    product_total,
    radius_with_constant,
    whole_block,
    with_intercept,
)
from partywise.methods.glm.noisy_statistics.scores import (
    ScoreClip,
    clip_of,
    mean_score,
    moments_certificate,
    second_moments,
)

P = 5
PARTS = (((0, 2), 1.4 * np.sqrt(2)), ((1,), 1.4), ((3, 4), 1.4 * np.sqrt(2)))
S = 1.4 * np.sqrt(P)
NEAR, WHOLE = 0.7, 1 + 1e-12


def known(family):
    zeros, ones = public(np.zeros(P)), public(np.ones(P))
    return GlmFacts(family, tuple("abcde"), location=zeros, scale=ones, **facts(family))


@pytest.mark.parametrize("clip", ["record", "residual"])
@pytest.mark.parametrize("family", FAMILIES)
def test_scores(family, clip):
    """At coefficients from none to steep ones: one place is enough to come near, none may be beyond."""
    given, clipping = known(family), clip_of(clip, None, known(family), public(S))
    z = directions(P, PARTS, 12)
    records = [(one, y) for one in z for y in DOMAIN[family]]
    found = []
    for steep in (0.0, 0.3, 3.0):
        beta = stream(2, "coefficients").standard_normal(1 + P) * steep
        beta[0] = given.eta_start.value
        bounded = mean_score(z[:1], np.array(DOMAIN[family][:1]), public(beta), clipping, given)
        bound = bounded.certificate.value
        assert bound == pytest.approx(2 * clipping.size, rel=1e-15)
        found.append(moved(lambda z, y, b=beta: mean_score(z, y, public(b), clipping, given).value, records) / bound)
    assert NEAR <= max(found) <= WHOLE, found


def test_a_score_of_many_records_moves_by_an_nth():
    given = known("gamma")
    clipping = clip_of(None, None, given, public(S))
    z, y = directions(P, PARTS, 10), np.full(20, 2.0)
    beta = public(np.concatenate([[given.eta_start.value], np.zeros(P)]))
    before = mean_score(z, y, beta, clipping, given)
    other = z.copy(), y.copy()
    y[0], other[0][0], other[1][0] = 1e9, -z[0], 1e9
    gap = np.linalg.norm(
        mean_score(z, y, beta, clipping, given).value - mean_score(*other, beta, clipping, given).value
    )
    assert before.certificate.value == pytest.approx(2 * clipping.size / 20, rel=1e-15)
    assert NEAR * before.certificate.value <= gap <= before.certificate.value * WHOLE


def test_a_score_that_overflows_is_clipped_and_infinity_times_nothing_is_nothing():
    clipping, x = ScoreClip(public(2.0)), np.array([[1.0, 0.0, -3.0], [1.0, 1.0, 0.0]])
    found = clipping.of_scores(x, np.array([-np.inf, np.nan]))
    assert found.records[0].tolist() == pytest.approx(np.array([-1.0, 0.0, 1.0]) * 2**20 / np.sqrt(2), abs=1)
    assert not found.records[1].any() and found.number == 1


def orthogonal(p, radius):
    """Two records of that length with z'z~ = -radius^2 / p, so that v'v~ = 0."""
    one, angle = np.zeros(p), np.arccos(-1 / p)
    one[0] = radius
    other = np.zeros(p)
    other[:2] = radius * np.cos(angle), radius * np.sin(angle)
    return one, other


@pytest.mark.parametrize("n", [1, 7])
def test_second_moments(n):
    records = [*((one, 0.0) for one in directions(P, PARTS, 20)), *((one, 0.0) for one in orthogonal(P, S))]
    rest = directions(P, PARTS, 20)[: n - 1]

    def statistic(z, _):
        return second_moments(np.concatenate([z, rest]), public(S)).value

    bound = second_moments(np.concatenate([records[0][0][None], rest]), public(S)).certificate.value
    assert bound == moments_certificate(public(S), P, n).value
    # The constant is rounded down to whole steps, a millionth of the ball.
    assert bound == pytest.approx(np.sqrt(2) * (S**2 / P + S**2) / n, rel=1e-5)
    assert 1 - 1e-5 <= moved(statistic, records) / bound <= WHOLE


def blocks(active):
    """Records of a block of three columns: with the constant of the active party, and their radius."""
    c = 1.4 * np.sqrt(3)
    z = np.concatenate([directions(3, [((0, 1, 2), c)], 40), np.stack(orthogonal(3, c))])
    return (with_intercept(z, c), radius_with_constant(public(c), 3)) if active else (z, public(c))


@pytest.mark.parametrize("active", [False, True])
def test_second_moments_of_a_block(active):
    x, length = blocks(active)
    bound = block_moments(x[:1], length).certificate.value
    assert bound == pytest.approx(np.sqrt(2) * length.value**2, rel=1e-14)
    found = moved(lambda z, _: block_moments(z, length).value, [(one, 0.0) for one in x])
    # Signs do not change x x': without a constant two records at a right angle reach the bound, these come near.
    assert NEAR <= found / bound <= WHOLE


@pytest.mark.parametrize("secure", [False, True])
@pytest.mark.parametrize("active", [False, True])
def test_products_with_residuals(active, secure):
    """Rounded by the record at the active party, and in the steps in which two parties multiply them."""
    x, length = blocks(active)
    records, width = [(one, r) for one in x for r in (-1e9, -6.0, 6.0, 1e9)], public(6.0)
    bound = product_total(3, length, width).certificate.value
    assert bound == pytest.approx(2 * length.value * 6.0, rel=1e-14)

    def statistic(z, r):
        if secure:
            total = product_total(z.shape[1], length, width)
            return whole_block(z, length).T @ whole_block(r[:, None], width)[:, 0] * total.step
        return block_score(z, r, length, width).value

    assert block_score(x[:1], np.zeros(1), length, width).certificate.value == pytest.approx(bound, rel=1e-15)
    assert NEAR <= moved(statistic, records) / bound <= WHOLE


def test_linear_predictors_of_a_block():
    c, slopes = 1.4 * np.sqrt(3), np.array([1.0, -2.0, 0.5])
    along = c * slopes / np.linalg.norm(slopes)

    def statistic(z, _):
        return block_predictor(z, public(slopes), public(c)).value

    bound = block_predictor(along[None], public(slopes), public(c)).certificate.value
    assert bound == pytest.approx(2 * c * np.linalg.norm(slopes), rel=1e-14)
    # Twice too long records are clipped where the bound is stated.
    for longer in (1, 2):
        assert 1 - 1e-5 <= moved(statistic, [(longer * along, 0.0), (-longer * along, 0.0)]) / bound <= WHOLE


def statistics():
    """Whole statistics of records (n, 5) and responses (n,), by name."""
    given, slopes = known("gaussian"), public(np.array([1.0, -2.0, 0.5, 0.3, 1.1]))
    clipping, beta = clip_of(None, None, given, public(S)), public(np.array([1.0, 0.5, -0.3, 0.2, 0.9, -1.0]))
    return {
        "score": lambda z, y: mean_score(z, y, beta, clipping, given),
        "second moments": lambda z, y: second_moments(z, public(S)),
        "moments of a block": lambda z, y: block_moments(z, public(S)),
        "product with residuals": lambda z, y: block_score(z, y, public(S), public(6.0)),
        "linear predictors": lambda z, y: block_predictor(z, slopes, public(S)),
    }


@pytest.mark.parametrize("name", statistics())
def test_in_whole_numbers_no_neighbour_is_beyond_the_bound_and_some_reach_it(name):
    """200 replacements of one record by corners, opposites, huge, tiny and undefined ones: integers, no rounding."""
    make, rng = statistics()[name], stream(4, "adversary", name)
    z, y = rng.standard_normal((30, P)), rng.standard_normal(30)
    extremes = np.concatenate([directions(P, PARTS, 20), np.stack(orthogonal(P, S)), 1e9 * np.eye(P), 1e-9 * np.eye(P)])
    if name == "linear predictors":
        extremes[:2] = np.array([[1.0], [-1.0]]) * np.array([1.0, -2.0, 0.5, 0.3, 1.1]) * 9
    extremes[-1, 0], extremes[-2, 1], extremes[-3, 2] = np.nan, np.inf, -np.inf
    largest = 0
    for _ in range(200):
        one, other = rng.choice(len(extremes), 2)
        if rng.random() < 0.2:
            one, other = 0, 1 if name == "linear predictors" else 20
        pair = []
        for place, answer in ((one, 1e9), (other, rng.choice([-1e9, 1e9]))):
            Z, Y = z.copy(), y.copy()
            Z[7], Y[7] = extremes[place], answer
            with np.errstate(all="ignore"):
                pair.append(make(Z, Y))
        first, second = pair
        weights = np.ones(first.integers.shape, int) if first.weights is None else first.weights
        gaps = zip(weights.ravel().tolist(), (first.integers - second.integers).ravel().tolist(), strict=True)
        moved_squares = sum(weight * int(gap) ** 2 for weight, gap in gaps)
        assert first.squares == second.squares and moved_squares <= first.squares
        largest = max(largest, moved_squares / first.squares)
    assert largest > 0.99**2 if name in ("score", "product with residuals", "linear predictors") else largest > 0.7
