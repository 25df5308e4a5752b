"""Alignment by digests of identifiers: as published (SHA-256, no protection), and under a key of the parties.

Message                        from, to                             payload, bytes
key of the digests             first party, every other (keyed)     Cipher, key: every party; 32
digests                        every party, analyst                 Clear(row); 32 n_k
positions, number              analyst, every party                 `federation.exchanges.common_tokens`

A reader of the SHA-256 of an identifier finds it by hashing all possible ones (`audits.attacks.messages`). Under a
key the analyst, which does not have it, cannot; a party, which has the key, could if it saw the digests of another.
Both show the analyst which records of which parties agree.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence
from hashlib import sha256

import numpy as np

from ..federation.cipher import RANDOM, Cipher
from ..federation.exchanges.common_tokens import TOKEN_BYTES, common_tokens, key_bytes, local_order, local_rows
from ..federation.parties import Party
from ..federation.places import PerPlace
from ..federation.run import Run
from ..privacy.accounted_values import Clear
from ..privacy.mechanisms.random import RandomSource, words_of

# Who can open the key: all that hold identifiers, not the analyst.
KEY_HOLDERS = "every party"


def as_rows(digests: Sequence[bytes]) -> np.ndarray:
    """(n, 32) uint8."""
    return np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(-1, TOKEN_BYTES)


def local_key(party: Party, rng_for: Callable[..., RandomSource]) -> Cipher:
    """The key of a run, sealed for the parties."""
    words = words_of(rng_for("key of digests", party.name))(TOKEN_BYTES // 8)
    return Cipher(words.astype("<u8").view(np.uint8), key_holder=KEY_HOLDERS, made_of=RANDOM)


def local_keyed(party: Party, texts: Sequence[str], order: np.ndarray, key: Cipher) -> Clear:
    """HMAC-SHA-256 of the party's identifiers, shuffled."""
    secret = key_bytes(key, KEY_HOLDERS)
    digests = [hmac.digest(secret, texts[place].encode(), "sha256") for place in order]
    return Clear(as_rows(digests), units=("row",))


def local_published(party: Party, texts: Sequence[str]) -> Clear:
    """SHA-256 of the party's identifiers, in the order of its records."""
    return Clear(as_rows([sha256(text.encode()).digest() for text in texts]), units=("row",))


def keyed_digests(run: Run, texts: PerPlace[Sequence[str]], analyst: str) -> tuple[PerPlace[np.ndarray], int]:
    """Positions of the identifiers that all parties have, by HMAC-SHA-256; as `federation.exchanges.psi.psi`."""
    first, *others = run.parties
    key = run.broadcast(first, others, "key of the digests", local_key, run.rng_for)
    orders = run.each(run.parties, local_order, texts, run.rng_for)
    lists = run.gather(run.parties, analyst, "digests", local_keyed, texts, orders, key)
    positions, n = common_tokens(run, analyst, run.parties, lists)
    return run.each(run.parties, local_rows, orders, positions), n


def local_whole(party: Party, positions: np.ndarray) -> np.ndarray:
    """(n,) int64 positions, of a list that was sent as it lay."""
    return positions.astype(np.int64)


def published_digests(run: Run, texts: PerPlace[Sequence[str]], analyst: str) -> tuple[PerPlace[np.ndarray], int]:
    """Positions of the identifiers that all parties have, in the order of the first party (document 004, "The hashing
    approach")."""
    lists = run.gather(run.parties, analyst, "digests", local_published, texts)
    positions, n = common_tokens(run, analyst, run.parties, lists, "first")
    return run.each(run.parties, local_whole, positions), n
