"""Exchange: products of matrices whose columns lie at several parties, in shares, opened as sums or not at all.

The non-colluding dealer (`dealing`: it sees nothing of the data; **nothing is proved against it**) and a party draw the
same mask A of the party's matrix X from the party's seed. X - A crosses once a run, to all who multiply with it. Of two
masked matrices the dealer deals shares of A'B; X'Y = A'B + A'(Y - B) + (X - A)'Y follows in shares of the holders of
both, without another message. Masks serve one plaintext each, with any factor of the products.

Message                                from, to                        payload, ring elements (4 m bytes)
X - A (its sum, of a shared X)         holder, all others who use it   Cipher, key: dealer          n a each
a share of A'B                         dealer, first holder            Cipher, key: no single party   a b
shares of X'Y                          holders, receiver               Clear, charged to all owners a b each

Use (every function takes the run first, those that draw `dealing` second)::

    dealt = dealing(run, parties, ring_for(n, 2 * BITS))          # seeds once; the ring holds what is opened
    X = private(run, dealt, party, values, (n, p), BITS)          # `SharedValue`: at its owner alone
    X = masked(run, dealt, X, "X of hospital", audience)          # `MaskedValue`: the difference crosses once
    S = product(run, dealt, X, Y, "name")                         # `SharedValue` (p, q): X'Y at the holders of X and Y
    D = product(run, dealt, w, Y, "name", entries=True)           # `SharedValue` (n, q): w (n, 1) times Y by entries
    total = opened(run, S, "analyst", "name", parts)              # (p, q) floats at the receiver, charged to parts

A `SharedValue` of several holders is masked like one of one holder, so that products of products follow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...privacy.accounted_values import Clear
from ..parties import Party
from ..places import PerPlace, Place, by_place, name_of, per_place
from ..roles import parts_of
from ..run import Run
from .cross_places import (
    dealer_correction,
    dealer_mask,
    local_correction,
    local_difference,
    local_encoded,
    local_masked,
    local_opened,
    local_own,
    local_product,
    multiply_residues,
    total,
)
from .dealing import Dealing, local_drawn
from .residues import Ring
from .shared_values import MaskedValue, SharedValue, product_shape, require_hidden, scalar_products, smallest
from .sharing import DEALER


def private(
    run: Run,
    dealt: Dealing,
    owner: Party,
    values: PerPlace[np.ndarray],
    shape: tuple[int, ...],
    bits: int,
    *,
    bound: float = math.inf,
    ring: Ring | None = None,
) -> SharedValue:
    """A party's own numbers (*shape,), placed at it, as a value with one holder; nothing is sent.

    ``bound`` is what the ring was chosen for: larger numbers raise OverflowError, whose message stays with the owner. A
    smaller ``ring`` has fewer of the same primes.
    """
    ring = ring or dealt.ring
    shares = per_place({owner.name: run.at(owner, local_encoded, values, shape, bits, bound, ring)})
    return SharedValue((owner,), shares, shape, bits, ring)


def send_masked(run: Run, dealt: Dealing, value: SharedValue, name: str, audience: Sequence[Party]) -> MaskedValue:
    """The difference of a value and a fresh mask, for all parties that multiply with it."""
    dealt.use_name(name)
    holders, shape, ring = value.holders, value.shape, value.ring
    everybody = dealt.in_order(holders, audience)
    masks = run.each(holders, local_drawn, dealt.seeds, name, shape, ring)
    # A share of what several hold may be made of everybody's data.
    owners = holders if len(holders) == 1 else dealt.parties
    mask = run.at(DEALER, dealer_mask, dealt.all_seeds, tuple(p.name for p in holders), name, shape, ring)
    parts = []
    for holder in holders:
        others = [party for party in everybody if party.name != holder.name]
        arguments = value.shares, masks, ring, parts_of(owners)
        parts.append(run.broadcast(holder, others, f"masked: {name}", local_masked, *arguments))
    return MaskedValue(value, masks, mask, run.each(everybody, local_difference, parts, ring), everybody)


def product(
    run: Run,
    dealt: Dealing,
    left: MaskedValue,
    right: MaskedValue,
    name: str,
    *,
    entries: bool = False,
    ring: Ring | None = None,
) -> SharedValue:
    """Shares of the sums (a, b) over records of a product of two masked values, or ``entries`` (n, b), at the holders.

    A name serves once in a run. ``ring`` is a smaller one that holds the product, by default the smaller one of both.
    """
    dealt.use_name(name)
    ring = ring or smallest(left.value, right.value)
    holders = dealt.in_order(left.value.holders, right.value.holders)
    shape = product_shape(left.value.shape, right.value.shape, entries)
    bits, alone = left.value.bits + right.value.bits, len(holders) == 1
    if alone:
        share = run.at(holders[0], local_own, left.value.shares, right.value.shares, entries, ring)
        return SharedValue(holders, per_place({holders[0].name: share}), shape, bits, ring)
    for factor in (left, right):
        missing = {party.name for party in holders} - {party.name for party in factor.audience}
        if missing:
            raise ValueError(f"audience of what {name!r} multiplies lacks {sorted(missing)}: they hold the product.")
    dealt.products += scalar_products(left.value.shape, right.value.shape, entries)
    names = tuple(party.name for party in holders)
    mask_product = run.at(DEALER, multiply_residues, left.mask, right.mask, entries, ring)
    corrections = _deal_shares(run, dealt, mask_product, holders, names, name, shape, ring)
    shares = {}
    for holder in holders:
        masks, masks_other = (
            factor.masks if holder.name in by_place(factor.masks) else None for factor in (left, right)
        )
        first = holder.name == left.value.holders[0].name
        values = masks, masks_other, left.difference, right.difference, corrections, first, entries, ring
        shares[holder.name] = run.at(holder, local_product, *values)
    return SharedValue(holders, per_place(shares), shape, bits, ring, frozenset(names))


def reveal(run: Run, value: SharedValue, receiver: Place, name: str, parts: Sequence[Clear]) -> np.ndarray:
    """A shared value at one receiver, in the clear: (*shape,) floats."""
    require_hidden(value, name)
    sent = [
        run.send(holder, receiver, name, local_opened, value.shares, parts)
        for holder in value.holders
        if holder.name != name_of(receiver)
    ]
    local_shares = [value.shares] if name_of(receiver) in by_place(value.shares) else []
    return run.at(name_of(receiver), total, [*sent, *local_shares], value.ring, value.bits)


def _deal_shares(
    run: Run,
    dealt: Dealing,
    residues: np.ndarray,
    holders: Sequence[Party],
    names: Sequence[str],
    name: str,
    shape: tuple[int, ...],
    ring: Ring,
) -> PerPlace[np.ndarray]:
    """Shares of something at the dealer, for some holders: the first is sent, the others are drawn."""
    arguments = dealt.all_seeds, names[1:], name, shape, ring
    sent = run.send(DEALER, holders[0], f"correction: {name}", dealer_correction, residues, *arguments)
    shares = {names[0]: run.at(holders[0], local_correction, sent)}
    for holder in holders[1:]:
        shares[holder.name] = run.at(holder, local_drawn, dealt.seeds, f"share: {name}", shape, ring)
    return per_place(shares)
