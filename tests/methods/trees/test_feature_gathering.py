"""Feature-gathering: lossless without noise, what crosses, what it costs, and what the owners' cuts mean."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from forked import in_all_ways
from gathering_driver import dealt, execution, facts, table, total
from partywise.audits.contract import Subject, changed_records, check_neighbours
from partywise.core.errors import CertificationError
from partywise.core.randomness import stream
from partywise.federation.exchanges.sharing import DEALER
from partywise.federation.run import simulate
from partywise.methods.trees.codes import dense_ranks, public_bins, quantile_bins, side_by_side
from partywise.methods.trees.ensemble import grow_trees
from partywise.methods.trees.options import GatheringOptions, TreePooledOptions
from partywise.methods.trees.protocols import feature_gathering, pooled
from partywise.methods.trees.protocols.common import draws_of
from partywise.privacy.accounted_values import Clear
from tree_partitions import partitions_of

REGRESSION = "RegressionMSELoss"


def fitted(options, X, y, groups, fit=feature_gathering.fit, **changes):
    run = execution(options, X, y, groups, **changes)
    return simulate(fit, run), run


def dealings(d, seed=2):
    """Columns of 2, 3, 5 and 7 parties, in no order; in the last dealing every party holds one column."""
    for parties in (2, 3, 5, 7):
        order = stream(seed, "columns", parties).permutation(d)
        yield [sorted(order[part].tolist()) for part in np.array_split(np.arange(d), parties)]


def lossless(estimate, ensemble, X, codes):
    """Nodes part the rows alike, and scores agree."""
    assert partitions_of(ensemble, codes) == partitions_of(estimate.ensemble, codes)
    np.testing.assert_allclose(estimate.ensemble.scores(X), ensemble.scores(X), rtol=0, atol=1e-12)


# Losslessness -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["CrossEntropyLoss", REGRESSION])
@pytest.mark.parametrize("algo", ["xgb", "gbdt", "rf"])
def test_without_protection_any_parties_grow_the_trees_of_pooled_columns(algo, criterion):
    X, y = table(d=7, criterion=criterion)
    common = {"algo": algo, "max_tree_depth": 3, "num_of_trees": 4, "own_n_bins": None}
    whole = dense_ranks(X)
    places = [("all", tuple(range(7)))]
    reference = grow_trees(
        whole, y, TreePooledOptions(**common), criterion, draws_of(places, len(y), TreePooledOptions(**common), noise)
    )
    assert any(tree.feature[0] >= 0 for tree in reference.trees)
    for groups in dealings(7):
        for active in (0, -1):
            estimate, _ = fitted(GatheringOptions(**common), X, y, groups, active=active)
            lossless(estimate, reference, X, whole.codes)
            assert estimate.numbers["rows_rerouted"] == 0.0 == estimate.numbers["max_prediction_difference"]


def noise(*names):
    """The streams of `gathering_driver.execution`."""
    return stream(5, "noise", *names)


@pytest.mark.parametrize("changes", [{}, {"feature_subsample_ratio": 0.5}, {"algo": "rf", "batch_size": 50}])
def test_quantile_bins_of_the_active_party_and_drawn_columns_are_those_of_the_pooled_protocol(changes):
    X, y = table()
    groups = [[4, 0], [1], [2, 3, 5]]
    federated, _ = fitted(GatheringOptions(**changes), X, y, groups, held_out=40)
    reference, _ = fitted(TreePooledOptions(**changes), X, y, groups, pooled.fit, held_out=40)
    np.testing.assert_allclose(federated.ensemble.scores(X), reference.ensemble.scores(X), rtol=0, atol=1e-12)
    for one, other in zip(federated.ensemble.trees, reference.ensemble.trees, strict=True):
        np.testing.assert_array_equal(one.feature, other.feature)
        np.testing.assert_array_equal(one.threshold, other.threshold)


@pytest.mark.parametrize("edges", ["public", "quantile"])
@pytest.mark.parametrize("algo", ["xgb", "gbdt", "rf"])
def test_bins_without_noise_are_lossless_for_the_bins_that_they_are(algo, edges):
    X, y = table(d=7)
    # The last bins of the third column hold nobody.
    cuts = [np.linspace(-2, 2, 4 + j) for j in range(7)]
    cuts[2] = np.linspace(-2, 60, 30)
    options = GatheringOptions(
        algo=algo,
        max_tree_depth=3,
        num_of_trees=3,
        protect="dp",
        randomise=False,
        edges=edges,
        n_bins=8 if edges == "quantile" else None,
    )
    for groups in dealings(7):
        estimate, run = fitted(options, X, y, groups, public=facts(7, edges=cuts))
        own, others = groups[-1], [column for group in groups[:-1] for column in group]
        known = public_bins(X[:, others], [cuts[j] for j in others])
        passive = known if edges == "public" else quantile_bins(X[:, others], 8)
        data = side_by_side([passive, quantile_bins(X[:, own], 50)], [others, own])
        reference = grow_trees(
            data, y, options, "CrossEntropyLoss", [(range(7), rows) for _, rows in draws_of([], len(y), options, noise)]
        )
        assert partitions_of(estimate.ensemble, data.codes) == partitions_of(reference, data.codes)
        assert estimate.numbers["rows_rerouted"] == 0.0
        assert total(run).epsilon_certified == math.inf


def test_ties_cut_by_position_send_rows_another_way_and_kept_ties_do_not():
    """The published bins: with values that are all different they are lossless, with ties they are not."""
    published = {"protect": "dp", "randomise": False, "edges": "quantile", "n_bins": 12, "ties": "position"}
    groups = [[0, 1, 2, 3], [4, 5]]
    tied, y = table(digits=0)
    distinct, z = table(digits=None)
    assert fitted(GatheringOptions(**published), tied, y, groups)[0].numbers["rows_rerouted"] > 0.3
    assert fitted(GatheringOptions(**published), distinct, z, groups)[0].numbers["rows_rerouted"] == 0.0
    kept = published | {"ties": "kept"}
    assert fitted(GatheringOptions(**kept), tied, y, groups)[0].numbers["rows_rerouted"] == 0.0
    # Grown in one place from the same thresholds, equal values stay together and the trees are others.
    one, other = (fitted(GatheringOptions(**p), tied, y, groups)[0].numbers for p in (published, kept))
    assert one["max_prediction_difference"] > 0.01 and other["max_prediction_difference"] == 0.0
    noised = fitted(GatheringOptions(protect="dp"), tied, y, groups)[0].numbers
    assert "max_prediction_difference" not in noised


@pytest.mark.parametrize("n_bins", [None, 10, 150])
@pytest.mark.parametrize("extremes", ["declared", "sample"])
def test_integers_without_noise_are_lossless(extremes, n_bins):
    X, y = table()
    options = GatheringOptions(protect="op_boost", extremes=extremes, n_bins=n_bins, max_tree_depth=3)
    estimate, run = fitted(options, X, y, [[0, 1, 2, 3], [4, 5]], epsilon=math.inf)
    assert estimate.numbers["rows_rerouted"] == 0.0 and total(run).epsilon_certified == math.inf
    noised, _ = fitted(options, X, y, [[0, 1, 2, 3], [4, 5]], epsilon=1e6)
    np.testing.assert_array_equal(noised.ensemble.scores(X), estimate.ensemble.scores(X))


def test_fewer_rows_than_bins_and_one_column_each():
    X, y = table(n=12, d=3, digits=None)
    for options in (
        GatheringOptions(protect="dp", edges="quantile", n_bins=50, ties="position", budget="feature"),
        GatheringOptions(protect="dp", edges="quantile", n_bins=50),
        GatheringOptions(protect="op_boost"),
        GatheringOptions(protect="dp", feature_subsample_ratio=0.3),
        GatheringOptions(max_tree_depth=0),
        GatheringOptions(max_tree_depth=20),
    ):
        estimate, _ = fitted(options, X, y, [[2], [0], [1]])
        assert np.all(np.isfinite(estimate.ensemble.scores(X)))


# What crosses, and what it costs ------------------------------------------------------------------------------------

WIDE = [list(range(14)), [14]]
PUBLISHED = {"protect": "dp", "budget": "feature"}


@pytest.mark.parametrize(
    ("passive", "n_bins", "epsilon", "pure", "at_delta"),
    [(14, 50, 3.0, 42.0, 35.1824), (7, 50, 3.0, 21.0, 20.9414), (7, 100, 10.0, 70.0, None), (14, 100, 10.0, 140, None)],
)
def test_totals_of_a_claim_for_each_feature_with_public_edges(passive, n_bins, epsilon, pure, at_delta):
    X, y = table(n=60, d=passive + 1)
    groups = [[0, 1], list(range(2, passive)), [passive]]
    options = GatheringOptions(**PUBLISHED, n_bins=n_bins, num_of_trees=1)
    estimate, run = fitted(options, X, y, groups, epsilon=epsilon)
    assert total(run, 0.0).epsilon_certified == pytest.approx(pure, rel=1e-12)
    if at_delta is not None:
        assert total(run).epsilon_certified == pytest.approx(at_delta, abs=5e-5)
    assert (estimate.epsilon_claimed, estimate.numbers["epsilon_per_index"]) == (epsilon, epsilon)
    assert run.channel.ledger.worst_total(run.channel.names, "label", 1e-5).epsilon_certified == 0
    assert {row.epsilon_claimed for row in run.channel.ledger.rows if row.mechanism != "post_processing"} == {epsilon}


@pytest.mark.parametrize(
    ("passive", "n_bins", "epsilon", "pure", "at_delta"),
    [(1, 50, 3.0, 150.0, 86.05), (7, 50, 3.0, 1050.0, 405.6), (7, 100, 10.0, 7000.0, 7000.0)],
)
def test_totals_of_quantile_edges_count_every_index_that_a_record_moves(passive, n_bins, epsilon, pure, at_delta):
    X, y = table(n=120, d=passive + 1)
    options = GatheringOptions(**PUBLISHED, n_bins=n_bins, edges="quantile", ties="position", num_of_trees=1)
    _, run = fitted(options, X, y, [list(range(passive)), [passive]], epsilon=epsilon)
    assert total(run, 0.0).epsilon_certified == pytest.approx(pure, rel=1e-12)
    assert total(run).epsilon_certified == pytest.approx(at_delta, rel=2e-4)


RECORD = [
    {"protect": "dp"},
    {"protect": "dp", "n_bins": 20, "redraw": "tree"},
    {"protect": "dp", "edges": "quantile", "n_bins": 10, "ties": "position"},
    {"protect": "dp", "edges": "quantile", "n_bins": 10},
    {"protect": "op_boost"},
    {"protect": "op_boost", "n_bins": 10, "redraw": "tree", "algo": "rf"},
    {"protect": "op_boost", "variant": "adjusting", "epsilon_prt": 1.0, "epsilon_ner": 0.3},
]


@pytest.mark.parametrize("epsilon", [0.5, 8.0])
@pytest.mark.parametrize("changes", RECORD, ids=str)
def test_a_target_for_a_record_is_what_the_ledger_certifies(changes, epsilon):
    X, y = table(n=80, d=6)
    estimate, run = fitted(GatheringOptions(**changes, num_of_trees=3), X, y, [[0, 1], [2, 3], [4, 5]], epsilon=epsilon)
    found = total(run)
    assert epsilon * (1 - 1e-6) <= found.epsilon_certified <= epsilon == estimate.epsilon_claimed
    assert found.view_worst in ("active", "all but active", "public", "passive 1") and found.certified
    draws = 3 if changes.get("redraw") == "tree" else 1
    moved = {None: 1, "public": 1, "quantile": 10 if changes.get("ties") else 80}[changes.get("edges")]
    assert estimate.numbers["epsilon_per_index"] >= epsilon / (4 * draws * moved) * (1 - 1e-8)


@pytest.mark.parametrize(
    ("changes", "epsilon", "pure", "claimed", "distance"),
    [
        ({"budget": "feature"}, 2.0, 4 * 99.0, 2.0, 2.0),
        ({"budget": "feature", "variant": "adjusting"}, math.inf, 4 * 18.0, 2.0, 1.21),
        ({"budget": "feature", "variant": "adjust", "epsilon_prt": 1.0}, math.inf, None, 2.0, None),
    ],
)
def test_what_order_preserving_noise_claims_and_costs(changes, epsilon, pure, claimed, distance):
    X, y = table(n=60, d=6)
    options = GatheringOptions(protect="op_boost", num_of_trees=1, **changes)
    estimate, run = fitted(options, X, y, [[0, 1], [2, 3], [4, 5]], epsilon=epsilon)
    rows = [row for row in run.channel.ledger.rows if row.mechanism != "post_processing"]
    assert estimate.epsilon_claimed == claimed and len(rows) == 4
    if pure is not None:
        assert total(run, 0.0).epsilon_certified == pytest.approx(pure, rel=1e-12)
        assert all(row.epsilon_distance == pytest.approx(distance, abs=5e-3) for row in rows)


def test_a_map_by_the_samples_own_extremes_proves_nothing():
    X, y = table()
    options = GatheringOptions(protect="op_boost", extremes="sample")
    _, run = fitted(options, X, y, [[0, 1, 2], [3, 4, 5]])
    assert total(run).epsilon_certified == math.inf
    declared, other = fitted(GatheringOptions(protect="op_boost"), X, y, [[0, 1, 2], [3, 4, 5]])
    assert total(other).epsilon_certified <= declared.epsilon_claimed == 3.0


@pytest.mark.parametrize(
    "changes", [{"protect": "dp"}, {"protect": "dp", "n_bins": 9}, {"protect": "op_boost"}], ids=str
)
def test_edges_and_bounds_that_were_read_from_the_data_prove_nothing(changes):
    X, y = table()
    edges = Clear(np.quantile(X[:, 0], [0.2, 0.5, 0.9]), units=("features",), owner="passive 1")
    bounds = Clear((X[:, 0].min(), X[:, 0].max()), units=("features",), owner="passive 1")
    known = facts(6)
    columns = (replace(known.columns[0], edges=edges, bounds=bounds), *known.columns[1:])
    for public, expected in ((known, 3.0), (replace(known, columns=columns), math.inf)):
        _, run = fitted(GatheringOptions(**changes), X, y, [[0, 1, 2], [3, 4, 5]], public=public)
        assert total(run).epsilon_certified == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("changes", "width", "kind"),
    [
        ({}, 4, "clear"),
        ({"protect": "dp"}, 1, "release"),
        ({"protect": "dp", "randomise": False}, 1, "clear"),
        ({"protect": "dp", "n_bins": 256}, 1, "release"),
        ({"protect": "dp", "n_bins": 257}, 2, "release"),
        ({"protect": "op_boost", "upper_bound": 300}, 2, "release"),
        ({"protect": "op_boost", "upper_bound": 300, "n_bins": 16}, 1, "release"),
        ({"protect": "dp", "redraw": "tree"}, 10, "release"),
    ],
)
def test_one_message_a_passive_party_in_the_smallest_integers(changes, width, kind):
    X, y = table()
    estimate, run = fitted(GatheringOptions(**changes), X, y, [[0, 1], [2], [3, 4, 5]], held_out=40)
    messages = run.channel.messages
    assert [(m.sender, m.receiver, m.bytes, m.kind) for m in messages] == [
        ("passive 1", "active", 200 * 2 * width, kind),
        ("passive 2", "active", 200 * width, kind),
    ]
    assert estimate.numbers["bytes_formula"] == run.channel.bytes_total
    assert estimate.numbers["features_released"] == 3


def test_released_indices_follow_randomised_response_and_integers_their_distribution():
    X, y = table(n=40_000, d=2, digits=None)
    cuts = [np.array([-1.0, 0.0, 1.0]), np.array([0.0])]
    options = GatheringOptions(protect="dp", budget="feature", num_of_trees=1, max_tree_depth=1)
    _, run = fitted(options, X, y, [[0], [1]], epsilon=1.0, public=facts(2, edges=cuts))
    (_, sent), *_ = run.channel.view("active")
    true = np.searchsorted(cuts[0], X[:, 0], side="left")
    kept = math.e / (math.e + 3)
    for index in range(4):
        counts = np.bincount(sent[true == index, 0], minlength=4)
        expected = np.where(np.arange(4) == index, kept, (1 - kept) / 3) * counts.sum()
        assert np.sum((counts - expected) ** 2 / expected) < 45
        assert np.sum((counts - np.roll(expected, 1)) ** 2 / expected) > 45


def test_noise_of_a_column_is_the_same_at_every_epsilon_and_for_every_other_column():
    """Common random numbers: at a larger epsilon fewer indices move, and no other one."""
    X, y = table()

    def sent(options, groups, epsilon):
        run = fitted(options, X, y, groups, epsilon=epsilon)[1]
        return run.channel.view("active")[0][1]

    low, high = (sent(GatheringOptions(protect="dp", n_bins=9), [[0, 2], [1, 3, 4, 5]], e) for e in (4.0, 12.0))
    true = sent(GatheringOptions(protect="dp", n_bins=9), [[0, 2], [1, 3, 4, 5]], math.inf)
    moved, fewer = low != true, high != true
    assert 0 < fewer.sum() < moved.sum() and np.all(moved[fewer]) and np.array_equal(low[fewer], high[fewer])
    alone = sent(GatheringOptions(protect="dp", n_bins=9, budget="feature"), [[0], [1, 2, 3, 4, 5]], 4.0)
    both = sent(GatheringOptions(protect="dp", n_bins=9, budget="feature"), [[0, 2], [1, 3, 4, 5]], 4.0)
    np.testing.assert_array_equal(alone[:, 0], both[:, 0])


def test_noise_is_drawn_once_or_for_every_tree():
    X, y = table()
    once = GatheringOptions(protect="dp", budget="feature", num_of_trees=3)
    each = GatheringOptions(protect="dp", budget="feature", num_of_trees=3, redraw="tree")
    (_, one), (_, many) = (
        fitted(options, X, y, [[0, 1, 2], [3, 4, 5]])[1].channel.view("active")[0] for options in (once, each)
    )
    assert one.shape == (240, 3) and many.shape == (3, 240, 3)
    assert not np.array_equal(many[0], many[1]) and not np.array_equal(many[1], many[2])


# Places, neighbours, errors -----------------------------------------------------------------------------------------

MODES = [{}, {"protect": "dp"}, {"protect": "dp", "redraw": "tree", "num_of_trees": 2}, {"protect": "op_boost"}]


@pytest.mark.parametrize("changes", MODES, ids=str)
def test_all_ways_to_run_are_one(changes):
    given = GatheringOptions(**changes), *table(n=80), [[0, 1], [2], [3, 4, 5]]
    in_all_ways(feature_gathering.fit, lambda: execution(*given, held_out=10))


@pytest.mark.parametrize("changes", RECORD, ids=str)
def test_neighbours_look_alike_but_for_what_the_releases_bound(changes):
    options, groups = GatheringOptions(**changes, num_of_trees=2, max_tree_depth=1), [[0, 1], [2], [3, 4, 5]]

    def start(data, seed):
        return execution(options, *data, groups, seed=seed)

    def neighbours(data, unit, count, seed):
        for name, X, y in changed_records(*data, unit, count, stream(seed, "neighbours"), binary=True):
            # The features of the unit are those of the passive parties.
            X[:, groups[-1]] = data[0][:, groups[-1]]
            yield name, (X, y)

    subject = Subject(feature_gathering.fit, lambda seed: table(n=60, seed=seed), start, neighbours, 1e-5)
    totals = check_neighbours(subject, ("features", "label"), pairs=9, seeds=2)
    assert totals["features"] <= 3.0 and totals["label"] == 0.0


def test_undeclared_edges_or_bounds_are_named_before_anything_is_sent():
    X, y = table(n=30, d=3)
    bare = facts(3)
    bare = type(bare)(tuple(type(c)(c.name) for c in bare.columns), bare.criterion)
    for changes, message in (
        ({"protect": "dp"}, "edges of column 'x0'"),
        ({"protect": "dp", "n_bins": 5}, "bounds of column 'x0'"),
        ({"protect": "op_boost"}, "bounds of column 'x0'"),
    ):
        run = execution(GatheringOptions(**changes), X, y, [[0], [1, 2]], public=bare)
        with pytest.raises(CertificationError, match=message):
            simulate(feature_gathering.fit, run)
        assert run.channel.messages == ()
    for changes in (
        {},
        {"protect": "op_boost", "extremes": "sample"},
        {"protect": "dp", "edges": "quantile", "n_bins": 5},
    ):
        fitted(GatheringOptions(**changes), X, y, [[0], [1, 2]], public=bare)


def test_the_driver_deals_every_column_once():
    X, y = table(n=20)
    parties = dealt(X, y, [[3, 0], [1], [2, 4, 5]], active=0)
    assert [party.role for party in parties] == ["active", "passive", "passive"]
    np.testing.assert_array_equal(parties[0].block["X"], X[:, [3, 0]])


@pytest.mark.parametrize("inference", ["plain", "ss"])
@pytest.mark.parametrize("changes", [{}, {"protect": "dp"}, {"protect": "op_boost", "n_bins": 10}], ids=str)
def test_held_out_rows_are_scored_together_and_the_training_stays_certified(changes, inference):
    X, y = table()
    groups, options = [[0, 1], [2], [3, 4, 5]], GatheringOptions(**changes, inference=inference)
    estimate, run = fitted(options, X, y, groups, held_out=40, extra=(DEALER,))
    np.testing.assert_allclose(estimate.scores, estimate.ensemble.scores(X[:40]), rtol=0, atol=1e-8)
    assert total(run).epsilon_certified == math.inf
    assert total(run).epsilon_certified_part == pytest.approx(3.0 if changes else 0.0, rel=1e-6)


@pytest.mark.parametrize("changes", [{}, {"protect": "dp"}, {"protect": "op_boost", "inference": "plain"}], ids=str)
def test_one_party_more_than_columns_holds_the_labels_alone(changes):
    X, y = table(n=60, d=3, digits=None)
    estimate, run = fitted(GatheringOptions(**changes), X, y, [[0], [1], [2], []], held_out=10)
    assert estimate.numbers["features_released"] == 3
    assert np.all(np.isfinite(estimate.ensemble.scores(X))) and any(
        m.receiver == "active" for m in run.channel.messages
    )
