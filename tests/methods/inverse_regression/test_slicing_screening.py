"""Screening of columns, in the clear and by noisy votes, and the exact shortcut for null columns."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import ks_2samp

from error_rates import ALPHA, accepts_covariance, accepts_sigma
from fixed import fixed
from partywise.core.randomness import stream
from partywise.methods.inverse_regression import models
from partywise.methods.inverse_regression.estimate import classical
from partywise.methods.inverse_regression.moments import client_moments
from partywise.methods.inverse_regression.screening import (
    ccmd_multiplicity,
    ccmd_select,
    mean_differences,
    slice_profile,
    top_votes,
    vote_release,
    vote_select,
)
from partywise.methods.inverse_regression.slices import equal_frequency, public_slices
from partywise.methods.inverse_regression.subspace import projection_loss
from partywise.privacy.ledger.ledger import Ledger
from partywise.privacy.statistics.clips import BoxClip
from partywise.studies.sliced_inverse_regression.simulation import null_columns
from partywise.studies.sliced_inverse_regression.simulation.null_columns import draw_null

DRAWS = 2000


def rng(*names):
    return stream(7, "slicing screening", *names)


def same_distribution(first, second) -> bool:
    return bool(ks_2samp(first, second).pvalue > ALPHA)


def test_profile_and_differences_follow_their_definitions():
    X, y, _ = models.draw("III", 700, 30, rng("profile"))
    slices = public_slices(fixed([-0.5, 0.5, 1e9]))
    means, counts = slice_profile(X, y, slices)
    codes = slices.codes(y)
    for h in range(3):
        np.testing.assert_allclose(means[:, h], X[codes == h].mean(axis=0), atol=1e-13)
    assert counts.tolist() == np.bincount(codes, minlength=4).tolist() and counts[3] == 0
    omega = mean_differences(means, counts)
    np.testing.assert_allclose(omega[:, 0], np.abs(X[codes == 0].mean(axis=0) - X.mean(axis=0)), atol=1e-13)
    assert np.all(omega[:, 3] == 0)


def test_the_filter_counts_a_client_once_for_every_slice():
    omega = np.array([[0.9, 0.8, 0.0], [0.1, 0.7, 0.0], [0.5, 0.2, 0.0]])
    assert ccmd_multiplicity(omega, threshold=0.45).tolist() == [2, 1, 1]
    # An empty slice (all zeros) selects nothing.
    assert ccmd_multiplicity(omega, top=1).tolist() == [2, 0, 0]
    assert ccmd_multiplicity(omega, top=2).tolist() == [2, 1, 1]
    assert ccmd_select([[2, 0, 1], [0, 1, 0], [0, 1, 1]]).tolist() == [0, 1, 2]
    assert ccmd_select([[2, 0, 1], [0, 1, 0], [0, 0, 0], [0, 1, 1]]).tolist() == []
    assert ccmd_select([1, 0]).tolist() == [0]
    for rules in ({}, {"threshold": 0.1, "top": 2}, {"threshold": -0.1}, {"top": 0}, {"top": 4}):
        with pytest.raises(ValueError, match=r"threshold|columns cannot be chosen"):
            ccmd_multiplicity(omega, **rules)


def test_an_index_set_tells_one_record_for_certain():
    """Why the filter has no finite epsilon: neighbours whose messages never coincide."""
    X = np.zeros((10, 2))
    y = np.repeat([0.0, 1.0], 5)
    other = X.copy()
    other[0, 0] = 5.0
    halves = public_slices(fixed([0.5]))
    sets = [
        ccmd_multiplicity(mean_differences(*slice_profile(data, y, halves)), threshold=0.2).tolist()
        for data in (X, other)
    ]
    assert sets == [[0, 0], [2, 0]]


def test_votes_cost_what_they_say_and_find_the_support():
    """sqrt(2 T) is reached by disjoint sets; clients compose in parallel."""
    K, p, T, mu = 60, 100, 8, 3.0
    total, events = np.zeros(p), []
    for k in range(K):
        beta = models.directions("V", p, rng("unused"), active=8)
        X, y, _ = models.draw("V", 600, p, rng("votes", k), beta=beta)
        omega = mean_differences(*slice_profile(X, y, equal_frequency(y, 8)))
        release = vote_release(omega, T, mu, rng("vote noise", k), owner=f"client {k}", stratum=f"clients/{k}")
        events.append(release.event)
        total += release.value
        assert release.event.mu == mu and release.event.sensitivity == pytest.approx(math.sqrt(2 * T))
    chosen = vote_select(total, T, 2)
    assert chosen.shape == (T,) and len(set(chosen.tolist()) & set(range(8))) >= 6
    one, all_of_them = (Ledger(part).total(["server"], "row", 1e-5).epsilon_certified for part in (events[:1], events))
    assert one == all_of_them < math.inf
    first, second = (
        top_votes(np.diag(d), T) for d in (np.r_[np.ones(T), np.zeros(p - T)], np.r_[np.zeros(p - T), np.ones(T)])
    )
    assert np.linalg.norm(first - second) == pytest.approx(math.sqrt(2 * T))
    assert first.sum() == second.sum() == T


def test_noise_of_a_vote():
    omega, T, mu = rng("omega").random((40, 3)), 5, 0.5
    votes = top_votes(omega, T)
    assert votes.sum() == T and set(np.flatnonzero(votes)) == set(np.argsort(-omega.max(axis=1))[:T])
    noise = [vote_release(omega, T, mu, rng("noise", k), owner="c").value - votes for k in range(300)]
    assert accepts_sigma(noise, math.sqrt(2 * T) / mu) and not accepts_sigma(noise, math.sqrt(T) / mu)


@pytest.mark.parametrize(("size", "d"), [(1, 2), (41, 2)])
def test_bad_numbers_of_columns_are_named(size, d):
    with pytest.raises(ValueError, match=f"max_size={size}"):
        vote_select(np.zeros(40), size, d)


# The shortcut for null columns -----------------------------------------------------------------------------------


S, Q, NS, SLICES = 4, 56, 60, 3


def client(model, k, *names):
    """True columns, responses and slices of one client of NS records."""
    beta = models.directions(model, S, rng("beta"))
    X, y, _ = models.draw(model, NS, S, rng(*names, model, k), beta=beta)
    slices = public_slices(fixed([-0.4, 0.4]))
    return X, y, slices


def full_columns(X, autoregressive, numbers):
    """All records of the null columns, the slow way."""
    columns = numbers.standard_normal((Q, len(X)))
    if autoregressive:
        previous = X[:, -1]
        for row in columns:
            row *= math.sqrt(0.75)
            row += 0.5 * previous
            previous = row
    return columns.T


@pytest.fixture(scope="module", params=["III", "IV"])
def samples(request):
    """Statistics of the whole p = 60 columns from both samplers, and of a recursion without its sqrt(3/4)."""
    model = request.param
    autoregressive = models.MODELS[model].autoregressive
    table = {name: [] for name in ("full", "short", "wrong")}
    for k in range(DRAWS):
        X, y, slices = client(model, k, "full")
        whole = np.column_stack([X, full_columns(X, autoregressive, rng("null", model, k))])
        table["full"].append(statistics(*slice_profile(whole, y, slices)))
        for name, innovation in (("short", math.sqrt(0.75)), ("wrong", 1.0)):
            X, y, slices = client(model, k, "short")
            means, counts = slice_profile(X, y, slices)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(null_columns, "AR_INNOVATION", innovation)
                before = X[:, -1] if autoregressive else None
                null = draw_null(slices.codes(y), SLICES, Q, rng("short", model, k), before=before)
            table[name].append(statistics(np.concatenate([means, null.means]), counts))
    return autoregressive, {name: np.array(rows) for name, rows in table.items()}


def statistics(means, counts):
    """Selected sizes under both rules; slice means of the first, a middle and the last null column; a product."""
    omega = mean_differences(means, counts)
    threshold = ccmd_multiplicity(omega, threshold=0.3)
    null = means[S:]
    return [
        np.count_nonzero(threshold),
        np.count_nonzero(ccmd_multiplicity(omega, top=5)[S:]),
        threshold.sum(),
        null[0, 0],
        null[Q // 2, 1],
        null[-1, 2],
        null[10, 0] * null[11, 0],
        np.sqrt(NS) * means[S - 1, 0] * null[0, 0],
    ]


def test_both_samplers_have_one_distribution(samples):
    _, table = samples
    for column in range(table["full"].shape[1]):
        assert same_distribution(table["full"][:, column], table["short"][:, column]), column


def test_a_recursion_without_its_innovation_is_rejected(samples):
    """Independent columns do not use the recursion, so that both are right there."""
    autoregressive, table = samples
    rejected = [not same_distribution(table["full"][:, c], table["wrong"][:, c]) for c in range(table["full"].shape[1])]
    assert any(rejected) == autoregressive


@pytest.mark.parametrize("model", ["III", "IV"])
def test_completed_columns_have_their_means_and_their_distribution(model):
    """Slice means exact; all entries with the covariance of the model, the true column before them included."""
    autoregressive = models.MODELS[model].autoregressive
    chosen = [0, 1, 4, 30]
    rows = []
    for k in range(DRAWS // 5):
        X, y, slices = client(model, k, "complete")
        null = draw_null(
            slices.codes(y), SLICES, Q, rng("means", model, k), before=X[:, -1] if autoregressive else None
        )
        columns = null.materialise(chosen, rng("records", model, k))
        means, _ = slice_profile(columns, y, slices)
        np.testing.assert_allclose(means, null.means[chosen], atol=1e-13)
        rows.append(np.column_stack([X[:, -1], columns]))
    places = np.array([-1, *chosen])
    lags = np.abs(np.subtract.outer(places, places)).astype(float)
    right, wrong = (0.5**lags, np.eye(5)) if autoregressive else (np.eye(5), 0.5**lags)
    assert accepts_covariance(np.concatenate(rows), right)
    assert not accepts_covariance(np.concatenate(rows), wrong)


@pytest.mark.statistical
@pytest.mark.parametrize("model", ["III", "IV"])
def test_losses_have_one_distribution(model):
    """Screening, completing the selected columns and estimating: the loss at p = 60 from both samplers."""
    autoregressive = models.MODELS[model].autoregressive
    beta = np.zeros((S + Q, 2))
    beta[:S] = models.directions(model, S, rng("beta"))
    losses = {"full": [], "short": [], "screened less": []}
    for k in range(DRAWS):
        for name, top in (("full", 4), ("short", 4), ("screened less", 12)):
            X, y, slices = client(model, k, "losses", "full" if name == "full" else "short")
            means, counts = slice_profile(X, y, slices)
            numbers = rng("losses null", name, model, k)
            if name == "full":
                whole = np.column_stack([X, full_columns(X, autoregressive, numbers)])
                chosen = np.flatnonzero(ccmd_multiplicity(mean_differences(*slice_profile(whole, y, slices)), top=top))
                kept = whole[:, chosen]
            else:
                null = draw_null(slices.codes(y), SLICES, Q, numbers, before=X[:, -1] if autoregressive else None)
                omega = mean_differences(np.concatenate([means, null.means]), counts)
                chosen = np.flatnonzero(ccmd_multiplicity(omega, top=top))
                kept = np.column_stack([X[:, chosen[chosen < S]], null.materialise(chosen[chosen >= S] - S, numbers)])
            basis = np.zeros((S + Q, 2))
            basis[chosen] = classical(client_moments(kept, y, slices, clip=BoxClip(fixed(1.0))), 2).basis
            losses[name].append(projection_loss(basis, beta))
    assert same_distribution(losses["full"], losses["short"])
    assert not same_distribution(losses["full"], losses["screened less"])


def test_edges_of_the_shortcut():
    codes = np.array([0, 0, 2, 2, 2])
    null = draw_null(codes, 4, 3, rng("empty"))
    assert null.counts.tolist() == [2, 0, 3, 0] and np.all(null.means[:, [1, 3]] == 0)
    assert null.materialise([], rng("none")).shape == (5, 0)
    values = np.concatenate([draw_null(codes, 4, 50, rng("means", k)).means[:, [0, 2]] for k in range(100)])
    scaled = values * np.sqrt([2, 3])
    assert accepts_sigma(scaled, 1.0) and not accepts_sigma(values, 1.0)
    for bad in ([1, 1], [2, 1], [3], [-1]):
        with pytest.raises(ValueError, match="columns="):
            null.materialise(bad, rng("bad"))
    with pytest.raises(ValueError, match="not a slice of n_slices=2"):
        draw_null(codes, 2, 3, rng("bad"))
