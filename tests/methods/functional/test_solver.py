"""The exact solver against the dense Kronecker system, its residual, its edge cases and its named errors."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from functional_reference import dense_block_solve, second_difference_penalty, solve_kronecker
from partywise.methods.functional.bases import BSplineBasis, FourierBasis
from partywise.methods.functional.options import CurvePublishedOptions
from partywise.methods.functional.solver import (
    KroneckerSolver,
    PenalizedSolver,
    check_penalty,
    diagonalize,
    solve_penalized,
    spectral_scale,
)
from protocol_driver import run

LAMBDAS = list(itertools.product((0.0, 0.7), (0.0, 0.3), (0.0, 1.9)))
SHAPES = [(2, 2), (2, 9), (3, 4), (5, 5), (8, 3), (13, 13), (20, 20), (30, 7), (30, 30)]
TOLERANCE = 1e-10


def random_spd(rng: np.random.Generator, size: int) -> np.ndarray:
    """A random symmetric positive definite matrix with condition number of some hundreds."""
    rotation = np.linalg.qr(rng.standard_normal((size, size)))[0]
    return (rotation * np.geomspace(0.02, 5.0, size)) @ rotation.T


def relative(difference: np.ndarray, scale: np.ndarray) -> float:
    return float(np.linalg.norm(difference) / np.linalg.norm(scale))


def residual(G, B, R, omega_x, omega_y, lambdas) -> float:
    lambda_s, lambda_t, lambda_st = lambdas
    left = G @ B + lambda_s * omega_x @ B + lambda_t * B @ omega_y + lambda_st * omega_x @ B @ omega_y
    return relative(left - R, R)


def whitened(basis) -> np.ndarray:
    omega = basis.inverse_root @ basis.penalty @ basis.inverse_root
    return spectral_scale((omega + omega.T) / 2)


@pytest.mark.parametrize("lambdas", LAMBDAS)
@pytest.mark.parametrize(("q", "qy"), SHAPES)
def test_agrees_with_the_kronecker_system(q, qy, lambdas):
    rng = np.random.default_rng([q, qy])
    G, R = random_spd(rng, q), rng.standard_normal((q, qy))
    omega_x, omega_y = second_difference_penalty(q), second_difference_penalty(qy)
    B = solve_penalized(G, R, omega_x, omega_y, *lambdas)
    dense = solve_kronecker(G, R, omega_x, omega_y, lambdas, h_ridge=0.0)
    assert relative(B - dense, dense) <= TOLERANCE
    assert residual(G, B, R, omega_x, omega_y, lambdas) <= TOLERANCE


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    q=st.integers(2, 9),
    qy=st.integers(1, 7),
    rank_x=st.integers(0, 9),
    rank_y=st.integers(0, 7),
    lambdas=st.tuples(*[st.sampled_from([0.0, 1e-6, 1e-2, 1.0, 50.0])] * 3),
)
def test_any_semidefinite_penalty_and_any_weights(seed, q, qy, rank_x, rank_y, lambdas):
    rng = np.random.default_rng(seed)
    G, R = random_spd(rng, q), rng.standard_normal((q, qy))
    roots = rng.standard_normal((q, min(rank_x, q))), rng.standard_normal((qy, min(rank_y, qy)))
    omega_x, omega_y = (spectral_scale(root @ root.T) for root in roots)
    B = solve_penalized(G, R, omega_x, omega_y, *lambdas)
    assert residual(G, B, R, omega_x, omega_y, lambdas) <= TOLERANCE
    assert relative(B - dense_block_solve(G, R, omega_x, omega_y, lambdas), B) <= TOLERANCE


@pytest.mark.parametrize("lambdas", LAMBDAS)
@pytest.mark.parametrize("n_basis", [5, 15, 25])
@pytest.mark.parametrize("make", [BSplineBasis, FourierBasis])
def test_the_penalties_of_the_bases(make, n_basis, lambdas):
    rng = np.random.default_rng(n_basis)
    omega = whitened(make((0, 100), n_basis))
    G, R = random_spd(rng, n_basis), rng.standard_normal((n_basis, n_basis))
    B = solve_penalized(G, R, omega, omega, *lambdas)
    dense = solve_kronecker(G, R, omega, omega, lambdas, h_ridge=0.0)
    assert relative(B - dense, dense) <= TOLERANCE
    assert residual(G, B, R, omega, omega, lambdas) <= TOLERANCE


def test_one_factorisation_serves_many_right_hand_sides():
    rng = np.random.default_rng(5)
    G, omega_x, omega_y = random_spd(rng, 6), second_difference_penalty(6), second_difference_penalty(4)
    solver = PenalizedSolver(G, omega_x, omega_y, (0.1, 0.2, 0.3))
    left, right = rng.standard_normal((2, 6, 4))
    assert np.array_equal(solver.solve(left), solve_penalized(G, left, omega_x, omega_y, 0.1, 0.2, 0.3))
    combined = solver.solve(2 * left - 3 * right)
    assert relative(combined - (2 * solver.solve(left) - 3 * solver.solve(right)), combined) <= 1e-13


def test_the_ridge_of_the_source_is_the_only_difference():
    rng = np.random.default_rng(6)
    G, omega_x, omega_y = random_spd(rng, 5), second_difference_penalty(5), second_difference_penalty(4)
    R, lambdas = rng.standard_normal((5, 4)), (0.1, 0.2, 0.3)
    ridged = solve_kronecker(G, R, omega_x, omega_y, lambdas, h_ridge=0.25)
    shifted = solve_penalized(G + 0.25 * np.eye(5), R, omega_x, omega_y, *lambdas)
    assert relative(ridged - shifted, shifted) <= TOLERANCE


def test_the_source_solves_an_indefinite_system_where_the_exact_solver_names_it():
    G, R, zero = np.diag([1.0, -2.0]), np.array([[1.0, 2.0], [3.0, 4.0]]), np.zeros((2, 2))
    B = solve_kronecker(G, R, zero, zero, (0.0, 0.0, 0.0), h_ridge=0.0)
    np.testing.assert_allclose(B, [[1.0, 2.0], [-1.5, -2.0]], rtol=1e-14)
    with pytest.raises(ValueError, match=r"not positive definite \(least eigenvalue -2\): project G or raise lambda_s"):
        solve_penalized(G, R, zero, zero, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("lambdas", LAMBDAS)
@pytest.mark.parametrize(("q", "qy"), [(2, 9), (5, 5), (13, 13), (30, 7)])
def test_the_published_solver_is_exact_too(q, qy, lambdas):
    rng = np.random.default_rng([q, qy])
    G, sides = random_spd(rng, q), rng.standard_normal((3, q, qy))
    omega_x, omega_y = second_difference_penalty(q), second_difference_penalty(qy)
    system = KroneckerSolver(G, omega_x, omega_y, lambdas)
    exact = np.stack([solve_penalized(G, R, omega_x, omega_y, *lambdas) for R in sides])
    assert relative(system.solve(sides) - exact, exact) <= 2e-9 and not system.fell_back
    # The ridge is a share of the mean of the diagonal: a large one is seen.
    ridged = KroneckerSolver(G, omega_x, omega_y, lambdas, h_ridge=0.1).solve(sides)
    assert relative(ridged - exact, exact) > 1e-3


def test_the_published_solver_falls_back_where_there_is_no_cholesky_factor():
    G, R, zero = np.diag([1.0, -2.0]), np.array([[1.0, 2.0], [3.0, 4.0]]), np.zeros((2, 2))
    system = KroneckerSolver(G, zero, zero, (0.0, 0.0, 0.0))
    assert system.fell_back
    np.testing.assert_allclose(system.solve(R), [[1.0, 2.0], [-1.5, -2.0]], rtol=1e-14)
    assert not KroneckerSolver(G, 3 * np.eye(2), zero, (1.0, 0.0, 0.0)).fell_back
    with pytest.raises(ValueError, match="the system of all coefficients is singular: raise lambda_s or h_ridge"):
        KroneckerSolver(np.diag([1.0, 0.0]), zero, zero, (0.0, 0.0, 0.0))


@pytest.mark.parametrize("learner", ["predictor", "party"])
@pytest.mark.parametrize("stop", ["cv_published", "aic_train_dp"])
def test_both_solvers_walk_the_same_published_path(learner, stop):
    one, other = (
        run(CurvePublishedOptions(solver=solver, learner=learner, stop=stop, lambda_st=0.1)).estimate
        for solver in ("diagonal", "kronecker")
    )
    assert one.numbers["steps"] == other.numbers["steps"] > 1
    assert relative(one.operators - other.operators, one.operators) < 1e-7
    assert one.numbers["solver_fallbacks"] is None and other.numbers["solver_fallbacks"] == 0


def test_fallbacks_of_the_published_solver_are_counted():
    """Without a stabiliser moments less their noise are indefinite; the diagonal solver names them."""
    bare = {"stabiliser": "none", "s": 30.0, "lambda_s": 0.0, "max_steps": 2, "min_steps": 1}
    fallbacks = [
        run(CurvePublishedOptions(solver="kronecker", **bare | {"lambda_s": weight})).scalars["solver_fallbacks"]
        for weight in (0.0, 1.0)
    ]
    assert 1 <= fallbacks[0] <= 4 and fallbacks[1] <= fallbacks[0]
    with pytest.raises(ValueError, match="stabiliser is 'none': the covariance of predictors"):
        run(CurvePublishedOptions(**bare))


def test_a_penalty_can_make_a_singular_covariance_solvable():
    G, R = np.diag([1.0, 0.0]), np.ones((2, 3))
    omega_x, omega_y = np.diag([0.0, 1.0]), second_difference_penalty(3)
    B = solve_penalized(G, R, omega_x, omega_y, 0.5, 0.0, 0.0)
    np.testing.assert_allclose(B, [[1.0] * 3, [2.0] * 3], rtol=1e-14)


def test_diagonalisation_distribution_and_batches():
    rng = np.random.default_rng(7)
    a = np.stack([random_spd(rng, 6) for _ in range(3)])
    mixed = 0.2 * np.eye(6) + 0.5 * second_difference_penalty(6)
    W, kappa = diagonalize(a, mixed)
    for k in range(3):
        np.testing.assert_allclose(W[k].T @ a[k] @ W[k], np.eye(6), atol=1e-11)
        np.testing.assert_allclose(W[k].T @ mixed @ W[k], np.diag(kappa[k]), atol=1e-11 * kappa[k].max())
        alone = diagonalize(a[k], mixed)[1]
        np.testing.assert_allclose(kappa[k], alone, rtol=1e-12)


def test_spectral_scaling():
    omega = 7.0 * second_difference_penalty(6)
    assert np.linalg.eigvalsh(spectral_scale(omega))[-1] == pytest.approx(1.0, rel=1e-14)
    assert not spectral_scale(np.zeros((3, 3))).any()


def test_check_penalty_accepts_rounding_and_returns_the_symmetric_part():
    omega = second_difference_penalty(5)
    crooked = omega + 1e-12 * np.triu(np.ones((5, 5)))
    checked = check_penalty("omega_x", crooked, 5)
    assert np.array_equal(checked, checked.T)
    np.testing.assert_allclose(checked, omega, atol=1e-11)
    assert not check_penalty("omega_x", np.zeros((5, 5)), 5).any()


SPD, FLAT, ONES = np.eye(3), np.zeros((3, 3)), np.ones((3, 3))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.ones((2, 3)), ONES, FLAT, FLAT, 0, 0, 0), r"G has shape \(2, 3\): it must be square"),
        ((np.ones(3), ONES, FLAT, FLAT, 0, 0, 0), r"G has shape \(3,\): it must be square"),
        ((np.full((3, 3), np.nan), ONES, FLAT, FLAT, 0, 0, 0), r"G holds non-finite values: check the curves"),
        ((SPD, np.ones((2, 3)), FLAT, FLAT, 0, 0, 0), r"R has shape \(2, 3\): it must be \(3, 3\)"),
        ((SPD, ONES, np.zeros((2, 2)), FLAT, 0, 0, 0), r"omega_x has shape \(2, 2\): it must be \(3, 3\)"),
        ((SPD, ONES, FLAT, np.zeros((3, 2)), 0, 0, 0), r"omega_y has shape \(3, 2\): it must be \(3, 3\)"),
        ((SPD, ONES, np.triu(ONES), FLAT, 0, 0, 0), r"omega_x is not symmetric: give \(O \+ O'\) / 2"),
        ((SPD, ONES, FLAT, np.triu(ONES), 0, 0, 0), r"omega_y is not symmetric"),
        ((SPD, ONES, np.diag([1.0, 1.0, -0.1]), FLAT, 0, 0, 0), r"omega_x is not positive semidefinite .*-0.1\)"),
        ((SPD, ONES, FLAT, -SPD, 0, 0, 0), r"omega_y is not positive semidefinite .*-1\): repair the penalty"),
        ((SPD, ONES, FLAT * np.nan, FLAT, 0, 0, 0), r"omega_x holds non-finite values: give a finite penalty"),
        ((SPD, ONES, FLAT, FLAT, -1e-9, 0, 0), r"lambda_s is -1e-09: a penalty weight must be finite and at least 0"),
        ((SPD, ONES, FLAT, FLAT, 0, -2.0, 0), r"lambda_t is -2.0: a penalty weight must be"),
        ((SPD, ONES, FLAT, FLAT, 0, 0, np.inf), r"lambda_st is inf: a penalty weight must be finite"),
        ((SPD, ONES, FLAT, FLAT, np.nan, 0, 0), r"lambda_s is nan: a penalty weight must be finite"),
        ((FLAT, ONES, FLAT, FLAT, 1.0, 0, 0), r"not positive definite \(least eigenvalue 0\)"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        solve_penalized(*arguments)
