"""Laplace and geometric noise: the stated distribution, its cost, and what each refuses."""

import math
from fractions import Fraction

import numpy as np
import pytest

import partywise as pw
from partywise.core.errors import CertificationError
from partywise.core.randomness import stream
from partywise.privacy.audit.pairs import audit_pair
from partywise.privacy.mechanisms.laplace import Geometric, Laplace, draw_geometric
from partywise.privacy.statistics.bounded import Bounded, SensitivityCertificate
from partywise.privacy.statistics.counts import counts

ALPHA = 1e-9
BINS = pw.Public(3, because="three answers on the form")


def certified(value, bound: float, norm: str = "l1", grid: float | None = None) -> Bounded:
    return Bounded(value, SensitivityCertificate(bound, norm, "row", "replace_one", frozenset({"label"}), grid=grid))


def geometric_probability(gamma: float, k: np.ndarray) -> np.ndarray:
    return np.tanh(gamma / 2) * np.exp(-gamma * np.abs(k))


def chi_squared_sf(drawn: np.ndarray, gamma: float) -> float:
    """Upper tail probability of the counts of -6..6 and of both tails under a geometric distribution."""
    from scipy.special import gammaincc

    inner = np.arange(-6, 7)
    p = geometric_probability(gamma, inner)
    tail = math.exp(-7 * gamma) / (1 + math.exp(-gamma))
    expected = len(drawn) * np.array([tail, *p, tail])
    seen = np.array([np.sum(drawn < -6), *(np.sum(drawn == k) for k in inner), np.sum(drawn > 6)])
    return float(gammaincc((len(seen) - 1) / 2, np.sum((seen - expected) ** 2 / expected) / 2))


@pytest.mark.parametrize("source", ["secure", "simulation"])
def test_geometric_draws_follow_the_distribution_and_a_neighbouring_one_is_noticed(source):
    n = 4000 if source == "secure" else 400_000
    rng = pw.SecureRandom() if source == "secure" else stream(1, "geometric")
    drawn = draw_geometric(rng, Fraction(1, 2), (n,))
    assert np.all(drawn == np.rint(drawn)) and chi_squared_sf(drawn, 0.5) > ALPHA
    assert chi_squared_sf(drawn, 0.5 * (1.25 if source == "secure" else 1.02)) < ALPHA


def test_laplace_draws_have_the_scale_of_their_epsilon():
    release = Laplace(epsilon=0.5)(certified(np.zeros(400_000), 2.0), stream(2, "laplace"))
    assert release.event.epsilon == 0.5 and release.event.mechanism == "laplace"
    # E|x| of scale 4 is 4, with standard deviation 4 / sqrt(n).
    assert abs(np.mean(np.abs(release.value)) - 4.0) < 7 * 4.0 / math.sqrt(400_000) < 0.02 * 4.0
    again = Laplace(epsilon=1.0)(certified(np.zeros(400_000), 2.0), stream(2, "laplace"))
    np.testing.assert_allclose(2 * again.value, release.value, rtol=1e-12)
    assert Laplace(scale=4.0)(certified(0.0, 2.0, "linf"), stream(2, "one")).event.epsilon == 0.5
    assert Laplace(scale=0.0)(certified(0.0, 2.0), stream(2, "one")).event.epsilon == math.inf
    assert Laplace(epsilon=1.0)(certified(3.0, 0.0), stream(2, "one")).event.epsilon == 0.0


@pytest.mark.parametrize("rng", [pw.SecureRandom(), stream(3, "counts")], ids=["secure", "simulation"])
def test_counts_are_released_as_whole_numbers_and_cost_their_epsilon(rng):
    answers = np.array([0, 0, 2, 2, 2])
    bounded = counts(answers, BINS, norm="l1")
    added = counts(answers, BINS, relation="add_remove", norm="l1")
    assert (bounded.certificate.value, added.certificate.value) == (2.0, 1.0)
    release = Geometric(epsilon=1.0)(bounded, rng, owner="clinic", release_id="answers")
    assert np.array_equal(release.value, np.rint(release.value)) and release.value.shape == (3,)
    assert release.event.sampler == ("secure" if isinstance(rng, pw.SecureRandom) else "simulation")
    seen = pw.Ledger([release.event]).total("analyst", "row", 0.0)
    assert seen.epsilon_certified == 1.0 and seen.certified
    exact = Geometric(epsilon=math.inf)(bounded, rng)
    assert np.array_equal(exact.value, [2, 0, 3]) and exact.event.epsilon == math.inf


@pytest.mark.parametrize("mechanism", [Laplace(epsilon=1.0), Geometric(epsilon=1.0)])
def test_an_attack_comes_close_to_the_epsilon_and_not_above(mechanism):
    n = 200_000
    worlds = [
        np.asarray(mechanism(certified(np.full(n, value), 1.0, grid=1.0), stream(4, "world", int(value))).value)
        for value in (0.0, 1.0)
    ]
    found = audit_pair(worlds[1], worlds[0], 0.0).eps_lower
    assert 0.93 < found <= 1.0


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda rng: Laplace(), ValueError, "give exactly one"),
        (lambda rng: Laplace(epsilon=1.0, scale=1.0), ValueError, "give exactly one"),
        (lambda rng: Laplace(epsilon=0.0), ValueError, "epsilon=0.0 must be positive"),
        (lambda rng: Laplace(scale=-1.0), ValueError, "scale=-1.0 must be non-negative"),
        (lambda rng: Geometric(epsilon=-1.0), ValueError, "epsilon=-1.0 must be positive"),
        (lambda rng: Laplace(epsilon=1.0)(certified(np.zeros(2), 1.0, "l2"), rng), CertificationError, "norm 'l2'"),
        (
            lambda rng: Laplace(epsilon=1.0)(certified(0.0, math.inf), rng),
            CertificationError,
            "clip to a finite",
        ),
        (lambda rng: Laplace(epsilon=1.0)(np.zeros(2), rng), CertificationError, "takes a Bounded statistic"),
        (lambda rng: Laplace(epsilon=1.0)(certified(0.0, 1.0), pw.SecureRandom()), TypeError, "no secure sampler"),
        (lambda rng: Geometric(epsilon=1.0)(certified(0.0, 1.0), rng), CertificationError, "has no grid"),
        (lambda rng: Geometric(epsilon=1.0)(certified(0.5, 1.0, grid=1.0), rng), CertificationError, "not a multiple"),
        (lambda rng: Geometric(epsilon=1.0)(certified(2.0**60, 1.0, grid=1.0), rng), OverflowError, "2.53 steps"),
        (lambda rng: counts(np.array([0]), BINS, norm="l7"), ValueError, "norm='l7' of a count"),
    ],
)
def test_what_cannot_be_released_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call(stream(5, "refused"))


@pytest.mark.parametrize("rng", [pw.SecureRandom(), np.random.default_rng(3)], ids=["secure", "simulation"])
def test_noise_that_floats_would_round_is_refused(rng):
    # At 2^-54 every released number of 2^53 to 2^54 was a multiple of 4 for an odd count, and for an even one a
    # quarter were: epsilon was infinite. The smallest epsilon that is taken keeps all sums exact.
    with pytest.raises(CertificationError, match=r"needs noise of more than 2\^40 steps.*a larger epsilon"):
        Geometric(epsilon=2.0**-54)(certified(np.full(3, 5.0), 1.0, grid=1.0), rng)
    found = Geometric(epsilon=2.0**-40)(certified(np.full(50, 5.0), 1.0, grid=1.0), rng).value
    assert np.max(np.abs(found)) < 2**53 and np.all(found == np.rint(found)) and len(np.unique(found)) == 50
