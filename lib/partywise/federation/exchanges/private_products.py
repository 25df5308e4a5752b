"""Exchange: sums of columns of several parties and of their products, opened with noise that no party knows completely.

Of two parties the key holder closes its columns record by record, and the other multiplies and masks them
(`homomorphic.column_products`): both have words modulo 2^64 that add to the products. Each of them adds noise of the
full variance to its own words, so that no coalition without it has less; a product of two parties' columns has twice
the variance, a sum of one party's own columns once. The only other place is the opener, a place without data, which
adds up words and sees the noisy sums. **Assumed**: Paillier's scheme, of the key holder's columns; those of the other
party are hidden from the key holder up to 2^-120 per product and 2^-128 per ciphertext, with any computing power.

Message             from, to                          payload, bytes (w: of a ciphertext; blocks: of columns in slots)
public key, once    key holder, the others            Public           3 w / 2 and 8
closed columns      key holder, the others            Cipher, its own key                     n blocks w, by chunk
masked products     the others, key holder            Cipher, the sender's masks as well      p blocks w, by chunk
noisy words         every party, opener               Cipher, key: none                       8 each of its sums

What the sums cost is in the ledger, paid by every party, before anything leaves but closed columns that are to be
multiplied more than once, whether or not it is opened then.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...core.randomness import Rng
from ...privacy.mechanisms.release import Release
from ..cipher import Cipher
from ..parties import Party
from ..places import PerPlace
from ..run import Run
from .column_sums.layout import CONSTANT, SumLayout
from .column_sums.openings import Chunk, Opening, announce, opening_of
from .dealing import fold_of
from .homomorphic.column_products import (
    SlotSizes,
    close_columns,
    exact_products,
    key_holders,
    masked_products,
    open_products,
    require_word_room,
    returned_ciphertexts,
)
from .homomorphic.paillier_keys import SURPLUS, Kind, PrivateKey, PublicKey, shared_key
from .homomorphic.weighted_sums import MASK_BITS
from .sharing import NOBODY, SCHEME

BECAUSE_KEY = "a public key, drawn without a look at the data"


@dataclass(frozen=True)
class Encryption:
    """Keys of a run: ``sized`` ones close nothing and cost what the others do in bytes, for experiments."""

    kind: Kind
    key_size: int
    full_exponents: bool = False


@dataclass(frozen=True)
class ClosedColumns:
    """Columns that others may multiply with any number of times; values live at their places.

    private : key of the holder, there; public : the same, at every receiver
    ciphers : of every chunk, at the receivers; p : number of columns
    """

    holder: Party
    receivers: Sequence[Party]
    private: PrivateKey
    public: PublicKey
    ciphers: Sequence[Cipher]
    p: int


def private_products(
    run: Run,
    encryption: Encryption,
    columns: PerPlace[np.ndarray],
    chunks: Sequence[Chunk],
    layout: SumLayout,
    opener: str,
    closed: Sequence[ClosedColumns] = (),
) -> tuple[Release, ...]:
    """Noisy sums over the records of every chunk, a tuple of `Release` at the opener, one for every part of each chunk.

    ``columns`` (n, p_k) of every party of the layout are whole numbers of at most 2^15 steps, int64. Against any
    coalition that leaves a party out each release is ``mu``-Gaussian-DP. ``closed`` are columns that their holders
    closed before (`close`), for all products of the layout; by default they are closed here.
    """
    parties = [party for party in run.parties if party.name in layout.names]
    sizes, places = tuple(map(len, layout.columns)), {name: place for place, name in enumerate(layout.names)}
    slots = [SlotSizes(chunk.n, encryption.key_size).per for chunk in chunks]
    keys = {places[block.holder.name]: [places[other.name] for other in block.receivers] for block in closed}
    keys = keys or key_holders(sizes, layout.crossing_pairs, min(slots))
    openings = openings_of(run, chunks, layout, [returned_ciphertexts(sizes, keys, per) for per in slots])
    announce(run, layout, openings)
    closed = closed or [
        close(run, encryption, parties[holder], [parties[k] for k in others], columns, chunks, sizes[holder])
        for holder, others in keys.items()
    ]
    words = multiply(run, columns, chunks, places, closed)
    sent = []
    for place, party in enumerate(parties):
        party_words = words.get(place, {})
        arguments = columns, list(party_words), list(party_words.values()), chunks, openings, layout, run.rng_for
        sent.append(run.send(party, opener, "noisy words", local_words, place, *arguments))
    return run.at(opener, noisy_releases, sent, openings, layout)


def close(
    run: Run,
    encryption: Encryption,
    holder: Party,
    receivers: Sequence[Party],
    columns: PerPlace[np.ndarray],
    chunks: Sequence[Chunk],
    p: int,
) -> ClosedColumns:
    """The p columns of a key holder, at those who multiply with them."""
    fold = fold_of(run)
    address = ("key of products", holder.name, *fold)
    private, public = shared_key(
        run, holder, receivers, encryption, kind=encryption.kind, address=address, because=BECAUSE_KEY
    )
    ciphers = []
    for number, chunk in enumerate(chunks):
        arguments = columns, chunk, private, (number, *fold), run.rng_for
        ciphers.append(run.broadcast(holder, receivers, "closed columns", local_closed, *arguments))
    return ClosedColumns(holder, receivers, private, public, ciphers, p)


def multiply(
    run: Run,
    columns: PerPlace[np.ndarray],
    chunks: Sequence[Chunk],
    places: Mapping[str, int],
    closed: Sequence[ClosedColumns],
) -> Mapping[int, Mapping[tuple[int, int], np.ndarray]]:
    """Words of products, at every party by chunk and other party: (columns of the other, own columns)."""
    words = dict[int, dict[tuple[int, int], np.ndarray]]()
    for block in closed:
        holder = places[block.holder.name]
        for number, (chunk, cipher) in enumerate(zip(chunks, block.ciphers, strict=True)):
            at = (chunk.sums[0].name, *fold_of(run))
            for other in block.receivers:
                k = places[other.name]
                products = run.at(other, local_products, columns, cipher, block.p, chunk, block.public, at, run.rng_for)
                masked = run.send(other, block.holder, "masked products", local_returned, products)
                words.setdefault(k, {})[number, holder] = run.at(other, local_kept, products)
                opened = run.at(block.holder, local_opened, masked, chunk, block.private, block.p)
                words.setdefault(holder, {})[number, k] = opened
    return words


def openings_of(run: Run, chunks: Sequence[Chunk], layout: SumLayout, returned: Sequence[int]) -> tuple[Opening, ...]:
    """Openings of all chunks; ``returned`` are numbers of ciphertexts of masked products of every chunk."""
    openings, crossing = list[Opening](), layout.holders[0] != layout.holders[1]
    for chunk, ciphertexts in zip(chunks, returned, strict=True):
        for noisy_sum, part in zip(chunk.sums, layout.slices, strict=True):
            products = int(np.count_nonzero(crossing[part]))
            silent = math.isinf(noisy_sum.mu) or not noisy_sum.total.squares
            tv = products * 2.0**-MASK_BITS + ciphertexts * 2.0**-SURPLUS if products and not silent else 0.0
            opening = opening_of(run, noisy_sum, layout, "either party of a product adds all of the noise", tv=tv)
            require_word_room(chunk.n, max(opening.noise.deviations.values(), default=0.0))
            openings.append(opening)
    return tuple(openings)


def local_closed(
    party: Party, columns: np.ndarray, chunk: Chunk, private: PrivateKey, at: Sequence[str | int], rng_for: Rng
) -> Cipher:
    """The columns of a key holder."""
    return close_columns(
        private, columns[chunk.rows], rng_for("closed columns", party.name, *at), key_holder=party.name
    )


def local_products(
    party: Party,
    columns: np.ndarray,
    closed: Cipher,
    p: int,
    chunk: Chunk,
    public: PublicKey,
    at: Sequence[str | int],
    rng_for: Rng,
) -> tuple[Cipher, np.ndarray]:
    """Cipher that goes back to the key holder, and the party's own words (columns of the key holder, own columns)."""
    rng = rng_for("masks of products", closed.key_holder, party.name, *at)
    return masked_products(public, closed, p, columns[chunk.rows], rng, holder=party.name)


def local_returned(party: Party, products: tuple[Cipher, np.ndarray]) -> Cipher:
    """Cipher that goes back to the key holder."""
    return products[0]


def local_kept(party: Party, products: tuple[Cipher, np.ndarray]) -> np.ndarray:
    """Words that stay with the party."""
    return products[1]


def local_opened(party: Party, masked: Cipher, chunk: Chunk, private: PrivateKey, p: int) -> np.ndarray:
    """A key holder's words (columns of the other party, own columns)."""
    return open_products(private, masked, chunk.n, p).T


def local_words(
    party: Party,
    place: int,
    columns: np.ndarray,
    where: Sequence[tuple[int, int]],
    words: Sequence[np.ndarray],
    chunks: Sequence[Chunk],
    openings: Sequence[Opening],
    layout: SumLayout,
    rng_for: Rng,
) -> Cipher:
    """The party's words of all its sums with noise of the full variance, chunk by chunk."""
    known, noisy_sums = dict(zip(where, words, strict=True)), list[np.ndarray]()
    own_columns, (first, second), mask = list(layout.columns[place]), layout.pairs, layout.is_held(place)
    mine, parts = layout.owner[second] == place, layout.slices
    other, column = np.where(mine, first, second)[mask], layout.inside[np.where(mine, second, first)][mask]
    for number, chunk in enumerate(chunks):
        inside = columns[chunk.rows]
        table = np.zeros((len(layout.owner) + 1, len(own_columns)), dtype=np.int64)
        table[CONSTANT], table[own_columns] = inside.sum(axis=0), exact_products(inside, inside)
        for (of_chunk, k), word in known.items():
            if of_chunk == number:
                table[list(layout.columns[k])] = word.view(np.int64)
        sums = np.zeros(len(mask), dtype=np.int64)
        sums[mask] = table[other, column]
        for part, opening in zip(parts, openings[number * len(parts) :], strict=False):
            rng = rng_for("noise of products", opening.event.release_id, party.name)
            statistic = replace(opening.noise.total, integers=sums[part])
            noisy_sums.append(opening.noise.draw(statistic, opening.event, rng, mask[part])[mask[part]])
    return Cipher(np.concatenate(noisy_sums).astype(np.int64).view(np.uint64), key_holder=NOBODY, scheme=SCHEME)


def noisy_releases(words: Sequence[Cipher], openings: Sequence[Opening], layout: SumLayout) -> tuple[Release, ...]:
    """Add up all words, one release for every part of every chunk."""
    masks, parts = [layout.is_held(place) for place in range(len(words))], layout.slices
    total = np.zeros((len(openings) // len(parts), len(masks[0])), dtype=np.uint64)
    for mask, sent in zip(masks, words, strict=True):
        total[:, mask] += sent.content.reshape(len(total), -1)
    sums = (row[part].view(np.int64) for row in total for part in parts)
    return tuple(opening.noise.release(values, opening.event) for opening, values in zip(openings, sums, strict=True))
