"""One round of the certified linear protocol on real ciphers, and its weighted sums against phe's, at 2048 bits.

A round: batch of 50, two parties with seven columns each and an intercept; CPU seconds of a fit of six rounds less
those of one, a fifth of it. Fails above .25 s. Weighted sums: X'u for 50 ciphertexts and 15 columns in fixed point, as
the protocol has them, as users of phe write them (encrypted integers times integers), and by powers of single
ciphertexts of our own; pairs of runs side by side, medians of their ratios. Fails below 2 times our own powers.
"""

from __future__ import annotations

from _timing import cpu_seconds

# isort: split


import numpy as np
from phe import paillier as phe

from linear_driver import fitted, rows
from partywise.core.randomness import stream
from partywise.federation.exchanges.homomorphic import paillier
from partywise.federation.exchanges.homomorphic.ciphertexts import take
from partywise.federation.exchanges.homomorphic.paillier_keys import generate_key
from partywise.federation.exchanges.homomorphic.weighted_sums import weighted_sums
from partywise.methods.linear.fixed_point import to_fixed_point
from partywise.methods.linear.options import LinearCertifiedOptions
from partywise.methods.linear.protocols import certified

BATCH, COLUMNS, PAIRS = 50, 15, 5
ROUND, POWERS = 0.25, 2.0


def one_round() -> float:
    """Median CPU seconds of a round."""
    X, labels, _ = rows(200, 14)
    groups = [list(range(7)), list(range(7, 14))]

    def rounds(count: int) -> float:
        options = LinearCertifiedOptions(batch_size=BATCH, total_round_num=count)
        return cpu_seconds(lambda: fitted(certified.fit, X, labels, groups, options))

    rounds(1)
    return float(np.median([(rounds(6) - rounds(1)) / 5 for _ in range(PAIRS)]))


def ratios() -> tuple[float, float, float]:
    """Seconds of our weighted sums, and how many times as long single powers of ours and phe's take."""
    key = generate_key(2048, stream(1, "key"), kind="paillier")
    public, theirs = key.public, phe.PaillierPublicKey(int(key.public.modulus))
    residuals = [int(value) for value in stream(1, "residuals").integers(-(2**42), 2**42, BATCH)]
    weights = to_fixed_point(stream(1, "weights").uniform(-2, 2, (BATCH, COLUMNS)))
    cipher = paillier.encrypt(key, residuals, stream(1, "first"), key_holder="server")
    numbers = [theirs.encrypt(value) for value in residuals]

    def powers() -> object:
        taken = take(cipher, np.tile(np.arange(BATCH), COLUMNS))
        products = paillier.times(public, taken, weights.T.ravel())
        return paillier.sums(public, products, np.repeat(np.arange(COLUMNS), BATCH), COLUMNS)

    def of_phe() -> object:
        return [sum(u * w for u, w in zip(numbers, column, strict=True)) for column in weights.T.tolist()]

    expected = [sum(u * w for u, w in zip(residuals, column, strict=True)) for column in weights.T.tolist()]
    assert paillier.decrypt(key, weighted_sums(public, cipher, weights)) == expected
    assert paillier.decrypt(key, powers()) == expected
    found = []
    for _ in range(PAIRS):
        ours = cpu_seconds(lambda: weighted_sums(public, cipher, weights))
        found.append((ours, cpu_seconds(powers) / ours, cpu_seconds(of_phe) / ours))
    ours, single, theirs_ratio = np.median(found, axis=0)
    return float(ours), float(single), float(theirs_ratio)


def main() -> int:
    """Print the table; 1 if a limit is missed."""
    step = one_round()
    ours, single, of_phe = ratios()
    print(f"a round on real ciphers: {step:.3f} CPU s (at most {ROUND:g})")
    print(
        f"weighted sums of {BATCH} x {COLUMNS}: {1000 * ours:.0f} ms, single powers take {single:.1f} times as long "
        f"(at least {POWERS:g}), phe {of_phe:.1f} times"
    )
    return int(step > ROUND or single < POWERS)


if __name__ == "__main__":
    raise SystemExit(main())
