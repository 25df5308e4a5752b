"""Histograms after their release: sums that agree with what is known, boosted stumps, one table a feature."""

from __future__ import annotations

import numpy as np
import pytest

from partywise.methods.trees.gradient_histograms import (
    EFFECT,
    HESSIAN_NOISE,
    GradientHistograms,
    consistent,
    even_variance,
    fit_tables,
    noise_of_slopes,
    noise_of_steps,
    ridge,
    semi_definite,
)
from partywise.methods.trees.options import LocalTablesOptions
from partywise.methods.trees.stumps import Cuts, boosted_stumps, merged_stumps
from stump_oracle import boosted_by_records

OPTIONS = LocalTablesOptions()


def codes_of(n: int, sizes: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """(n, d) codes of features that hang together; the last but one bin of each feature stays empty."""
    rng = np.random.default_rng(seed)
    common = rng.random((n, 1))
    codes = np.floor((0.5 * common + 0.5 * rng.random((n, len(sizes)))) * sizes).astype(int)
    return np.where(codes == np.asarray(sizes) - 2, codes + 1, codes)


def tables_of(codes: np.ndarray, sizes: tuple[int, ...], g: np.ndarray, h: np.ndarray, **more) -> GradientHistograms:
    """Exact tables from indicators of all bins."""
    Z = np.hstack([np.eye(size)[codes[:, f]] for f, size in enumerate(sizes)])
    exact = {
        "variance": tuple(np.zeros(size - 1) for size in sizes),
        "gradient": float(g.sum()),
        "hessian": float(h.sum()),
        "n": len(g),
        "groups": (0,) * len(sizes),
        "hessian_variance": (0.0,) * len(sizes),
    }
    return GradientHistograms(sizes, Z.T @ g, Z.T @ (h[:, None] * Z), **(exact | more))


def values_of(tables, options, q=2.0):
    """Values of the tables of all features, and the numbers of the fit."""
    edges = [np.arange(size - 1.0) for size in tables.sizes]
    found, numbers = fit_tables(tables, options, range(len(edges)), edges, q=q)
    return [table.values for table in found], numbers


@pytest.mark.parametrize("squared", [True, False])
def test_without_noise_tables_are_boosted_stumps_of_the_records(squared):
    sizes, options = (6, 4, 9), LocalTablesOptions(stumps=60)
    codes, rng = codes_of(400, sizes), np.random.default_rng(1)
    residual = np.sin(codes).sum(1) + rng.standard_normal(400)
    h = np.ones(400) if squared else 0.05 + 0.2 * rng.random(400)
    expected, splits = boosted_by_records(codes, sizes, residual, h, options)
    tables = tables_of(codes, sizes, -residual, h)
    values, numbers = values_of(tables, options)
    fitted = sum(table[codes[:, f]] for f, table in enumerate(values))
    assert len(splits) > 20 and len({f for f, _ in splits}) == 3
    assert np.abs(fitted - expected).max() <= 1e-10
    assert numbers["stumps"] == len(splits)


def test_stumps_of_a_feature_merge_into_one_table():
    sizes = (6, 4, 9)
    codes = codes_of(500, sizes)
    tables = tables_of(codes, sizes, np.random.default_rng(2).standard_normal(500), np.ones(500))
    settings = {"stumps": 300, "eta": 0.2, "lambda_": 1.0, "least_hessian": 5.0, "q": 0.0}
    found = boosted_stumps(tables.G, tables.H, sizes, lambda c: np.zeros(16), **settings)
    one_by_one = sum(np.where(codes[:, s.feature] <= s.cut, s.left, s.right) for s in found)
    at_once = sum(table[codes[:, f]] for f, table in enumerate(merged_stumps(found, sizes)))
    assert len(found) > 100
    np.testing.assert_allclose(at_once, one_by_one, rtol=0, atol=1e-12)


def test_variance_of_a_corrected_cut_is_that_of_its_noise():
    """Sums of j cells less j/b of the excess, as a linear map of independent noise."""
    size = 7
    corrected = np.eye(size) - np.full((size, size), 1 / size)
    covariance = np.tril(np.ones((size, size))) @ corrected
    np.testing.assert_allclose((covariance**2).sum(1)[:-1] * 2.5, even_variance(size, 2.5), rtol=1e-12)


def noisy(tables: GradientHistograms, sigma: float, seed: int) -> GradientHistograms:
    """The same tables with noise of one variance in every cell that is released."""
    rng = np.random.default_rng(seed)
    noise = np.tril(rng.normal(0, sigma, tables.H.shape))
    noise = noise + np.tril(noise, -1).T
    for cells in tables.cells:
        noise[cells, cells] = np.diag(np.diag(noise[cells, cells]))
    return GradientHistograms(
        tables.sizes,
        tables.G + rng.normal(0, sigma, tables.G.shape),
        tables.H + noise,
        tuple(even_variance(size, sigma**2) for size in tables.sizes),
        tables.gradient,
        tables.hessian,
        tables.n,
        tables.groups,
        (sigma**2,) * len(tables.sizes),
        tables.squares,
    )


def test_the_noise_that_values_meet_in_hessians():
    """Monte Carlo: variance of the noise of Hc left of every cut, but for what margins of other features tell."""
    sizes, sigma = (4, 5), 2.0
    codes, rng = codes_of(300, sizes), np.random.default_rng(11)
    exact = tables_of(codes, sizes, np.zeros(300), np.ones(300))
    c = rng.standard_normal(9)
    c[:4] -= c[:4].mean()
    c[4:] -= c[4:].mean()
    drawn = []
    for seed in range(3000):
        given = noisy(exact, sigma, seed)
        own = given.H - exact.H
        block = own[:4, 4:]
        centred = block - block.mean(0) - block.mean(1, keepdims=True) + block.mean()
        drawn.append(np.cumsum(centred @ c[4:] + np.diag(own)[:4] * c[:4])[:3])
    given = noisy(exact, sigma, 0)
    expected = (noise_of_slopes(given)(c) - np.concatenate(given.variance))[:3] / HESSIAN_NOISE
    ratio = np.var(drawn, axis=0) / expected
    # The relative error of a variance from 3000 draws is 2.6 %.
    assert np.abs(ratio - 1).max() < 0.12


def test_sums_that_must_agree_agree():
    sizes = (5, 4, 6)
    codes = codes_of(300, sizes)
    h = np.random.default_rng(3).random(300)
    exact = tables_of(codes, sizes, h - 0.5, h)
    H = consistent(noisy(exact, 3.0, 4))
    np.testing.assert_allclose(H, H.T)
    for f, rows in enumerate(exact.cells):
        margin = np.diag(H[rows, rows])
        assert np.isclose(margin.sum(), h.sum())
        assert np.count_nonzero(H[rows, rows]) <= sizes[f]
        for e, columns in enumerate(exact.cells):
            if e != f:
                np.testing.assert_allclose(H[rows, columns].sum(1), margin, atol=1e-9)


def test_agreeing_sums_are_the_least_squares_of_all_that_was_released():
    """Against a general solver: unknown cells of the pair, margins as their sums, the total known."""
    sizes = (3, 4)
    codes = codes_of(200, sizes)
    h = np.ones(200)
    given = noisy(tables_of(codes, sizes, h, h), 2.0, 5)
    pair = np.arange(12).reshape(sizes)
    to_rows = np.array([(pair // 4 == a).ravel() for a in range(3)], dtype=float)
    to_columns = np.array([(pair % 4 == a).ravel() for a in range(4)], dtype=float)
    A = np.vstack([np.eye(12), to_rows, to_columns])
    b = np.concatenate([given.H[:3, 3:].ravel(), np.diag(given.H)])
    normal = np.block([[A.T @ A, np.ones((12, 1))], [np.ones((1, 12)), np.zeros((1, 1))]])
    solved = np.linalg.solve(normal, np.append(A.T @ b, 200.0))[:12]
    np.testing.assert_allclose(consistent(given)[:3, 3:].ravel(), solved, atol=1e-9)


def test_pairs_of_two_parties_are_products_of_margins():
    sizes = (5, 4, 6)
    codes = codes_of(300, sizes)
    tables = tables_of(codes, sizes, np.ones(300), np.ones(300), groups=(0, 0, 1))
    H = consistent(tables)
    margin = np.diag(tables.H)
    np.testing.assert_allclose(H[:9, 9:], np.outer(margin[:9], margin[9:]) / 300, rtol=1e-12)
    assert np.array_equal(H[:5, 5:9], tables.H[:5, 5:9])
    # What stands in the place of such a pair is not read.
    tables.H[:9, 9:] = np.nan
    tables.H[9:, :9] = np.nan
    assert np.array_equal(consistent(tables), H)


def test_the_nearest_semi_definite_matrix():
    rng = np.random.default_rng(6)
    H = rng.standard_normal((8, 8))
    H = H + H.T
    nearest, least = semi_definite(H)
    assert np.isclose(least, np.linalg.eigvalsh(H)[0], rtol=1e-12) and least < -1
    assert np.linalg.eigvalsh(nearest)[0] >= -1e-12
    # Optimality of a projection onto a cone: the rest is orthogonal to it and lies in the polar cone.
    rest = H - nearest
    assert abs(np.sum(rest * nearest)) <= 1e-10
    assert np.linalg.eigvalsh(rest)[-1] <= 1e-12
    positive = np.eye(8) + np.ones((8, 8))
    assert semi_definite(positive)[0] is positive


def test_noise_is_not_fitted():
    """Without any signal the penalty leaves few stumps; without the penalty all that are allowed are taken."""
    sizes = (12,) * 5
    codes = codes_of(2000, sizes)
    taken = {0.0: 0, 2.0: 0}
    for seed in range(10):
        empty = tables_of(codes, sizes, np.zeros(2000), np.ones(2000))
        tables = noisy(empty, 10.0, seed)
        for q in taken:
            taken[q] += values_of(tables, OPTIONS, q=q)[1]["stumps"]
    assert taken[0.0] == 3000
    assert taken[2.0] < 300


def test_the_total_of_each_feature_is_the_known_one():
    """The excess of noise over it is no signal: stumps do not change when a constant is added to a feature's cells."""
    sizes = (5, 4)
    codes = codes_of(300, sizes)
    tables = noisy(tables_of(codes, sizes, np.cos(codes[:, 0]), np.ones(300)), 1.0, 7)
    shifted = GradientHistograms(**(vars(tables) | {"G": tables.G + np.repeat([3.0, -2.0], sizes)}))
    for one, other in zip(values_of(tables, OPTIONS)[0], values_of(shifted, OPTIONS)[0], strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)
    assert any(table.any() for table in values_of(tables, OPTIONS)[0])


def test_columns_without_cuts_and_tables_without_columns():
    tables = tables_of(np.zeros((50, 2), dtype=int), (1, 1), np.ones(50), np.ones(50))
    values, numbers = values_of(tables, OPTIONS)
    assert [table.tolist() for table in values] == [[0.0], [0.0]]
    assert numbers["stumps"] == 0
    assert len(Cuts.of((1, 1)).cut) == 0


@pytest.mark.parametrize(
    "wrong", [{"G": np.zeros(3)}, {"variance": (np.zeros(4),)}, {"groups": (0,)}, {"hessian_variance": ()}]
)
def test_tables_that_do_not_fit_are_refused(wrong):
    tables = tables_of(codes_of(50, (5, 4)), (5, 4), np.ones(50), np.ones(50))
    with pytest.raises(ValueError, match=next(iter(wrong))):
        GradientHistograms(**(vars(tables) | wrong))


def test_the_noise_of_a_step_is_that_of_a_bin_brought_to_the_known_total():
    sizes, sigma, rng = (6, 4), 3.0, np.random.default_rng(4)
    codes = codes_of(400, sizes)
    variance = tuple(even_variance(size, sigma**2) for size in sizes)
    tables = tables_of(codes, sizes, rng.standard_normal(400), np.ones(400), variance=variance)
    found = noise_of_steps(tables, OPTIONS)
    hessians = np.diag(consistent(tables))
    for own, cells, size in zip(found, tables.cells, sizes, strict=True):
        drawn = sigma * rng.standard_normal((40_000, size))
        steps = (drawn - drawn.mean(1, keepdims=True)) / (np.maximum(hessians[cells], 5.0) + 1.0)
        np.testing.assert_allclose(own, steps.std(0), rtol=0.03)
        assert not np.allclose(own, sigma / (np.maximum(hessians[cells], 5.0) + 1.0), rtol=0.03)


def test_noise_of_a_step_that_nothing_bounds_is_infinite():
    """All records are in the first of two bins; a bin alone has no noise, whatever bounds it."""
    open_ended = LocalTablesOptions(least_hessian=0.0, stump_lambda=0.0)
    given = np.zeros((3, 2), dtype=int), (2, 1), np.ones(3), np.ones(3)
    tables = tables_of(*given, variance=(even_variance(2, 8.0), np.zeros(0)))
    first, second = noise_of_steps(tables, open_ended)
    assert first.tolist() == [2 / 3, np.inf] and second.tolist() == [0.0]
    exact = noise_of_steps(tables_of(*given), open_ended)
    assert [one.tolist() for one in exact] == [[0.0, 0.0], [0.0]]


def test_the_ridge_is_the_posterior_mean_of_a_leaf():
    """Two bins of equal hessian: effects of the prior's variance, seen under noise, are met best so."""
    noise, hessian, n, rng = 30.0, 40.0, 80, np.random.default_rng(8)
    shared = {"variance": (even_variance(2, noise),), "gradient": 0.0, "hessian": hessian, "n": n, "groups": (0,)}
    squares = 0.5 * n
    effect = EFFECT * squares * n / hessian**2
    truth = np.sqrt(effect) * rng.standard_normal(4000)
    # After the correction the sum left of the cut has half of the noise of a cell; the other side has the rest.
    observed = -hessian / 2 * truth + np.sqrt(noise / 2) * rng.standard_normal(4000)
    tables = GradientHistograms(
        (2,), np.zeros(2), np.eye(2) * hessian / 2, hessian_variance=(0.0,), squares=squares, **shared
    )
    own = ridge(tables)
    assert own.shape == (2,) and np.isclose(own[0], (noise / 2) / (effect * hessian / 2))

    def error(weight: float) -> float:
        return float(np.mean((-observed / (hessian / 2 + weight) - truth) ** 2))

    best = min(np.geomspace(0.01, 100, 401), key=error)
    assert abs(np.log(best / own[0])) < 0.15
    assert error(own[0]) < 0.98 * error(0.0)


def test_without_noise_or_knowledge_of_effects_there_is_no_ridge():
    codes, sizes = codes_of(200, (4, 5)), (4, 5)
    g = np.random.default_rng(9).standard_normal(200)
    quiet = tables_of(codes, sizes, g, np.ones(200), squares=float(g @ g))
    assert not ridge(quiet).any()
    assert not ridge(noisy(tables_of(codes, sizes, g, np.ones(200)), 3.0, 1)).any()


def test_values_end_at_the_minimum_with_the_ridge():
    codes, sizes, rng = codes_of(500, (3, 4)), (3, 4), np.random.default_rng(10)
    tables = tables_of(codes, sizes, rng.standard_normal(500), np.ones(500))
    penalty = rng.uniform(5, 50, 7)
    free = {"stumps": 20_000, "eta": 0.5, "lambda_": 0.0, "least_hessian": 0.0, "q": 0.0}
    quiet = np.zeros(5)
    found = boosted_stumps(tables.G, tables.H, sizes, lambda c: quiet, ridge=penalty, **free)
    values = np.concatenate(merged_stumps(found, sizes))
    slope = tables.G + tables.H @ values + penalty * values
    cuts = Cuts.of(sizes)
    assert max(np.abs(side).max() for side in cuts.sides(slope)) < 1e-6 < np.abs(cuts.sides(tables.G)[0]).max()


def test_where_noise_hides_everything_values_stay_small():
    codes, sizes = codes_of(300, (6, 5)), (6, 5)
    rng = np.random.default_rng(12)
    g = rng.standard_normal(300)
    sigma, largest = 400.0, {}
    for squares in (None, float(g @ g)):
        found = []
        for seed in range(40):
            given = noisy(tables_of(codes, sizes, g, np.ones(300), squares=squares), sigma, seed)
            values, _ = values_of(given, OPTIONS)
            found.append(max(np.abs(table).max() for table in values))
        largest[squares is None] = max(found)
    assert largest[False] < 0.5 < 2 < largest[True]
