"""Which persons a fit used, what aligning them took, and what a dictionary finds behind a list of identifiers."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import numpy as np

from ....alignment.digests import local_key, local_keyed, local_published
from ....alignment.options import Mode
from ....alignment.rows import work
from ....attacks.identifiers import attack_ids
from ....federation.exchanges.psi import local_exponent, local_first, local_last, local_points, points_of
from ....federation.parties import Party
from ....privacy.mechanisms.random import SecureRandom
from ..data import GlmData
from ..measures import GlmMeasures

# Points cost a millisecond each: so many identifiers of a list are attacked at most.
MOST = 200
OWNER, OTHER = Party("owner", "active", {}), Party("other", "passive", {})


def found_by_dictionary(data: GlmData, n_parties: int, mode: Mode) -> float:
    """Share of the identifiers of the first party that a matcher finds who can list the scheme and has no key.

    The list is made anew by the functions of the exchange, under a key or exponents of its own. What anybody can
    compute of a listed identifier is compared with it: its digest, and of lists of points its point.
    """
    key = "dictionary", n_parties, mode
    if key not in data.memo:
        assert data.identifiers is not None
        own = data.identifiers[data.persons_of_parties(n_parties)[0]].tolist()
        own = own[:MOST] if mode == "psi" else own
        seen = [row.tobytes() for row in received_identifiers(own, mode)]
        shares = [attack_ids(seen, own, map(data.scheme.format, range(data.population)), digest)]
        if mode == "psi":
            # A dictionary of nothing but what is to be found.
            shares.append(attack_ids(seen, own, own, point))
        data.memo[key] = max(shares)
    return data.memo[key]


def received_identifiers(names: Sequence[str], mode: Mode) -> np.ndarray:
    """(n, 32) bytes that reach the matcher of one party's identifiers, of two parties."""
    if mode == "sha256":
        return local_published(OWNER, names).value
    order = np.arange(len(names))
    if mode == "hmac":
        return local_keyed(OWNER, names, order, local_key(OWNER, secret)).value
    blinded = local_first(OWNER, local_points(OWNER, names, order), local_exponent(OWNER, secret))
    return local_last(OTHER, blinded, local_exponent(OTHER, secret), OWNER.name).value


def secret(*address: str | int) -> SecureRandom:
    """Keys that nobody has: whatever they are, the share that is found is the same."""
    return SecureRandom()


def digest(name: str) -> bytes:
    """What anybody can hash."""
    return sha256(name.encode()).digest()


def point(name: str) -> bytes:
    """What anybody can map to the curve."""
    return points_of([name])[0].tobytes()


def used_persons(estimate: Any, data: GlmData, train: np.ndarray, spec: Any) -> np.ndarray:
    """(n,) persons of the records that a protocol used, as its active party has them."""
    if estimate.rows is None:
        return np.flatnonzero(train)
    return _persons(estimate, data, spec)[spec.settings.active_index]


def _persons(estimate: Any, data: GlmData, spec: Any) -> np.ndarray:
    """(parties, n) persons of the used records of each party."""
    named = zip(spec.settings.names(spec.n_parties), data.persons_of_parties(spec.n_parties), strict=True)
    return np.stack([held[estimate.rows[name]] for name, held in named])


def alignment_measures(estimate: Any, data: GlmData, spec: Any) -> GlmMeasures:
    """Of records that arrived unaligned: how many were found in common, and what a dictionary finds of identifiers."""
    if data.identifiers is None:
        return GlmMeasures()
    persons, mode = _persons(estimate, data, spec), spec.options.alignment
    same = np.all(persons == persons[0], axis=0)
    products = work(mode, [len(held) for held in data.persons_of_parties(spec.n_parties)])["exponentiations"]
    found = GlmMeasures(common_records=int(np.sum(same)), exponentiations=products)
    if data.population:
        found |= GlmMeasures(attack_ids=found_by_dictionary(data, spec.n_parties, mode))
    return found
