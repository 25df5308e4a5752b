"""Who has which coefficients in the end: the analyst all of them, a party those of its own columns that it was sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ...federation.parties import Party
from ...federation.roles import ANALYST
from ...federation.run import PerPlace, Run, per_place
from ..model import Estimate


def local_part(party: Party, sent: np.ndarray, n_columns: int, epsilon: float) -> Estimate:
    """What the party was sent: its coefficients and, to the active one, the intercept before them; the rest is nan."""
    found = np.full(1 + n_columns, np.nan)
    found[1 + np.asarray(party.columns, dtype=int)] = sent[len(sent) - len(party.columns) :]
    if len(sent) > len(party.columns):
        found[0] = sent[0]
    return Estimate(found, epsilon_claimed=epsilon)


def held_parts(run: Run, estimate: Estimate, sent: Mapping[str, np.ndarray]) -> PerPlace[Estimate]:
    """The estimate at the analyst, and at every party its part of it."""
    n_columns, target = len(run.spec.public.names), run.epsilon
    parts = {p.name: run.at(p, local_part, sent[p.name], n_columns, target) for p in run.parties}
    return per_place({ANALYST: estimate} | parts)


def with_rows(held: Estimate | Mapping[str, Estimate], rows: Mapping[str, np.ndarray] | None) -> Estimate:
    """The estimate of the analyst, with the records that it was made of where they came unaligned."""
    estimate = held if isinstance(held, Estimate) else held[ANALYST]
    return replace(estimate, rows=None if rows is None else dict(rows))
