"""More than two classes: xgboost's trees, one certificate for all classes, the audit of it, refusals."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import xgboost
from sklearn.metrics import log_loss, roc_auc_score

import partywise as pw
from error_rates import accepts_sigma
from forked import in_all_ways
from gathering_driver import execution, facts, table, total
from partywise.audits.contract import Subject, changed_records, check_neighbours
from partywise.audits.replay import record
from partywise.core.errors import CertificationError
from partywise.core.randomness import stream
from partywise.federation.run import simulate
from partywise.methods.trees.histograms.assemble import integers_of
from partywise.methods.trees.histograms.plan import histogram_plan
from partywise.methods.trees.options import GatheringOptions, LocalTablesOptions, TablesOptions, TreePooledOptions
from partywise.methods.trees.protocols import feature_gathering, local_tables, pooled, tables
from partywise.models.losses import class_derivatives, class_probabilities
from partywise.privacy.accounting.calibration import gdp_mu
from partywise.privacy.audit.pairs import audit_pair
from partywise.privacy.statistics.newton import (
    ONE,
    Cells,
    free_ratio,
    hessians,
    newton_certificate,
    softmax_certificate,
)

K, DELTA = 3, 1e-5
GROUPS = [[0, 2], [1, 4], [3, 5]]
rng = pw.stream(8, "classes")
X = rng.normal(size=(500, 5))
SCORES = np.column_stack([X[:, 0] + X[:, 4], 1.5 * X[:, 1] * (X[:, 4] > 0), np.abs(X[:, 2])])
Y = np.array(["low", "middle", "high"])[(SCORES + 0.3 * rng.gumbel(size=SCORES.shape)).argmax(axis=1)]
CUTS = [np.linspace(-2, 2, 9)] * 5


@pytest.fixture(autouse=True)
def short_keys(monkeypatch):
    monkeypatch.setattr("partywise.core.checks.LEAST_KEY_SIZE", 512)


def three(n=150, seed=1):
    """Columns, and labels 0, 1, 2."""
    own, score = table(n=n, seed=seed, criterion="RegressionMSELoss")
    return own, np.searchsorted(np.quantile(score, (1 / 3, 2 / 3)), score).astype(float)


def known(d=6):
    return replace(facts(d), classes=K)


def started(options, data=None, epsilon=1.0, seed=5, **given):
    own, y = three() if data is None else data
    return execution(options, own, y, GROUPS, epsilon=epsilon, seed=seed, public=known(), **given)


def sums(cipher="sized", **given):
    return TablesOptions(**({"cipher": cipher, "key_size": 512, "num_of_trees": 2, "least_hessian": 1.0} | given))


def plan_of(run):
    groups = [(party.name, party.columns) for party in run.parties if party.role == "passive"]
    return histogram_plan(run.spec, groups, len(run.fold.train), run.epsilon)


# What it equals ---------------------------------------------------------------------------------------------------


def test_pooled_trees_are_xgboosts():
    model = pw.VerticalBoosting("pooled", own_n_bins=None, num_of_trees=8, max_tree_depth=3, eta=0.3, lambda_=1.0)
    model.fit(X, Y, rng=1)
    assert model.classes_.tolist() == ["high", "low", "middle"]
    given = {
        "objective": "multi:softprob",
        "num_class": 3,
        "max_depth": 3,
        "eta": 0.3,
        "lambda": 1.0,
        "min_child_weight": 0,
        "base_score": 0.5,
        "tree_method": "exact",
        "nthread": 1,
    }
    codes = np.searchsorted(model.classes_, Y)
    theirs = xgboost.train(given, xgboost.DMatrix(X, codes), 8)
    np.testing.assert_allclose(model.predict_proba(X), theirs.predict(xgboost.DMatrix(X)), atol=2e-6)
    told = np.array([theirs.get_score(importance_type="total_gain").get(f"f{j}", 0.0) for j in range(5)])
    np.testing.assert_allclose(model.feature_importances_, told / told.sum(), rtol=1e-3)
    found = model.partial_dependence([0, 1], [[-1.0, 1.0], [0.0, 0.5, 1.0]])
    assert found.average.shape == (3, 2, 3)


def test_derivatives_are_those_of_the_loss_and_curvatures_bound_them():
    scores, y = rng.normal(size=(40, 4)), rng.integers(4, size=40).astype(float)
    g, h = class_derivatives(scores, y)

    def loss(moved):
        return -np.log(class_probabilities(moved)[np.arange(40), y.astype(int)])

    for j in range(4):
        step = np.eye(4)[j] * 1e-6
        np.testing.assert_allclose(g[:, j], (loss(scores + step) - loss(scores - step)) / 2e-6, atol=1e-8)
    for p, diagonal in zip(class_probabilities(scores), h, strict=True):
        assert np.linalg.eigvalsh(np.diag(diagonal) - np.diag(p) + np.outer(p, p))[0] > -1e-12
    assert np.abs(g.sum(axis=1)).max() < 1e-14


def test_any_parties_give_the_pooled_trees_where_ranks_cross():
    held, _ = three()
    options = {"num_of_trees": 3, "own_n_bins": None}
    whole = simulate(pooled.fit, started(TreePooledOptions(**options))).ensemble
    run = started(GatheringOptions(**options))
    apart = simulate(feature_gathering.fit, run)
    assert whole.outputs == K and len(whole.trees) == 3 * K
    np.testing.assert_allclose(apart.ensemble.scores(held), whole.scores(held), atol=1e-12)
    assert apart.numbers["max_prediction_difference"] == 0 and apart.numbers["rows_rerouted"] == 0
    np.testing.assert_allclose(whole.path(held)[-1], whole.scores(held), atol=1e-12)
    np.testing.assert_array_equal(whole.first(2).scores(held), whole.path(held)[2])


def test_what_is_decrypted_is_the_table_of_each_class_and_the_noise():
    run = started(sums("paillier", num_of_trees=1))
    tape = record(lambda: simulate(tables.fit, run) and run.channel)
    plan, residuals = plan_of(run), []
    for call, share in zip(tape.calls, plan.shares, strict=True):
        units = plan.units(share)
        counts = np.rint(np.asarray(call.bounded.value) / units).reshape(K, -1)
        # Over the classes gradients sum to zero in every cell, but for the rounding of each record.
        assert np.abs(counts[:, : share.cells.margins].sum(axis=0)).max() <= K * 150
        assert len(np.unique(counts, axis=0)) == K and (counts[:, share.cells.margins :] >= 0).all()
        noise = call.output / units - counts.ravel()
        np.testing.assert_allclose(noise, np.rint(noise), atol=1e-3)
        residuals.append(noise * units / plan.sigma)
    assert accepts_sigma(np.concatenate(residuals), 1.0) and not accepts_sigma(np.concatenate(residuals), 2.5)


def test_sized_integers_give_the_ledger_and_results_of_paillier():
    fits = []
    for cipher in ("sized", "paillier"):
        run = started(sums(cipher))
        estimate = simulate(tables.fit, run)
        fits.append((estimate.ensemble.scores(three()[0]), run.channel.ledger.rows, estimate.numbers))
        assert estimate.numbers["encryptions"] == 150 * K
        sent = sum(row["bytes"] for row in run.channel.transcript() if row["kind"] in ("cipher", "release"))
        assert sent == estimate.numbers["bytes_formula"]
    (one, rows, numbers), (two, others, same) = fits
    assert np.array_equal(one, two) and numbers == same and [r.mu for r in rows] == [r.mu for r in others]


# What is certified ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 7])
@pytest.mark.parametrize("k", [3, 4, 6])
def test_a_search_over_probabilities_reaches_the_bound_and_does_not_pass_it(d, k):
    """The furthest that all tables of all classes move together, over probabilities and the class of the record."""
    kappa, bound = 4.0, softmax_certificate(d, free_ratio(d, 3)).value
    assert free_ratio(d, 3) ** 2 == pytest.approx((d + 1) / 8, rel=1e-14)
    assert bound**2 == pytest.approx(4 * d, rel=1e-15)
    drawn = np.concatenate([stream(d, k).dirichlet(np.full(k, a), 4000) for a in (0.05, 0.3, 1.0)])
    corners = [np.bincount(chosen, minlength=k) / len(chosen) for m in (1, 2, 3) for chosen in combinations(k, m)]
    t = np.abs(np.vstack([drawn, corners]) - np.eye(k)[0])
    moved = np.sqrt(2 * d * (t**2 * (1 + kappa * (1 - t) ** 2)).sum(axis=1))
    assert 0.999 < moved.max() / bound <= 1 + 1e-12
    # k times the tables of two classes would be k times their square.
    assert bound < math.sqrt(k) * newton_certificate(d, free_ratio(d)).value


def combinations(k, m):
    return [np.array(chosen) for chosen in itertools.combinations(range(k), m)]


@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_integers_of_a_worst_pair_move_as_far_as_is_certified(d):
    """A record that is held for impossible; with two others equally likely hessians pay for what gradients lack."""
    sizes, ratio = (2,) * d, free_ratio(d, 3)
    bound, cells = softmax_certificate(d, ratio).value, Cells(sizes)
    plan = SimpleNamespace(bound=1.0, hessian=None, outputs=3)
    for scores in ([-900.0, 900.0, -900.0], [-900.0, 900.0, 900.0]):
        g, h = integers_of(class_derivatives(np.array([scores]), np.zeros(1))[0].ravel(), plan)
        assert np.abs(g).sum() == 2 * ONE and np.array_equal(h, hessians(g))
        square = 0.0
        for own, hessian in zip(g, h, strict=True):
            one, other = (
                cells.sums(np.full((1, d), bin_), np.array([own]), np.array([hessian])) * cells.units(ratio)
                for bin_ in (0, 1)
            )
            square += float(((one - other) ** 2).sum())
        assert 1 - 1e-8 < math.sqrt(square) / bound <= 1 + 1e-12


def test_hessians_are_free_up_to_kappa_4_and_not_beyond():
    for d in range(1, 12):
        ratio = free_ratio(d, 3)
        softmax_certificate(d, ratio)
        with pytest.raises(CertificationError, match="above 4: a record whose class is held for impossible"):
            softmax_certificate(d, ratio * (1 - 1e-14))
    # What two classes are certified with is not enough for three: the record of the error message moves further.
    kappa, t = 11.09, np.array([1.0, 0.5, 0.5])
    assert (t**2 * (1 + kappa * (1 - t) ** 2)).sum() > 2.8
    with pytest.raises(CertificationError, match=r"kappa=11\.09"):
        softmax_certificate(7, free_ratio(7))


def test_rounded_gradients_of_a_record_sum_to_two_at_most():
    scores = np.concatenate([stream(2, "s").normal(size=(5000, 7)) * size for size in (0.1, 3.0, 40.0)])
    y = stream(3, "y").integers(7, size=len(scores)).astype(float)
    plan = SimpleNamespace(bound=1.0, hessian=None, outputs=7)
    g, _ = integers_of(class_derivatives(scores, y)[0].T.ravel(), plan)
    assert np.abs(g.reshape(7, -1)).sum(axis=0).max() <= 2 * ONE


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_the_ledger_certifies_the_target_once_for_all_classes(epsilon):
    run = started(sums(), epsilon=epsilon)
    simulate(tables.fit, run)
    assert total(run).epsilon_certified == pytest.approx(epsilon, rel=1e-9)
    rows = [row for row in run.channel.ledger.rows if row.profile is not None]
    assert [row.delta_numeric for row in rows] == [share.mask_delta for share in plan_of(run).shares]
    # Four passive columns: sigma is that of sqrt(4 d), where k releases would have k times the square.
    assert plan_of(run).sigma == pytest.approx(math.sqrt(16) / gdp_mu(epsilon, DELTA), rel=1e-6)
    # Two cells of the pair of a party's features move by 2 in all, over the classes.
    bits = plan_of(run).bits
    assert [share.mask_delta for share in plan_of(run).shares] == [2 * 2 * 2.0 ** (32 - bits - 40)] * 2
    assert run.channel.ledger.worst_total(run.channel.names, "label", DELTA).epsilon_certified == 0


def test_codes_are_paid_once_whatever_the_number_of_classes():
    options = LocalTablesOptions(num_of_trees=2, least_hessian=1.0)
    run = started(options, epsilon=5.0)
    two = execution(options, three()[0], (three()[1] > 0).astype(float), GROUPS, epsilon=5.0, public=facts(6))
    for one in (run, two):
        simulate(local_tables.fit, one)
    assert total(run).epsilon_certified == total(two).epsilon_certified == pytest.approx(5.0, rel=1e-7)
    assert run.channel.transcript() == two.channel.transcript()


def test_an_attack_on_the_worst_pair_shows_what_is_claimed_and_no_more():
    """The likelihood ratio of all released sums of all classes, between two sets of bins of one worst record."""
    d, epsilon = 2, 1.0
    spec = SimpleNamespace(options=sums(), public=known(), study=SimpleNamespace(delta=DELTA), settings=None)
    plan = histogram_plan(spec, [("passive 1", (0, 1))], 40, epsilon)
    (share,) = plan.shares
    g, h = integers_of(class_derivatives(np.array([[-900.0, 900.0, -900.0]]), np.zeros(1))[0].ravel(), plan)
    first, second = (
        np.concatenate(
            [share.cells.sums(np.full((1, d), bin_), g[[j]], h[[j]]) for j in range(K)]  # class by class
        )
        * plan.units(share)
        for bin_ in (0, 1)
    )
    moved, claim = first != second, gdp_mu(epsilon, DELTA)
    gap = (first - second)[moved]
    assert np.linalg.norm(gap) / plan.sigma == pytest.approx(claim, rel=1e-6)
    # One table a class with the noise of two classes is found out.
    for sigma, holds in ((plan.sigma, True), (math.sqrt(2 * d) / claim, False)):
        noise = stream(4, "audit", int(holds))
        draws = [
            (value[moved] + sigma * noise.standard_normal((400_000, len(gap)))) @ gap / sigma**2
            for value in (first, second)
        ]
        found = audit_pair(*draws, DELTA, gaussian=True)
        assert (0.95 * claim < found.mu_lower <= claim and found.eps_lower <= epsilon) == holds
        assert holds or found.mu_lower > 1.3 * claim


@pytest.mark.parametrize(
    ("protocol", "options", "epsilon"),
    [(tables, sums, 1.0), (local_tables, lambda: LocalTablesOptions(num_of_trees=2), 4.0)],
)
def test_neighbours_look_alike_but_for_what_is_certified(protocol, options, epsilon):
    def start(data, seed):
        return started(options(), data, epsilon=epsilon, seed=seed)

    def neighbours(data, unit, count, seed):
        """The features of the passive parties; the active party's row stays."""
        for name, x, _ in changed_records(*data, unit, count, stream(seed, "neighbours")):
            mixed = x.copy()
            mixed[:, GROUPS[-1]] = data[0][:, GROUPS[-1]]
            yield name, (mixed, data[1])

    subject = Subject(protocol.fit, lambda seed: three(60, seed), start, neighbours, delta=DELTA)
    totals = check_neighbours(subject, ["features"], pairs=6, seeds=2)
    assert totals["features"] == pytest.approx(epsilon, rel=1e-7)


# Programs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("protocol", "options", "epsilon"),
    [
        (tables, sums, 1.0),
        (local_tables, lambda: LocalTablesOptions(num_of_trees=2), 4.0),
        (feature_gathering, lambda: GatheringOptions(num_of_trees=2, protect="dp"), 4.0),
    ],
)
def test_parties_apart_are_the_simulation(protocol, options, epsilon):
    in_all_ways(protocol.fit, lambda: started(options(), epsilon=epsilon))


@pytest.mark.parametrize(("protocol", "more"), [("tables", {"cipher": "sized"}), ("local_tables", {}), ("pooled", {})])
def test_the_estimator_learns_classes(protocol, more):
    epsilon = None if protocol == "pooled" else 8.0
    model = pw.VerticalBoosting(protocol, epsilon=epsilon, public_edges=CUTS, parties=[[0, 1, 2], [3, 4]], **more)
    alone = pw.VerticalBoosting("active_only", parties=[[0, 1, 2], [3, 4]])
    for one in (model, alone):
        one.fit(X, Y, rng=2)
    p = model.predict_proba(X)
    assert p.shape == (500, 3) and np.allclose(p.sum(axis=1), 1)
    assert np.array_equal(model.predict(X), model.classes_[p.argmax(axis=1)])
    assert model.score(X, Y) == np.mean(model.predict(X) == Y) > alone.score(X, Y)
    assert log_loss(Y, p) < log_loss(Y, alone.predict_proba(X))
    assert roc_auc_score(Y, p, multi_class="ovr") > roc_auc_score(Y, alone.predict_proba(X), multi_class="ovr")
    assert model.decision_function(X).shape == (500, 3) and np.isfinite(model.predict_log_proba(X)).all()
    assert epsilon is None or model.privacy_.epsilon_certified == pytest.approx(epsilon, rel=1e-7)


@pytest.mark.parametrize(
    ("protocol", "options", "words"),
    [
        ("label_scattering", {}, "labels have 3 classes: protocol 'label_scattering' has one gradient a record; use"),
        ("pooled", {"algo": "rf"}, "3 classes: forests and the source's program know two; use algo 'xgb'"),
        ("pooled", {"algo": "gbdt", "as_published": True}, "3 classes: forests and the source's program know two"),
        ("tables", {"algo": "gbdt", "epsilon": 1.0}, "3 classes: its noise is calibrated for .*use algo 'xgb'"),
    ],
)
def test_what_knows_two_classes_says_so_before_any_work(protocol, options, words):
    model = pw.VerticalBoosting(protocol, public_edges=CUTS, **options)
    with pytest.raises(ValueError, match=words):
        model.fit(X, Y, rng=1)
    assert not hasattr(model, "estimate_")


def test_a_saved_model_predicts_and_explains_the_same(tmp_path):
    model = pw.VerticalBoosting("tables", epsilon=8.0, public_edges=CUTS, parties=[[0, 1, 2], [3, 4]], cipher="sized")
    model.fit(X, Y, rng=2).save(tmp_path / "model.json")
    read = pw.load(tmp_path / "model.json")
    assert np.array_equal(read.predict_proba(X), model.predict_proba(X)) and np.array_equal(
        read.classes_, model.classes_
    )
    assert np.array_equal(read.feature_importances_, model.feature_importances_)
    assert np.array_equal(read.partial_dependence(0).average, model.partial_dependence(0).average)
