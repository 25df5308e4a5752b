"""Symmetric matrices as vectors of the same length, and what noise on them is cut back to.

The vector is the diagonal, then sqrt(2) times the upper triangle.

The l2 norm of the vector is the Frobenius norm of the matrix. Independent noise on the vector therefore meets a
Frobenius sensitivity exactly, and gives off-diagonal entries half the variance of the diagonal.
"""

from functools import cache

import numpy as np


def to_triangle(matrix: np.ndarray) -> np.ndarray:
    """Diagonal of a symmetric matrix of shape (q, q), then its upper triangle, as they are; shape (q (q + 1) / 2,)."""
    return np.asarray(matrix)[_triangle(len(matrix))]


def from_triangle(entries: np.ndarray, size: int) -> np.ndarray:
    """Inverse of `to_triangle`: the symmetric matrix of shape (size, size)."""
    return entries[_places(size)]


def to_vector(matrix: np.ndarray) -> np.ndarray:
    """Isometric vector of a symmetric matrix of shape (q, q); shape (q (q + 1) / 2,)."""
    return to_triangle(matrix) * _roots(len(matrix))


def to_matrix(vector: np.ndarray, size: int) -> np.ndarray:
    """Inverse of `to_vector`: the symmetric matrix of shape (size, size)."""
    return from_triangle(vector / _roots(size), size)


def outer_vectors(records: np.ndarray) -> np.ndarray:
    """Isometric vector of v v' of each record v: shape (n, q (q + 1) / 2) of records (n, q)."""
    rows, columns = _triangle(records.shape[1])
    return records[:, rows] * records[:, columns] * _roots(records.shape[1])


def nearest_semidefinite(matrix: np.ndarray) -> np.ndarray:
    """The nearest positive semi-definite matrix to a symmetric one in Frobenius norm: negative eigenvalues become 0."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(values, 0.0)) @ vectors.T


@cache
def _triangle(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the entries of a triangle."""
    rows, columns = np.triu_indices(size, 1)
    return _read_only(np.concatenate([np.arange(size), rows])), _read_only(np.concatenate([np.arange(size), columns]))


@cache
def _places(size: int) -> np.ndarray:
    """Places of the entries of a matrix in its triangle, shape (size, size)."""
    places, (rows, columns) = np.empty((size, size), dtype=np.intp), _triangle(size)
    places[rows, columns] = places[columns, rows] = np.arange(len(rows))
    return _read_only(places)


@cache
def _roots(size: int) -> np.ndarray:
    """Lengths in the vector of entries of the triangle: 1 on the diagonal, sqrt(2) above it."""
    return _read_only(np.repeat([1.0, np.sqrt(2)], [size, size * (size - 1) // 2]))


def _read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array
