"""Disclosure by linear images of a party's block X_k: the space of its columns, and with few known rows all of them.

The source sends U_k D_k of X_k = U_k D_k V_k' (document 004, "Block SVD"), the block up to a rotation, or eta_k =
X_k beta_k of every iteration (document 004, "The BCD Algorithm"), one more vector of its column space each time.  The
functions below are attacks by the receiver; they bound no epsilon, and show why the ledger books such messages as
``Clear``.
"""

from __future__ import annotations

import numpy as np

# A row counts as recovered if no entry is off by more than this share of its column's deviation.
EXACT = 1e-6


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


def column_space(messages: np.ndarray, *, tolerance: float = 1e-10) -> np.ndarray:
    """Orthonormal basis (n, r) of what linear predictors eta_k = X_k beta_k of one party span, one message a column.

    Every iteration of block coordinate descent sends one more vector of the column space of X_k (document 004, "The BCD
    algorithm", step 3). Once they span all of it, the receiver can regress on X_k as its owner could, and k known rows
    give all others (`recover_rows` with ``transformation="linear"``). Directions below ``tolerance`` of the largest are
    rounding errors.
    """
    sent = np.asarray(messages, dtype=float)
    if sent.ndim != 2 or not np.all(np.isfinite(sent)) or not np.any(sent):
        raise ValueError(
            f"messages of shape {sent.shape}: give a finite matrix, not all zero, one column per iteration."
        )
    # Iterations converge, so the vectors are nearly equal: their differences have the same span, better conditioned.
    steps = np.column_stack([sent[:, 0], np.diff(sent, axis=1)])
    left, values, _ = np.linalg.svd(steps, full_matrices=False)
    return left[:, values > tolerance * values[0]]


def attack_space(seen: np.ndarray, X: np.ndarray) -> float:
    """Share of the column space of a block (n, k) that messages (n, t) span: mean squared cosine of principal angles.

    0 for nothing, 1 for all of it; both are centred first.
    """
    return float(space_by_iteration(seen, X)[-1]) if seen.shape[1] else 0.0


def space_by_iteration(seen: np.ndarray, X: np.ndarray) -> np.ndarray:
    """(t,) the share that the first message spans, the first two, ..., all t of them (`attack_space`)."""
    block = _centre(X)
    left, values, _ = np.linalg.svd(block, full_matrices=False)
    basis = left[:, values > 1e-10 * values[0]]
    sent, spanned_shares = _centre(seen), []
    for count in range(1, sent.shape[1] + 1):
        spanned = column_space(sent[:, :count]) if np.any(sent[:, :count]) else np.zeros((len(sent), 0))
        spanned_shares.append(float(np.sum((spanned.T @ basis) ** 2)) / basis.shape[1])
    return np.array(spanned_shares)


def row_errors(
    seen: np.ndarray, X: np.ndarray, known: np.ndarray, *, transformation: str = "linear"
) -> np.ndarray | None:
    """Errors of the rows that the attacker does not know, each the largest of its entries in deviations of the column.

    ``seen`` are messages (n, t) of one party: its linear predictors, or U_k D_k. ``affine`` where it had
    centred its columns, which takes one known row more. None where the known rows do not determine the map.
    """
    if not seen.shape[1] or not np.any(seen):
        return None
    try:
        recovered = recover_rows(
            column_space(_centre(seen) if transformation == "affine" else seen),
            known,
            X[known],
            transformation=transformation,
        )
    except ValueError:
        return None
    hidden = np.ones(len(X), dtype=bool)
    hidden[known] = False
    scale = np.std(X, axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    return np.max(np.abs(recovered - X)[hidden] / scale, axis=1)


def attack_rows(seen: np.ndarray, X: np.ndarray, known: np.ndarray, *, transformation: str = "linear") -> float:
    """Share of the rows unknown to the attacker that messages give back exactly (`row_errors`)."""
    errors = row_errors(seen, X, known, transformation=transformation)
    return 0.0 if errors is None else float(np.mean(errors < EXACT))


def _centre(values: np.ndarray) -> np.ndarray:
    return np.asarray(values, dtype=float) - np.mean(values, axis=0)
