"""Noisy scores: how far a record moves them, what they find, and what a run of the protocols costs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forked import in_all_ways
from partywise.audits.replay import compare, distance, record, replay
from partywise.core.errors import PartyError
from partywise.core.randomness import Streams
from partywise.federation.channel import Channel
from partywise.methods.survival import exact
from partywise.methods.survival.certified.scores import (
    HazardModel,
    ScoreTerms,
    baseline,
    contributions,
    estimable,
    pack,
    start,
    unpack,
    update,
)
from partywise.methods.survival.certified.selection import GRID, beta_shares, conditional_hazard
from partywise.methods.survival.certified.whole import whole_scores
from partywise.methods.survival.models import STRONG, Weibull
from partywise.methods.survival.options import GradientOptions, OneReleaseOptions, ScoresOptions, SurvivalTableOptions
from partywise.methods.survival.protocols import scores, table
from partywise.methods.survival.protocols.competitors import cells as sign_cells
from partywise.methods.survival.protocols.competitors import gradient, moments
from partywise.methods.survival.records import SurvivalRecords
from partywise.methods.survival.tables import cell_counts, correct_sum, equal_edges
from survival_driver import clients_of, fit, run_of, scaled

P, R = 6, math.sqrt(6)
MODERATE = Weibull(coefficients=tuple(b / 2 for b in STRONG))


def terms(n: int = 3000, mu: float = math.inf, **given: object) -> ScoreTerms:
    """Six covariates, horizon 2, eight bins."""
    given.setdefault("merge_count", 3)
    return ScoreTerms(horizon=2.0, records=n, covariates=P, radius=R, mu=mu, **given)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def moderate() -> SurvivalRecords:
    """Moderate effects."""
    return scaled(MODERATE, 3000, seed=11)


def test_packed_matrices_keep_their_length():
    matrix = np.random.default_rng(0).normal(size=(4, 4))
    matrix += matrix.T
    assert np.linalg.norm(pack(matrix)) == pytest.approx(np.linalg.norm(matrix))
    np.testing.assert_allclose(unpack(pack(matrix), 4), matrix)


@settings(max_examples=150, deadline=None)
@given(
    st.floats(0, 3),
    st.booleans(),
    st.lists(st.floats(-1, 1), min_size=P, max_size=P),
    st.sampled_from([0.5, 1.0, 1.5]),
    st.lists(st.floats(-40, 40), min_size=8, max_size=8),
    st.lists(st.floats(-60, 60), min_size=P, max_size=P),
)
def test_no_contribution_is_longer_than_gamma_whatever_the_model(time, event, z, stop, hazards, coefficients):
    at = terms(stop=stop)
    record_ = SurvivalRecords(np.array([time]), np.array([event]), np.array([z]))
    found = contributions(record_, HazardModel(np.array(hazards), np.array(coefficients)), at)
    assert np.linalg.norm(found) <= at.bound * (1 + 1e-12)


def extremes(at: ScoreTerms, rng: np.random.Generator, count: int = 240) -> tuple[SurvivalRecords, HazardModel]:
    """Records at the ends of what a record can be, and a model whose hazard reaches C at time 1."""
    p = at.covariates
    z = rng.standard_normal((count, p))
    z[: count // 2, min(2, p) :] = 0.0
    z *= at.radius * rng.choice([1.0, 1.0, 0.3], (count, 1)) / np.linalg.norm(z, axis=1, keepdims=True)
    z[::4], z[1::4] = at.radius * np.eye(p)[0], -at.radius * np.eye(p)[0]
    times = rng.choice([0.0, 1 - 1e-12, 1.5, 1.999], count)
    return SurvivalRecords(times, rng.random(count) < 0.5, z), HazardModel(
        np.full(len(at.edges) - 1, math.log(at.stopped_at)), np.zeros(p)
    )


def test_no_two_records_are_further_apart_than_the_sensitivity_and_two_reach_it():
    """At 40 random R, C, kappa, eta and p; of their whole numbers as well."""
    rng, reached = np.random.default_rng(3), []
    for _ in range(40):
        p = int(rng.integers(1, 7))
        chosen = {"stop": rng.uniform(0.3, 3), "level": rng.uniform(0.3, 2), "curvature": rng.choice([0.0, 0.1, 0.6])}
        at = ScoreTerms(2.0, 100, p, float(rng.uniform(0.2, 1.2) * math.sqrt(p)), 1.0, **chosen)
        records, model = extremes(at, rng)
        rows = contributions(records, model, at)
        squared = np.sum((rows[:, None] - rows[None, :]) ** 2, axis=2)
        one, other = np.unravel_index(squared.argmax(), squared.shape)
        reached.append(math.sqrt(squared.max()) / at.sensitivity)
        integers = [whole_scores(rows[[row]], at.bound, at.sensitivity) for row in (one, other)]
        moved = sum(int(a - b) ** 2 for a, b in zip(integers[0].integers, integers[1].integers, strict=True))
        assert moved <= integers[0].squares <= 1.0001 * (at.sensitivity / integers[0].step) ** 2
        assert at.sensitivity <= 2 * at.bound
    assert min(reached) > 0.97 and max(reached) <= 1 + 1e-12
    assert np.mean(np.array(reached) > 0.9999) > 0.5


@pytest.mark.parametrize(
    ("p", "stop", "shares"),
    [(6, 1.0, (0.970, 0.948, 0.8785)), (6, 1.5, (0.812, 0.797, 0.819)), (1, 1.0, (0.976, 0.972, 0.957))],
)
def test_the_sensitivity_is_a_share_of_twice_the_longest_that_depends_on_the_radius(p, stop, shares):
    for part, share in zip((0.25, 0.5, 1.0), shares, strict=True):
        at = ScoreTerms(2.0, 100, p, part * math.sqrt(p), 1.0, stop=stop)
        assert at.sensitivity / (2 * at.bound) == pytest.approx(share, abs=6e-4)


@pytest.mark.parametrize(
    ("n", "mu", "factor", "stop"),
    [
        (10_000, 0.502, 1.0, 1.0),
        (30_000, 0.268, 1.0, 1.0),
        (3000, 1.666, 1.0, 1.5),
        (3000, 1.666, 3.0, 1.0),
        (10_000, 1.666, 1.0, 2.0),
        (3000, math.inf, 1.5, 2.0),
    ],
)
def test_follow_up_is_stopped_by_the_noise_in_standard_errors(n, mu, factor, stop):
    """C = 1 below mu sqrt(n / K') = 70, 1.5 below 150, else 2."""
    assert ScoreTerms(2.0, n, P, R, mu, noise_factor=factor).stopped_at == stop


def test_records_of_any_floats_stay_within_the_sensitivity():
    """Covariates beyond the radius, and hazards that are no numbers: the certificate rests on nothing of the data."""
    at = terms(stop=1.0)
    z = np.vstack([np.full(P, 1e200), np.full(P, -40.0), np.full(P, np.nan), np.full(P, -np.inf)])
    records = SurvivalRecords(np.array([0.0, 2.0, np.nan, np.inf]), np.array([True, False, True, True]), z)
    rows = contributions(records, HazardModel(np.array([800.0, *np.full(7, -800.0)]), np.zeros(P)), at)
    assert np.isfinite(rows).all()
    assert np.linalg.norm(rows[:, None] - rows[None, :], axis=2).max() <= at.sensitivity * (1 + 1e-12)


def test_a_model_that_is_not_finite_is_refused_before_a_record_is_read():
    class Unread:
        def __getattr__(self, name: str) -> object:
            raise AssertionError(name)

    for model in (HazardModel(np.full(8, np.inf), np.zeros(P)), HazardModel(np.zeros(8), np.full(P, np.nan))):
        with pytest.raises(ValueError, match="not finite"):
            contributions(Unread(), model, terms())  # type: ignore[arg-type]


def noise_free(records: SurvivalRecords, at: ScoreTerms):
    """All rounds without noise."""
    found = correct_sum(cell_counts(records, equal_edges(2.0, at.bins)), equal_edges(2.0, at.bins), 0.0, at.records)
    base = baseline(found, at)
    last = start(base, at)
    for _ in range(at.rounds):
        last = update(last, contributions(records, last.model, at).sum(axis=0), base, at)
    return last


def test_without_noise_three_rounds_come_within_a_standard_error_of_the_pooled_fit(moderate):
    pooled = exact.cox(moderate)
    last = noise_free(moderate, terms(stop=2.0))
    assert np.abs((last.model.coefficients - pooled.coefficients) / pooled.standard_errors).max() < 0.6
    # And six rounds do not drift away from it.
    more = noise_free(moderate, terms(stop=2.0, shares=(0.2, 0.1, 0.1, 0.1, 0.1, 0.2, 0.2)))
    assert np.abs((more.model.coefficients - pooled.coefficients) / pooled.standard_errors).max() < 0.6
    # The covariance is that of the pooled fit, but for what stopped records do not tell.
    assert np.all(np.sqrt(np.diag(last.covariance)) / pooled.standard_errors < 1.3)
    assert np.all(np.sqrt(np.diag(last.covariance)) / pooled.standard_errors > 0.95)


def test_the_baseline_stays_finite_on_a_table_of_noise():
    """Tables of 20 records and much noise, whose marginal hazard may be anything."""
    rng, at = np.random.default_rng(2), terms(n=20, mu=0.14)
    for _ in range(40):
        cells = np.rint(rng.normal(0, at.sd_of(0), (1, 49)))
        base = baseline(correct_sum(cells, equal_edges(2.0, 24), at.sd_of(0), 20), at)
        last = start(base, at)
        for number in range(1, 4):
            last = update(last, rng.normal(0, at.sd_of(number), at.length), base, at)
            assert np.isfinite(last.model.log_hazards).all() and np.isfinite(last.covariance).all()


@pytest.mark.parametrize(("mean", "variance"), [(0.0, 0.999), (0.3, 0.2), (-0.8, 0.3)])
def test_the_baseline_of_the_working_model_has_the_marginal_hazard_of_the_table(mean, variance):
    """Indicators, a bell and a rare indicator, whose predictors reach 2."""
    shares, predictors = beta_shares(mean, variance), 2 * GRID
    marginal = np.array([0.0, 0.1, 0.5, 1.0, 2.0, 3.0])
    hazard = conditional_hazard(marginal, predictors, shares)
    np.testing.assert_allclose(np.exp(-hazard[:, None] * np.exp(predictors)) @ shares, np.exp(-marginal), rtol=1e-5)
    assert shares @ GRID == pytest.approx(mean, abs=0.01)
    assert shares @ (GRID - mean) ** 2 == pytest.approx(variance, abs=0.02)


@pytest.mark.parametrize("share", [0.5, 0.1])
def test_strong_effects_of_an_indicator_are_found_without_bias(share):
    """A log hazard ratio of 2 and 79 % events: three rounds without noise come within an SE of the pooled fit."""
    rng = np.random.default_rng(5)
    z = np.where(rng.random((3000, 1)) < share, 1.0, -1.0)
    times = rng.exponential(1 / (1.2 * np.exp(z[:, 0])))
    records = SurvivalRecords(np.minimum(times, 2.0), times <= 2.0, z)
    at = ScoreTerms(horizon=2.0, records=3000, covariates=1, radius=1.0, mu=math.inf)
    last, pooled = noise_free(records, at), exact.cox(records)
    assert abs(last.model.coefficients - pooled.coefficients) < pooled.standard_errors and not last.reason(at)
    assert 0.9 < math.sqrt(last.covariance[0, 0]) / pooled.standard_errors[0] < 1.6


def test_no_intervals_where_the_noise_hides_the_information_or_the_last_round_still_moves():
    at = terms(n=3000, mu=0.268)
    base = baseline(correct_sum(np.full((1, 49), 60.0), equal_edges(2.0, 24), at.sd_of(0), 3000), at)
    first = update(start(base, at), np.zeros(at.length), base, at)
    assert "of the start at 0 is left" in first.reason(at)
    settled = replace(first, memory=np.zeros((P, P)))
    assert "at this size of effect" in replace(settled, factor=1.5).reason(at)
    assert not settled.reason(at)
    # At epsilon 1 with local noise of three clients few fits settle, and by luck of the noise.
    assert "mu sqrt(n / K') is 8.5, below 10" in settled.reason(terms(n=3000, mu=0.268, noise_factor=3.0))


def test_a_round_moves_the_coefficients_no_further_than_its_limit():
    rng, at = np.random.default_rng(4), terms(n=500, mu=0.1)
    base = baseline(correct_sum(np.full((1, 49), 10.0), equal_edges(2.0, 24), at.sd_of(0), 500), at)
    far = 0
    for _ in range(40):
        last = start(base, at)
        for number, limit in enumerate((3.0, 2.0, 1.0), 1):
            before = last.model.coefficients
            last = update(last, 30 * rng.normal(0, at.sd_of(number), at.length), base, at)
            moved = R * np.linalg.norm(last.model.coefficients - before)
            assert moved <= limit * (1 + 1e-9)
            far += moved > 0.99 * limit
    assert far > 20, "no step reached its limit: the test shows nothing"


def test_events_that_do_not_stand_out_estimate_nothing():
    edges = equal_edges(2.0, 24)
    none = np.zeros((1, 49))
    none[0, -1] = 400
    assert not estimable(correct_sum(none, edges, 6.0, 400))
    none[0, :24] = 6
    assert estimable(correct_sum(none, edges, 6.0, 544)) and not estimable(correct_sum(none, edges, 12.0, 544))


WAYS = [
    (table.fit, SurvivalTableOptions, {}),
    (scores.fit, ScoresOptions, {}),
    (gradient.fit, GradientOptions, {"steps": 4}),
    (moments.fit, OneReleaseOptions, {}),
    (sign_cells.fit, OneReleaseOptions, {}),
]
# How near a random neighbour comes to the certificate of a release.
NEAR = {table.fit: 0.99, scores.fit: 0.5, gradient.fit: 0.99, moments.fit: 0.5, sign_cells.fit: 0.99}


@pytest.mark.parametrize(("program", "options", "given"), WAYS)
@pytest.mark.parametrize("noise", ["shared", "local", "central"])
@pytest.mark.parametrize("clients", [1, 3])
def test_a_run_costs_its_target(moderate, program, options, given, noise, clients):
    done = fit(program, moderate, options(noise=noise, **given), clients, 1.0)
    total = done.total()
    assert total.epsilon_certified == pytest.approx(1.0, abs=1e-9) == done.estimate.epsilon_claimed
    if noise == "shared" and clients > 1:
        assert total.epsilon_public < 1.0 < total.epsilon_any and total.colluders == 1


@pytest.mark.parametrize(("program", "options", "given"), WAYS)
@pytest.mark.parametrize("noise", ["shared", "local", "central"])
def test_without_noise_sums_of_clients_are_those_of_all(moderate, program, options, given, noise):
    found = [fit(program, moderate, options(noise=noise, **given), clients).estimate for clients in (1, 2, 3, 7)]
    for one in found[1:]:
        # Counts are whole; among moments they are in steps of Gamma, which clients add up in floats.
        apart = 1e-14 if program is moments.fit else 0
        np.testing.assert_allclose(one.table.cells, found[0].table.cells, rtol=apart, atol=0)
        if found[0].coefficients is not None:
            np.testing.assert_allclose(one.coefficients, found[0].coefficients, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("program", "options", "given"), WAYS)
@pytest.mark.parametrize("noise", ["shared", "local", "central"])
def test_every_value_is_used_where_it_is(program, options, given, noise):
    """In one process, with the place of every value checked, and with a process each: the same to the last bit."""
    small = scaled(MODERATE, 240, seed=2)
    in_all_ways(program, lambda: run_of(small, options(noise=noise, **given), 3, 2.0))


@pytest.mark.parametrize(("program", "options", "given"), WAYS)
@pytest.mark.parametrize("noise", ["shared", "local", "central"])
def test_a_neighbour_moves_every_sum_by_its_certificate_at_most(program, options, given, noise):
    """10 neighbours of each of 2 data sets with the releases of the first run: every message is alike."""
    largest = 0.0
    for seed in (1, 2):
        small = scaled(MODERATE, 240, seed=seed)
        rng = np.random.default_rng(seed)

        def channel_of(records: SurvivalRecords, seed: int = seed) -> Channel:
            run = run_of(records, options(noise=noise, **given), 3, 2.0, Streams(seed, "replay"), record=True)
            program(run)
            return run.channel

        tape = record(lambda small=small: channel_of(small))
        for _ in range(10):
            times, events, z = small.times.copy(), small.events.copy(), small.covariates.copy()
            place = rng.integers(240)
            times[place], events[place] = rng.choice([0.0, 0.25, 1.0, 2.0, 1e300]), rng.random() < 0.5
            z[place] = rng.choice([-1.0, 1.0], P)
            second = replay(lambda: channel_of(SurvivalRecords(times, events, z, small.groups)), tape)  # noqa: B023
            compare(tape, second, "row")
            both = zip(tape.calls, second.calls, strict=True)
            found = (distance(one.bounded, other.bounded) / one.bounded.certificate.value for one, other in both)
            largest = max(largest, *found)
    assert NEAR[program] < largest <= 1


def test_a_client_with_another_number_of_records_than_is_public_stops_the_run(moderate):
    run = run_of(moderate, SurvivalTableOptions(), 3, 1.0)
    short = replace(run.parties[0], block=dict(run.parties[0].block) | {"times": np.zeros(3)})
    run.parties = (short, *run.parties[1:])
    with pytest.raises(PartyError, match="another number of records"):
        table.fit(run)


def test_bytes_are_those_of_keys_cells_and_scores(moderate):
    """A key is 2,048 bytes with signature and certificate; the server sends all three to each client."""
    for noise, keys in (("shared", [2048] * 3 + [3 * 2048] * 3), ("local", [])):
        done = fit(table.fit, moderate, SurvivalTableOptions(noise=noise, bins=10), 3, 1.0)
        assert done.bytes_of("cells") == [8 * 21] * 3 and done.bytes_of("public key") == keys
        done = fit(scores.fit, moderate, ScoresOptions(noise=noise), 3, 1.0)
        assert done.bytes_of("cells") == [8 * 49] * 3 and done.bytes_of("public key") == keys
        assert done.bytes_of("model") == [8 * (8 + P)] * 9 and done.bytes_of("scores") == [8 * 35] * 9


def test_options_that_contradict_each_other_are_refused():
    for chosen, words in (
        ({"relation": "add_remove"}, "give bins"),
        ({"noise": "local", "colluders": 2}, "colluders"),
        ({"bins": 1}, "bins"),
    ):
        with pytest.raises(ValueError, match=words):
            SurvivalTableOptions(**chosen)
    for chosen, words in (
        ({"relation": "add_remove"}, "add_remove"),
        ({"shares": (0.2, 0.2)}, "sum to 1"),
        ({"bins": 20}, "3 of them make one bin"),
    ):
        with pytest.raises(ValueError, match=words):
            ScoresOptions(**chosen)


@pytest.mark.parametrize(
    ("weibull", "words"),
    [
        (Weibull(coefficients=()), "covariates is 0"),
        (Weibull(hazard_ratio=1.5), "groups is 2: protocol 'scores' is of one"),
    ],
)
def test_no_covariates_and_several_groups_are_refused_before_anything_is_sent(weibull, words):
    run = run_of(scaled(weibull, 90, seed=1), ScoresOptions(), 3, 1.0)
    with pytest.raises(ValueError, match=words):
        scores.fit(run)
    assert not run.channel.messages


@pytest.mark.parametrize(
    "case",
    [
        "no events",
        "a client without events",
        "all events at once",
        "one record at a client",
        "a constant covariate",
        "copies",
    ],
)
def test_unusual_records_give_an_answer(case):
    drawn = scaled(MODERATE, 240, seed=6)
    times, events, z = drawn.times.copy(), drawn.events.copy(), drawn.covariates.copy()
    if case == "no events":
        events[:] = False
    elif case == "a client without events":
        events[:80] = False
    elif case == "all events at once":
        times[:], events[:] = 1.0, True
    elif case == "a constant covariate":
        z[:, 0] = 1.0
    elif case == "copies":
        times[:], events[:], z[:] = times[0], events[0], z[0]
    records = SurvivalRecords(times, events, z)
    run = run_of(records, ScoresOptions(), 3, 4.0)
    if case == "one record at a client":
        records = SurvivalRecords(times[:3], events[:3], z[:3])
        run = run_of(records, ScoresOptions(), 3, 4.0)
        assert [len(party.block["times"]) for party in clients_of(records, 3)] == [1, 1, 1]
    estimate = scores.fit(run)
    assert estimate.numbers["not_estimable"] == (estimate.coefficients is None)
    if case in ("no events", "one record at a client"):
        assert estimate.coefficients is None
    elif case in ("a client without events", "a constant covariate"):
        assert estimate.coefficients is not None and np.isfinite(estimate.coefficients).all()


def test_intervals_cover_the_true_effects_of_moderate_size():
    """n = 3000, epsilon 1, one noise for all; 60 data sets of 6 coefficients: SE about .015."""
    rng, covered, bare = np.random.default_rng(5), [], []
    at = terms(mu=0.26805112321118696)
    truth = np.asarray(MODERATE.coefficients) * MODERATE.half_width
    for seed in range(60):
        drawn = scaled(MODERATE, 3000, seed=100 + seed)
        edges = equal_edges(2.0, at.bins)
        cells = cell_counts(drawn, edges) + np.rint(rng.normal(0, at.sd_of(0), (1, 49)))
        base = baseline(correct_sum(cells, edges, at.sd_of(0), 3000), at)
        last = start(base, at)
        for number in range(1, 4):
            sums = contributions(drawn, last.model, at).sum(axis=0)
            last = update(last, sums + rng.normal(0, at.sd_of(number), at.length), base, at)
        off = np.abs(last.model.coefficients - truth)
        covered.append(off <= 1.96 * np.sqrt(np.diag(last.covariance)))
        bare.append(off <= 1.96 * np.sqrt(np.diag(last.inverse)))
    assert 0.9 < np.mean(covered) < 0.98
    assert np.mean(bare) < np.mean(covered) - 0.1
