"""Released curves: the noise has its stated distribution, is drawn once for all fits, and is taken off the moments."""

from dataclasses import replace

import numpy as np
import pytest

from error_rates import accepts_covariance, accepts_sigma
from local_release_driver import NOISY
from partywise.federation.secure_streams import SecureStreams
from partywise.methods.functional.boosting import fit_boosting
from partywise.methods.functional.options import CentralOptions, CurvePublishedOptions, LocalOptions, RoundwiseOptions
from partywise.privacy.mechanisms.random import words_of
from partywise.privacy.secure.table import draw_integers
from partywise.privacy.statistics.bounded import clip_curves
from partywise.privacy.statistics.clips import ball_steps
from protocol_driver import SMALL, make_data, noise_rng, run


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
    assert response_noise == 0.25 and np.allclose(train.K, wanted, rtol=0, atol=1e-12)


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
