"""Noisy maxima, votes and quantiles draw from stated distributions; neighbours differ by at most the charge."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from error_rates import accepts_distribution, accepts_sigma
from fixed import fixed
from partywise.core.errors import CertificationError
from partywise.core.randomness import stream
from partywise.privacy.mechanisms import PrivateQuantile, ReportNoisyMax
from partywise.privacy.mechanisms.integer import IntegerGaussian
from partywise.privacy.mechanisms.random import SecureRandom
from partywise.privacy.statistics.bounded import Bounded, SensitivityCertificate
from partywise.privacy.statistics.counts import membership
from partywise.privacy.statistics.records import entries

ENTRIES = st.floats(-1e6, 1e6)


def scores(values, sensitivity=1.0, norm="linf"):
    return Bounded(values, SensitivityCertificate(sensitivity, norm, "row", "replace_one", {"label", "features"}))


SCORES = np.array([0.0, 1.0, 2.5, -1.0])


def winners(mechanism, bounded, repeats, name):
    rng = stream(1, name)
    return np.array([mechanism(bounded, rng).value for _ in range(repeats)])


def test_winners_follow_the_exponential_mechanism():
    bounded, mechanism = scores(SCORES, 2.0), ReportNoisyMax(3.0)
    exact = np.exp(3.0 * SCORES / 4.0)
    np.testing.assert_allclose(mechanism.probabilities(bounded), exact / exact.sum(), rtol=1e-14)
    counts = np.bincount(winners(mechanism, bounded, 4_000, "max"), minlength=4)
    assert accepts_distribution(counts, mechanism.probabilities(bounded))
    # Gumbel noise of half the scale is the distribution for scores that only rise; it would cost twice as much here.
    assert not accepts_distribution(counts, ReportNoisyMax(6.0).probabilities(bounded))


def test_winners_of_secure_words_have_the_same_law():
    bounded, mechanism = scores(SCORES), ReportNoisyMax(1.0, winners=2)
    drawn = np.array([mechanism(bounded, SecureRandom()).value for _ in range(2_000)])
    counts = np.bincount(drawn[:, 0] * 4 + drawn[:, 1], minlength=16)
    assert accepts_distribution(counts, mechanism.probabilities(bounded).ravel())
    assert not accepts_distribution(counts, ReportNoisyMax(2.0, winners=2).probabilities(bounded).ravel())
    release = ReportNoisyMax(math.inf, winners=2)(bounded, SecureRandom())
    assert release.value.tolist() == [2, 1] and release.event.sampler == "secure"


def test_laplace_noise_is_drawn_anew_for_every_winner():
    """Two scores of equal size: with one set of noise the first of two winners would say nothing about a third."""
    mechanism, bounded = ReportNoisyMax(2.0, winners=2, distribution="laplace"), scores(np.array([0.0, 1.0]))
    drawn = winners(mechanism, bounded, 4_000, "laplace")
    # The difference of two Laplace numbers of scale b exceeds g with probability exp(-g/b) (2 + g/b) / 4; here b = 1.
    behind = math.exp(-1.0) * 3 / 4
    assert accepts_distribution(np.bincount(drawn[:, 0], minlength=2), np.array([behind, 1 - behind]))
    assert np.all(drawn.sum(axis=1) == 1)
    with pytest.raises(ValueError, match="distribution 'gumbel'"):
        mechanism.probabilities(bounded)
    with pytest.raises(ValueError, match="distribution='normal'"):
        ReportNoisyMax(1.0, distribution="normal")


def test_several_winners_are_those_of_peeling():
    bounded, mechanism = scores(SCORES), ReportNoisyMax(1.0, winners=2)
    distribution = mechanism.probabilities(bounded)
    first = ReportNoisyMax(1.0).probabilities(bounded)
    np.testing.assert_allclose(distribution.sum(axis=1), first, rtol=1e-14)
    np.testing.assert_allclose(distribution[2, 1], first[2] * first[1] / (1 - first[2]), rtol=1e-14)
    drawn = winners(mechanism, bounded, 4_000, "two")
    counts = np.bincount(drawn[:, 0] * 4 + drawn[:, 1], minlength=16)
    assert accepts_distribution(counts, distribution.ravel())
    assert not accepts_distribution(counts, ReportNoisyMax(1.5, winners=2).probabilities(bounded).ravel())


@given(arrays(float, 5, elements=st.floats(-20, 20)), arrays(float, 5, elements=st.floats(-1, 1)), st.integers(1, 3))
def test_neighbouring_scores_cost_at_most_the_charge(values, move, count):
    mechanism = ReportNoisyMax(0.8, winners=count)
    one, other = (mechanism.probabilities(scores(v, 1.0)) for v in (values, values + move))
    distinct = one > 0
    assert np.max(np.abs(np.log(one[distinct]) - np.log(other[distinct]))) <= 0.8 * count + 1e-9


def test_opposite_moves_nearly_reach_the_charge():
    # One score falls, many rise: the worst pair of the exponential mechanism.
    values = np.r_[-30.0, np.zeros(200)]
    one, other = (ReportNoisyMax(1.0).probabilities(scores(v)) for v in (values, values + np.r_[-1.0, np.ones(200)]))
    assert 0.99 <= np.log(one[0] / other[0]) <= 1.0


def test_the_charge_of_winners():
    event = ReportNoisyMax(0.5, winners=3)(scores(SCORES), stream(1, "a"), owner="c1").event
    assert (event.epsilon, event.count, event.k, event.mechanism) == (0.5, 3, None, "report_noisy_max")
    assert event.range == 0.5 and event.exact is False
    laplace = ReportNoisyMax(0.5, winners=3, distribution="laplace")(scores(SCORES), stream(1, "a"), owner="c1").event
    assert (laplace.epsilon, laplace.count, laplace.range) == (0.5, 3, None)
    still = ReportNoisyMax(0.5)(scores(SCORES, 0.0), stream(1, "a"))
    assert still.event.epsilon == 0 and still.value == 2
    raw = ReportNoisyMax(math.inf, winners=2)(scores(SCORES), stream(1, "a"))
    assert raw.event.epsilon == math.inf and raw.value.tolist() == [2, 1]
    assert isinstance(still.value, int)
    assert ReportNoisyMax(1.0)(scores(SCORES, norm="l2"), stream(1, "a")).event.epsilon == 1.0


def test_votes_are_noised_to_their_mu_and_summed_afterwards():
    vote = membership([1, 4], 400_000, fixed(3), stratum="clients/1")
    release = IntegerGaussian(mu=0.5)(vote, stream(1, "votes"), owner="client 1")
    sigma = math.sqrt(6) / 0.5
    assert accepts_sigma(release.value - vote.value, sigma)
    assert not accepts_sigma(release.value - vote.value, 1.02 * sigma)
    event = release.event
    assert (event.mu, event.stratum, event.mechanism) == (0.5, "clients/1", "rounded_gaussian")
    assert event.sensitivity == pytest.approx(math.sqrt(6), rel=1e-15)


def neighbouring_pieces(mechanism, one, other):
    """Log ratio of the densities of two data sets on every piece of their common partition."""
    distributions = [mechanism.distribution(values) for values in (one, other)]
    points = np.unique(np.concatenate([distribution[0] for distribution in distributions]))
    middle = (points[1:] + points[:-1]) / 2
    logs = []
    for cuts, shares in distributions:
        where = np.searchsorted(cuts, middle, side="right") - 1
        logs.append(np.log(shares[where]) - np.log(np.diff(cuts)[where]))
    return logs[0] - logs[1]


@given(arrays(float, 6, elements=st.integers(-12, 12)), st.integers(-12, 12), st.floats(0, 1), st.floats(0.1, 5))
def test_neighbouring_quantiles_cost_at_most_epsilon(values, replacement, q, epsilon):
    mechanism = PrivateQuantile(epsilon, q, fixed((-10.0, 10.0)))
    other = values.copy()
    other[0] = replacement
    assert np.max(np.abs(neighbouring_pieces(mechanism, values, other))) <= epsilon * (1 + 1e-9)


def test_adversarial_neighbours_reach_epsilon_of_a_quantile():
    # One value goes from the bottom to the top: the long piece with too many values below gains a point of score, and
    # the short one with too few loses one.
    values = np.r_[0.0, np.full(5, 1e-9), np.ones(4)]
    other = np.r_[1.0, values[1:]]
    found = np.max(np.abs(neighbouring_pieces(PrivateQuantile(1.0, 0.3, fixed((0.0, 1.0))), values, other)))
    assert 0.999 <= found <= 1 + 1e-12


def test_quantiles_follow_their_distribution():
    values, mechanism = np.array([-30.0, 1.0, 2.0, 2.0, 4.5, 7.0, 90.0]), PrivateQuantile(1.2, 0.5, fixed((0.0, 10.0)))
    bounded, rng = entries(values, unit="features"), stream(1, "quantile")
    points, shares = mechanism.distribution(values)
    assert shares.sum() == pytest.approx(1, abs=1e-15) and points[0] == 0 and points[-1] == 10
    # By hand: pieces [0,0], [0,1], [1,2], [2,2], [2,4.5], [4.5,7], [7,10], [10,10] with 0..7 values at most t.
    weights = np.array([0, 1, 1, 0, 2.5, 2.5, 3, 0]) * np.exp(-0.6 * np.abs(np.arange(8) - 3.5))
    np.testing.assert_allclose(shares, weights / weights.sum(), rtol=1e-13)
    drawn = np.array([mechanism(bounded, rng).value for _ in range(4_000)])
    assert drawn.min() >= 0 and drawn.max() <= 10
    cells = np.array([0, 0.5, 1, 1.25, 2, 4.5, 5, 7, 9, 10])

    def distribution(quantile):
        points, shares = quantile.distribution(values)
        return np.diff(np.interp(cells, points, np.r_[0, np.cumsum(shares)]))

    counts = np.histogram(drawn, cells)[0]
    assert accepts_distribution(counts, distribution(mechanism))
    assert not accepts_distribution(counts, distribution(PrivateQuantile(2.2, 0.5, fixed((0.0, 10.0)))))
    assert not accepts_distribution(counts, distribution(PrivateQuantile(1.2, 0.7, fixed((0.0, 10.0)))))


def test_quantiles_of_ties_extremes_and_many_records():
    tied = PrivateQuantile(50.0, 0.5, fixed((0.0, 1.0)))(
        entries(np.full(9, 0.25), unit="features"), stream(1, "a")
    ).value
    assert 0 <= tied <= 1
    points, shares = PrivateQuantile(1.0, 0.5, fixed((0.0, 1.0))).distribution(np.r_[np.full(5, -1e6), np.full(5, 1e6)])
    assert shares[5] == 1 and np.diff(points)[5] == 1
    values = stream(1, "v").random(100_000)
    for q in (0.0, 0.25, 0.95, 1.0):
        found = PrivateQuantile(5.0, q, fixed((-100.0, 100.0)))(entries(values, unit="features"), stream(1, "q")).value
        # At q = 0 and 1 everything outside the data is as good as the end itself.
        assert q in (0.0, 1.0) or abs(found - np.quantile(values, q)) < 1e-3
    nothing = PrivateQuantile(1.0, 0.5, fixed((2.0, 3.0)))(entries([], unit="features"), stream(1, "a")).value
    assert 2 <= nothing <= 3


def test_the_charge_of_quantiles():
    one = PrivateQuantile(0.3, 0.9, fixed((0.0, 1.0)))
    event = one(entries([0.5, 0.6], unit="features"), stream(1, "a"), owner="p1", release_id="radius/1").event
    assert (event.epsilon, event.count, event.unit, event.release_id) == (0.3, 1, "features", "radius/1")
    # One draw, whatever number of entries a user has; the scores of nine entries range over 8.1.
    event = one(entries(np.linspace(0, 1, 9), unit="user", moved=fixed(4)), stream(1, "a")).event
    assert (event.epsilon, event.count) == (pytest.approx(1.2, rel=1e-12), 1)
    event = one(entries(np.linspace(0, 1, 9), unit="user", moved=fixed(9)), stream(1, "a")).event
    assert (event.epsilon, event.count) == (pytest.approx(8.1 * 0.3, rel=1e-12), 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ReportNoisyMax(0.0), "epsilon=0.0"),
        (lambda: ReportNoisyMax(1.0, winners=0), "winners=0"),
        (lambda: ReportNoisyMax(1.0, winners=5)(scores(SCORES), stream(1, "a")), "at least 5"),
        (lambda: ReportNoisyMax(1.0)(scores(np.eye(2)), stream(1, "a")), "must be a vector"),
        (lambda: ReportNoisyMax(1.0)(scores(SCORES, math.inf), stream(1, "a")), "infinite sensitivity"),
        (lambda: ReportNoisyMax(1.0)(scores(SCORES, norm="hamming"), stream(1, "a")), "'hamming'"),
        (lambda: ReportNoisyMax(1.0).probabilities(scores(SCORES, 0.0)), "certain"),
        (lambda: PrivateQuantile(0.0, 0.5, fixed((0.0, 1.0))), "epsilon=0.0"),
        (lambda: PrivateQuantile(math.inf, 0.5, fixed((0.0, 1.0))), "epsilon=inf"),
        (lambda: PrivateQuantile(1.0, 1.5, fixed((0.0, 1.0))), "q=1.5"),
        (lambda: PrivateQuantile(1.0, 0.5, fixed((1.0, 1.0))), r"domain=\(1.0, 1.0\)"),
        (lambda: PrivateQuantile(1.0, 0.5, fixed((0.0, math.inf))), r"domain=\(0.0, inf\)"),
        (lambda: PrivateQuantile(1.0, 0.5, fixed((0.0, 1.0)))(np.ones(3), stream(1, "a")), "takes a Bounded statistic"),
        (
            lambda: PrivateQuantile(1.0, 0.5, fixed((0, 1)))(entries([1.0], relation="add_remove", unit="row"), None),
            "records",
        ),
    ],
)
def test_bad_selections_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_no_selection_has_a_secure_sampler():
    values = entries([0.1, 0.2], unit="features")
    calls = [
        lambda: ReportNoisyMax(1.0, distribution="laplace")(scores(SCORES), SecureRandom()),
        lambda: PrivateQuantile(1.0, 0.5, fixed((0.0, 1.0)))(values, SecureRandom()),
    ]
    for call in calls:
        with pytest.raises(TypeError, match="no secure sampler"):
            call()


def test_certification_errors_are_errors_of_certification():
    with pytest.raises(CertificationError):
        ReportNoisyMax(1.0)(scores(SCORES, math.inf), stream(1, "a"))
