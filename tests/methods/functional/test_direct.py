"""The source's functions on arrays: clipping, releases, the central fit."""

import math

import numpy as np
import pytest

from curve_functions import clipping_radius, fit_central, predict_curves, release_curves
from fixed import fixed
from partywise.core.randomness import stream
from partywise.methods.functional.bases import BSplineBasis, FourierBasis
from partywise.methods.functional.model import BasisSpec
from partywise.methods.functional.path_options import BoostingOptions
from partywise.privacy.accounted_values import Clear, Public
from partywise.privacy.accounting.calibration import gaussian_epsilon
from partywise.privacy.ledger.ledger import Ledger
from partywise.privacy.mechanisms import Gaussian, Release


def test_worst_case_mu_of_a_release_is_2S_over_s_for_every_basis_and_domain():
    for domain in ((0.0, 1.0), (0.0, 100.0)):
        for basis in (*(BSplineBasis(domain, n) for n in (6, 15, 20)), FourierBasis(domain, 15)):
            n_basis = basis.n_basis
            c = stream(1, "curves").standard_normal((50, n_basis))
            noise = Gaussian(covariance=fixed(0.3**2 * np.linalg.inv(basis.gram + basis.gram.T) * 2))
            out = release_curves(c, basis, noise, stream(1, "noise"), radius=fixed(2.0))
            assert out.release.event.mu == pytest.approx(2 * 2.0 / 0.3, rel=1e-10)


def test_clipping_bounds_the_norm():
    basis = BSplineBasis((0.0, 1.0), 8)
    c = 10 * stream(2, "curves").standard_normal((40, 8))
    out = release_curves(c, basis, Gaussian(sigma=0.0), stream(2, "noise"), radius=fixed(0.5))
    norms = np.sqrt(np.einsum("nq,qr,nr->n", out.release.value, basis.gram, out.release.value))
    assert norms.max() <= 0.5 * (1 + 1e-12)
    assert out.clip_share == 1.0


def test_radius_modes():
    norms = np.abs(stream(3, "norms").standard_normal(2000)) + 2
    public = clipping_radius(norms, "public", value=3.0)
    assert isinstance(public, Public) and public.value == 3.0
    own = clipping_radius(norms, "quantile", owner="p1")
    assert isinstance(own, Clear) and (own.value, own.owner) == (np.quantile(norms, 0.95), "p1")
    radius = clipping_radius(norms, "dp_quantile", rho=0.5, rng=stream(3, "noise"))
    assert isinstance(radius, Release) and radius.event.mu == pytest.approx(1.0)
    assert np.quantile(norms, 0.9) < radius.value < 1.2 * np.quantile(norms, 0.99)


def released_with(radius, mechanism=None):
    basis = BSplineBasis((0.0, 1.0), 8)
    noise = Gaussian(covariance=fixed(0.25 * np.linalg.inv(basis.gram))) if mechanism is None else mechanism
    return release_curves(stream(5, "c").standard_normal((40, 8)), basis, noise, stream(5, "n"), radius=radius).release


def certified(*releases) -> float:
    return Ledger([release.event for release in releases]).total((), "features", 1e-5).epsilon_certified


def test_a_radius_taken_from_the_data_leaves_nothing_certified():
    """The radius of the source travels with the release, whose mu of 2 S / s would else certify 19.2 here."""
    norms = np.linalg.norm(stream(5, "c").standard_normal((40, 8)), axis=1)
    taken = clipping_radius(norms, "quantile")
    release = released_with(taken)
    assert release.event.data_dependent_parameters == taken.parents
    assert release.event.mu == pytest.approx(2 * taken.value / 0.5)
    assert certified(release) == math.inf
    assert 0 < certified(released_with(fixed(taken.value))) < math.inf
    with pytest.raises(TypeError, match=r"radius=2\.5 of a certificate must state its origin"):
        released_with(2.5)


def test_a_private_radius_certifies_with_its_own_row_only():
    norms = np.linalg.norm(stream(5, "c").standard_normal((40, 8)), axis=1)
    radius = clipping_radius(norms, "dp_quantile", rho=0.5, rng=stream(5, "r"))
    release = released_with(radius, Gaussian(mu=1.0))
    assert release.event.data_dependent_parameters == (radius.event.release_id,)
    assert certified(release) == math.inf
    assert certified(radius, release) == pytest.approx(gaussian_epsilon(np.sqrt(2.0), 1e-5))


def test_the_central_fit_names_the_radii_it_was_given():
    X, Y, _, basis = _data(n=300)
    taken = clipping_radius(np.linalg.norm(X[:, 0], axis=1), "quantile")
    response = clipping_radius(np.linalg.norm(Y, axis=1), "quantile")
    events = fit_central(X, Y, basis, basis, stream(4, "n"), s=0.4, sy=0.2, radius=taken, y_radius=response)[2]
    assert [event.data_dependent_parameters for event in events] == [taken.parents] * 3
    assert Ledger(events).total((), "features", 1e-5).epsilon_certified == math.inf
    with pytest.raises(TypeError, match=r"y_radius=9\.0 of a certificate"):
        fit_central(X, Y, basis, basis, stream(4, "n"), s=0.4, sy=0.2, radius=fixed(9.0), y_radius=9.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: clipping_radius(np.ones(5), "median"), "mode is 'median'"),
        (lambda: clipping_radius(np.ones(5)), "value is missing"),
        (lambda: clipping_radius(np.ones(5), value=-1.0), "value is -1.0"),
        (lambda: clipping_radius(np.ones(5), "dp_quantile"), "rng is missing"),
    ],
)
def test_radius_errors_name_the_argument(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def _data(n=4000, p=2, q=6):
    rng = stream(4, "data")
    X, B = rng.standard_normal((n, p, q)), rng.standard_normal((p * q, q)) / 3
    Y = X.reshape(n, -1) @ B + 0.1 * rng.standard_normal((n, q))
    return X, Y, B, BasisSpec("bspline", (0.0, 1.0), q)


def test_central_fit_recovers_the_operator_and_charges_both_releases():
    X, Y, B, basis = _data()
    options = BoostingOptions(lambda_s=0.0, lambda_t=0.0)
    settings = {"radius": fixed(9.0), "y_radius": fixed(9.0), "options": options}
    fit, moments, events = fit_central(X, Y, basis, basis, stream(4, "n"), s=0.4, sy=0.2, **settings)
    assert [e.unit for e in events] == ["features", "features", "label"]
    assert [e.mu for e in events] == pytest.approx([45.0, 45.0, 90.0])
    # Corrected for the noise of X: an uncorrected fit is shrunk by 1 / (1 + 0.16), far more than 0.05 in norm.
    assert np.linalg.norm(fit.B - B) < 0.05 * np.linalg.norm(B)
    assert np.linalg.norm(np.linalg.solve(moments.raw, moments.H) - B) > 0.1 * np.linalg.norm(B)
    assert np.mean((predict_curves(fit, X) - Y) ** 2) < 0.02
    clean = np.trace(np.cov(Y.T))
    assert np.trace(moments.K) == pytest.approx(clean, rel=0.01)


def test_zero_penalties_are_allowed_and_shapes_are_checked():
    X, Y, _, basis = _data(n=300)
    zero = np.zeros((6, 6))
    own, _, _ = fit_central(X, Y, basis, basis, stream(4, "n"), s=0.0, radius=fixed(9.0), omega_x=zero, omega_y=zero)
    free = fit_central(
        X,
        Y,
        basis,
        basis,
        stream(4, "n"),
        s=0.0,
        radius=fixed(9.0),
        options=BoostingOptions(lambda_s=0.0, lambda_t=0.0),
    )[0]
    np.testing.assert_allclose(own.B, free.B, rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match="omega_x has shape"):
        fit_central(X, Y, basis, basis, stream(4, "n"), s=0.0, radius=fixed(9.0), omega_x=np.eye(5))
    with pytest.raises(ValueError, match="omega_y is not symmetric"):
        fit_central(X, Y, basis, basis, stream(4, "n"), s=0.0, radius=fixed(9.0), omega_y=np.triu(np.ones((6, 6))))
    with pytest.raises(ValueError, match="y_radius is missing"):
        fit_central(X, Y, basis, basis, stream(4, "n"), s=0.0, radius=fixed(9.0), sy=0.1)
