"""VerticalBoosting: the bytes of the pipeline's cells, scikit-learn's ways, bad input by name."""

from __future__ import annotations

import inspect
from dataclasses import fields
from math import inf

import numpy as np
import pytest
from sklearn.base import clone

import partywise as pw
from partywise.audits.contract import same
from partywise.core.randomness import Streams
from partywise.experiment import cells
from partywise.experiment.data import generate
from partywise.experiment.plan import plan
from partywise.experiment.trial import execution
from partywise.federation.run import simulate
from pipeline import ROOT
from tree_driver import CLASSES, SQUARES, data

STUDY = "vertical_trees"
CASES = [
    ("pooled", {"max_tree_depth": 3}, None),
    ("active_only", {"algo": "rf", "batch_size": 40}, None),
    ("feature_gathering", {"feature_subsample_ratio": 0.5}, None),
    ("feature_gathering", {"protect": "dp"}, 8.0),
    ("feature_gathering", {"protect": "op_boost", "budget": "feature"}, 2.0),
    ("label_scattering", {"cipher": "sized", "num_of_trees": 2, "n_bins": 8, "residual_bound": 100.0}, None),
    ("tables", {"cipher": "sized", "least_hessian": 1.0, "residual_bound": 5.0}, 4.0),
    ("local_tables", {"residual_bound": 5.0}, 4.0),
]
GATHERING = "feature_gathering"


@pytest.mark.parametrize("criterion", [CLASSES, SQUARES])
@pytest.mark.parametrize(("protocol", "options", "epsilon"), CASES, ids=str)
def test_the_estimator_is_the_cell(protocol, options, epsilon, criterion):
    if criterion == CLASSES:
        options = {name: value for name, value in options.items() if name != "residual_bound"}
    grid = {"methods": ["m"], "replicates": 1, "folds": 1, "parties": [3], "epsilon": [epsilon or 1.0]}
    settings = {"n": 120, "d": 6, "test_share": 0.0, "loss": criterion, "active": "first"}
    case = {"source": "generated", "settings": settings, "grid": grid}
    entry = {"protocol": protocol, **options}
    made = plan(STUDY, {"spec": {}, "methods": {"m": entry}, "cases": {"c": case}, "figures": []}, 7)
    table = generate(made, "c", [0], ROOT / "resources")[0]
    (cell,) = cells.run(made, "c", "m", made.cases["c"].parties, [0], [0], {0: table})
    estimate = simulate(made.methods["m"].protocol.fit, execution(made, "c", "m", table))
    columns = table.public().columns
    fitted = pw.VerticalBoosting(
        protocol,
        epsilon=epsilon,
        delta=made.spec.delta,
        loss=criterion,
        public_edges=[column.edges.value for column in columns],
        public_bounds=[column.bounds.value for column in columns],
        **options,
    )
    fitted.fit(table.X, table.y, parties=3, active="first", rng=Streams(7, STUDY, "c", "noise", 0))
    assert same(fitted.estimate_, estimate) and same(fitted.ensemble_, estimate.ensemble)
    assert fitted.ledger_.digest == cell.scalars["ledger_sha256"] and fitted.transcript_ == cell.wire
    for name in ("epsilon_certified", "mu_upper", "tpr_at_1_percent", "view_worst"):
        assert getattr(fitted.privacy_, name) == cell.scalars[name]
    assert fitted.epsilon_claimed_ == cell.scalars["epsilon_claimed"]
    scores = fitted.predict if fitted.loss == SQUARES else fitted.decision_function
    assert np.array_equal(scores(table.X), estimate.ensemble.scores(table.X))


@pytest.mark.parametrize("active", ["first", "last"])
@pytest.mark.parametrize("options", [{}, {"algo": "rf"}, {"algo": "gbdt", "feature_subsample_ratio": 0.5}], ids=str)
def test_the_labels_party_may_have_no_column_where_trees_do_not_grow_on_its_own(options, active):
    """Bins of label scattering that hold one value each give the pooled trees, with and without hidden rows."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    groups = [[], [0, 1], [2]] if active == "first" else [[0, 1], [2], []]
    given = {"num_of_trees": 2, "parties": groups, "active": active, "random_state": 7, **options}
    pooled = pw.VerticalBoosting("pooled", **given).fit(X, y)
    assert pooled.score(X, y) > 0.7
    for more in ({"cipher": "identity"}, {"cipher": "sized"}, {"cipher": "identity", "hide_instances": True}):
        model = pw.VerticalBoosting("label_scattering", n_bins=60, **more, **given).fit(X, y)
        np.testing.assert_allclose(model.decision_function(X), pooled.decision_function(X), atol=1e-7)


@pytest.mark.parametrize("protocol", sorted({protocol for protocol, *_ in CASES} - {"pooled", "label_scattering"}))
def test_a_labels_party_without_columns_is_refused_with_what_to_do(protocol):
    X, y = data(80)
    model = pw.VerticalBoosting(protocol, epsilon=1.0, parties=[[0, 1, 2], [3, 4, 5, 6], []])
    with pytest.raises(ValueError, match=r"no column, and protocol=.* use protocol='label_scattering' or 'pooled'"):
        model.fit(X, y, rng=1)
    with pytest.raises(ValueError, match="no group may be empty"):
        pw.VerticalBoosting("pooled", parties=[[0, 1, 2], [], [3, 4, 5, 6]]).fit(X, y, rng=1)


def test_labels_probabilities_and_scores_belong_together():
    X, y = data(300)
    for options in ({}, {"algo": "rf"}):
        model = pw.VerticalBoosting("pooled", max_tree_depth=4, **options).fit(
            X, y, parties=[[0, 5], [1, 2, 3, 4, 6]], rng=1
        )
        ones = model.predict_proba(X)[:, 1]
        assert np.allclose(model.predict_proba(X).sum(axis=1), 1) and np.array_equal(model.predict(X), ones > 0.5)
        assert model.score(X, y) == np.mean(model.predict(X) == y) > 0.8 and model.classes_.tolist() == [0, 1]
    X, y = data(300, criterion=SQUARES)
    model = pw.VerticalBoosting("pooled", loss=SQUARES).fit(X, y, rng=1)
    assert not hasattr(model, "decision_function") and 0.5 < model.score(X, y) < 1
    assert model.score(X, y) == pytest.approx(1 - np.mean((y - model.predict(X)) ** 2) / np.var(y))
    with pytest.raises(AttributeError, match="predict_proba is of a model of labels"):
        model.predict_proba(X)


def test_unprotected_orders_are_the_pooled_fit_and_cost_everything():
    X, y = data(300)
    fits = [pw.VerticalBoosting(p, own_n_bins=None).fit(X, y, parties=3, rng=1) for p in (GATHERING, "pooled")]
    assert np.array_equal(*[fitted.decision_function(X) for fitted in fits])
    assert [fitted.privacy_.epsilon_certified for fitted in fits] == [inf, inf]


@pytest.mark.parametrize(
    ("protocol", "options"), [(GATHERING, {"protect": "dp"}), ("tables", {"cipher": "sized"}), ("local_tables", {})]
)
@pytest.mark.filterwarnings("ignore:the fit is clipped")
def test_certified_protocols_keep_their_target(protocol, options):
    X, y = data(300)
    model = pw.VerticalBoosting(protocol, epsilon=4.0, public_edges=[np.arange(-2.0, 3)] * 7, **options)
    model.fit(X, y, parties=3, rng=1)
    assert 3.9 < model.privacy_.epsilon_certified <= 4.0 and model.privacy_.unit == "features"


def test_parameters_in_scikit_learns_way():
    for protocol, method in pw.VerticalBoosting.methods.items():
        made = pw.VerticalBoosting(protocol, delta=1e-6)
        own = set(inspect.signature(pw.VerticalBoosting.__init__).parameters) - {"self", "options"}
        assert set(made.get_params()) == {one.name for one in fields(method.options)} | own
        assert made.get_params() == clone(made).get_params() and clone(made).protocol == protocol
    with pytest.raises(TypeError, match="'protect' is not a parameter of VerticalBoosting with protocol='pooled'"):
        pw.VerticalBoosting("pooled", protect="dp")
    with pytest.raises(ValueError, match="not fitted yet"):
        pw.VerticalBoosting().predict(np.zeros((3, 2)))


def test_the_seed_decides():
    X, y = data(100)
    drawn = [pw.VerticalBoosting("pooled", algo="rf").fit(X, y, rng=seed).decision_function(X) for seed in (1, 1, 2)]
    assert np.array_equal(drawn[0], drawn[1]) and not np.array_equal(drawn[0], drawn[2])
    with pytest.raises(TypeError, match=r"rng=1\.5"):
        pw.VerticalBoosting("pooled").fit(X, y, rng=1.5)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"protocol": "nonsense"}, "protocol='nonsense'"),
        ({"loss": "Gini"}, "loss='Gini': use"),
        ({"protocol": GATHERING, "epsilon": 1.0}, r"epsilon=1\.0 is not read"),
        ({"epsilon": None}, "epsilon is missing"),
        ({"algo": "rf"}, "algo is 'rf': tables are boosted"),
        ({"inference": "plain"}, "inference='plain' asks the evaluator"),
        ({"select_by": "test_loss"}, "select_by='test_loss' asks the evaluator"),
        ({"eval_freq": 1}, "eval_freq=1 asks the evaluator"),
        ({"public_edges": [[1.0]]}, "public_edges has 1 entries for 7 columns"),
        ({"public_edges": [None] * 6 + [[1.0, 1.0]]}, r"public_edges\[6\]=\[1\.0, 1\.0\]: give increasing"),
        ({"public_bounds": [(1, 0)] + [None] * 6}, r"public_bounds\[0\]=\(1, 0\): give two increasing"),
        ({"max_tree_depth": -1}, "max_tree_depth is -1"),
        ({"eta": 0.0}, r"eta is 0\.0"),
    ],
)
def test_bad_parameters_are_named(changes, words):
    X, y = data(60)
    with pytest.raises(ValueError, match=words):
        pw.VerticalBoosting(**({"epsilon": 1.0} | changes)).fit(X, y, rng=1)


@pytest.mark.parametrize("parties", [1, [range(7)]])
def test_one_party_has_nobody_to_train_with(parties):
    X, y = data(60)
    known = {"public_edges": [[0.0]] * 7}
    for protocol in ("tables", "local_tables", GATHERING, "label_scattering"):
        target = {"epsilon": 1.0} if protocol.endswith("tables") else {}
        with pytest.raises(ValueError, match=rf"with protocol='{protocol}': the labels' party needs another one"):
            pw.VerticalBoosting(protocol, **known, **target).fit(X, y, parties=parties, rng=1)
    alone = [pw.VerticalBoosting(name).fit(X, y, parties=parties, rng=1) for name in ("pooled", "active_only")]
    assert np.array_equal(*(one.decision_function(X) for one in alone))


def test_protection_without_public_edges_is_refused_before_any_work():
    X, y = data(60)
    for protocol, options in (("tables", {}), ("local_tables", {}), (GATHERING, {"protect": "dp"})):
        with pytest.raises(pw.CertificationError, match="edges"):
            pw.VerticalBoosting(protocol, epsilon=1.0, **options).fit(X, y, rng=1)
    with pytest.raises(pw.CertificationError, match="bounds"):
        pw.VerticalBoosting(GATHERING, protect="op_boost", epsilon=1.0).fit(X, y, rng=1)
    with pytest.raises(pw.CertificationError, match="residual_bound"):
        pw.VerticalBoosting(epsilon=1.0, loss=SQUARES, public_edges=[[0.0]] * 7).fit(X, y, rng=1)


@pytest.mark.parametrize(
    ("X", "y", "arguments", "words"),
    [
        (np.ones(4), np.ones(4), {}, "X has shape"),
        (np.ones((4, 2)), np.ones(3), {}, "y has 3 entries for 4 rows"),
        (np.full((4, 2), np.inf), np.ones(4), {}, "not finite"),
        (np.ones((4, 2)), np.ones(4), {}, r"y holds one class alone, \[1\.0\]: give both"),
        (np.ones((4, 2)), np.array([0.0, 1, 2.5, 1]), {}, r"continuous. y holds 2\.5"),
        (np.ones((4, 2)), np.array([0.0, 1, 0, 1]), {"parties": 3}, "parties=3"),
        (np.ones((4, 2)), np.array([0.0, 1, 0, 1]), {"parties": [[0], [0]]}, "not a partition"),
        (np.ones((4, 2)), np.array([0.0, 1, 0, 1]), {"active": "third"}, "active='third'"),
    ],
)
def test_bad_arrays_are_named(X, y, arguments, words):
    with pytest.raises(ValueError, match=words):
        pw.VerticalBoosting("pooled").fit(X, y, rng=1, **arguments)
