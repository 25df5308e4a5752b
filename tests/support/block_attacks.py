"""What else scores U_k D_k (n, k) of a block X_k give away, beyond `partywise.audits.attacks.linear_images`: with fewer
known rows than columns, by published correlations, and by the shape of a column."""

from __future__ import annotations

import numpy as np


def candidate_rotations(message: np.ndarray, gram: np.ndarray) -> np.ndarray:
    """The 2^k rotations V' (2^k, k, k) of which one gives X_k = message V' exactly, with no row known.

    Whoever knows X_k'X_k (k, k), of standardised data n - 1 times the correlations, has V_k from its eigenvectors up to
    the sign of each column, where no two eigenvalues agree. One known value then tells the candidates apart.
    """
    axes, vectors = (np.linalg.eigh(product)[1] for product in (message.T @ message, gram))
    k = len(gram)
    patterns = 1.0 - 2.0 * (np.arange(2**k)[:, None] >> np.arange(k) & 1)
    return np.einsum("ij,sj,lj->sil", axes, patterns, vectors)


def candidate_rows(message: np.ndarray, known: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, ...]:
    """All rows (n, k) behind a rotation by m < k known ones (m, k): two candidates for m = k - 1, else the best guess.

    The known rows fix V' on the space that they span; with one fewer than columns a sign is left.
    """
    used = message[known]
    guess = message @ (np.linalg.pinv(used) @ rows)
    if len(used) < message.shape[1] - 1:
        return (guess,)
    # The one direction that no known row has, before and after the rotation.
    before, after = (np.linalg.svd(block)[2][-1] for block in (used, rows))
    rest = np.outer(message @ before, after)
    return guess + rest, guess - rest


def binary_column(
    message: np.ndarray, rng: np.random.Generator, *, starts: int = 40, steps: int = 100
) -> tuple[np.ndarray, float]:
    """A column (n,) of two values, standardised, in the column space of a message, without any known row.

    No distribution has a smaller kurtosis than that of two equally frequent values, so the direction of least kurtosis
    is looked for, its records are parted in two, and the parting is made exact. Beside it the share of its variance
    that the message does not explain: 0, to rounding, where the column was found.
    """
    white = np.linalg.svd(message - message.mean(axis=0), full_matrices=False)[0] * np.sqrt(len(message))
    return min(
        (_two_values(white, _least_kurtosis(white, rng.standard_normal(white.shape[1]), steps)) for _ in range(starts)),
        key=lambda found: found[1],
    )


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
