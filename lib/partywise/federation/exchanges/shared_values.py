"""Values in shares and behind masks: who holds them, and what all parties know of them (`cross_product`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

import numpy as np

from ..parties import Party
from ..places import PerPlace, by_place, per_place
from ..run import Run
from .cross_places import local_combination
from .residues import Ring


class Arithmetic:
    """Sums of shared values and their multiples by public numbers: ``one + 2 * other - 0.5``.

    Nothing is computed or sent before `LinearCombination.evaluate` gives the number of bits. A product of two shared
    values takes a message and has a name (`cross_product.product`), so that ``*`` takes public numbers alone.
    """

    # numpy leaves `array + shared` to the shared value.
    __array_ufunc__ = None

    def terms(self) -> LinearCombination:
        """This as a linear combination."""
        raise NotImplementedError

    def __add__(self, other: Arithmetic | float | np.ndarray) -> LinearCombination:
        combination = self.terms()
        if not isinstance(other, Arithmetic):
            return LinearCombination(combination.values, combination.constant + np.asarray(other, dtype=float))
        more = other.terms()
        return LinearCombination((*combination.values, *more.values), combination.constant + more.constant)

    __radd__ = __add__

    def __mul__(self, factor: float) -> LinearCombination:
        if not isinstance(factor, int | float):
            return NotImplemented
        combination = self.terms()
        values = tuple((value, float(factor) * before) for value, before in combination.values)
        return LinearCombination(values, float(factor) * combination.constant)

    __rmul__ = __mul__

    def __neg__(self) -> LinearCombination:
        return -1.0 * self

    def __sub__(self, other: Arithmetic | float | np.ndarray) -> LinearCombination:
        return self + -1.0 * other


@dataclass(frozen=True)
class SharedValue(Arithmetic):
    """A value that is the sum of what its holders have, modulo the ring.

    holders : in the order of the parties; shares : residues (m, *shape) at each
    shape : of the value, public; bits : after the point
    ring : of the shares
    uniform_holders : names of the holders whose shares are uniform except their sum; of other values no share may be
        opened
    """

    holders: tuple[Party, ...]
    shares: PerPlace[np.ndarray]
    shape: tuple[int, ...]
    bits: int
    ring: Ring
    uniform_holders: frozenset[str] = frozenset()

    def terms(self) -> LinearCombination:
        """Once this value."""
        return LinearCombination(((self, 1.0),))


@dataclass(frozen=True)
class LinearCombination(Arithmetic):
    """A sum of shared values of one shape with public coefficients, and a public constant.

    values : (value, coefficient) of each term; constant : number or array of that shape
    """

    values: tuple[tuple[SharedValue, float], ...] = ()
    constant: float | np.ndarray = 0.0

    def terms(self) -> LinearCombination:
        """Itself."""
        return self

    @classmethod
    def of(cls, values: Iterable[Arithmetic]) -> LinearCombination:
        """The sum of some values."""
        return reduce(cls.__add__, values, cls())

    def evaluate(self, run: Run, bits: int) -> SharedValue:
        """Shares of the sum, each computed by its holder; no value may have more than ``bits`` after the point."""
        first, ring = self.values[0][0], smallest(*[value for value, _ in self.values])
        low = [value.bits for value, _ in self.values if value.bits > bits]
        if low:
            raise ValueError(f"bits={bits} of a combination must be at least the {max(low)} of its values.")
        order = {party.name: party for value, _ in self.values for party in value.holders}
        factors = [int(np.rint(np.ldexp(factor, bits - value.bits))) for value, factor in self.values]
        shares = {}
        for place, (name, holder) in enumerate(order.items()):
            pairs = zip([value.shares for value, _ in self.values], factors, strict=True)
            local_pairs = [(shared, factor) for shared, factor in pairs if name in by_place(shared)]
            constant = self.constant if place == 0 else 0.0
            shares[name] = run.at(holder, local_combination, local_pairs, constant, first.shape, bits, ring)
        # Shares stay uniform where one term hides them all; a share outside it is as it was.
        hidden = next((v.uniform_holders for v, _ in self.values if v.uniform_holders == frozenset(order)), frozenset())
        return SharedValue(tuple(order.values()), per_place(shares), first.shape, bits, ring, hidden)


@dataclass(frozen=True)
class MaskedValue:
    """A shared value with a mask of the dealer.

    masks : a share at every holder; mask : their sum, at the dealer
    difference : the value less the mask, at every place of ``audience``, all holders among them
    """

    value: SharedValue
    masks: PerPlace[np.ndarray]
    mask: np.ndarray
    difference: PerPlace[np.ndarray]
    audience: tuple[Party, ...]


def smallest(*values: SharedValue) -> Ring:
    """The ring in which all of some values are."""
    return min((value.ring for value in values), key=lambda ring: ring.m)


def product_shape(left: tuple[int, ...], right: tuple[int, ...], entries: bool) -> tuple[int, ...]:
    """Shape of a product; ValueError of matrices that have none."""
    if len(left) != 2 or len(right) != 2 or left[0] != right[0]:
        raise ValueError(f"shapes {left} and {right} of a product: give two matrices with a row for every record.")
    return tuple(np.broadcast_shapes(left, right)) if entries else (left[1], right[1])


def scalar_products(left: tuple[int, ...], right: tuple[int, ...], entries: bool) -> int:
    """Number of products of two secret numbers in a product of matrices (`Dealing.products`)."""
    return left[0] * max(left[1], right[1]) if entries else left[0] * left[1] * right[1]


def require_hidden(value: SharedValue, name: str) -> None:
    """ValueError if the shares of a value would reveal more than their sum."""
    names = frozenset(party.name for party in value.holders)
    if len(names) > 1 and value.uniform_holders != names:
        raise ValueError(f"value {name!r} is a sum of what parties have: its shares would be opened with it.")
