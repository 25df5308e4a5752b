"""The published mechanisms: their formulas, their errors (each kept as a negative test), and what the ledger says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from error_rates import accepts_covariance, accepts_sigma
from fixed import fixed
from partywise.core.errors import CertificationError
from partywise.core.randomness import stream
from partywise.methods.inverse_regression import models, published
from partywise.methods.inverse_regression.estimate import leading
from partywise.methods.inverse_regression.moments import SliceMoments, client_moments
from partywise.methods.inverse_regression.options import refuse
from partywise.methods.inverse_regression.slices import equal_frequency, public_slices
from partywise.methods.inverse_regression.subspace import projection_loss
from partywise.privacy.accounted_values import UNPROVED
from partywise.privacy.accounting.calibration import analytic_gaussian_sigma, gaussian_epsilon
from partywise.privacy.ledger.ledger import Ledger
from partywise.privacy.statistics.clips import BoxClip
from slicing_divergence import charitable_delta, hockey_stick

N, P, H, D, R = 1000, 10, 8, 2, 1.0
DELTA = N**-1.1


def rng(*names):
    return stream(7, "slicing published", *names)


def moments(model="III", slices="quantile", n=N, radius: float | None = R) -> SliceMoments:
    X, y, _ = models.draw(model, n, P, rng("data", model, n))
    edges = equal_frequency(y, H) if slices == "quantile" else public_slices(fixed(np.linspace(-1.5, 1.5, H - 1)))
    return client_moments(X, y, edges, clip=None if radius is None else BoxClip(fixed(radius)))


def certified_epsilon(release, view="server", delta=DELTA):
    return Ledger([release.event]).total([view], "row", delta).epsilon_certified


def test_noise_levels_by_their_formulas():
    """Written out once more, and the ratio of Lemma 1 to what is needed: 13.3 at n = 1000, p = 10."""
    L, sensitivity = math.log(2 / DELTA), 2 * R * math.sqrt(P) / N
    assert published.prop2_sigma(N, P, R, 0.5, DELTA) == pytest.approx(
        sensitivity * math.sqrt(2 * math.log(1.25 / DELTA)) / 0.5
    )
    assert published.vgm_floor(N, P, R, 0.5, DELTA) == pytest.approx(8 * R**2 * P * L / (N * 0.5) ** 2)
    assert published.fitted_sigma(N, 2.0, DELTA) ** 2 == pytest.approx(0.13 * math.log(1.25 / DELTA) / (2 * N))
    lemma = published.lemma1_sigma(N, P, 1.0, DELTA)
    log = math.log((P**2 + P) / (2 * math.sqrt(2 * math.pi) * DELTA))
    assert lemma == pytest.approx((P + 1) / N * math.sqrt(2 * log) + 1 / N, rel=1e-12)
    needed = analytic_gaussian_sigma(1.0, DELTA, math.sqrt(2) / N)
    assert lemma == pytest.approx(0.0519, abs=5e-5) and lemma / needed == pytest.approx(13.3, abs=0.05)


@pytest.mark.parametrize(
    ("n", "epsilon", "prop2", "floor", "analytic"),
    [
        (500, 1, 0.0475, 0.0491, 0.0323),
        (1000, 1, 0.0250, 0.0258, 0.0175),
        (5000, 1, 0.00554, 0.00567, 0.00408),
        (5000, 2, 0.00277, 0.00284, 0.00222),
    ],
)
def test_noise_levels_to_three_digits(n, epsilon, prop2, floor, analytic):
    delta = n**-1.1
    found = (
        published.prop2_sigma(n, P, R, epsilon, delta),
        math.sqrt(published.vgm_floor(n, P, R, epsilon, delta)),
        analytic_gaussian_sigma(epsilon, delta, 2 * R * math.sqrt(P) / n),
    )
    assert tuple(float(f"{value:.3g}") for value in found) == (prop2, floor, analytic)


@pytest.mark.parametrize(("n", "epsilon", "of_prop2", "of_floor"), [(500, 1, 0.63, 0.61), (5000, 2, 1.55, 1.51)])
def test_published_levels_are_conservative_for_fixed_noise(n, epsilon, of_prop2, of_floor):
    delta, sensitivity = n**-1.1, 2 * R * math.sqrt(P) / n
    exact = [
        gaussian_epsilon(sensitivity / sigma, delta)
        for sigma in (
            published.prop2_sigma(n, P, R, epsilon, delta),
            math.sqrt(published.vgm_floor(n, P, R, epsilon, delta)),
        )
    ]
    assert exact == pytest.approx([of_prop2, of_floor], abs=0.005)


def test_theorem_3_and_its_approximation():
    """Equation (4) exceeds the bound that it approximates, a little: it is not even a bound."""
    for epsilon in (0.1, 1.0, 4.0):
        exact = published.vgm_precision(N, P, R, epsilon, DELTA, exact=True)
        L, square = math.log(2 / DELTA), 4 * R**2 * P / N**2
        assert exact == pytest.approx((4 * L + 2 * epsilon - 4 * math.sqrt(L**2 + L * epsilon)) / square, rel=1e-9)
        ratio = published.vgm_precision(N, P, R, epsilon, DELTA) / exact
        assert 1 < ratio < 1 + epsilon / L


def test_minimal_client_size():
    n = published.minimal_n(P, R, 1.0, DELTA, 0.025)
    assert n == pytest.approx(2 * R * math.sqrt(2 * P * math.log(1.25 / DELTA)) / 0.025)
    assert (
        published.prop2_sigma(math.ceil(n), P, R, 1.0, DELTA)
        <= 0.025
        < published.prop2_sigma(math.floor(n), P, R, 1.0, DELTA)
    )
    for sigma0 in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="sigma0"):
            published.minimal_n(P, R, 1.0, DELTA, sigma0)


def test_gaps_are_padded_with_zeros():
    """Error (c): a (p, H) matrix has min(p, H) singular values; the last of H counts down to 0, not to itself."""
    np.testing.assert_allclose(published.vgm_variances([3.0, 1.0], 4, 2, 0.1), [2.1, 1.1, 0.1, 0.1])
    np.testing.assert_allclose(published.vgm_variances([3.0, 1.0], 2, 2, 0.1), [2.1, 1.1])
    np.testing.assert_allclose(published.vgm_variances([3.0, 1.0, 0.4], 2, 1, 0.1), [2.1, 0.1])


def test_printed_gaps_give_no_covariance():
    """Error (b): r_j = s_{j+1} - s_j; the message has the smallest v_j."""
    M = moments().means
    s, floor = np.linalg.svd(M, compute_uv=False), published.vgm_floor(N, P, R, 1.0, DELTA)
    smallest = floor - max(s[0] - s[1], s[1] - s[2])
    assert smallest < 0
    with pytest.raises(ValueError, match=rf"smallest v_j is {smallest:.6g}, so V\^\(1/2\) does not exist"):
        published.vgm_covariance(M, D, floor, gap_sign="printed")
    # Read literally in both places, V exists but gives the leading directions the least noise; refused as well.
    with pytest.raises(ValueError, match="leading directions get the least noise"):
        published.vgm_covariance(M, D, published.vgm_precision(N, P, R, 1.0, DELTA), gap_sign="printed")
    with pytest.raises(ValueError, match="gap_sign='up'"):
        published.vgm_covariance(M, D, floor, gap_sign="up")


def test_a_precision_is_no_variance():
    """Error (a): with sigma2_vgm taken as a variance the noise drowns M, and more data make it worse."""
    found = moments()
    literal = published.vgm_precision(N, P, R, 1.0, DELTA)
    assert literal * published.vgm_floor(N, P, R, 1.0, DELTA) == pytest.approx(1)
    assert math.sqrt(literal) > 50 * np.linalg.norm(found.means)
    assert published.vgm_precision(10 * N, P, R, 1.0, DELTA) > literal
    release = published.vgm_release(found, D, literal, rng("literal"), owner="client")
    assert projection_loss(leading(release.value[None], [1.0], D)[0], leading(found.means[None], [1.0], D)[0]) > 1


def test_noise_of_algorithm_2_has_its_covariance():
    found = moments()
    floor = published.vgm_floor(N, P, R, 1.0, DELTA)
    covariance = published.vgm_covariance(found.means, D, floor)
    W, s, _ = np.linalg.svd(found.means)
    s = np.append(s, 0)
    v = np.full(P, floor)
    v[:D] += s[:D] - s[1 : D + 1]
    np.testing.assert_allclose(covariance, (W * v) @ W.T, atol=1e-14)
    draws = [
        (published.vgm_release(found, D, floor, rng("vgm", k), owner="client").value - found.means).T
        for k in range(500)
    ]
    assert accepts_covariance(np.concatenate(draws), covariance)
    assert not accepts_covariance(np.concatenate(draws), floor * np.eye(P))


def test_covariance_noise_is_symmetric_with_the_stated_scale():
    found = moments()
    sigma = published.lemma1_sigma(N, P, 1.0, DELTA)
    noise = [
        published.covariance_release(found, sigma, rng("S", k), owner="client", scale=0.5).value - found.second
        for k in range(400)
    ]
    assert all(np.allclose(one, one.T, atol=1e-15) for one in noise)
    upper = np.array([one[np.triu_indices(P)] for one in noise])
    assert accepts_sigma(upper, 0.5 * found.largest_norm**2 * sigma)
    assert not accepts_sigma(upper, found.largest_norm**2 * sigma)
    assert 9 < found.largest_norm**2 <= P


def test_the_ledger_charges_quantile_slices_what_they_cost():
    """Proposition 2 holds for public slices only: with quantile ones, ties or not, nothing bounds what it costs."""
    sigma = published.prop2_sigma(N, P, R, 1.0, DELTA)
    releases = {
        kind: published.iid_release(moments(slices=kind), sigma, rng(kind), owner="client", epsilon_claimed=1.0)
        for kind in ("public", "quantile")
    }
    mu = 2 * R * math.sqrt(P) / N / sigma
    assert releases["public"].event.mu == pytest.approx(mu)
    assert certified_epsilon(releases["public"]) == pytest.approx(0.66, abs=0.005)
    assert certified_epsilon(releases["quantile"]) == math.inf


def test_the_ledger_certifies_nothing_that_used_private_parameters():
    """Errors (d) and c_R: charged as infinite, however large the noise; public parameters are finite."""
    found = moments(slices="public")
    floor, sigma = published.vgm_floor(N, P, R, 1.0, DELTA), published.lemma1_sigma(N, P, 1.0, DELTA)
    vgm = published.vgm_release(found, D, floor, rng("a"), owner="client", epsilon_claimed=1.0)
    assert certified_epsilon(vgm) == math.inf and vgm.event.epsilon_claimed == 1.0
    assert certified_epsilon(published.covariance_release(found, sigma, rng("b"), owner="client")) == math.inf
    public = published.covariance_release(found, sigma, rng("b"), owner="client", norm=R * math.sqrt(P))
    assert 0 < certified_epsilon(public) < 0.1
    unclipped = published.covariance_release(moments(radius=None), sigma, rng("c"), owner="client", norm=3.0)
    assert certified_epsilon(unclipped) == math.inf
    earlier = published.vgm_release(
        found, D, floor, rng("d"), owner="client", data_dependent_parameters=("radius of client",)
    )
    assert earlier.event.data_dependent_parameters == ("radius of client", UNPROVED)


def test_the_divergence_is_exact_where_it_is_known():
    """Two Gaussians with one covariance: the simulation meets the closed form, and moves with epsilon."""
    covariance = np.diag([1.0, 4.0])
    first, second = np.zeros((3, 2)), np.array([[0.5, 0], [0, 1.0], [0, 0]])
    mu = math.sqrt(0.5)
    value, error = hockey_stick((first, covariance), (second, covariance), 0.5, 200_000, rng("known"))
    phi = lambda x: 0.5 * math.erfc(-x / math.sqrt(2))  # noqa: E731
    exact = phi(mu / 2 - 0.5 / mu) - math.exp(0.5) * phi(-mu / 2 - 0.5 / mu)
    assert abs(value - exact) < 6.5 * error
    assert abs(value - exact * 1.1) > 6.5 * error


def test_the_charitable_reading_is_not_private():
    """Error (d): a neighbour of ordinary data has delta(1) > 0.1, a thousand times the claim; fixed noise keeps it."""
    X, y, _ = models.draw("III", 5000, P, rng("audit"))
    claimed = 5000**-1.1
    found = charitable_delta(X, y, H, D, 1.0, claimed, R, rng("audit noise"))
    assert found.delta - 6.5 * found.error > 0.1 > 1000 * claimed
    assert found.fixed < claimed


@pytest.mark.parametrize("what", ["quantile edges", "ccmd", "largest norm", "vgm", "eigengap", "sample centring"])
def test_certified_mode_refuses(what):
    with pytest.raises(CertificationError, match=f"'{what}' has no certificate"):
        refuse(what)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: published.fitted_sigma(0, 1.0, DELTA), "n=0"),
        (lambda: published.fitted_sigma(N, 0.0, DELTA), "epsilon=0.0"),
        (lambda: published.vgm_floor(N, P, R, -1.0, DELTA), "epsilon=-1.0"),
        (lambda: published.lemma1_sigma(N, P, 1.0, 0.0), "delta=0.0"),
        (lambda: published.lemma1_sigma(N, P, 1.0, 1.0), "delta=1.0"),
        (lambda: published.prop2_sigma(N, P, R, 0.0, DELTA), "epsilon=0.0"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
