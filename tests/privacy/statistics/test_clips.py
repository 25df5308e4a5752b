"""Clips: no clipped record is longer than the bound, what moved is counted, and nothing else changes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fixed import fixed
from partywise.core.errors import CertificationError
from partywise.core.randomness import stream
from partywise.methods.inverse_regression.bounded import whole_second, whole_slices
from partywise.methods.inverse_regression.moments import client_moments
from partywise.methods.inverse_regression.slices import public_slices
from partywise.methods.logistic.cells import CellClip
from partywise.privacy.statistics.clips import BallClip, BoxClip, ClipResult, WholeClip
from partywise.privacy.statistics.isometry import nearest_semidefinite

X = stream(11, "clips").standard_normal((60, 4)) * [1.0, 2.0, 0.1, 5.0]


class DiamondClip(WholeClip):
    """A rule of somebody else: records are shrunk to a sum of absolute entries of at most the radius."""

    def length(self, p: int) -> float:
        return self.size

    def of(self, records: np.ndarray) -> ClipResult:
        sums = np.abs(records).sum(axis=1)
        shrink = np.minimum(1.0, self.size / sums)
        return ClipResult(records * shrink[:, None], int(np.count_nonzero(sums > self.size)), len(records))

    def squares(self, p: int, bits: int) -> int:
        return 1 << 2 * bits

    def steps(self, records: np.ndarray, bits: int) -> ClipResult:
        kept = self.of(records)
        return ClipResult(np.trunc(kept.records / self.step(bits)), kept.number, kept.units)


class WrongClip(BallClip):
    """A rule whose bound is half of what its records have."""

    def squares(self, p: int, bits: int) -> int:
        return super().squares(p, bits) // 4


def test_a_clip_whose_bound_is_too_small_is_refused():
    slices = public_slices(fixed([0.0]))
    with pytest.raises(CertificationError, match=r"WrongClip\.steps left a record of squared length"):
        client_moments(X, X[:, 0], slices, clip=WrongClip(fixed(1.5)))


def test_every_whole_clip_of_the_library_is_asked():
    # Records of cells have one length, and any other is refused: tests/methods/logistic/test_buckets.py.
    assert set(WholeClip.__subclasses__()) - {DiamondClip} == {BallClip, BoxClip, CellClip}


@pytest.mark.parametrize("rule", [BallClip, BoxClip, DiamondClip])
@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray, lambda a: np.repeat(a, 2, axis=1)[:, ::2]])
def test_no_clipped_record_is_longer_than_its_bound(rule, layout):
    clip, kept = rule(fixed(1.5)), X.copy()
    clipped = clip.of(layout(X))
    lengths = np.linalg.norm(clipped.records, axis=1)
    assert np.all(lengths <= clip.length(4) * (1 + 1e-12)) and np.max(lengths) > 0.5 * clip.length(4)
    assert 0 < clipped.share < 1 and clipped.share == clipped.number / clipped.units and np.array_equal(X, kept)
    again = clip.of(clipped.records)
    np.testing.assert_allclose(again.records, clipped.records, rtol=1e-12)
    wide = rule(fixed(1e6)).of(X)
    assert wide.share == 0 and np.array_equal(wide.records, X)


def test_the_bounds_and_what_is_counted():
    assert BoxClip(fixed(2.0)).length(9) == 6.0 and BallClip(fixed(2.0)).length(9) == 2.0
    box, ball = BoxClip(fixed(1.0)).of(X), BallClip(fixed(1.0)).of(X)
    assert (box.number, box.units) == (np.count_nonzero(np.abs(X) > 1), X.size)
    assert (ball.number, ball.units) == (np.count_nonzero(np.linalg.norm(X, axis=1) > 1), len(X))
    assert BoxClip(fixed(1.0)) == BoxClip(fixed(1.0)) != BallClip(fixed(1.0))


def test_a_rule_of_somebody_else_needs_its_class_alone():
    """Its length is what the certificates of the sliced moments rest on."""
    y = X[:, 0]
    moments = client_moments(X, y, public_slices(fixed([0.0])), clip=DiamondClip(fixed(1.5)))
    assert moments.clip_share > 0 and moments.largest_norm <= 1.5
    assert whole_slices(moments).certificate.value == pytest.approx(2 * 1.5 / 60)
    assert whole_second(moments).certificate.value == pytest.approx(math.sqrt(2) * 1.5**2 / 60)


@pytest.mark.parametrize("radius", [0.0, -1.0, float("nan")])
def test_a_radius_is_positive(radius):
    with pytest.raises(ValueError, match=r"radius=.* must be positive"):
        BallClip(fixed(radius))


def test_a_radius_says_where_it_comes_from():
    with pytest.raises(TypeError, match="radius"):
        BoxClip(1.0)


def test_the_nearest_semidefinite_matrix_drops_negative_eigenvalues():
    assert np.array_equal(nearest_semidefinite(np.diag([2.0, 1.0, -0.5])), np.diag([2.0, 1.0, 0.0]))
    rng = stream(3, "nearest")
    good = np.cov(rng.standard_normal((5, 60)))
    np.testing.assert_allclose(nearest_semidefinite(good), good, rtol=0, atol=1e-14)
    errors = np.triu(rng.standard_normal((5, 5)))
    noisy = good + 3 * (errors + errors.T)
    assert np.linalg.eigvalsh(noisy)[0] < -1
    nearest = nearest_semidefinite(noisy)
    gap = np.linalg.norm(nearest - noisy)
    for _ in range(200):
        other = nearest + 0.1 * rng.standard_normal((5, 5))
        assert np.linalg.norm(nearest_semidefinite(other + other.T) / 2 - noisy) >= gap
