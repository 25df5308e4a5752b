"""Exchange: additive shares over Z_2^64 (`WordRing`), their sums at each place, their products by triples of a dealer.

A value is the sum of one word at each holder, modulo 2^64; any words but all of them are uniform, for every
value.  Sums and public multiples need no message.  A product x y takes a triple of shares of random a, b and c = a b
(Beaver): the differences d = x - a and e = y - b are opened to all holders, and x y = d e + d b + e a + c.

Assumed: the dealer, a place without data, draws the triples as stated, and **does not collude**: with a triple and
the opened differences it would know the factors.  It sees how many triples are wanted and nothing else.
All holders are semi-honest; all but one of them may collude.

Words do what `residues` does for sums and products that 64 bits hold. A product of two factors with b bits after the
point has 2 b of them, so that sums of products are right to about 1e-9 where residues reach 1e-13, in a quarter of the
time (`tests/benchmarks/secure_products.py`). Polynomials of shared vectors need more digits than there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...core.randomness import Rng
from ...privacy.accounted_values import AccountedValue
from ...privacy.mechanisms.random import RandomSource, words_of
from ..cipher import RANDOM, Cipher
from ..parties import Party
from ..places import PerPlace, per_place
from ..roles import parts_of
from ..run import Run
from .residues import Ring, Words

DEALER = "dealer"
NOBODY = "no single party"
SCHEME = "share"


@dataclass(frozen=True)
class WordRing(Ring):
    """The integers modulo 2^64; each is one word, uint64 (1, *shape)."""

    m: int = 1

    @property
    def primes(self) -> tuple[int, ...]:
        """Refused: the modulus is not a product of primes."""
        raise TypeError("words of 64 bits have no primes: give a ring of residues (`ring_for`) for polynomials.")

    @property
    def modulus(self) -> int:
        """2^64."""
        return 2**64

    def encode(self, values: np.ndarray | float, bits: int) -> np.ndarray:
        """Encode numbers as words; they lie within -2^(63 - bits) .. 2^(63 - bits)."""
        steps = np.rint(np.asarray(values, dtype=float) * 2.0**bits)
        if not (np.abs(steps) < 2.0**63).all():
            raise OverflowError(f"values do not fit words with bits={bits} after the point: scale them down.")
        return steps.astype(np.int64).view(np.uint64)[None]

    def of_integers(self, values: np.ndarray) -> np.ndarray:
        """Words (1, *shape) of integers of any size."""
        flat = [int(value) % 2**64 for value in np.ravel(values)]
        return np.array(flat, dtype=np.uint64).reshape(1, *np.shape(values))

    def integers(self, residues: np.ndarray) -> np.ndarray:
        """The integers between -2^63 and 2^63 that have these words."""
        return np.asarray(residues[0].view(np.int64).astype(object), dtype=object)

    def decode(self, residues: np.ndarray, bits: int) -> np.ndarray:
        """(*shape,) the numbers that have these words."""
        return residues[0].view(np.int64) / 2.0**bits

    def random(self, shape: tuple[int, ...], words: Words) -> np.ndarray:
        """Uniform words (1, *shape)."""
        return words(int(np.prod(shape, dtype=int))).reshape(1, *shape)

    def sum(self, terms: Sequence[np.ndarray]) -> np.ndarray:
        """Sum of words of the same shape."""
        return np.asarray(np.sum(terms, axis=0, dtype=np.uint64))

    def difference(self, residues: np.ndarray, others: Sequence[np.ndarray]) -> np.ndarray:
        """Words less those of others."""
        return residues - self.sum(others) if others else residues

    def times(self, residues: np.ndarray, factor: int) -> np.ndarray:
        """Words of an integer multiple."""
        return np.multiply(residues, np.uint64(factor % 2**64), dtype=np.uint64)

    def product(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Products entry by entry, shapes as numpy broadcasts them."""
        return np.multiply(first, second, dtype=np.uint64)

    def cross(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """(1, a, b) first' second of matrices with rows of records."""
        return np.matmul(first.transpose(0, 2, 1), second)


WORDS = WordRing()


def encode_words(values: np.ndarray, bits: int) -> np.ndarray:
    """Numbers as words: multiples of 2^-bits, negative ones from above."""
    return WORDS.encode(values, bits)[0]


def decode_words(words: np.ndarray, bits: int) -> np.ndarray:
    """Inverse of `encode_words`."""
    return WORDS.decode(words[None], bits)


def random_words(rng: RandomSource, shape: tuple[int, ...]) -> np.ndarray:
    """Uniform words, from the system's generator where shares hide what is real."""
    return WORDS.random(shape, words_of(rng))[0]


def split(words: np.ndarray, count: int, rng: RandomSource) -> tuple[np.ndarray, ...]:
    """Shares of words: all but the first are uniform, the first is what is missing."""
    return tuple(share[0] for share in WORDS.split(words[None], count, words_of(rng)))


def local_shares(owner: Party, words: np.ndarray, count: int, name: str, rng_for: Rng) -> tuple[np.ndarray, ...]:
    """An owner's words in shares, the first for itself."""
    return split(words, count, rng_for("shares", name, owner.name))


def share_of(shares: Sequence[np.ndarray], place: int) -> np.ndarray:
    """The share that the maker of all of them keeps."""
    return shares[place]


def share_cipher(
    shares: Sequence[np.ndarray], place: int, holders: tuple[str, ...] = (), made_of: Sequence[AccountedValue] = RANDOM
) -> Cipher:
    """One of several shares, for its holder: uniform, for every shared value; ``holders`` have all of them."""
    return Cipher(shares[place], key_holder=NOBODY, scheme=SCHEME, made_of=made_of, holders=holders)


def local_words(holder: Party, share: Cipher) -> np.ndarray:
    """A share as its holder computes with it."""
    return share.content


def share_words(
    run: Run, owner: Party, holders: Sequence[Party], name: str, words: PerPlace[np.ndarray], rng_for: Rng
) -> PerPlace[np.ndarray]:
    """Share words (uint64) of one party between all holders, itself one; ``name`` is in the generator's address too."""
    shares = run.at(owner, local_shares, words, len(holders), name, rng_for)
    holder_shares, names = (
        {owner.name: run.at(owner.name, share_of, shares, 0)},
        tuple(holder.name for holder in holders),
    )
    for place, holder in enumerate([holder for holder in holders if holder.name != owner.name], 1):
        sent = run.send(owner.name, holder, name, share_cipher, shares, place, names, parts_of((owner,)))
        holder_shares[holder.name] = run.at(holder, local_words, sent)
    return per_place(holder_shares)


def assumed_triples(shape: tuple[int, ...], count: int, name: str, rng_for: Rng) -> list[np.ndarray]:
    """The dealer's triples a, b and a b, one array (3, *shape) of shares for every holder."""
    rng = rng_for("triples", name, DEALER)
    a, b = random_words(rng, (2, *shape))
    return list(split(np.stack([a, b, a * b]), count, rng))


def local_differences(holder: Party, x: np.ndarray, y: np.ndarray, triple: np.ndarray) -> np.ndarray:
    """Shares (2, *shape) of x - a and y - b."""
    return np.stack([x - triple[0], y - triple[1]])


def local_sealed(holder: Party, words: np.ndarray) -> Cipher:
    """A share of what all holders open together: a factor behind a mask that no other place has."""
    return Cipher(words, key_holder=NOBODY, scheme=SCHEME)


def local_product(
    holder: Party, differences: np.ndarray, others: Sequence[Cipher], triple: np.ndarray, with_constant: bool
) -> np.ndarray:
    """A holder's share of the product, from the opened differences; one holder adds their product."""
    d, e = differences + sum(share.content for share in others)
    product = triple[2] + d * triple[1] + e * triple[0]
    return product + d * e if with_constant else product


def multiply_words(
    run: Run,
    holders: Sequence[Party],
    name: str,
    x: PerPlace[np.ndarray],
    y: PerPlace[np.ndarray],
    shape: tuple[int, ...],
    rng_for: Rng,
) -> PerPlace[np.ndarray]:
    """Shares of the products of shared words, entry by entry.

    A holder sends 16 bytes a product to every other one; of the dealer it gets 24, before anything is known of x and y.
    """
    dealt_triples = run.at(DEALER, assumed_triples, shape, len(holders), name, rng_for)
    triples = {}
    for place, holder in enumerate(holders):
        sent = run.send(DEALER, holder, f"triples: {name}", share_cipher, dealt_triples, place)
        triples[holder.name] = run.at(holder, local_words, sent)
    differences = run.each(holders, local_differences, x, y, per_place(triples))
    opened = {}
    for holder in holders:
        others = [other for other in holders if other.name != holder.name]
        opened[holder.name] = run.broadcast(holder, others, f"differences: {name}", local_sealed, differences)
    product = {}
    for holder in holders:
        received = [opened[other.name] for other in holders if other.name != holder.name]
        arguments = (differences, received, per_place(triples), holder.name == holders[0].name)
        product[holder.name] = run.at(holder, local_product, *arguments)
    return per_place(product)
