"""Local tables: what crosses and what it costs, equality with pooling without noise, sets, strata, deployment."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from forked import in_all_ways
from gathering_driver import DELTA, execution, facts, table, total
from partywise.audits.contract import Subject, changed_records, check_neighbours
from partywise.core.errors import CertificationError
from partywise.core.randomness import stream
from partywise.federation.exchanges.sharing import DEALER
from partywise.federation.parties import Party
from partywise.federation.run import simulate
from partywise.federation.secure_streams import SecureStreams
from partywise.methods.trees.codes import public_bins
from partywise.methods.trees.histograms.feature_sets import feature_sets, features_of
from partywise.methods.trees.model import TreeColumn, TreeFacts
from partywise.methods.trees.options import ActiveOnlyOptions, LocalTablesOptions
from partywise.methods.trees.protocols import active_only, local_tables
from partywise.privacy.audit.sampling import audit
from stump_oracle import boosted_by_records

REGRESSION = "RegressionMSELoss"
# Columns 5 and 6 are the active party's.
DEALINGS = ([[0, 1, 2, 3, 4]], [[3, 0], [1, 2, 4]], [[4], [0, 2], [3, 1]], [[0], [1], [2], [3], [4]])
INF = math.inf


def fitted(X, y, passive, epsilon, options=None, **changes):
    run = execution(options or LocalTablesOptions(), X, y, [*passive, [5, 6]], epsilon=epsilon, **changes)
    return simulate(local_tables.fit, run), run


# Without noise ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("passive", DEALINGS, ids=len)
def test_without_noise_any_parties_boost_stumps_on_the_pooled_residual(passive):
    X, y = table(n=300, d=7, digits=None, criterion=REGRESSION)
    options = LocalTablesOptions(stumps=40)
    estimate, run = fitted(X, y, passive, INF, options)
    alone = simulate(
        active_only.fit, execution(ActiveOnlyOptions(base_score=0.0), X, y, [*passive, [5, 6]])
    ).ensemble.scores(X)
    known = [column.edges.value for column in run.spec.public.columns[:5]]
    codes = public_bins(X[:, :5], known)
    expected, splits = boosted_by_records(codes.codes, codes.sizes, y - alone, np.ones(len(y)), options)
    assert len({f for f, _ in splits}) > 2
    np.testing.assert_allclose(estimate.ensemble.scores(X), alone + expected, rtol=0, atol=1e-10)
    assert total(run).epsilon_certified == INF


@pytest.mark.parametrize("algo", ["xgb", "gbdt"])
def test_classes_take_hessians_of_the_first_model(algo):
    """One Newton step: residual and hessian of the log-loss stay those at the scores of the first trees."""
    X, y = table(n=300, d=7, digits=None)
    options = LocalTablesOptions(stumps=30, algo=algo)
    estimate, run = fitted(X, y, DEALINGS[1], INF, options)
    first = simulate(active_only.fit, execution(ActiveOnlyOptions(algo=algo), X, y, [*DEALINGS[1], [5, 6]]))
    alone = first.ensemble.scores(X)
    p = 1 / (1 + np.exp(-alone))
    h = p * (1 - p) if algo == "xgb" else np.full(len(y), 0.25)
    codes = public_bins(X[:, :5], [column.edges.value for column in run.spec.public.columns[:5]])
    expected, splits = boosted_by_records(codes.codes, codes.sizes, y - p, h, options)
    assert len(splits) == 30
    np.testing.assert_allclose(estimate.ensemble.scores(X), alone + expected, rtol=0, atol=1e-10)


def test_residuals_are_clipped_to_a_bound_where_one_is_given():
    X, y = table(n=200, d=7, criterion=REGRESSION)
    y = np.where(np.arange(200) == 0, 500.0, y)
    wide = fitted(X, y, DEALINGS[0], INF)[0].ensemble.tables
    clipped = fitted(X, y, DEALINGS[0], INF, LocalTablesOptions(residual_bound=2.0))[0].ensemble.tables
    largest = [max(np.abs(one.values).max() for one in tables) for tables in (wide, clipped)]
    assert largest[0] > 5 * largest[1] > 0


# What it costs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("passive", DEALINGS, ids=len)
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 5.0, 8.0, 20.0])
def test_the_certified_epsilon_is_the_target_and_labels_cost_nothing(epsilon, passive):
    X, y = table(n=400, d=7)
    estimate, run = fitted(X, y, passive, epsilon)
    assert total(run).epsilon_certified == pytest.approx(epsilon, rel=2e-8)
    assert total(run).epsilon_certified <= epsilon
    assert run.channel.ledger.worst_total(run.channel.names, "label", DELTA).epsilon_certified == 0
    m = max(1, min(5, int(epsilon / 2.5)))
    assert estimate.numbers["features_released"] == m
    assert 1 <= estimate.numbers["epsilon_per_index"] / (epsilon / m) < 1.003
    assert estimate.epsilon_claimed == epsilon


def test_strata_are_few_where_sets_are_many():
    """Eleven columns of three parties, five of a record released: 462 sets, and one row for each division of five."""
    X, y = table(n=3000, d=12)
    run = execution(LocalTablesOptions(), X, y, [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10], [11]], epsilon=13.0)
    simulate(local_tables.fit, run)
    rows = [row for row in run.channel.ledger.rows if row.mechanism == "randomized_response"]
    strata = {row.stratum for row in rows}
    assert len(strata) == sum(1 for a in range(5) for b in range(5) if 0 <= 5 - a - b <= 3) == 16
    for stratum in strata:
        assert sum(row.count for row in rows if row.stratum == stratum) == 5
    assert total(run).epsilon_certified == pytest.approx(13.0, rel=2e-8)


def test_the_codes_of_a_stratum_are_those_of_its_records():
    """By the sets themselves: a record is in one stratum, and each party moves there what the row says."""
    known = SimpleNamespace(
        options=LocalTablesOptions(), public=facts(7), study=SimpleNamespace(delta=DELTA), settings=None
    )
    groups = (("a", (3, 0)), ("b", (1, 2, 4)))
    plan = feature_sets(known, groups, 500, 6.0, lambda *names: stream(1, *names))
    assert plan.released_features.sum(1).tolist() == [2] * 500
    rows = np.concatenate([stratum.rows for stratum in plan.strata])
    assert sorted(rows.tolist()) == list(range(500))
    for stratum in plan.strata:
        for name, columns in groups:
            assert set(plan.of(columns)[stratum.rows].sum(1).tolist()) == {stratum.counts[name]}
    more = feature_sets(known, groups, 500, 9.0, lambda *names: stream(1, *names))
    assert (more.released_features | ~plan.released_features).all() and more.per_record == 3
    # Every feature is drawn about as often: 200 of 500 records, standard deviation 11.
    assert np.abs(plan.released_features.sum(0) - 200).max() < 60


@pytest.mark.parametrize(
    ("epsilon", "one", "d", "m"),
    [(0.1, 2.5, 7, 1), (4.9, 2.5, 7, 1), (5.0, 2.5, 7, 2), (0.3, 0.1, 7, 3), (40.0, 2.5, 7, 7), (INF, 2.5, 7, 7)],
)
def test_the_number_of_features_of_a_record(epsilon, one, d, m):
    assert features_of(LocalTablesOptions(epsilon_per_feature=one), epsilon, d) == m


def test_nothing_but_randomised_codes_crosses():
    X, y = table(n=400, d=7)
    estimate, run = fitted(X, y, DEALINGS[2], 8.0)
    messages = run.channel.messages
    assert [message.name for message in messages] == ["randomised-response codes"] * 3
    assert {message.receiver for message in messages} == {"active"}
    assert run.channel.bytes_total == 400 * 3 == estimate.numbers["bytes_formula"]
    values = [value for _, value in run.channel.view("active")]
    assert all(value.dtype == np.uint8 for value in values)


def test_codes_are_kept_as_often_as_their_epsilon_says():
    X, y = table(n=20_000, d=7, digits=None)
    estimate, run = fitted(X, y, DEALINGS[0], 1.0, LocalTablesOptions(num_of_trees=1))
    plan = feature_sets(run.spec, (("passive 1", (0, 1, 2, 3, 4)),), 20_000, 1.0, run.rng_for)
    known = [column.edges.value for column in run.spec.public.columns[:5]]
    true, sent = public_bins(X[:, :5], known), run.channel.view("active")[0][1]
    feature, kept = np.nonzero(plan.released_features)[1], true.codes[plan.released_features] == sent
    one = math.exp(estimate.numbers["epsilon_per_index"])
    for f, size in enumerate(true.sizes):
        own, share = kept[feature == f], one / (one + size - 1)
        assert abs(own.mean() - share) < 6 * math.sqrt(share * (1 - share) / len(own))


def test_noise_does_not_depend_on_epsilon():
    """Smaller epsilons flip the codes that larger ones flip, and more, while sets are the same."""
    X, y = table(n=500, d=7)
    sent = {e: fitted(X, y, DEALINGS[0], e)[1].channel.view("active")[0][1] for e in (0.5, 2.0)}
    known = facts(7)
    edges = [column.edges.value for column in known.columns[:5]]
    drawn = stream(5, "noise", "released features").random((500, 5)).argmin(1)
    true = public_bins(X[:, :5], edges).codes[np.arange(500), drawn]
    kept = {e: codes == true for e, codes in sent.items()}
    assert not (kept[0.5] & ~kept[2.0]).any() and kept[2.0].sum() > kept[0.5].sum() > 0


def test_an_attack_on_a_record_shows_most_of_the_target_and_no_more():
    """All codes of one record against those of another: both of its features count, and nothing else."""
    options = LocalTablesOptions(epsilon_per_feature=1.0)
    known = facts(3, edges=[[0.0], [0.0], [0.0]])
    spec = SimpleNamespace(options=options, public=known, study=SimpleNamespace(delta=0.0), settings=None)
    plan = feature_sets(spec, (("passive 1", (0, 1)),), 1, 2.0, lambda *names: stream(1, *names))
    low, high = (Party("passive 1", "passive", {"X": np.full((1, 2), x)}, (0, 1)) for x in (-3.0, 3.0))

    def codes(party, rng):
        return local_tables.local_randomised_codes(party, np.ones(1, bool), plan, lambda *names: rng).value

    found = audit(codes, low, high, rng=3, delta=0.0, draws=4000)
    assert 1.5 < found.epsilon_lower <= 2.0


def test_noise_from_the_operating_system_is_never_the_same_and_certified_at_the_target():
    X, y = table(n=500, d=7)
    sent = []
    for _ in range(2):
        run = execution(LocalTablesOptions(), X, y, [*DEALINGS[1], [5, 6]], epsilon=6.0)
        run.rng_for = SecureStreams(3)
        simulate(local_tables.fit, run)
        sent.append(run.channel.view("active")[0][1])
        assert {row.sampler for row in run.channel.ledger.rows if row.profile is not None} == {"secure"}
        assert 6.0 * (1 - 2e-8) <= total(run).epsilon_certified <= 6.0
    # The sets are those of the seed, so that as many codes cross.
    assert sent[0].shape == sent[1].shape and not np.array_equal(*sent)


# Programs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "inference"), [(7.0, "none"), (INF, "plain"), (1.0, "ss")])
def test_all_ways_to_run_it_are_one(epsilon, inference):
    X, y = table(n=80, d=7, criterion=REGRESSION)
    given = LocalTablesOptions(inference=inference, num_of_trees=2), X, y, [*DEALINGS[2], [5, 6]]
    more = {"epsilon": epsilon, "held_out": 15, "extra": (DEALER,) if inference == "ss" else ()}
    in_all_ways(local_tables.fit, lambda: execution(*given, **more))


@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_neighbours_look_alike_but_for_what_the_releases_bound(epsilon):
    groups = [*DEALINGS[1], [5, 6]]
    options = LocalTablesOptions(num_of_trees=2, max_tree_depth=1)

    def start(data, seed):
        return execution(options, *data, groups, seed=seed, epsilon=epsilon)

    def neighbours(data, unit, count, seed):
        for name, X, y in changed_records(*data, unit, count, stream(seed, "neighbours"), binary=True):
            # The features of the unit are those of the passive parties.
            X[:, groups[-1]] = data[0][:, groups[-1]]
            yield name, (X, y)

    subject = Subject(local_tables.fit, lambda seed: table(n=60, d=7, seed=seed), start, neighbours, DELTA)
    totals = check_neighbours(subject, ("features", "label"), pairs=9, seeds=2)
    assert totals["features"] == pytest.approx(epsilon, rel=2e-8) and totals["label"] == 0.0


@pytest.mark.parametrize("inference", ["plain", "ss"])
def test_deployed_scores_are_those_of_the_evaluator(inference):
    X, y = table(n=300, d=7, criterion=REGRESSION)
    extra = (DEALER,) if inference == "ss" else ()
    options = LocalTablesOptions(inference=inference, num_of_trees=3)
    estimate, run = fitted(X, y, DEALINGS[1], 20.0, options, held_out=40, extra=extra)
    assert any(one.values.any() for one in estimate.ensemble.tables)
    np.testing.assert_allclose(estimate.scores, estimate.ensemble.scores(X[:40]), atol=1e-8)
    assert total(run).epsilon_certified == INF
    assert total(run).epsilon_certified_part == pytest.approx(20.0, rel=2e-8)


# What is refused, and what must work ------------------------------------------------------------------------------


def test_undeclared_edges_and_what_is_not_read_are_named_before_anything_is_sent():
    X, y = table(n=30, d=7)
    bare = facts(7)
    columns = list(bare.columns)
    columns[1] = TreeColumn("x1")
    refused = (
        (CertificationError, "edges of column 'x1'", {"public": TreeFacts(tuple(columns), bare.criterion)}, {}),
        (ValueError, "edges of column 'x1'", {"public": facts(7, edges=[[0], [], *[[0]] * 5])}, {}),
    )
    for kind, message, changes, options in refused:
        run = execution(LocalTablesOptions(**options), X, y, [*DEALINGS[0], [5, 6]], **changes)
        with pytest.raises(kind, match=message):
            simulate(local_tables.fit, run)
        assert run.channel.messages == ()
    with pytest.raises(ValueError, match="rf"):
        LocalTablesOptions(algo="rf")


@pytest.mark.parametrize("n", [3, 12])
@pytest.mark.parametrize("epsilon", [1.0, 6.0, INF])
def test_few_records_constant_columns_and_empty_bins_are_no_obstacle(n, epsilon):
    X, y = table(n=n, d=7, criterion=REGRESSION)
    X[:, 2] = 40.0
    for passive in (DEALINGS[0], DEALINGS[3]):
        estimate, _ = fitted(X, y, passive, epsilon)
        assert np.isfinite(estimate.ensemble.scores(X)).all()
        assert [one.feature for one in estimate.ensemble.tables] == [0, 1, 2, 3, 4]


def test_intervals_of_shares_cover_those_of_the_population():
    """40 fits with 5 columns: 0.95 of all shares within 3 SE over fits; without noise the shares are the records'."""
    covers, many = [], table(n=200_000, d=7, digits=None, seed=1000)[0]
    for seed in range(40):
        X, y = table(n=600, d=7, digits=None, criterion=REGRESSION, seed=seed)
        estimate, run = fitted(X, y, DEALINGS[1], 5.0)
        for one in estimate.ensemble.tables:
            cuts = run.spec.public.columns[one.feature].edges.value
            truth = np.bincount(np.searchsorted(cuts, many[:, one.feature]), minlength=len(cuts) + 1) / len(many)
            covers.append((one.shares[:, 1] <= truth) & (truth <= one.shares[:, 2]))
    per_fit = np.concatenate(covers).reshape(40, -1).mean(axis=1)
    assert abs(per_fit.mean() - 0.95) < 3 * per_fit.std(ddof=1) / math.sqrt(40)
    exact, run = fitted(X, y, DEALINGS[1], INF)
    cuts = run.spec.public.columns[0].edges.value
    counted = np.bincount(np.searchsorted(cuts, X[:, 0]), minlength=len(cuts) + 1) / len(X)
    np.testing.assert_allclose(exact.ensemble.tables[0].shares[:, 0], counted, atol=1e-12)


def test_more_budget_helps_and_little_budget_does_no_harm():
    """On held-out rows, mean over draws of data; the columns of the passive party matter."""
    losses = {0.2: [], 8.0: [], INF: []}
    alone = []
    for seed in range(4):
        rng = stream(seed, "useful")
        X = rng.standard_normal((3000, 7))
        y = X[:, 0] - X[:, 3] + 0.5 * X[:, 5] + 0.5 * rng.standard_normal(3000)
        for epsilon, found in losses.items():
            estimate, _ = fitted(X, y, DEALINGS[0], epsilon, held_out=1000, seed=seed)
            found.append(np.mean((estimate.ensemble.scores(X[:1000]) - y[:1000]) ** 2))
        run = execution(ActiveOnlyOptions(), X, y, [*DEALINGS[0], [5, 6]], held_out=1000)
        alone.append(np.mean((simulate(active_only.fit, run).ensemble.scores(X[:1000]) - y[:1000]) ** 2))
    mean = {epsilon: np.mean(found) for epsilon, found in losses.items()}
    assert mean[INF] < mean[8.0] < 0.7 * np.mean(alone)
    assert mean[0.2] < 1.05 * np.mean(alone)
