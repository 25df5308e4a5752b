"""Null columns drawn for screening by signs: distributed as by the full sampler, by address alone."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ks_2samp

from error_rates import ALPHA, accepts_covariance
from fixed import fixed
from partywise.core.randomness import stream
from partywise.methods.inverse_regression import models
from partywise.methods.inverse_regression.estimate import classical
from partywise.methods.inverse_regression.moments import client_moments
from partywise.methods.inverse_regression.screening import contrasts, score, sign_sums, vote_select
from partywise.methods.inverse_regression.slices import public_slices
from partywise.methods.inverse_regression.subspace import projection_loss
from partywise.privacy.statistics.clips import BoxClip
from partywise.studies.sliced_inverse_regression.simulation import sign_columns
from partywise.studies.sliced_inverse_regression.simulation.sign_columns import (
    BLOCK,
    AutoregressiveColumns,
    bridge,
    signed_columns,
)

DRAWS, S, Q, NS = 2000, 4, 56, 60
FIXED = public_slices(fixed([-0.4, 0.4]))
H = FIXED.n_slices


def rng(*names):
    return stream(7, "slicing sign columns", *names)


def same_distribution(first, second) -> bool:
    return bool(ks_2samp(first, second).pvalue > ALPHA)


def true_part(model, *names):
    """True columns and slices of one client of NS records."""
    X, y, _ = models.draw(model, NS, S, rng(*names, model), beta=models.directions(model, S, rng("beta")))
    return X, y


def full_columns(X, autoregressive, numbers):
    """All records of the null columns, the slow way."""
    columns = numbers.standard_normal((Q, len(X)))
    if autoregressive:
        previous = X[:, -1]
        for row in columns:
            row *= np.sqrt(0.75)
            row += 0.5 * previous
            previous = row
    return columns.T


def short_columns(X, autoregressive, k):
    return signed_columns(7, k, len(X), Q, X[:, -1] if autoregressive else None)


def statistics(X, kept_sums, chosen, records, codes):
    """Sign counts of single columns and of pairs, a border of blocks among them; moments of completed columns."""
    null = kept_sums[:, S:]
    clipped = np.clip(records, -1, 1)
    means = np.stack([clipped[codes == h].sum(axis=0) for h in range(H)])
    code = contrasts(FIXED)
    return [
        null[0, 0],
        null[1, Q // 2],
        null[2, -1],
        null[:, 7].sum(),
        null[0, 10] * null[0, 11],
        null[0, BLOCK - 2] * null[0, BLOCK - 1],
        null[0, BLOCK - 1] * null[0, BLOCK],
        np.sign(X[:, -1])[codes == 0].sum() * null[0, 0],
        score(code @ null).max(),
        np.sum((code @ means) * (code @ kept_sums[:, chosen])),
        np.mean(records[:, -1] ** 2),
        np.mean(records[:, -1] * records[:, -2]),
        np.mean(records**4),
        np.mean(np.abs(records) < 0.5),
        clipped[codes == 0].sum(),
    ]


def screened(model, k, name, complete=None):
    """One client: screening by signs, then the records of the columns that stay."""
    autoregressive = models.MODELS[model].autoregressive
    X, y = true_part(model, name, k)
    codes = FIXED.codes(y)
    if name == "full":
        null = full_columns(X, autoregressive, rng("full null", model, k))
        sums, whole = sign_sums(np.column_stack([X, null]), codes, H), np.column_stack([X, null])
        chosen = vote_select(score(contrasts(FIXED) @ sums), 8, 2)
        return X, y, codes, sums, chosen, whole[:, chosen]
    short = short_columns(X, autoregressive, k)
    sums = np.concatenate([sign_sums(X, codes, H), short.sums(codes, H)], axis=1)
    chosen = vote_select(score(contrasts(FIXED) @ sums), 8, 2)
    source = short if complete is None else complete(short)
    null = source.records(chosen[chosen >= S] - S)
    return X, y, codes, sums, chosen, np.column_stack([X[:, chosen[chosen < S]], null])


def other_records(short):
    """Wrong: the selected columns get records of another client, and not those that were screened."""
    return replace(short, number=short.number + 10**6)


@pytest.fixture(scope="module", params=["III", "IV"])
def samples(request):
    """Statistics at p = 60 from the full sampler, from the short one, and from a wrong completion."""
    table = {}
    for name, complete in (("full", None), ("short", None), ("wrong", other_records)):
        rows = []
        for k in range(DRAWS):
            X, _, codes, sums, chosen, records = screened(request.param, k, name, complete)
            rows.append(statistics(X, sums, chosen, records, codes))
        table[name] = np.array(rows)
    return table


def test_both_samplers_have_one_distribution(samples):
    for column in range(samples["full"].shape[1]):
        assert same_distribution(samples["full"][:, column], samples["short"][:, column]), column


def test_a_wrong_completion_is_rejected(samples):
    """Each of its columns has the right distribution on its own; only their tie to what was screened is missing."""
    columns = range(samples["full"].shape[1])
    rejected = [c for c in columns if not same_distribution(samples["full"][:, c], samples["wrong"][:, c])]
    assert 9 in rejected and not set(rejected) & set(range(9))


@pytest.mark.statistical
@pytest.mark.parametrize("model", ["III", "IV"])
def test_losses_have_one_distribution(model):
    beta = np.zeros((S + Q, 2))
    beta[:S] = models.directions(model, S, rng("beta"))
    losses: dict[str, list[float]] = {"full": [], "short": [], "true columns alone": []}
    for name in losses:
        for k in range(DRAWS):
            X, y, _, _, chosen, records = screened(model, k, "full" if name == "full" else "short losses")
            if name == "true columns alone":
                chosen, records = np.arange(S), X
            basis = np.zeros((S + Q, 2))
            basis[chosen] = classical(client_moments(records, y, FIXED, clip=BoxClip(fixed(1.0))), 2).basis
            losses[name].append(projection_loss(basis, beta))
    assert same_distribution(losses["full"], losses["short"])
    assert not same_distribution(losses["full"], losses["true columns alone"])


def test_autoregressive_blocks_have_their_covariance(monkeypatch):
    """Within a block, across its borders, and with the true column before; not without the bridge to the ends."""
    chosen = np.array([0, 1, 9, BLOCK - 2, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 3])
    places = np.array([-1, *chosen])
    covariance = 0.5 ** np.abs(np.subtract.outer(places, places)).astype(float)

    def drawn():
        rows = []
        for k in range(40):
            before = rng("before", k).standard_normal(1000)
            rows.append(np.column_stack([before, signed_columns(7, k, 1000, 100, before).records(chosen)]))
        return np.concatenate(rows)

    assert accepts_covariance(drawn(), covariance)
    for mean in (np.zeros((BLOCK - 1, 2)), bridge(BLOCK)[0] * [1, 0]):
        wrong = (mean.astype(np.float32), bridge(BLOCK)[1])
        monkeypatch.setattr(sign_columns, "bridge", lambda size, wrong=wrong: wrong)
        assert not accepts_covariance(drawn(), covariance)


def test_independent_columns_are_standard_normal():
    drawn = np.concatenate([signed_columns(7, k, 1000, 50, None).records(np.array([0, 3, 4, 49])) for k in range(40)])
    assert accepts_covariance(drawn, np.eye(4)) and not accepts_covariance(np.abs(drawn), np.eye(4))


@pytest.mark.parametrize("autoregressive", [False, True])
@pytest.mark.parametrize(("n", "q"), [(100, 70), (64, 32), (1, 1), (65, 33)])
def test_what_was_screened_are_the_records(n, q, autoregressive):
    """Sums are those of the records' signs, exactly; a record does not depend on which others are asked for."""
    before = rng("edge", n).standard_normal(n) if autoregressive else None
    codes = rng("codes", n).integers(0, 5, n)
    columns = signed_columns(3, 11, n, q, before)
    whole = columns.records(np.arange(q))
    assert whole.shape == (n, q)
    assert np.array_equal(columns.sums(codes, 6), sign_sums(whole, codes, 6))
    for chosen in ([], [q - 1], list(range(0, q, 7))):
        assert np.array_equal(columns.records(np.array(chosen, dtype=int)), whole[:, chosen])
    again = signed_columns(3, 11, n, q, before)
    assert np.array_equal(again.records(np.arange(q)), whole)
    assert not np.array_equal(signed_columns(3, 12, n, q, before).records(np.arange(q)), whole)


def test_memory_does_not_grow_with_the_records_of_all_columns():
    n, q = 1000, 4000
    columns = AutoregressiveColumns(3, 1, rng("memory").standard_normal(n), q)
    codes = np.zeros(n, dtype=int)
    columns.sums(codes, 8)
    tracemalloc.start()
    columns.sums(codes, 8)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n * q / 4
