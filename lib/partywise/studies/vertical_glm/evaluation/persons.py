"""Persons that a fit used, the work of aligning them, and what a dictionary finds behind a list of identifiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Protocol

import numpy as np

from ....alignment.digests import local_key, local_keyed, local_published
from ....alignment.options import Mode
from ....alignment.rows import work
from ....audits.attacks.messages import attack_ids
from ....experiment.study import MethodSpec
from ....federation.exchanges.psi import local_exponent, local_first, local_last, local_points, points_of
from ....federation.parties import Party
from ....methods.glm.model import GlmEstimate
from ....methods.pca.model import PcaEstimate
from ....privacy.mechanisms.random import SecureRandom
from ..data import GlmData
from ..measures import GlmMeasures
from ..settings import GlmCaseSettings

# Points cost a millisecond each: so many identifiers of a list are attacked at most.
MOST = 200


class GlmOptions(Protocol):
    """Options that every method of the study has."""

    @property
    def alignment(self) -> Mode:
        """Mode of finding common records where they arrive unaligned."""

    @property
    def uses_epsilon(self) -> bool:
        """Whether the grid's epsilon is a target of the method."""


GlmMethodSpec = MethodSpec[GlmOptions, object, GlmCaseSettings]
OWNER, OTHER = Party("owner", "active", {}), Party("other", "passive", {})


def found_by_dictionary(data: GlmData, n_parties: int, mode: Mode) -> float:
    """Share of the identifiers of the first party that a matcher finds who can list the scheme and has no key.

    The list is made anew by the functions of the exchange, under a key or exponents of its own. What any observer can
    compute of a listed identifier is compared with it: its digest, and of lists of points its point.
    """
    key = n_parties, mode
    if key not in data.memo.dictionary_shares:
        assert data.identifiers is not None
        names = data.identifiers[data.persons_of_parties(n_parties)[0]].tolist()
        names = names[:MOST] if mode == "psi" else names
        seen = [row.tobytes() for row in received_identifiers(names, mode)]
        shares = [attack_ids(seen, names, map(data.scheme.format, range(data.population)), digest)]
        if mode == "psi":
            # A dictionary of nothing but what is to be found.
            shares.append(attack_ids(seen, names, names, point))
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
    """Keys that no party has: the share that is found is the same for all keys."""
    return SecureRandom()


def digest(name: str) -> bytes:
    """Return the digest of an identifier, which any observer can compute."""
    return sha256(name.encode()).digest()


def point(name: str) -> bytes:
    """Return the point of an identifier on the curve, which any observer can compute."""
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
    return np.stack([party_persons[used[name]] for name, party_persons in named])


def alignment_measures(estimate: GlmEstimate | PcaEstimate, data: GlmData, spec: GlmMethodSpec) -> GlmMeasures:
    """Return the number of common records that arrived unaligned, and what a dictionary finds of identifiers."""
    if data.identifiers is None:
        return GlmMeasures()
    assert estimate.rows is not None
    persons, mode = _persons(estimate.rows, data, spec), spec.options.alignment
    same = np.all(persons == persons[0], axis=0)
    products = work(mode, [len(rows) for rows in data.persons_of_parties(spec.n_parties)])["exponentiations"]
    measures = GlmMeasures(common_records=int(np.sum(same)), exponentiations=products)
    if data.population:
        measures |= GlmMeasures(attack_ids=found_by_dictionary(data, spec.n_parties, mode))
    return measures
