"""Values in shares and behind masks: who holds them, and what everybody knows of them (`cross_product`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..parties import Party
from ..run import PerPlace
from .residues import Ring

__all__ = ["Masked", "Shared", "product_shape", "require_hidden", "scalar_products", "smallest"]


@dataclass(frozen=True)
class Shared:
    """A value that is the sum of what its holders have, modulo the ring.

    holders : in the order of the parties; shares : residues (m, *shape) at each
    shape : of the value, public; bits : after the point
    ring : of the shares
    hidden : names of the holders whose shares are uniform but for their sum; of other values no share may be opened
    noisy : whether there is noise of the dealer in it
    """

    holders: tuple[Party, ...]
    shares: PerPlace[np.ndarray]
    shape: tuple[int, ...]
    bits: int
    ring: Ring
    hidden: frozenset[str] = frozenset()
    noisy: bool = False


@dataclass(frozen=True)
class Masked:
    """A shared value with a mask of the dealer.

    masks : a share at every holder; mask : their sum, at the dealer
    difference : the value less the mask, at every place of ``audience``, all holders among them
    """

    value: Shared
    masks: PerPlace[np.ndarray]
    mask: Any
    difference: PerPlace[np.ndarray]
    audience: tuple[Party, ...]


def smallest(*values: Shared) -> Ring:
    """The ring in which all of some values are."""
    return min((value.ring for value in values), key=lambda ring: ring.m)


def product_shape(one: tuple[int, ...], other: tuple[int, ...], entries: bool) -> tuple[int, ...]:
    """Shape of a product; ValueError of matrices that have none."""
    if len(one) != 2 or len(other) != 2 or one[0] != other[0]:
        raise ValueError(f"shapes {one} and {other} of a product: give two matrices with a row for every record.")
    return tuple(np.broadcast_shapes(one, other)) if entries else (one[1], other[1])


def scalar_products(one: tuple[int, ...], other: tuple[int, ...], entries: bool) -> int:
    """How many products of two secret numbers a product of matrices takes (`Dealing.products`)."""
    return one[0] * max(one[1], other[1]) if entries else one[0] * one[1] * other[1]


def require_hidden(value: Shared, name: str) -> None:
    """ValueError if the shares of a value would tell more than their sum."""
    names = frozenset(party.name for party in value.holders)
    if len(names) > 1 and value.hidden != names:
        raise ValueError(f"value {name!r} is a sum of what parties have: its shares would be opened with it.")
