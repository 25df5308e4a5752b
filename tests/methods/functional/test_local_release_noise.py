"""Released curves: the noise has its stated distribution, is drawn once for all fits, and is taken off the moments."""

from dataclasses import replace

import numpy as np
import pytest

from error_rates import accepts_covariance, accepts_sigma
from local_release_driver import NOISY
from partywise.federation import run as federation
from partywise.federation.secure_streams import SecureStreams
from partywise.methods.functional.boosting import fit_boosting
from partywise.methods.functional.options import CentralOptions, CurvePublishedOptions, LocalOptions, RoundwiseOptions
from partywise.methods.functional.protocols.curves import active_fit
from partywise.privacy.accounting.calibration import gaussian_epsilon
from partywise.privacy.mechanisms.random import words_of
from partywise.privacy.secure.table import draw_integers
from partywise.privacy.statistics.bounded import clip_curves
from partywise.privacy.statistics.clips import ball_steps
from protocol_driver import SMALL, execution, make_data, noise_rng, protocol_of, run


def test_without_noise_nothing_is_clipped_and_nothing_projected():
    done = run(replace(NOISY, s=0.0, radius_value=0.5))
    assert np.array_equal(done.estimate.received_curves, done.data.X)
    assert done.estimate.numbers["curve_clip_share"] == 0 and done.estimate.numbers["projected"] is False


def test_the_response_reaches_the_fit_clipped_and_noised():
    loud, data = CentralOptions(noise="none", sy=1e-9, y_radius=1.0, lambda_s=0.0, lambda_t=0.0), make_data()
    clipped = replace(data, Y=clip_curves(data.Y, None, 1.0)[0])
    exact = run(CentralOptions(noise="none", lambda_s=0.0, lambda_t=0.0), data=clipped)
    # Noise of 1e-9 on the response moves operators by about 1e-9.
    assert np.abs(run(loud, data=data).estimate.operators - exact.estimate.operators).max() < 1e-8


def test_two_noise_levels_are_one_draw_rescaled():
    data = make_data()
    clipped = np.stack([clip_curves(data.X[:, j], None, data.radius[j])[0] for j in range(4)], axis=1)
    draws = [(run(replace(NOISY, s=s), data=data).estimate.received_curves - clipped) / s for s in (0.1, 0.5, 3.0)]
    target = run(LocalOptions(s_mode="calibrated", max_steps=5), data=data, epsilon=20.0).estimate
    draws.append((target.received_curves - clipped) / target.numbers["noise_sd"])
    # Curves are rounded to steps of 2^-10 of their noise, towards 0 at the clip: two differ by less than two steps.
    assert all(np.abs(draw - draws[0]).max() < 2.0**-9 for draw in draws)


def test_a_release_is_made_once_for_all_fits():
    first = run(NOISY).estimate.received_curves
    for other in (
        run(NOISY, parties=4),
        run(NOISY, held_out=2),
        run(NOISY, folds=5),
        run(replace(NOISY, learner="party")),
        run(replace(NOISY, stop="aic", nu=0.1)),
        run(CentralOptions(s=0.4)),
    ):
        assert np.array_equal(other.estimate.received_curves, first)
    assert not np.allclose(run(NOISY, replicate=1).estimate.received_curves, first)


def rows_of_noise(options, settings):
    """Noise that reached the active party, one row a curve, in orthonormal coordinates."""
    data = make_data(settings)
    exact = [clip_curves(data.X[:, j], None, data.radius[j])[0] for j in range(settings.p)]
    return (run(options, settings=settings, data=data).estimate.received_curves - np.stack(exact, axis=1)).reshape(
        -1, 6
    )


WIDE = replace(SMALL, n=400, p=20)


def test_the_certified_noise_is_isotropic_in_orthonormal_coordinates():
    noise = rows_of_noise(LocalOptions(s=0.7, max_steps=1), WIDE)
    assert accepts_covariance(noise, 0.49 * np.eye(6))
    assert not accepts_sigma(noise, 0.7 * 1.03) and not accepts_sigma(noise, 0.7 / 1.03)


@pytest.mark.parametrize("coordinates", ["raw", "orthonormal"])
def test_the_published_noise_has_the_gram_matrix_as_covariance_of_coefficients(coordinates):
    options = CurvePublishedOptions(s=0.7, radius="public", coordinates=coordinates, max_steps=1, min_steps=1)
    noise = rows_of_noise(options, WIDE)
    gram = make_data(WIDE).basis_x.build().gram
    assert accepts_covariance(noise, 0.49 * gram @ gram)  # M^{1/2} M M^{1/2}
    assert not accepts_covariance(noise, 0.49 * gram @ gram * 1.03**2)
    assert not accepts_covariance(noise, 0.49 * gram)


def test_released_curves_were_clipped_to_the_radius():
    done = run(replace(NOISY, s=1e-9, radius_value=1.5))
    norms = np.linalg.norm(done.estimate.received_curves, axis=2)
    assert norms.max() <= 1.5 + 1e-7 and done.estimate.numbers["curve_clip_share"] > 0.8  # noise of 1e-9
    short = np.linalg.norm(done.data.X, axis=2) < 1.5
    assert np.abs((done.estimate.received_curves - done.data.X)[short]).max() < 1e-7


def test_the_moments_subtract_the_noise_that_was_added(monkeypatch):
    seen = []

    def recording(train, *args, **kwargs):
        seen.append(train)
        return fit_boosting(train, *args, **kwargs)

    monkeypatch.setattr("partywise.methods.functional.protocols.curves.fit_boosting", recording)
    for options in (NOISY, CurvePublishedOptions(radius="public", max_steps=2, min_steps=1)):
        run(options)
    gram = make_data().basis_x.build().gram
    assert np.array_equal(seen[0].noise, 0.4**2 * np.eye(24))
    assert np.allclose(seen[1].noise, np.kron(np.eye(4), 0.2**2 * gram), rtol=1e-12)
    for moments in seen:
        assert np.array_equal(moments.G, moments.raw - moments.noise)


@pytest.mark.parametrize("radius", [1.5, 99.0, "quantile"])
def test_responses_beyond_their_radius_are_counted(radius):
    """As curves are; of a radius that is a quantile of the data nothing is counted, it clips by its definition."""
    data = make_data()
    beyond = int(np.sum(np.linalg.norm(data.Y, axis=1) > 1.5))
    cell = execution(CurvePublishedOptions(sy=0.5, y_radius=radius, max_steps=10), data=data)
    federation.simulate(protocol_of(cell.spec.options), cell)
    (active,) = [party for party in cell.parties if party.role == "active"]
    counted = active.clips.counts.get("y_radius")
    assert counted == {1.5: (beyond, len(data.Y)), 99.0: (0, len(data.Y)), "quantile": None}[radius]
    assert 0 < beyond < len(data.Y)


def test_the_moments_subtract_the_noise_of_the_response(monkeypatch):
    seen = []

    def recording(train, *args, **kwargs):
        seen.append((train, kwargs["response_noise"]))
        return fit_boosting(train, *args, **kwargs)

    monkeypatch.setattr("partywise.methods.functional.protocols.curves.fit_boosting", recording)
    options = replace(NOISY, sy=0.5, y_radius=2.0)
    done = run(options)
    words, step = words_of(noise_rng()("response")), 0.5 / 1024
    noise = step * draw_integers(words, 1024.0, "rounded", (120, 6))
    noisy = step * ball_steps(done.data.Y, 2.0, step).records + noise
    train, response_noise = seen[0]
    wanted = np.cov(noisy[done.fold.train], rowvar=False) - 0.25 * np.eye(6)
    assert response_noise == 6 * 0.25 and np.allclose(train.K, wanted, rtol=0, atol=1e-12)


def responses(monkeypatch, options, *data):
    """Responses as the active party fits on them, in orthonormal coordinates, one run for each data set."""
    seen = []

    def recording(Z, radius, response, *more):
        seen.append(response.value)
        return active_fit(Z, radius, response, *more)

    monkeypatch.setattr("partywise.methods.functional.protocols.curves.active_fit", recording)
    return seen, [run(options, data=one) for one in data]


@pytest.mark.parametrize("geometry", ["gram", "orthonormal"])
@pytest.mark.parametrize("coordinates", ["raw", "orthonormal"])
def test_the_noise_of_the_response_follows_the_geometry(monkeypatch, geometry, coordinates):
    options = CurvePublishedOptions(sy=0.7, y_radius=9.0, geometry=geometry, coordinates=coordinates, max_steps=10)
    data = make_data(replace(SMALL, n=4000))
    (released,), _ = responses(monkeypatch, options, data)
    gram = data.basis_y.build().gram
    shape = gram @ gram if geometry == "gram" else np.eye(6)
    noise = released - clip_curves(data.Y, None, 9.0)[0]
    assert accepts_covariance(noise, 0.49 * shape)
    assert not accepts_covariance(noise, 0.49 * shape * 1.05**2) and not accepts_covariance(noise, 0.49 * gram)


@pytest.mark.parametrize("geometry", ["gram", "orthonormal"])
@pytest.mark.parametrize("coordinates", ["raw", "orthonormal"])
def test_the_moments_of_a_noisy_response_are_unbiased(monkeypatch, geometry, coordinates):
    """K and the trace that raw losses carry are those of the noise in working coordinates."""
    seen = []

    def recording(train, *args, **kwargs):
        seen.append((train.K, kwargs["response_noise"]))
        return fit_boosting(train, *args, **kwargs)

    monkeypatch.setattr("partywise.methods.functional.protocols.curves.fit_boosting", recording)
    both = {"geometry": geometry, "coordinates": coordinates, "max_steps": 10}
    data = make_data(replace(SMALL, n=4000, domain=(0.0, 10.0)))
    run(CurvePublishedOptions(**both), data=data)
    run(CurvePublishedOptions(sy=0.5, y_radius=99.0, **both), data=data)
    (exact, none), (noisy, trace) = seen
    gram = data.basis_y.build().gram
    covariance = {"raw": {"gram": gram, "orthonormal": np.linalg.inv(gram)}}.get(
        coordinates, {"gram": gram @ gram, "orthonormal": np.eye(6)}
    )[geometry]
    assert none == 0 and trace == pytest.approx(0.25 * np.trace(covariance), rel=1e-9)
    # What is left is the error of a covariance of 2,667 records, far below what was taken off.
    assert np.linalg.norm(noisy - exact) < 0.3 * np.linalg.norm(0.25 * covariance)


@pytest.mark.parametrize("geometry", ["gram", "orthonormal"])
def test_the_certificate_of_a_published_response_is_what_an_attack_finds(monkeypatch, geometry):
    """Two responses of the longest distance where the noise is smallest, in the clear of one draw of it."""
    options = CurvePublishedOptions(sy=0.1, y_radius=2.0, geometry=geometry, max_steps=10)
    data, (values, vectors) = make_data(), np.linalg.eigh(make_data().basis_y.build().gram)
    worst = [replace(data, Y=np.vstack([sign * 5.0 * vectors[:, 0], data.Y[1:]])) for sign in (1, -1)]
    released, runs = responses(monkeypatch, options, *worst)
    # One draw on both: what differs is what the attacker tells apart.
    difference = released[0] - released[1]
    assert not difference[1:].any()
    shape = vectors @ np.diag(values**2) @ vectors.T if geometry == "gram" else np.eye(6)
    mu = np.sqrt(difference[0] @ np.linalg.solve(0.01 * shape, difference[0]))
    exact = float(gaussian_epsilon(float(mu), 1e-5))
    certified = runs[0].total("label").epsilon_certified
    assert 0.95 <= exact / certified <= 1
    least = values[0] if geometry == "gram" else 1.0
    assert mu == pytest.approx(2 * 2.0 / (0.1 * least), rel=1e-2)


def test_a_published_radius_of_the_response_certifies_nothing():
    known, from_data = (run(CurvePublishedOptions(sy=0.5, y_radius=r, max_steps=10)) for r in (3.0, "quantile"))
    assert np.isfinite(known.total("label").epsilon_certified) and np.isinf(from_data.total("label").epsilon_certified)
    row = next(event for event in from_data.releases if event.release_id.startswith("response"))
    assert not row.certified and row.unit == "label"
    norms = np.linalg.norm(from_data.data.Y, axis=1)
    same = run(CurvePublishedOptions(sy=0.5, y_radius=float(np.quantile(norms, 0.95)), max_steps=10))
    assert np.array_equal(same.estimate.operators, from_data.estimate.operators)


def test_noise_is_drawn_from_these_addresses_and_no_others():
    asked = []

    def recording(*names):
        asked.append(names)
        return noise_rng()(*names)

    private = LocalOptions(s_mode="calibrated", radius="dp_quantile", sy=0.5, y_radius=3.0, max_steps=30)
    run(private, epsilon=8.0, noise=recording)
    assert sorted({names[0] for names in asked}) == ["curves", "probes", "radius", "response"]


@pytest.mark.parametrize("options", [
    LocalOptions(s_mode="calibrated", radius="dp_quantile", sy=0.5, y_radius=3.0, max_steps=3),
    LocalOptions(s_mode="calibrated", calibration="classic", radius="dp_quantile", max_steps=3),
    CurvePublishedOptions(radius="public", max_steps=2, min_steps=1),
    CurvePublishedOptions(radius="public", coordinates="orthonormal", max_steps=2, min_steps=1),
    CentralOptions(s=1e-7),
    RoundwiseOptions(s=0.4, coordinates="raw", max_steps=3),
], ids=str)  # fmt: skip
def test_every_noise_comes_from_the_operating_system_where_it_is_asked_to(options):
    one, other = (run(options, epsilon=8.0, noise=SecureStreams(1)) for _ in range(2))
    for done in (one, other):
        assert done.releases and all(event.exact and event.sampler == "secure" for event in done.releases)
        assert done.total().epsilon_certified < np.inf
    drawn = [{event.noise_digest for event in done.releases if event.noise_digest} for done in (one, other)]
    # Radii are few, so that two of them may agree.
    assert len(drawn[0] & drawn[1]) <= 4 < len(drawn[0] | drawn[1])
