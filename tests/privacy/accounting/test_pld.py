"""Profiles of losses: exact lattices, and grids that never err towards less privacy loss."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loss_oracle import oracle_epsilon, random_profiles
from partywise.core.randomness import stream
from partywise.privacy.accounting.calibration import gaussian_delta
from partywise.privacy.accounting.compose import compose, loss_parts
from partywise.privacy.accounting.convolution import grid_delta, grid_epsilon
from partywise.privacy.accounting.finite import Atoms, lattice, sum_atoms
from partywise.privacy.accounting.pld import place_atoms, sampled_gaussian
from partywise.privacy.accounting.privacy_profile import PrivacyProfile

DELTAS = [1e-3, 1e-6, 1e-12]


def profile(loss, mass, lost, epsilon):
    """Delta of a finite profile of losses."""
    return float(mass @ np.maximum(-np.expm1(epsilon - loss), 0.0)) + lost


# Exact lattices ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "k", "count"), [(3.0, 50, 14), (0.1, 2, 7), (1.0, None, 30), (0.02, 3, 200)])
def test_a_lattice_is_the_distribution_of_the_sum(epsilon, k, count):
    found = lattice(epsilon, k, count)
    assert found.infinity_mass == 0 and found.mass.sum() == pytest.approx(1, rel=1e-13)
    # Under the second world the masses are exp(-loss) of these, and they sum to 1 too.
    assert found.mass @ np.exp(-found.loss) == pytest.approx(1, rel=1e-12)
    assert found.loss[-1] == pytest.approx(count * epsilon, rel=1e-15)
    keep = 1 / (1 + ((k or 2) - 1) * math.exp(-epsilon))
    flip = keep * math.exp(-epsilon)
    assert found.mass @ found.loss == pytest.approx(count * epsilon * (keep - flip), rel=1e-12)
    assert found.mass[-1] == pytest.approx(keep**count, rel=1e-12)
    assert found.mass[0] == pytest.approx(flip**count, rel=1e-11)


def test_a_lattice_keeps_its_digits_in_the_tail():
    found = lattice(1.0, 4, 100)
    with mpmath.workdps(50):
        keep = mpmath.e / (mpmath.e + 3)
        flip, same = keep / mpmath.e, 2 * keep / mpmath.e
        for j in (100, 90, 3, -60):
            exact = mpmath.fsum(
                mpmath.factorial(100)
                / (mpmath.factorial(b + j) * mpmath.factorial(b) * mpmath.factorial(100 - 2 * b - j))
                * keep ** (b + j)
                * flip**b
                * same ** (100 - 2 * b - j)
                for b in range(max(0, -j), (100 - j) // 2 + 1)
            )
            assert found.mass[np.searchsorted(found.loss, j - 0.5)] == pytest.approx(float(exact), rel=1e-12)


def test_a_long_lattice_charges_what_it_cuts():
    found = lattice(0.001, None, 100_000)
    assert 0 < found.infinity_mass < 1e-50 and len(found.mass) < 12_000
    assert found.mass.sum() + found.infinity_mass == pytest.approx(1, rel=1e-9)
    mu = compose([PrivacyProfile(mu=0.001 * math.sqrt(100_000))])
    # Many small pure losses approach the Gaussian of the same variance.
    assert compose([PrivacyProfile(epsilon=0.001, count=100_000)]).epsilon(1e-6) == pytest.approx(
        mu.epsilon(1e-6), rel=1e-3
    )


def test_sums_of_lattices_stop_at_the_limit():
    parts = [lattice(1.0, 3, 10), lattice(0.3, 2, 10)]
    both = sum_atoms(parts, 1000)
    assert len(both.loss) == 21 * 11 and both.mass.sum() == pytest.approx(1)
    assert both.loss.max() == pytest.approx(13.0)
    assert sum_atoms(parts, 230) is None


# Grids ------------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(0.01, 1)), min_size=1, max_size=6), st.floats(1e-3, 0.5))
@settings(deadline=None, max_examples=60)
def test_a_grid_never_lowers_delta_and_keeps_both_worlds(pairs, step):
    loss, mass = np.array(pairs).T
    mass = mass / mass.sum()
    grid = place_atoms(Atoms(loss, mass, 0.0), step)
    assert grid.mass.sum() == pytest.approx(1, rel=1e-12)
    assert grid.mass @ np.exp(-grid.loss) == pytest.approx(mass @ np.exp(-loss), rel=1e-11)
    for epsilon in np.linspace(-5.2, 5.2, 40):
        exact, found = profile(loss, mass, 0.0, epsilon), profile(grid.loss, grid.mass, grid.infinity_mass, epsilon)
        assert exact * (1 - 1e-10) - 1e-13 <= found <= exact + step
    # Rounding the other way is seen at once.
    down = profile(np.floor(loss / step) * step, mass, 0.0, 0.0)
    assert down <= profile(grid.loss, grid.mass, grid.infinity_mass, 0.0) + 1e-13


@pytest.mark.parametrize("removed", [True, False])
@pytest.mark.parametrize(("mu", "rate"), [(1.0, 1.0), (0.3, 0.05), (2.0, 0.5), (6.0, 1e-3)])
def test_a_sampled_gaussian_on_a_grid_lies_just_above_its_profile(mu, rate, removed):
    grid = sampled_gaussian(mu, rate, 1e-3, 1e-14, removed=removed)
    assert grid.mass.sum() + grid.infinity_mass == pytest.approx(1, rel=1e-12) and grid.infinity_mass <= 1e-13
    for epsilon in (0.0, 0.01, 0.1, 0.5, 1.0, 3.0):
        # By (1 - rate) N(0, 1) + rate N(mu, 1): where its loss is epsilon, and the two tails from there.
        with mpmath.workdps(40):
            sign, q, m = (1 if removed else -1), mpmath.mpf(rate), mpmath.mpf(mu)
            ratio = (mpmath.exp(sign * mpmath.mpf(epsilon)) - (1 - q)) / q
            if ratio <= 0:
                exact = 0.0 if not removed else None
            else:
                x = mpmath.log(ratio) / m + m / 2
                absent, present = mpmath.ncdf(-x), (1 - q) * mpmath.ncdf(-x) + q * mpmath.ncdf(m - x)
                if removed:
                    exact = float(present - mpmath.exp(epsilon) * absent)
                else:
                    exact = float((1 - absent) - mpmath.exp(epsilon) * (1 - present))
        found = profile(grid.loss, grid.mass, grid.infinity_mass, epsilon)
        assert exact * (1 - 1e-9) - 1e-15 <= found <= exact + 1e-3
        if rate == 1:
            assert found == pytest.approx(gaussian_delta(mu, epsilon), rel=1e-4)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize(
    "profiles",
    [
        (PrivacyProfile(mu=0.2, count=20),),
        (PrivacyProfile(epsilon=3.0, k=50, count=14),),
        (PrivacyProfile(epsilon=3.0, k=50, count=14), PrivacyProfile(mu=1.0)),
        (PrivacyProfile(epsilon=0.1),),
        (PrivacyProfile(epsilon=0.3, count=12), PrivacyProfile(epsilon=1.0, k=4, count=5), PrivacyProfile(mu=0.05)),
    ],
)
def test_the_grid_agrees_with_the_exact_sum(profiles, delta):
    profile = compose(profiles)
    exact, found = profile.epsilon(delta), grid_epsilon(loss_parts(profile), delta)
    # The exact route itself is rounded up by a relative 1e-13.
    assert exact * (1 - 1e-12) <= found <= exact + 1e-5
    at = 0.9 * exact
    assert profile.delta(at) * (1 - 1e-9) <= grid_delta(loss_parts(profile), at) <= profile.delta(at) * (1 + 1e-4)


def test_finite_profiles_that_are_too_many_to_enumerate_go_to_the_grid():
    profiles = [PrivacyProfile(epsilon=0.2 + 0.05 * j, k=2 + j, count=3) for j in range(6)]
    assert sum_atoms([lattice(*part) for part in compose(profiles).finite], 4096) is None
    for delta in DELTAS[:2]:
        found = compose(profiles).epsilon(delta)
        assert oracle_epsilon(profiles, delta, pessimistic=False) <= found
        assert found <= oracle_epsilon(profiles, delta, pessimistic=True) + 1e-4


@pytest.mark.parametrize("number", range(8))
def test_sampled_totals_lie_between_two_oracles(number):
    rng = stream(7, "sampled", str(number))
    profiles, delta = random_profiles(rng, sampled=True), float(10 ** rng.uniform(-8, -3))
    found = compose(profiles).epsilon(delta)
    assert oracle_epsilon(profiles, delta, pessimistic=False) <= found
    assert found <= oracle_epsilon(profiles, delta, pessimistic=True) + 1e-3


def test_ten_thousand_sampled_steps_keep_their_digits():
    """Rounding every loss up would cost half a step a step: 10^4 of them at 1e-4 would add 0.5."""
    profile = PrivacyProfile(mu=1.0, rate=0.01, count=10_000)
    low, high = (oracle_epsilon([profile], 1e-5, step=step, pessimistic=True) for step in (5e-5, 5e-4))
    found = compose([profile]).epsilon(1e-5)
    assert found == pytest.approx(low, abs=2e-4) and found <= high + 1e-6


def test_both_directions_of_sampling_count():
    profile = compose([PrivacyProfile(mu=2.0, rate=0.3, count=3)])
    one_way = [grid_epsilon(loss_parts(profile), delta) for delta in DELTAS]
    assert one_way == [profile.epsilon(delta) for delta in DELTAS]
    added = sampled_gaussian(2.0, 0.3, 1e-3, 1e-14, removed=False)
    removed = sampled_gaussian(2.0, 0.3, 1e-3, 1e-14, removed=True)
    # The added direction cannot lose more than -log(1 - rate) a step; the removed one has no such end.
    assert added.loss[-1] <= -math.log(0.7) + 2e-3 < removed.loss[-1]
