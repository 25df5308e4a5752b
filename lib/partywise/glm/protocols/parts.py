"""Who has which coefficients in the end: a party those of its own columns that it was sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ...federation.parties import Party
from ...federation.run import PerPlace, Run, per_place
from ..model import Estimate


def local_part(party: Party, sent: np.ndarray, n_columns: int, epsilon: float) -> Estimate:
    """What the party was sent: its coefficients and, to the active one, the intercept before them; the rest is nan."""
    found = np.full(1 + n_columns, np.nan)
    found[1 + np.asarray(party.columns, dtype=int)] = sent[len(sent) - len(party.columns) :]
    if len(sent) > len(party.columns):
        found[0] = sent[0]
    return Estimate(found, epsilon_claimed=epsilon)


def held_parts(run: Run, sent: Mapping[str, np.ndarray]) -> PerPlace[Estimate]:
    """What every party has of the estimate."""
    return run.each(run.parties, local_part, per_place(sent), len(run.spec.public.names), run.epsilon)


def with_rows(estimate: Estimate, rows: Mapping[str, np.ndarray] | None) -> Estimate:
    """With the records that it was made of where they came unaligned."""
    return replace(estimate, rows=None if rows is None else dict(rows))
