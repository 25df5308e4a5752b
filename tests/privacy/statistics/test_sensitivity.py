"""Certificates hold for every pair of neighbours, and adversarial neighbours reach them."""

import math

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fixed import fixed
from partywise.core.randomness import stream
from partywise.methods.functional.bases import BSplineBasis
from partywise.privacy.statistics.bounded import Bounded, SensitivityCertificate, clip_curves
from partywise.privacy.statistics.geometry import Ball, mahalanobis
from partywise.privacy.statistics.moments import covariance, cross_moment, record_sum, second_moment
from partywise.privacy.statistics.records import clipped_coefficients, count_at_most, label_dot_product

ENTRIES = st.floats(-1e6, 1e6)
RADII = st.floats(1e-3, 1e3)
# Certificates are proved for real numbers; the last digits of a float may exceed them.
ROUNDING = 1 + 1e-12


def records(n, q):
    return arrays(float, (n, q), elements=ENTRIES)


def neighbours(draw, n, q):
    """A data set and the same one with one record replaced."""
    first = draw(records(n, q))
    second = first.copy()
    second[draw(st.integers(0, n - 1))] = draw(arrays(float, q, elements=ENTRIES))
    return first, second


def gram_matrix(seed, q):
    factor = stream(seed, "gram").standard_normal((q, q + 2))
    return factor @ factor.T / q


def metric_length(difference, gram):
    return float(np.sqrt(np.sum((difference @ gram) * difference)))


@given(st.data(), RADII, st.integers(0, 20))
def test_clipped_coefficients_move_by_at_most_the_bound(data, radius, seed):
    gram = gram_matrix(seed, 3)
    first, second = neighbours(data.draw, 4, 3)
    one, other = (clipped_coefficients(c, fixed(gram), fixed(radius)) for c in (first, second))
    assert metric_length(one.value - other.value, gram) <= one.certificate.value * ROUNDING
    assert one.certificate.value == 2 * radius


@given(st.data(), RADII)
def test_second_moments_move_by_at_most_the_bound(data, radius):
    one, other = (second_moment(z, fixed(radius)) for z in neighbours(data.draw, 4, 3))
    difference = one.value - other.value
    assert np.linalg.norm(difference[np.triu_indices(3)]) <= one.certificate.value * ROUNDING
    assert np.linalg.norm(difference) <= one.certificate.value * ROUNDING
    assert np.array_equal(one.value, one.value.T)


@given(st.data(), RADII, RADII, st.sampled_from(["both", "x", "y"]))
def test_cross_moments_move_by_at_most_the_bound(data, radius_x, radius_y, changed):
    first, second = neighbours(data.draw, 4, 5)
    x, y = first[:, :3], first[:, 3:]
    other_x, other_y = second[:, :3] if changed != "y" else x, second[:, 3:] if changed != "x" else y
    one, other = (
        cross_moment(x, y, fixed(radius_x), fixed(radius_y)),
        cross_moment(other_x, other_y, fixed(radius_x), fixed(radius_y)),
    )
    assert np.linalg.norm(one.value - other.value) <= one.certificate.value * ROUNDING


@given(st.data(), RADII)
def test_record_sums_move_by_at_most_the_bound(data, radius):
    one, other = (record_sum(z, fixed(radius)) for z in neighbours(data.draw, 4, 3))
    assert np.linalg.norm(one.value - other.value) <= one.certificate.value * ROUNDING


@given(st.data(), ENTRIES)
def test_counts_move_by_at_most_one(data, threshold):
    one, other = (count_at_most(z[:, 0], fixed(threshold)) for z in neighbours(data.draw, 5, 1))
    assert abs(float(one.value) - float(other.value)) <= 1 == one.certificate.value


@given(st.data(), RADII, st.booleans())
def test_covariances_move_by_at_most_the_bound(data, radius, centered):
    one, other = (covariance(z, fixed(radius), centered=centered) for z in neighbours(data.draw, 4, 3))
    assert np.linalg.norm(one.value - other.value) <= one.certificate.value * ROUNDING
    assert np.array_equal(one.value, one.value.T)


@given(records(5, 3), arrays(float, 5, elements=st.sampled_from([0.0, 1.0])), st.integers(0, 4))
def test_label_dot_products_move_by_at_most_the_bound(x, y, flipped):
    other = y.copy()
    other[flipped] = 1 - y[flipped]
    one, two = (label_dot_product(x, labels) for labels in (y, other))
    # Sums of entries up to 1e6 that cancel leave rounding in proportion to the entries, not to the difference.
    slack = 1e-15 * np.abs(x).sum()
    # Squares of entries near 1e-160 have few digits: numpy's norm of them is off by 2e-8, hypot's is not.
    assert math.hypot(*(one.value - two.value)) <= one.certificate.value * ROUNDING + slack


def test_certificates_of_tiny_features_have_all_digits():
    x = np.full((5, 3), 3.54404447e-158)
    assert label_dot_product(x, np.zeros(5)).certificate.value == pytest.approx(math.hypot(*x[0]) / 5, rel=1e-15)


def test_the_longest_record_reaches_the_bound_of_a_label_dot_product():
    x, y = stream(1, "x").standard_normal((50, 4)), np.tile([0.0, 1.0], 25)
    longest = np.argmax(np.linalg.norm(x, axis=1))
    other = y.copy()
    other[longest] = 1 - y[longest]
    one, two = label_dot_product(x, y), label_dot_product(x, other)
    assert np.linalg.norm(one.value - two.value) == pytest.approx(one.certificate.value, rel=1e-12)
    assert one.certificate.value == pytest.approx(np.linalg.norm(x[longest]) / 50, rel=1e-14)
    certificate = one.certificate
    assert (certificate.unit, certificate.relation, certificate.norm) == ("label", "label_flip", "l2")
    assert certificate.depends_on == {"label", "features"}
    np.testing.assert_allclose(one.value, x.T @ y / 50, rtol=1e-14)


def test_covariances_are_covariances_of_clipped_records():
    x = stream(1, "x").standard_normal((30, 3))
    np.testing.assert_allclose(covariance(x, fixed(100.0)).value, np.cov(x.T, bias=True), rtol=1e-12)
    np.testing.assert_allclose(covariance(x, fixed(100.0), centered=False).value, x.T @ x / 30, rtol=1e-12)
    clipped, share = clip_curves(x, None, 1.0)
    bounded = covariance(x, fixed(1.0))
    np.testing.assert_allclose(bounded.value, np.cov(clipped.T, bias=True), rtol=1e-12)
    assert bounded.clip_share == share and bounded.certificate.unit == "features"
    assert bounded.certificate.value == pytest.approx((np.sqrt(2) + 4) / 30, rel=1e-15)
    assert covariance(x, fixed(2.0), centered=False).certificate.value == pytest.approx(4 * np.sqrt(2) / 30, rel=1e-15)


@pytest.mark.parametrize("n", [20, 200, 2000])
def test_adversarial_neighbours_of_a_centred_covariance(n):
    """All records but one at -u: the last one goes from there to u and moves the variance along u by 4 (1 - 1/n) / n.

    That is 0.74 (1 - 1/n) of the bound. Nothing larger was found (see the search below), so the bound is loose by
    a quarter and safe.
    """
    rest = np.tile([-1.0, 0.0], (n, 1))
    other = rest.copy()
    other[0] = [1.0, 0.0]
    one, two = covariance(rest, fixed(1.0)), covariance(other, fixed(1.0))
    found = np.linalg.norm(one.value - two.value)
    assert found * n == pytest.approx(4 * (1 - 1 / n), rel=1e-10)
    assert 0.7 <= found / one.certificate.value <= ROUNDING


def test_random_search_of_a_centred_covariance_stays_below_the_adversary():
    rng, n, best = stream(1, "search"), 20, 0.0
    for _ in range(600):
        first = rng.standard_normal(2)
        rest = -first * rng.choice([0.5, 1.0, 2.0]) + rng.choice([0.0, 0.3, 1.0]) * rng.standard_normal((n - 1, 2))
        second = rng.choice([-1, 0.3, 1.0]) * first + rng.choice([0.0, 0.3, 1.0]) * rng.standard_normal(2)
        one, two = (covariance(np.vstack([rest, record]), fixed(1.0)) for record in (first, second))
        best = max(best, n * np.linalg.norm(one.value - two.value))
    # 3.80 = 4 (1 - 1/20); the certificate says 5.41.
    assert 0.95 * 3.8 <= best <= 3.8 * ROUNDING


@pytest.mark.parametrize("statistic", ["clipped", "second", "sum", "cross", "uncentred"])
def test_random_search_finds_seven_tenths_of_every_other_bound(statistic):
    call = {
        "clipped": lambda z: clipped_coefficients(z, None, fixed(1.0)),
        "second": lambda z: second_moment(z, fixed(1.0)),
        "sum": lambda z: record_sum(z, fixed(1.0)),
        "cross": lambda z: cross_moment(z, np.ones((3, 1)), fixed(1.0), fixed(1.0)),
        "uncentred": lambda z: covariance(z, fixed(1.0), centered=False),
    }[statistic]
    rng, best = stream(1, "search", statistic), 0.0
    for _ in range(200):
        first = 3 * rng.standard_normal((3, 2))
        second = first.copy()
        second[0] = 3 * rng.standard_normal(2)
        one, two = call(first), call(second)
        best = max(best, float(np.linalg.norm(one.value - two.value)) / one.certificate.value)
    assert 0.7 <= best <= ROUNDING


def adversarial_pairs():
    """Statistic, neighbours and the norm of the certificate: constructed to reach the bound."""
    gram = gram_matrix(1, 4)
    far = 1e6 * np.eye(4)
    rest = stream(0, "rest").standard_normal((6, 4))

    def with_record(record):
        return np.vstack([rest, record])

    yield (
        "clipped",
        lambda z: clipped_coefficients(z, fixed(gram), fixed(2.0)),
        with_record(far[0]),
        with_record(-far[0]),
        gram,
    )
    yield "second moment", lambda z: second_moment(z, fixed(2.0)), with_record(far[0]), with_record(far[1]), None
    yield "record sum", lambda z: record_sum(z, fixed(2.0)), with_record(far[0]), with_record(-far[0]), None
    ones = np.ones((7, 1))
    yield (
        "cross",
        lambda z: cross_moment(z, ones, fixed(2.0), fixed(1.0)),
        with_record(far[0]),
        with_record(-far[0]),
        None,
    )
    yield (
        "uncentred",
        lambda z: covariance(z, fixed(2.0), centered=False),
        with_record(far[0]),
        with_record(far[1]),
        None,
    )
    yield "count", lambda z: count_at_most(z[:, 0], fixed(5.0)), with_record(far[0]), with_record(-far[0]), None


@pytest.mark.parametrize(("statistic", "first", "second", "gram"), [p[1:] for p in adversarial_pairs()])
def test_adversarial_neighbours_reach_the_bound(statistic, first, second, gram):
    one, other = statistic(first), statistic(second)
    difference = np.atleast_2d(one.value - other.value)
    found = metric_length(difference, np.eye(difference.shape[-1]) if gram is None else gram)
    assert 0.7 <= found / one.certificate.value <= ROUNDING


def test_unit_vectors_reach_the_second_moment_bound_in_the_upper_triangle():
    one, other = second_moment([[1.0, 0.0]], fixed(1.0)), second_moment([[0.0, 1.0]], fixed(1.0))
    found = np.linalg.norm((one.value - other.value)[np.triu_indices(2)])
    assert found == pytest.approx(one.certificate.value, rel=1e-15) == pytest.approx(np.sqrt(2))


@given(records(5, 3), RADII, st.integers(0, 20))
def test_clipping_keeps_short_curves_and_shortens_long_ones(c, radius, seed):
    gram = gram_matrix(seed, 3)
    clipped, share = clip_curves(c, gram, radius)
    lengths = np.array([metric_length(row, gram) for row in clipped])
    before = np.array([metric_length(row, gram) for row in c])
    assert np.all(lengths <= radius * ROUNDING)
    short = before < radius * (1 - 1e-9)
    assert np.array_equal(clipped[short], c[short])
    assert share <= np.mean(~short)
    again, _ = clip_curves(clipped, gram, radius)
    np.testing.assert_allclose(again, clipped, rtol=1e-12)


def test_clipping_extremes():
    clipped, share = clip_curves(np.array([[1e200, -1e200], [1e-320, 0], [0, 0]]), None, 1.0)
    assert np.linalg.norm(clipped[0]) == pytest.approx(1.0, rel=1e-12) and share == pytest.approx(1 / 3)
    unclipped, share = clip_curves(np.ones((2, 3)), None, np.inf)
    assert np.array_equal(unclipped, np.ones((2, 3))) and share == 0
    several, _ = clip_curves(np.ones((2, 2, 4)), np.eye(4), np.array([1.0, 5.0]))
    np.testing.assert_allclose(np.linalg.norm(several, axis=-1), [[1, 2], [1, 2]])


def test_several_curves_of_one_record_move_together():
    c = np.ones((3, 2, 4)) * 100
    bounded = clipped_coefficients(c, fixed(np.eye(4)), fixed(np.array([3.0, 4.0])))
    other = clipped_coefficients(-c, fixed(np.eye(4)), fixed(np.array([3.0, 4.0])))
    assert bounded.certificate.value == 10.0
    assert np.linalg.norm(bounded.value[0] - other.value[0]) == pytest.approx(10.0)
    assert bounded.clip_share == 1.0


@given(st.integers(0, 200), st.floats(0.1, 10))
def test_the_worst_difference_of_a_ball_is_found_exactly(seed, radius):
    metric, sigma = gram_matrix(seed, 4), gram_matrix(seed + 1000, 4)
    worst = mahalanobis(Ball(radius, metric), sigma)
    # d' Sigma^-1 d over d' M d <= r^2: the largest generalised eigenvalue, and its vector reaches it.
    values, vectors = scipy.linalg.eigh(np.linalg.inv(sigma), metric)
    assert worst == pytest.approx(radius * np.sqrt(values[-1]), rel=1e-8)
    reached = radius * vectors[:, -1] / np.sqrt(vectors[:, -1] @ metric @ vectors[:, -1])
    assert mahalanobis(reached, sigma) == pytest.approx(worst, rel=1e-8)
    directions = stream(seed, "directions").standard_normal((200, 4))
    directions *= radius / np.sqrt(np.sum((directions @ metric) * directions, axis=1))[:, None]
    assert mahalanobis(directions, sigma) <= worst * ROUNDING


def test_balls_and_finite_sets_in_plain_coordinates():
    sigma = np.diag([4.0, 0.25])
    assert mahalanobis(Ball(3.0), sigma) == pytest.approx(6.0)
    assert mahalanobis(np.array([[2.0, 0.0], [0.0, 1.0]]), sigma) == pytest.approx(2.0)
    assert mahalanobis(Ball(0.0), np.zeros((2, 2))) == 0
    assert mahalanobis(Ball(np.inf), np.eye(2)) == np.inf


def test_a_singular_covariance_is_infinite_only_along_its_null_space():
    sigma = np.array([[1.0, 1.0], [1.0, 1.0]])
    assert mahalanobis(Ball(1.0), sigma) == np.inf
    assert mahalanobis(np.array([1.0, -1.0]), sigma) == np.inf
    assert mahalanobis(np.array([1.0, 1.0]), sigma) == pytest.approx(1.0)
    assert mahalanobis(np.zeros((3, 2)), sigma) == 0


@pytest.mark.parametrize(
    ("sigma", "message"),
    [
        (np.diag([1.0, -0.339]), "lambda_min = -0.339"),
        (np.array([[1.0, 0.5], [0.0, 1.0]]), "not symmetric"),
        (np.ones((2, 3)), "square"),
        (np.array([[np.nan]]), "finite"),
    ],
)
def test_what_is_no_covariance_is_refused(sigma, message):
    with pytest.raises(ValueError, match=message):
        mahalanobis(Ball(1.0), sigma)


@pytest.mark.parametrize("domain", [(0, 1), (0, 24), (0, 365)])
@pytest.mark.parametrize("q", [7, 15, 30])
def test_the_right_noise_costs_the_same_in_every_basis_and_unit_of_time(q, domain):
    gram, s, radius = BSplineBasis(domain, q).gram, 0.2, 5.6
    right = mahalanobis(Ball(2 * radius, gram), s**2 * np.linalg.inv(gram))
    assert right == pytest.approx(2 * radius / s, rel=1e-10)


@pytest.mark.parametrize(
    ("q", "length", "lowest", "ratio"),
    [
        (8, 1, 0.006087, 2.70e4),
        (8, 100, 0.6087, 2.70),
        (15, 1, 0.003048, 1.08e5),
        (20, 100, 0.2184, 20.97),
        (20, 1, 0.002184, 2.097e5),
    ],
)
def test_the_published_geometry_multiplies_rho(q, length, lowest, ratio):
    gram, s, radius = BSplineBasis((0, length), q).gram, 0.2, 5.6
    assert np.linalg.eigvalsh(gram)[0] == pytest.approx(lowest, rel=2e-4)
    true = mahalanobis(Ball(2 * radius, gram), s**2 * gram) ** 2 / 2
    assert true / (2 * radius**2 / s**2) == pytest.approx(ratio, rel=5e-4 if ratio in (20.97, 2.097e5) else 5e-3)


def test_values_are_copied_and_read_only():
    source = np.ones((2, 2))
    bounded = record_sum(source, fixed(10.0))
    kept = Bounded(source, bounded.certificate)
    source[:] = 7
    assert np.array_equal(kept.value, np.ones((2, 2)))
    with pytest.raises(ValueError, match="read-only"):
        kept.value[0, 0] = 2


CERTIFICATE = {"value": 1.0, "norm": "l2", "unit": "row", "relation": "replace_one", "depends_on": {"label"}}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"value": -1.0}, "value=-1.0"),
        ({"value": np.nan}, "value=nan"),
        ({"norm": "l3"}, "norm='l3'"),
        ({"unit": "person"}, "unit='person'"),
        ({"relation": "swap"}, "relation='swap'"),
        ({"relation": "label_flip"}, "needs unit='label'"),
        ({"depends_on": set()}, "depends_on="),
        ({"depends_on": {"age"}}, "depends_on="),
        ({"norm": "mahalanobis"}, "metric"),
        ({"metric": np.eye(2)}, "metric"),
    ],
)
def test_bad_certificates_are_refused(changed, message):
    with pytest.raises(ValueError, match=message):
        SensitivityCertificate(**{**CERTIFICATE, **changed})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: clip_curves([[np.nan]], None, 1.0), "not finite"),
        (lambda: clip_curves([[1.0]], None, 0.0), "radius=0.0"),
        (lambda: clip_curves([[1.0, 2.0]], np.eye(3), 1.0), r"gram has shape \(3, 3\)"),
        (lambda: clip_curves([[1.0, 2.0]], np.diag([1.0, 0.0]), 1.0), "not positive definite"),
        (lambda: clip_curves([[1.0, 2.0]], np.array([[1.0, 0.5], [0.0, 1.0]]), 1.0), "not symmetric"),
        (lambda: second_moment([1.0], fixed(1.0)), r"z has shape \(1,\)"),
        (lambda: cross_moment(np.ones((2, 1)), np.ones((3, 1)), fixed(1.0), fixed(1.0)), "2 records and y has 3"),
        (lambda: count_at_most([[1.0]], fixed(1.0)), "values of shape"),
        (lambda: covariance(np.ones((0, 2)), fixed(1.0)), "no records"),
        (lambda: covariance([1.0], fixed(1.0)), r"x has shape \(1,\)"),
        (lambda: label_dot_product(np.ones((2, 1)), [0.0, 2.0]), "other than 0 and 1"),
        (lambda: label_dot_product(np.ones((2, 1)), [0.0]), "one label a record"),
        (lambda: label_dot_product(np.ones((0, 1)), []), "one label a record"),
        (lambda: label_dot_product([[np.inf], [1.0]], [0.0, 1.0]), "finite"),
        (lambda: Bounded(np.inf, SensitivityCertificate(**CERTIFICATE)), "not finite"),
    ],
)
def test_bad_statistics_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_statistic_without_a_certificate_cannot_be_bounded():
    with pytest.raises(TypeError, match="SensitivityCertificate"):
        Bounded(1.0, 2.0)
