"""What both sides of every protocol of this study do: the trainer's features cross once, in the clear, as they are.

Features are public where the label of one example is the unit: sending them costs nothing for the unit ``label`` and
infinity for ``row``, which the ledger shows.
"""

from __future__ import annotations

import numpy as np

from ...federation.parties import Party
from ...privacy.accounted import Clear


def local_features(trainer: Party, train: np.ndarray) -> Clear:
    """The trainer's training rows (N, k), for whoever measures the labels."""
    return Clear(trainer.block["X"][train], units=("features",), owner=trainer.name)


def local_labels(measurer: Party, train: np.ndarray) -> np.ndarray:
    """The measurer's training labels (N,)."""
    return measurer.block["y"][train]
