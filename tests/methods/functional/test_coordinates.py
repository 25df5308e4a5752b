"""Working coordinates: the same operator whatever the coordinates, and penalties that are what they say."""

from dataclasses import replace

import numpy as np
import pytest

from partywise.core.randomness import stream
from partywise.methods.functional.bases import BSplineBasis, FourierBasis, roughness_directions
from partywise.methods.functional.coordinates import make_coordinates
from partywise.methods.functional.model import BasisSpec, CurveEstimate, CurveFacts
from partywise.methods.functional.options import CentralOptions, LocalOptions
from partywise.privacy.statistics.geometry import Ball, mahalanobis
from protocol_driver import SMALL, make_data, run


def public(kind="bspline", domain=(0.0, 1.0), q=8, p=3):
    basis = BasisSpec(kind, domain, q)
    return CurveFacts(basis, basis, np.full(p, 4.0), 5.0, tuple(f"x{j}" for j in range(p)))


BASES = [("bspline", (0.0, 1.0), 8), ("bspline", (0.0, 100.0), 12), ("fourier", (0.0, 24.0), 9)]


@pytest.mark.parametrize(("kind", "domain", "q"), BASES)
def test_raw_and_orthonormal_operators_predict_the_same_curves(kind, domain, q):
    rng = stream(1, kind, q)
    shared = public(kind, domain, q)
    raw = make_coordinates(shared, 3, coordinates="raw")
    X, W = rng.standard_normal((10, 3, q)), rng.standard_normal((3, q, q))
    # Raw: coefficients in, coefficients out; then orthonormal coordinates of the fitted curve.
    coefficients = np.einsum("npq,pqr->nr", raw.predictors(X), W)
    wanted = coefficients @ raw.from_y.T
    found = np.einsum("npq,pqr->nr", X, raw.operators(W.reshape(3 * q, q)))
    assert np.abs(found - wanted).max() < 1e-9 * np.abs(wanted).max()  # the roots have condition numbers up to 30
    assert np.allclose(raw.response(X[:, 0]) @ raw.from_y.T, X[:, 0], atol=1e-10)
    assert np.allclose(raw.back_x(raw.predictors(X)), X, atol=1e-10)


@pytest.mark.parametrize(("kind", "domain", "q"), BASES)
def test_norms_and_noises_are_those_of_the_curves(kind, domain, q):
    shared = public(kind, domain, q)
    basis = shared.basis_x.build()
    raw, white = (make_coordinates(shared, 3, coordinates=c) for c in ("raw", "orthonormal"))
    z = stream(2, kind, q).standard_normal((5, q))
    c = raw.predictors(z)
    assert np.allclose(np.einsum("na,ab,nb->n", c, raw.gram, c), np.sum(z**2, axis=1), rtol=1e-9)
    assert np.array_equal(white.predictors(z), z) and white.orthonormal
    assert raw.orthonormal == (kind == "fourier")
    # One noise in two coordinates has one covariance: z = M^{1/2} c.
    for name in ("white_noise", "gram_noise"):
        there = basis.root @ getattr(raw, name) @ basis.root
        assert np.allclose(there, getattr(white, name), atol=1e-9 * np.abs(getattr(white, name)).max())
    # The worst pair: 2 S / s for white noise in any coordinates, 2 S / (s lambda_min) for the published noise.
    least = np.linalg.eigvalsh(basis.gram)[0]
    for coordinates in (raw, white):
        ball = Ball(2 * 4.0, coordinates.gram)
        assert mahalanobis(ball, 0.25 * coordinates.white_noise) == pytest.approx(16.0, rel=1e-10)
        assert mahalanobis(ball, 0.25 * coordinates.gram_noise) == pytest.approx(16.0 / least, rel=1e-9)


def test_unpenalised_fits_agree_across_coordinates():
    """Without penalties neither the joint solution nor that of a block depends on the coordinates."""
    free = {"noise": "none", "lambda_s": 0.0, "lambda_t": 0.0}
    for options in (CentralOptions(**free), LocalOptions(**free, max_steps=1)):
        white, raw = (run(replace(options, coordinates=c)).estimate for c in ("orthonormal", "raw"))
        assert np.array_equal(white.selected_predictors, raw.selected_predictors)
        # A ridge of 1e-8 of the mean variance, seen through a Gram matrix of condition number about 100.
        assert np.abs(white.operators - raw.operators).max() < 1e-5


def test_directions_keep_the_smoothest_part_of_a_curve():
    shared = public(q=8)
    basis = shared.basis_x.build()
    for r in (1, 2, 5, 8):
        reduced = make_coordinates(shared, 3, directions=r)
        assert reduced.to_x.shape == (r, 8) and np.allclose(reduced.to_x @ reduced.to_x.T, np.eye(r), atol=1e-12)
        assert reduced.penalties.omega_x.shape == (3, r, r) and reduced.gram_noise.shape == (r, r)
    # The null space of the second derivative: straight lines survive two directions.
    nodes = np.linspace(0.0, 1.0, 200)
    line = np.linalg.lstsq(basis.evaluate(nodes), 2 + 3 * nodes, rcond=None)[0]
    z = (basis.root @ line)[None, :]
    two = make_coordinates(shared, 3, directions=2)
    assert np.allclose(two.back_x(two.predictors(z)), z, atol=1e-9)
    roughness = [np.trace(make_coordinates(shared, 3, directions=r).penalties.omega_x[0]) for r in (2, 4, 6, 8)]
    # Roughness 0 comes back as the square root of rounding at most; then it must rise.
    assert roughness[0] < 1e-9 and roughness == sorted(roughness)


def test_all_directions_are_the_whole_curve():
    whole, all_of_it = (run(LocalOptions(noise="none", directions=d, max_steps=10)).estimate for d in (None, 6))
    assert np.allclose(whole.operators, all_of_it.operators, atol=1e-9)


def test_dropped_directions_carry_no_operator_and_no_norm():
    done = run(LocalOptions(s=1e-6, directions=3, max_steps=10))
    reduced = make_coordinates(done.data.public(), 4, directions=3)
    assert np.abs(done.estimate.operators - reduced.to_x.T @ reduced.to_x @ done.estimate.operators).max() < 1e-12
    # The radius binds what is left of a curve, so fewer curves are clipped.
    assert (
        done.estimate.numbers["curve_clip_share"] < run(LocalOptions(max_steps=1)).estimate.numbers["curve_clip_share"]
    )
    assert done.scalars["release_bytes"] == 120 * 4 * 3 * 8
    with pytest.raises(ValueError, match=r"directions is 7: it must be an integer in 1\.\.6 \(the basis size\)"):
        run(LocalOptions(directions=7))


@pytest.mark.parametrize("coordinates", ["raw", "orthonormal"])
def test_spectral_scaling_can_be_switched_off(coordinates):
    shared = public(domain=(0.0, 100.0))
    scaled = make_coordinates(shared, 3, coordinates=coordinates).penalties
    plain = make_coordinates(shared, 3, coordinates=coordinates, penalty_scale="none").penalties
    for with_scale, without in ((scaled.omega_x[1], plain.omega_x[1]), (scaled.omega_y, plain.omega_y)):
        norm = np.linalg.norm(without, 2)
        assert np.linalg.norm(with_scale, 2) == pytest.approx(1.0, rel=1e-12)
        assert norm < 0.5 and np.allclose(with_scale * norm, without, rtol=1e-12)
    basis = shared.basis_x.build()
    wanted = basis.penalty if coordinates == "raw" else basis.inverse_root @ basis.penalty @ basis.inverse_root
    assert np.allclose(plain.omega_x[0], wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())
    none = make_coordinates(shared, 3, coordinates=coordinates, penalty="none").penalties
    assert not none.omega_x.any() and not none.omega_y.any()


def test_scaled_penalties_do_not_depend_on_the_unit_of_time():
    unit, percent = (make_coordinates(public(domain=d), 3).penalties for d in ((0.0, 1.0), (0.0, 100.0)))
    assert np.abs(unit.omega_x - percent.omega_x).max() < 1e-12


def test_own_penalties_replace_the_second_derivative():
    shared = public()
    basis = shared.basis_x.build()
    own = np.diag(np.arange(8.0))
    made = make_coordinates(shared, 3, omega_x=own, omega_y=np.zeros((8, 8)), penalty_scale="none").penalties
    assert np.allclose(made.omega_x, basis.inverse_root @ own @ basis.inverse_root, atol=1e-9)
    assert not made.omega_y.any()
    each = np.stack([own, 2 * own, np.zeros((8, 8))])
    per_predictor = make_coordinates(shared, 3, omega_x=each, penalty_scale="none").penalties.omega_x
    assert np.allclose(per_predictor[1], 2 * per_predictor[0]) and not per_predictor[2].any()
    scaled = make_coordinates(shared, 3, omega_x=each).penalties.omega_x
    assert np.allclose(scaled[1], scaled[0]) and not scaled[2].any()  # zero stays zero


ASYMMETRIC = np.eye(8) + np.triu(np.ones((8, 8)), 1)
INDEFINITE = np.diag([1.0] * 7 + [-1e-3])


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"omega_x": np.eye(7)}, r"omega_x has shape \(7, 7\): its last two dimensions must be \(8, 8\)"),
        ({"omega_y": np.ones(8)}, r"omega_y has shape \(8,\): its last two dimensions must be \(8, 8\)"),
        ({"omega_y": np.zeros((3, 8, 8))}, r"omega_y has shape \(3, 8, 8\): it must be \(8, 8\)"),
        ({"omega_x": np.zeros((2, 8, 8))}, "omega_x holds 2 penalties: give one, or one for each of 3 predictors"),
        ({"omega_x": ASYMMETRIC}, r"omega_x\[0\] is not symmetric: give \(O \+ O'\) / 2"),
        ({"omega_y": ASYMMETRIC}, "omega_y is not symmetric"),
        ({"omega_x": np.stack([np.eye(8), INDEFINITE, np.eye(8)])}, r"omega_x\[1\] is not positive semidefinite"),
        ({"omega_y": INDEFINITE}, "omega_y is not positive semidefinite .*: repair the penalty"),
        ({"omega_y": np.full((8, 8), np.nan)}, "omega_y holds non-finite values: give a finite penalty"),
    ],
)
def test_wrong_penalties_are_named(own, message):
    with pytest.raises(ValueError, match=message):
        make_coordinates(public(), 3, **own)


def test_the_metric_of_raw_coefficients_clips_the_same_curves():
    data = make_data(replace(SMALL, domain=(0.0, 10.0)))
    raw, white = (
        run(LocalOptions(s=1e-9, radius_value=1.5, coordinates=c, max_steps=1), data=data).estimate
        for c in ("raw", "orthonormal")
    )
    assert raw.numbers["curve_clip_share"] == white.numbers["curve_clip_share"] > 0.8
    assert np.abs(raw.received_curves - white.received_curves).max() < 1e-6  # noise of 1e-9


def test_smooth_directions_do_not_depend_on_rounding():
    # Degenerate penalties (the lines of splines, a sine and its cosine) have a stated order and sign.
    for basis in (BSplineBasis((0.0, 1.0), 9), BSplineBasis((0.0, 24.0), 9), FourierBasis((0.0, 1.0), 7)):
        directions = roughness_directions(basis)
        np.testing.assert_allclose(directions.T @ directions, np.eye(basis.n_basis), atol=1e-12)
        constant = (
            basis.root @ np.linalg.lstsq(basis.evaluate(np.linspace(*basis.domain, 50)), np.ones(50), rcond=None)[0]
        )
        # The constant curve is the smoothest of all, before the straight line.
        assert abs(directions[:, 0] @ constant) == pytest.approx(np.linalg.norm(constant), rel=1e-9)
        assert np.all(np.take_along_axis(directions, np.argmax(np.abs(directions).round(6), 0)[None], 0) > 0)
    np.testing.assert_allclose(roughness_directions(FourierBasis((0.0, 1.0), 7)), np.eye(7), atol=1e-9)


def test_prediction_refuses_another_basis_of_the_same_size():
    fit = CurveEstimate(
        np.zeros((1, 6, 6)),
        np.zeros((1, 6)),
        np.zeros(6),
        np.ones(1, bool),
        1.0,
        basis_x=BasisSpec("bspline", (0.0, 1.0), 6),
    )
    with pytest.raises(ValueError, match="X is given in the basis"):
        fit.predict(np.zeros((3, 1, 6)), BasisSpec("bspline", (0.0, 24.0), 6))
    assert fit.predict(np.zeros((3, 1, 6)), BasisSpec("bspline", (0.0, 1.0), 6)).shape == (3, 6)
