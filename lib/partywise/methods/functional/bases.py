"""Bases of curves with exact Gram and roughness matrices.

A curve is x(t) = sum_q c_q b_q(t).  Gram M_qr = int b_q b_r dt and penalty Omega_qr = int b_q'' b_r'' dt are
integrals of piecewise polynomials, computed exactly by Gauss-Legendre with degree + 1 nodes a knot span.
The splines are evaluated by the Cox-de Boor recursion in NumPy: importing ``scipy.interpolate`` would cost
every fit job more than the job's own matrices.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

import numpy as np

RELATIVE_DEFINITENESS = 1e-12
# Penalties closer than this share of the largest one count as equal.
DEGENERATE = 1e-9


def check_domain(domain: tuple[float, float]) -> tuple[float, float]:
    """Return the domain as two floats, or raise a named error."""
    try:
        low, high = (float(edge) for edge in domain)
    except (TypeError, ValueError):
        raise ValueError(f"domain is {domain!r}: give two numbers (start, end).") from None
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise ValueError(f"domain is ({low}, {high}): it must be finite and increasing.")
    return low, high


def matrix_power(matrix: np.ndarray, power: float) -> np.ndarray:
    """Symmetric power of a symmetric positive definite matrix."""
    values, vectors = np.linalg.eigh(matrix)
    if not values[0] > RELATIVE_DEFINITENESS * values[-1]:
        raise ValueError(
            f"the Gram matrix is not positive definite (eigenvalues {values[0]:.3g} to {values[-1]:.3g}): "
            "use fewer basis functions or another basis."
        )
    return (vectors * values**power) @ vectors.T


class _Basis:
    """Shared part of both bases: the change between coefficients c and orthonormal coordinates z = M^{1/2} c."""

    gram: np.ndarray
    penalty: np.ndarray

    @cached_property
    def root(self) -> np.ndarray:
        """M^{1/2}, shape (n_basis, n_basis)."""
        return matrix_power(self.gram, 0.5)

    @cached_property
    def inverse_root(self) -> np.ndarray:
        """M^{-1/2}, shape (n_basis, n_basis)."""
        return matrix_power(self.gram, -0.5)


class BSplineBasis(_Basis):
    """Clamped B-splines with equally spaced knots.

    Parameters
    ----------
    domain : (float, float)
        Start and end, in the unit of time of the curves.
    n_basis : int
        Number of basis functions, at least ``degree + 1``.
    degree : int
        Polynomial degree, default 3 (cubic).
    """

    def __init__(self, domain: tuple[float, float], n_basis: int, degree: int = 3) -> None:
        self.domain = check_domain(domain)
        if isinstance(degree, bool) or degree != int(degree) or degree < 0:
            raise ValueError(f"degree is {degree!r}: it must be a non-negative integer.")
        if isinstance(n_basis, bool) or n_basis != int(n_basis) or n_basis < degree + 1:
            raise ValueError(f"n_basis is {n_basis!r}: a basis of degree {degree} needs at least {degree + 1}.")
        self.n_basis, self.degree = int(n_basis), int(degree)
        self.breaks = np.linspace(*self.domain, self.n_basis - self.degree + 1)
        low, high = self.domain
        self.knots = np.concatenate([[low] * self.degree, self.breaks, [high] * self.degree])

    def evaluate(self, t: np.ndarray, derivative: int = 0) -> np.ndarray:
        """Values (or a derivative) of all basis functions at ``t``, shape (len(t), n_basis)."""
        t = np.atleast_1d(np.asarray(t, dtype=float))
        low, high = self.domain
        if not (np.all(t >= low) and np.all(t <= high)):
            raise ValueError(f"t reaches from {t.min()} to {t.max()}: the basis lives on [{low}, {high}].")
        return self._derivative(t, self.degree, derivative)

    def _derivative(self, t: np.ndarray, degree: int, order: int) -> np.ndarray:
        """Functions of a degree on the same knots; derivatives by differences of the lower degree."""
        count = len(self.knots) - degree - 1
        if order > 0:
            if degree == 0:
                return np.zeros((t.size, count))
            lower = self._derivative(t, degree - 1, order - 1)
            return self._combine(lower, degree, np.full(count + 1, float(degree))[None, :], sign=-1.0)
        if degree == 0:
            span = np.searchsorted(self.breaks, t, side="right") - 1 + self.degree
            span = np.clip(span, self.degree, self.n_basis - 1)
            return (np.arange(count)[None, :] == span[:, None]).astype(float)
        lower = self._derivative(t, degree - 1, 0)
        knots = self.knots
        rising = t[:, None] - knots[None, : count + 1]
        width = knots[degree : degree + count + 1] - knots[: count + 1]
        scaled = _safe_divide(lower, width)
        falling = knots[None, degree : degree + count + 1] - t[:, None]
        return rising[:, :count] * scaled[:, :count] + falling[:, 1:] * scaled[:, 1:]

    def _combine(self, lower: np.ndarray, degree: int, factor: np.ndarray, sign: float) -> np.ndarray:
        count = lower.shape[1] - 1
        width = self.knots[degree : degree + count + 1] - self.knots[: count + 1]
        scaled = factor * _safe_divide(lower, width)
        return scaled[:, :count] + sign * scaled[:, 1:]

    @cached_property
    def _quadrature(self) -> tuple[np.ndarray, np.ndarray]:
        nodes, weights = np.polynomial.legendre.leggauss(self.degree + 1)
        half = np.diff(self.breaks)[:, None] / 2
        middle = (self.breaks[:-1] + self.breaks[1:])[:, None] / 2
        return (middle + half * nodes).ravel(), (half * weights).ravel()

    @cached_property
    def gram(self) -> np.ndarray:  # type: ignore[override]
        """M, shape (n_basis, n_basis), unit of time."""
        t, w = self._quadrature
        values = self.evaluate(t)
        return values.T @ (w[:, None] * values)

    @cached_property
    def penalty(self) -> np.ndarray:  # type: ignore[override]
        """Omega of the second derivative in coefficient coordinates, shape (n_basis, n_basis)."""
        return self.roughness(2)

    def roughness(self, order: int) -> np.ndarray:
        """Integrals of products of derivatives of an order, shape (n_basis, n_basis), exact."""
        t, w = self._quadrature
        values = self.evaluate(t, derivative=order)
        return values.T @ (w[:, None] * values)


class FourierBasis(_Basis):
    """Orthonormal Fourier basis: constant, then sine and cosine of each frequency.

    Gram is the identity and the penalty is diag((2 pi k / T)^4); ``n_basis`` must be odd.
    """

    def __init__(self, domain: tuple[float, float], n_basis: int) -> None:
        self.domain = check_domain(domain)
        if isinstance(n_basis, bool) or n_basis != int(n_basis) or n_basis < 1 or n_basis % 2 == 0:
            raise ValueError(f"n_basis is {n_basis!r}: a Fourier basis needs an odd number, such as 15.")
        self.n_basis = int(n_basis)
        self._angular = 2 * np.pi * np.arange(1, self.n_basis // 2 + 1) / (self.domain[1] - self.domain[0])

    def evaluate(self, t: np.ndarray, derivative: int = 0) -> np.ndarray:
        """Values (or a derivative) at ``t``, shape (len(t), n_basis)."""
        t = np.atleast_1d(np.asarray(t, dtype=float)) - self.domain[0]
        length = self.domain[1] - self.domain[0]
        values = np.empty((t.size, self.n_basis))
        values[:, 0] = 1 / np.sqrt(length) if derivative == 0 else 0.0
        phase = t[:, None] * self._angular + derivative * np.pi / 2
        scale = np.sqrt(2 / length) * self._angular**derivative
        values[:, 1::2], values[:, 2::2] = scale * np.sin(phase), scale * np.cos(phase)
        return values

    @cached_property
    def gram(self) -> np.ndarray:  # type: ignore[override]
        """The identity, shape (n_basis, n_basis)."""
        return np.eye(self.n_basis)

    @cached_property
    def penalty(self) -> np.ndarray:  # type: ignore[override]
        """diag((2 pi k / T)^4), shape (n_basis, n_basis)."""
        return self.roughness(2)

    def roughness(self, order: int) -> np.ndarray:
        """Integrals of products of derivatives of an order, shape (n_basis, n_basis): diagonal."""
        return np.diag(np.concatenate([[0.0], np.repeat(self._angular, 2) ** (2 * order)]))


def roughness_directions(basis: BSplineBasis | FourierBasis) -> np.ndarray:
    """Orthonormal directions of a basis as columns, the smoothest (least second-derivative penalty) first.

    Directions of equal penalty (the straight lines of splines, a sine and its cosine) are put in order by their
    first derivative, then by their place in the basis, and the largest entry of each is positive: the directions do
    not depend on the rounding of a linear algebra library.
    """
    directions = np.eye(basis.n_basis)
    clusters = [slice(0, basis.n_basis)]
    place = np.diag(np.arange(basis.n_basis, dtype=float))
    for penalty in (basis.roughness(2), basis.roughness(1), basis.root @ place @ basis.root):
        whitened = basis.inverse_root @ penalty @ basis.inverse_root
        finer = []
        for cluster in clusters:
            part = directions[:, cluster].T @ whitened @ directions[:, cluster]
            values, vectors = np.linalg.eigh((part + part.T) / 2)
            directions[:, cluster] = directions[:, cluster] @ vectors
            gaps = np.flatnonzero(np.diff(values) > DEGENERATE * np.linalg.norm(whitened, 2)) + 1
            edges = [0, *gaps.tolist(), len(values)]
            finer += [slice(cluster.start + i, cluster.start + j) for i, j in pairwise(edges)]
        clusters = finer
    largest = directions[np.argmax(np.abs(directions).round(6), axis=0), np.arange(basis.n_basis)]
    return directions * np.sign(largest)


def make_basis(kind: str, domain: tuple[float, float], n_basis: int) -> BSplineBasis | FourierBasis:
    """The basis of a configuration: ``bspline`` (cubic) or ``fourier``."""
    if kind == "bspline":
        return BSplineBasis(domain, n_basis)
    if kind == "fourier":
        return FourierBasis(domain, n_basis)
    raise ValueError(f"basis is {kind!r}: it must be 'bspline' or 'fourier'.")


def _safe_divide(values: np.ndarray, width: np.ndarray) -> np.ndarray:
    """values / width along the last axis, zero where the knot interval is empty."""
    return values * np.where(width > 0, 1 / np.where(width > 0, width, 1.0), 0.0)
