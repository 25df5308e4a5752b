"""Histograms from randomised codes: without bias, with the variance that penalties are made of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from partywise.core.randomness import stream
from partywise.methods.trees.gathering.protection import adjusting_scale
from partywise.methods.trees.histograms.debias import debias_histograms, nearest_shares
from partywise.methods.trees.histograms.feature_sets import drawn_features
from partywise.privacy.accounted_values import Public
from partywise.privacy.mechanisms.distances.adjustment import AdjustedDistanceExponential
from partywise.privacy.mechanisms.distances.exponential import DistanceExponential
from partywise.privacy.mechanisms.mixed_response import MixedResponse
from partywise.privacy.mechanisms.randomized_response import RandomizedResponse
from partywise.privacy.statistics.records import entries

N, SIZES = 1500, (5, 3, 7)


def records(n=N):
    """Codes that hang together, gradients that depend on them, hessians."""
    rng = stream(1, "records")
    common = rng.random((n, 1))
    codes = np.floor((0.6 * common + 0.4 * rng.random((n, 3))) * SIZES).astype(int)
    return codes, np.sin(codes).sum(1) - 0.5 + 0.3 * rng.standard_normal(n), 0.05 + 0.2 * rng.random(n)


def exact(codes, g, h):
    Z = np.hstack([np.eye(size)[codes[:, f]] for f, size in enumerate(SIZES)])
    return Z.T @ g, Z.T @ (h[:, None] * Z)


def released(codes, epsilon, m, draw):
    """Noised codes, and the sets of m features."""
    sets = drawn_features(len(codes), 3, m, lambda *names: stream(draw, *names))
    noised = MixedResponse(epsilon, np.broadcast_to(SIZES, codes.shape))(entries(codes), stream(draw, "noise")).value
    # What was not released is not read.
    return np.where(sets, noised, 99), sets


def test_without_noise_they_are_the_tables():
    codes, g, h = records()
    tables = debias_histograms(codes, np.ones(codes.shape, bool), SIZES, np.inf, g, h)
    G, H = exact(codes, g, h)
    np.testing.assert_allclose(tables.G, G, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(tables.H, H, rtol=1e-12, atol=1e-12)
    assert not tables.noisy
    # Empty bins are exactly empty.
    assert np.array_equal(tables.H == 0, H == 0)


@pytest.mark.parametrize(("epsilon", "m"), [(1.5, 1), (2.0, 2), (1.0, 3)])
def test_noised_gradients_have_no_bias_and_the_stated_variance(epsilon, m):
    codes, g, h = records()
    G, _ = exact(codes, g, h)
    draws = 400
    found = [debias_histograms(*released(codes, epsilon, m, draw), SIZES, epsilon, g, h) for draw in range(draws)]
    errors = np.array([tables.G - G for tables in found])
    deviation = errors.std(0, ddof=1)
    # 15 cells: the largest of as many standard normal numbers stays below 4.5 but for 1e-4 of seeds.
    assert np.abs(errors.mean(0) / deviation * np.sqrt(draws)).max() < 4.5
    for f, cells in enumerate(found[0].cells):
        seen = np.cumsum(errors[:, cells], axis=1)[:, :-1].var(0)
        stated = np.mean([tables.variance[f] for tables in found], axis=0)
        # Relative error of a variance from 400 draws: 7 %.
        np.testing.assert_allclose(stated / seen, 1, atol=0.3)
        for tables in found[:5]:
            assert tables.G[cells].sum() == pytest.approx(g.sum(), abs=1e-9)


def test_pairs_come_from_the_records_that_release_both():
    """They approach the true table as records grow; those of one feature a record are products of margins."""
    codes, g, h = records(60_000)
    _, H = exact(codes, g, h)
    found = debias_histograms(*released(codes, 4.0, 2, 0), SIZES, 4.0, g, h)
    alone = debias_histograms(*released(codes, 4.0, 1, 0), SIZES, 4.0, g, h)
    pairs = np.kron(1 - np.eye(3), np.ones((1, 1))).repeat(SIZES, 0).repeat(SIZES, 1) > 0
    scale = np.abs(H[pairs]).mean()
    assert np.abs(found.H - H)[pairs].mean() < 0.05 * scale
    assert np.abs(alone.H - H)[pairs].mean() > 0.3 * scale
    margin = np.diag(alone.H)
    np.testing.assert_allclose(alone.H[:5, 5:8], np.outer(margin[:5], margin[5:8]) / h.sum(), rtol=1e-12)
    for tables in (found, alone):
        assert tables.H.min() >= 0 and np.array_equal(tables.H, tables.H.T)
        for cells in tables.cells:
            assert np.diag(tables.H[cells, cells]).sum() == pytest.approx(h.sum())


def test_strata_tell_how_features_hang_together_that_nobody_releases_together():
    """Two features that depend on each other by a group that is known: without it their pairs are far off."""
    rng = stream(7, "grouped")
    group = rng.integers(0, 2, 80_000)
    codes = np.column_stack([(rng.random(80_000) < 0.2 + 0.6 * group).astype(int) for _ in range(2)])
    h = np.full(80_000, 0.25)
    sets = drawn_features(80_000, 2, 1, lambda *names: stream(8, *names))
    noised = MixedResponse(2.0, np.full(codes.shape, 2))(entries(codes), stream(9, "noise")).value
    together = np.array([[h[(codes[:, 0] == a) & (codes[:, 1] == b)].sum() for b in range(2)] for a in range(2)])
    known, alone = (
        debias_histograms(noised, sets, (2, 2), 2.0, h - 0.2, h, strata).H[:2, 2:] for strata in (group, None)
    )
    assert np.abs(known - together).max() < 0.02 * h.sum()
    assert np.abs(alone - together).min() > 0.05 * h.sum()
    # A stratum of which nothing was released, and one without records.
    sets[group == 0, 0] = False
    for strata in (group, 2 * group):
        assert np.isfinite(debias_histograms(noised, sets, (2, 2), 2.0, h - 0.2, h, strata).H).all()


def test_strata_make_hessians_that_some_records_could_have():
    """Margins and pairs agree, so that H stays semi-definite although nothing of it was released together."""
    codes, g, h = records(3000)
    strata = stream(10, "strata").integers(0, 4, 3000)
    tables = debias_histograms(*released(codes, 1.0, 1, 0), SIZES, 1.0, g, h, strata)
    margin = np.diag(tables.H)
    for f, rows in enumerate(tables.cells):
        for e, columns in enumerate(tables.cells):
            if e != f:
                np.testing.assert_allclose(tables.H[rows, columns].sum(1), margin[rows], atol=1e-3 * h.sum())
    values = np.linalg.eigvalsh(tables.H)
    assert values[0] > -1e-3 * values[-1]


def test_a_feature_that_nobody_releases_is_no_obstacle():
    codes, g, h = records(40)
    sets = np.zeros(codes.shape, bool)
    sets[:, 0] = True
    tables = debias_histograms(codes, sets, SIZES, 1.0, g, h)
    assert np.isinf(tables.variance[1]).all() and np.isfinite(tables.H).all() and np.isfinite(tables.G).all()


@given(arrays(float, st.integers(1, 12), elements=st.floats(-5, 5)), st.floats(0.1, 20))
def test_the_nearest_shares(values, total):
    """Conditions of the optimum: the same is taken from all that stay positive, no less would do for the others."""
    nearest = nearest_shares(values, total)
    assert nearest.min() >= 0 and nearest.sum() == pytest.approx(total, rel=1e-9)
    kept = nearest > 0
    taken = (values - nearest)[kept]
    assert np.ptp(taken) <= 1e-9
    assert (values[~kept] <= taken.mean() + 1e-9).all()


def cut_variance(distribution):
    """Variance of debiased cumulated shares of evenly spread records, by the inverse of the response, at every cut."""
    k = len(distribution)
    weights = np.linalg.inv(distribution) @ np.triu(np.ones((k, k)))
    shares = np.full(k, 1 / k) @ distribution
    return (shares @ weights**2 - (shares @ weights) ** 2)[:-1]


def integers(k):
    return Public((1, k), because="fixed for the test")


@pytest.mark.parametrize(("k", "least", "most"), [(4, 2.1, 5.3), (8, 9.7, 19.3), (16, 53, 75)])
def test_order_preserving_noise_is_worse_for_sums_than_randomised_response(k, least, most):
    """At equal loss over the whole domain, mean over cuts: why codes cross by randomised response only."""
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        order = DistanceExponential(2 * epsilon / (k - 1), integers(k))
        assert order.epsilon_pure == pytest.approx(epsilon, rel=1e-9)
        ratio = cut_variance(order.matrix()) / cut_variance(RandomizedResponse(epsilon, k).matrix())
        assert least < ratio.mean() < most and ratio.min() > 1


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0])
def test_so_is_its_adjusting_variant(epsilon):
    scale = adjusting_scale(2.0, 2.0, 4, (1, 16), epsilon)
    order = AdjustedDistanceExponential(2 * scale, 2 * scale, 4, integers(16))
    assert order.epsilon_pure == pytest.approx(epsilon, rel=1e-6)
    ratio = cut_variance(order.matrix()) / cut_variance(RandomizedResponse(epsilon, 16).matrix())
    assert 8 < ratio.mean() < 11 and ratio.min() > 2 and ratio.max() < 19
