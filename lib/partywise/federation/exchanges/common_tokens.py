"""Exchange: which entries several lists have in common, found by one place that gets a token of each entry.

A token is 32 bytes that are equal where the entries are; its maker decides what it reveals of an entry.
The place answers every owner with the positions of the common entries in its own list, in one order for all, and
all others with their number.

Message                              from, to                         payload
positions of common entries (n,)     matcher, every owner             Clear(row), 4 n bytes
number of common entries             matcher, all others              Clear(row), 8 bytes each
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Literal

import numpy as np

from ...privacy.accounted_values import Clear
from ...privacy.mechanisms.random import RandomSource, words_of
from ..cipher import Cipher
from ..parties import Party
from ..places import PerPlace, per_place
from ..roles import parts_of
from ..run import Run

TOKEN_BYTES = 32
# Of the common entries: by their tokens, or as they lie in the first list.
Order = Literal["tokens", "first"]


def match_tokens(lists: Sequence[np.ndarray], owners: Sequence[str], order: Order) -> tuple[np.ndarray, ...]:
    """Positions (n,) of the common entries in every list (n_k, 32)."""
    tokens = [words(array, owner) for array, owner in zip(lists, owners, strict=True)]
    common = reduce(lambda left, right: np.intersect1d(left, right, assume_unique=True), tokens)
    if not len(common):
        raise ValueError(
            f"no identifier is common to all of {', '.join(owners)}: look whether they write them alike (as_text, "
            "normalise)."
        )
    sorters = [np.argsort(list_tokens, kind="stable") for list_tokens in tokens]
    unordered = [
        sorter[np.searchsorted(list_tokens, common, sorter=sorter)]
        for list_tokens, sorter in zip(tokens, sorters, strict=True)
    ]
    rank = np.argsort(unordered[0]) if order == "first" else np.arange(len(common))
    return tuple(positions[rank].astype(np.int32) for positions in unordered)


def local_order(party: Party, texts: Sequence[str], rng_for: Callable[..., RandomSource]) -> np.ndarray:
    """The order in which an owner sends its list, drawn without a look at it."""
    return np.argsort(words_of(rng_for("order of identifiers", party.name))(len(texts)), kind="stable")


def key_bytes(key: Cipher, holders: str) -> bytes:
    """The key of keyed tokens, for those who hold it."""
    return key.decrypt(holders).tobytes()


def local_rows(party: Party, order: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """(n,) int64 positions in the owner's records, from those in its shuffled list."""
    return order[positions]


def check_tokens(array: np.ndarray, owner: str) -> None:
    """ValueError unless an array is a list of tokens."""
    if array.dtype != np.uint8 or array.ndim != 2 or array.shape[1] != TOKEN_BYTES:
        raise ValueError(f"list of {owner!r} is {array.dtype} of shape {array.shape}: give (n, {TOKEN_BYTES}) bytes.")


def words(array: np.ndarray, owner: str) -> np.ndarray:
    """A list of tokens as words that can be compared; ValueError as in `match_tokens`."""
    check_tokens(array, owner)
    tokens = np.ascontiguousarray(array).view(f"S{TOKEN_BYTES}")[:, 0]
    if len(np.unique(tokens)) < len(tokens):
        raise ValueError(f"list of {owner!r} has an entry twice: one record for each identifier.")
    return tokens


def positions_of(positions: Sequence[np.ndarray], place: int, parts: Sequence[Clear]) -> Clear:
    """Payload for one owner: which of its entries are common."""
    return Clear(positions[place], units=("row",), made_of=parts)


def number_of(positions: Sequence[np.ndarray], parts: Sequence[Clear]) -> Clear:
    """Payload for all others: the number of common entries."""
    return Clear(len(positions[0]), units=("row",), made_of=parts, audience="*")


def common_tokens(
    run: Run, matcher: str, owners: Sequence[Party], lists: Sequence[PerPlace[np.ndarray]], order: Order = "tokens"
) -> tuple[PerPlace[np.ndarray], int]:
    """Positions (n,) of the common entries of the matcher's lists (n_k, 32), at every owner in its own list; and n.

    Ordered by their tokens, or as in the list of the ``first`` owner. ValueError if nothing is common, or a list has an
    entry twice.
    """
    names, parts = tuple(owner.name for owner in owners), parts_of(owners, ("row",))
    positions = run.at(matcher, match_tokens, lists, names, order)
    own_positions = {
        owner.name: run.send(matcher, owner, "positions of common entries", positions_of, positions, place, parts)
        for place, owner in enumerate(owners)
    }
    others = [name for name in run.names if name != matcher]
    n = run.broadcast(matcher, others, "number of common entries", number_of, positions, parts)
    return per_place(own_positions), run.agreed(n)
