"""Exchange: public polynomials of a shared vector, in shares, without a message between its holders.

A vector u crossed once behind a mask a (`cross_product.send_masked`), so that every holder knows e = u - a. The dealer,
who knows a and **does not collude**, deals shares of a^2 .. a^d, and p(u) = p(a + e) = sum_j b_j(e) a^j, where b_j is
the Taylor coefficient of p at e, public to the holders: one round for every degree, where d - 1 products by triples
take as many and 4 n numbers each. Nothing is truncated: p(u) has d times the bits of u and those of the coefficients.

Message                      from, to                       payload, ring elements (4 m bytes)
shares of a^2 .. a^d         dealer, first holder           Cipher, key: no single party   n (d - 1)
shares of a party's vector   its holder, the new holders    Cipher, key: no single party   n each
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import comb, prod

import numpy as np

from ...core.randomness import Rng
from ...privacy.mechanisms.random import words_of
from ..cipher import RANDOM, Cipher
from ..parties import Party
from ..places import PerPlace, per_place
from ..roles import parts_of
from ..run import Run
from .cross_places import local_correction
from .dealing import Dealing, Seed, draw_residues, local_drawn
from .residues import Ring
from .shared_values import MaskedValue, SharedValue
from .sharing import DEALER, NOBODY, SCHEME, share_cipher

# A sum of 32 products of residues stays below 2^43, from which they are reduced in one step.
HIGHEST = 31
# Records that are worked on together, so that their powers stay in the processor's memory.
CHUNK = 1024


def polynomials(
    run: Run,
    dealt: Dealing,
    masked: MaskedValue,
    coefficients: Sequence[np.ndarray],
    name: str,
    bits: int | Sequence[int],
    *,
    slopes: bool = False,
) -> list[SharedValue]:
    """Shares of public polynomials of a masked value, entry by entry, at its holders.

    ``bits`` after the point are those of each polynomial, or of all.
    """
    dealt.use_name(name)
    value, degree = masked.value, max(map(len, coefficients)) - 1
    ring, shape, low, holders = value.ring, value.shape, value.bits, value.holders
    if degree > HIGHEST:
        raise ValueError(f"degree={degree} of polynomials in shares must be at most {HIGHEST}.")
    after = [bits] * len(coefficients) if isinstance(bits, int) else list(bits)
    for polynomial, point in zip(coefficients, after, strict=True):
        power = len(polynomial) - 1
        if point < power * low:
            raise ValueError(f"bits={point} of polynomials of degree {power}: give at least {power} times {low}.")
    pairs = zip(coefficients, after, strict=True)
    steps = tuple(scale_coefficients(polynomial, low, point, degree) for polynomial, point in pairs)
    dealt.products += prod(shape) * max(degree - 1, 0)
    names = tuple(holder.name for holder in holders)
    powers = _powers(run, dealt, masked, names, name, degree)
    holder_shares = {}
    for holder in holders:
        args = masked.difference, masked.masks, powers, steps, slopes, holder.name == names[0], ring
        holder_shares[holder.name] = run.at(holder, local_polynomials, *args)
    after += [point - low for point in after] if slopes else []
    shares = [run.each(holders, local_part, per_place(holder_shares), k) for k in range(len(after))]
    return [SharedValue(holders, share, shape, point, ring) for share, point in zip(shares, after, strict=True)]


def shared_between(run: Run, dealt: Dealing, value: SharedValue, holders: Sequence[Party], name: str) -> SharedValue:
    """Share the value of one party among others: uniform except for their sum, which all of them together have."""
    dealt.use_name(name)
    owner, names = value.holders[0], tuple(holder.name for holder in holders)
    if len(value.holders) > 1 or owner.name in names:
        raise ValueError(f"value {name!r} of {[p.name for p in value.holders]} is not one other party's alone.")
    split_shares = run.at(owner, local_split, value.shares, len(names), name, value.ring, run.rng_for)
    shares = {}
    for place, holder in enumerate(holders):
        sent = run.send(owner.name, holder, name, share_cipher, split_shares, place, names, parts_of((owner,)))
        shares[holder.name] = run.at(holder, local_correction, sent)
    return replace(value, holders=tuple(holders), shares=per_place(shares), uniform_holders=frozenset(names))


def scale_coefficients(coefficients: np.ndarray, low: int, bits: int, degree: int) -> tuple[int, ...]:
    """Integers of coefficients, those of higher powers with fewer bits, up to a degree."""
    integers = [round(np.ldexp(float(c), bits - k * low)) for k, c in enumerate(coefficients)]
    return tuple(integers) + (0,) * (degree + 1 - len(integers))


def local_split(
    owner: Party, residues: np.ndarray, count: int, name: str, ring: Ring, rng_for: Rng
) -> tuple[np.ndarray, ...]:
    """A party's numbers in shares for others."""
    return ring.split(residues, count, words_of(rng_for("shares", name, owner.name)))


def local_part(holder: Party, shares: Sequence[np.ndarray], k: int) -> np.ndarray:
    """A share of one of several values."""
    return shares[k]


def local_polynomials(
    holder: Party,
    difference: np.ndarray,
    mask: np.ndarray,
    powers: np.ndarray,
    steps: Sequence[tuple[int, ...]],
    slopes: bool,
    first: bool,
    ring: Ring,
) -> list[np.ndarray]:
    """A holder's shares of polynomials, and of their derivatives, from the difference e and its shares of mask powers.

    powers : (m, d - 1, n) of a^2 .. a^d
    """
    m, shape, size = ring.m, mask.shape[1:], mask[0].size
    matrices = [taylor_matrices(polynomial, ring) for polynomial in steps]
    flat = difference.reshape(m, size), mask.reshape(m, size)
    count = len(steps) * (2 if slopes else 1)
    shares = np.empty((count, m, size), dtype=np.int32)
    for start in range(0, size, CHUNK):
        part = slice(start, start + CHUNK)
        arguments = flat[0][:, part], flat[1][:, part], powers[:, :, part]
        shares[:, :, part] = _polynomials(*arguments, matrices, slopes, first, ring)
    return list(shares.reshape(count, m, *shape))


def _polynomials(
    difference: np.ndarray,
    mask: np.ndarray,
    powers: np.ndarray,
    matrices: Sequence[np.ndarray],
    slopes: bool,
    first: bool,
    ring: Ring,
) -> np.ndarray:
    """Shares of `local_polynomials` for some records: (polynomials, m, n)."""
    degree = matrices[0].shape[1] - 1
    e = powers_of(difference, degree, ring)
    # The constant 1 is the first holder's.
    mask_powers = np.concatenate([np.full((ring.m, 1, mask.shape[1]), float(first)), mask[:, None], powers], axis=1)
    mask_powers = mask_powers[:, : degree + 1]
    order = np.arange(1, degree + 1)[:, None]
    values, derivatives = [], []
    for matrix in matrices:
        taylor = ring.rest(np.matmul(matrix, e))
        values.append(ring.reduce(np.einsum("mjn,mjn->mn", taylor, mask_powers)))
        if slopes:
            # Of b_j a^j the derivative in a is j b_j a^(j - 1).
            slope = ring.rest(taylor[:, 1:] * order)
            derivatives.append(ring.reduce(np.einsum("mjn,mjn->mn", slope, mask_powers[:, :-1])))
    return np.array(values + derivatives)


def powers_of(values: np.ndarray, degree: int, ring: Ring) -> np.ndarray:
    """(m, d + 1, n) powers from 0 of residues (m, n), in double precision."""
    powers = np.empty((ring.m, degree + 1, values.shape[1]))
    powers[:, 0] = 1.0
    for k in range(1, degree + 1):
        powers[:, k] = ring.rest(powers[:, k - 1] * values)
    return powers


def taylor_matrices(steps: tuple[int, ...], ring: Ring) -> np.ndarray:
    """(m, d + 1, d + 1) residues T of C_(j + i) (j + i over j): row j times the powers of e is b_j(e)."""
    degree = len(steps) - 1
    table = [
        [steps[j + i] * comb(j + i, j) if j + i <= degree else 0 for i in range(degree + 1)] for j in range(degree + 1)
    ]
    return ring.of_integers(np.array(table, dtype=object)).astype(float)


def dealer_powers(mask: np.ndarray, degree: int, ring: Ring) -> np.ndarray:
    """(m, d - 1, n) the powers of a mask from its square."""
    flat = mask.reshape(ring.m, -1)
    powers = np.empty((ring.m, max(degree - 1, 0), flat.shape[1]), dtype=np.int32)
    for start in range(0, flat.shape[1], CHUNK):
        part = slice(start, start + CHUNK)
        powers[:, :, part] = powers_of(flat[:, part], degree, ring)[:, 2:]
    return powers


def dealer_shares(
    powers: np.ndarray, seeds: Mapping[str, Seed], others: Sequence[str], name: str, ring: Ring
) -> Cipher:
    """The first holder's shares of powers; the others draw theirs."""
    drawings = [draw_residues(seeds[other], f"powers: {name}", powers.shape[1:], ring) for other in others]
    return Cipher(ring.difference(powers, drawings), key_holder=NOBODY, scheme=SCHEME, made_of=RANDOM)


def _powers(
    run: Run, dealt: Dealing, masked: MaskedValue, names: Sequence[str], name: str, degree: int
) -> PerPlace[np.ndarray]:
    """Shares of the powers of a mask at its holders."""
    ring, shape = masked.value.ring, (max(degree - 1, 0), prod(masked.value.shape))
    mask_powers = run.at(DEALER, dealer_powers, masked.mask, degree, ring)
    first, *rest = masked.value.holders
    sent = run.send(
        DEALER, first, f"powers: {name}", dealer_shares, mask_powers, dealt.all_seeds, names[1:], name, ring
    )
    shares = {names[0]: run.at(first, local_correction, sent)}
    for holder in rest:
        shares[holder.name] = run.at(holder, local_drawn, dealt.seeds, f"powers: {name}", shape, ring)
    return per_place(shares)
