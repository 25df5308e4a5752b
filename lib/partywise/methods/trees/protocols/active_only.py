"""Protocol: the active party grows trees on its own columns; nothing crosses.

The floor of every comparison: what federation adds is what exceeds it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ....federation.parties import Party
from ....federation.run import Run
from ..model import TreeEstimate, TreeSpec
from ..options import ActiveOnlyOptions
from .common import active_of, local_codes, local_own_ensemble


def local_estimate(
    active: Party, train: np.ndarray, spec: TreeSpec[ActiveOnlyOptions], rng_for: Callable
) -> TreeEstimate:
    """Trees on the active party's columns; they cost no privacy, so the claim is 0."""
    data = local_codes(active, train, spec.options)
    return TreeEstimate(local_own_ensemble(active, train, data, spec.options, spec.public, rng_for), 0.0)


def fit(run: Run) -> TreeEstimate:
    """Grow at one place."""
    return run.at(active_of(run.parties), local_estimate, run.fold.train, run.spec, run.rng_for)
