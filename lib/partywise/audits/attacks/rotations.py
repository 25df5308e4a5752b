"""Disclosure by scores U_k D_k of a party: all rows of its block, by few known rows.

The source sends U_k D_k of X_k = U_k D_k V_k' (seed 004, "Block SVD"), the block up to a rotation.  The function below
is an attack by the receiver; it bounds no epsilon, and shows why the ledger books such a message as ``Clear``.
"""

from __future__ import annotations

import numpy as np


def recover_rows(
    message: np.ndarray, known: np.ndarray, rows: np.ndarray, *, transformation: str = "rotation"
) -> np.ndarray:
    """All rows (n, p) of a block from a message (n, k) that is a linear image of it, and a few rows the attacker knows.

    The transformation links message and data: X = message V' with orthogonal V (U_k D_k of the very data); any linear
    map (a basis of the column space); or a linear map and a shift (U_k D_k of data that the party has standardised by
    its own means and scales; needs one more known row). ValueError if the known rows do not determine the map.
    """
    image, values = np.asarray(message, dtype=float), np.asarray(rows, dtype=float)
    if transformation not in ("rotation", "linear", "affine"):
        raise ValueError(f"transformation={transformation!r} must be 'rotation', 'linear' or 'affine'.")
    if image.ndim != 2 or values.ndim != 2 or len(values) != len(np.atleast_1d(known)):
        raise ValueError(f"message of shape {image.shape}, rows of shape {values.shape}: give (n, k) and one row each.")
    if transformation == "rotation" and values.shape[1] != image.shape[1]:
        raise ValueError(f"a rotation maps {image.shape[1]} columns to as many, but rows have {values.shape[1]}.")
    if transformation == "affine":
        image = np.column_stack([np.ones(len(image)), image])
    # Columns of like size: the rank of the known rows is then no matter of units.
    scale = np.sqrt(np.mean(image**2, axis=0))
    used = image[np.atleast_1d(known)] / scale
    mapping, _, rank, _ = np.linalg.lstsq(used, values, rcond=1e-12)
    if rank < image.shape[1]:
        raise ValueError(
            f"the known rows span {rank} of {image.shape[1]} directions; give more or more different rows."
        )
    mapping = mapping / scale[:, None]
    return image @ (_nearest_rotation(mapping) if transformation == "rotation" else mapping)


def _nearest_rotation(mapping: np.ndarray) -> np.ndarray:
    left, _, right = np.linalg.svd(mapping)
    return left @ right
