"""What scores U_k D_k of a party give away: all rows of its block, by few known rows, by its correlations, by shape.

The source sends U_k D_k of X_k = U_k D_k V_k' (seed 004, "Block SVD"), the block up to a rotation.  The functions below
are attacks by whoever receives it; they bound no epsilon, and show why the ledger books such a message as ``Clear``.
"""

from __future__ import annotations

import numpy as np

__all__ = ["binary_column", "candidate_rotations", "candidate_rows", "recover_rows"]

# 2^k rotations of k x k numbers are held at once: 2^12 of them are 4.7 MB, 2^16 would be 134 MB.
MOST_COLUMNS = 16


def recover_rows(message: np.ndarray, known: np.ndarray, rows: np.ndarray, *, law: str = "rotation") -> np.ndarray:
    """All rows of a block from a message that is a linear image of it, and a few rows that the attacker knows.

    Parameters
    ----------
    message : ndarray of shape (n, k)
        U_k D_k, or any basis of the column space of X_k (``column_space``).
    known : ndarray of int of shape (m,)
        Positions of the known rows in the message.
    rows : ndarray of shape (m, p)
        Their values.
    law : {"rotation", "linear", "affine"}
        What links message and data: X = message V' with orthogonal V (U_k D_k of the very data); any linear map (a
        basis of the column space); or a linear map and a shift (U_k D_k of data that the party has standardised by its
        own means and scales; needs one more known row).

    Returns
    -------
    ndarray of shape (n, p)

    Raises
    ------
    ValueError
        If ``law`` is unknown, shapes disagree, or the known rows do not determine the map.
    """
    image, values = np.asarray(message, dtype=float), np.asarray(rows, dtype=float)
    if law not in ("rotation", "linear", "affine"):
        raise ValueError(f"law={law!r} must be 'rotation', 'linear' or 'affine'.")
    if image.ndim != 2 or values.ndim != 2 or len(values) != len(np.atleast_1d(known)):
        raise ValueError(f"message of shape {image.shape}, rows of shape {values.shape}: give (n, k) and one row each.")
    if law == "rotation" and values.shape[1] != image.shape[1]:
        raise ValueError(f"a rotation maps {image.shape[1]} columns to as many, but rows have {values.shape[1]}.")
    if law == "affine":
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
    return image @ (_nearest_rotation(mapping) if law == "rotation" else mapping)


def _nearest_rotation(mapping: np.ndarray) -> np.ndarray:
    left, _, right = np.linalg.svd(mapping)
    return left @ right


def candidate_rotations(message: np.ndarray, gram: np.ndarray) -> np.ndarray:
    """The 2^k rotations V' of which one gives X_k = message V' exactly, with no row known.

    The receiver of U_k D_k knows X_k'X_k as soon as the result of the analysis is published: for standardised data it
    is (n - 1) times the correlation matrix. Its eigenvectors are V_k up to the sign of each column. A single known
    value, the skewness of a column or the sign of one coefficient tells the candidates apart. (The source computes its
    correlations from the messages alone; those are correlations of the rotated columns. With the V_k that the true ones
    need, no pattern is left to guess.)

    Parameters
    ----------
    message : ndarray of shape (n, k)
        U_k D_k.
    gram : ndarray of shape (k, k)
        X_k'X_k.

    Returns
    -------
    ndarray of shape (2^k, k, k)
        ``message @ rotations[s]`` is a candidate for X_k.

    Raises
    ------
    ValueError
        If the shapes disagree, k > 16, ``gram`` is not that of the message up to a rotation, or two of its eigenvalues
        agree (then any rotation within their plane fits).
    """
    image, product = np.asarray(message, dtype=float), np.asarray(gram, dtype=float)
    k = image.shape[-1]
    if image.ndim != 2 or product.shape != (k, k):
        raise ValueError(f"message of shape {image.shape} and gram of shape {product.shape}: give (n, k) and (k, k).")
    if k > MOST_COLUMNS:
        raise ValueError(f"{k} columns have 2^{k} sign patterns; at most {MOST_COLUMNS} columns are enumerated.")
    values, vectors = np.linalg.eigh((product + product.T) / 2)
    if np.any(np.diff(values) <= 1e-9 * values[-1]):
        raise ValueError(
            "gram has equal eigenvalues: its eigenvectors, and with them the candidates, are not determined."
        )
    sizes, axes = np.linalg.eigh(image.T @ image)
    if not np.allclose(sizes, values, rtol=1e-6, atol=1e-9 * values[-1]):
        raise ValueError("gram is not X'X of the block behind this message: their eigenvalues differ.")
    patterns = 1.0 - 2.0 * (np.arange(2**k)[:, None] >> np.arange(k) & 1)
    return np.einsum("ij,sj,lj->sil", axes, patterns, vectors)


def candidate_rows(message: np.ndarray, known: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, ...]:
    """What fewer known rows than columns leave of all rows behind a rotation.

    The known rows fix V' on the space that they span. With one row fewer than columns a sign is left, and the answer is
    one of two; with still fewer the part in that space is the best guess.

    Parameters
    ----------
    message : ndarray of shape (n, k)
        U_k D_k.
    known : ndarray of int of shape (m,)
        Positions of the known rows, m < k, of full rank.
    rows : ndarray of shape (m, k)
        Their values.

    Returns
    -------
    tuple of ndarray of shape (n, k)
        Two for m = k - 1, else one.

    Raises
    ------
    ValueError
        If m is not below k, or the known rows are linearly dependent.
    """
    image, values = np.asarray(message, dtype=float), np.asarray(rows, dtype=float)
    k, m = image.shape[1], len(np.atleast_1d(known))
    used = image[np.atleast_1d(known)]
    if m >= k or values.shape != used.shape:
        raise ValueError(f"rows has shape {values.shape} for {k} columns: give fewer rows, or use recover_rows.")
    if np.linalg.matrix_rank(used) < m:
        raise ValueError(f"the {m} known rows are linearly dependent: give different rows.")
    guess = image @ (np.linalg.pinv(used) @ values)
    if m < k - 1:
        return (guess,)
    # The one direction that no known row has, before and after the rotation.
    before, after = (np.linalg.svd(block)[2][-1] for block in (used, values))
    rest = np.outer(image @ before, after)
    return guess + rest, guess - rest


def binary_column(
    message: np.ndarray, rng: np.random.Generator, *, starts: int = 40, steps: int = 100
) -> tuple[np.ndarray, float]:
    """A column of two values that lies in the column space of a message, without any known row.

    No law has a smaller kurtosis than that of two equally frequent values, so the direction of least kurtosis is looked
    for, its records are parted in two, and the parting is made exact: a column of two values is one that a regression
    on the message fits without error.

    Parameters
    ----------
    message : ndarray of shape (n, k)
        U_k D_k, or any basis of the column space, of full rank.
    rng : numpy.random.Generator
        Draws the directions from which the search starts.
    starts, steps : int

    Returns
    -------
    column : ndarray of shape (n,)
        With mean 0 and variance 1; its sign is not determined.
    residual : float
        Share of its variance that the message does not explain: 0, to rounding, where the column was found.

    Raises
    ------
    ValueError
        If the message is no matrix of full column rank with more rows than columns.
    """
    image = np.asarray(message, dtype=float)
    if image.ndim != 2 or len(image) <= image.shape[1] + 1:
        raise ValueError(f"message of shape {image.shape}: give (n, k) with more rows than columns.")
    left, values, _ = np.linalg.svd(image - image.mean(axis=0), full_matrices=False)
    if values[-1] <= 1e-10 * values[0]:
        raise ValueError("the columns of the message are linearly dependent: leave some out.")
    white = left * np.sqrt(len(image))
    best = min(
        (_two_values(white, _least_kurtosis(white, rng.standard_normal(white.shape[1]), steps)) for _ in range(starts)),
        key=lambda found: found[1],
    )
    return best


def _least_kurtosis(white: np.ndarray, direction: np.ndarray, steps: int) -> np.ndarray:
    """Values (n,) along a direction of locally least kurtosis, by fixed-point steps."""
    direction = direction / np.linalg.norm(direction)
    for _ in range(steps):
        projected = white @ direction
        following = 3 * direction - white.T @ projected**3 / len(white)
        following /= np.linalg.norm(following)
        still = abs(following @ direction) > 1 - 1e-12
        direction = following
        if still:
            break
    return white @ direction


def _two_values(white: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, float]:
    """The two-valued column nearest to some values, and what the message leaves of it."""
    labels = values > 0
    for _ in range(20):
        column = labels - labels.mean()
        fitted = white @ (white.T @ column) / len(white)
        middle = (fitted[labels].mean() + fitted[~labels].mean()) / 2 if 0 < labels.sum() < len(labels) else 0.0
        if np.array_equal(fitted > middle, labels):
            break
        labels = fitted > middle
    column = labels - labels.mean()
    size = float(column @ column)
    if not size:
        return values, 1.0
    rest = column - white @ (white.T @ column) / len(white)
    return column / np.sqrt(size / len(column)), float(rest @ rest) / size
