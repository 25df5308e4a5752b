"""What every protocol of this method begins with: the trainer's features cross once, in the clear, as they are.

Features are public where the label of one example is the unit: sending them costs nothing for the unit ``label`` and
infinity for ``row``, which the ledger shows.
"""

from __future__ import annotations

import numpy as np

from ...federation.parties import Party
from ...privacy.accounted_values import Clear


def local_features(trainer: Party, train: np.ndarray) -> Clear:
    """The trainer's training rows (N, k), for whoever measures the labels."""
    return Clear(trainer.block["X"][train], units=("features",), owner=trainer.name)
