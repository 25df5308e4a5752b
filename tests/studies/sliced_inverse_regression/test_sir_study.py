"""The study of sliced inverse regression: protocols, privacy of every cell, what a replicate keeps, refusals."""

from __future__ import annotations

import math
from dataclasses import fields, replace

import numpy as np
import pytest

from fixed import fixed
from partywise.core.errors import ConfigError
from partywise.core.randomness import stream
from partywise.experiment.plan import plan
from partywise.experiment.study import MethodSpec
from partywise.methods.inverse_regression.certified import unwhiten
from partywise.methods.inverse_regression.estimate import aggregate, inverse_root
from partywise.methods.inverse_regression.model import SlicingEstimate
from partywise.methods.inverse_regression.moments import centre, client_moments, whitened_means
from partywise.methods.inverse_regression.options import SlicingCertifiedOptions
from partywise.methods.inverse_regression.protocols import certified
from partywise.methods.inverse_regression.protocols.budgets import CertifiedPlan
from partywise.methods.inverse_regression.protocols.common import ClientFacts, local_moments, noise_sd, with_facts
from partywise.methods.inverse_regression.published import fitted_sigma, prop2_sigma
from partywise.methods.inverse_regression.subspace import projection_loss
from partywise.privacy.accounting.calibration import analytic_gaussian_sigma, gaussian_epsilon, gdp_mu
from partywise.privacy.statistics.clips import BallClip, BoxClip
from partywise.studies.sliced_inverse_regression.data import split
from partywise.studies.sliced_inverse_regression.metrics import printed_entry
from partywise.studies.sliced_inverse_regression.settings import SimulatedSlicingSettings
from pooled import merge
from slicing_driver import fit, records_of, simulated

SMALL = SimulatedSlicingSettings(model="III", n=300, clients=6, p=6)
MANY = SimulatedSlicingSettings(model="V", n=400, clients=8, p=60, active=5, row=500)


@pytest.fixture(scope="module")
def data():
    return simulated(SMALL)


@pytest.fixture(scope="module")
def many():
    return simulated(MANY)


def noise(*names):
    return stream(7, "sir study", "noise", 0, *names)


def records(data, settings, clients):
    return [records_of(data, k, settings).records() for k in range(clients)]


def test_without_noise_any_number_of_clients_is_the_pooled_estimate(data):
    for clients in (1, 3, 6):
        X, y = (np.concatenate(part) for part in zip(*records(data, SMALL, clients), strict=True))
        box = BoxClip(fixed(SMALL.radius))
        for protocol, clip, options in (("reference", None, {"slices": "public"}), ("certified", box, {})):
            about = centre(client_moments(X, y, data.public_slices, clip=clip))
            wanted = aggregate(about.means[None], [1], about.second, 2).basis
            found = fit(protocol, data, SMALL, clients, **options)
            assert projection_loss(found.estimate.basis, wanted) < 1e-12, (clients, protocol)
            assert found.scalars["loss"] == pytest.approx(projection_loss(wanted, data.beta), abs=1e-12)


@pytest.mark.parametrize("clip", ["ball", "box"])
def test_two_rounds_without_noise_are_the_whitened_estimate(data, clip):
    drawn, radius = records(data, SMALL, 4), 3 * SMALL.radius * math.sqrt(6)
    parts = {
        "ball": lambda X, y: client_moments(X, y, data.public_slices, clip=BallClip(fixed(radius))),
        "box": lambda X, y: client_moments(X, y, data.public_slices, clip=BoxClip(fixed(SMALL.radius))),
    }
    merged = merge(parts[clip](X, y) for X, y in drawn)
    mean = merged.means.sum(axis=1)
    covariance = merged.second - np.outer(mean, mean)
    root = fixed(inverse_root(covariance)[0])
    whole = merge(whitened_means(X, y, data.public_slices, root, fixed(1.5), shift=fixed(mean)) for X, y in drawn)
    wanted = unwhiten(np.vstack([whole.means, whole.counts / whole.n])[None], [1], covariance, 2).basis
    found = fit("whitened", data, SMALL, 4, clip=clip)
    assert projection_loss(found.estimate.basis, wanted) < 1e-10
    assert found.scalars["clip_radius"] == (radius if clip == "ball" else None)
    assert 0 < found.scalars["shrunk"] < 1


def test_unclipped_and_classical_references_read_the_records_again(data):
    X, y = (np.concatenate(part) for part in zip(*records(data, SMALL, 6), strict=True))
    plain = centre(client_moments(X, y, data.public_slices))
    wanted = aggregate(plain.means[None], [1], plain.second, 2).basis
    found = fit("reference", data, SMALL, 6, clipped=False, slices="public")
    assert projection_loss(found.estimate.basis, wanted) < 1e-12
    classical = fit("reference", data, SMALL, 6, clipped=False, slices="public", kernel="classical")
    assert 1e-6 < projection_loss(classical.estimate.basis, wanted) < 1


@pytest.mark.parametrize(
    ("protocol", "options"),
    [
        ("published", {"mechanism": "iid"}),
        ("published", {"mechanism": "vgm"}),
        ("certified", {}),
        ("certified", {"second": "mirrored"}),
    ],
)
def test_clients_are_nested_and_their_releases_are_reused(data, protocol, options):
    few, all_of = (fit(protocol, data, SMALL, k, 1.0, **options) for k in (2, 6))
    assert len(few.releases) == 4 and few.releases.items() <= all_of.releases.items()
    assert len(set(all_of.releases.values())) == 12
    other = fit(protocol, data, SMALL, 2, 2.0, **options)
    assert not set(other.releases.values()) & set(few.releases.values())


def test_the_noise_is_one_draw_rescaled_over_epsilon(data):
    """The same standard normals times the sd of each epsilon: the address holds no epsilon."""
    spec = MethodSpec(SlicingCertifiedOptions(calibrate="each"), None, SMALL, data.public())
    client = split(data, 3, None, SMALL)[2]
    drawn = []
    for epsilon in (1.0, 2.0):
        means, second = certified.local_release(client, CertifiedPlan(spec, epsilon), None, noise)
        sds = [noise_sd([release]) for release in (means, second)]
        sensitivity = 2 * math.sqrt(6) / 300
        assert sds[0] == pytest.approx(analytic_gaussian_sigma(epsilon, SMALL.release_delta, sensitivity), rel=1e-9)
        # Proportions, the last row, have another sd.
        means = means.post_process(lambda value: value[:-1])
        moments = local_moments(client, CertifiedPlan(spec, epsilon).view, False, None, True, noise)
        clean = moments.means, moments.second
        drawn.append([(noisy.value - exact) / sd for noisy, exact, sd in zip((means, second), clean, sds, strict=True)])
    for once, twice in zip(*drawn, strict=True):
        # Both are whole numbers of steps of 2^-20, some 10^5 a deviation.
        assert np.allclose(once, twice, rtol=0, atol=1e-4) and np.std(once) > 0.3


def test_epsilon_of_every_cell(data):
    """Published: claimed and never certified.  Certified: below the sum of claims, or exactly it; K does not enter."""
    for mechanism in ("iid", "vgm"):
        done = fit("published", data, SMALL, 3, 1.0, mechanism=mechanism)
        assert done.estimate.epsilon_claimed == 2.0 and done.total().epsilon_certified == math.inf
    # Public slices make a part that is proved; what a client's own slices move rests on the data, so nothing is.
    parts = {
        slices: fit("published", data, SMALL, 3, 1.0, mechanism="iid", slices=slices).total().epsilon_certified_part
        for slices in ("public", "quantile")
    }
    assert parts["public"] < 2.0 and parts["quantile"] == math.inf
    mu = math.sqrt(2) * float(gdp_mu(1.0, SMALL.release_delta))
    assert SMALL.delta == 2 * SMALL.release_delta == 300**-1.1 and SMALL.claimed_delta == 2 * 300**-1.1
    for protocol in ("certified", "whitened"):
        for clients in (1, 6):
            done = fit(protocol, data, SMALL, clients, 1.0, calibrate="each")
            assert done.estimate.epsilon_claimed == 2.0
            assert done.total().epsilon_certified == pytest.approx(gaussian_epsilon(mu, SMALL.delta), rel=1e-9)
        exact = fit(protocol, data, SMALL, 4, 1.0, calibrate="claims")
        assert exact.total().epsilon_certified == pytest.approx(2.0, rel=1e-9)
        exact = fit(protocol, data, SMALL, 4, 1.0)
        assert exact.estimate.epsilon_claimed == 1.0
        assert exact.total().epsilon_certified == pytest.approx(1.0, rel=1e-9)
        assert exact.total("user").epsilon_certified == math.inf
    assert fit("reference", data, SMALL, 2).total().epsilon_certified == math.inf


def test_two_budgets_add_up(data):
    settings = replace(SMALL, epsilon_second=3.0)
    for protocol, options in (("published", {}), ("certified", {"calibrate": "each"})):
        assert fit(protocol, data, settings, 2, 1.0, **options).estimate.epsilon_claimed == 4.0
    exact = fit("certified", data, settings, 2, 1.0, calibrate="claims")
    assert exact.total().epsilon_certified == pytest.approx(4.0, rel=1e-9)
    # The larger epsilon buys the smaller noise, relative to its sensitivity.
    mus = {row.release_id.split(" of ")[0]: row.mu for row in exact.channel.ledger.rows}
    assert mus["second moment"] > 2 * mus["slice means"]


def test_shares_divide_one_epsilon(data, many):
    """The squared parameters of all kinds of release stand in the ratio of the shares; the total is epsilon."""
    for protocol in ("certified", "whitened"):
        done = fit(protocol, data, SMALL, 2, 1.0, second_share=0.8)
        squares = [row.mu**2 for row in done.channel.ledger.rows if row.owner == "client 1" and row.mu]
        assert max(squares) / sum(squares) == pytest.approx(0.8, rel=1e-9)
        assert done.total().epsilon_certified == pytest.approx(1.0, rel=1e-9)
    done = fit("certified", many, MANY, 2, 1.0, screening_share=0.5, rounds=1)
    squares = {row.release_id: row.mu**2 for row in done.channel.ledger.rows if row.owner == "client 1" and row.mu}
    assert squares["contrasts of signs 1 of client 1"] / sum(squares.values()) == pytest.approx(0.5, rel=1e-9)
    assert done.total().epsilon_certified == pytest.approx(1.0, rel=1e-9)


def test_a_certified_release_with_an_unproved_parameter_is_infinite(data):
    done = fit("published", data, SMALL, 1, 1.0, mechanism="iid", slices="public", centre=True)
    assert done.total().epsilon_certified == math.inf
    rows = {row.release_id: row for row in done.channel.ledger.rows}
    assert rows["slice means of client 1"].data_dependent_parameters == ("mean of the records",)
    assert not rows["slice means of client 1"].certified


def test_a_replicate_keeps_moments_and_no_records(data):
    """What a job stores does not grow with n; the clients' records are drawn again, the same."""
    size = {
        n: sum(np.asarray(getattr(simulated(replace(SMALL, n=n)), f.name)).nbytes for f in fields(data))
        for n in (100, 3000)
    }
    assert size[100] == size[3000] < 40_000
    X, y = records(data, SMALL, 2)[1]
    kept = client_moments(X, y, data.public_slices, clip=BoxClip(fixed(1.0)))
    assert np.array_equal(kept.sums, data.sums_fixed[1]) and np.array_equal(kept.gram, data.gram[1])
    prefix = simulated(replace(SMALL, clients=2))
    assert np.array_equal(prefix.sums_own, data.sums_own[:2])


@pytest.mark.parametrize("model", ["II", "V"])
def test_null_columns_have_the_means_that_screening_saw(model):
    """Own and public slices see the same null columns, and records drawn later have exactly these slice means."""
    settings = replace(MANY, model=model)
    data = simulated(settings)
    client = records_of(data, 3, settings)
    chosen = np.array([0, 4, 5, 17, 18, 59])
    X, y = client.records(chosen)
    assert np.array_equal(X[:, :2], client.support_records[0][:, [0, 4]])
    for slices in (client.quantile_slices, data.public_slices):
        means, counts = client.profile(slices)
        codes = slices.codes(y)
        assert np.array_equal(counts, np.bincount(codes, minlength=8))
        for place, column in enumerate(chosen):
            found = np.bincount(codes, weights=X[:, place], minlength=8) / np.maximum(counts, 1)
            assert np.allclose(found, means[column], atol=1e-12), (column, slices.kind)


def test_screening_keeps_the_support_and_is_paid_for(many):
    done = fit("published", many, MANY, 8, 1.0)
    assert done.scalars["support_kept"] == 1 and done.scalars["selected_columns"] == len(done.estimate.columns)
    assert done.estimate.basis.shape == (60, 2) and np.count_nonzero(done.estimate.basis.any(axis=1)) <= 8
    kinds = [message.kind for message in done.channel.messages]
    assert kinds[:16] == ["clear"] * 16
    certified = fit("certified", many, MANY, 8, 1.0, calibrate="claims")
    assert certified.estimate.epsilon_claimed == 3.0
    assert certified.total().epsilon_certified == pytest.approx(3.0, rel=1e-9)
    assert certified.scalars["selected_columns"] == 10
    free = fit("certified", many, MANY, 8)
    assert free.scalars["support_kept"] == 1


@pytest.mark.parametrize("protocol", ["reference", "published"])
def test_columns_that_others_chose_in_the_clear_cost_every_client_what_they_cost_the_server(many, protocol):
    """What goes back is a noise-free function of the rows of all others, never of nobody's."""
    ledger = fit(protocol, many, MANY, 3, 1.0).channel.ledger
    rows = {row.owner: row for row in ledger.rows if row.mechanism == "none" and "columns" in row.release_id.split("/")}
    clients = tuple(f"client {k}" for k in (1, 2, 3))
    assert {owner: row.audience for owner, row in rows.items()} == dict.fromkeys(clients, clients)
    for client in clients:
        assert ledger.total(client, "row", 1e-5).epsilon_certified == math.inf
    if protocol == "reference":
        assert ledger.total((), "row", 1e-5).epsilon_certified == 0  # no message is published
    alone = fit(protocol, many, MANY, 1, 1.0).channel.ledger
    assert alone.total("client 1", "row", 1e-5).epsilon_certified == 0


def test_releases_of_columns_chosen_in_the_clear_are_unproved(many):
    settings = {"mechanism": "iid", "slices": "public"}
    rows = {row.release_id: row for row in fit("published", many, MANY, 2, 1.0, **settings).channel.ledger.rows}
    assert not rows["slice means of client 1"].certified
    few = simulated(SMALL)
    rows = {row.release_id: row for row in fit("published", few, SMALL, 2, 1.0, **settings).channel.ledger.rows}
    assert rows["slice means of client 1"].certified


def test_a_threshold_that_nothing_passes_is_completed_and_said(many):
    done = fit("published", many, MANY, 2, 1.0, screen="threshold", threshold=50.0)
    assert done.scalars["completed"] is True and done.scalars["selected_columns"] == 2
    loose = fit("published", many, MANY, 2, 1.0, screen="threshold", threshold=0.4)
    assert loose.scalars["completed"] is False and loose.scalars["selected_columns"] >= 2


def test_the_cell_carries_what_the_source_printed(data, many):
    settings = SimulatedSlicingSettings(model="I", n=500, clients=10, row=500)
    done = fit("published", simulated(settings), settings, 10, 2.0, mechanism="iid")
    entry = printed_entry(2.0, "I", 500, "FSIR-IID", 10)
    assert (done.scalars["paper_mean"], done.scalars["paper_bracket"]) == (entry.mean, entry.bracket)
    assert fit("published", many, MANY, 1, 1.0).scalars["paper_mean"] == 1.902
    assert "paper_mean" not in fit("published", many, MANY, 8, 1.0).scalars
    assert "paper_mean" not in fit("certified", many, MANY, 1, 1.0).scalars
    assert "paper_mean" not in fit("published", data, SMALL, 1, 1.0).scalars


def test_published_options_do_what_they_say(data):
    base = fit("published", data, SMALL, 4, 1.0)
    for change in (
        {"aggregation": "mean"},
        {"cov_scale": 1.0},
        {"cov_clipped": False},
        {"slices": "public"},
        {"centre": True},
        {"vgm_variance": "printed"},
    ):
        assert fit("published", data, SMALL, 4, 1.0, **change).scalars["loss"] != base.scalars["loss"], change
    for variance, formula in (
        ("prop2", prop2_sigma(300, 6, 1.0, 1.0, 300**-1.1)),
        ("fitted", fitted_sigma(300, 1.0, 300**-1.1)),
    ):
        done = fit("published", data, SMALL, 4, 1.0, mechanism="iid", iid_variance=variance)
        assert done.scalars["sd_means"] == formula
    with pytest.raises(ValueError, match=r"gap_sign='printed': .* the smallest v_j is"):
        fit("published", data, SMALL, 1, 1.0, gap_sign="printed")
    gaps = fit("published", data, SMALL, 4, 8.0, dimension="eigengap")
    assert gaps.estimate.basis.shape[0] == 6


def test_small_clients_stay_silent_by_public_numbers(data):
    done = fit("published", data, SMALL, 3, 1.0, sigma0=1.0)
    assert done.scalars["skipped_clients"] == 0
    with pytest.raises(ValueError, match="all were skipped"):
        fit("published", data, SMALL, 3, 1.0, sigma0=1e-4)


def test_linear_discriminants_come_from_the_same_releases():
    settings = SimulatedSlicingSettings(model="I", n=400, clients=5)
    data = simulated(settings)
    lda, sir = (fit("published", data, settings, 5, 1.0, estimator=name) for name in ("lda", "sir"))
    assert lda.releases == sir.releases and lda.scalars["loss"] != sir.scalars["loss"]
    free = fit("reference", data, settings, 5, estimator="lda")
    assert free.scalars["loss"] < 0.4 and len(data.sums_own) == 0


def test_noise_that_leaves_nothing_is_a_failed_cell_and_not_a_dropped_one():
    settings = SimulatedSlicingSettings(model="III", n=20, clients=1, p=2, delta_power=1.5)
    data = simulated(settings)
    failed = [fit("certified", data, settings, 1, 0.001, replicate=r).scalars for r in range(40)]
    bad = [scalars for scalars in failed if scalars.get("diverged")]
    assert 2 <= len(bad) <= 20
    for scalars in bad:
        assert "loss" not in scalars and scalars["indefinite"]
    assert all(math.isfinite(scalars["loss"]) for scalars in failed if scalars not in bad)


FLIGHTS = {"source": "dataset", "settings": {"dataset": "flights"}}
ACTIVITY = {"source": "dataset", "settings": {"dataset": "activity", "screen": True}}
CASE = {"source": "simulated", "settings": {"model": "III", "n": 300, "clients": 4}}
GRID = {"methods": ["one"], "replicates": 1, "parties": [2], "folds": 1, "epsilon": [1.0]}


def refused(method, case=CASE, **grid):
    block = {"methods": {"one": method}, "cases": {"only": {**case, "grid": GRID | grid}}}
    with pytest.raises(ConfigError) as told:
        plan("sliced_inverse_regression", block, 1)
    return str(told.value)


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ({"slices": "quantile"}, "'quantile edges' has no certificate: one response can move"),
        ({"screen": "top_s"}, "'ccmd' has no certificate: index sets carry no noise"),
        ({"norm": "largest"}, "'largest norm' has no certificate: c_R"),
        ({"mechanism": "vgm"}, "'vgm' has no certificate: its covariance is made of"),
        ({"dimension": "eigengap"}, "'eigengap' has no certificate: the dimension is chosen"),
        ({"centre": True}, "'sample centring' has no certificate: certified protocols centre"),
    ],
)
@pytest.mark.parametrize("protocol", ["certified", "whitened"])
def test_what_has_no_proof_is_refused_before_any_job(protocol, option, reason):
    assert reason in refused({"protocol": protocol, **option})


@pytest.mark.parametrize(
    ("method", "case", "grid", "reason"),
    [
        ({"protocol": "published"}, CASE, {"parties": [5]}, "grid.parties is 5: the case has 4 clients"),
        ({"protocol": "published"}, CASE, {"folds": 2}, "grid.folds is 2: nothing is held out, so it must be 1"),
        ({"protocol": "published", "estimator": "lda"}, CASE, {}, "the case has 8 classes, not 2"),
        ({"protocol": "certified", "max_size": 4}, CASE, {}, "the case has no columns to screen"),
        ({"protocol": "published", "gap_sign": "up"}, CASE, {}, "gap_sign is 'up': it must be one of"),
        (
            {"protocol": "published", "mechanism": "iid", "vgm_variance": "printed"},
            CASE,
            {},
            "it is read with mechanism",
        ),
        ({"protocol": "published", "threshold": 0.1}, CASE, {}, "screen 'threshold' needs it"),
        ({"protocol": "whitened", "ball": 0.0}, CASE, {}, "ball is 0.0: it must be a positive finite number"),
        ({"protocol": "whitened", "reach": -1.0}, CASE, {}, "reach is -1.0: it must be a positive finite number"),
        ({"protocol": "whitened", "clip": "cube"}, CASE, {}, "clip is 'cube': it must be"),
        (
            {"protocol": "whitened", "clip": "box", "reach": 1.0},
            CASE,
            {},
            "reach is 1.0: it is read with clip",
        ),
        ({"protocol": "whitened", "second": "mirrored"}, CASE, {}, "second is unknown: did you mean second_share?"),
        ({"protocol": "published"}, CASE | {"settings": {"model": "VI"}}, {}, "model is 'VI'"),
        ({"protocol": "published"}, CASE | {"settings": {"radius": -1.0}}, {}, "radius is -1.0"),
        ({"protocol": "published"}, CASE | {"settings": {"model": "III", "n_slices": 2}}, {}, "n_slices"),
        ({"protocol": "published"}, CASE | {"settings": {"p": 8, "active": 8}}, {}, "active is 8"),
        (
            {"protocol": "certified", "calibrate": "each", "second_share": 0.7},
            CASE,
            {},
            "second_share is 0.7: it is read with calibrate 'total'",
        ),
        ({"protocol": "certified", "screening_share": 0.2}, CASE, {}, "with screening_share 0.2: the case has no col"),
        (
            {"protocol": "whitened"},
            CASE | {"settings": {"epsilon_second": 3.0}},
            {},
            "epsilon_second is 3: with calibrate 'total' epsilon is that of all releases together; give second_share",
        ),
        ({"protocol": "whitened", "screening": "votes"}, CASE, {}, "with screening votes: the case has no columns"),
        ({"protocol": "certified", "rounds": 1}, CASE, {}, "with rounds 1: the case has no columns to screen"),
        ({"protocol": "whitened"}, ACTIVITY, {}, "the true support is unknown, so give max_size"),
        ({"protocol": "published"}, ACTIVITY, {}, "the true support is unknown, so give top"),
        ({"protocol": "certified"}, ACTIVITY, {}, "the true support is unknown, so give max_size"),
        ({"protocol": "published", "top": 5}, ACTIVITY, {"parties": [11]}, "the case has 10 clients"),
        (
            {"protocol": "reference"},
            FLIGHTS | {"settings": {"dataset": "flights", "edges": [5, 1]}},
            {},
            "edges is [5.0, 1.0]: give increasing numbers",
        ),
        ({"protocol": "reference"}, FLIGHTS | {"settings": {"dataset": "hmda", "edges": [0.5]}}, {}, "has 2 classes"),
        (
            {"protocol": "reference"},
            FLIGHTS | {"settings": {"dataset": "activity", "n_slices": 3}},
            {},
            "n_slices is 3: dataset 'activity' has 7 classes; leave it out",
        ),
        (
            {"protocol": "reference"},
            FLIGHTS | {"settings": {"dataset": "flights", "edges": [5], "n_slices": 3}},
            {},
            "n_slices is 3 and edges is [5.0]: give one of them",
        ),
        (
            {"protocol": "reference"},
            FLIGHTS | {"settings": {"dataset": "flights", "n": 5117}},
            {},
            "n is 5117: each of 11 clients has 5116 records of dataset 'flights'; give fewer",
        ),
        ({"protocol": "reference"}, FLIGHTS, {"parties": [12]}, "the case has 11 clients"),
        (
            {"protocol": "reference"},
            {"source": "flights"},
            {},
            "source is 'flights': write source: dataset now, with settings: {dataset: flights, n: 5000}",
        ),
        (
            {"protocol": "reference"},
            {"source": "activity"},
            {},
            "source is 'activity': write source: dataset now, with settings: {dataset: activity, screen: true,",
        ),
    ],
)
def test_contradictions_are_one_sentence_each(method, case, grid, reason):
    assert reason in refused(method, case, **grid)


@pytest.mark.parametrize("screening", ["signs", "slice means"])
@pytest.mark.parametrize("model", ["III", "IV"])
def test_records_without_a_choice_of_columns_are_all_columns(model, screening):
    """A method that screens nothing was handed the true support: 5 of 100 columns."""
    settings = SimulatedSlicingSettings(model=model, n=200, clients=2, p=100, active=5)
    client = records_of(simulated(settings), 1, settings, screening)
    X, y = client.records()
    assert X.shape == (200, 100) and client.moments(quantile=False).p == 100
    chosen = np.array([0, 3, 7, 60, 99])
    some, responses = records_of(simulated(settings), 1, settings, screening).records(chosen)
    assert np.array_equal(y, responses) and np.array_equal(X[:, :5], client.support_records[0])
    if screening == "signs":
        assert np.array_equal(X[:, chosen], some)
        assert np.array_equal(np.sign(X).sum(axis=0), client.sign_sums().sum(axis=0))
    else:
        assert np.allclose(X[:, chosen].mean(axis=0), some.mean(axis=0), atol=1e-12)
    assert abs(X[:, 5:].mean()) < 0.05 and abs(X[:, 5:].std() - 1) < 0.05


def test_clipped_shares_of_clients_weigh_as_their_records():
    facts = {name: ClientFacts(share, np.array([True, True]), ()) for name, share in (("a", 0.1), ("b", 0.5))}
    made = with_facts(SlicingEstimate(np.eye(2), 1.0, 1.0, 2), facts, (100, 300))
    assert made.numbers == {"entry_clip_share": pytest.approx(0.4)}


def test_a_clipped_share_is_that_of_the_entries_of_this_fit(data, many):
    """Whitened records are shrunk to a ball: the share of the box, of another method, stood in its column."""
    records_ = [client.block["clip_share"] for client in data.clients]
    for protocol, options in (("certified", {}), ("whitened", {"clip": "box"}), ("published", {})):
        found = fit(protocol, data, SMALL, 4, 1.0, **options).scalars["entry_clip_share"]
        assert found == pytest.approx(np.mean(records_[:4])) and 0 < found < 1
    assert "entry_clip_share" not in fit("whitened", data, SMALL, 4, 1.0).scalars
    assert "entry_clip_share" not in fit("reference", data, SMALL, 4).scalars
    done = fit("certified", many, MANY, 2, 1.0)
    drawn = [records_of(many, k, MANY, "signs").records(done.estimate.columns)[0] for k in range(2)]
    assert done.scalars["entry_clip_share"] == pytest.approx(np.mean(np.abs(drawn) > MANY.radius))
