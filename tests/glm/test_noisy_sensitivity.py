"""How far one record moves what private GLM protocols release: never beyond the certificate, and nearly as far."""

from __future__ import annotations

import numpy as np
import pytest

from extreme_records import DOMAIN, directions, moved, public
from glm_driver import FAMILIES
from noisy_driver import facts
from partywise.glm.model import PublicFacts
from partywise.glm.noisy_statistics.blocks import (
    block_moments,
    block_predictor,
    block_score,
    constant_of,
    radius_with_constant,
    score_certificate,
    whole_blocks,
    with_intercept,
)
from partywise.glm.noisy_statistics.scores import clip_of, mean_score, second_moments, second_moments_bound
from partywise.randomness import stream

P = 5
PARTS = (((0, 2), 1.4 * np.sqrt(2)), ((1,), 1.4), ((3, 4), 1.4 * np.sqrt(2)))
S = 1.4 * np.sqrt(P)
NEAR, WHOLE = 0.7, 1 + 1e-12


def known(family):
    zeros, ones = public(np.zeros(P)), public(np.ones(P))
    return PublicFacts(family, tuple("abcde"), location=zeros, scale=ones, **facts(family))


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
    assert bound == second_moments_bound(public(S), P, n)
    assert bound == pytest.approx(np.sqrt(2) * (S**2 / P + S**2) / n, rel=1e-14)
    assert 1 - 1e-9 <= moved(statistic, records) / bound <= WHOLE


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
    """In floating point at the active party, and in whole steps as they are multiplied in shares."""
    x, length = blocks(active)
    records, width = [(one, r) for one in x for r in (-1e9, -6.0, 6.0, 1e9)], public(6.0)
    bound = score_certificate(length, width).value
    assert bound == pytest.approx(2 * length.value * 6.0, rel=1e-14)

    def statistic(z, r):
        if secure:
            return whole_blocks(z, length).T @ whole_blocks(r[:, None], width)
        return block_score(z, r, length, width).value

    assert block_score(x[:1], np.zeros(1), length, width).certificate.value == bound
    assert NEAR <= moved(statistic, records) / bound <= WHOLE


@pytest.mark.parametrize("active", [False, True])
def test_linear_predictors_of_a_block(active):
    """Of the active party's block the constant part is not data."""
    c, slopes = 1.4 * np.sqrt(3), np.array([1.0, -2.0, 0.5])
    along = c * slopes / np.linalg.norm(slopes)
    level = 3.0 * constant_of(c, 3) if active else 0.0

    def statistic(z, _):
        return block_predictor(z, public(slopes), public(c), level).value

    bound = block_predictor(along[None], public(slopes), public(c), level).certificate.value
    assert bound == pytest.approx(2 * c * np.linalg.norm(slopes), rel=1e-14)
    # Twice too long records are clipped where the bound is stated.
    for longer in (1, 2):
        assert 1 - 1e-12 <= moved(statistic, [(longer * along, 0.0), (-longer * along, 0.0)]) / bound <= WHOLE
