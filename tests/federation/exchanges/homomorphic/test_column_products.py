"""Products of columns in slots against matrix products of integers; what the key holder may not read from them."""

from __future__ import annotations

import time
from functools import cache

import numpy as np
import pytest

from partywise.core.randomness import stream
from partywise.federation.exchanges.homomorphic import column_products
from partywise.federation.exchanges.homomorphic.ciphertexts import values_of
from partywise.federation.exchanges.homomorphic.paillier_keys import SURPLUS, generate_key

ATTACKS = 20


@cache
def key(bits: int, kind: str = "paillier"):
    return generate_key(bits, stream(1, "key of slots", bits), kind=kind)


def columns(n: int, p: int, *address: object) -> np.ndarray:
    """Extreme values and all others."""
    rng = stream(2, "columns", n, p, *address)
    extreme = rng.choice(np.array([-column_products.LARGEST, column_products.LARGEST, 0, 1]), (n, p))
    return np.where(
        rng.random((n, p)) < 0.5, extreme, rng.integers(-column_products.LARGEST, column_products.LARGEST + 1, (n, p))
    )


def opened(private, x: np.ndarray, y: np.ndarray, *address: object) -> np.ndarray:
    """Products (p, q): what the words of both parties add to."""
    closed = column_products.close_columns(private, x, stream(3, "closed", *address), key_holder="j")
    returned, words = column_products.masked_products(
        private.public, closed, x.shape[1], y, stream(4, "masks", *address), holder="k"
    )
    return (column_products.open_products(private, returned, *x.shape) + words).view(np.int64)


@pytest.mark.parametrize("kind", ["paillier", "sized"])
@pytest.mark.parametrize(("n", "p", "q"), [(1, 1, 1), (2, 14, 3), (3, 5, 14), (50, 7, 2), (120, 4, 2), (600, 3, 2)])
def test_they_are_the_products_of_integers(kind, n, p, q):
    x, y = columns(n, p, "x"), columns(n, q, "y")
    np.testing.assert_array_equal(opened(key(512, kind), x, y), x.T @ y)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_sums_stay_in_their_slots(sign):
    for n in range(1, 71):
        x = np.full((n, 3), column_products.LARGEST)
        np.testing.assert_array_equal(opened(key(512), x, sign * x[:, :1], n), sign * (x.T @ x[:, :1]))


def test_masks_have_their_bits_and_no_more():
    drawn = column_products._masks((50, 40), 154, stream(5, "bits"))
    assert max(value.bit_length() for value in drawn.ravel()) == 154


@pytest.mark.parametrize("entry", [column_products.LARGEST + 1, -column_products.LARGEST - 1])
def test_a_column_beyond_its_bound_is_refused(entry):
    with pytest.raises(OverflowError, match="clip records"):
        column_products.close_columns(key(512), np.array([[0], [entry]]), stream(1, "large"), key_holder="j")


def found_neighbours() -> int:
    """How often the key holder tells which of two neighbours it met, from the randomness of what comes back."""
    private = key(512)
    public, found = private.public, 0
    for attempt in range(ATTACKS):
        x, y = columns(20, 2, "x", attempt), columns(20, 1, "y", attempt)
        other = y.copy()
        other[0] = -other[0] if other[0, 0] else 1
        truth = stream(6, "world", attempt).integers(2)
        closed = column_products.close_columns(private, x, stream(7, "closed", attempt), key_holder="j")
        met = (y, other)[truth]
        returned, _ = column_products.masked_products(public, closed, 2, met, stream(8, "masks", attempt), holder="k")
        # Modulo the public modulus nothing but randomness is left.
        seen = values_of(public, returned)[0] % public.modulus
        guesses = [column_products._products(values_of(public, closed), one, public.square)[0] for one in (y, other)]
        found += seen == guesses[truth] % public.modulus != guesses[1 - truth] % public.modulus
    return found


def test_the_key_holder_finds_no_neighbour():
    assert found_neighbours() == 0


def test_without_new_randomness_it_finds_all(monkeypatch):
    monkeypatch.setattr(column_products, "rerandomise", lambda public, cipher, rng, full: cipher)
    assert found_neighbours() == ATTACKS


def test_exponents_of_what_returns_have_full_length(monkeypatch):
    widths = []
    public = key(512).public
    original = type(public.powers).times

    def times(self, start, exponents):
        widths.append(8 * exponents.shape[1])
        return original(self, start, exponents)

    closed = column_products.close_columns(key(512), columns(2, 1), stream(1, "c"), key_holder="j")
    monkeypatch.setattr(type(public.powers), "times", times)
    column_products.masked_products(public, closed, 1, columns(2, 1), stream(1, "m"), holder="k")
    assert widths == [512 + SURPLUS] and SURPLUS == 128


def test_two_runs_share_no_ciphertext():
    x, y = columns(10, 2, "x"), columns(10, 2, "y")
    seen = set()
    for run in range(2):
        closed = column_products.close_columns(key(512), x, stream(9, "run", run), key_holder="j")
        returned, _ = column_products.masked_products(key(512).public, closed, 2, y, stream(10, "run", run), holder="k")
        seen |= {int(value) for cipher in (closed, returned) for value in values_of(key(512).public, cipher)}
    assert len(seen) == 2 * (10 + 2)


def test_two_thousand_records_take_two_seconds():
    x, y = columns(2_000, 5, "x"), columns(2_000, 5, "y")
    private = key(2048)
    start = time.process_time()
    found = opened(private, x, y)
    assert time.process_time() - start <= 2
    np.testing.assert_array_equal(found, x.T @ y)


def test_sized_messages_have_the_sizes_of_ciphertexts():
    x, y, sizes = columns(40, 14, "x"), columns(40, 3, "y"), []
    for kind in ("paillier", "sized"):
        private = key(512, kind)
        closed = column_products.close_columns(private, x, stream(1, "closed"), key_holder="j")
        returned, _ = column_products.masked_products(private.public, closed, 14, y, stream(1, "m"), holder="k")
        sizes.append([cipher.size or cipher.content.nbytes for cipher in (closed, returned)])
    # Three slots of 159 bits fit into 512: five ciphertexts a record and a column.
    assert sizes[0] == sizes[1] == [40 * 5 * 128, 3 * 5 * 128]


@pytest.mark.parametrize("kind", ["paillier", "sized"])
def test_no_word_alone_tells_the_sums(kind):
    """Over masks the words of both parties are uniform, whatever the columns are."""
    x, y, private, seen = columns(3, 2, "x"), columns(3, 1, "y"), key(512, kind), []
    closed = column_products.close_columns(private, x, stream(1, "closed"), key_holder="j")
    for draw in range(300):
        rng = stream(1, "masks of one sum", draw)
        returned, words = column_products.masked_products(private.public, closed, 2, y, rng, holder="k")
        seen.append([column_products.open_products(private, returned, 3, 2), words])
    shares = np.array(seen, dtype=float).reshape(300, -1) * 2.0**-64
    # Mean and square of uniform numbers, 6 standard errors.
    assert np.abs(shares.mean(axis=0) - 1 / 2).max() < 6 * np.sqrt(1 / 12 / 300)
    assert np.abs((shares**2).mean(axis=0) - 1 / 3).max() < 6 * np.sqrt(4 / 45 / 300)


def test_who_holds_the_key():
    # Five columns fit into one ciphertext of twelve slots, 13 into two.
    assert [column_products.first_holds_key(*sizes, 12) for sizes in ((5, 5), (5, 2), (2, 5), (13, 1), (1, 13))] == [
        True,
        True,
        False,
        True,
        False,
    ]


def test_words_that_could_wrap_are_refused():
    column_products.require_word_room(10_000, 2.0**50)
    for n, deviation in ((2**32, 16.0), (1, 2.0**55), (1, float("nan"))):
        with pytest.raises(OverflowError, match="64 bits"):
            column_products.require_word_room(n, deviation)
