"""What messages of vertical trees give away: labels by the signs of gradients, the order of a column by its indicators.

The source sends gradients of all rows to the owners of columns, and owners return which rows go left of a split (seed
003, "Label-scattering tree-based models"). The functions below are attacks by whoever receives these messages.
"""

import math

import numpy as np

__all__ = ["labels_from_bytes", "labels_from_signs", "order_bits"]


def labels_from_signs(gradients: np.ndarray) -> np.ndarray:
    """Labels (n,) bool of rows by their gradients p - y of the log loss (n,): negative where the label is 1."""
    return np.asarray(gradients) < 0


def labels_from_bytes(rows: np.ndarray, labels: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Labels of all rows by the one bit of their messages that tells known labels best.

    Parameters
    ----------
    rows : ndarray of uint8, shape (n, k)
        What was sent of each row: ciphertexts, or numbers as bytes.
    labels : ndarray of bool, shape (n,)
        Read where they are known only.
    known : ndarray of bool, shape (n,)
        Rows whose labels the attacker has from elsewhere.

    Returns
    -------
    ndarray of bool, shape (n,)
        The more frequent known label for all, unless some bit tells more rows than the best of as many coins would.
    """
    bits = np.unpackbits(rows, axis=1)
    labels, known = np.asarray(labels, dtype=bool), np.asarray(known, dtype=bool)
    right = (bits[known] == labels[known, None]).mean(axis=0)
    best = int(np.argmax(np.abs(right - 0.5)))
    share = labels[known].mean()
    # The largest of so many means of coins exceeds one half by no more, up to a few per cent of the time.
    luck = 0.5 + math.sqrt(math.log(2 * bits.shape[1]) / (2 * known.sum())) + 1 / math.sqrt(known.sum())
    if max(right[best], 1 - right[best]) <= max(luck, share, 1 - share):
        return np.full(len(labels), share >= 0.5)
    return bits[:, best].astype(bool) == (right[best] >= 0.5)


def order_bits(indicators: np.ndarray, n: int) -> np.ndarray:
    """(m, n) bool, whether each of n rows is at most the cut of each split, from packed indicators (m, n / 8) uint8."""
    return np.unpackbits(np.asarray(indicators), axis=1, count=n).astype(bool)
