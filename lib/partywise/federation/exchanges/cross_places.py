"""Computations of parties, the dealer and a receiver in secure cross products (`cross_product`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...privacy.accounted_values import AccountedValue, Clear
from ..cipher import RANDOM, Cipher
from ..parties import Party
from .dealing import Seed, draw_residues
from .residues import Ring
from .sharing import DEALER, NOBODY, SCHEME


def multiply_residues(left: np.ndarray, right: np.ndarray, entries: bool, ring: Ring) -> np.ndarray:
    """Residues of a product, entry by entry or summed over records."""
    return (
        ring.product(ring.first(left), ring.first(right))
        if entries
        else ring.cross(ring.first(left), ring.first(right))
    )


def local_encoded(
    owner: Party, values: np.ndarray, shape: tuple[int, ...], bits: int, bound: float, ring: Ring
) -> np.ndarray:
    """A party's numbers as residues."""
    if float(np.max(np.abs(values), initial=0.0)) > bound:
        raise OverflowError(f"values of {owner.name!r} exceed the bound {bound:.6g} that is public: scale them.")
    return ring.encode(np.reshape(values, shape), bits)


def local_masked(
    holder: Party, share: np.ndarray, mask: np.ndarray, ring: Ring, parts: Sequence[AccountedValue]
) -> Cipher:
    """A share behind its mask: only the dealer, to whom it is never sent, could take it off."""
    return Cipher(ring.difference(share, [mask]), DEALER, "masked", made_of=parts, knows=(DEALER,))


def local_difference(party: Party, parts: Sequence[Cipher], ring: Ring) -> np.ndarray:
    """The value less the mask, from what all holders sent."""
    contents = [part.content for part in parts]
    return contents[0] if len(contents) == 1 else ring.sum(contents)


def local_own(holder: Party, left: np.ndarray, right: np.ndarray, entries: bool, ring: Ring) -> np.ndarray:
    """A party's product of what it has alone."""
    return multiply_residues(left, right, entries, ring)


def local_product(
    holder: Party,
    left_mask: np.ndarray | None,
    right_mask: np.ndarray | None,
    left_difference: np.ndarray,
    right_difference: np.ndarray,
    correction: np.ndarray,
    first: bool,
    entries: bool,
    ring: Ring,
) -> np.ndarray:
    """A holder's share of a product, from its masks and both differences; one holder adds the product of these."""
    terms = [correction]
    if left_mask is not None:
        left = ring.sum([ring.first(left_mask), ring.first(left_difference)]) if first else left_mask
        terms.append(multiply_residues(left, right_difference, entries, ring))
    if right_mask is not None:
        terms.append(multiply_residues(left_difference, right_mask, entries, ring))
    return ring.sum(terms)


def local_combination(
    holder: Party,
    shares: Sequence[tuple[np.ndarray, int]],
    constant: float | np.ndarray,
    shape: tuple[int, ...],
    bits: int,
    ring: Ring,
) -> np.ndarray:
    """A holder's share of a linear combination."""
    terms = [ring.first(share) if factor == 1 else ring.times(ring.first(share), factor) for share, factor in shares]
    if np.any(constant):
        terms.append(ring.encode(np.broadcast_to(constant, shape), bits))
    return ring.sum(terms)


def local_opened(holder: Party, share: np.ndarray, parts: Sequence[Clear]) -> Clear:
    """A share that completes a sum in the clear: charged to all parties whose data it was computed from."""
    units = tuple(dict.fromkeys(unit for part in parts for unit in part.units))
    return Clear(share, units=units, made_of=tuple(parts))


def local_correction(holder: Party, sent: Cipher) -> np.ndarray:
    """A share as its holder computes with it."""
    return sent.content


def total(shares: Sequence[np.ndarray], ring: Ring, bits: int) -> np.ndarray:
    """The value of all shares together."""
    return ring.decode(ring.sum(shares), bits)


def dealer_mask(
    seeds: Mapping[str, Seed], holders: Sequence[str], name: str, shape: tuple[int, ...], ring: Ring
) -> np.ndarray:
    """The mask of a value: the sum of what its holders draw."""
    masks = [draw_residues(seeds[holder], name, shape, ring) for holder in holders]
    return masks[0] if len(masks) == 1 else ring.sum(masks)


def dealer_correction(
    residues: np.ndarray,
    seeds: Mapping[str, Seed],
    others: Sequence[str],
    name: str,
    shape: tuple[int, ...],
    ring: Ring,
) -> Cipher:
    """The first holder's share of something that the dealer knows; the others draw theirs."""
    drawings = [draw_residues(seeds[other], f"share: {name}", shape, ring) for other in others]
    return Cipher(ring.difference(residues, drawings), key_holder=NOBODY, scheme=SCHEME, made_of=RANDOM)
