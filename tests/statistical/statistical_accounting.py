"""Long checks of the accountant: a thousand random compositions between two oracles (``./run test --long``).

The optimistic loss distributions of dp-accounting bound the truth from below, the pessimistic ones from above. Prints
how far the totals lie from both, as mean and largest value.
"""

from __future__ import annotations

import time

import numpy as np
import pytest

from loss_oracle import oracle_epsilon, random_profiles, true_delta
from partywise.core.randomness import stream
from partywise.privacy.accounting.compose import compose

pytestmark = pytest.mark.statistical

COMPOSITIONS, SAMPLED, ENUMERATED = 1000, 100, 60


def compare(address: str, number: int, *, sampled: bool) -> tuple[float, float, float]:
    """Total above the lower oracle, upper oracle above the total, CPU seconds of the total."""
    rng = stream(7, address, str(number))
    distributions, delta = random_profiles(rng, sampled=sampled), float(10 ** rng.uniform(-9, -3))
    begun = time.process_time()
    found = compose(distributions).epsilon(delta)
    seconds = time.process_time() - begun
    low = oracle_epsilon(distributions, delta, pessimistic=False)
    high = oracle_epsilon(distributions, delta, pessimistic=True)
    assert low <= found <= high + 1e-3, (distributions, delta, low, found, high)
    return found - low, high - found, seconds


def report(title: str, rows: list[tuple[float, float, float]]) -> None:
    above, below, seconds = np.array(rows).T
    print(
        f"{title}: {len(rows)} compositions, above the lower oracle by {above.mean():.1e} (most {above.max():.1e}), "
        f"below the upper by {below.mean():.1e} (least {below.min():.1e}), "
        f"CPU time {1e3 * np.median(seconds):.1f} ms (most {1e3 * seconds.max():.0f} ms)"
    )


def test_a_thousand_random_compositions():
    report(
        "finite distributions and Gaussians", [compare("long", number, sampled=False) for number in range(COMPOSITIONS)]
    )


def test_random_compositions_with_sampled_gaussians():
    report("sampled Gaussians", [compare("long sampled", number, sampled=True) for number in range(SAMPLED)])


def test_random_compositions_against_fifty_digits():
    done = number = 0
    while done < ENUMERATED:
        rng = stream(7, "long exact", str(number))
        number += 1
        distributions, delta = random_profiles(rng), float(10 ** rng.uniform(-12, -2))
        if sum(distribution.count for distribution in distributions if distribution.epsilon is not None) > 7:
            continue
        found = compose(distributions).epsilon(delta)
        assert true_delta(distributions, found) <= delta
        assert found == 0 or true_delta(distributions, found * (1 - 1e-8) - 1e-12) > delta
        done += 1
    print(f"{done} compositions agree with 50 digits: never below the least epsilon, above it by less than 1e-8 of it")
