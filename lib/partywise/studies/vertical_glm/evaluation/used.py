"""Which persons a fit used, whether the parties agree on them, and what aligning them took."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....alignment.identifiers import hash_identifiers
from ....alignment.rows import work
from ....attacks.identifiers import attack_ids
from ..data import GlmData


def used_persons(estimate: Any, data: GlmData, train: np.ndarray, spec: Any) -> np.ndarray:
    """(n,) persons of the records that a protocol used, as its active party has them."""
    if estimate.rows is None:
        return np.flatnonzero(train)
    return _persons(estimate, data, spec)[spec.settings.holder]


def _persons(estimate: Any, data: GlmData, spec: Any) -> np.ndarray:
    """(parties, n) persons of the used records of each party."""
    named = zip(spec.settings.names(spec.n_parties), data.held(spec.n_parties), strict=True)
    return np.stack([held[estimate.rows[name]] for name, held in named])


def aligned(estimate: Any, data: GlmData, spec: Any) -> dict[str, Any]:
    """Of records that arrived unaligned: how many were found in common, and what a dictionary finds of identifiers."""
    if data.identifiers is None:
        return {}
    persons, mode = _persons(estimate, data, spec), spec.options.alignment
    same = np.all(persons == persons[0], axis=0)
    found: dict[str, Any] = {"common_records": int(np.sum(same))}
    found["exponentiations"] = work(mode, [len(held) for held in data.held(spec.n_parties)])["exponentiations"]
    if data.population:
        found["attack_ids"] = _dictionary(data, spec.n_parties) if mode == "sha256" else 0.0
    return found


def _dictionary(data: GlmData, n_parties: int) -> float:
    """Share of the identifiers of the first party that hashing the whole scheme finds behind its digests.

    Under a key or an exponent that the listener lacks it has nothing to hash: tests try it on recorded views.
    """
    key = "dictionary", n_parties
    if key not in data.memo:
        assert data.identifiers is not None
        own = data.identifiers[data.held(n_parties)[0]].tolist()
        data.memo[key] = attack_ids(hash_identifiers(own), own, map(data.scheme.format, range(data.population)))
    return data.memo[key]
