"""The best attack against known trade-off functions, numerical integration, and the profile it comes from."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from partywise.privacy.accounting.compose import Composition, compose
from partywise.privacy.accounting.privacy_profile import PrivacyProfile
from partywise.privacy.accounting.tradeoff import gaussian_power, mu_upper, power, profile_power, zcdp_power
from partywise.privacy.ledger.event import Event
from partywise.privacy.ledger.ledger import Ledger
from partywise.privacy.ledger.reach import clear_event

RATES = (0.1, 0.01, 0.001)
MIXTURES = {
    "sampled": [PrivacyProfile(mu=1.0, rate=0.02, count=500)],
    "sampled beside a Gaussian": [PrivacyProfile(mu=0.9, rate=0.1, count=20), PrivacyProfile(mu=0.5)],
    "randomised responses beside a Gaussian": [PrivacyProfile(epsilon=1.0, k=4, count=3), PrivacyProfile(mu=0.5)],
    "pure": [PrivacyProfile(epsilon=0.3, count=4)],
    "zcdp": [PrivacyProfile(rho=0.2), PrivacyProfile(mu=0.5)],
}


def event(release_id: str = "r", **profile) -> Event:
    return Event(release_id, "a", "m", "row", frozenset({"label", "features"}), **profile)


@pytest.mark.parametrize("fpr", RATES)
def test_gaussian_noise_has_its_trade_off_function(fpr):
    for mu in (1e-6, 0.1, 1.0, 3.0, 8.0):
        expected = ndtr(ndtri(fpr) + mu)
        found = power(compose([PrivacyProfile(mu=mu)]), fpr)
        assert expected <= found <= expected * (1 + 1e-11)


@pytest.mark.parametrize("fpr", RATES)
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 5.0, 12.0])
def test_a_pure_distribution_is_two_straight_lines(fpr, epsilon):
    expected = min(math.exp(epsilon) * fpr, 1 - math.exp(-epsilon) * (1 - fpr))
    assert power(compose([PrivacyProfile(epsilon=epsilon)]), fpr) == pytest.approx(expected, rel=1e-7)


def test_three_responses_are_attacked_by_the_best_test_there_is():
    """Neyman and Pearson on all outputs of three 4-ary responses, randomised at the threshold."""
    keep, move = np.exp(0.8) / (np.exp(0.8) + 3), 1 / (np.exp(0.8) + 3)
    first = np.array([keep, move, move, move])
    second = np.array([move, keep, move, move])
    p, q = (np.einsum("i,j,k->ijk", profile, profile, profile).ravel() for profile in (first, second))
    order = np.argsort(-p / q, kind="stable")
    for fpr in RATES:
        found = np.interp(fpr, np.concatenate([[0], np.cumsum(q[order])]), np.concatenate([[0], np.cumsum(p[order])]))
        assert power(compose([PrivacyProfile(epsilon=0.8, k=4, count=3)]), fpr) == pytest.approx(float(found), rel=1e-7)


@pytest.mark.parametrize("fpr", RATES)
def test_one_sampled_gaussian_is_attacked_by_its_likelihood_ratio(fpr):
    """In closed form: the ratio increases in x, so that the best tests are half lines."""
    mu, rate = 1.5, 0.3
    removed = (1 - rate) * fpr + rate * ndtr(ndtri(fpr) + mu)
    # The other direction: reject N(0, 1)'s rival below a threshold of the mixture.
    cut = brentq(lambda t: (1 - rate) * ndtr(t) + rate * ndtr(t - mu) - fpr, -10, 10, xtol=1e-14)
    expected = max(removed, float(ndtr(cut)))
    found = power(compose([PrivacyProfile(mu=mu, rate=rate)]), fpr)
    assert expected <= found <= expected * (1 + 1e-4)


@pytest.mark.parametrize("rates", [RATES[2:], pytest.param(RATES, marks=pytest.mark.statistical)], ids=["some", "all"])
@pytest.mark.parametrize("name", MIXTURES)
def test_no_point_of_the_curve_lies_below_its_tangents(name, rates):
    """What a test of actual profiles reaches is bounded by every (epsilon, delta); the least is what is reported."""
    profile = compose(MIXTURES[name])
    for fpr in rates:
        found = power(profile, fpr)
        tangents = [
            min(math.exp(e) * fpr + profile.delta(e), 1 - math.exp(-e) * (1 - profile.delta(e) - fpr))
            for e in np.linspace(0, -math.log(fpr), 4)
        ]
        assert fpr <= found <= min(tangents) * (1 + 2e-5)
        assert found <= gaussian_power(mu_upper(profile), fpr) * (1 + 1e-9)


def test_a_mixture_with_gaussian_noise_by_quadrature():
    """Half lines of the loss: randomised response (epsilon 1) beside Gaussian noise of mu 0.7, summed exactly."""
    epsilon, mu = 1.0, 0.7
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))

    def tails(cut: float) -> tuple[float, float]:
        points = [(cut - sign * epsilon) / mu for sign in (1, -1)]
        in_one = keep * ndtr(mu / 2 - points[0]) + (1 - keep) * ndtr(mu / 2 - points[1])
        in_other = (1 - keep) * ndtr(-mu / 2 - points[0]) + keep * ndtr(-mu / 2 - points[1])
        return float(in_one), float(in_other)

    for fpr in RATES:
        cut = brentq(lambda t, fpr=fpr: tails(t)[1] - fpr, -20, 20, xtol=1e-14)
        expected = tails(cut)[0]
        assert power(compose([PrivacyProfile(epsilon=epsilon), PrivacyProfile(mu=mu)]), fpr) == pytest.approx(
            expected, rel=1e-7
        )


@pytest.mark.parametrize("rho", [0.01, 0.5, 4.0])
def test_zcdp_bounds_the_gaussian_that_meets_it(rho):
    for fpr in RATES:
        assert gaussian_power(math.sqrt(2 * rho), fpr) <= zcdp_power(rho, fpr) <= 1
    assert power(compose([PrivacyProfile(rho=rho)]), 0.01) == pytest.approx(zcdp_power(rho, 0.01), rel=1e-9)
    # It is what the conversion of every order gives, least over the orders.
    orders = np.linspace(1.0001, 60, 200_000)
    bound = np.exp(((orders - 1) * orders * rho + (orders - 1) * math.log(0.01)) / orders).min()
    assert zcdp_power(rho, 0.01) <= bound * (1 + 1e-6)


def test_what_lies_outside_the_profiles_is_added():
    exact, loose = Composition(mu_squared=1.0), Composition(mu_squared=1.0, delta_numeric=1e-3)
    assert power(loose, 0.01) == pytest.approx(power(exact, 0.01) + 1e-3, rel=1e-9)
    assert mu_upper(exact) == 1.0 and mu_upper(loose) == math.inf


def test_a_profile_alone_gives_the_gaussian_curve():
    profile = compose([PrivacyProfile(mu=1.0)])
    assert profile_power(profile.delta, 0.01) == pytest.approx(float(ndtr(ndtri(0.01) + 1)), rel=1e-7)


def test_a_gaussian_parameter_bounds_finite_and_sampled_profiles():
    assert mu_upper(compose([PrivacyProfile(mu=0.3), PrivacyProfile(mu=0.4)])) == pytest.approx(0.5, rel=1e-12)
    # epsilon-DP: the Gaussian curve through the corner of its two lines.
    found = mu_upper(compose([PrivacyProfile(epsilon=1.0)]))
    assert float(ndtr(-found / 2)) == pytest.approx(1 / (1 + math.e), rel=1e-9)
    sampled = compose([PrivacyProfile(mu=1.0, rate=0.1, count=4)])
    assert mu_upper(sampled) == pytest.approx(2.0, rel=1e-9)
    assert mu_upper(compose([PrivacyProfile(rho=0.1)])) == math.inf


def test_nothing_is_found_in_noise_and_everything_without():
    assert power(Composition(), 0.01) == 0.01
    for profile in (
        PrivacyProfile(mu=math.inf),
        PrivacyProfile(epsilon=math.inf),
        PrivacyProfile(rho=math.inf),
        PrivacyProfile(mu=math.inf, rate=0.5),
    ):
        assert power(compose([profile]), 0.01) == 1.0


@pytest.mark.parametrize("fpr", [0.0, 1.0, -0.1, math.nan])
def test_a_rate_outside_its_range_is_named(fpr):
    with pytest.raises(ValueError, match="fpr="):
        power(Composition(), fpr)


def test_an_average_over_the_likelihood_ratio_is_the_reported_curve():
    """The area under the reported curve is the probability that a draw of one world has the larger loss."""
    area = quad(lambda fpr: power(compose([PrivacyProfile(mu=1.2)]), fpr), 1e-9, 1 - 1e-9)[0]
    assert area == pytest.approx(float(ndtr(1.2 / math.sqrt(2))), rel=1e-6)


def test_a_total_carries_the_attack_beside_its_epsilon():
    total = Ledger([event(mu=1.0)]).total("b", "row", 1e-5)
    assert total.mu_upper == total.mu_total == 1.0
    assert total.tpr_at_1_percent == pytest.approx(float(ndtr(ndtri(0.01) + 1)), rel=1e-9)
    assert total.tpr_at_0_1_percent == pytest.approx(float(ndtr(ndtri(0.001) + 1)), rel=1e-9)
    mixture = Ledger([event(mu=1.0), event("s", epsilon=0.5)]).total("b", "row", 1e-5)
    assert math.isnan(mixture.mu_total) and 1.0 < mixture.mu_upper < math.inf
    assert total.tpr_at_1_percent < mixture.tpr_at_1_percent < 1
    unproved = Ledger([event(mu=1.0), clear_event("x", "a", ("row",), "b")]).total("b", "row", 1e-5)
    assert (unproved.mu_upper, unproved.tpr_at_1_percent, unproved.tpr_at_0_1_percent) == (math.inf, 1.0, 1.0)
    nothing = Ledger().total("b", "row", 1e-5)
    assert (nothing.mu_upper, nothing.tpr_at_1_percent, nothing.tpr_at_0_1_percent) == (0.0, 0.01, 0.001)


def test_strata_compose_in_parallel():
    rows = [event(str(k), mu=mu, stratum=f"clients/{k}") for k, mu in enumerate((0.5, 1.0))]
    total = Ledger([Event(**{**vars(row), "owner": f"c{k}"}) for k, row in enumerate(rows)]).total("b", "row", 1e-5)
    assert total.mu_upper == 1.0
    assert total.tpr_at_1_percent == pytest.approx(float(ndtr(ndtri(0.01) + 1)), rel=1e-9)
