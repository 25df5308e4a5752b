"""Symmetric matrices as vectors of the same length, and what noise on them is cut back to.

The vector is the diagonal, then sqrt(2) times the upper triangle.

The l2 norm of the vector is the Frobenius norm of the matrix. Independent noise on the vector therefore meets a
Frobenius sensitivity exactly, and gives off-diagonal entries half the variance of the diagonal.
"""

from functools import cache

import numpy as np


def to_triangle(matrix: np.ndarray) -> np.ndarray:
    """Diagonal of a symmetric matrix of shape (q, q), then its upper triangle, as they are; shape (q (q + 1) / 2,)."""
    return np.concatenate([np.diagonal(matrix), matrix[_upper(len(matrix))]])


def from_triangle(entries: np.ndarray, size: int) -> np.ndarray:
    """Inverse of `to_triangle`: the symmetric matrix of shape (size, size)."""
    rows, columns = _upper(size)
    matrix = np.empty((size, size))
    matrix[rows, columns] = matrix[columns, rows] = entries[size:]
    np.fill_diagonal(matrix, entries[:size])
    return matrix


def to_vector(matrix: np.ndarray) -> np.ndarray:
    """Isometric vector of a symmetric matrix of shape (q, q); shape (q (q + 1) / 2,)."""
    vector = to_triangle(matrix).astype(float)
    vector[len(matrix) :] *= np.sqrt(2)
    return vector


def to_matrix(vector: np.ndarray, size: int) -> np.ndarray:
    """Inverse of `to_vector`: the symmetric matrix of shape (size, size)."""
    return from_triangle(np.concatenate([vector[:size], vector[size:] / np.sqrt(2)]), size)


def nearest_semidefinite(matrix: np.ndarray) -> np.ndarray:
    """The nearest positive semi-definite matrix to a symmetric one in Frobenius norm: negative eigenvalues become 0."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(values, 0.0)) @ vectors.T


@cache
def _upper(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns above the diagonal."""
    rows, columns = np.triu_indices(size, 1)
    rows.flags.writeable = columns.flags.writeable = False
    return rows, columns
