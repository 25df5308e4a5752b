"""Exchange: sums of columns of several parties and of their products, opened with noise and never without.

The noise lies in the dealer's shares: it knows the noise and sees no data, and **does not collude**: the ledger
is infinite against it. The opener, a place without data, adds up uniform shares and sees the noisy sums; so do
the receivers of these sums. All but one of the parties, and the opener, may collude: they learn what is released.

Columns X_k are integers (whole steps of a public grid). With masks A_k that party and dealer draw from one seed, and
D_k = X_k - A_k, parties j < k have X_j'X_k = A_j'A_k + A_j'D_k + D_j'X_k: the second term is known to j, the third to
k, and the first, with the noise, is dealt in shares. What a party computes of its own columns is masked by a share of
the noise, the other share of which goes to the opener.

Message                        from, to              payload, ring elements (4 m bytes)
seed                           dealer, every party   Cipher, 32 bytes
X_k - A_k                      k, all others         Cipher, key: dealer: n p_k each
share of A_j'A_k with noise    dealer, k > j         Cipher, key: none; sums of products of columns of j and k
share of the noise             dealer, opener        Cipher, key: none; sums of one party's own columns
shares of all its sums         every party, opener   Cipher, key: none; all sums of its own columns

What all draws cost is in the ledger, paid by every party, before anything leaves, whether or not it is opened then.

Every sum is one of a symmetric matrix; a sum of a product counts once for each of its two holders. Nothing that is not
asked for leaves a party, not even in shares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ....core.randomness import Rng
from ....privacy.mechanisms.release import Release
from ...cipher import RANDOM, Cipher
from ...parties import Party
from ...places import PerPlace
from ...run import Run
from ..cross_product import private, send_masked
from ..dealing import Seed, dealing, draw_residues
from ..homomorphic.column_products import LARGEST
from ..residues import Ring, ring_for
from ..shared_values import MaskedValue
from ..sharing import DEALER, NOBODY, SCHEME
from .layout import CONSTANT, SumLayout
from .openings import Chunk, Opening, announce, opening_of

# Noise beyond so many deviations has a probability below 1e-800: sums are read back modulo the ring.
LONGEST = 64.0


def local_sums(
    party: Party,
    place: int,
    steps: np.ndarray,
    mask: np.ndarray,
    differences: Sequence[np.ndarray],
    chunks: Sequence[Chunk],
    layout: SumLayout,
    ring: Ring,
) -> np.ndarray:
    """(m, chunks, sums) what the party knows of every sum that it holds, the dealt shares left out."""
    own_columns, sum_numbers = layout.columns[place], layout.held_sums(place)
    first, second = layout.pairs[:, sum_numbers]
    mine = layout.owner[second] == place
    other, column = np.where(mine, first, second), layout.inside[np.where(mine, second, first)]
    ones = np.ones((ring.m, steps.shape[1], 1), dtype=steps.dtype)
    sums = np.empty((ring.m, len(chunks), len(sum_numbers)), dtype=np.int32)
    for number, chunk in enumerate(chunks):
        table = np.zeros((ring.m, len(layout.owner) + 1, len(own_columns)), dtype=np.int32)
        inside = steps[:, chunk.rows]
        table[:, CONSTANT] = ring.cross(ones[:, chunk.rows], inside)[:, 0]
        for k, columns in enumerate(layout.columns):
            left = inside if k == place else differences[k][:, chunk.rows]
            table[:, list(columns)] = ring.cross(left, inside if k <= place else mask[:, chunk.rows])
        sums[:, number] = table[:, other, column]
    return sums


def local_shares(
    party: Party,
    place: int,
    sums: np.ndarray,
    seed: Seed,
    sent: Cipher | None,
    layout: SumLayout,
    ring: Ring,
) -> Cipher:
    """(m, chunks, sums) uniform shares of every sum that the party holds."""
    sum_numbers, total = layout.held_sums(place), sums.astype(float)
    numbers = layout.seeded_sums(place)
    total[:, :, np.searchsorted(sum_numbers, numbers)] += _draw_shares(seed, sums.shape[1], len(numbers), ring)
    if sent is not None:
        total[:, :, np.searchsorted(sum_numbers, layout.dealt_sums(place))] += sent.content
    return Cipher(ring.reduce(total), key_holder=NOBODY, scheme=SCHEME)


def dealer_noise(openings: Sequence[Opening], layout: SumLayout, rng_for: Rng) -> np.ndarray:
    """(chunks, sums) the noise of every sum, integers."""
    drawn = []
    for opening in openings:
        rng = rng_for("noise of products", opening.event.release_id, DEALER)
        drawn.append(opening.noise.draw(opening.noise.total, opening.event, rng))
    return np.concatenate(drawn).reshape(-1, layout.slices[-1].stop)


def dealer_shares(
    masks: Sequence[np.ndarray],
    seeds: Mapping[str, Seed],
    noise: np.ndarray,
    chunks: Sequence[Chunk],
    layout: SumLayout,
    ring: Ring,
) -> np.ndarray:
    """(m, chunks, sums) what is left of products of masks, with the noise, after the shares that parties draw."""
    order = np.argsort([number for columns in layout.columns for number in columns])
    mask, (first, second) = np.concatenate(masks, axis=2)[:, :, order], layout.pairs
    total = ring.of_integers(noise).astype(float)
    crossing = np.setdiff1d(np.arange(len(first)), layout.alone)
    for number, chunk in enumerate(chunks):
        rows = mask[:, chunk.rows]
        total[:, number, crossing] += ring.cross(rows, rows)[:, first[crossing], second[crossing]]
    for place, name in enumerate(layout.names):
        numbers = layout.seeded_sums(place)
        total[:, :, numbers] -= _draw_shares(seeds[name], len(chunks), len(numbers), ring)
    return ring.reduce(total)


def dealer_sent(shares: np.ndarray, numbers: np.ndarray) -> Cipher:
    """The shares of some sums, for one place."""
    return Cipher(np.ascontiguousarray(shares[:, :, numbers]), key_holder=NOBODY, scheme=SCHEME, made_of=RANDOM)


def noisy_releases(
    sent: Cipher,
    shares: Sequence[Cipher],
    openings: Sequence[Opening],
    layout: SumLayout,
    ring: Ring,
) -> tuple[Release, ...]:
    """Add up all shares, one release for every part of every chunk: nothing else is made of them."""
    parts = layout.slices
    total = np.zeros((ring.m, len(openings) // len(parts), parts[-1].stop))
    total[:, :, layout.alone] += sent.content
    for place, share in enumerate(shares):
        total[:, :, layout.held_sums(place)] += share.content
    sums = (row[part] for row in ring.integers(ring.reduce(total)) for part in parts)
    return tuple(opening.noise.release(values, opening.event) for opening, values in zip(openings, sums, strict=True))


def noisy_moments(
    run: Run, columns: PerPlace[np.ndarray], chunks: Sequence[Chunk], layout: SumLayout, opener: str
) -> tuple[Release, ...]:
    """Noisy sums over the records of every chunk, a tuple of `Release` at the opener, one for every part of each chunk.

    ``columns`` (n, p_k) of every party are whole numbers of at most 2^15 steps, records of a chunk one after the other.
    `DEALER` does not collude; the opener is a place without data.
    """
    parties, n = run.parties, chunks[-1].rows.stop
    sums = [noisy_sum for chunk in chunks for noisy_sum in chunk.sums]
    openings = [
        opening_of(run, noisy_sum, layout, "the dealer adds all of the noise", dealers=(DEALER,)) for noisy_sum in sums
    ]
    announce(run, layout, openings)
    widest = max(s for opening in openings for s in (0.0, *opening.noise.deviations.values()))
    ring = ring_for(max(chunk.n for chunk in chunks) * float(LARGEST) ** 2 + LONGEST * widest, 0)
    dealt = dealing(run, parties, ring)
    noise = run.at(DEALER, dealer_noise, openings, layout, run.rng_for)
    behind: list[MaskedValue] = []
    for party, numbers in zip(parties, layout.columns, strict=True):
        value = private(run, dealt, party, columns, (n, len(numbers)), 0)
        behind.append(send_masked(run, dealt, value, f"columns of {party.name}", parties))
    dealt_shares = run.at(
        DEALER, dealer_shares, [masked.mask for masked in behind], dealt.all_seeds, noise, chunks, layout, ring
    )
    rest = run.send(DEALER, opener, "share of the noise", dealer_sent, dealt_shares, layout.alone)
    differences, shares = [masked.difference for masked in behind], []
    for place, (party, masked) in enumerate(zip(parties, behind, strict=True)):
        sent = None
        if len(layout.dealt_sums(place)):
            sent = run.send(DEALER, party, "shares with noise", dealer_sent, dealt_shares, layout.dealt_sums(place))
        known = masked.value.shares, masked.masks, differences, chunks, layout, ring
        own_sums = run.at(party, local_sums, place, *known)
        shares.append(
            run.send(party, opener, "shares of sums", local_shares, place, own_sums, dealt.seeds, sent, layout, ring)
        )
    return run.at(opener, noisy_releases, rest, shares, openings, layout, ring)


def _draw_shares(seed: Seed, chunks: int, count: int, ring: Ring) -> np.ndarray:
    """(m, chunks, count) shares of what is dealt, as a party and the dealer draw them."""
    return draw_residues(seed, "shares of sums", (chunks, count), ring)
