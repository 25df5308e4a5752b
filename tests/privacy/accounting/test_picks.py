"""Picks of the exponential mechanism: the account lies above every tree of adaptive picks, near the worst one."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

import partywise as pw
from partywise.core.randomness import stream
from partywise.privacy.accountants import accountants
from partywise.privacy.accountants.renyi import ORDERS, divergences
from partywise.privacy.accounting.calibration import gdp_mu
from partywise.privacy.accounting.compose import compose
from partywise.privacy.accounting.gaussian_profile import pure_mu
from partywise.privacy.accounting.picks import MOST, before_pick, divide_picks, pick_atoms
from partywise.privacy.accounting.privacy_profile import PrivacyProfile
from partywise.privacy.accounting.tradeoff import mu_upper, power
from partywise.privacy.ledger.coalitions import Tally
from partywise.privacy.ledger.event import Event
from partywise.privacy.ledger.ledger import Ledger
from partywise.privacy.mechanisms.selection import ReportNoisyMax

# No account may be more than this above the worst tree.
ABOVE = 1.02
TERMS = {"unit": "row", "depends_on": {"label", "features"}}


def stick(x):
    """Delta at x without any release."""
    return np.maximum(-np.expm1(x), 0.0)


def gaussian(mu: float):
    """Delta of a Gaussian at any real x."""
    return lambda x: ndtr(mu / 2 - x / mu) - np.exp(x) * ndtr(-mu / 2 - x / mu)


def worst_tree(ranges, x, last=stick, size: int = 201) -> np.ndarray:
    """Largest delta at each x of the trees of picks whose t is chosen at every node, then ``last``.

    Every t is sought among ``size`` values, for each node by itself: a lower bound of the truth, and close to it.
    """
    if not ranges:
        return last(x)
    r, *others = ranges
    t = np.linspace(0, r, size)
    p = (math.exp(r) - np.exp(t)) / math.expm1(r)
    after, other = (worst_tree(others, x[..., None] - t + more, last, size) for more in (0.0, r))
    return np.max(p * after + (1 - p) * other, axis=-1)


def worst(ranges, x: float, last=stick, size: int = 201) -> float:
    """Return `worst_tree` at one x."""
    return float(worst_tree(ranges, np.array(x), last, size))


def after_a_gaussian(ranges, x: float, mu: float, size: int = 201) -> float:
    """Delta at x where the t of every node depends on the loss of a Gaussian before it: by a sum over losses."""
    nodes = np.linspace(-8, 8, 401)
    shares = np.exp(-nodes * nodes / 2)
    return float(shares @ worst_tree(ranges, x - mu * mu / 2 - mu * nodes, size=size) / shares.sum())


def before_a_gaussian(count: int, r: float, x: float, mu: float) -> float:
    """Delta at x of picks that are all made before a Gaussian release, by the recursion with its profile at the end."""
    half = 40 * math.ceil((count * r + 12 * mu) / r)
    step = r / 40
    points = np.arange(-half, half + 1) * step
    values = np.array([gaussian(mu)(point) for point in points])
    for _ in range(count):
        values = before_pick(values, r, half, step)
    return float(np.interp(math.exp(x), np.exp(points), values))


# The recursion ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "r", "epsilon", "stated"),
    [(2, 0.4, 0.3, 0.033289), (2, 0.2, 0.1, 0.026227), (3, 0.3, 0.3, 0.022761), (3, 0.4, 0.5, 0.018926)],
)
def test_picks_alone_cost_what_the_worst_tree_costs(count, r, epsilon, stated):
    least = worst([r] * count, epsilon, size={2: 801, 3: 201}[count])
    assert least == pytest.approx(stated, rel=2e-4)
    account = (count * pw.cost(range=r)).delta(epsilon)
    assert least * (1 - 1e-9) <= account <= ABOVE * least


def test_one_pick_and_a_gaussian_in_both_orders():
    mu, r, epsilon = 0.3, 0.4, 0.5
    first, last = after_a_gaussian([r], epsilon, mu), worst([r], epsilon, gaussian(mu))
    assert (first, last) == pytest.approx((0.02028, 0.01746), abs=1e-5)
    account = (pw.cost(mu=mu) + pw.cost(range=r)).delta(epsilon)
    assert first <= account <= ABOVE * first
    picks_first = before_a_gaussian(1, r, epsilon, mu)
    assert last * (1 - 1e-9) <= picks_first <= ABOVE * last


@pytest.mark.parametrize(("count", "r", "epsilon", "mu"), [(2, 0.4, 0.6, 0.3), (2, 0.2, 0.8, 0.5)])
def test_two_picks_with_a_gaussian_before_and_after_them(count, r, epsilon, mu):
    first, last = after_a_gaussian([r] * count, epsilon, mu, 61), worst([r] * count, epsilon, gaussian(mu), 61)
    assert last < first
    account = (pw.cost(mu=mu) + count * pw.cost(range=r)).delta(epsilon)
    # The Gaussian before all picks is the worst order: quadrature is good to a thousandth.
    assert first * 0.999 <= account <= ABOVE * first
    assert last * (1 - 1e-9) <= before_a_gaussian(count, r, epsilon, mu) <= ABOVE * last


@pytest.mark.statistical
def test_three_picks_with_a_gaussian_before_and_after_them():
    r, epsilon, mu = 0.3, 0.7, 0.4
    first, last = after_a_gaussian([r] * 3, epsilon, mu, 21), worst([r] * 3, epsilon, gaussian(mu), 61)
    account = (pw.cost(mu=mu) + 3 * pw.cost(range=r)).delta(epsilon)
    assert first * 0.999 <= account <= ABOVE * first
    assert last * (1 - 1e-9) <= before_a_gaussian(3, r, epsilon, mu) <= ABOVE * last


def test_ten_picks_at_the_stated_numbers():
    any_order = (pw.cost(mu=0.297) + 10 * pw.cost(range=0.12)).delta(1.0)
    assert 4.125e-4 <= any_order <= ABOVE * 4.13e-4
    assert 3.795e-4 <= before_a_gaussian(10, 0.12, 1.0, 0.297) <= ABOVE * 3.80e-4
    assert any_order < 0.5 * (pw.cost(mu=0.297) + 10 * pw.cost(epsilon=0.12)).delta(1.0)


@pytest.mark.parametrize(("picks", "mu"), [(((0.3, 5),), 0.4), (((0.2, 2), (0.4, 1)), 0.2), (((2.0, 3),), 0.5)])
def test_a_finer_grid_changes_little(picks, mu, monkeypatch):
    plan = sum((count * pw.cost(range=r) for r, count in picks), pw.cost(mu=mu))
    coarse = plan.delta(1.0)
    monkeypatch.setattr("partywise.privacy.accounting.picks.POINTS", 256)
    monkeypatch.setattr("partywise.privacy.accounting.picks.LONGEST", 8192)
    pick_atoms.cache_clear()
    # Another number of Gaussians is another composition: nothing that was kept answers.
    fine = replace(plan, mu_squared=math.nextafter(plan.mu_squared, 1)).delta(1.0)
    pick_atoms.cache_clear()
    assert fine <= coarse * (1 + 1e-9) and coarse <= 1.005 * fine


def test_the_worst_order_of_two_ranges_counts():
    a, b, x = 0.4, 0.2, 0.3
    least = max(worst([a, b], x), worst([b, a], x))
    account = (pw.cost(range=a) + pw.cost(range=b)).delta(x)
    assert least * (1 - 1e-9) <= account <= ABOVE * least


def test_real_mechanisms_never_exceed_the_account():
    """Two winners out of five under random neighbouring scores: the exact delta of the pair, in both directions."""
    rng, r = stream(5, "pairs"), 0.5
    account = 2 * pw.cost(range=r)
    largest = 0.0
    for _ in range(300):
        scores = rng.normal(size=5) * rng.choice([0.1, 1.0, 10.0])
        moved = scores + rng.choice([-1.0, 1.0], size=5) * rng.choice([1.0, rng.uniform()])
        certificate = pw.SensitivityCertificate(1.0, "linf", "row", "replace_one", {"label"})
        pair = [ReportNoisyMax(r, 2).probabilities(pw.Bounded(values, certificate)) for values in (scores, moved)]
        for one, other in itertools.permutations(pair):
            for epsilon in (0.0, 0.2, 0.5, 0.8):
                exact = float(np.maximum(one - math.exp(epsilon) * other, 0).sum())
                bound = account.delta(epsilon)
                assert exact <= bound
                largest = max(largest, exact / bound)
    # The bound is about trees that know more than scores give them: none of these reaches it, some come near.
    assert 0.5 < largest < 1


# Compositions -----------------------------------------------------------------------------------------------------


def test_a_single_pick_is_pure_and_no_total_exceeds_that_of_pure_releases():
    pick = pw.cost(range=0.5)
    assert pick.epsilon(0.0) == pick.pure == 0.5 and pick.delta(0.5) == 0.0
    for count, mu, delta in ((1, 0.0, 1e-6), (4, 0.0, 1e-5), (30, 0.3, 1e-5), (3, 2.0, 1e-9)):
        gaussian_part = pw.cost(mu=mu)
        picks, pure = count * pw.cost(range=0.2), count * pw.cost(epsilon=0.2)
        assert (gaussian_part + picks).epsilon(delta) <= (gaussian_part + pure).epsilon(delta) * (1 + 1e-9)


def test_other_accountants_stay_above_the_exact_one():
    plan = pw.cost(mu=0.4) + 12 * pw.cost(range=0.25)
    exact = plan.epsilon(1e-5)
    for name, accountant in accountants().items():
        if name not in ("exact", "simple_zcdp"):
            assert accountant(plan).epsilon(1e-5) >= exact * 0.999, name
    assert plan.zcdp == pytest.approx(0.4**2 / 2 + 12 * 0.25**2 / 8)


@pytest.mark.parametrize("r", [0.05, 0.8, 3.0])
def test_zcdp_and_gaussians_dominate_every_pair_of_a_pick(r):
    """Loss t with probability p, else t - r: an eighth of the squared range as zCDP, half of it as a pure profile."""
    bound = divergences(pw.cost(range=r))
    mu = pure_mu(r / 2)
    for t in np.linspace(0, r, 41)[1:-1]:
        p = (math.exp(r) - math.exp(t)) / math.expm1(r)
        ours, theirs = np.array([p, 1 - p]), np.array([p * math.exp(-t), (1 - p) * math.exp(r - t)])
        assert theirs.sum() == pytest.approx(1)
        exact = np.logaddexp(*(ORDERS * np.log(ours)[:, None] + (1 - ORDERS) * np.log(theirs)[:, None]))
        assert np.all(exact / (ORDERS - 1) <= bound * (1 + 1e-9) + 1e-12)
        assert p <= ndtr(ndtri(theirs[0]) + mu) + 1e-12
    assert mu_upper(pw.cost(range=r)) == pytest.approx(mu)
    assert power(pw.cost(range=r), 0.01) <= power(pw.cost(epsilon=r), 0.01)


def test_picks_that_are_not_followed_count_as_gaussian_or_pure():
    exact, square, pure = divide_picks(((1e-5, 3), (0.1, 10), (0.2, MOST), (30.0, 2)))
    assert exact == ((0.2, MOST),) and pure == ((30.0, 2),)
    assert square == pytest.approx(10 * pure_mu(0.05) ** 2 + 3 * pure_mu(5e-6) ** 2)
    many = pw.cost(mu=0.1) + 20 * MOST * pw.cost(range=0.01)
    assert many.epsilon(1e-5) >= (pw.cost(mu=0.1) + MOST * pw.cost(range=0.01)).epsilon(1e-5)
    assert pw.cost(range=30.0).epsilon(1e-5) == pytest.approx(30.0, rel=1e-3)
    assert math.isinf((pw.cost(range=math.inf)).epsilon(1e-5))


def test_picks_next_to_rows_known_by_rho_are_pure_or_zcdp():
    plan = pw.cost(rho=0.01) + 5 * pw.cost(range=0.3)
    pure = pw.cost(rho=0.01) + 5 * pw.cost(epsilon=0.3)
    assert plan.epsilon(1e-5) <= pure.epsilon(1e-5)
    assert plan.delta(1.0) >= (5 * pw.cost(range=0.3)).delta(1.0)


def test_sampled_gaussians_with_picks_cost_more_than_either():
    sampled, picks = 100 * pw.cost(mu=1.0, rate=0.01), 5 * pw.cost(range=0.2)
    together = (sampled + picks).epsilon(1e-5)
    assert max(sampled.epsilon(1e-5), picks.epsilon(1e-5)) < together
    assert together <= (sampled + 5 * pw.cost(epsilon=0.2)).epsilon(1e-5) * (1 + 1e-6)


def test_profiles_events_groups_and_tallies_keep_the_range():
    event = Event("picks", "a", "report_noisy_max", epsilon=0.2, range=0.2, count=3, **TERMS)
    assert event.profile == PrivacyProfile(epsilon=0.2, count=3, range=0.2)
    group = event.cost("user", 4)
    assert (group.range, group.epsilon) == (0.8, 0.8) and compose([group]).picks == ((0.8, 3),)
    assert (
        Event.from_row({name: "" if value is None else str(value) for name, value in event.to_row().items()}) == event
    )
    # A row of an earlier version has no range: its picks stay pure.
    earlier = {name: value for name, value in event.to_row().items() if name != "range"}
    assert compose([Event.from_row(earlier).profile]).finite == ((0.2, None, 3),)
    tally = Tally()
    tally.add(event.profile)
    tally.add(PrivacyProfile(mu=0.1))
    other = Tally()
    other.join(tally)
    assert other.composition == tally.composition == compose([event.profile, PrivacyProfile(mu=0.1)])
    assert "(pick)" in str(event.profile)
    with pytest.raises(ValueError, match=r"range=0\.3 .* state epsilon=0\.3"):
        pw.cost(epsilon=0.2, range=0.3)
    with pytest.raises(ValueError, match="no k"):
        pw.cost(range=0.2, k=3)


def test_a_ledger_composes_all_picks_of_a_record():
    rows = [Event(f"picks {k}", "a", "report_noisy_max", epsilon=0.12, range=0.12, count=5, **TERMS) for k in range(2)]
    rows.insert(1, Event("means", "a", "gaussian", mu=0.297, **TERMS))
    total = Ledger(rows).total("server", "row", delta=4.2e-4)
    expected = (pw.cost(mu=0.297) + 10 * pw.cost(range=0.12)).epsilon(4.2e-4)
    assert total.epsilon_certified == expected < 1.0
    assert math.isnan(total.mu_total) and total.mu_upper == pytest.approx(
        math.hypot(0.297, math.sqrt(10) * pure_mu(0.06))
    )


@pytest.mark.statistical
def test_no_total_of_500_ledgers_exceeds_its_target():
    from partywise.methods.inverse_regression.protocols.budgets import largest_range

    rng = stream(11, "ledgers")
    for _ in range(500):
        epsilon, delta = float(10 ** rng.uniform(-0.7, 0.7)), float(10 ** rng.uniform(-6, -2.5))
        count, share = int(rng.integers(1, 21)), float(rng.uniform(0.05, 0.9))
        mu = float(gdp_mu(epsilon, delta)) * math.sqrt(1 - share)
        r = largest_range(mu, count, epsilon, delta)
        picks = Event("picks", "a", "report_noisy_max", epsilon=r, range=r, count=count, **TERMS)
        parts = rng.dirichlet(np.ones(3))
        rows = [Event(f"r{k}", "a", "gaussian", mu=mu * math.sqrt(part), **TERMS) for k, part in enumerate(parts)]
        rows.insert(int(rng.integers(0, 4)), picks)
        total = Ledger(rows).total("server", "row", delta=delta).epsilon_certified
        assert 0.999 * epsilon <= total <= epsilon * (1 + 1e-9)
