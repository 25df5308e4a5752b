"""Exact integer noise for real releases against floating-point noise and OpenDP, side by side in one run.

Floating point: NumPy's ``standard_normal``, for 10^6 draws (= 1). Ours: words of the operating system, exact table, for
both distributions and four deviations in grid units. OpenDP: its discrete Gaussian on a vector of integers, exact too,
for fewer draws and scaled to 10^6. Fails when ours takes more than 15 times as long as floating point, or is not faster
than OpenDP.
"""

from __future__ import annotations

from _timing import cpu_seconds

# isort: split

import sys
from importlib.metadata import version

import opendp.prelude as dp

from partywise.core.randomness import stream
from partywise.privacy.mechanisms.random import SecureRandom
from partywise.privacy.secure.table import DISTRIBUTIONS

DRAWS = 1_000_000
OPENDP_DRAWS = 20_000
SIGMAS = (16.0, 64.0, 256.0, 1024.0)
LIMIT = 15.0


def opendp_ms(sigma: float) -> float:
    """Milliseconds for `DRAWS` draws, measured on `OPENDP_DRAWS`."""
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=int), OPENDP_DRAWS)
    noise = dp.m.make_gaussian(domain, dp.l2_distance(T=int), sigma)
    zeros = [0] * OPENDP_DRAWS
    return 1e3 * cpu_seconds(lambda: noise(zeros), 3) * DRAWS / OPENDP_DRAWS


def main() -> int:
    """Print the table; 1 when a required ratio is missed."""
    rng, source = stream(1, "benchmark"), SecureRandom()
    floats = 1e3 * cpu_seconds(lambda: rng.standard_normal(DRAWS), 15)
    words = 1e3 * cpu_seconds(lambda: source.uint64(DRAWS), 9)
    print(f"10^6 draws, CPU time; floating point: {floats:.1f} ms = 1; its words alone: {words / floats:.1f}")
    opendp = f"OpenDP {version('opendp')}"
    print(f"sigma, grid units   rounded, ms  ratio   discrete, ms  ratio   {opendp}, ms    ratio")
    failed = []
    for sigma in SIGMAS:
        ours = []
        for distribution in DISTRIBUTIONS:
            source.discrete_gaussian(sigma, 1, distribution)
            ours.append(
                1e3
                * cpu_seconds(
                    lambda distribution=distribution, sigma=sigma: source.discrete_gaussian(sigma, DRAWS, distribution),
                    9,
                )
            )
        peer = opendp_ms(sigma)
        cells = "   ".join(f"{ms:11.1f}  {ms / floats:5.1f}" for ms in ours)
        print(f"{sigma:17.0f}   {cells}   {peer:13.0f}  {peer / floats:7.1f}")
        if max(ours) > LIMIT * floats:
            failed.append(f"sigma={sigma:g}: ratio {max(ours) / floats:.1f} is above {LIMIT:g}")
        if max(ours) > peer:
            failed.append(f"sigma={sigma:g}: slower than OpenDP")
    print(f"required: at most {LIMIT:g} times floating point; OpenDP measured on {OPENDP_DRAWS} draws and scaled")
    print("; ".join(failed) if failed else "met")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
