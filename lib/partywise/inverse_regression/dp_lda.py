"""Linear discriminant analysis from the releases of sliced inverse regression with two classes."""

from __future__ import annotations

import numpy as np

from .inversion import invert

__all__ = ["dp_lda"]


def dp_lda(means, second, inversion: str = "floor") -> np.ndarray:
    """Discriminant direction Sigma^(-1) (m_1 - m_0).

    Parameters
    ----------
    means : ndarray of shape (p, 2)
        Merged (released) slice means, columns in the order of the classes 0 and 1; each divided by n.
    second : ndarray of shape (p, p)
        Merged (released) second moment.
    inversion : {"floor", "plain"}
        See `partywise.inverse_regression.inversion.invert`.

    Returns
    -------
    ndarray of shape (p, 1)

    Raises
    ------
    ValueError
        Unless there are exactly two classes.

    Notes
    -----
    Seed 001, example 1 and section 3: post-processing, at no further cost. For classes of equal size and centred
    records it is the direction of sliced inverse regression with H = 2.
    """
    matrix = np.asarray(means, dtype=float)
    if matrix.ndim != 2 or matrix.shape[1] != 2:
        raise ValueError(f"means has shape {matrix.shape}; discriminant analysis needs two classes, shape (p, 2).")
    return invert(second, matrix[:, 1:] - matrix[:, :1], inversion)[0]
