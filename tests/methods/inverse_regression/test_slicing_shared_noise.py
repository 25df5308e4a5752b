"""Sums of all clients with noise in shares: what one trusted server would release, at the delta of all records."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from partywise.audits.replay import compare, distance, record, replay
from partywise.core.errors import PartyError
from partywise.core.randomness import Streams
from partywise.experiment.study import MethodSpec
from partywise.federation.estimators.inputs import party
from partywise.federation.folds import Fold
from partywise.federation.run import Run, simulate
from partywise.methods.inverse_regression.certified import reach_of
from partywise.methods.inverse_regression.model import SlicingFacts
from partywise.methods.inverse_regression.options import SlicingCertifiedOptions, WhitenedOptions
from partywise.methods.inverse_regression.protocols.budgets import CertifiedPlan
from partywise.methods.inverse_regression.protocols.noise_shares import local_check
from partywise.methods.inverse_regression.slices import public_slices
from partywise.methods.inverse_regression.subspace import projection_loss
from partywise.privacy.accounted_values import Public
from partywise.privacy.ledger.event import SEVERAL
from partywise.studies.sliced_inverse_regression.settings import SimulatedSlicingSettings
from slicing_driver import STUDY, fit, run_of, simulated

SMALL = SimulatedSlicingSettings(model="III", n=300, clients=4, p=6, n_slices=4)
MANY = SimulatedSlicingSettings(model="III", n=300, clients=3, p=24, active=4)
WAYS = [
    ("certified", SMALL, {}),
    ("certified", SMALL, {"second": "mirrored"}),
    ("whitened", SMALL, {"clip": "box"}),
    ("certified", MANY, {}),
    ("certified", MANY, {"rounds": 1}),
    ("whitened", MANY, {}),
    ("certified", MANY, {"screening": "votes"}),
]


@pytest.mark.parametrize(("protocol", "settings", "options"), WAYS)
def test_without_noise_sums_over_clients_give_the_fit_that_their_own_releases_give(protocol, settings, options):
    """Whole numbers are added by whoever adds them: the same columns stay, and the same subspace is found."""
    data = simulated(settings)
    own, all_ = (fit(protocol, data, settings, 3, noise=noise, **options) for noise in ("local", "shared"))
    np.testing.assert_array_equal(own.estimate.columns, all_.estimate.columns)
    assert projection_loss(own.estimate.basis, all_.estimate.basis) < 1e-9
    for name in ("entry_clip_share", "shrunk", "skipped_clients"):
        assert own.estimate.numbers.get(name) == pytest.approx(all_.estimate.numbers.get(name))


@pytest.mark.parametrize(("protocol", "settings", "options"), WAYS)
@pytest.mark.parametrize(("clients", "colluders"), [(3, 1), (3, 2), (1, 1)])
def test_the_ledger_has_the_target_against_the_declared_colluders_at_the_delta_of_all(
    protocol, settings, options, clients, colluders
):
    done = fit(protocol, simulated(settings), settings, clients, 2.0, noise="shared", colluders=colluders, **options)
    delta = float(clients * 300) ** -1.1
    total = done.channel.ledger.worst_total(done.channel.names, "row", delta)
    assert total.epsilon_certified == pytest.approx(2.0, abs=1e-6) == done.estimate.epsilon_claimed
    assert total.colluders == min(colluders, clients - 1)
    if clients > 1:
        assert total.epsilon_public < 2.0 <= total.epsilon_any * (1 + 1e-9)
    noisy = [row for row in done.channel.ledger.rows if row.shares]
    names = tuple(party for party in done.channel.names if party != "server")
    assert {row.owners for row in noisy} == {names} and {row.owner for row in noisy} == {SEVERAL}
    assert {row.stratum for row in noisy} == {"*"}
    honest = clients - min(colluders, clients - 1)
    assert {weight for row in noisy for weight in row.weights.values()} == {Fraction(1, honest)}
    assert done.scalars["n_protected"] == clients * 300
    # Nobody but the server opens anything, and it opens sums only.
    crossed = {message.name for message in done.channel.messages if message.kind == "cipher"}
    assert {row.release_id for row in noisy} == crossed


@pytest.mark.parametrize("clients", [2, 4])
def test_a_sum_has_the_noise_that_its_numbers_say(clients):
    """The deviation that is reported is that of all shares: K / (K - 1) times the variance of the honest ones."""
    data = simulated(SMALL)
    exact, noisy = (run_of("certified", data, SMALL, clients, eps, noise="shared") for eps in (math.inf, 1.0))
    found = simulate(STUDY.methods["certified"].fit, noisy)
    row = next(row for row in noisy.channel.ledger.rows if row.release_id == "slice means")
    assert row.sensitivity == pytest.approx(2 * math.sqrt(6) / (300 * clients), rel=1e-5)
    assert found.numbers["sd_means"] == pytest.approx(row.sensitivity / row.mu * math.sqrt(clients / (clients - 1)))
    assert simulate(STUDY.methods["certified"].fit, exact).numbers["sd_means"] == 0.0


def test_delta_and_the_ball_follow_all_records():
    spec = run_of("whitened", simulated(SMALL), SMALL, 4, 1.0, noise="shared").spec
    plan, own = CertifiedPlan.of(spec, 1.0, 4), CertifiedPlan(replace(spec, options=WhitenedOptions()), 1.0)
    assert plan.spec.settings.delta == pytest.approx(1200.0**-1.1, rel=1e-12) and own.spec.settings.delta == 300**-1.1
    assert plan.variance(4) == pytest.approx(4 / 3) and own.variance(4) == 4
    assert reach_of(6, 1200, 4 / 3, 0.3) > reach_of(6, 1200, 4, 0.3)
    # A claim at the same target has the larger budget for each record where delta is smaller for more of them.
    assert plan.budget["means"] != own.budget["means"]


def test_options_that_sums_do_not_serve_are_refused():
    for aggregation in ("kernel", "projector"):
        with pytest.raises(ValueError, match=f"aggregation is '{aggregation}': it needs the matrix of every client"):
            SlicingCertifiedOptions(noise="shared", aggregation=aggregation)
    for options in (SlicingCertifiedOptions, WhitenedOptions):
        with pytest.raises(ValueError, match="colluders"):
            options(colluders=2)
        assert options(noise="shared", colluders=2).shares_noise


def test_a_client_with_another_number_of_records_than_is_public_ends_the_run_before_its_key_leaves():
    run = run_of("certified", simulated(SMALL), SMALL, 3, 1.0, noise="shared")
    plan, client = CertifiedPlan.of(run.spec, 1.0, 3), run.parties[1]
    local_check(client, plan)
    local_check(replace(client, block={"y": np.zeros(300)}), plan)
    with pytest.raises(PartyError, match="'client 2' has another number of records than is public"):
        local_check(replace(client, block={"y": np.zeros(299)}), plan)
    assert not run.channel.messages


def test_a_covariance_that_whitens_nothing_changes_no_message(monkeypatch):
    from partywise.methods.inverse_regression.protocols import whitened, whitening

    data = simulated(SMALL)
    usual = fit("whitened", data, SMALL, 3, 1.0, noise="shared")
    for module in (whitened, whitening):
        monkeypatch.setattr(module, "whitens", lambda covariance: False)
    failed = fit("whitened", data, SMALL, 3, 1.0, noise="shared")
    sizes = [[(m.name, m.sender, m.bytes) for m in done.channel.messages] for done in (usual, failed)]
    assert sizes[0] == sizes[1] and np.all(np.isnan(failed.estimate.basis))


def channel_of(protocol, X, y):
    """The channel of a fit of records that clients hold as arrays, with the contents of its messages."""
    parties = [party(f"client {k + 1}", "client", X=X[k::3], y=y[k::3]) for k in range(3)]
    slices = public_slices(Public(np.array([-0.7, 0.0, 0.7]), because="a test"))
    public = SlicingFacts(tuple(one.name for one in parties), (100,) * 3, 4, 4, 1, slices)
    chosen = STUDY.methods[protocol]
    spec = MethodSpec(chosen.options(noise="shared"), STUDY.spec(), replace(SMALL, n=100, p=4), public)
    more = {"rng_for": Streams(5, "replay"), "spec": spec, "extra": chosen.extra, "record": True}
    run = Run(parties, epsilon=1.0, fold=Fold(np.zeros(3, dtype=int), 0, 1), **more)
    simulate(chosen.fit, run)
    return run.channel


@pytest.mark.parametrize("protocol", ["certified", "whitened"])
def test_a_neighbour_moves_every_sum_by_its_certificate_at_most(protocol):
    """Replay with the releases of the first run: the integers without noise are compared, the messages are alike."""
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(300, 4)), rng.normal(size=300)
    tape = record(lambda: channel_of(protocol, X, y))
    assert {call.event.owner for call in tape.calls} == {SEVERAL} and len(tape.calls) == 2
    largest = [0.0, 0.0]
    for corner, response in ((5.0, 2.0), (-5.0, -2.0), (np.array([5.0, -5.0, 5.0, -5.0]), 0.1)):
        moved, answers = X.copy(), y.copy()
        moved[7], answers[7] = corner, response
        second = replay(lambda X=moved, y=answers: channel_of(protocol, X, y), tape)
        compare(tape, second, "row")
        both = zip(tape.calls, second.calls, strict=True)
        found = [distance(one.bounded, other.bounded) / one.bounded.certificate.value for one, other in both]
        largest = [max(pair) for pair in zip(largest, found, strict=True)]
    assert min(largest) > 0.3
