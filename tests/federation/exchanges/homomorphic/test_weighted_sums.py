"""Weighted sums of encrypted numbers against sums of integers; masks come off where they were drawn."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partywise.core.randomness import stream
from partywise.federation.exchanges.homomorphic.paillier import decrypt, encrypt
from partywise.federation.exchanges.homomorphic.paillier_keys import generate_key
from partywise.federation.exchanges.homomorphic.weighted_sums import (
    add_masks,
    mask_width,
    masks,
    opened_under_masks,
    remove_masks,
    weighted_sums,
)

LARGE = st.integers(-(2**60), 2**60)


@cache
def key(kind: str):
    return generate_key(512, stream(1, "key"), kind=kind)


@settings(deadline=None, max_examples=40)
@given(data=st.data(), m=st.integers(1, 5), d=st.integers(1, 4), kind=st.sampled_from(["paillier", "sized"]))
def test_they_are_the_sums_of_integers(data, m, d, kind):
    integers = data.draw(st.lists(LARGE, min_size=m, max_size=m))
    small = st.sampled_from([0, 0, 1, -1, 15, 16, -16, 2**40, -(2**41) + 1])
    weights = [data.draw(st.lists(LARGE | small, min_size=d, max_size=d)) for _ in range(m)]
    private = key(kind)
    closed = encrypt(private, integers, stream(2, "numbers"), key_holder="server")
    found = weighted_sums(private.public, closed, np.array(weights, dtype=object))
    expected = [sum(row[j] * value for row, value in zip(weights, integers, strict=True)) for j in range(d)]
    assert decrypt(private, found) == expected and found.key_holder == "server"
    assert found.shape == (d, private.public.width)


@pytest.mark.parametrize("kind", ["paillier", "sized"])
def test_no_column_has_no_sum(kind):
    closed = encrypt(key(kind), [3, 4], stream(2, "numbers"), key_holder="server")
    assert decrypt(key(kind), weighted_sums(key(kind).public, closed, np.empty((2, 0), dtype=object))) == []
    zeros = weighted_sums(key(kind).public, closed, np.array([[0], [0]], dtype=object))
    assert decrypt(key(kind), zeros) == [0]


@pytest.mark.parametrize("kind", ["paillier", "sized"])
def test_masks_come_off_where_they_were_drawn(kind):
    private, width = key(kind), 30
    closed = encrypt(private, [5, -(2**90), 0], stream(2, "numbers"), key_holder="server")
    drawn = masks(3, width, stream(3, "masks"))
    under = add_masks(private.public, closed, drawn, stream(4, "anew"), holder="party")
    assert under.key_holder == "party" and all(0 <= mask < 256**width for mask in drawn)
    opened = opened_under_masks(private, under, width)
    assert opened.shape == (3, width + 1) and opened.dtype == np.uint8
    assert remove_masks(opened, drawn) == [5, -(2**90), 0]
    assert remove_masks(opened, drawn[::-1]) != [5, -(2**90), 0]


def test_a_mask_and_what_it_hides_fill_a_ciphertext_to_the_last_bit():
    """8 bits and a mask of 120 more are 16 bytes, and one bit holds the carry of their sum."""
    assert mask_width(8, 129) == 16 and mask_width(9, 137) == 17
    for bits, room in ((8, 128), (9, 136)):
        with pytest.raises(OverflowError, match=f"do not fit into the {room} bits"):
            mask_width(bits, room)
