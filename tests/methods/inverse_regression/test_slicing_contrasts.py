"""Contrasts of signs: the statistic, a sensitivity that is reached, noise at its level, the choice of columns."""

from __future__ import annotations

import math

import numpy as np
import pytest

from error_rates import accepts_sigma
from fixed import fixed
from partywise.core.randomness import stream
from partywise.methods.inverse_regression.protocols.budgets import RoundPlan
from partywise.methods.inverse_regression.protocols.screening import server_round
from partywise.methods.inverse_regression.screening import (
    MEAN_WEIGHT,
    about_the_mean_sign,
    contrasts,
    contrasts_release,
    score,
    sign_sums,
    whole_contrasts,
)
from partywise.methods.inverse_regression.slices import class_slices, public_slices
from partywise.privacy.ledger.ledger import Ledger
from whole_moves import squared_move

N, P = 200, 12
EDGES = (-1.0, -0.5, -0.2, 0.0, 0.2, 0.5, 1.0)


def rng(*names):
    return stream(7, "slicing contrasts", *names)


def slices_of(H):
    return public_slices(fixed(np.arange(H - 1.0)))


def statistic(X, y, code=None):
    slices = public_slices(fixed(EDGES))
    sums = sign_sums(X, slices.codes(y), 8)
    counts = np.bincount(slices.codes(y), minlength=8)
    return whole_contrasts(sums, counts, fixed(contrasts(slices) if code is None else code), len(X))


def test_signs_are_summed_over_their_slices():
    X, y = rng("sums").standard_normal((N, P)), rng("y").standard_normal(N)
    X[3, 4] = 0.0
    codes = public_slices(fixed(EDGES)).codes(y)
    wanted = np.stack([np.sign(X[codes == h]).sum(axis=0) for h in range(8)])
    for records in (X, X.astype(np.float32)):
        assert np.array_equal(sign_sums(records, codes, 8), wanted)
    assert np.array_equal(sign_sums(X, codes, 9)[8], np.zeros(P))


@pytest.mark.parametrize("H", range(2, 13))
def test_contrasts_are_centred_bounded_and_orthogonal(H):
    """Whatever H: rows sum to zero, no record is longer than 1, the trend and the curvature do not mix."""
    code = contrasts(slices_of(H))
    assert code.shape == (1 if H == 2 else 2, H)
    assert np.allclose(code.sum(axis=1), 0) and np.linalg.norm(code, axis=0).max() == pytest.approx(1)
    if H > 2:
        assert code[0] @ code[1] == pytest.approx(0) and np.array_equal(code[1], code[1, ::-1])
    assert np.all(np.diff(code[0]) >= 0) and code[0, -1] == -code[0, 0] > 0
    classes = contrasts(class_slices(fixed(np.arange(H))))
    assert classes.shape == (H - 1, H) and np.allclose(classes.sum(axis=1), 0)
    # No order: every class is as far from every other.
    assert np.allclose(classes.T @ classes, (np.eye(H) - 1 / H) / (1 - 1 / H))


def test_eight_slices_have_halves_and_quarters():
    trend = np.repeat([-1.0, 1.0], 4)
    curvature = np.array([1, 1, -1, -1, -1, -1, 1, 1])
    assert np.allclose(contrasts(slices_of(8)) * math.sqrt(2), [trend, curvature])
    assert np.array_equal(contrasts(slices_of(2)), [[-1.0, 1.0]])


@pytest.mark.parametrize("code", [None, np.eye(8)], ids=["contrasts", "slice means"])
def test_the_sensitivity_is_reached_and_never_passed(code):
    """2 sqrt(p (1 + w^2)) / n by opposite signs in one slice; other slices and random neighbours stay below.

    Squared, in exact arithmetic.
    """
    X, y = rng("data").standard_normal((N, P)), rng("data y").standard_normal(N)
    X[0], y[0] = 1.0, 2.0
    before = statistic(X, y, code)
    bound = before.certificate.value
    assert bound == pytest.approx(2 * math.sqrt(P * (1 + MEAN_WEIGHT**2)) / N, rel=1e-4)
    numbers = rng("neighbours")
    moves = []
    jumps = [(record, response) for record in (X[0], -X[0]) for response in (*EDGES, 9.0)]
    for record, response in [(np.full(P, -9.0), 2.0), *jumps] + [
        (numbers.standard_normal(P) * 5, numbers.standard_normal()) for _ in range(100)
    ]:
        other, other_y = X.copy(), y.copy()
        other[0], other_y[0] = record, response
        after = statistic(other, other_y, code)
        moves.append(squared_move(before, after))
        assert np.linalg.norm(after.value - before.value) <= bound * (1 + 1e-12) and after.squares == before.squares
    assert moves[0] == before.squares and 0 < max(moves[1:]) <= before.squares


def test_the_release_has_the_noise_of_its_budget():
    X, y, mu = rng("data").standard_normal((N, P)), rng("data y").standard_normal(N), 0.4
    slices = public_slices(fixed(EDGES))
    sums, code = sign_sums(X, slices.codes(y), 8), contrasts(slices)
    counts, terms = np.bincount(slices.codes(y), minlength=8), {"owner": "client 1", "stratum": "clients/1"}
    shares = np.append(sums / N, counts[:, None] / N, axis=1)
    exact = np.vstack([np.rint(2**16 * code) / 2**16, np.ones(8)]) @ shares
    releases = [contrasts_release(sums, counts, fixed(code), N, mu, rng("noise", k), **terms) for k in range(1000)]
    noise = np.array([release.value for release in releases]) - exact
    sigma = 2 * math.sqrt(P * (1 + MEAN_WEIGHT**2)) / N / mu
    assert accepts_sigma(noise[:, :-1, :-1], sigma)
    assert not accepts_sigma(noise[:, :-1, :-1], sigma * 1.03)
    assert accepts_sigma(noise[:, -1, :-1], sigma / MEAN_WEIGHT)
    assert accepts_sigma(noise[:, :-1, -1], sigma / MEAN_WEIGHT / math.sqrt(P))
    event = releases[0].event
    assert (event.mu, event.unit, event.relation, event.stratum) == (mu, "row", "replace_one", "clients/1")
    assert event.sensitivity == pytest.approx(sigma * mu, rel=1e-4) and event.certified
    free = contrasts_release(sums, counts, fixed(code), N, math.inf, rng("none"), **terms)
    np.testing.assert_allclose(free.value, exact, atol=1e-15)
    assert free.event.mu == math.inf


def test_a_mean_sign_does_not_show_in_contrasts_of_unequal_slices():
    """One slice of eight holds half of all records: columns with a mean sign and no signal have contrasts of 0."""
    numbers, n = rng("unequal"), 40_000
    y = numbers.standard_normal(n)
    y[: n // 2] = 2.0
    X = numbers.standard_normal((n, 3)) + np.array([0.0, 1.0, -2.0])
    X[:, 0] += 0.3 * y
    slices = public_slices(fixed(EDGES))
    codes, code = slices.codes(y), contrasts(slices)
    released = contrasts_release(
        sign_sums(X, codes, 8), np.bincount(codes, minlength=8), fixed(code), n, math.inf, rng("none"), owner="client 1"
    ).value
    raw, about = released[:-1, :-1], about_the_mean_sign(released)
    assert np.abs(raw[:, 1:]).min() > 0.1 > 10 * np.abs(about[:, 1:]).max()
    assert np.argmax(score(raw)) != 0 and np.argmax(score(about)) == 0


def test_clients_compose_in_parallel_and_rounds_in_sequence():
    sums, counts, code = np.zeros((8, P)), np.full(8, N / 8), contrasts(public_slices(fixed(EDGES)))
    events = [
        contrasts_release(
            sums, counts, fixed(code), N, mu, rng("parallel", k, place), owner=f"client {k}", stratum=f"clients/{k}"
        ).event
        for k in range(3)
        for place, mu in enumerate((0.3, 0.4))
    ]
    one, all_of_them = (Ledger(part).total(["server"], "row", 1e-5) for part in (events[:2], events))
    assert one.epsilon_certified == all_of_them.epsilon_certified < math.inf
    direct = contrasts_release(
        sums, counts, fixed(code), N, 0.5, rng("direct"), owner="client 0", stratum="clients/0"
    ).event
    assert one.epsilon_certified == pytest.approx(Ledger([direct]).total(["server"], "row", 1e-5).epsilon_certified)


def test_the_server_weights_clients_by_their_size():
    step = RoundPlan(1, "contrasts of signs", 1.0, 0.6, 3)
    one = np.ones((3, 6))
    one[:, -1] = 0.0
    merged = server_round([one, np.zeros((3, 6))], [100, 300], step, None, 6)
    assert np.allclose(merged.aggregate, 0.25) and merged.weight == pytest.approx(0.12)
    assert merged.columns.tolist() == list(range(5))
    assert np.allclose(score(merged.aggregate), 2 * 0.25**2)
    votes = server_round([np.ones(5), np.ones(5)], [100, 300], RoundPlan(1, "votes", 1.0, 1.0, 3), None, 5)
    assert votes.aggregate.tolist() == [[2.0] * 5]


@pytest.mark.parametrize(
    ("sums", "code", "n", "message"),
    [
        (np.zeros((8, 3)), np.eye(7), 8, r"code has shape \(7, 7\)"),
        (np.zeros(8), np.eye(8), 8, r"sums of shape \(8,\)"),
        (np.full((8, 3), 2.0), np.eye(8), 15, "n=15 records do not reach"),
        (np.zeros((8, 3)), np.eye(8), 0, "n=0"),
        (np.full((8, 3), math.nan), np.eye(8), 15, "n=15"),
        (np.zeros((8, 3)), 1e-6 * np.eye(8), 8, "code must have finite entries of at most 16"),
        (np.zeros((8, 3)), 20 * np.eye(8), 8, "code must have finite entries of at most 16"),
        (np.zeros((8, 3)), math.nan * np.eye(8), 8, "code must have finite entries of at most 16"),
    ],
)
def test_bad_shapes_and_sizes_are_named(sums, code, n, message):
    with pytest.raises(ValueError, match=message):
        whole_contrasts(sums, np.ones(8), fixed(code), n)
