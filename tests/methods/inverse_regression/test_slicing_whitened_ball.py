"""The ball behind the second moment of protocol ``whitened``: a public radius, a true sensitivity that is reached."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from fixed import fixed
from partywise.core.randomness import stream
from partywise.experiment.trial import outcome, trials
from partywise.methods.inverse_regression.bounded import MEAN_SHARE, whole_second, whole_second_and_mean
from partywise.methods.inverse_regression.certified import BALANCE, LARGEST_REACH, reach_of
from partywise.methods.inverse_regression.moments import client_moments, whitened_means
from partywise.methods.inverse_regression.slices import public_slices
from partywise.privacy.accounting.calibration import gdp_mu
from partywise.privacy.statistics.clips import BallClip, BoxClip
from partywise.studies.sliced_inverse_regression.settings import SimulatedSlicingSettings
from slicing_driver import fit, simulated
from whole_moves import squared_move

SMALL = SimulatedSlicingSettings(model="IV", n=300, clients=4, p=6)
SLICES = public_slices(fixed([-0.5, 0.5]))


def test_the_rule_balances_noise_and_bias():
    """C^(-4) and C^2 / t have their least sum where C is of order t^(1/6)."""
    base = reach_of(10, 5000, 1, 0.3)
    assert reach_of(10, 64 * 5000, 1, 0.3) == pytest.approx(2 * base)
    assert reach_of(10, 5000, 1, 0.6) == pytest.approx(2 ** (1 / 6) * base)
    # K clients of n records know as much as one of n sqrt(K).
    assert reach_of(10, 100 * 5000, 100, 0.3) == pytest.approx(reach_of(10, 10 * 5000, 1, 0.3))
    t = BALANCE * 7**1.5
    assert reach_of(7, 1000, 1, t / 1000) == pytest.approx(1.0)
    assert reach_of(10, 5000, 1, math.inf) == LARGEST_REACH


def test_the_radius_is_known_before_the_data():
    """Other records, the same radius; another number of clients or epsilon, another one, as the rule says."""
    one, other = (simulated(SMALL, replicate) for replicate in (0, 1))
    for clients, epsilon in ((1, 1.0), (4, 1.0), (4, 2.0)):
        mu = float(gdp_mu(epsilon, SMALL.delta)) / math.sqrt(2)
        wanted = reach_of(6, 300 * clients, clients, mu) * SMALL.radius * math.sqrt(6)
        for data in (one, other):
            done = fit("whitened", data, SMALL, clients, epsilon)
            assert done.scalars["clip_radius"] == pytest.approx(wanted, rel=1e-9)
            rows = [row for row in done.channel.ledger.rows if row.release_id.startswith("second moment of")]
            assert [row.sensitivity for row in rows] == pytest.approx(
                [math.sqrt(2) * (1 + MEAN_SHARE) * wanted**2 / 300] * clients
            )
            assert done.total().certified
    stated = fit("whitened", one, SMALL, 2, 1.0, reach=0.5)
    assert stated.scalars["clip_radius"] == pytest.approx(0.5 * math.sqrt(6))
    twice = replace(SMALL, radius=2.0)
    data = simulated(twice)
    assert fit("whitened", data, twice, 2, 1.0, reach=0.5).scalars["clip_radius"] == pytest.approx(math.sqrt(6))


@examples(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 1.0, 2.5]))
def test_no_neighbour_moves_the_second_moment_further_than_its_certificate(seed, radius):
    numbers = np.random.default_rng(seed)
    X, y = numbers.standard_normal((12, 3)) * numbers.choice([0.1, 1.0, 100.0], (12, 1)), numbers.standard_normal(12)
    other = X.copy()
    other[0] = 1e3 * numbers.standard_normal(3)
    moments = [client_moments(part, y, SLICES, clip=BallClip(fixed(radius))) for part in (X, other)]
    for made, share in ((whole_second, 1.0), (whole_second_and_mean, 1 + MEAN_SHARE)):
        one, two = map(made, moments)
        bound = math.sqrt(2) * share * radius**2 / 12
        assert one.certificate.value == two.certificate.value == pytest.approx(bound, rel=1e-6)
        assert squared_move(one, two) <= one.squares == two.squares


def test_two_orthogonal_records_reach_the_certificate():
    X, y = np.zeros((5, 3)), np.zeros(5)
    one, two = X.copy(), X.copy()
    one[0, 0], two[0, 1] = 9.0, -7.0
    parts = [whole_second(client_moments(part, y, SLICES, clip=BallClip(fixed(2.0)))) for part in (one, two)]
    assert squared_move(*parts) == parts[0].squares


def test_a_ball_keeps_axes_that_a_box_turns():
    """Elliptical records: the ball's second moment has the eigenvectors of the covariance, the box's has not."""
    root = np.linalg.cholesky(np.array([[4.0, 1.2, 0.0], [1.2, 1.0, 0.3], [0.0, 0.3, 0.5]]))
    X = stream(7, "axes").standard_normal((400_000, 3)) @ root.T
    y = np.zeros(len(X))
    axes = np.linalg.eigh(root @ root.T)[1]

    def turned(second):
        rotated = axes.T @ second @ axes
        return float(np.max(np.abs(rotated - np.diag(np.diagonal(rotated)))) / np.min(np.diagonal(rotated)))

    ball, box = (
        client_moments(X, y, SLICES, clip=BallClip(fixed(math.sqrt(3)))),
        client_moments(X, y, SLICES, clip=BoxClip(fixed(1.0))),
    )
    assert turned(ball.second) < 0.01 < 0.03 < turned(box.second)


def test_the_ball_is_the_whitening_by_the_unit_matrix():
    X, y = stream(7, "ball").standard_normal((50, 4)), np.zeros(50)
    kept = X.copy()
    found, wanted = (
        client_moments(X, y, SLICES, clip=BallClip(fixed(1.5))),
        whitened_means(X, y, SLICES, fixed(np.eye(4)), fixed(1.5)),
    )
    assert np.array_equal(found.gram, wanted.gram)
    assert (found.clip, found.clip_share) == (BallClip(fixed(1.5)), wanted.clip_share) and np.array_equal(X, kept)
    with pytest.raises(ValueError, match=r"radius=0\.0 must be positive"):
        client_moments(X, y, SLICES, clip=BallClip(fixed(0.0)))


def test_what_is_released_of_the_features_has_no_bit_of_the_responses():
    """The mean is the sum of the slice sums: of whole numbers, whose last bits do not tell in which slices they lie."""
    rng = stream(7, "bits")
    X, y = rng.standard_normal((300, 6)), rng.standard_normal(300)
    values = [
        whole_second_and_mean(client_moments(X, one, SLICES, clip=BallClip(fixed(1.5)))) for one in (y, -y, 0 * y)
    ]
    assert {one.certificate.depends_on for one in values} == {frozenset({"features"})}
    assert len({one.value.tobytes() for one in values}) == 1


@pytest.mark.parametrize("options", [{"clip": "ball"}, {"clip": "box"}])
def test_whitening_keeps_its_contract_on_the_trial_of_its_study(options):
    study = "sliced_inverse_regression"
    found = outcome("rows", trials(study)["rows"], study, {"protocol": "whitened"} | options)
    assert found.failures == {} and found.totals["row"] == pytest.approx(1.0, rel=1e-6)
