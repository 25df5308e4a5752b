"""Exchange: noisy sums over records whose columns lie at several parties, by an assumed secure aggregation.

Assumed, not simulated: every party turns its columns into shares that no single party can open; one functionality joins
them, forms the sums of records and of their products, draws the noise inside and lets the releases out, and nothing
else (trust model ``central``).  Additive shares alone give sums and multiples; products of columns of two parties need
more rounds or a trusted machine.  Here the functionality is a place of the run, and `assumed_releases` the only
function that opens shares.

What the releases cost is announced to the holders (`partywise.federation.run.Run.charge`) before their shares leave:
each of them pays all of it from its own account where parties are processes of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from ..cipher import Cipher
from ..parties import Party
from ..payloads import Payload
from ..places import Place
from ..roles import parts_of
from ..run import Run

AGGREGATOR = "aggregator"
NOBODY = "no single party"
R = TypeVar("R")

# Who holds values, what their shares are called on the wire, how a holder computes its own, and from what.
Input = tuple[Sequence[Party], str, Callable[..., object], tuple[object, ...]]


def local_share(party: Party, local_values: Callable[..., object], *values: object) -> Cipher:
    """Values that a party computes, in shares."""
    made_of, content = parts_of((party,)), local_values(party, *values)
    return Cipher(content, NOBODY, "additive shares", made_of=made_of, knows=(AGGREGATOR,))


def assumed_releases(releases: Callable[..., R], shares: Sequence[Sequence[Cipher]], *values: object) -> R:
    """Releases of the functionality, made of what the shares of all parties hide."""
    opened = [tuple(share.decrypt(NOBODY) for share in ciphers) for ciphers in shares]
    return releases(*opened, *values)


def assumed_content(
    function: Callable[..., object], shares: Sequence[Sequence[Cipher]], *values: object
) -> list[tuple[Cipher, ...]]:
    """Values that the functionality computes of what the shares hide, as closed as they are."""
    made_of = [part for ciphers in shares for share in ciphers for part in share.made_of]
    content = assumed_releases(function, shares, *values)
    return [(Cipher(content, NOBODY, "additive shares", made_of=made_of, knows=(AGGREGATOR,)),)]


def shared_once(run: Run, inputs: Sequence[Input]) -> list[tuple[Cipher, ...]]:
    """Shares at the functionality, which keeps them for several sums."""
    return [
        run.gather(holders, AGGREGATOR, name, local_share, local, *values) for holders, name, local, values in inputs
    ]


def prepared_once(
    run: Run, shares: Sequence[tuple[Cipher, ...]], function: Callable[..., object], *values: object
) -> list[tuple[Cipher, ...]]:
    """A function of what was shared, which the functionality computes once and keeps for several sums."""
    return run.at(AGGREGATOR, assumed_content, function, shares, *values)


def sums_of_shares(
    run: Run,
    shares: Sequence[tuple[Cipher, ...]],
    receiver: Place,
    names: tuple[str, ...],
    releases: Callable[..., tuple[Payload, ...]],
    *values: object,
) -> tuple[tuple[np.ndarray, ...], ...]:
    """Noisy sums, at one receiver, of what was shared once."""
    return run.gather((AGGREGATOR,), receiver, lambda _: names, assumed_releases, releases, shares, *values)
