"""Secure cross products: exact, in every mode, opened as sums only, with masks that serve once."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from forked import checked, forked
from partywise.federation.channel import Cipher
from partywise.federation.exchanges.cross_product import (
    DEALER,
    combined,
    dealing,
    masked,
    opened,
    private,
    product,
    released,
)
from partywise.federation.exchanges.residues import ring_for
from partywise.federation.parties import Party
from partywise.federation.run import Run, simulate
from partywise.federation.secure_streams import SecureStreams
from partywise.privacy.accounted import Clear
from partywise.privacy.mechanisms.release import Release
from partywise.randomness import Streams, stream

N, BITS = 50, 30
GROUPS = ((0, 1), (2,), (3, 4, 5))


def blocks(seed: int = 1) -> np.ndarray:
    return stream(seed, "cross products").standard_normal((N, 6))


def a_run(X: np.ndarray, rng_for=None) -> Run:
    parties = [
        Party(f"p{k}", "passive" if k else "active", {"X": X[:, list(group)]}, group) for k, group in enumerate(GROUPS)
    ]
    return Run(
        parties,
        epsilon=np.inf,
        fold=None,
        rng_for=rng_for or Streams(3, "exchange"),
        spec=SimpleNamespace(),
        extra=("analyst", DEALER),
        record=True,
    )


def parts(run: Run) -> tuple[Clear, ...]:
    return tuple(Clear(None, units=("features",), owner=party.name) for party in run.parties)


def local_block(party: Party) -> np.ndarray:
    return party.block["X"]


def masked_blocks(run: Run, dealt) -> list:
    found = []
    for party in run.parties:
        values = run.at(party, local_block)
        own = private(run, dealt, party, values, (N, len(party.columns)), BITS)
        found.append(masked(run, dealt, own, f"X of {party.name}", run.parties))
    return found


def gram(run: Run):
    """X'X of all blocks at the analyst."""
    dealt = dealing(run, run.parties, ring_for(100 * N, 2 * BITS))
    X = masked_blocks(run, dealt)
    rows = []
    for one in X:
        row = []
        for other in X:
            name = f"{one.value.holders[0].name} and {other.value.holders[0].name}"
            S = product(run, dealt, one, other, name)
            row.append(opened(run, dealt, S, "analyst", "shares", parts(run)))
        rows.append(row)
    return run.assemble(joined, rows)


def joined(rows) -> np.ndarray:
    return np.block([list(row) for row in rows])


def weighted(run: Run):
    """X_1' W X_2 with weights at party 0, and a combination of two vectors in shares."""
    dealt = dealing(run, run.parties, ring_for(1e6, 3 * BITS))
    X = masked_blocks(run, dealt)
    w = private(run, dealt, run.parties[0], run.at(run.parties[0], local_first), (N, 1), BITS)
    w = masked(run, dealt, w, "w", run.parties)
    WX = masked(run, dealt, product(run, dealt, w, X[2], "WX", entries=True), "WX masked", run.parties)
    S = opened(run, dealt, product(run, dealt, X[1], WX, "XWX"), "analyst", "XWX", parts(run))
    both = combined(run, [(w.value, 2.0), (X[1].value, -0.5)], BITS + 1, 0.25)
    both = masked(run, dealt, both, "both", run.parties)
    T = opened(run, dealt, product(run, dealt, X[0], both, "XT"), run.parties[1], "XT", parts(run))
    return run.assemble(pair, S, T)


def pair(*values):
    return values


def local_first(party: Party) -> np.ndarray:
    return np.abs(party.block["X"][:, 0])


def test_gram_matrix_is_that_of_the_pooled_columns():
    X = blocks()
    np.testing.assert_allclose(simulate(gram, a_run(X)), X.T @ X, rtol=0, atol=1e-7)


def test_products_of_products_and_combinations():
    X = blocks()
    S, T = simulate(weighted, a_run(X))
    w = np.abs(X[:, :1])
    np.testing.assert_allclose(S, X[:, 2:3].T @ (w * X[:, 3:]), atol=1e-7)
    np.testing.assert_allclose(T, X[:, :2].T @ (2 * w - 0.5 * X[:, 2:3] + 0.25), atol=1e-7)


@pytest.mark.parametrize("program", [gram, weighted])
def test_same_transcript_in_every_mode(program):
    runs = [a_run(blocks()) for _ in range(3)]
    found = [simulate(program, runs[0]), checked(program, runs[1]), forked(program, runs[2])]
    for other, run in zip(found[1:], runs[1:], strict=True):
        assert all(map(np.array_equal, other, found[0]))
        assert run.channel.transcript() == runs[0].channel.transcript()
        assert run.channel.ledger.digest == runs[0].channel.ledger.digest


def test_secure_streams_give_the_same_sums():
    X = blocks()
    np.testing.assert_allclose(simulate(gram, a_run(X, SecureStreams(1))), X.T @ X, atol=1e-7)


def test_every_vector_of_records_crosses_closed():
    run = a_run(blocks())
    simulate(gram, run)
    for message, value in run.channel.view(*run.channel.names):
        if N in message.shape:
            assert isinstance(value, Cipher)


def test_opened_shares_are_charged_to_all_owners():
    run = a_run(blocks())
    simulate(gram, run)
    assert {row.owner for row in run.channel.ledger.rows} == {"p0", "p1", "p2"}


def test_a_mask_serves_once():
    run = a_run(blocks())
    dealt = dealing(run, run.parties, ring_for(100 * N, 2 * BITS))
    X = masked_blocks(run, dealt)
    with pytest.raises(ValueError, match="masks serve once"):
        masked(run, dealt, X[0].value, "X of p0", run.parties)


def test_plain_sums_of_what_parties_have_are_not_opened():
    run = a_run(blocks())
    dealt = dealing(run, run.parties, ring_for(100 * N, 2 * BITS))
    X = masked_blocks(run, dealt)
    value = combined(run, [(X[1].value, 1.0), (private_first(run, dealt), 1.0)], BITS)
    with pytest.raises(ValueError, match="opened with it"):
        opened(run, dealt, value, "analyst", "sum", parts(run))


def private_first(run: Run, dealt):
    return private(run, dealt, run.parties[0], run.at(run.parties[0], local_first), (N, 1), BITS)


@pytest.mark.parametrize("pair", [(0, 0), (0, 2)])
def test_a_noisy_product_opens_as_a_release_only(pair):
    X = blocks()
    run = a_run(X)
    dealt = dealing(run, run.parties, ring_for(100 * N, 2 * BITS))
    M = masked_blocks(run, dealt)
    shape = len(GROUPS[pair[0]]), len(GROUPS[pair[1]])
    noise = run.at(DEALER, dealer_integers, shape)
    S = product(run, dealt, M[pair[0]], M[pair[1]], "noisy", noise=noise)
    with pytest.raises(ValueError, match="released"):
        opened(run, dealt, S, "analyst", "noisy", parts(run))
    with pytest.raises(TypeError, match="make a Release"):
        released(run, dealt, S, "analyst", "noisy", np.asarray)
    event = SimpleNamespace()
    made = []

    def make(total: np.ndarray) -> Release:
        made.append(total)
        release = object.__new__(Release)
        object.__setattr__(release, "event", event)
        return release

    released(run, dealt, S, "analyst", "noisy", make)
    expected = X[:, GROUPS[pair[0]]].T @ X[:, GROUPS[pair[1]]] + np.arange(1, shape[0] * shape[1] + 1).reshape(shape)
    np.testing.assert_allclose(made[0], expected, atol=1e-7)


def dealer_integers(shape: tuple[int, int]) -> np.ndarray:
    return np.arange(1, shape[0] * shape[1] + 1).reshape(shape).astype(object) << 2 * BITS
