"""Exchange: weighted sums of encrypted numbers by columns of open weights, with what the columns share done once.

A ciphertext to the power of a weight multiplies its number. Weights are shifted to be positive and read in digits of
four bits; each ciphertext gets a table of its powers 0 .. 15, which serves all columns, and squarings are shared by the
rows of a column. The shift is taken off by one more power of the product of all ciphertexts.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...cipher import Cipher
from .ciphertexts import take
from .large_numbers import gmpy2, number_of
from .paillier import sums, times
from .paillier_keys import PublicKey

DIGIT = 4


def weighted_sums(public: PublicKey, cipher: Cipher, weights: np.ndarray) -> Cipher:
    """Sums of the integers of a cipher by open integers: ``weights.T @ integers``."""
    m, d = weights.shape
    if public.kind == "sized" or not m * d:
        products = times(public, take(cipher, np.tile(np.arange(m), d)), weights.T.ravel())
        return sums(public, products, np.repeat(np.arange(d), m), d)
    values = _products([number_of(row.tobytes()) for row in cipher.content], weights, public.square)
    flat = b"".join(int(value).to_bytes(public.width, "big") for value in values)
    return replace(cipher, content=np.frombuffer(flat, dtype=np.uint8).reshape(d, public.width))


def _products(values: list[int], weights: np.ndarray, square: int) -> list[int]:
    """Products of all values to the power of their weights, one for every column."""
    bits = max(abs(weight).bit_length() for weight in weights.ravel())
    places = bits // DIGIT + 1
    shift, whole = 1 << bits, gmpy2.mpz(1)
    tables = []
    for value in values:
        whole = whole * value % square
        powers = [gmpy2.mpz(1), value]
        for _ in range((1 << DIGIT) - 2):
            powers.append(powers[-1] * value % square)
        tables.append(powers)
    back = gmpy2.powmod(whole, -shift, square)
    products = []
    for column in weights.T:
        digits = [(int(weight) + shift).to_bytes(places // 2 + 1, "big").hex() for weight in column]
        total = gmpy2.mpz(1)
        for place in zip(*digits, strict=True):
            if total != 1:
                total = gmpy2.powmod(total, 1 << DIGIT, square)
            for powers, digit in zip(tables, place, strict=True):
                if digit != "0":
                    total = total * powers[int(digit, 16)] % square
        products.append(total * back % square)
    return products
