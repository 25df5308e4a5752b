"""Which persons a fit used, whether the parties agree on them, and what aligning them took."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....alignment.rows import work
from ..data import GlmData
from ..measures import GlmMeasures
from .listed import found_by_dictionary


def used_persons(estimate: Any, data: GlmData, train: np.ndarray, spec: Any) -> np.ndarray:
    """(n,) persons of the records that a protocol used, as its active party has them."""
    if estimate.rows is None:
        return np.flatnonzero(train)
    return _persons(estimate, data, spec)[spec.settings.active_index]


def _persons(estimate: Any, data: GlmData, spec: Any) -> np.ndarray:
    """(parties, n) persons of the used records of each party."""
    named = zip(spec.settings.names(spec.n_parties), data.held(spec.n_parties), strict=True)
    return np.stack([held[estimate.rows[name]] for name, held in named])


def aligned(estimate: Any, data: GlmData, spec: Any) -> GlmMeasures:
    """Of records that arrived unaligned: how many were found in common, and what a dictionary finds of identifiers."""
    if data.identifiers is None:
        return GlmMeasures()
    persons, mode = _persons(estimate, data, spec), spec.options.alignment
    same = np.all(persons == persons[0], axis=0)
    products = work(mode, [len(held) for held in data.held(spec.n_parties)])["exponentiations"]
    found = GlmMeasures(common_records=int(np.sum(same)), exponentiations=products)
    if data.population:
        found |= GlmMeasures(attack_ids=found_by_dictionary(data, spec.n_parties, mode))
    return found
