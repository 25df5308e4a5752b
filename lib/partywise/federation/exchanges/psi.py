"""Exchange: private set intersection of any number of lists, by Diffie-Hellman on edwards25519.

An identifier is hashed to a point H of the subgroup of prime order: H = E(h_1) + E(h_2), where h_1 and h_2 are the
halves of SHA-512 over a tag and the identifier and E is libsodium's map. Party k has one secret exponent a_k. Its list,
shuffled by itself, passes all other parties, each of which multiplies every point by its own exponent and keeps the
order; the last one hands it to the matcher. There points (a_1 ... a_K) H agree where identifiers do.

Message                                from, to                              payload, bytes
blinded list of party k                party k, k+1, ..., to the last        Cipher, key: no single party; 32 n_k each
fully blinded list of party k          its last party, matcher               Clear(row) of party k; 32 n_k
positions and number of the common     matcher, all places                   `common_tokens`

K messages a list, K multiplications and one hash a record. A party sees every list under another product of exponents
and none of its own again, so that it can compare no two of them: it learns their lengths, and which of its own records
are common to all. (With its own list fully blinded, the last party of another would learn which records the two of them
share, also where a third one lacks them.) The matcher sees which entries of the shuffled lists agree, two by two and in
all; it has no exponent, so that no guessed identifier can be tried. No party learns where a record lies at another.

All are semi-honest. A matcher that colludes with party k can reveal to it which of its records each single other party
has, and nothing of records that it lacks. A party may try guesses by putting them into its own list. Received entries
are checked: canonical, on the curve, of the prime order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha512
from itertools import pairwise
from types import ModuleType

import numpy as np

from ...privacy.accounted_values import Clear
from ...privacy.mechanisms.random import RandomSource, words_of
from ..cipher import Cipher
from ..parties import Party
from ..places import PerPlace
from ..roles import parts_of
from ..run import Run
from .common_tokens import TOKEN_BYTES, check_tokens, common_tokens, local_order, local_rows

TAG = b"partywise, set intersection on edwards25519\0"
NOBODY = "no single party"
SCHEME = "blinded"
PURPOSE = "set intersection"


def sodium(purpose: str) -> ModuleType:
    """The functions of libsodium, loaded where they are called and nowhere else; ImportError names the purpose."""
    try:
        from nacl import bindings
    except ImportError:
        raise ImportError(f"{purpose} needs the package PyNaCl: pip install 'partywise[alignment]'.") from None
    return bindings


def points_of(texts: Sequence[str]) -> np.ndarray:
    """(n, 32) points of identifiers; ImportError without PyNaCl."""
    bindings, tagged, points = sodium(PURPOSE), sha512(TAG), []
    point, add = bindings.crypto_core_ed25519_from_uniform, bindings.crypto_core_ed25519_add
    for text in texts:
        state = tagged.copy()
        state.update(text.encode())
        digest = state.digest()
        points.append(add(point(digest[:32]), point(digest[32:])))
    return np.frombuffer(b"".join(points), dtype=np.uint8).reshape(-1, TOKEN_BYTES)


def multiply_points(points: np.ndarray, exponent: bytes, owner: str) -> np.ndarray:
    """Every point of a list (n, 32) times an exponent."""
    check_tokens(points, owner)
    times, data = sodium(PURPOSE).crypto_scalarmult_ed25519_noclamp, points.tobytes()
    try:
        multiples = b"".join([times(exponent, data[at : at + TOKEN_BYTES]) for at in range(0, len(data), TOKEN_BYTES)])
    except RuntimeError:
        raise ValueError(
            f"list of {owner!r} holds an entry that is not a point of the subgroup of prime order of edwards25519: "
            "stop, its sender does not follow the protocol."
        ) from None
    return np.frombuffer(multiples, dtype=np.uint8).reshape(-1, TOKEN_BYTES)


def local_exponent(party: Party, rng_for: Callable[..., RandomSource]) -> bytes:
    """A party's secret exponent, uniform up to 2^-259 and not 0."""
    words, reduced = words_of(rng_for("psi exponent", party.name)), sodium(PURPOSE).crypto_core_ed25519_scalar_reduce
    exponent = bytes(TOKEN_BYTES)
    while not any(exponent):
        exponent = reduced(words(8).astype("<u8").tobytes())
    return exponent


def local_points(party: Party, texts: Sequence[str], order: np.ndarray) -> np.ndarray:
    """The points of the party's identifiers, shuffled."""
    return points_of([texts[place] for place in order])


def local_first(party: Party, points: np.ndarray, exponent: bytes) -> Cipher:
    """The party's own list, blinded by itself."""
    return Cipher(multiply_points(points, exponent, party.name), NOBODY, SCHEME, made_of=parts_of((party,), ("row",)))


def local_passed(party: Party, received: Cipher, exponent: bytes, owner: str) -> Cipher:
    """Another's list, blinded once more, in the order in which it came."""
    made_of = (Clear(None, units=("row",), owner=owner),)
    return Cipher(multiply_points(received.content, exponent, owner), NOBODY, SCHEME, made_of=made_of)


def local_last(party: Party, received: Cipher, exponent: bytes, owner: str) -> Clear:
    """Another's list, blinded by all: equal where the identifiers are, and open to the matcher in this respect."""
    return Clear(multiply_points(received.content, exponent, owner), units=("row",), owner=owner)


def passed_round(
    run: Run, place: int, points: PerPlace[np.ndarray], exponents: PerPlace[bytes], matcher: str
) -> np.ndarray:
    """The list of one party, blinded by all others in turn, at the matcher."""
    owner, *others = *run.parties[place:], *run.parties[:place]
    current = run.send(owner, others[0], "blinded list", local_first, points, exponents)
    for party, following in pairwise(others):
        current = run.send(party, following, "blinded list", local_passed, current, exponents, owner.name)
    return run.send(others[-1], matcher, "fully blinded list", local_last, current, exponents, owner.name)


def psi(run: Run, texts: PerPlace[Sequence[str]], matcher: str) -> tuple[PerPlace[np.ndarray], int]:
    """Positions (n,) int64, in every party's own list, of the identifiers that all have; and n, known to all.

    Their order is that of the blinded points, which reveals nothing. ``matcher`` is a place without data; identifiers
    are distinct at every party. `ValueError` if nothing is common, or a party sends what is not a point.
    """
    exponents = run.each(run.parties, local_exponent, run.rng_for)
    orders = run.each(run.parties, local_order, texts, run.rng_for)
    points = run.each(run.parties, local_points, texts, orders)
    lists = [passed_round(run, place, points, exponents, matcher) for place in range(len(run.parties))]
    positions, n = common_tokens(run, matcher, run.parties, lists)
    return run.each(run.parties, local_rows, orders, positions), n
