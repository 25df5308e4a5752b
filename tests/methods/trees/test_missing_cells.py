"""Missing cells go to the side of a split that gains most: xgboost's trees, stumps the slow way, what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import xgboost

import partywise as pw
from forked import in_all_ways
from gathering_driver import execution, facts, total
from partywise.audits.contract import Subject, changed_records, check_neighbours
from partywise.core.randomness import stream
from partywise.methods.trees.codes import dense_ranks, public_bins
from partywise.methods.trees.gradient_histograms import GradientHistograms, even_variance
from partywise.methods.trees.histograms.debias import debias_histograms
from partywise.methods.trees.options import LocalTablesOptions, TablesOptions
from partywise.methods.trees.protocols import local_tables, tables
from partywise.methods.trees.stumps import Cuts, boosted_stumps, merged_stumps
from tree_driver import SQUARES

DELTA = 1e-5
CUTS = [np.linspace(-1.5, 1.5, 6)] * 5
MISSING = [True, False, True, True, False]
PARTIES = [[0, 1, 2], [3, 4]]
GROUPS = [[0, 2], [1, 4], [3, 5]]
rng = pw.stream(12, "missing")
X = rng.normal(size=(500, 5))
SCORE = X[:, 0] - X[:, 3] + np.sin(X[:, 2]) + 0.3 * rng.normal(size=500)
# Cells that are missing tell something: of column 0 the large ones, of column 2 and 3 as chance has it, but for labels.
X[X[:, 0] > 1.0, 0] = np.nan
X[(rng.random(500) < 0.2) & (SCORE < 0), 2] = np.nan
X[rng.random(500) < 0.1, 3] = np.nan
Y = np.median(SCORE) < SCORE


def test_trees_are_xgboosts():
    model = pw.VerticalBoosting("pooled", own_n_bins=None, num_of_trees=8, max_tree_depth=3, eta=0.3, lambda_=1.0)
    model.fit(X, Y, parties=PARTIES, rng=1)
    given = {
        "objective": "binary:logistic",
        "max_depth": 3,
        "eta": 0.3,
        "lambda": 1.0,
        "min_child_weight": 0,
        "base_score": 0.5,
        "tree_method": "exact",
        "nthread": 1,
    }
    theirs = xgboost.train(given, xgboost.DMatrix(X, Y), 8)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], theirs.predict(xgboost.DMatrix(X)), atol=2e-6)
    sides = [tree.missing_left[tree.feature >= 0] for tree in model.ensemble_.trees]
    assert 0 < np.concatenate(sides).sum() < len(np.concatenate(sides))
    told = np.array([theirs.get_score(importance_type="total_gain").get(f"f{j}", 0.0) for j in range(5)])
    np.testing.assert_allclose(model.feature_importances_, told / told.sum(), rtol=1e-4)


def test_codes_of_missing_cells_are_the_last_and_a_copy_has_them_first():
    found = dense_ranks(np.array([[2.0, np.nan], [np.nan, np.nan], [1.0, np.nan]]))
    assert found.codes.tolist() == [[1, 1], [2, 1], [0, 1]] and found.missing == (0, 1)
    assert found.sizes.tolist() == [3, 2] and found.thresholds[0][0] == 1.5
    copied, names = found.with_copies()
    assert names.tolist() == [0, 1, 0, 1] and copied.codes[:, 2].tolist() == [2, 0, 1]
    assert copied.thresholds[2][1] == 1.5 and copied.sizes.tolist() == [3, 2, 3, 2]
    assert public_bins(np.array([[np.nan], [9.0]]), [np.array([0.0])], [True]).codes.ravel().tolist() == [2, 1]


# Stumps -----------------------------------------------------------------------------------------------------------


def histograms_of(codes, sizes, g, h, missing):
    Z = np.concatenate([np.eye(size)[codes[:, f]] for f, size in enumerate(sizes)], axis=1)
    H, ends = Z.T @ (h[:, None] * Z), np.cumsum(sizes)
    quiet = tuple(even_variance(size, 0.0, own) for size, own in zip(sizes, missing, strict=True))
    return GradientHistograms(
        tuple(sizes), Z.T @ g, H, quiet, g.sum(), h.sum(), len(g), (0,) * len(ends), (0.0,) * len(ends), None, missing
    )


def slow_stumps(codes, sizes, missing, g, h, count, eta=0.3, lambda_=1.0):
    """Every cut with missing cells on either side, record by record."""
    slope, found = g.copy(), []
    for _ in range(count):
        best = (0.0,)
        for f, size in enumerate(sizes):
            last = size - 1
            for cut in range(size - 1):
                for left_too in (False, True) if missing[f] and cut < last - 1 else (False,):
                    left = (codes[:, f] <= cut) | (left_too & (codes[:, f] == last))
                    G, H = (slope[left].sum(), slope[~left].sum()), (h[left].sum(), h[~left].sum())
                    gain = sum(a**2 / (b + lambda_) for a, b in zip(G, H, strict=True))
                    gain -= sum(G) ** 2 / (sum(H) + lambda_)
                    if gain > best[0] * (1 + 1e-12):
                        best = (
                            gain,
                            f,
                            cut,
                            left_too,
                            *(-eta * a / (b + lambda_) for a, b in zip(G, H, strict=True)),
                            left,
                        )
        _, f, cut, left_too, a, b, left = best
        found.append((f, cut, left_too))
        slope += h * np.where(left, a, b)
    return found, (slope - g) / h


def test_stumps_take_the_better_side_for_missing_cells():
    draw = np.random.default_rng(3)
    sizes, missing = (6, 4, 5), (True, False, True)
    codes = np.column_stack([draw.integers(size, size=400) for size in sizes])
    g, h = np.cos(2 * codes).sum(axis=1) + 0.5 * draw.standard_normal(400), 0.1 + draw.random(400)
    expected, values = slow_stumps(codes, sizes, missing, g, h, 30)
    own = histograms_of(codes, sizes, g, h, missing)
    cuts = sum(len(one) for one in own.variance)
    given = {"stumps": 30, "eta": 0.3, "lambda_": 1.0, "least_hessian": 0.0, "q": 0.0, "missing": missing}
    found = boosted_stumps(own.G, own.H, sizes, lambda c: np.zeros(cuts), **given)
    assert [(one.feature, one.cut, one.missing_left) for one in found] == expected
    assert len({left for *_, left in expected}) == 2
    tabled = merged_stumps(found, sizes)
    np.testing.assert_allclose(sum(table[codes[:, f]] for f, table in enumerate(tabled)), values, atol=1e-9)


def test_variance_of_every_cut_is_that_of_its_side():
    """Of cells with even noise and a known total, and of debiased codes: simulated, the missing bin on either side."""
    cuts, draw = Cuts.of((5,), (True,)), np.random.default_rng(1)
    noise = draw.standard_normal((20_000, 5))
    noise -= noise.mean(axis=1, keepdims=True)
    sides = np.array([cuts.sides(one)[0] for one in noise])
    np.testing.assert_allclose(sides.var(axis=0), even_variance(5, 1.0, True), rtol=0.06)
    assert even_variance(5, 1.0).tolist() == even_variance(5, 1.0, True)[:4].tolist()
    n, k, epsilon = 3000, 4, 1.5
    true, g = draw.integers(k, size=n), draw.standard_normal(n)
    keep = np.exp(epsilon) / (np.exp(epsilon) + k - 1)
    sums = []
    for _ in range(600):
        other = (true + draw.integers(1, k, size=n)) % k
        codes = np.where(draw.random(n) < keep, true, other)[:, None]
        one = debias_histograms(codes, np.ones((n, 1), bool), (k,), epsilon, g, np.ones(n), None, (True,))
        sums.append(Cuts.of((k,), (True,)).sides(one.G)[0])
    np.testing.assert_allclose(np.var(sums, axis=0), one.variance[0], rtol=0.35)


# The certified methods --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("protocol", "more"), [("tables", {"cipher": "sized"}), ("local_tables", {})])
def test_missing_cells_of_passive_columns_have_a_value_of_their_own(protocol, more):
    model = pw.VerticalBoosting(
        protocol, epsilon=8.0, public_edges=CUTS, public_missing=MISSING, parties=PARTIES, **more
    ).fit(X, Y, rng=3)
    by_column = {table.feature: table for table in model.ensemble_.tables}
    assert by_column[0].missing > 0 > by_column[2].missing and by_column[1].missing is None
    assert model.privacy_.epsilon_certified == pytest.approx(8.0, rel=1e-6)
    filled = np.where(np.isnan(X), 0.0, X)
    plain = pw.VerticalBoosting(protocol, epsilon=8.0, public_edges=CUTS, parties=PARTIES, **more).fit(filled, Y, rng=3)
    assert model.score(X, Y) > plain.score(filled, Y)
    # A mean over records counts those with missing cells too.
    table = by_column[0]
    weights = np.maximum([*table.cover, table.missing_cover], 0)
    alone = replace(model.ensemble_, trees=(), tables=(table,))
    model.estimate_ = replace(model.estimate_, ensemble=alone)
    expected = weights @ [*table.values, table.missing] / weights.sum()
    assert model.partial_dependence(1).average[0] == pytest.approx(expected)


def test_one_bin_more_costs_no_noise():
    fits = [
        pw.VerticalBoosting(
            "tables", epsilon=1.0, public_edges=CUTS, public_missing=own, parties=PARTIES, cipher="sized"
        )
        .fit(np.nan_to_num(X), Y, rng=3)
        .estimate_.numbers["sigma"]
        for own in (None, MISSING)
    ]
    assert fits[0] == fits[1]


def test_without_noise_tables_split_as_the_records_do():
    model = pw.VerticalBoosting(
        "tables",
        epsilon=np.inf,
        loss=SQUARES,
        residual_bound=50.0,
        public_edges=CUTS,
        public_missing=MISSING,
        parties=PARTIES,
        cipher="sized",
        stumps=25,
        least_hessian=0.0,
    ).fit(X, SCORE, rng=1)
    trees = replace(model.ensemble_, tables=())
    codes = public_bins(X[:, :3], CUTS[:3], MISSING[:3]).codes
    sizes = [7 + own for own in MISSING[:3]]
    g = trees.scores(X) - SCORE
    _, values = slow_stumps(codes, sizes, MISSING[:3], g, np.ones(500), 25, eta=0.2)
    np.testing.assert_allclose(model.predict(X) - trees.scores(X), values, atol=1e-6)


def known():
    given = facts(6)
    columns = tuple(replace(one, missing=place in (0, 1, 3)) for place, one in enumerate(given.columns))
    return replace(given, columns=columns)


def holes(n=60, seed=1):
    draw = stream(seed, "holes")
    own = np.round(draw.normal(size=(n, 6)), 1)
    y = (own[:, 0] + own[:, 5] > 0).astype(float)
    for column in (0, 1, 3):
        own[draw.random(n) < 0.25, column] = np.nan
    return own, y


def started(options, data=None, seed=5, epsilon=4.0):
    return execution(options, *(holes() if data is None else data), GROUPS, seed=seed, public=known(), epsilon=epsilon)


METHODS = [
    (tables, lambda: TablesOptions(cipher="sized", num_of_trees=2, least_hessian=0.5)),
    (local_tables, lambda: LocalTablesOptions(num_of_trees=2, least_hessian=0.5)),
]


@pytest.mark.parametrize(("protocol", "options"), METHODS)
def test_parties_apart_are_the_simulation(protocol, options):
    _, reference = in_all_ways(protocol.fit, lambda: started(options()))
    assert total(reference).epsilon_certified == pytest.approx(4.0, rel=1e-7)


@pytest.mark.parametrize(("protocol", "options"), METHODS)
def test_neighbours_look_alike_but_for_what_is_certified(protocol, options):
    """A cell that is there in one world is missing in the other."""

    def neighbours(data, unit, count, seed):
        filled = np.nan_to_num(data[0])
        for number, (name, x, _) in enumerate(
            changed_records(filled, data[1], unit, count, stream(seed, "neighbours"))
        ):
            moved = (x != filled).any(axis=1)
            mixed = np.where(moved[:, None], x, data[0])
            if number % 2:
                mixed[moved, :2] = np.where(np.isnan(data[0][moved, :2]), 0.5, np.nan)
            mixed[:, GROUPS[-1]] = data[0][:, GROUPS[-1]]
            yield name, (mixed, data[1])

    subject = Subject(
        protocol.fit,
        lambda seed: holes(60, seed),
        lambda data, seed: started(options(), data, seed),
        neighbours,
        delta=DELTA,
    )
    totals = check_neighbours(subject, ["features"], pairs=6, seeds=2)
    assert totals["features"] == pytest.approx(4.0, rel=1e-7)


# What is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("protocol", "options", "error", "words"),
    [
        (
            "tables",
            {"epsilon": 1.0},
            pw.CertificationError,
            "column 0 of a passive party, whose bins must be public: declare it",
        ),
        ("local_tables", {"epsilon": 1.0}, pw.CertificationError, "column 0 of a passive party"),
        ("feature_gathering", {}, ValueError, r"column 0: protocol='feature_gathering' has no bin for them; fill"),
        ("label_scattering", {}, ValueError, r"column 0: protocol='label_scattering' has no bin"),
        ("pooled", {"ties": "position"}, ValueError, "column 0: they have no position; use ties='kept'"),
        ("pooled", {"public_missing": [True]}, ValueError, "public_missing has 1 entries for 5 columns"),
    ],
)
def test_missing_cells_that_have_no_bin_are_refused_before_any_work(protocol, options, error, words):
    with pytest.raises(error, match=words):
        pw.VerticalBoosting(protocol, public_edges=CUTS, parties=PARTIES, **options).fit(X, Y, rng=1)


def test_cells_missing_where_the_fit_had_none_are_refused():
    model = pw.VerticalBoosting("pooled", parties=PARTIES).fit(X, Y, rng=1)
    other = X.copy()
    other[3, 4] = np.nan
    with pytest.raises(ValueError, match="column 4, in which the fit had none: fill them, or declare"):
        model.predict(other)
    with pytest.raises(ValueError, match="not finite, such as inf"):
        model.predict(np.full((1, 5), np.inf))
    declared = pw.VerticalBoosting("pooled", parties=PARTIES, public_missing=[True] * 5).fit(X, Y, rng=1)
    assert declared.predict(other).shape == (500,)


def test_a_saved_model_keeps_the_sides(tmp_path):
    model = pw.VerticalBoosting(
        "tables", epsilon=8.0, public_edges=CUTS, public_missing=MISSING, parties=PARTIES, cipher="sized"
    )
    model.fit(X, Y, rng=3).save(tmp_path / "model.json")
    assert np.array_equal(pw.load(tmp_path / "model.json").decision_function(X), model.decision_function(X))


def test_classes_and_missing_cells_go_together():
    three = np.searchsorted(np.quantile(SCORE, (1 / 3, 2 / 3)), SCORE)
    model = pw.VerticalBoosting(
        "tables", epsilon=8.0, public_edges=CUTS, public_missing=MISSING, parties=PARTIES, cipher="sized"
    ).fit(X, three, rng=3)
    assert model.score(X, three) > 0.6 and len(model.ensemble_.tables) == 9
