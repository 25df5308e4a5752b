"""Which persons a fit used, what aligning them took, and what a dictionary finds behind a list of identifiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Protocol

import numpy as np

from ....alignment.digests import local_key, local_keyed, local_published
from ....alignment.options import Mode
from ....alignment.rows import work
from ....audits.attacks.identifiers import attack_ids
from ....experiment.study import MethodSpec
from ....federation.exchanges.psi import local_exponent, local_first, local_last, local_points, points_of
from ....federation.parties import Party
from ....methods.glm.model import Estimate as GlmEstimate
from ....methods.pca.model import Estimate as PcaEstimate
from ....privacy.mechanisms.random import SecureRandom
from ..data import GlmData
from ..measures import GlmMeasures
from ..settings import CaseSettings

# Points cost a millisecond each: so many identifiers of a list are attacked at most.
MOST = 200


class GlmOptions(Protocol):
    """What the options of every method of the study have."""

    @property
    def alignment(self) -> Mode:
        """How common records are found where they arrive unaligned."""

    @property
    def uses_epsilon(self) -> bool:
        """Whether the grid's epsilon is a target of the method."""


GlmMethodSpec = MethodSpec[GlmOptions, object, CaseSettings]
OWNER, OTHER = Party("owner", "active", {}), Party("other", "passive", {})


def found_by_dictionary(data: GlmData, n_parties: int, mode: Mode) -> float:
    """Share of the identifiers of the first party that a matcher finds who can list the scheme and has no key.

    The list is made anew by the functions of the exchange, under a key or exponents of its own. What anybody can
    compute of a listed identifier is compared with it: its digest, and of lists of points its point.
    """
    key = n_parties, mode
    if key not in data.memo.dictionary_shares:
        assert data.identifiers is not None
        own = data.identifiers[data.persons_of_parties(n_parties)[0]].tolist()
        own = own[:MOST] if mode == "psi" else own
        seen = [row.tobytes() for row in received_identifiers(own, mode)]
        shares = [attack_ids(seen, own, map(data.scheme.format, range(data.population)), digest)]
        if mode == "psi":
            # A dictionary of nothing but what is to be found.
            shares.append(attack_ids(seen, own, own, point))
        data.memo.dictionary_shares[key] = max(shares)
    return data.memo.dictionary_shares[key]


def received_identifiers(names: Sequence[str], mode: Mode) -> np.ndarray:
    """(n, 32) bytes that reach the matcher of one party's identifiers, of two parties."""
    if mode == "sha256":
        return np.asarray(local_published(OWNER, names).value)
    order = np.arange(len(names))
    if mode == "hmac":
        return np.asarray(local_keyed(OWNER, names, order, local_key(OWNER, secret)).value)
    blinded = local_first(OWNER, local_points(OWNER, names, order), local_exponent(OWNER, secret))
    return np.asarray(local_last(OTHER, blinded, local_exponent(OTHER, secret), OWNER.name).value)


def secret(*address: str | int) -> SecureRandom:
    """Keys that nobody has: whatever they are, the share that is found is the same."""
    return SecureRandom()


def digest(name: str) -> bytes:
    """What anybody can hash."""
    return sha256(name.encode()).digest()


def point(name: str) -> bytes:
    """What anybody can map to the curve."""
    return bytes(points_of([name])[0].tobytes())


def used_persons(
    estimate: GlmEstimate | PcaEstimate, data: GlmData, train: np.ndarray, spec: GlmMethodSpec
) -> np.ndarray:
    """(n,) persons of the records that a protocol used, as its active party has them."""
    if estimate.rows is None:
        return np.flatnonzero(train)
    return np.asarray(_persons(estimate.rows, data, spec)[spec.settings.active_index(spec.n_parties)])


def _persons(used: Mapping[str, np.ndarray], data: GlmData, spec: GlmMethodSpec) -> np.ndarray:
    """(parties, n) persons of the used records of each party."""
    named = zip(spec.settings.party_names(spec.n_parties), data.persons_of_parties(spec.n_parties), strict=True)
    return np.stack([held[used[name]] for name, held in named])


def alignment_measures(estimate: GlmEstimate | PcaEstimate, data: GlmData, spec: GlmMethodSpec) -> GlmMeasures:
    """Of records that arrived unaligned: how many were found in common, and what a dictionary finds of identifiers."""
    if data.identifiers is None:
        return GlmMeasures()
    assert estimate.rows is not None
    persons, mode = _persons(estimate.rows, data, spec), spec.options.alignment
    same = np.all(persons == persons[0], axis=0)
    products = work(mode, [len(held) for held in data.persons_of_parties(spec.n_parties)])["exponentiations"]
    found = GlmMeasures(common_records=int(np.sum(same)), exponentiations=products)
    if data.population:
        found |= GlmMeasures(attack_ids=found_by_dictionary(data, spec.n_parties, mode))
    return found
