"""Long check of Paillier encryption: ten thousand values at 2048 bits decrypt alike here and with phe."""

from __future__ import annotations

import numpy as np
import pytest
from phe import paillier as phe

from partywise.core.randomness import stream
from partywise.federation.exchanges.homomorphic.paillier import decrypt, encrypt, rerandomise, sums
from partywise.federation.exchanges.homomorphic.paillier_keys import generate_key

pytestmark = pytest.mark.statistical

VALUES, BITS = 10_000, 2048


def test_ten_thousand_values_decrypt_alike():
    key = generate_key(BITS, stream(1, "long key"), kind="paillier")
    public = phe.PaillierPublicKey(int(key.public.modulus))
    private = phe.PaillierPrivateKey(public, int(key.p), int(key.q))
    rng = stream(1, "long values")
    sizes = rng.integers(1, BITS - 2, VALUES).tolist()
    # Every length from one bit to the longest, of both signs.
    values = [
        int(sign) * (1 << size - 1 | int.from_bytes(rng.bytes(size // 8 + 1), "big") % (1 << size - 1))
        for size, sign in zip(sizes, rng.choice([-1, 1], VALUES), strict=True)
    ]
    cipher = encrypt(key, values, stream(1, "long encryption"), key_holder="active")
    raw = (private.raw_decrypt(int.from_bytes(row.tobytes(), "big")) for row in cipher.content)
    theirs = [number if number < public.n // 2 else number - public.n for number in raw]
    assert theirs == values
    assert decrypt(key, cipher) == values
    small = encrypt(key.public, [value % 2**60 for value in values], stream(1, "long public"), key_holder="active")
    total = rerandomise(key.public, sums(key.public, small, np.zeros(VALUES, int), 1), stream(1, "long sum"))
    assert decrypt(key, total) == [sum(value % 2**60 for value in values)]
