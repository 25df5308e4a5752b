"""The generator: norms and rank of the operators, signal-to-noise ratio, spectra, streams by address, errors."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import eigh

from partywise.core.randomness import stream
from partywise.methods.functional.bases import BSplineBasis
from partywise.studies.functional_boosting.cases import draw_curves, draw_operators
from partywise.studies.functional_boosting.settings import SimulatedCurveSettings, SimulationSettings

SMALL = SimulationSettings(n=400, p=6, n_basis_x=7, n_basis_y=5, active=(1, 4))


def rng_for(*names):
    return stream(11, "generator test", *names)


def test_operators_have_the_stated_rank_norm_and_singular_values():
    operators = draw_operators(SMALL, rng_for("operators"))
    assert operators.shape == (6, 7, 5)
    for j in range(6):
        values = np.linalg.svd(operators[j], compute_uv=False)
        if j in SMALL.active:
            expected = np.sqrt(3) * np.array([1.0, 0.7, 0.4, 0, 0]) / np.sqrt(1 + 0.49 + 0.16)
            np.testing.assert_allclose(values, expected, atol=1e-14)
        else:
            assert not operators[j].any()
    assert np.abs(operators[1] - operators[4]).max() > 0.1


def test_strengths_scale_the_operators_in_their_order():
    settings = replace(SMALL, active=(4, 1), strengths=(0.5, 2.0))
    operators = draw_operators(settings, rng_for("operators"))
    assert np.linalg.norm(operators[4]) == pytest.approx(0.5 * np.sqrt(3), rel=1e-13)
    assert np.linalg.norm(operators[1]) == pytest.approx(2.0 * np.sqrt(3), rel=1e-13)
    plain = draw_operators(replace(settings, strengths=()), rng_for("operators"))
    np.testing.assert_allclose(operators[4], 0.5 * plain[4], rtol=1e-14)


def test_signal_to_noise_ratio_is_the_stated_one():
    settings = replace(SMALL, n=20000, snr=4.0)
    operators = draw_operators(settings, rng_for("operators"))
    X, Y, variance = draw_curves(settings, rng_for, operators)
    assert variance == pytest.approx(np.sum(operators**2) / (5 * 4.0), rel=1e-13)
    signal = np.einsum("npq,pqr->nr", X, operators)
    noise = Y - signal
    # Chi-square with 100000 degrees of freedom: 5 standard errors are 2.3 %; a wrong factor of 2 is far outside.
    assert np.mean(noise**2) == pytest.approx(variance, rel=0.023)
    assert np.mean(signal**2) / np.mean(noise**2) == pytest.approx(4.0, rel=0.1)


def test_white_spectrum():
    X, _, _ = draw_curves(replace(SMALL, n=20000), rng_for, np.zeros((6, 7, 5)))
    pooled = X.reshape(-1, 7)
    np.testing.assert_allclose(np.cov(pooled.T), np.eye(7), atol=0.03)
    assert np.abs(pooled.mean(0)).max() < 0.02


def test_decaying_spectrum_falls_from_smooth_to_rough():
    """Variance 1 / (1 + q)^2 along the q-th smoothest direction; straight lines, q = 0 and 1, are equally smooth."""
    X, _, _ = draw_curves(replace(SMALL, n=20000, x_spectrum="decay"), rng_for, np.zeros((6, 7, 5)))
    basis = BSplineBasis(SMALL.domain, 7)
    directions = basis.root @ eigh(basis.penalty, basis.gram)[1]
    variance = np.var(X.reshape(-1, 7) @ directions, axis=0)
    shape = 1 / (1 + np.arange(7.0)) ** 2
    expected = 7 * shape / shape.sum()
    np.testing.assert_allclose(variance[2:], expected[2:], rtol=0.03)
    assert variance[:2].sum() == pytest.approx(expected[:2].sum(), rel=0.03)


def test_a_draw_depends_on_its_own_address_only():
    operators = draw_operators(SMALL, rng_for("operators"))
    X, Y, _ = draw_curves(SMALL, rng_for, operators)
    again = draw_curves(SMALL, rng_for, operators)
    assert np.array_equal(X, again[0])
    assert np.array_equal(Y, again[1])
    louder = draw_curves(replace(SMALL, snr=1.0), rng_for, 2 * operators)
    assert np.array_equal(X, louder[0])
    unit = (Y - np.einsum("npq,pqr->nr", X, operators)) / np.sqrt(np.sum(operators**2) / 50)
    louder_unit = (louder[1] - 2 * np.einsum("npq,pqr->nr", X, operators)) / np.sqrt(4 * np.sum(operators**2) / 5)
    np.testing.assert_allclose(unit, louder_unit, atol=1e-10)
    other = draw_curves(SMALL, lambda *names: rng_for("other", *names), operators)
    assert np.abs(X - other[0]).max() > 1


def test_without_active_predictors_the_response_is_noise_of_one_active_predictor():
    settings = replace(SMALL, active=())
    operators = draw_operators(settings, rng_for("operators"))
    _, Y, variance = draw_curves(settings, rng_for, operators)
    assert not operators.any()
    assert variance == pytest.approx(3 / (5 * 10.0), rel=1e-14)
    assert np.mean(Y**2) == pytest.approx(variance, rel=0.16)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": 3}, r"n is 3: it must be at least 4"),
        ({"p": 0}, r"p is 0: it must be"),
        ({"n_basis_x": 0}, r"n_basis_x is 0: it must be"),
        ({"n_basis_y": 0}, r"n_basis_y is 0: it must be"),
        ({"basis": "wavelet"}, r"basis is 'wavelet': it must be one of bspline, fourier"),
        ({"x_spectrum": "pink"}, r"x_spectrum is 'pink': it must be one of white, decay"),
        ({"snr": 0.0}, r"snr is 0.0: it must be greater than 0"),
        ({"snr": -1.0}, r"snr is -1.0: it must be greater than 0"),
        ({"snr": float("nan")}, r"snr is nan: it must be greater than 0"),
        ({"active": (0, 6)}, r"active is \(0, 6\): give distinct indices within 0..5"),
        ({"active": (-1,)}, r"active is \(-1,\): give distinct indices within 0..5"),
        ({"active": (1, 1)}, r"active is \(1, 1\): give distinct indices"),
        ({"strengths": (1.0,)}, r"strengths has 1 entries: give one for each active predictor"),
        ({"strengths": (1.0, float("nan"))}, r"strengths\[1\] is nan: it must be a finite number"),
        ({"singular_values": (1.0,) * 6}, r"singular_values has 6 entries: the rank must lie in 1..5"),
        ({"singular_values": ()}, r"singular_values has 0 entries: the rank must lie in 1..5"),
        ({"singular_values": (1.0, 0.0)}, r"singular_values\[1\] is 0.0: it must be a positive finite number"),
        ({"domain": (1.0, 1.0)}, r"domain is \(1.0, 1.0\): it must be increasing"),
        ({"n_basis_x": 3, "singular_values": (1.0,)}, r"n_basis_x is 3: .*at least 4"),
        ({"basis": "fourier", "n_basis_y": 4}, r"n_basis_y is 4: .*odd"),
    ],
)
def test_bad_settings_are_named_before_any_job(change, message):
    with pytest.raises(ValueError, match=message):
        SimulatedCurveSettings(**({"n": 400, "p": 6, "n_basis_x": 7, "n_basis_y": 5, "active": (1, 4)} | change))
