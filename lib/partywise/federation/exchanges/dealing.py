"""Exchange: one secret seed for every party, from which it and the dealer draw the same masks and shares.

Assumed: a **non-colluding dealer**, a place without data; with the messages of one party it could open those
of the others, and the ledger is infinite against it. It draws seeds, sees names and shapes of what is multiplied and
nothing that depends on data. Who holds data is semi-honest; all but one of the holders of a value may collude. What
fewer hold for others (`polynomials.shared_between`), these have together.

Once                       from, to                   payload
seed (32 bytes)            dealer, every party        Cipher, key: no single party

In experiments seeds come from addressed streams and are expanded by numpy's generator; with `SecureStreams` they come
from the operating system and are expanded by SHAKE-256.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ...core.randomness import Rng, stream
from ...privacy.mechanisms.random import SecureRandom, words_of
from ..cipher import RANDOM, Cipher
from ..parties import Party
from ..places import PerPlace, per_place
from ..run import Run
from .residues import Ring
from .sharing import DEALER, NOBODY, SCHEME

if TYPE_CHECKING:
    from _hashlib import HASHXOF

# A seed of 256 bits, and whether it is expanded for a run that is not an experiment.
Seed = tuple[np.ndarray, bool]


@dataclass
class Dealing:
    """State of a dealer's part in one run, as the program knows it: public, the same in the process of every place.

    ring : of all residues; a product may be taken in a smaller one
    parties : who has a seed; seeds : a `Seed` at each of them
    all_seeds : at the dealer, by the name of the party
    names : what was masked, dealt or multiplied already; no name serves twice, so that no mask does
    products : scalar products of two secret numbers so far. A matrix product of n records, a and b columns counts
        n a b, one entry by entry as many as it has entries, powers up to degree d of n numbers n (d - 1). What one
        party multiplies of its own is none.
    """

    ring: Ring
    parties: tuple[Party, ...]
    seeds: PerPlace[Seed]
    all_seeds: Mapping[str, Seed]
    names: set[str] = field(default_factory=set)
    products: int = 0

    def use_name(self, name: str) -> str:
        """The name, used from now on."""
        if name in self.names:
            raise ValueError(f"name={name!r} of a mask was used before in this run: masks serve once, give another.")
        self.names.add(name)
        return name

    def in_order(self, *groups: Sequence[Party]) -> tuple[Party, ...]:
        """The parties of some groups, each once, in the order of all."""
        wanted = {party.name for group in groups for party in group}
        return tuple(party for party in self.parties if party.name in wanted)


def dealing(run: Run, parties: Sequence[Party], ring: Ring) -> Dealing:
    """Seeds for the parties of a run that has a place `DEALER`; in experiments other ones for every fold."""
    names = tuple(party.name for party in parties)
    drawn = run.at(DEALER, dealer_seeds, names, fold_of(run), run.rng_for)
    seeds = {}
    for party in parties:
        sent = run.send(DEALER, party, "seed", dealer_seed, drawn, party.name)
        seeds[party.name] = run.at(party, local_seed, sent, run.rng_for)
    return Dealing(ring, tuple(parties), per_place(seeds), drawn)


def fold_of(run: Run) -> tuple[str | int, ...]:
    """Address of the fold, where there are several: one mask on the records of two would show their differences."""
    several = run.fold is not None and run.fold.n_folds > 1
    return ("fold", int(run.fold.held_out)) if several else ()


def dealer_seeds(names: Sequence[str], fold: Sequence[str | int], rng_for: Rng) -> dict[str, Seed]:
    """A seed for every party."""
    drawn = {}
    for name in names:
        rng = rng_for("seed", DEALER, name, *fold)
        drawn[name] = words_of(rng)(4), isinstance(rng, SecureRandom)
    return drawn


def dealer_seed(seeds: Mapping[str, Seed], name: str) -> Cipher:
    """The seed of one party, which is independent of the data."""
    return Cipher(seeds[name][0], key_holder=NOBODY, scheme=SCHEME, made_of=RANDOM)


def local_seed(party: Party, sent: Cipher, rng_for: Rng) -> Seed:
    """The party's seed, to be expanded as its own generators are."""
    return sent.content, isinstance(rng_for("seed", party.name), SecureRandom)


def expand_seed(seed: Seed, *names: str) -> Callable[[int], np.ndarray]:
    """Uniform words of 64 bits for a name: the same wherever the seed is."""
    words, secure = seed
    if not secure:
        return words_of(stream(int.from_bytes(words.tobytes(), "little"), "dealt", *names))
    state = hashlib.shake_256(words.tobytes() + repr(names).encode())
    return partial(_squeeze, state, [0])


def _squeeze(state: HASHXOF, count: list[int], size: int) -> np.ndarray:
    """The next words: every call reads a sponge of its own."""
    sponge = state.copy()
    sponge.update(count[0].to_bytes(8, "big"))
    count[0] += 1
    return np.frombuffer(bytearray(sponge.digest(8 * size)), dtype=np.uint64)


def local_drawn(party: Party, seed: Seed, name: str, shape: tuple[int, ...], ring: Ring) -> np.ndarray:
    """Uniform residues of a party, which the dealer knows too."""
    return draw_residues(seed, name, shape, ring)


def draw_residues(seed: Seed, name: str, shape: tuple[int, ...], ring: Ring) -> np.ndarray:
    """The residues (m, *shape) that a seed gives for a name."""
    return ring.random(shape, expand_seed(seed, name))
