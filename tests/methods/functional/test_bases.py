"""Bases: values, Gram and roughness matrices against scipy; the geometry table of the study; named errors."""

import itertools

import numpy as np
import pytest
from scipy.integrate import fixed_quad
from scipy.interpolate import BSpline

from partywise.methods.functional.bases import BSplineBasis, FourierBasis, make_basis, matrix_power

DOMAINS = [(0.0, 1.0), (0.0, 100.0), (-3.0, 5.5)]
SIZES = [(1, 2), (1, 7), (2, 6), (3, 4), (3, 5), (3, 15), (3, 30), (4, 5), (5, 12)]


def scipy_splines(basis: BSplineBasis) -> list[BSpline]:
    return [BSpline(basis.knots, row, basis.degree) for row in np.eye(basis.n_basis)]


def scipy_matrix(basis: BSplineBasis, order: int) -> np.ndarray:
    """int b_q^(order) b_r^(order) dt, by 12-point Gauss quadrature on each knot span of scipy's own splines."""
    functions = [spline.derivative(order) if order else spline for spline in scipy_splines(basis)]

    def products(t: np.ndarray) -> np.ndarray:
        values = np.stack([f(t) for f in functions])
        return values[:, None, :] * values[None, :, :]

    breaks = np.unique(basis.knots)
    return sum(fixed_quad(products, a, b, n=12)[0] for a, b in itertools.pairwise(breaks))


def close(left: np.ndarray, right: np.ndarray, tolerance: float = 1e-12) -> None:
    scale = np.abs(right).max()
    assert scale > 0
    assert np.abs(left - right).max() <= tolerance * scale


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize(("degree", "n_basis"), SIZES)
def test_values_and_derivatives_match_scipy(domain, degree, n_basis):
    basis = BSplineBasis(domain, n_basis, degree)
    inside = np.random.default_rng(1).uniform(*domain, 200)
    points = np.concatenate([inside, basis.breaks, domain])
    close(basis.evaluate(points), np.column_stack([f(points) for f in scipy_splines(basis)]))
    np.testing.assert_allclose(basis.evaluate(points).sum(1), 1, rtol=0, atol=1e-13)
    for order in range(1, degree):
        expected = np.column_stack([f.derivative(order)(inside) for f in scipy_splines(basis)])
        close(basis.evaluate(inside, order), expected)


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize(("degree", "n_basis"), SIZES)
def test_gram_and_penalty_match_independent_quadrature(domain, degree, n_basis):
    basis = BSplineBasis(domain, n_basis, degree)
    close(basis.gram, scipy_matrix(basis, 0))
    if degree >= 2:
        close(basis.penalty, scipy_matrix(basis, 2))
        line = basis.evaluate(np.linspace(*domain, 3 * n_basis))
        straight = np.linalg.lstsq(line, np.linspace(*domain, 3 * n_basis), rcond=None)[0]
        roughness = straight @ basis.penalty @ straight
        assert abs(roughness) <= 1e-10 * np.linalg.norm(basis.penalty, 2) * (straight @ straight)
    else:
        assert not basis.penalty.any()


def test_derivatives_beyond_the_degree_are_zero():
    assert not BSplineBasis((0, 1), 6, 2).evaluate(np.linspace(0, 1, 9), derivative=3).any()


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("n_basis", [1, 3, 15])
def test_fourier_is_orthonormal_with_diagonal_penalty(domain, n_basis):
    basis = FourierBasis(domain, n_basis)
    assert np.array_equal(basis.gram, np.eye(n_basis))
    nodes, weights = np.polynomial.legendre.leggauss(120)
    half = (domain[1] - domain[0]) / 2
    t, w = domain[0] + half * (nodes + 1), half * weights
    values = basis.evaluate(t)
    close(values.T @ (w[:, None] * values), np.eye(n_basis))
    frequency = 2 * np.pi * np.repeat(np.arange(n_basis // 2 + 1), 2)[1:] / (2 * half)
    np.testing.assert_allclose(np.diag(basis.penalty), frequency**4, rtol=1e-13, atol=0)
    if n_basis > 1:
        curved = basis.evaluate(t, derivative=2)
        close(curved.T @ (w[:, None] * curved), basis.penalty)
        step = 1e-5 * half
        middle = t[40:80]
        slope = (basis.evaluate(middle + step) - basis.evaluate(middle - step)) / (2 * step)
        np.testing.assert_allclose(basis.evaluate(middle, 1), slope, atol=1e-6 * np.abs(slope).max())


@pytest.mark.parametrize("kind", ["bspline", "fourier"])
@pytest.mark.parametrize("domain", DOMAINS)
def test_orthonormal_coordinates_keep_the_norm_of_the_curve(kind, domain):
    basis = make_basis(kind, domain, 9)
    c = np.random.default_rng(2).standard_normal(9)
    nodes, weights = np.polynomial.legendre.leggauss(64)
    breaks = getattr(basis, "breaks", np.linspace(*domain, 5))
    norm = 0.0
    for low, high in itertools.pairwise(breaks):
        t = low + (high - low) / 2 * (nodes + 1)
        norm += (high - low) / 2 * weights @ (basis.evaluate(t) @ c) ** 2
    assert np.sum((basis.root @ c) ** 2) == pytest.approx(norm, rel=1e-12)
    np.testing.assert_allclose(basis.root @ basis.inverse_root, np.eye(9), atol=1e-11)


@pytest.mark.parametrize(
    ("n_basis", "unit", "hundred", "ratio_unit", "ratio_hundred"),
    [
        (8, ".006087", ".6087", "2.70e4", "2.70"),
        (15, ".003048", ".3048", "1.08e5", "10.8"),
        (20, ".002184", ".2184", "2.097e5", "20.97"),
    ],
)
def test_geometry_table(n_basis, unit, hundred, ratio_unit, ratio_hundred):
    """Least eigenvalue of the Gram matrix; the noise N(0, s^2 M) on c costs 1 / lambda_min^2 of its nominal rho."""
    for domain, least, ratio in (((0, 1), unit, ratio_unit), ((0, 100), hundred, ratio_hundred)):
        gram = BSplineBasis(domain, n_basis).gram
        value = np.linalg.eigvalsh(gram)[0]
        assert f"{value:.4g}" == f"{float(least):.4g}"
        # sup over ||d||_M = 2S of the Mahalanobis length of d under Sigma = s^2 M, by whitening: no formula reused.
        root = matrix_power(gram, -0.5)
        worst = np.linalg.norm(root @ matrix_power(gram, -1.0) @ root, 2)
        digits = len(ratio.split("e")[0].replace(".", ""))
        assert f"{worst:.{digits}g}" == f"{float(ratio):.{digits}g}"
        assert worst == pytest.approx(1 / value**2, rel=1e-9)


def test_stretching_the_domain_scales_gram_and_penalty():
    short, long = BSplineBasis((0, 1), 15), BSplineBasis((0, 100), 15)
    close(long.gram, 100 * short.gram)
    close(long.penalty, short.penalty / 100**3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BSplineBasis((0, 1), 3), r"n_basis is 3: a basis of degree 3 needs at least 4"),
        (lambda: BSplineBasis((0, 1), 2, degree=2), r"n_basis is 2: a basis of degree 2 needs at least 3"),
        (lambda: BSplineBasis((0, 1), 5.5), r"n_basis is 5.5"),
        (lambda: BSplineBasis((0, 1), 5, degree=-1), r"degree is -1: it must be a non-negative integer"),
        (lambda: BSplineBasis((0, 1), 5, degree=1.5), r"degree is 1.5: it must be a non-negative integer"),
        (lambda: FourierBasis((0, 1), 8), r"n_basis is 8: a Fourier basis needs an odd number"),
        (lambda: FourierBasis((0, 1), 0), r"n_basis is 0: a Fourier basis needs an odd number"),
        (lambda: BSplineBasis((1, 1), 8), r"domain is \(1.0, 1.0\): it must be finite and increasing"),
        (lambda: BSplineBasis((2, 1), 8), r"domain is \(2.0, 1.0\): it must be finite and increasing"),
        (lambda: FourierBasis((0, np.inf), 9), r"domain is \(0.0, inf\): it must be finite and increasing"),
        (lambda: FourierBasis((np.nan, 1), 9), r"domain is \(nan, 1.0\): it must be finite and increasing"),
        (lambda: BSplineBasis("ab", 8), r"domain is 'ab': give two numbers"),
        (lambda: BSplineBasis(3, 8), r"domain is 3: give two numbers"),
        (lambda: make_basis("wavelet", (0, 1), 8), r"basis is 'wavelet': it must be 'bspline' or 'fourier'"),
        (
            lambda: BSplineBasis((0, 1), 8).evaluate([1.1]),
            r"t reaches from 1.1 to 1.1: the basis lives on",
        ),
        (lambda: BSplineBasis((0, 1), 8).evaluate([np.nan]), r"t reaches from nan to nan"),
        (
            lambda: matrix_power(np.diag([1.0, 1e-12]), 0.5),
            r"the Gram matrix is not positive definite \(eigenvalues 1e-12 to 1\): use fewer basis functions",
        ),
        (lambda: matrix_power(np.diag([1.0, -0.5]), 0.5), r"not positive definite \(eigenvalues -0.5 to 1\)"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_gram_just_above_the_tolerance_is_accepted():
    root = matrix_power(np.diag([1.0, 1.1e-12]), 0.5)
    np.testing.assert_allclose(np.diag(root) ** 2, [1.0, 1.1e-12], rtol=1e-9)
