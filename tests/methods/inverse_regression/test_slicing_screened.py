"""Certified screening as both protocols do it: what crosses, what it costs, which records are read, refusals."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from fixed import fixed
from partywise.core.errors import ConfigError
from partywise.core.randomness import Streams, stream
from partywise.experiment.plan import plan
from partywise.experiment.study import MethodSpec
from partywise.federation.parties import Party
from partywise.methods.inverse_regression.model import SlicingFacts
from partywise.methods.inverse_regression.moments import client_moments
from partywise.methods.inverse_regression.options import SlicingCertifiedOptions
from partywise.methods.inverse_regression.protocols import screening as screened
from partywise.methods.inverse_regression.protocols.budgets import (
    FIRST_SHARE,
    CertifiedPlan,
    calibrated_epsilons,
    screening_rounds,
)
from partywise.methods.inverse_regression.protocols.certified import local_release
from partywise.methods.inverse_regression.protocols.common import local_records
from partywise.methods.inverse_regression.screening import (
    MEAN_WEIGHT,
    contrasts,
    peeling_scores,
    picked_ranks,
    sign_sums,
)
from partywise.methods.inverse_regression.slices import class_slices
from partywise.privacy.accounting.calibration import gaussian_epsilon, gdp_mu
from partywise.privacy.statistics.clips import BoxClip
from partywise.studies.sliced_inverse_regression.data import split
from partywise.studies.sliced_inverse_regression.settings import SimulatedSlicingSettings, SlicingDatasetSettings
from slicing_driver import fit, records_of, simulated

MANY = SimulatedSlicingSettings(model="V", n=400, clients=8, p=60, active=5)
CHAIN = replace(MANY, model="IV")
PROTOCOLS = ("certified", "whitened")
WAYS = ({}, {"rounds": 1}, {"screening": "votes"})


@pytest.fixture(scope="module")
def many():
    return {settings.model: simulated(settings) for settings in (MANY, CHAIN)}


def noise(*names):
    return stream(7, "slicing screened", *names)


def spec_of(data, settings=MANY, **options):
    return MethodSpec(SlicingCertifiedOptions(**options), None, settings, data.public())


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_crosses(many, protocol):
    """Two rounds of contrasts and the columns that stay, then releases of T columns: nothing in the clear."""
    done = fit(protocol, many["V"], MANY, 2, 1.0)
    seen = [(m.receiver == "server", m.name, m.kind, m.shape) for m in done.channel.messages]
    up, down = (True, "contrasts of signs", "release"), (False, "columns", "release")
    expected = [(*up, (3, 61))] * 2 + [(*down, (15,))] * 2 + [(*up, (3, 16))] * 2 + [(*down, (10,))] * 2
    assert seen[:8] == expected
    assert {m.kind for m in done.channel.messages} == {"release"}
    made_of = {row.release_id: row.data_dependent_parameters for row in done.channel.ledger.rows}
    first, second = ([f"contrasts of signs {t} of client {k}" for k in (1, 2)] for t in (1, 2))
    assert made_of["columns of round 1"] == tuple(first)
    assert made_of["columns of round 2"] == (*first, *second)
    shapes = {"certified": {(11, 8), (10, 10)}, "whitened": {(11, 8), (11, 10)}}
    assert {m.shape for m in done.channel.messages[8:]} == shapes[protocol]
    rows = [row for row in done.channel.ledger.rows if row.release_id.startswith("contrasts of signs")]
    # Contrasts of 1 / sqrt(2), in whole steps of 2^-16.
    longest = math.sqrt(2) * round(2**16 / math.sqrt(2)) / 2**16
    assert [row.sensitivity for row in rows] == pytest.approx(
        [2 * longest * math.sqrt(q * (1 + MEAN_WEIGHT**2)) / 400 for q in (60, 60, 15, 15)], rel=1e-12
    )
    votes = fit(protocol, many["V"], MANY, 2, 1.0, screening="votes")
    assert [m.name for m in votes.channel.messages[:4]] == ["votes"] * 2 + ["columns"] * 2
    assert votes.channel.messages[0].shape == (60,)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_every_way_to_screen_costs_the_same(many, protocol, way):
    """The composition of all releases, the sum of the claims, or epsilon itself; none knows the number of clients."""
    mu = math.sqrt(3) * float(gdp_mu(1.0, MANY.release_delta))
    for clients in (1, 8):
        done = fit(protocol, many["V"], MANY, clients, 1.0, calibrate="each", **way)
        assert done.estimate.epsilon_claimed == 3.0 and done.delta == 400**-1.1 < 1 / 400
        assert done.total().epsilon_certified == pytest.approx(gaussian_epsilon(mu, MANY.delta), rel=1e-9)
    for calibrate, total in (("claims", 3.0), ("total", 1.0)):
        exact = fit(protocol, many["V"], MANY, 2, 1.0, calibrate=calibrate, **way)
        assert exact.estimate.epsilon_claimed == total
        assert exact.total().epsilon_certified == pytest.approx(total, rel=1e-9)
    assert fit(protocol, many["V"], MANY, 2, **way).total().epsilon_certified == math.inf


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_picks_take_what_is_left_of_the_total(many, protocol):
    """Picks of a client before anything else, each of the largest range at which all of them cost the total."""
    for calibrate, together, picks in (("total", 1.0, {}), ("total", 1.0, {"picks": 10}), ("claims", 3.0, {})):
        done = fit(protocol, many["V"], MANY, 2, 1.0, screening="peeling", calibrate=calibrate, **picks)
        rows = [row for row in done.channel.ledger.rows if row.mechanism == "report_noisy_max"]
        assert [(row.owner, row.count, row.range) for row in rows] == [
            (f"client {k}", picks.get("picks", 5), row.epsilon) for k, row in enumerate(rows, 1)
        ]
        assert together * (1 - 1e-4) <= done.total().epsilon_certified <= together * (1 + 1e-9)
        assert done.estimate.epsilon_claimed == together and done.scalars["selected_columns"] == 10
    laplace = fit(protocol, many["V"], MANY, 2, 1.0, screening="peeling", distribution="laplace")
    assert all(row.range is None for row in laplace.channel.ledger.rows) and laplace.total().epsilon_certified < 1.0
    shared = fit(protocol, many["V"], MANY, 3, 1.0, screening="peeling", noise="shared")
    # Picks stay each client's own; the delta is that of all records together.
    total = shared.channel.ledger.worst_total(shared.channel.names, "row", MANY.of_all(3).delta)
    assert 1 - 1e-3 <= total.epsilon_certified <= 1 + 1e-9


def test_picks_count_by_votes_then_places_and_do_not_favour_early_columns():
    ranks = picked_ranks([np.array([7, 3]), np.array([7, 5]), np.array([5, 3])], 40)
    assert np.argsort(-ranks)[:3].tolist() == [7, 5, 3]
    assert not np.array_equal(np.argsort(-ranks)[3:], np.setdiff1d(np.arange(40), [7, 5, 3]))
    assert picked_ranks([np.int64(4)], 6).argmax() == 4


def test_one_record_moves_no_score_of_peeling_by_more_than_its_certificate():
    rng, slices = stream(5, "peeling"), class_slices(fixed(np.array([0, 1, 2])))
    code = fixed(contrasts(slices))
    for _ in range(50):
        X, y = rng.normal(size=(30, 12)), rng.integers(0, 3, 30)
        Z, z = X.copy(), y.copy()
        Z[0], z[0] = -X[0], rng.integers(0, 3)
        one, other = (peeling_scores(sign_sums(rows, labels, 3), code) for rows, labels in ((X, y), (Z, z)))
        assert np.max(np.abs(one.value - other.value)) <= one.certificate.value
    still = np.full((1, 2), 1.0)
    ends = [
        peeling_scores(sign_sums(sign * still, [0], 2), fixed(contrasts(class_slices(fixed(np.array([0, 1]))))))
        for sign in (1, -1)
    ]
    assert ends[0].certificate.value == 2 * ends[0].value[0]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("model", ["V", "IV"])
def test_without_noise_the_support_is_found(many, protocol, model):
    settings = MANY if model == "V" else CHAIN
    done = fit(protocol, many[model], settings, 8)
    assert done.scalars["support_kept"] == 1 and done.scalars["selected_columns"] == 10
    assert np.flatnonzero(done.estimate.basis.any(axis=1)).tolist() == done.estimate.columns.tolist()
    assert done.scalars["loss"] < 0.6


def test_signs_find_at_epsilon_one_what_votes_do_not():
    """Same budget, same clients; paired over replicates."""
    settings = SimulatedSlicingSettings(model="V", n=500, clients=30, p=120, active=6)
    kept = []
    for replicate in range(6):
        data = simulated(settings, replicate)
        kept.append(
            [
                fit("certified", data, settings, 30, 1.0, replicate, calibrate="each", **way).scalars["support_kept"]
                for way in WAYS
            ]
        )
    two, one, votes = np.mean(kept, axis=0)
    assert two >= one > votes + 0.4 and two > 0.9


def test_clients_are_nested_in_the_first_round(many):
    few, all_of = (fit("certified", many["V"], MANY, k, 1.0).releases for k in (2, 8))
    first = {name: digest for name, digest in few.items() if name.startswith("contrasts of signs 1")}
    assert len(first) == 2 and first.items() <= all_of.items()
    other = fit("certified", many["V"], MANY, 2, 2.0).releases
    assert not set(first.values()) & set(other.values())
    # Both protocols screen with the same noise.
    assert first.items() <= fit("whitened", many["V"], MANY, 8, 1.0).releases.items()


@pytest.mark.parametrize("model", ["V", "IV"])
def test_screening_moments_and_whitening_read_the_same_records(many, model):
    data, settings = many[model], MANY if model == "V" else CHAIN
    chosen = np.array([0, 4, 5, 17, 18, 40, 59])
    for screening in ("signs", "votes"):
        records = records_of(data, 2, settings, screening)
        (X, y), moments = records.records(chosen), records.moments(quantile=False, columns=chosen)
        again = client_moments(X, y, data.public_slices, clip=BoxClip(fixed(settings.radius)))
        assert np.array_equal(moments.gram, again.gram) and np.array_equal(moments.sums, again.sums)
    records = records_of(data, 2, settings, "signs")
    X, y = records.records(np.arange(60))
    codes = data.public_slices.codes(y)
    wanted = np.stack([np.sign(X[codes == h]).sum(axis=0) for h in range(8)])
    assert np.array_equal(records.sign_sums(), wanted)


def test_real_records_are_screened_as_they_are():
    """Classes without order: all contrasts; columns are read, not drawn."""
    X, y = noise("X").standard_normal((90, 6)).astype(np.float32), noise("y").integers(0, 3, 90)
    client = Party("client 1", "client", {"X": X, "y": y})
    public = SlicingFacts((client.name,), (90,), 6, 3, 1, class_slices(fixed(range(3))))
    settings = SlicingDatasetSettings(dataset="activity", screen=True)
    plan = CertifiedPlan(MethodSpec(SlicingCertifiedOptions(max_size=3), None, settings, public), math.inf)
    steps = plan.rounds
    assert len(steps) == 1 and steps[0].keep == 3
    release = screened.local_screening(client, plan, steps[0], None, noise)
    wanted = np.stack([np.sign(X[y == h]).sum(axis=0) for h in range(3)])
    assert np.array_equal(screened.local_sign_sums(client, plan.view, noise), wanted)
    assert release.value.shape == (3, 7)
    about = wanted - np.bincount(y)[:, None] / 90 * wanted.sum(axis=0)
    spread = np.sum((about - about.mean(axis=0)) ** 2, axis=0)
    merged = screened.server_round([release.value], [90], steps[0], None, X.shape[1])
    columns = screened.server_columns([merged], steps[0], plan.spec)
    assert columns.tolist() == sorted(np.argsort(-spread)[:3])
    assert np.array_equal(local_records(client, plan.view, noise).records(columns)[0], X[:, columns])


def test_rounds_share_one_budget(many):
    spec = spec_of(many["V"])
    budget = calibrated_epsilons(spec, 1.0)
    mu = float(gdp_mu(1.0, MANY.delta)) / math.sqrt(3)
    first, second = screening_rounds(spec, budget, 1.0)
    assert math.hypot(first.mu, second.mu) == pytest.approx(mu) and first.mu**2 / mu**2 == pytest.approx(FIRST_SHARE)
    assert (first.keep, second.keep) == (15, 10)
    # Nothing is gained from a round that leaves no more than T columns.
    assert [step.keep for step in screening_rounds(spec_of(many["V"], max_size=15), budget, 1.0)] == [15]
    for way, message in (({"rounds": 1}, "contrasts of signs"), ({"screening": "votes"}, "votes")):
        (only,) = screening_rounds(spec_of(many["V"], **way), budget, 1.0)
        assert only.mu == pytest.approx(mu) and only.message == message
    assert screening_rounds(spec_of(many["V"], replace(MANY, active=None)), {}, 1.0) == ()


def test_the_second_round_adds_to_the_first():
    """Both rounds count, each by the inverse of its variance; columns that were dropped do not come back."""
    spec = SimpleNamespace(public=SimpleNamespace(n_directions=1))
    step = SimpleNamespace(message="contrasts of signs", keep=1)
    first = screened.ScreeningRound(np.arange(4), np.array([[9.0, 3.0, 0.0, 1.0]]), 1.0)
    # Column 1 has 3 + 4 * 0, column 3 has 1 + 4 * 0.4 or 1 + 4 * 0.6.
    for again, kept in ((0.4, 1), (0.6, 3)):
        second = screened.ScreeningRound(np.array([1, 3]), np.array([[0.0, again]]), 4.0)
        assert screened.server_columns([first, second], step, spec).tolist() == [kept]
    assert screened.server_columns([first], step, spec).tolist() == [0]


def test_a_release_is_drawn_once_for_all_numbers_of_clients(many):
    client, streams = split(many["V"], 1, None, MANY)[0], Streams(7, "slicing screened")
    plans = [CertifiedPlan(spec_of(many["V"]), 1.0) for _ in range(3)]
    ways = list(zip(plans, (streams, streams, noise), strict=True))
    releases = [screened.local_screening(client, one, one.rounds[0], None, rng) for one, rng in ways]
    assert releases[0] is releases[1] is not releases[2]
    assert np.array_equal(releases[0].value, releases[2].value)
    columns = np.arange(10)
    pairs = [local_release(client, one, columns, rng) for one, rng in ways]
    assert pairs[0] is pairs[1] and np.array_equal(pairs[0][0].value, pairs[2][0].value)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ({"screening": "ballots"}, "screening is 'ballots': it must be one of signs, peeling, votes"),
        ({"screening": "top_s"}, "screening is 'top_s'"),
        ({"rounds": 3}, "rounds is 3: it must be one of 1, 2"),
        ({"screening": "votes", "rounds": 1}, "rounds is 1: it is read with screening 'signs' only"),
        ({"screening": "peeling", "rounds": 1}, "rounds is 1: it is read with screening 'signs' only"),
        ({"picks": 4}, "picks is 4: it is read with screening 'peeling' only"),
        ({"screening": "peeling", "picks": 0}, "picks is 0"),
        ({"distribution": "laplace"}, "distribution is 'laplace': it is read with screening 'peeling' only"),
        ({"max_size": 0}, "max_size is 0"),
        ({"screen": "votes"}, "screen is 'votes'"),
    ],
)
def test_unknown_ways_to_screen_are_named(protocol, option, reason):
    case = {
        "source": "simulated",
        "settings": {"model": "V", "n": 300, "clients": 4, "p": 60, "active": 5},
        "grid": {"methods": ["one"], "replicates": 1, "parties": [2], "folds": 1, "epsilon": [1.0]},
    }
    block = {"methods": {"one": {"protocol": protocol, **option}}, "cases": {"only": case}}
    with pytest.raises(ConfigError) as told:
        plan("sliced_inverse_regression", block, 1)
    assert reason in str(told.value)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_more_columns_than_there_are_cannot_stay(many, way):
    with pytest.raises(ValueError, match="61"):
        fit("certified", many["V"], MANY, 2, 1.0, max_size=61, **way)


def test_more_columns_than_there_are_cannot_be_picked(many):
    with pytest.raises(ValueError, match="picks is 61: there are 60 columns"):
        fit("certified", many["V"], MANY, 2, 1.0, screening="peeling", picks=61)
    # More than stay can be: the server counts them.
    assert fit("certified", many["V"], MANY, 2, 1.0, screening="peeling", picks=12).scalars["selected_columns"] == 10
