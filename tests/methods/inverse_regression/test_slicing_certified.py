"""The certified releases: sensitivities that are reached, noise at the analytic level, refusals, composition."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from error_rates import accepts_sigma
from fixed import fixed
from partywise.core.errors import CertificationError
from partywise.core.randomness import stream
from partywise.methods.inverse_regression import certified, models
from partywise.methods.inverse_regression.bounded import (
    MEAN_SHARE,
    bounded_means,
    bounded_second,
    check_budget,
    mean_weight,
    means_sensitivity,
    second_sensitivity,
    whole_second,
    whole_second_and_mean,
    whole_slices,
)
from partywise.methods.inverse_regression.estimate import aggregate, inverse_root
from partywise.methods.inverse_regression.moments import centre, client_moments, whitened_means
from partywise.methods.inverse_regression.slices import class_slices, equal_frequency, public_slices
from partywise.methods.inverse_regression.subspace import projection_loss
from partywise.privacy.accounted_values import Clear
from partywise.privacy.accounting.calibration import analytic_gaussian_sigma, compose_mu, gaussian_epsilon, gdp_mu
from partywise.privacy.ledger.ledger import Ledger
from partywise.privacy.mechanisms import integer
from partywise.privacy.statistics.clips import BallClip, BoxClip
from partywise.privacy.statistics.isometry import to_matrix, to_vector
from partywise.privacy.statistics.slices import slice_means
from pooled import merge
from whole_moves import squared_move

N, P, H, R, C = 400, 6, 5, 1.0, 1.5
EDGES = (-1.0, -0.2, 0.3, 1.1)
DELTA = N**-1.1


def rng(*names):
    return stream(7, "slicing certified", *names)


def data(n=N, p=P, model="III"):
    return models.draw(model, n, p, rng("data", model, n, p))[:2]


def clipped(X, y, radius=R):
    return client_moments(X, y, public_slices(fixed(EDGES)), clip=None if radius is None else BoxClip(fixed(radius)))


def moved(statistic, X, y, record, response):
    """How far a statistic moves when record 0 is replaced."""
    other_X, other_y = X.copy(), y.copy()
    other_X[0], other_y[0] = record, response
    return float(np.linalg.norm(statistic(X, y) - statistic(other_X, other_y)))


def worst_case(statistic, bound, X, y, neighbours):
    """Largest move over random neighbours and the given one, as a share of the bound."""
    numbers = rng("neighbours")
    tried = [(10 * numbers.standard_normal(X.shape[1]), 3 * numbers.standard_normal()) for _ in range(60)]
    return max(moved(statistic, X, y, *neighbour) for neighbour in (*tried, *neighbours)) / bound


def test_sensitivity_of_slice_means_is_reached():
    X, y = data()
    X[0], y[0] = 5.0, 0.0
    share = worst_case(
        lambda a, b: clipped(a, b).means, means_sensitivity(clipped(X, y)), X, y, [(np.full(P, -7.0), 0.0)]
    )
    assert 0.999 < share <= 1 + 1e-12


def test_sensitivity_of_the_second_moment_is_reached():
    """sqrt(2) p R^2 / n in the Frobenius norm, by two orthogonal sign vectors; the vector is isometric."""
    X, y = data(p=8)
    signs = np.ones(8)
    signs[:4] = -1
    X[0] = 5.0
    bound = math.sqrt(2) * 8 * R**2 / N
    assert second_sensitivity(clipped(X, y)) == pytest.approx(bound, rel=1e-12)
    matrix = worst_case(lambda a, b: clipped(a, b).second, bound, X, y, [(9 * signs, 0.0)])
    vector = worst_case(lambda a, b: bounded_second(clipped(a, b)).value, bound, X, y, [(9 * signs, 0.0)])
    assert matrix == pytest.approx(1, abs=1e-12) and vector == pytest.approx(1, abs=1e-12)
    assert neighbour_share(X, y, lambda a, b: whole_second(clipped(a, b)), [(9 * signs, 0.0)]) == 1
    mirrored = neighbour_share(X, y, lambda a, b: whole_second(clipped(a, b), mirrored=True), [(9 * signs, 0.0)])
    assert 0.5 <= mirrored < 1


def test_sensitivity_of_whitened_means_is_reached():
    X, y = data()
    root = inverse_root(clipped(X, y).second)[0]
    X[0], y[0] = 100.0, 0.0

    def statistic(a, b):
        return whitened_means(a, b, public_slices(fixed(EDGES)), fixed(root), fixed(C)).means

    bound = means_sensitivity(whitened_means(X, y, public_slices(fixed(EDGES)), fixed(root), fixed(C)))
    assert bound == pytest.approx(2 * C / N)
    assert 0.999 < worst_case(statistic, bound, X, y, [(np.full(P, -100.0), 0.0)]) <= 1 + 1e-12


def quantile_means(X, y, n_slices=H):
    return client_moments(X, y, equal_frequency(y, n_slices), clip=BoxClip(fixed(R)))


def test_quantile_slices_of_different_responses_reach_sqrt_h():
    """One response pushes one record over every boundary: sqrt(H) times the bound of public slices is reached."""
    n, p = 80, 3
    y = np.arange(float(n))
    X = np.where((np.arange(n) % (n // H) == n // H - 1)[:, None], -1.0, 1.0) * np.ones(p)
    public = 2 * R * math.sqrt(p) / n
    # Record 0 leaves for the top: each slice loses its first record and gains the first of the next, of other sign.
    first = np.arange(0, n, n // H)
    X[first] = np.where(np.arange(H) % 2 == 0, 1.0, -1.0)[:, None]
    neighbour = (np.full(p, 1.0 if H % 2 else -1.0) * -1, float(n))
    reached = moved(lambda a, b: quantile_means(a, b).means, X, y, *neighbour)
    assert 0.7 * math.sqrt(H) * public < reached <= math.sqrt(H) * public * (1 + 1e-12)
    assert reached > 1.5 * public


def test_a_neighbour_with_equal_responses_exceeds_sqrt_h():
    """Eight different responses in two slices; response 0 becomes a second 4, at the edge, and record 4 goes down."""
    y, X = np.arange(8.0), np.ones((8, 1))
    X[0] = -1.0
    found = quantile_means(X, y, 2)
    reached = moved(lambda a, b: quantile_means(a, b, 2).means, X, y, 1.0, 4.0)
    assert reached == pytest.approx(math.sqrt(3**2 + 1) / 8)
    assert reached > 1.1 * math.sqrt(2) * 2 * R / 8
    assert reached <= bounded_means(found).certificate.value


RESPONSES = st.lists(st.integers(0, 4), min_size=9, max_size=9)


@settings(max_examples=80, deadline=None)
@given(RESPONSES, st.integers(0, 4), st.integers(0, 2**32 - 1), st.sampled_from(["public", "quantile", "labels"]))
def test_no_neighbour_exceeds_a_certificate(responses, response, seed, kind):
    """Slice means and second moment, with many equal responses, in every kind of slices; the bound is one number."""
    y, numbers = np.array(responses, dtype=float), np.random.default_rng(seed)
    X = numbers.choice([-2.0, -1.0, 0.3, 1.0], (9, 2))
    slices = {
        "public": lambda b: public_slices(fixed([0.5, 2.5])),
        "quantile": lambda b: equal_frequency(b, 3),
        "labels": lambda b: class_slices(fixed(np.arange(5.0))),
    }[kind]

    def made(a, b):
        return client_moments(a, b, slices(b), clip=BoxClip(fixed(R)))

    found, record = made(X, y), numbers.choice([-2.0, 2.0], 2)
    # A function of public numbers alone: another data set has the same.
    other = made(X[::-1], np.arange(9.0) % 5)
    for bounded, part in ((bounded_means, "means"), (bounded_second, "second")):
        certificate = bounded(found).certificate
        reached = moved(lambda a, b, part=part: getattr(made(a, b), part), X, y, record, response)
        assert reached <= certificate.value * (1 + 1e-12)
        assert bounded(other).certificate.value == certificate.value
    neighbour = X.copy(), y.copy()
    neighbour[0][0], neighbour[1][0] = record, response
    for whole in (whole_second, whole_second_and_mean, *(() if kind == "quantile" else (whole_slices,))):
        one, two = whole(found), whole(made(*neighbour))
        assert squared_move(one, two) <= one.squares == two.squares == whole(other).squares
        assert np.linalg.norm(one.value - two.value) <= one.certificate.value * (1 + 1e-12)


def test_certificates_equal_those_of_the_privacy_core():
    X, y = data()
    core = slice_means(X, y, fixed(EDGES), box=fixed(R))
    for mine in (bounded_means(clipped(X, y), stratum="clients/1"), whole_slices(clipped(X, y), stratum="clients/1")):
        # Each entry of a record is rounded by half a step of 2^-20.
        np.testing.assert_allclose(mine.value.ravel()[: H * P], core.value.ravel(), rtol=0, atol=R * 2**-21)
        assert mine.certificate.value == pytest.approx(core.certificate.value, rel=1e-12)
        assert (mine.certificate.unit, mine.certificate.relation, mine.stratum) == ("row", "replace_one", "clients/1")
    for second in (bounded_second, whole_second, whole_second_and_mean):
        assert second(clipped(X, y)).certificate.depends_on == {"features"}


def table(found):
    """Slice means and, below them, slice proportions, as they are released."""
    return np.vstack([found.means, found.counts / found.n])


def neighbour_share(X, y, statistic, extreme):
    """Largest squared move over random neighbours and some given ones, as a share of D2, in exact arithmetic."""
    base, numbers, shares = statistic(X, y), rng("neighbours"), []
    tried = [(10 * numbers.standard_normal(X.shape[1]), 3 * numbers.standard_normal()) for _ in range(60)]
    for record, response in (*tried, *extreme):
        other_X, other_y = X.copy(), y.copy()
        other_X[0], other_y[0] = record, response
        shares.append(squared_move(base, statistic(other_X, other_y)) / base.squares)
    return max(shares)


def test_proportions_beside_slice_means_cost_nothing():
    """A record that changes its slice moves 2 L / n, as much as one that changes its sign: both reach the bound."""
    X, y = data()
    X[0], y[0] = 9.0, 0.0
    sensitivity = whole_slices(clipped(X, y)).certificate.value
    assert sensitivity == pytest.approx(means_sensitivity(clipped(X, y)), rel=1e-15)
    assert whole_slices(clipped(X, y)).weights[-1] == P
    for extreme in ((np.full(P, -9.0), 0.0), (np.full(P, 9.0), 5.0), (np.where(np.arange(P) % 2, 9.0, -9.0), 5.0)):
        assert neighbour_share(X, y, lambda a, b: whole_slices(clipped(a, b)), [extreme]) == 1
    plain = np.zeros((2, P))
    ball = neighbour_share(
        plain,
        np.zeros(2),
        lambda a, b: whole_slices(client_moments(a, b, public_slices(fixed(EDGES)), clip=BallClip(fixed(C)))),
        [(np.eye(P)[0] * 9, 5.0)],
    )
    assert 0.5 < ball <= 1


def test_the_mean_beside_the_second_moment_is_in_its_certificate():
    """sqrt(2) (S^2 + c^2) / n: records at an angle whose cosine is -c^2 / S^2 reach it."""
    slices, p = public_slices(fixed(EDGES)), 2
    cosine = -MEAN_SHARE
    X, y = np.zeros((4, p)), np.zeros(4)
    X[0] = [9.0, 0.0]
    other = 9 * np.array([cosine, math.sqrt(1 - cosine**2)])

    def statistic(a, b):
        return whole_second_and_mean(client_moments(a, b, slices, clip=BallClip(fixed(C))))

    # The constant is a whole number of steps, and so are the records.
    assert statistic(X, y).certificate.value == pytest.approx(math.sqrt(2) * C**2 * (1 + MEAN_SHARE) / 4, rel=1e-6)
    assert 1 - 1e-5 < neighbour_share(X, y, statistic, [(other, 0.0)]) <= 1
    assert neighbour_share(X, y, statistic, [(-X[0], 0.0)]) <= 1


def test_the_mean_beside_many_columns_is_exact():
    """Its products with the constant exceed 2^53, where floats skip whole numbers."""
    p, n = 400, 5000
    X = np.ones((n, p))
    X[:, 1] = -1.0
    X[0, 0] = 1.0 - 2.0**-20
    moments = client_moments(X, np.zeros(n), public_slices(fixed(EDGES)), clip=BoxClip(fixed(R)))
    found = whole_second_and_mean(moments).integers[-p:]
    assert found.dtype == np.int64 and found.max() > 2**53
    assert found.tolist()[:3] == [mean_weight(moments) * k for k in (n * 2**20 - 1, -n * 2**20, n * 2**20)]


def test_isometry():
    A = np.arange(16.0).reshape(4, 4)
    A += A.T
    assert np.linalg.norm(to_vector(A)) == pytest.approx(np.linalg.norm(A), rel=1e-15)
    np.testing.assert_allclose(to_matrix(to_vector(A), 4), A, rtol=1e-15)


def test_noise_has_the_analytic_level():
    """sigma on M and on the diagonal of S, sigma / sqrt(2) off it."""
    found = clipped(*data())
    released = [certified.release_slices(found, 1.0, DELTA, rng("M", k), owner="c").value for k in range(800)]
    noise = np.array(released) - table(found)
    sigma = analytic_gaussian_sigma(1.0, DELTA, 2 * R * math.sqrt(P) / N)
    assert accepts_sigma(noise[:, :-1], sigma) and not accepts_sigma(noise[:, :-1], 1.1 * sigma)
    assert accepts_sigma(noise[:, -1], sigma / (R * math.sqrt(P)))
    second = np.array(
        [certified.release_second(found, 1.0, DELTA, rng("S", k), owner="c").value - found.second for k in range(800)]
    )
    assert np.array_equal(second, second.transpose(0, 2, 1))
    sigma = analytic_gaussian_sigma(1.0, DELTA, math.sqrt(2) * P * R**2 / N)
    diagonal, upper = second[:, np.arange(P), np.arange(P)], second[:, *np.triu_indices(P, 1)]
    assert accepts_sigma(diagonal, sigma) and accepts_sigma(upper, sigma / math.sqrt(2))
    assert not accepts_sigma(upper, sigma)


def test_one_draw_of_the_noise_serves_every_budget():
    found = clipped(*data())
    one, two = (certified.release_slices(found, eps, DELTA, rng("same"), owner="c").value for eps in (1.0, 2.0))
    scale = gdp_mu(2.0, DELTA) / gdp_mu(1.0, DELTA)
    # Both are rounded to whole steps.
    np.testing.assert_allclose(one - table(found), scale * (two - table(found)), rtol=0, atol=2 * 2**-20 / N)
    exact = certified.release_slices(found, math.inf, DELTA, rng("same"), owner="c")
    np.testing.assert_allclose(exact.value, table(found), rtol=1e-14)
    assert exact.event.mu == math.inf
    exact = certified.release_second(found, math.inf, DELTA, rng("same"), owner="c")
    np.testing.assert_allclose(exact.value, found.second, rtol=1e-14)
    exact = certified.release_second(found, math.inf, DELTA, rng("same"), owner="c", mirrored=True)
    np.testing.assert_allclose(exact.value, found.second, rtol=1e-14)


def test_the_published_shape_has_one_deviation():
    """Mirrored: the whole upper triangle at the level of the diagonal."""
    found = clipped(*data())
    terms = {"owner": "c", "mirrored": True}
    second = [certified.release_second(found, 1.0, DELTA, rng("S", k), **terms) for k in range(800)]
    noise = np.array([one.value for one in second]) - found.second
    assert np.array_equal(noise, noise.transpose(0, 2, 1))
    assert accepts_sigma(noise[:, *np.triu_indices(P)], second[0].event.sensitivity / second[0].event.mu)
    assert second[0].event.sensitivity == pytest.approx(second_sensitivity(found), rel=1e-12)


def test_what_a_protocol_costs():
    """The releases of a client compose; clients are strata and do not add up; the sum of the epsilons is larger."""
    found = clipped(*data())
    releases = []
    for k in range(5):
        terms = {"owner": f"client {k}", "stratum": f"clients/{k}", "epsilon_claimed": 1.0}
        first = certified.release_second(found, 1.0, DELTA, rng("S", k), **terms)
        root = replace(first, value=inverse_root(first.value)[0])
        white = whitened_means(*data(), public_slices(fixed(EDGES)), root, fixed(C))
        second = certified.release_slices(white, 1.0, DELTA, rng("z", k), **terms)
        assert second.event.data_dependent_parameters == (first.event.release_id,)
        releases += [first, second]
    total = Ledger([release.event for release in releases]).total(["server"], "row", 2 * DELTA)
    mu = compose_mu([float(gdp_mu(1.0, DELTA))] * 2)
    assert total.epsilon_certified == pytest.approx(gaussian_epsilon(mu, 2 * DELTA), rel=1e-9)
    assert total.epsilon_certified < 2.0


@pytest.mark.parametrize("model", ["III", "V"])
def test_without_noise_federation_is_pooling(model):
    """Both rounds, K clients with equal public edges, any split: the pooled result to 1e-10."""
    X, y = data(900, 10, model)
    slices = public_slices(fixed(np.quantile(y, np.arange(1, 8) / 8)))
    parts = np.split(rng("split").permutation(900), [100, 130, 600])
    noise = (math.inf, DELTA, rng("none"))

    def protocol(rows):
        clients = [client_moments(X[r], y[r], slices, clip=BoxClip(fixed(R)), bits=20) for r in rows]
        weights = [one.n for one in clients]
        released = np.array([certified.release_slices(one, *noise, owner="c").value for one in clients])
        both = np.array([certified.release_second_and_mean(one, *noise, owner="c").value for one in clients])
        M, mean = certified.about_the_mean(np.average(released, axis=0, weights=weights))
        merged = np.average(both, axis=0, weights=weights)
        np.testing.assert_allclose(merged[-1], mean, atol=1e-12)
        covariance = certified.covariance_of(merged[:-1], mean)
        root = inverse_root(covariance)[0]
        white = [whitened_means(X[r], y[r], slices, fixed(root), fixed(C), shift=fixed(mean)) for r in rows]
        z = np.array([certified.release_slices(one, *noise, owner="c").value for one in white])
        return aggregate(M[None], [1], covariance, 2).basis, certified.unwhiten(z, weights, covariance, 2).basis

    federated, pooled = protocol(parts), protocol([np.arange(900)])
    assert projection_loss(federated[0], pooled[0]) < 1e-10
    assert projection_loss(federated[1], pooled[1]) < 1e-10
    assert projection_loss(federated[0], pooled[1]) > 1e-4


def test_releases_go_into_the_servers_estimate_as_they_are_for_as_many_slices_as_columns():
    """A matrix (H, p) in place of (p, H) went through unnoticed where H = p, and gave another subspace."""
    X, y = data(900, 8)
    slices = public_slices(fixed(np.quantile(y, np.arange(1, 8) / 8)))
    clients = [client_moments(X[r], y[r], slices, clip=BoxClip(fixed(R))) for r in np.split(np.arange(900), 3)]
    noise, weights = (math.inf, DELTA, rng("none")), [one.n for one in clients]
    means = [certified.release_slices(one, *noise, owner="c").post_process(lambda value: value[:-1]) for one in clients]
    seconds = [certified.release_second(one, *noise, owner="c") for one in clients]
    assert means[0].value.shape == (8, 8)
    pooled = merge(clients)
    wanted = aggregate(pooled.means[None], [1], pooled.second, 1).basis
    assert projection_loss(aggregate(means, weights, seconds, 1).basis, wanted) < 1e-10
    turned = aggregate([release.value.T for release in means], weights, seconds, 1).basis
    assert projection_loss(turned, wanted) > 0.5
    with pytest.raises(ValueError, match=r"means of shape \(3, 8, 7\) .*slice means are \(K, p, H\)"):
        aggregate([release.value[:, :7] for release in means], weights, np.eye(9), 1)


def test_certified_releases_refuse_what_has_no_proof():
    X, y = data()
    quantile = client_moments(X, y, equal_frequency(y, H), clip=BoxClip(fixed(R)))
    with pytest.raises(CertificationError, match="edges='quantile'"):
        certified.release_slices(quantile, 1.0, DELTA, rng("x"), owner="c")
    raw = clipped(X, y, radius=None)
    for release in (certified.release_slices, certified.release_second, certified.release_second_and_mean):
        with pytest.raises(CertificationError, match="clip=None"):
            release(raw, 1.0, DELTA, rng("x"), owner="c")
    classes = client_moments(
        X, np.where(y > 0, "up", "down"), class_slices(fixed(["up", "down"])), clip=BoxClip(fixed(R))
    )
    assert certified.release_slices(classes, 1.0, DELTA, rng("x"), owner="c").event.certified
    # The second moment does not read the slices: quantile ones do not matter to it.
    assert certified.release_second(quantile, 1.0, DELTA, rng("x"), owner="c").event.certified


@pytest.mark.parametrize(
    ("epsilon", "delta", "message"),
    [
        (0.0, 1e-3, "epsilon=0.0"),
        (-1.0, 1e-3, "epsilon=-1.0"),
        (math.nan, 1e-3, "epsilon=nan"),
        (1.0, 0.0, "delta=0.0"),
        (1.0, 1.0, "delta=1.0"),
        (1.0, -1e-3, "delta=-0.001"),
    ],
)
def test_bad_budgets_are_named(epsilon, delta, message):
    found = clipped(*data())
    for release in (certified.release_slices, certified.release_second, certified.release_second_and_mean):
        with pytest.raises(ValueError, match=message):
            release(found, epsilon, delta, rng("x"), owner="c")


def test_a_large_delta_is_warned_of():
    with pytest.warns(UserWarning, match="not below 1/n"):
        check_budget(1.0, 1 / N, N)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_budget(1.0, 0.999 / N, N)


def test_a_client_of_one_record_and_an_empty_slice_are_legal():
    X, y = data()
    one = clipped(X[:1], y[:1])
    release = certified.release_slices(one, 1.0, 0.5, rng("x"), owner="c")
    assert release.value.shape == (P + 1, H) and one.empty == H - 1
    joined = merge([one, clipped(X[1:], y[1:])])
    assert np.array_equal(joined.sums, clipped(X, y).sums)


def test_what_moments_were_made_with_travels_to_their_release():
    """A radius, edges, a root or a shift of the data leave nothing certified, and bare ones are refused."""
    X, y = data()
    taken = Clear(R, units=("row",), owner="c")
    own = Clear(np.quantile(y, [0.3, 0.6]), units=("row",), owner="c")
    root = Clear(np.eye(X.shape[1]), units=("row",), owner="c")
    shift = Clear(X.mean(axis=0), units=("row",), owner="c")
    edges = public_slices(fixed(EDGES))
    plain = client_moments(X, y, edges, clip=BoxClip(fixed(R)))
    made = {
        "public": plain,
        "radius": client_moments(X, y, edges, clip=BoxClip(taken)),
        "edges": client_moments(X, y, public_slices(own), clip=BoxClip(fixed(R))),
        "root": whitened_means(X, y, edges, root, fixed(C)),
        "mean": whitened_means(X, y, edges, fixed(np.eye(P)), fixed(C), shift=shift),
        "ball": client_moments(X, y, edges, clip=BallClip(taken)),
        "shift": client_moments(X, y, edges, clip=BoxClip(fixed(R)), shift=shift),
    }
    for name, moments in made.items():
        for release in (certified.release_slices, certified.release_second, certified.release_second_and_mean):
            event = release(moments, 1.0, 1e-5, rng(name), owner="c").event
            # The second moment has no slices.
            certain = name == "public" or (name == "edges" and release is not certified.release_slices)
            total = Ledger([event]).total("server", "row", DELTA)
            assert math.isfinite(total.epsilon_certified) is certain, (name, release.__name__)
    for release in (certified.release_slices, certified.release_second, certified.release_second_and_mean):
        with pytest.raises(CertificationError, match="about the mean of the records"):
            release(centre(plain), 1.0, 1e-5, rng("centre"), owner="c")
    for call in (
        lambda: client_moments(X, y, edges, clip=BoxClip(R)),
        lambda: client_moments(X, y, edges, clip=BoxClip(fixed(R)), shift=X.mean(axis=0)),
        lambda: public_slices(EDGES),
        lambda: class_slices([0, 1]),
        lambda: whitened_means(X, y, edges, np.eye(X.shape[1]), fixed(C)),
        lambda: whitened_means(X, y, edges, fixed(np.eye(P)), fixed(C), shift=X.mean(axis=0)),
        lambda: client_moments(X, y, edges, clip=BallClip(C)),
    ):
        with pytest.raises(TypeError, match="must state its origin"):
            call()


@pytest.mark.parametrize("model", ["III", "V"])
def test_integers_give_the_estimate_that_floats_give(model, monkeypatch):
    """The same normals on records as they are, in floats: the loss of ten clients differs by less than 10^-4 of it."""
    K, n, p, epsilon = 10, 500, 10, 1.0
    beta = models.directions(model, p, rng("beta", model))
    X, y, _ = models.draw(model, K * n, p, rng("floats", model), beta=beta)
    slices, d = public_slices(fixed(np.quantile(y, np.arange(1, 8) / 8))), beta.shape[1]
    normals, drawn = rng("normals", model), []

    def rounded(words, sigma, size):
        drawn.append(normals.standard_normal(size))
        return np.rint(np.asarray(sigma) * drawn[-1]).astype(np.int64)

    monkeypatch.setattr(integer, "draw_wide_integers", rounded)
    ways = {"integers": ([], []), "floats": ([], [])}
    for rows in np.split(np.arange(K * n), K):
        found = client_moments(X[rows], y[rows], slices, clip=BoxClip(fixed(R)))
        plain = client_moments(np.clip(X[rows], -R, R), y[rows], slices)
        terms = {"owner": "c"}
        ways["integers"][0].append(certified.release_slices(found, epsilon, DELTA, rng("x"), **terms).value)
        ways["integers"][1].append(certified.release_second(found, epsilon, DELTA, rng("x"), **terms).value)
        z, w = drawn[-2:]
        mu = gdp_mu(epsilon, DELTA)
        means = plain.means + means_sensitivity(found) / mu * z[: 8 * p].reshape(8, p).T
        shares = plain.counts / n + 2 / n / mu * z[8 * p :]
        ways["floats"][0].append(np.vstack([means, shares]))
        ways["floats"][1].append(plain.second + second_sensitivity(found) / mu * to_matrix(w, p))
    losses = {}
    for name, (means, seconds) in ways.items():
        M, mean = certified.about_the_mean(np.mean(means, axis=0))
        basis = aggregate(M[None], [1], certified.covariance_of(np.mean(seconds, axis=0), mean), d).basis
        losses[name] = projection_loss(basis, beta)
    assert losses["integers"] == pytest.approx(losses["floats"], rel=1e-4) and losses["floats"] > 0.05
    assert losses["integers"] != losses["floats"]


def whitened(a, b):
    root = np.eye(P) + 0.3 * np.ones((P, P))
    return whole_slices(whitened_means(a, b, public_slices(fixed(EDGES)), fixed(root), fixed(C)))


def of_ball(made):
    return lambda a, b: made(client_moments(a, b, public_slices(fixed(EDGES)), clip=BallClip(fixed(C))))


@pytest.mark.parametrize(
    ("statistic", "least"),
    [
        (lambda a, b: whole_slices(clipped(a, b)), 1),
        (of_ball(whole_slices), 0.98),
        (whitened, 0.98),
        (lambda a, b: whole_second(clipped(a, b)), 1),
        (of_ball(whole_second), 0.98),
        (lambda a, b: whole_second(clipped(a, b), mirrored=True), 0.5),
        (lambda a, b: whole_second_and_mean(clipped(a, b)), 0.9),
        (of_ball(whole_second_and_mean), 0.9),
    ],
    ids=["slices", "ball", "whitened", "second", "second, ball", "mirrored", "mean", "mean, ball"],
)
def test_no_record_moves_whole_statistics_further_than_stated(statistic, least):
    """Corners, axes, huge, tiny, tied and not finite records, in every slice, in exact arithmetic."""
    numbers, half = rng("adversarial"), np.where(np.arange(P) % 2, -9.0, 9.0)
    given = [np.full(P, 9.0), np.full(P, -9.0), half, -half, 9 * np.eye(P)[0], -9 * np.eye(P)[0], 9 * np.eye(P)[1]]
    given += [np.zeros(P), np.full(P, 1e300), np.full(P, 1e-300), np.full(P, np.nan), np.full(P, np.inf), np.inf * half]
    X, y = data(40)

    def made(record, response):
        X[0], y[0] = record, response
        return statistic(X, y)

    low, high = ([made(record, response) for record in given] for response in (0.0, 9.0))
    pairs = [*combinations(low, 2), *product(low, high)]
    for _ in range(60):
        records = 10.0 ** numbers.uniform(-2, 2) * numbers.standard_normal((2, P))
        pairs.append(tuple(map(made, records, numbers.choice([-2.0, 0.0, np.inf], 2))))
    assert least * low[0].squares <= max(squared_move(*pair) for pair in pairs) <= low[0].squares
