"""Whole statistics: every record is clipped and rounded by itself, and its move is bounded in exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare, norm

from error_rates import accepts_covariance
from partywise.core.errors import CertificationError
from partywise.methods.functional.bases import BSplineBasis
from partywise.privacy.accounted_values import Public
from partywise.privacy.mechanisms.integer import IntegerGaussian
from partywise.privacy.mechanisms.random import SecureRandom, require_secure
from partywise.privacy.secure.fixed_point import whole_records
from partywise.privacy.statistics.clips import BallClip, BoxClip, NormClip, ball_squares, ball_steps
from partywise.privacy.statistics.records import unwhiten, whole_curves
from partywise.privacy.statistics.whole import (
    gram_squares,
    least_deviation,
    products_are_exact,
    root_up,
    step_bits,
    whole,
)

RNG = np.random.default_rng(0)


def public(radius):
    return Public(radius, because="a setting")


@pytest.mark.parametrize("slack", [0.0, 0.25])
def test_records_on_a_grid_stay_within_their_length(slack):
    """In exact arithmetic; with slack a share of the length stays free."""
    records = np.vstack([3 * RNG.standard_normal((200, 4)), np.eye(4), np.full((1, 4), 0.5)])
    steps, _ = whole_records(records, 1.0, 2.0**-30, slack=slack)
    longest = max(sum(int(entry) ** 2 for entry in record) for record in steps)
    most = (Fraction(1 - slack) * 2**30) ** 2
    assert most * Fraction(999, 1000) < longest <= most


def adversarial(p, radius, count=200):
    """Pairs of records: corners, opposite corners, orthogonal axes, huge, tiny, tied, not finite."""
    corner = np.full(p, radius)
    axis = np.zeros(p)
    axis[0] = radius
    other = np.roll(axis, 1) if p > 1 else -axis
    # Signs that are orthogonal to the corner, where there are as many of either.
    half = np.where(np.arange(p) % 2 == 0, radius, -radius)
    pairs = [(corner, -corner), (axis, -axis), (axis, other), (corner, half), (corner * 1e300, -corner * 1e-300)]
    pairs += [(np.full(p, np.nan), corner), (np.full(p, np.inf), np.full(p, -np.inf)), (corner, corner)]
    while len(pairs) < count:
        scale = 10.0 ** RNG.uniform(-3, 3)
        pairs.append((RNG.standard_normal(p) * scale * radius, RNG.standard_normal(p) * radius))
    return pairs


def test_bits_keep_second_moments_exact():
    assert [step_bits(n) for n in (1, 8192, 8193, 50_000, 10**6)] == [20, 20, 19, 18, 16]
    for n in (1, 3, 8192, 8193, 10**6, 2**33):
        assert n * 4 ** step_bits(n) <= 2**53
    with pytest.raises(ValueError, match=r"leave 9 bits"):
        step_bits(2**34)


@pytest.mark.parametrize("clip", [BoxClip(public(1.3)), BallClip(public(0.7))], ids=["box", "ball"])
@pytest.mark.parametrize("p", [1, 2, 7])
def test_no_neighbour_moves_a_sum_or_a_gram_further_than_stated(clip, p):
    bits = 12
    squares = clip.squares(p, bits)
    reached = {"sum": Fraction(0), "gram": Fraction(0)}
    for one, other in adversarial(p, clip.size):
        x, y = (clip.steps(record[None], bits).records[0] for record in (one, other))
        assert np.array_equal(x, np.rint(x)) and np.all(np.isfinite(x))
        rows = [[int(k) for k in row] for row in (x, y)]
        moved = sum((a - b) ** 2 for a, b in zip(*rows, strict=True))
        pairs = [(i, j) for i in range(p) for j in range(p)]
        gram = sum((rows[0][i] * rows[0][j] - rows[1][i] * rows[1][j]) ** 2 for i, j in pairs)
        assert moved <= 4 * squares and gram <= gram_squares(squares)
        reached["sum"] = max(reached["sum"], Fraction(moved, 4 * squares))
        reached["gram"] = max(reached["gram"], Fraction(gram, gram_squares(squares)))
    assert reached["sum"] >= 0.98
    # One column has x^2 alone, which moves by L^2, not by sqrt(2) L^2; an odd number of signs is not orthogonal.
    assert reached["gram"] >= (0.98 if p == 2 or (p > 2 and isinstance(clip, BallClip)) else 0.49)


def test_records_in_any_order_give_equal_integers():
    X = RNG.standard_normal((3000, 5)) * 3
    order = RNG.permutation(len(X))
    for clip in (BoxClip(public(2.0)), BallClip(public(3.0))):
        steps = clip.steps(X, step_bits(len(X))).records
        assert np.array_equal(steps.sum(axis=0), steps[order].sum(axis=0))
        assert np.array_equal(steps.T @ steps, steps[order].T @ steps[order])
    assert np.array_equal(
        BoxClip(public(2.0)).steps(X, 20).records[order], BoxClip(public(2.0)).steps(X[order], 20).records
    )


def test_a_ball_of_any_step_holds_every_record():
    X = RNG.standard_normal((20_000, 3)) * 10.0 ** RNG.uniform(-2, 2, (20_000, 1))
    for radius, step in ((1.0, 0.0137), (1.0, 0.3), (2.5, 2.5), (1.0, 3.0)):
        most, found = ball_squares(radius, step), ball_steps(X, radius, step).records
        assert most == math.floor(Fraction(radius) ** 2 / Fraction(step) ** 2)
        assert all(sum(int(k) ** 2 for k in row) <= most for row in found[:2000])
        assert np.all(np.abs(found * step - X)[np.linalg.norm(X, axis=1) < radius - 2 * step] <= step / 2 * (1 + 1e-9))
    with pytest.raises(ValueError, match=r"choose a larger step"):
        ball_squares(1.0, 1e-9)


def test_what_is_not_whole_is_refused():
    for entries in ([0.5], [np.nan], [np.inf], [2.0**53 + 2]):
        with pytest.raises(CertificationError, match="not all whole numbers"):
            whole(np.array(entries), 4, 1.0, "test")
    with pytest.raises(CertificationError, match="type uint8"):
        whole(np.zeros(2, dtype=np.uint8), 4, 1.0, "test")
    with pytest.raises(ValueError, match="step=0"):
        whole(np.zeros(2), 4, 0.0, "test")
    with pytest.raises(ValueError, match="weights"):
        whole(np.zeros(2), 4, 1.0, "test", weights=np.array([1, 0]))


def test_finer_steps_change_nothing_else():
    given = whole(np.array([3.0, -7.0]), 10, 0.25, "test", weights=np.array([1, 2]))
    fine = given.finer(5)
    assert np.array_equal(fine.value, given.value) and fine.integers.dtype == np.int64
    assert fine.squares == 10 * 4**5 and fine.certificate is given.certificate and fine.bits == 5
    large = whole(np.array([2.0**53]), 1, 1.0, "test").finer(20)
    assert large.integers.dtype == object and int(large.integers[0]) == 2**73


@pytest.mark.parametrize("squares", [Fraction(1, 3), Fraction(4 << 40), Fraction(2) * 7 * 4**20])
@pytest.mark.parametrize("mu", [0.1, 1.0, 3.7])
def test_the_deviation_is_the_least_float_that_is_enough(squares, mu):
    for honest in (Fraction(1), Fraction(1, 2), Fraction(5, 3)):
        s = least_deviation(squares, mu, honest)
        assert Fraction(s) ** 2 * Fraction(mu) ** 2 * honest >= squares
        assert Fraction(math.nextafter(s, 0)) ** 2 * Fraction(mu) ** 2 * honest < squares


def test_a_printed_sensitivity_is_rounded_up():
    for squares, step in ((Fraction(2), 0.1), (Fraction(4 * 3), 1e-7), (Fraction(7, 5), 3.0)):
        found = root_up(squares, step)
        assert Fraction(found) ** 2 >= squares * Fraction(step) ** 2
        assert found <= math.sqrt(squares) * step * (1 + 1e-15)


def test_products_of_this_machine_are_exact_at_the_limit():
    assert products_are_exact()
    assert 2**13 * 4 ** step_bits(2**13) == 2**53


GRAM = BSplineBasis((0.0, 1.0), 6).gram
# Orthonormal coordinates; the certified noise on coefficients; the published one, on coefficients and on orthonormal.
GEOMETRIES = {
    "orthonormal": (None, np.eye(6)),
    "raw": (GRAM, np.linalg.inv(GRAM)),
    "published": (GRAM, GRAM),
    "published, orthonormal": (None, GRAM @ GRAM),
}


def curves_of(records, sigma, metric, shape, radius=1.3):
    return whole_curves(
        records, NormClip(public(radius), None if metric is None else public(metric)), sigma / 1024, shape
    )


@pytest.mark.parametrize("name", GEOMETRIES)
@pytest.mark.parametrize("sigma", [0.02, 0.5, 7.0])
def test_no_neighbour_moves_a_curve_further_than_stated(name, sigma):
    metric, shape = GEOMETRIES[name]
    shape = (shape + shape.T) / 2
    # Of all curves of one length the one that noise hides least: its length in noise is the largest.
    root = np.eye(6) if metric is None else np.linalg.inv(np.linalg.cholesky(metric))
    worst = root.T @ np.linalg.eigh(root @ np.linalg.inv(shape) @ root.T)[1][:, -1] if metric is None else None
    if worst is None:
        values, vectors = np.linalg.eig(np.linalg.solve(metric, np.linalg.inv(shape)))
        worst = np.real(vectors[:, np.argmax(np.real(values))])
    pairs = [(50.0 * worst, -50.0 * worst), *adversarial(6, 1.3, 60)]
    whole_pairs = [curves_of(np.stack(pair), sigma, metric, shape) for pair in pairs]
    moved = [sum((int(a) - int(b)) ** 2 for a, b in zip(*one.integers, strict=True)) for one in whole_pairs]
    (squares,) = {one.squares for one in whole_pairs}
    assert len(moved) == 61 and max(moved) <= squares and max(moved) >= Fraction(99, 100) ** 2 * squares
    certificate = whole_pairs[0].certificate
    assert Fraction(certificate.value) ** 2 >= squares * Fraction(whole_pairs[0].step) ** 2
    assert (certificate.unit, certificate.relation, certificate.records) == ("features", "replace_one", 1)


def test_noise_on_curves_is_1024_steps_wide_at_every_level_and_a_narrower_one_has_finer_steps():
    records = RNG.standard_normal((40, 6))
    for sigma in (1e-4, 0.37, 1.0, 911.7):
        curves = curves_of(records, sigma, None, np.eye(6))
        mechanism = IntegerGaussian(sigma=sigma)
        assert mechanism.deviations(curves) == {1: 1024.0}
        assert mechanism(curves, RNG).event.mu == pytest.approx(2 * 1.3 / sigma, rel=1e-14)
    narrow = curves_of(records, 1e-12, None, np.eye(6))
    assert narrow.squares <= 4 << 52 and np.abs(narrow.value - NormClip(public(1.3)).of(records).records).max() < 4e-8
    release = IntegerGaussian(sigma=1e-12)(narrow, RNG)
    assert 0.5e-12 < np.std(release.value - narrow.value) < 2e-12 and release.event.mu > 2.5e12


@pytest.mark.parametrize("name", GEOMETRIES)
def test_whole_curves_are_their_curves_to_half_a_step_and_their_noise_has_the_stated_shape(name):
    metric, shape = GEOMETRIES[name]
    shape, sigma = (shape + shape.T) / 2, 0.4
    records = RNG.standard_normal((20_000, 6)) * 0.1
    curves = curves_of(records, sigma, metric, shape, radius=9.0)
    assert curves.clip_share == 0
    off = np.linalg.solve(np.linalg.cholesky(shape), (unwhiten(curves.value, shape) - records).T)
    assert np.abs(off).max() <= curves.step / 2 * (1 + 1e-6)
    release = IntegerGaussian(sigma=sigma)(curves, SecureRandom())
    require_secure(release)
    noise = release.post_process(lambda z: unwhiten(z, shape)).value - unwhiten(curves.value, shape)
    assert accepts_covariance(noise, sigma**2 * shape) and not accepts_covariance(noise, (1.03 * sigma) ** 2 * shape)


def test_whole_curves_in_any_order_are_the_same_integers_and_no_value_raises():
    records = RNG.standard_normal((3000, 6)) * 2
    records[:4] = np.array([np.nan, np.inf, -np.inf, 1e300])[:, None]
    order = RNG.permutation(len(records))
    first, other = (curves_of(given, 0.5, None, np.eye(6)).integers for given in (records, records[order]))
    assert np.array_equal(first[order], other)


def test_steps_of_noisy_curves_follow_the_rounded_gaussian():
    """Integers with noise minus integers, in 32 cells of equal chance, at both sources."""
    curves = curves_of(np.zeros((60_000, 6)), 0.5, None, np.eye(6))
    cuts = np.round(1024 * norm.ppf(np.arange(1, 32) / 32))
    chances = np.diff(norm.cdf((cuts + 0.5) / 1024), prepend=0.0, append=1.0)
    for rng in (np.random.default_rng(3), SecureRandom()):
        steps = np.rint(IntegerGaussian(sigma=0.5)(curves, rng).value / curves.step)
        counts = np.bincount(np.searchsorted(cuts, steps.ravel()), minlength=32)
        assert chisquare(counts, chances * counts.sum()).pvalue > 1e-4
        wrong = np.diff(norm.cdf((cuts + 0.5) / 1054), prepend=0.0, append=1.0)
        assert chisquare(counts, wrong * counts.sum()).pvalue < 1e-4
