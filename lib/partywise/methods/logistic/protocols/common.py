"""First steps of every protocol of this method: the features that cross once in the clear, and a verdict on its fit.

Features are public where the label of one example is the unit: sending them costs nothing for the unit ``label`` and
infinity for ``row``, which the ledger shows.
"""

from __future__ import annotations

import numpy as np

from ....core.verdicts import OK, Verdict
from ....federation.parties import Party
from ....privacy.accounted_values import Clear
from ..trainers import WalrFit


def local_features(trainer: Party, train: np.ndarray) -> Clear:
    """The trainer's training rows (N, k), for the measurer of the labels."""
    return Clear(trainer.block["X"][train], units=("features",), owner=trainer.name)


def fit_verdict(trainer: str, fit: WalrFit) -> Verdict:
    """Whether Newton's steps reached their optimum; gradient descents take all their steps."""
    if trainer != "newton" or fit.converged:
        return OK
    return Verdict(
        "not_converged",
        f"{fit.steps} Newton steps have not reached an optimum (trainer={trainer!r}): give a ridge or fewer columns",
    )
