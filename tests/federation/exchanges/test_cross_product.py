"""Secure cross products: exact, in every mode, opened as sums only, with masks that serve once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2

from error_rates import ALPHA
from forked import forked, in_all_ways
from partywise.federation.cipher import Cipher
from partywise.federation.exchanges import cross_places
from partywise.federation.exchanges import dealing as dealing_module
from partywise.federation.exchanges.cross_product import private, product, reveal, send_masked
from partywise.federation.exchanges.dealing import dealing
from partywise.federation.exchanges.residues import Ring, ring_for
from partywise.federation.exchanges.shared_values import LinearCombination
from partywise.federation.exchanges.sharing import WORDS
from partywise.federation.parties import Party
from partywise.federation.run import Run, simulate
from partywise.federation.secure_streams import SecureStreams
from products_driver import BITS, GROUPS, N, a_run, blocks, masked_blocks, parts


def gram(run: Run, ring: Ring | None = None, bits: int = BITS):
    """X'X of all blocks at the analyst."""
    dealt = dealing(run, run.parties, ring or ring_for(100 * N, 2 * bits))
    X = masked_blocks(run, dealt, bits)
    rows = []
    for one in X:
        row = []
        for other in X:
            name = f"{one.value.holders[0].name} and {other.value.holders[0].name}"
            S = product(run, dealt, one, other, name)
            row.append(reveal(run, S, "analyst", "shares", parts(run)))
        rows.append(row)
    return run.assemble(joined, rows)


def joined(rows) -> np.ndarray:
    return np.block([list(row) for row in rows])


def weighted(run: Run):
    """X_1' W X_2 with weights at party 0, and a combination of two vectors in shares."""
    dealt = dealing(run, run.parties, ring_for(1e6, 3 * BITS))
    X = masked_blocks(run, dealt)
    w = private(run, dealt, run.parties[0], run.at(run.parties[0], local_first), (N, 1), BITS)
    w = send_masked(run, dealt, w, "w", run.parties)
    WX = send_masked(run, dealt, product(run, dealt, w, X[2], "WX", entries=True), "WX masked", run.parties)
    S = reveal(run, product(run, dealt, X[1], WX, "XWX"), "analyst", "XWX", parts(run))
    both = (2 * w.value - 0.5 * X[1].value + 0.25).evaluate(run, BITS + 1)
    both = send_masked(run, dealt, both, "both", run.parties)
    T = reveal(run, product(run, dealt, X[0], both, "XT"), run.parties[1], "XT", parts(run))
    return run.assemble(pair, S, T)


def pair(*values):
    return values


def local_first(party: Party) -> np.ndarray:
    return np.abs(party.block["X"][:, 0])


def test_gram_matrix_is_that_of_the_pooled_columns():
    X = blocks()
    np.testing.assert_allclose(simulate(gram, a_run(X)), X.T @ X, rtol=0, atol=1e-7)


def in_words(run: Run):
    return gram(run, WORDS, 26)


def test_the_same_exchange_in_words_of_64_bits():
    X = blocks()
    runs = [a_run(X) for _ in range(2)]
    found = simulate(in_words, runs[0])
    np.testing.assert_allclose(found, X.T @ X, rtol=0, atol=1e-5)
    np.testing.assert_array_equal(forked(in_words, runs[1]), found)
    assert runs[1].channel.transcript() == runs[0].channel.transcript()


def test_products_of_products_and_combinations():
    X = blocks()
    S, T = simulate(weighted, a_run(X))
    w = np.abs(X[:, :1])
    np.testing.assert_allclose(S, X[:, 2:3].T @ (w * X[:, 3:]), atol=1e-7)
    np.testing.assert_allclose(T, X[:, :2].T @ (2 * w - 0.5 * X[:, 2:3] + 0.25), atol=1e-7)


@pytest.mark.parametrize("program", [gram, weighted])
def test_same_transcript_in_every_mode(program):
    in_all_ways(program, lambda: a_run(blocks()))


def test_secure_streams_give_the_same_sums():
    X = blocks()
    np.testing.assert_allclose(simulate(gram, a_run(X, SecureStreams(1))), X.T @ X, atol=1e-7)


def test_every_vector_of_records_crosses_closed():
    run = a_run(blocks())
    simulate(gram, run)
    for message, value in run.channel.view(*run.channel.names):
        if N in message.shape:
            assert isinstance(value, Cipher)


def evenness(run: Run, kind: str) -> float:
    """Probability of so uneven a spread of what crosses under a name, for uniform residues."""
    primes, columns = Ring(4).primes, []
    for message, value in run.channel.view(*run.channel.names):
        if message.name.startswith(kind):
            content = value.content if isinstance(value, Cipher) else value
            columns.append(content.reshape(len(content), -1)[: len(primes)])
    return spread(np.concatenate(columns, axis=1), primes)


def spread(residues: np.ndarray, primes: Sequence[int], bins: int = 16) -> float:
    total = 0.0
    for row, p in zip(residues, primes, strict=True):
        counts = np.histogram(row, np.linspace(-(p // 2) - 0.5, p // 2 + 0.5, bins + 1))[0]
        total += float(np.sum((counts - row.size / bins) ** 2) / (row.size / bins))
    return float(chi2.sf(total, len(primes) * (bins - 1)))


KINDS = ("masked:", "correction:", "shares")


@pytest.mark.parametrize("kind", KINDS)
def test_what_crosses_is_uniform_whatever_the_columns_are(kind):
    for X in (blocks(), np.zeros((N, 6)), np.full((N, 6), 3.0)):
        run = a_run(X)
        simulate(between, run)
        assert evenness(run, kind) > ALPHA


def test_values_beyond_the_public_bound_are_refused():
    party, ring = a_run(blocks()).parties[0], ring_for(100 * N, 2 * BITS)
    assert cross_places.local_encoded(party, np.array([-2.0, 2.0]), (2,), BITS, 2.0, ring).shape == (ring.m, 2)
    with pytest.raises(OverflowError, match="exceed the bound 2 that is public"):
        cross_places.local_encoded(party, np.array([np.nextafter(-2.0, -3.0), 0.0]), (2,), BITS, 2.0, ring)


def test_masks_that_are_too_short_are_found(monkeypatch):
    """Of 12 bits: the columns stand out of them."""
    drawn = Ring.random
    monkeypatch.setattr(Ring, "random", lambda self, shape, words: drawn(self, shape, words) >> 8)
    run = a_run(np.zeros((N, 6)))
    simulate(between, run)
    assert evenness(run, "masked:") < ALPHA


def repeated(run: Run, kind: str) -> int:
    """How many arrays cross under a name more than once."""
    found = [value for message, value in run.channel.view(*run.channel.names) if message.name.startswith(kind)]
    arrays = [(value.content if isinstance(value, Cipher) else value).tobytes() for value in found]
    return len(arrays) - len(set(arrays))


@pytest.mark.parametrize("kind", KINDS[1:])
def test_shares_of_equal_products_are_drawn_anew(kind, monkeypatch):
    run = a_run(blocks())
    simulate(between, run)
    assert repeated(run, kind) == 0
    own = cross_places.draw_residues
    for module in (cross_places, dealing_module):
        monkeypatch.setattr(module, "draw_residues", lambda seed, name, *given: own(seed, name.split(",")[0], *given))
    run = a_run(blocks())
    simulate(between, run)
    assert repeated(run, kind) > 0


def between(run: Run):
    """As `gram`, of pairs of different parties only: what one party has alone is opened as it is."""
    dealt = dealing(run, run.parties, ring_for(100 * N, 2 * BITS))
    X = masked_blocks(run, dealt)
    for repeat in range(20):
        for j, k in ((0, 1), (0, 2), (1, 2)):
            S = product(run, dealt, X[j], X[k], f"{j}, {k}, {repeat}")
            reveal(run, S, "analyst", "shares", parts(run))


def test_opened_shares_are_charged_to_all_owners():
    run = a_run(blocks())
    simulate(gram, run)
    assert {row.owner for row in run.channel.ledger.rows if row.mechanism == "none"} == {"p0", "p1", "p2"}


def test_bytes_and_products_are_those_of_the_table():
    """The docstring of the exchange: 4 m bytes a ring element, seeds of 32."""
    run = a_run(blocks())
    simulate(gram, run)
    m, widths = ring_for(100 * N, 2 * BITS).m, {f"p{k}": len(group) for k, group in enumerate(GROUPS)}
    sizes: dict[str, list[int]] = {}
    for message in run.channel.messages:
        sizes.setdefault(message.name.partition(":")[0], []).append(message.bytes)
    assert sizes["seed"] == [32] * 3
    assert sizes["masked"] == [4 * m * N * width for width in widths.values() for _ in range(2)]
    pairs = [(a, b) for a in widths for b in widths]
    assert sizes["correction"] == [4 * m * widths[a] * widths[b] for a, b in pairs if a != b]
    shares = [4 * m * widths[a] * widths[b] for a, b in pairs for _ in range(1 if a == b else 2)]
    assert sizes["shares"] == shares
    assert simulate(counted, a_run(blocks())) == N * sum(widths[a] * widths[b] for a, b in pairs if a != b)


def counted(run: Run) -> int:
    """Secret products of two parties' columns, of all ordered pairs."""
    dealt = dealing(run, run.parties, ring_for(100 * N, 2 * BITS))
    X = masked_blocks(run, dealt)
    for j, one in enumerate(X):
        for k, other in enumerate(X):
            product(run, dealt, one, other, f"{j}, {k}")
    return dealt.products


def test_a_mask_serves_once():
    run = a_run(blocks())
    dealt = dealing(run, run.parties, ring_for(100 * N, 2 * BITS))
    X = masked_blocks(run, dealt)
    with pytest.raises(ValueError, match="masks serve once"):
        send_masked(run, dealt, X[0].value, "X of p0", run.parties)


def test_a_holder_that_was_not_sent_a_factor_is_named():
    run = a_run(blocks())
    dealt = dealing(run, run.parties, ring_for(100 * N, 2 * BITS))
    first, second = masked_blocks(run, dealt)[:2]
    first = replace(first, audience=run.parties[:1])
    with pytest.raises(ValueError, match=r"audience of what 'S' multiplies lacks \['p1'\]"):
        product(run, dealt, first, second, "S")


def test_shared_values_add_up_by_their_coefficients():
    run = a_run(blocks())
    one, other = (
        value.value for value in masked_blocks(run, dealing(run, run.parties, ring_for(100 * N, 2 * BITS)))[:2]
    )
    for total, expected, constant in (
        (one + other, [(one, 1), (other, 1)], 0),
        (other - 2 * one, [(other, 1), (one, -2)], 0),
        (-(one + other * 3) + 1.5, [(one, -1), (other, -3)], 1.5),
        (0.5 * (one - 1), [(one, 0.5)], -0.5),
        (LinearCombination.of([one, other - 1, one]), [(one, 1), (other, 1), (one, 1)], -1),
        (np.full((N, 1), 2.0) + one, [(one, 1)], 2),
    ):
        assert [(id(value), factor) for value, factor in total.values] == [(id(v), factor) for v, factor in expected]
        assert np.all(total.constant == constant)
    for wrong in (lambda: one * other, lambda: np.ones((N, 1)) * one, lambda: one @ other):
        with pytest.raises(TypeError, match="unsupported operand"):
            wrong()
    with pytest.raises(ValueError, match=f"bits={BITS - 1} of a combination must be at least the {BITS}"):
        (one + one).evaluate(run, BITS - 1)


def test_plain_sums_of_what_parties_have_are_not_opened():
    run = a_run(blocks())
    dealt = dealing(run, run.parties, ring_for(100 * N, 2 * BITS))
    X = masked_blocks(run, dealt)
    value = (X[1].value + private_first(run, dealt)).evaluate(run, BITS)
    with pytest.raises(ValueError, match="opened with it"):
        reveal(run, value, "analyst", "sum", parts(run))


def private_first(run: Run, dealt):
    return private(run, dealt, run.parties[0], run.at(run.parties[0], local_first), (N, 1), BITS)


def dealer_integers(shape: tuple[int, int]) -> np.ndarray:
    return np.arange(1, shape[0] * shape[1] + 1).reshape(shape).astype(object) << 2 * BITS
