"""Several holders of labels of disjoint rows: nobody is trusted with a label or with the noise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from label_driver import SMALL, make_data, rng_for, run
from partywise import LabelPrivateLogisticRegression
from partywise.core.errors import ConfigError
from partywise.core.randomness import stream
from partywise.experiment.configuration.build import build
from partywise.experiment.plan import plan
from partywise.experiment.study import MethodSpec
from partywise.federation import run as federation
from partywise.federation.folds import Fold
from partywise.methods.logistic.model import dot_product
from partywise.methods.logistic.options import BucketsOptions, WalrOptions
from partywise.studies.label_private import data as study_data
from partywise.studies.label_private.study import STUDY, LabelConstants

K, COLLUDERS = 5, 1
METHODS = {
    "shaped": ("walr", {"noise": "shaped"}),
    "sqrt_k": ("walr", {"noise": "iid", "ridge": "fixed", "bound": "sqrt_k"}),
    "declared": ("walr", {"noise": "iid", "ridge": "fixed", "bound": "declared", "row_radius": 2.0}),
    "buckets": ("buckets", {"bins": 3}),
    "planned buckets": ("buckets", {"bins": 3, "shape": "planned"}),
}


def execution(protocol: str, epsilon: float, replicate: int = 0, *, record: bool = False, data=None, **options):
    """A run of K holders of labels and its data."""
    data = make_data(SMALL, 0) if data is None else data
    chosen = STUDY.methods[protocol]
    spec = MethodSpec(chosen.options(holders="rows", **options), LabelConstants(), SMALL, data.public())
    parties = study_data.split(data, K + 1, LabelConstants(), SMALL)
    fold = Fold(study_data.folds(data, 1, SMALL), 0, 1)
    noise = rng_for("noise", replicate)
    places = spec.options.places
    run_of_all = federation.Run(
        parties, epsilon=epsilon, fold=fold, rng_for=noise, spec=spec, extra=places, record=record
    )
    return run_of_all, federation.simulate(chosen.fit, run_of_all), data


@pytest.mark.parametrize("name", METHODS)
def test_the_certified_epsilon_against_a_colluder_is_the_target(name):
    protocol, options = METHODS[name]
    made, estimate, _ = execution(protocol, 1.0, **options)
    total = made.channel.ledger.worst_total(made.channel.names, "label", 1e-5)
    assert 1 - 1e-9 < total.epsilon_certified <= 1 and total.trust_model == "distributed" and total.colluders == 1
    (event,) = [event for event in made.channel.ledger.rows if event.mu]
    assert event.exact and dict(event.shares) == {f"measurer {k}": "1/4" for k in range(1, K + 1)}
    assert estimate.epsilon_claimed == 1.0


@pytest.mark.parametrize("name", METHODS)
def test_without_noise_the_sum_of_all_holders_is_that_of_one(name):
    protocol, options = METHODS[name]
    _, estimate, data = execution(protocol, math.inf, **options)
    X, y = data.training
    radius = options.get("row_radius", math.inf)
    X = X / np.maximum(1, np.linalg.norm(X, axis=1) / radius)[:, None]
    np.testing.assert_allclose(estimate.noisy_dot, dot_product(estimate.design(X), y), atol=2e-6)


def test_every_training_label_is_with_one_holder():
    data = make_data()
    _, *holders = study_data.split(data, K + 1, LabelConstants(), SMALL)
    rows = np.concatenate([holder.block["rows"] for holder in holders])
    assert sorted(rows.tolist()) == list(range(len(data.y)))
    for holder in holders:
        np.testing.assert_array_equal(holder.block["y"], data.labels[holder.block["rows"]])


def test_the_noise_of_five_with_one_colluder_is_wider_by_the_root_of_five_quarters():
    """The law of a sum of shares: 300 draws of 6 entries, whitened by that of one measurer."""
    data, whitened = make_data(), []
    X, y = data.training
    one = run("walr", 1.0, data=data, noise="shaped").estimate.plan
    root = np.linalg.cholesky(one.covariance)
    for replicate in range(300):
        _, estimate, _ = execution("walr", 1.0, replicate, data=data, noise="iid", ridge="fixed", bound="sqrt_k")
        off = estimate.noisy_dot - dot_product(X, y)
        whitened.append(off / np.sqrt(np.diagonal(estimate.plan.covariance)))
    spread = np.var(whitened)
    assert root.shape == (6, 6) and spread == pytest.approx(1.0, abs=4 * math.sqrt(2 / np.size(whitened)))
    alone = run("walr", 1.0, data=data, noise="iid", ridge="fixed", bound="sqrt_k").estimate.plan
    assert estimate.plan.deviation / alone.deviation == pytest.approx(math.sqrt(5 / 4), rel=1e-12)


@pytest.mark.parametrize(
    ("protocol", "options"),
    [("walr", {"noise": "iid", "ridge": "fixed", "bound": "sqrt_k"}), ("buckets", {"bins": 3, "ridge": "fixed"})],
)
@pytest.mark.parametrize("colluders", [1, 3])
def test_a_fixed_ridge_follows_the_noise_of_all_holders_together(protocol, options, colluders):
    """Sigma sqrt(k) / radius of the noise that the opened sum has: its variance is 5/4 or 5/2 times one measurer's."""
    data = make_data()
    _, several, _ = execution(protocol, 1.0, data=data, colluders=colluders, radius=4.0, **options)
    alone = run(protocol, 1.0, data=data, radius=4.0, **options).estimate.plan
    wider = math.sqrt(K / (K - colluders))
    np.testing.assert_allclose(several.plan.ridge, wider * alone.ridge, rtol=1e-12)
    sigma = float(np.sqrt(several.plan.covariance[0, 0]))
    assert several.plan.ridge[-1] == pytest.approx(sigma * math.sqrt(len(several.theta)) / 4.0, rel=1e-12)


def test_words_under_masks_give_the_same_bits_and_show_nothing_of_a_holder():
    made, estimate, _ = execution("walr", 1.0, record=True, noise="shaped")
    plain, same, _ = execution("walr", 1.0, noise="shaped")
    np.testing.assert_array_equal(estimate.noisy_dot, same.noisy_dot)
    np.testing.assert_array_equal(estimate.theta, same.theta)
    words = [message for message in made.channel.messages if message.name == "dot-product"]
    assert {message.kind for message in words} == {"cipher"} and {m.receiver for m in words} == {"server"}
    assert [m.receiver for m in plain.channel.messages if m.sender == "server"].count("trainer") == 1


def test_a_server_opens_whole_numbers_and_the_consumer_divides():
    """What crosses is N times the dot-product in public steps: words of whole numbers."""
    made, estimate, data = execution("buckets", 1.0, record=True, bins=3)
    n = len(data.training[1])
    counts = estimate.noisy_dot * n
    (event,) = [event for event in made.channel.ledger.rows if event.mu]
    bits = int(event.certificate.rpartition("finer by ")[2].split()[0])
    assert np.allclose(counts * 2**bits, np.rint(counts * 2**bits), atol=1e-6)
    assert event.sensitivity == pytest.approx(math.sqrt(6) / n, rel=1e-12), "five tables and the total"


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (WalrOptions, {"holders": "rows"}, "holders is 'rows' with noise 'auto'"),
        (WalrOptions, {"holders": "rows", "noise": "rr"}, "holders is 'rows' with noise 'rr'"),
        (
            WalrOptions,
            {"holders": "rows", "noise": "iid", "ridge": "fixed"},
            "holders is 'rows' with noise 'iid' and b",
        ),
        (WalrOptions, {"colluders": 2}, "colluders is 2: it is read with holders 'rows' only"),
        (BucketsOptions, {"holders": "several"}, "holders is 'several': it must be one of one, rows"),
    ],
)
def test_options_of_holders_name_what_is_wrong(kind, options, message):
    with pytest.raises(ConfigError, match=rf"^at\.{message}"):
        build(kind, options, "at")


def test_a_method_of_one_measurer_is_refused_where_several_hold_labels():
    methods = {"one": {"protocol": "walr"}, "rows": {"protocol": "buckets", "holders": "rows"}}
    grid = {"replicates": 1, "parties": [6], "folds": 1, "epsilon": [1.0]}
    case = {"settings": {"n": 60, "k": 4}, "grid": grid | {"methods": ["rows"]}}
    assert plan("label_private", {"methods": methods, "cases": {"generated": case}}, 1).cases["generated"].parties == (
        6,
    )
    case = {**case, "grid": grid | {"methods": ["one", "rows"]}}
    with pytest.raises(ConfigError, match=r"it must be \[2\], the trainer .* of method one; generated and shipped"):
        plan("label_private", {"methods": methods, "cases": {"generated": case}}, 1)


def test_the_estimator_takes_several_holders_of_labels():
    X = stream(1, "records").uniform(size=(2000, 2))
    y = (X[:, 0] > 0.5).astype(int)
    names = ("shop", "north", "south", "west")
    model = LabelPrivateLogisticRegression(noise="shaped", holders="rows", epsilon=2.0, random_state=7, parties=names)
    assert model.fit(X, y).score(X, y) > 0.8 and model.privacy_.epsilon_certified <= 2
    assert "server" in {row["receiver"] for row in model.transcript_}
    with pytest.raises(ValueError, match=r"give two names.*more holders of labels with holders='rows'"):
        LabelPrivateLogisticRegression(epsilon=2.0, random_state=7).fit(X, y, parties=names)
