"""Counts of records beyond public bounds: what they cost, what one record moves, who draws their noise."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from forked import in_all_ways
from glm_driver import DECLARED, records
from noisy_driver import GROUPS, private_run, subject
from partywise.audits.contract import check_neighbours
from partywise.core.errors import ContractError
from partywise.experiment.cells import events_ahead
from partywise.federation.run import Run, simulate
from partywise.methods.glm.noisy_statistics import clip_counts
from partywise.methods.glm.noisy_statistics.clip_counts import CountPlan, beyond, far_radius, outside, with_counts
from partywise.methods.glm.noisy_statistics.scaling import default_radius, split_budget
from partywise.methods.glm.options import (
    GlmMomentsOptions,
    GlmNoisyGradientOptions,
    NoisyNewtonOptions,
    NoisyPredictorOptions,
)
from partywise.methods.glm.protocols import moments, noisy_gradient, noisy_newton, noisy_predictor
from partywise.privacy.accounted_values import Clear, Public
from partywise.privacy.accounting.calibration import gdp_mu

FITS = {
    "dealer": (moments.fit, GlmMomentsOptions(dealer="dealer")),
    "no dealer": (moments.fit, GlmMomentsOptions(cipher="sized")),
    "newton": (noisy_newton.fit, NoisyNewtonOptions(steps=2)),
}
EVERY = pytest.mark.parametrize("name", FITS)
# Radii at which some of the records of the driver are clipped, and fewer of them are far.
PARTIES = "active", "passive 1", "passive 2"
RADII = {"radii": {name: Public(1.0, DECLARED) for name in PARTIES}}
PREDICTOR = NoisyPredictorOptions(cipher="sized")


def a_run(name: str, family: str = "gaussian", epsilon: float = np.inf, n: int = 200, **changes) -> Run:
    _, options = FITS[name]
    X, y = records(family, n, 5)
    options = replace(options, **changes.pop("options", {}))
    return private_run(X, y, options, family, epsilon, **changes)


def counted(X: np.ndarray, y: np.ndarray, radii: list[float], ends: tuple[float, float]) -> list[int]:
    """Numbers of records beyond each radius of each party of `GROUPS`, and of responses outside of their range."""
    norms = [np.sqrt(np.sum(X[:, list(group)] ** 2, axis=1)) for group in GROUPS]
    far = [max(1.25 * radius, default_radius(len(group))) for radius, group in zip(radii, GROUPS, strict=True)]
    pairs = zip(norms, radii, far, strict=True)
    numbers = [int(np.sum(norm > bound)) for norm, *bounds in pairs for bound in bounds]
    return [*numbers, int(np.sum((y < ends[0]) | (y > ends[1])))]


@EVERY
def test_without_noise_they_are_the_numbers_of_records_beyond_public_bounds(name):
    X, y = records("gaussian", 200, 5)
    narrow = RADII | {"statistic": Public((0.0, 2.0), DECLARED), "scale": Public(np.full(5, 0.5), DECLARED)}
    run = a_run(name, facts=narrow)
    counts = simulate(FITS[name][0], run).clip_counts
    expected = counted(2 * X, y, [1.0] * 3, (0.0, 2.0))
    assert counts.value.tolist() == expected and min(expected) > 0
    assert counts.sd == 0 and counts.n == 200
    assert counts.radii.tolist() == [[1.0, max(1.25, default_radius(len(group)))] for group in GROUPS]


@pytest.mark.parametrize(("family", "size"), [("binomial", 6), ("poisson", 7), ("gamma", 7)])
@EVERY
def test_binomial_responses_are_not_counted(name, family, size):
    run = a_run(name, family, 2.0)
    counts = simulate(FITS[name][0], run).clip_counts
    assert counts.value.shape == (size,)
    responses = [event for event in run.channel.ledger.rows if event.release_id == "clipped responses"]
    assert len(responses) == (family != "binomial")


def test_responses_without_a_public_range_are_not_counted():
    run = a_run("newton", "poisson", 2.0, facts={"statistic": None})
    assert simulate(noisy_newton.fit, run).clip_counts.value.shape == (6,)


def tables(values: tuple[float, ...], n: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """All tables of n records of two columns and a response of some values."""
    rows = list(product(values, values, (0.0, 3.0)))
    return [
        (np.array([row[:2] for row in table]), np.array([row[2] for row in table])) for table in product(rows, repeat=n)
    ]


def test_one_record_moves_all_counts_by_the_root_of_their_number_and_reaches_it():
    """By trying all tables of two records and all replacements: each certificate is reached, and the one of all."""
    X, y = records("gaussian", 2, 2)
    radii = {name: Public(1.0, DECLARED) for name in ("active", "passive 1")}
    given = {"radii": radii, "statistic": Public((-1.0, 1.0), DECLARED), "location": Public(np.zeros(2), DECLARED)}
    given["scale"] = Public(np.ones(2), DECLARED)
    run = private_run(X, y, FITS["newton"][1], "gaussian", 1.0, groups=((0,), (1,)), facts=given)
    public = run.spec.public
    pairs = [(public.radii[party.name], far_radius(public, party)) for party in run.parties]
    far = float(pairs[0][1].value)
    assert far == default_radius(1) > 1.25
    wholes = {}
    for X, y in tables((0.5, 2.0, far + 1.0), 2):
        parts = [*(beyond(X[:, [k]], pair) for k, pair in enumerate(pairs)), outside(y, public)]
        wholes[*X.ravel().tolist(), *y.tolist()] = parts
    largest, together = np.zeros(3), 0.0
    for key, parts in wholes.items():
        for row in product((0.5, 2.0, far + 1.0), (0.5, 2.0, far + 1.0), (0.0, 3.0)):
            other = wholes[*row[:2], *key[2:4], row[2], key[5]]
            moves = [float(np.sum((part.value - moved.value) ** 2)) for part, moved in zip(parts, other, strict=True)]
            largest, together = np.maximum(largest, moves), max(together, sum(moves))
    assert largest.tolist() == [2.0, 2.0, 1.0] and together == 5.0 == 2 * len(pairs) + 1
    assert [part.certificate.value for part in parts] == [2**0.5, 2**0.5, 1.0]


@pytest.mark.parametrize("group", [1, 3])
@pytest.mark.parametrize("share", [0.04, 0.5, 0.0])
def test_the_budget_is_that_of_the_moments_and_the_counts(share, group):
    public, parties = a_run("newton").spec.public, a_run("newton").parties
    shares = with_counts((0.25, 0.75), share, public, parties)
    mu = np.square(split_budget(2.0, 1e-5, shares, group)) / (float(gdp_mu(2.0, 1e-5)) / group) ** 2
    assert mu.sum() == pytest.approx(1, rel=1e-13)
    assert mu[:2] == pytest.approx([(1 - share) / 4, (1 - share) * 3 / 4], rel=1e-13)
    assert mu[2:] == pytest.approx([share * 2 / 7] * 3 + [share / 7] if share else [], rel=1e-13)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@EVERY
def test_each_party_releases_its_own_counts_with_noise_of_one_deviation(name, epsilon):
    run = a_run(name, epsilon=epsilon)
    counts = simulate(FITS[name][0], run).clip_counts
    rows = {event.release_id: event for event in run.channel.ledger.rows if event.release_id.startswith("clipped")}
    names = [party.name for party in run.parties]
    assert list(rows) == [*(f"clipped records of {name}" for name in names), "clipped responses"]
    events = list(rows.values())
    assert [event.owner for event in events] == [*names, "active"]
    assert {(event.unit, event.relation, event.trust_model, event.audience) for event in events} == {
        ("row", "replace_one", "local", ("*",))
    }
    assert [event.depends_on for event in events] == [frozenset({"features"})] * 3 + [frozenset({"label"})]
    assert all(event.certified and event.exact for event in events)
    squares = 0.04 * float(gdp_mu(epsilon, 1e-5)) ** 2
    assert sum(event.mu**2 for event in events) == pytest.approx(squares, rel=1e-13)
    for event in events:
        assert event.sensitivity / event.mu == pytest.approx(counts.sd, rel=1e-12)
    assert counts.sd == pytest.approx((7 / squares) ** 0.5, rel=1e-12)
    worst = run.channel.ledger.worst_total(run.channel.names, "row", 1e-5)
    assert epsilon * (1 - 1e-9) <= worst.epsilon_certified <= epsilon


def test_their_noise_is_what_the_estimate_states():
    """Squares of 400 x 7 standardised residuals, within 4 standard errors of their expectation."""
    exact = simulate(moments.fit, a_run("dealer", n=60)).clip_counts.value
    fits = [simulate(moments.fit, a_run("dealer", n=60, epsilon=2.0, seed=seed)).clip_counts for seed in range(400)]
    squares = np.array([((counts.value - exact) / counts.sd) ** 2 for counts in fits])
    assert np.abs(squares.mean() - 1) < 4 * np.sqrt(2 / squares.size)
    assert np.all(np.abs(squares.mean(axis=0) - 1) < 4.5 * np.sqrt(2 / len(squares)))


@EVERY
def test_a_share_of_nothing_releases_none_and_leaves_the_budget_whole(name):
    fit, _ = FITS[name]
    run = a_run(name, epsilon=2.0, options={"count_clipped": 0.0})
    assert simulate(fit, run).clip_counts is None
    assert not [row for row in run.channel.transcript() if row["name"].startswith("clipped")]
    names = {event.release_id for event in run.channel.ledger.rows if event.profile is not None}
    assert not any(release.startswith("clipped") for release in names)
    worst = run.channel.ledger.worst_total(run.channel.names, "row", 1e-5)
    assert 2 * (1 - 1e-9) <= worst.epsilon_certified <= 2


@EVERY
def test_they_raise_the_noise_of_all_else_by_two_per_cent(name):
    def mu(share: float) -> float:
        run = a_run(name, epsilon=2.0, options={"count_clipped": share})
        simulate(FITS[name][0], run)
        (event,) = (event for event in run.channel.ledger.rows if event.release_id == "second moments")
        return float(event.mu)

    assert mu(0.0) / mu(0.04) == pytest.approx(0.96**-0.5, rel=1e-12)


@pytest.mark.parametrize("share", [1.0, 1.5, -0.1, np.nan])
@pytest.mark.parametrize("options", [GlmMomentsOptions, NoisyNewtonOptions])
def test_a_share_beyond_its_range_is_refused(options, share):
    with pytest.raises(ValueError, match=r"count_clipped.*\[0, 1\)"):
        options(count_clipped=share)


@EVERY
def test_places_processes_and_the_simulation_give_the_same_bytes(name):
    in_all_ways(FITS[name][0], lambda: a_run(name, epsilon=1.0, n=40))


@EVERY
def test_a_rehearsal_knows_their_cost(name):
    ahead = events_ahead(FITS[name][0], a_run(name, epsilon=1.0, n=40))
    releases = [event.release_id for event in ahead.releases]
    assert ahead.error is None and sum(release.startswith("clipped") for release in releases) == 4


@EVERY
def test_a_replaced_record_shows_in_nothing_but_what_is_certified(name):
    totals = check_neighbours(subject(*FITS[name], "gaussian", facts=RADII), ["row"], pairs=10, seeds=2)
    assert totals["row"] == pytest.approx(2.0, abs=1e-9)


def test_a_bound_that_is_too_small_is_caught(monkeypatch):
    asked = clip_counts.whole
    monkeypatch.setattr(
        clip_counts, "whole", lambda k, squares, *given, **terms: asked(k, squares / 4, *given, **terms)
    )
    with pytest.raises(ContractError, match=r"moved by .* certified for"):
        check_neighbours(subject(*FITS["newton"], "gaussian", facts=RADII), ["row"], pairs=30, seeds=3)


def test_a_range_from_the_data_certifies_no_count_of_responses():
    run = a_run("dealer", epsilon=1.0, facts={"statistic": Clear((-4.0, 6.0), units=("label",), owner="active")})
    simulate(moments.fit, run)
    names, delta = run.channel.names, 1e-5
    rows = {event.release_id: event for event in run.channel.ledger.rows}
    assert (
        rows["clipped responses"].data_dependent_parameters
        and not rows["clipped records of active"].data_dependent_parameters
    )
    assert run.channel.ledger.worst_total(names, "row", delta).epsilon_certified == np.inf


def test_a_plan_without_shares_counts_nothing():
    assert CountPlan.of(a_run("newton"), 200, ()) is None


@pytest.mark.parametrize(
    ("fit", "options"),
    [*FITS.values(), (noisy_gradient.fit, GlmNoisyGradientOptions(steps=2)), (noisy_predictor.fit, PREDICTOR)],
    ids=[*FITS, "gradient", "predictor"],
)
def test_the_small_rule_clips_where_no_radius_is_stated_to_1_4_roots_of_the_columns(fit, options):
    """A run by the rule is the one with these radii stated, and a stated radius wins."""
    X, y = records("gaussian", 60, 5)
    stated = {name: Public(1.4 * len(group) ** 0.5, DECLARED) for name, group in zip(PARTIES, GROUPS, strict=True)}
    wide = {"passive 1": Public(9.0, DECLARED)}

    def slopes(rule: str, **radii: object) -> np.ndarray:
        run = private_run(X, y, replace(options, radius_rule=rule), "gaussian", 2.0, facts=radii)
        return simulate(fit, run).coefficients

    assert np.array_equal(slopes("small"), slopes("chi", radii=stated))
    assert np.array_equal(slopes("small", radii=wide), slopes("chi", radii=stated | wide))
    assert not np.array_equal(slopes("small"), slopes("chi"))
    with pytest.raises(ValueError, match="radius_rule"):
        replace(options, radius_rule="large")
