"""Sensitivity of gradient and Hessian histograms: the bound holds and is reached; a free one ends at phi^5."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from fixed import fixed
from partywise.core.errors import CertificationError
from partywise.federation.exchanges.homomorphic.slots import FRACTION_BITS
from partywise.privacy.accounting.calibration import compose_mu, gaussian_epsilon, gdp_mu
from partywise.privacy.statistics.bounded import Bounded
from partywise.privacy.statistics.newton import (
    GOLDEN5,
    GRID,
    ONE,
    Cells,
    free_ratio,
    hessians,
    newton_certificate,
    residual_certificate,
)

SIZES = (3, 2, 4)


def newton_tables(codes, sizes, g, ratio):
    """Tables in the open of gradients g and hessians |g| (1 - |g|)."""
    cells = Cells(sizes)
    certificate = newton_certificate(codes.shape[1], ratio)
    return Bounded(cells.sums(codes, g, hessians(g)) * cells.units(ratio), certificate)


def residual_tables(codes, sizes, g, bound, hessian, ratio):
    """Tables in the open of gradients that are clipped to a public bound, all with one hessian."""
    cells, most = Cells(sizes), math.floor(bound.value * ONE)
    h = np.full(len(g), math.floor(hessian * ONE), dtype=np.int64)
    certificate = residual_certificate(codes.shape[1], bound, hessian, ratio)
    return Bounded(cells.sums(codes, np.clip(g, -most, most), h) * cells.units(ratio), certificate)


def largest_move(tables, sizes, gradients, d):
    """The furthest that one record moves tables of its own: any gradient, any two sets of bins."""
    others = np.zeros((3, d), dtype=int)
    best = 0.0
    for g in gradients:
        given = np.array([0, ONE // 3, -ONE // 5, g])
        first, second = (np.vstack((others, row)) for row in (np.zeros(d, dtype=int), np.array(sizes) - 1))
        best = max(best, float(np.linalg.norm(tables(first, given).value - tables(second, given).value)))
    return best


@pytest.mark.parametrize("d", [1, 2, 3, 7])
@pytest.mark.parametrize("share", [1.0, 1.5])
def test_a_search_reaches_the_bound_and_does_not_pass_it(d, share):
    sizes, ratio = (2,) * d, share * free_ratio(d)
    grid = np.unique(np.concatenate((np.linspace(0, ONE, 100), ONE * np.linspace(0.6, 0.64, 100))).astype(np.int64))
    found = largest_move(lambda c, g: newton_tables(c, sizes, g, ratio), sizes, [*grid, *-grid[-3:]], d)
    assert 0.99 <= found / newton_certificate(d, ratio).value <= 1 + 1e-12


@pytest.mark.parametrize("d", [1, 2, 7])
def test_at_the_free_ratio_two_gradients_reach_the_bound(d):
    """|g| = 1, where h is 0, and |g| = 1 / phi, where the hessians pay for what the gradient lacks."""
    sizes, bound = (2,) * d, newton_certificate(d, free_ratio(d)).value
    for g in (ONE, int(ONE / ((1 + math.sqrt(5)) / 2))):
        found = largest_move(lambda c, gs: newton_tables(c, sizes, gs, free_ratio(d)), sizes, [g], d)
        assert found / bound == pytest.approx(1, abs=1e-8)


@pytest.mark.parametrize(("kappa", "free"), [(0.5, True), (1.0, True), (1.05, False)])
def test_hessians_are_free_up_to_phi_to_the_fifth(kappa, free):
    """The largest of t^2 (1 + kappa (1 - t)^2), found by a numerical search, against what the constructor accepts."""
    k = kappa * GOLDEN5
    inner = minimize_scalar(lambda t: -(t**2) * (1 + k * (1 - t) ** 2), bounds=(0.3, 0.9), options={"xatol": 1e-12})
    # At the golden ratio itself the inner maximum is as large as that at 1.
    assert (-inner.fun <= 1 + 1e-12) == free
    ratio = math.sqrt((7 + 1) / (2 * k)) * (1 + 1e-15)
    if free:
        assert newton_certificate(7, ratio).value == pytest.approx(math.sqrt(14), rel=1e-15)
    else:
        with pytest.raises(CertificationError, match=r"kappa=11.6447, above phi\^5=11.0902"):
            newton_certificate(7, ratio)


@pytest.mark.parametrize("d", range(1, 40))
def test_the_free_ratio_is_the_least_that_is_accepted(d):
    ratio = free_ratio(d)
    assert ratio**2 == pytest.approx((d + 1) / (2 * GOLDEN5), rel=1e-14)
    assert newton_certificate(d, ratio).value ** 2 == pytest.approx(2 * d, rel=1e-15)
    with pytest.raises(CertificationError):
        newton_certificate(d, ratio * (1 - 1e-14))


@pytest.mark.parametrize("t", [0, 1, ONE // 2, ONE - 1, ONE, int(ONE / 1.618), 123456789])
def test_integer_hessians_lie_below_the_curve(t):
    h = int(hessians(np.array([t, -t]))[1])
    assert h == t * (ONE - t) // ONE
    # t^2 + phi^5 h^2 is at most 1, phi^5 = (11 + 5 sqrt 5) / 2, in whole numbers.
    rest = 2 * (ONE**2 - t**2) - 11 * h**2
    assert rest >= 0
    assert rest**2 >= 125 * h**4


@pytest.mark.parametrize(("d", "sigma"), [(7, 13.96), (11, 17.50)])
def test_noise_at_epsilon_1(d, sigma):
    mu = gdp_mu(1.0, 1e-5)
    assert newton_certificate(d, free_ratio(d)).value / mu == pytest.approx(sigma, abs=0.005)


@pytest.mark.parametrize("groups", [(7,), (5, 3, 3), (1, 1, 9)])
def test_parties_with_one_sigma_compose_to_the_target(groups):
    epsilon, delta = 1.0, 1e-5
    sigma = math.sqrt(2 * sum(groups)) / gdp_mu(epsilon, delta)
    mus = [newton_certificate(d, free_ratio(d)).value / sigma for d in groups]
    assert gaussian_epsilon(compose_mu(mus), delta) == pytest.approx(epsilon, rel=1e-12)


@pytest.mark.parametrize(("bound", "hessian", "ratio"), [(5.0, 1.0, 0.4), (1.0, 0.25, 0.6), (0.3, 1.0, 2.0)])
def test_residual_tables_reach_their_bound(bound, hessian, ratio):
    d, sizes = 3, (2, 2, 2)

    def tables(codes, g):
        return residual_tables(codes, sizes, g, fixed(bound), hessian, ratio)

    # Gradients beyond the bound are clipped to it.
    found = largest_move(tables, sizes, [int(bound * ONE), 10 * int(bound * ONE), -7 * ONE * 10], d)
    certificate = residual_certificate(d, fixed(bound), hessian, ratio)
    assert 0.99 <= found / certificate.value <= 1 + 1e-12
    assert certificate.value**2 == pytest.approx(2 * d * bound**2 + d * (d + 1) * (hessian / ratio) ** 2, rel=1e-14)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_replaced_record_moves_the_tables_further(data):
    n, d = 6, len(SIZES)
    codes = np.array([[data.draw(st.integers(0, size - 1)) for size in SIZES] for _ in range(n)])
    g = np.array([data.draw(st.integers(-ONE, ONE)) for _ in range(n)])
    other = codes.copy()
    other[data.draw(st.integers(0, n - 1))] = [data.draw(st.integers(0, size - 1)) for size in SIZES]
    for made in (
        lambda c: newton_tables(c, SIZES, g, free_ratio(d)),
        lambda c: residual_tables(c, SIZES, g, fixed(0.7), 1.0, 0.5),
    ):
        one, two = made(codes), made(other)
        assert np.linalg.norm(one.value - two.value) <= one.certificate.value * (1 + 1e-12)


def test_cells_against_a_loop_over_records():
    rng, cells = np.random.default_rng(0), Cells(SIZES)
    codes = np.column_stack([rng.integers(0, size, 50) for size in SIZES])
    g, h = rng.integers(-ONE, ONE, 50), rng.integers(0, ONE, 50)
    assert (cells.margins, cells.count, cells.pairs) == (9, 9 + 6 + 12 + 8, ((0, 1), (0, 2), (1, 2)))
    total = cells.sums(codes, g, h)
    G, margins = total[:9], total[9:18]
    at = 18
    for f, size in enumerate(SIZES):
        start = sum(SIZES[:f])
        for a in range(size):
            assert G[start + a] == g[codes[:, f] == a].sum()
            assert margins[start + a] == h[codes[:, f] == a].sum()
    for f, e in cells.pairs:
        for a in range(SIZES[f]):
            for b in range(SIZES[e]):
                assert total[at] == h[(codes[:, f] == a) & (codes[:, e] == b)].sum()
                at += 1
    assert at == total.size


def test_units_let_no_noise_be_too_small():
    cells, ratio = Cells(SIZES), free_ratio(3)
    units = cells.units(ratio)
    assert np.all(units[: cells.margins] == GRID)
    assert np.all(units[cells.margins :] <= GRID / ratio)
    assert GRID == 2.0**-FRACTION_BITS


@pytest.mark.parametrize(("bound", "ratio"), [(0.0, 1.0), (math.inf, 1.0), (1.0, 0.0)])
def test_bounds_of_residuals_are_positive(bound, ratio):
    with pytest.raises(ValueError, match="must be finite"):
        residual_certificate(2, fixed(bound), 1.0, ratio)
