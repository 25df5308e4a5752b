"""Protocols of the label-private study: what crosses, what it costs, and what the fits are without noise."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import inf

import numpy as np
import pytest

from label_driver import SMALL, make_data, rng_for, run
from logit_data import rounding_of
from partywise.core.errors import CertificationError, ConfigError
from partywise.core.randomness import stream
from partywise.data.column_facts import ColumnFacts
from partywise.data.tables import Table
from partywise.experiment.configuration.build import build
from partywise.experiment.plan import plan
from partywise.methods.logistic.model import dot_product
from partywise.methods.logistic.options import LabelReferenceOptions, LabelSgdOptions, RoundsOptions, WalrOptions
from partywise.methods.logistic.planner import label_noise_plan
from partywise.methods.logistic.protocols import releases
from partywise.methods.logistic.release import release_dot_product
from partywise.methods.logistic.trainers import penalised_optimum
from partywise.models.links import LOGIT
from partywise.privacy.ledger.ledger import Ledger

PUBLISHED = {"noise": "iid", "sigma": "classic", "bound": "sqrt_k"}
EXACT = {
    "shaped": {"noise": "shaped"},
    "iid": {"noise": "iid", "ridge": "fixed"},
    "hybrid": {"trainer": "hybrid", "noise": "iid", "ridge": "none", "steps": 20, "batch_size": 64},
}


# What crosses and what it costs


def test_the_transcript_of_one_release():
    found = run("walr", 1.0, noise="shaped")
    rows = [(m.sender, m.receiver, m.name, m.kind, m.shape) for m in found.channel.messages]
    assert rows == [
        ("trainer", "measurer", "features", "clear", (420, 6)),
        ("measurer", "trainer", "noisy dot-product", "release", (6,)),
    ]
    assert found.channel.messages[0].argument == "features"


@pytest.mark.parametrize("label", EXACT)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_gaussian_releases_cost_their_target_for_a_label_and_everything_for_a_row(label, epsilon):
    found = run("walr", epsilon, **EXACT[label])
    total = found.total()
    assert total.epsilon_certified == pytest.approx(epsilon, rel=1e-9) and total.epsilon_certified <= epsilon
    assert total.certified and total.trust_model == "central" and total.n_releases == 1
    assert found.estimate.epsilon_claimed == epsilon
    assert found.total("row").epsilon_certified == inf and found.total("features").epsilon_certified == inf


CERTIFIED = {
    "iid": ("walr", {"noise": "iid", "ridge": "fixed", "noise_draws": 2}),
    "shaped": ("walr", {"noise": "shaped", "noise_draws": 2}),
    "rr": ("walr", {"noise": "rr", "ridge": "fixed", "noise_draws": 2}),
    "rr planned": ("walr", {"noise": "rr", "noise_draws": 2}),
    "auto": ("walr", {"noise": "auto"}),
    "rounds": ("noisy_gradient", {"rounds": 3}),
    "sampled": ("label_sgd", {"rounds": 2, "rate": 0.5}),
    "rows": ("objective_perturbation", {}),
}


# The noise of sampled rounds for the largest float is searched for longer than for all others together.
SHORT, LONG = (1e-9, 711.0, 1.7e308, inf), (700.0, 1500.0, 1e5, 1e155)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("label", "epsilon"),
    [
        pytest.param(*pair, marks=pytest.mark.statistical if pair[1] in LONG or pair == ("sampled", 1.7e308) else ())
        for pair in product(CERTIFIED, (*SHORT, *LONG))
    ],
)
def test_no_epsilon_up_to_infinity_overflows(label, epsilon):
    protocol, options = CERTIFIED[label]
    found = run(protocol, epsilon, **options)
    assert found.total().epsilon_certified <= epsilon and found.estimate.epsilon_claimed == epsilon
    assert 0.001 <= found.total().tpr_at_0_1_percent <= 1
    assert np.all(np.isfinite(found.estimate.theta)) and np.isfinite(found.scalars["log_loss"])
    if epsilon >= 700 and protocol == "walr":
        free = run(protocol, inf, **options)
        assert found.scalars["log_loss"] == pytest.approx(free.scalars["log_loss"], abs=1e-3)


def test_an_epsilon_without_a_noise_that_floats_hold_is_refused():
    for protocol in ("walr", "noisy_gradient", "objective_perturbation"):
        with pytest.raises(ValueError, match=r"^epsilon=1e-10 must be at least 1e-09"):
            run(protocol, 1e-10)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_randomised_response_is_pure_and_local(epsilon):
    found = run("walr", epsilon, noise="rr")
    assert found.total(delta=1e-12).epsilon_certified == pytest.approx(epsilon, rel=1e-9)
    # At a delta above 0 a pure distribution costs a little less: log(e^eps - delta (1 + e^eps)).
    least = np.log(np.exp(epsilon) - 1e-3 * (1 + np.exp(epsilon)))
    assert found.total(delta=1e-3).epsilon_certified == pytest.approx(least, rel=1e-9)
    assert found.total().trust_model == "local" and found.estimate.numbers["chosen_distribution"] == "rr"


def test_published_noise_costs_less_than_it_claims_below_its_limit_and_more_above():
    for epsilon, over in ((1.0, False), (8.4, False), (8.45, True), (16.0, True)):
        options = {**PUBLISHED, "bound": "max_norm", "ridge": "fixed"}
        found = run("walr", epsilon, **options)
        assert (found.total().epsilon_certified > epsilon) is over
        assert found.estimate.epsilon_claimed == epsilon
        assert found.scalars["classic_limit"] == pytest.approx(8.42, abs=0.01)
    # The published bound is public: shorter rows are not counted in its favour.
    public = run("walr", 1.0, **PUBLISHED, ridge="fixed").total().epsilon_certified
    longest = run("walr", 1.0, noise="iid", sigma="classic", ridge="fixed").total().epsilon_certified
    assert public == pytest.approx(longest, rel=1e-12) and longest < 1


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_noise_in_every_round_costs_its_target(epsilon):
    every = run("noisy_gradient", epsilon, rounds=10)
    assert every.total().epsilon_certified == pytest.approx(epsilon, rel=1e-9)
    assert every.channel.messages[1].shape == (10, 6)
    sampled = run("label_sgd", epsilon, rounds=40, rate=0.1)
    assert epsilon * 0.999 < sampled.total().epsilon_certified <= epsilon
    assert sampled.estimate.numbers["learning_rate"] in (1.0, 4.0)


def test_objective_perturbation_pays_for_rows():
    found = run("objective_perturbation", 1.0)
    assert found.total().epsilon_certified <= 1.0 + 1e-12
    event = next(event for event in found.channel.ledger.rows if event.mechanism == "objective_perturbation")
    assert event.unit == "row" and found.total("row").epsilon_certified == inf, "the features crossed in the clear"


def test_rows_whose_ranges_are_data_are_promised_nothing():
    """One row rescales all others where 0 and 1 stand for the least and the greatest value of the table."""
    raw = stream(7, "raw").random((50, 2))
    other = raw.copy()
    other[0] = 9.0
    names = ("a", "b")

    def scaled(values, facts):
        return Table(values, np.zeros(len(values)), np.array(names), (facts, facts)).unit_interval()[0]

    one, two = (scaled(values, ColumnFacts(None, None, "of the data")) for values in (raw, other))
    assert np.all(np.linalg.norm(one[1:] - two[1:], axis=1).max() > 0.5), "49 rows that nobody replaced"
    public = ColumnFacts(None, (0.0, 9.0), "a limit of the instrument")
    one, two = (scaled(values, public) for values in (raw, other))
    assert np.array_equal(one[1:], two[1:])

    data = make_data()
    for count, unit, relation in ((0, "row", "replace_one"), (2, "label", "label_flip")):
        found = run("objective_perturbation", 1.0, data=replace(data, from_the_data=count))
        event = next(event for event in found.channel.ledger.rows if event.mechanism == "objective_perturbation")
        assert (event.unit, event.relation) == (unit, relation)
        assert found.total().epsilon_certified == pytest.approx(1.0, rel=1e-9)
        rows = Ledger([event]).total("server", "row", 1e-5).epsilon_certified
        assert (rows == inf) == (unit == "label")


@pytest.mark.parametrize("rate", [1.0, 0.1])
def test_a_plan_for_other_features_is_refused(rate):
    """Sampled rounds stated the mu of their plan whatever the features were."""
    X, y = stream(7, "x").random((200, 3)) / 2, stream(7, "y").integers(0, 2, 200)
    made = label_noise_plan(X, 1.0, 1e-5, 5, rate, intercept=False)
    assert release_dot_product(X, y, made, stream(7, "n")).value.shape == (5, 3)
    with pytest.raises(CertificationError, match="make the plan from the features it is used with"):
        release_dot_product(2 * X, y, made, stream(7, "n"))


def test_no_privacy_costs_infinity():
    found = run("non_private", inf)
    assert found.total().epsilon_certified == inf and not found.total().certified
    assert [message.kind for message in found.channel.messages] == ["clear"]


# Fits


def test_without_noise_every_trainer_and_distribution_finds_the_same_optimum():
    data = make_data()
    truth = penalised_optimum(*data.training)
    planned = run("walr", inf, data=data, noise="shaped").estimate
    assert np.linalg.norm(planned.theta - truth) < 0.1 * np.linalg.norm(truth), "a small ridge is left"
    np.testing.assert_allclose(planned.noisy_dot, dot_product(*data.training), atol=rounding_of(data.training[0]))
    # Rows are rounded for Gaussian noise also where there is none: the optimum moves by the inverse Hessian times that.
    X, labels = data.training[0], run("walr", inf, data=data, noise="rr").estimate
    slopes = LOGIT.mean(X @ planned.theta) * (1 - LOGIT.mean(X @ planned.theta))
    hessian = (X * slopes[:, None]).T @ X / len(X) + np.diag(planned.plan.ridge)
    moved = np.linalg.solve(hessian, planned.noisy_dot - labels.noisy_dot)
    np.testing.assert_allclose(planned.theta - labels.theta, moved, atol=1e-9)
    long = {"noise": "iid", "ridge": "none", "steps": 4000, "learning_rate": 3.0}
    full = run("walr", inf, data=data, trainer="full_batch", **long).estimate
    np.testing.assert_allclose(full.theta, truth, atol=1e-3)
    hybrid = run("walr", inf, data=data, trainer="hybrid", batch_size=10_000, **long).estimate
    np.testing.assert_allclose(hybrid.theta, full.theta, atol=1e-9)
    reference = run("non_private", inf, data=data, ridge=0.0).estimate
    np.testing.assert_allclose(reference.theta, truth, atol=1e-9)
    rounds = run("noisy_gradient", inf, data=data, rounds=4000, learning_rates=(3.0,)).estimate
    np.testing.assert_allclose(rounds.theta, full.theta, atol=1e-9)


def test_noise_is_one_draw_rescaled_over_epsilon_and_shared_by_methods():
    data = make_data()
    clean = dot_product(*data.training)
    noise = {
        (bound, epsilon): run("walr", epsilon, data=data, noise="iid", ridge="fixed", bound=bound).estimate.noisy_dot
        - clean
        for bound in ("max_norm", "sqrt_k")
        for epsilon in (0.5, 2.0)
    }
    first = noise["max_norm", 0.5] / np.linalg.norm(noise["max_norm", 0.5])
    for value in noise.values():
        off = 2 * np.sqrt(value.size) * rounding_of(data.training[0]) / np.linalg.norm(value)
        np.testing.assert_allclose(value / np.linalg.norm(value), first, atol=2 * off)
    assert np.linalg.norm(noise["sqrt_k", 0.5]) > np.linalg.norm(noise["max_norm", 0.5])
    other = run("walr", 0.5, replicate=1, noise="iid", ridge="fixed").estimate.noisy_dot
    assert not np.allclose(other - dot_product(*make_data(replicate=1).training), noise["max_norm", 0.5])


def test_the_trainer_never_sees_a_label():
    """With other labels and the same release, the trainer's answer is the same."""
    data = make_data()
    flipped = replace(data, y=(1 - data.y).astype(np.uint8))
    X = data.training[0]
    one, other = (run("walr", 1.0, data=d, noise="shaped").estimate for d in (data, flipped))
    assert one.plan.predicted_excess == other.plan.predicted_excess
    np.testing.assert_array_equal(one.plan.covariance, other.plan.covariance)
    options = WalrOptions(noise="shaped")
    again = releases.server_fit(X, one.noisy_dot, other.plan, options, rng_for("noise"))
    np.testing.assert_array_equal(again.theta, one.theta)
    assert not np.allclose(one.theta, other.theta)


def test_the_best_learning_rate_is_chosen_from_releases_alone():
    data = make_data()
    rates = (0.01, 2.0)
    both = run("noisy_gradient", 4.0, data=data, rounds=30, learning_rates=rates).estimate
    alone = [run("noisy_gradient", 4.0, data=data, rounds=30, learning_rates=(rate,)).estimate for rate in rates]
    assert both.numbers["learning_rate"] == 2.0
    np.testing.assert_array_equal(both.theta, alone[1].theta)


# Options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"trainer": "sgd"}, "trainer is 'sgd': it must be one of newton, hybrid, full_batch"),
        ({"noise": "laplace"}, "noise is 'laplace': it must be one of iid, shaped, rr, auto"),
        ({"noise": "iid"}, "ridge is 'planned': noise 'iid' is a fixed plan; use 'fixed' or 'none'"),
        ({"ridge": "fixed"}, "ridge is 'fixed': noise 'auto' is planned together with its ridge"),
        ({"noise": "rr", "sigma": "classic"}, "sigma is 'classic': it is read with noise 'iid' only"),
        ({"bound": "sqrt_k"}, "bound is 'sqrt_k': it is read with noise 'iid' only"),
        ({"radius": 5.0}, "radius is 5.0: it is read with ridge 'fixed' only"),
        ({"steps": 10}, "steps is 10: it is read with trainer 'hybrid' or 'full_batch' only"),
        ({"trainer": "full_batch", "batch_size": 10}, "batch_size is 10: it is read with trainer 'hybrid' only"),
        ({"noise": "iid", "ridge": "none"}, "ridge is 'none': trainer 'newton' needs one"),
        ({"noise_draws": 1}, "noise_draws is 1: it needs trainer 'newton' and at least 2 draws"),
        ({"audit_draws": 10}, "audit_draws is 10: the audit here is of Gaussian noise"),
        ({"trainer": "hybrid", "steps": 0}, "steps is 0: it must be at least 1"),
        ({"bounded_draws": -1}, "bounded_draws is -1: it must be at least 0"),
    ],
)
def test_walr_options_name_what_is_wrong(options, message):
    with pytest.raises(ConfigError, match=rf"^at\.{message}"):
        build(WalrOptions, options, "at")


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (RoundsOptions, {"rounds": 0}, "rounds is 0: it must be at least 1"),
        (RoundsOptions, {"rate": 1.5}, r"rate is 1.5: it must lie in \(0, 1\]"),
        (LabelSgdOptions, {"learning_rates": []}, "learning_rates is empty: give at least one"),
        (LabelSgdOptions, {"learning_rates": [-1.0]}, r"learning_rates\[0\] is -1.0: it must be a finite number"),
        (
            LabelReferenceOptions,
            {"trainer": "adam"},
            "trainer is 'adam': it must be one of newton, hybrid, full_batch, mini",
        ),
        (LabelReferenceOptions, {"steps": 3}, "steps is 3: it is read with a first-order trainer only"),
        (LabelReferenceOptions, {"ridge": -1.0}, "ridge is -1.0: it must be a finite number of at least 0"),
    ],
)
def test_other_options_name_what_is_wrong(kind, options, message):
    with pytest.raises(ConfigError, match=rf"^at\.{message}"):
        build(kind, options, "at")


BLOCK = {
    "methods": {"auto": {"protocol": "walr"}},
    "cases": {
        "generated": {
            "settings": {"n": 60, "k": 4},
            "grid": {"methods": ["auto"], "replicates": 1, "parties": [2], "folds": 1, "epsilon": [1.0]},
        }
    },
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parties": [3]}, r"cases\.generated\.grid\.parties is \[3\]: it must be \[2\], the trainer"),
        ({"parties": [2, 4]}, r"grid\.parties is \[2, 4\]: it must be \[2\]"),
        ({"folds": 5}, r"grid\.folds is 5: every replicate has its own test rows, so it must be 1"),
        ({"epsilon": [1.0, 1e-10]}, r"grid\.epsilon is 1e-10: it must be at least 1e-09"),
    ],
)
def test_the_study_refuses_contradictions(change, message):
    grid = BLOCK["cases"]["generated"]["grid"] | change
    cases = {"generated": {**BLOCK["cases"]["generated"], "grid": grid}}
    with pytest.raises(ConfigError, match=message):
        plan("label_private", {**BLOCK, "cases": cases}, 1)


def test_spec_names_what_is_wrong():
    unit = "unit is 'user': it must be one of row, label, features, user_label"
    for spec, message in (({"delta": 1.0}, "delta is 1.0"), ({"unit": "user"}, unit)):
        with pytest.raises(ConfigError, match=message):
            plan("label_private", {**BLOCK, "spec": spec}, 1)


def test_a_case_may_have_its_own_delta():
    settings = replace(SMALL, delta=1e-3)
    loose, strict = (run("walr", 1.0, settings=s, noise="iid", ridge="fixed") for s in (settings, SMALL))
    assert loose.total(delta=1e-3).epsilon_certified == pytest.approx(1.0, rel=1e-9)
    assert loose.total(delta=1e-5).epsilon_certified > 1.1
    assert loose.estimate.plan.covariance[0, 0] < strict.estimate.plan.covariance[0, 0]
