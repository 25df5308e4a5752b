"""Totals of mixed releases against dp-accounting in one run, and the total of a long ledger, on one thread.

Mixed: 14 randomised responses (epsilon = 3 over 50 values) and a Gaussian of mu = 0.3, both from scratch: the
distributions of single releases, their composition and the search for epsilon at delta = 1e-5. Fails when a mixed total
takes more than 50 ms, when the two disagree by more than the other's grid, or when 100 000 Gaussian rows take more than
a second.
"""

from __future__ import annotations

from _timing import cpu_seconds

# isort: split

import math
import sys

from dp_accounting.pld import privacy_loss_distribution as pld

from partywise.privacy.accounting import compose, finite
from partywise.privacy.accounting.privacy_profile import PrivacyProfile
from partywise.privacy.ledger.event import Event
from partywise.privacy.ledger.ledger import Ledger

DELTA, STEP, RESPONSES, ROWS = 1e-5, 1e-4, 14, 100_000
MIXED = (PrivacyProfile(epsilon=3.0, k=50, count=RESPONSES), PrivacyProfile(mu=0.3))
SAMPLED = (PrivacyProfile(mu=1.0, rate=0.01, count=1000),)


def ours(distributions: tuple[PrivacyProfile, ...]) -> float:
    """Epsilon with nothing kept from earlier totals."""
    compose._epsilon.cache_clear()
    finite.lattice.cache_clear()
    return compose.compose(distributions).epsilon(DELTA)


def peer_mixed() -> float:
    """The same by loss distributions on a grid, one compose call a response: its count would be ignored."""
    gaussian = pld.from_gaussian_mechanism(1 / 0.3, value_discretization_interval=STEP)
    response = pld.from_randomized_response(50 / (math.exp(3) + 49), 50, value_discretization_interval=STEP)
    total = gaussian
    for _ in range(RESPONSES):
        total = total.compose(response)
    return float(total.get_epsilon_for_delta(DELTA))


def peer_sampled() -> float:
    """1000 Poisson-sampled Gaussian steps."""
    one = pld.from_gaussian_mechanism(1.0, value_discretization_interval=STEP, sampling_prob=0.01)
    return float(one.self_compose(1000).get_epsilon_for_delta(DELTA))


def ledger_seconds() -> float:
    """Totalling many Gaussian rows."""
    row = {"owner": "p1", "mechanism": "gaussian", "unit": "row", "depends_on": ("features", "label"), "mu": 0.01}
    ledger = Ledger(Event(release_id=str(k), **row) for k in range(ROWS))
    return cpu_seconds(lambda: ledger.total("active", "row", DELTA), 5)


def main() -> int:
    """Print the table; 1 when a required time is missed or two totals disagree."""
    failed = []
    print("                                  ours, ms   dp-accounting, ms   ratio   epsilon      difference")
    for label, distributions, peer, repeats in (
        (f"{RESPONSES} responses and a Gaussian", MIXED, peer_mixed, 5),
        ("1000 Poisson-sampled Gaussians", SAMPLED, peer_sampled, 3),
    ):
        mine, other = (
            cpu_seconds(lambda distributions=distributions: ours(distributions), 15),
            cpu_seconds(peer, repeats),
        )
        found, theirs = ours(distributions), peer()
        print(
            f"{label:32s}  {1e3 * mine:9.2f}   {1e3 * other:17.1f}   {other / mine:5.0f}   {found:.6f}   "
            f"{theirs - found:10.1e}"
        )
        if abs(theirs - found) > (RESPONSES + 1) * STEP:
            failed.append(f"{label}: totals differ by {theirs - found:.1e}")
        if distributions is MIXED and mine > 0.05:
            failed.append(f"{label}: {1e3 * mine:.0f} ms, more than 50")
    seconds = ledger_seconds()
    print(f"{ROWS} Gaussian rows               {1e3 * seconds:9.1f}")
    if seconds > 1:
        failed.append(f"{ROWS} rows take {seconds:.2f} s")
    print("; ".join(failed) if failed else "met")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
