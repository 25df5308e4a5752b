"""How every protocol on vertically split records begins: which rows of every party are the common records.

Aligned records are the training records of the fold, in the order in which they lie, and no message is sent.
"""

from __future__ import annotations

import numpy as np

from ..federation.parties import Party
from ..federation.run import Own, Run

__all__ = ["common_rows"]

# Steers and matches; holds no data.
ANALYST = "analyst"


def local_training_rows(party: Party, train: np.ndarray) -> np.ndarray:
    """(n,) positions of the training records, the same at every party."""
    return np.flatnonzero(train)


def common_rows(run: Run) -> tuple[Own, int]:
    """Positions of the common training records in every party's own block, in one order for all.

    Parameters
    ----------
    run : Run
        Its public facts say whether records are ``aligned``, its options how to align them.

    Returns
    -------
    rows : Own
        (n,) int at every party.
    n : int
        Number of common records, known to all.
    """
    if not run.spec.public.aligned:
        raise NotImplementedError("public.aligned is False: records that arrive unaligned cannot be matched yet.")
    train = run.fold.train
    return run.each(run.parties, local_training_rows, train), int(train.sum())
