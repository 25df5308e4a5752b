"""Cost of boosting in Gram space: after one pass over the records nothing depends on their number.

One thread, p = 20, Q = 15 (P = 300), noise s = .5.  Fails when a step takes more than 2 ms, when a fit at N = 16000
takes 1.5 times the one at N = 1000 after the Gram pass, or when a fit of 30 steps takes more than .1 CPU seconds.
"""

from __future__ import annotations

from _timing import cpu_seconds

# isort: split

import sys

import numpy as np

from partywise.core.randomness import stream
from partywise.methods.functional.bases import BSplineBasis
from partywise.methods.functional.boosting import fit_boosting
from partywise.methods.functional.moments import CurveMoments, CurveSums, block_noise, corrected_moments
from partywise.methods.functional.path_options import BoostingOptions
from partywise.methods.functional.paths import Penalties
from partywise.methods.functional.solver import spectral_scale
from partywise.studies.functional_boosting.cases import draw_curves, draw_operators
from partywise.studies.functional_boosting.settings import SimulationSettings

P, Q, S = 20, 15, 0.5
COUNTS = (1000, 2000, 4000, 8000, 16000)
SHORT, LONG = 30, 230
STEP_LIMIT, FIT_LIMIT, RATIO_LIMIT = 2e-3, 0.1, 1.5
GROUPS = tuple((j,) for j in range(P))


def penalties() -> Penalties:
    """Second-derivative penalties of the spline basis, as in the study."""
    basis = BSplineBasis((0, 1), Q)
    omega = basis.inverse_root @ basis.penalty @ basis.inverse_root
    omega = spectral_scale((omega + omega.T) / 2)
    return Penalties(np.stack([omega] * P), omega)


def released(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Noisy curves (n, P Q) and responses of one replicate."""
    settings = SimulationSettings(n=n, p=P, n_basis_x=Q, n_basis_y=Q)

    def rng_for(*names: str | int) -> np.random.Generator:
        return stream(1, "benchmark", n, *names)

    X, Y, _ = draw_curves(settings, rng_for, draw_operators(settings, stream(1, "benchmark", "operators")))
    return (X + S * rng_for("noise").standard_normal(X.shape)).reshape(n, -1), Y


def fit(parts: list[CurveMoments], omega: Penalties, steps: int, stop: str = "cv") -> int:
    """One fit that walks all its steps; returns their number."""
    options = BoostingOptions(stop=stop, max_steps=steps, min_steps=steps, patience=steps)
    fitted = fit_boosting(parts[0], parts[1], parts[2], GROUPS, omega, options)
    assert len(fitted.trace["cv"]) == steps
    return len(fitted.trace["cv"])


def main() -> int:
    """Print the table; 1 when a limit is missed."""
    omega, noise = penalties(), block_noise(np.full(P, S**2), Q, P)
    print(
        f"p = {P}, Q = {Q}, s = {S}; CPU ms, medians; a step = (fit of {LONG} - fit of {SHORT} steps) / {LONG - SHORT}"
    )
    print("     N   Gram pass   set-up and 30 steps   step   step with exact df")
    fits, steps = {}, {}
    for n in COUNTS:
        Z, Y = released(n)

        def gram_pass(Z: np.ndarray = Z, Y: np.ndarray = Y) -> list[CurveSums]:
            return [CurveSums.of(Z[half::2], Y[half::2]) for half in (0, 1)]

        passed = cpu_seconds(gram_pass, repeats=3)
        a, b = gram_pass()
        parts = [corrected_moments(sums, noise) for sums in (a + b, a, b)]
        fit(parts, omega, SHORT)
        fits[n] = cpu_seconds(lambda parts=parts: fit(parts, omega, SHORT), 7)
        long = cpu_seconds(lambda parts=parts: fit(parts, omega, LONG), 7)
        steps[n] = (long - fits[n]) / (LONG - SHORT)
        counted = [cpu_seconds(lambda parts=parts, m=m: fit(parts, omega, m, "aicc"), 3) for m in (SHORT, LONG)]
        with_df = (counted[1] - counted[0]) / (LONG - SHORT)
        print(f"{n:6d}  {1e3 * passed:10.1f}  {1e3 * fits[n]:20.1f}  {1e3 * steps[n]:5.2f}  {1e3 * with_df:19.2f}")
    ratio = fits[COUNTS[-1]] / fits[COUNTS[0]]
    checks = [
        (
            f"slowest step {1e3 * max(steps.values()):.2f} ms (limit {1e3 * STEP_LIMIT:g})",
            max(steps.values()) <= STEP_LIMIT,
        ),
        (
            f"slowest fit of {SHORT} steps {max(fits.values()):.3f} CPU s (limit {FIT_LIMIT})",
            max(fits.values()) <= FIT_LIMIT,
        ),
        (f"fit at N = {COUNTS[-1]} / N = {COUNTS[0]}: {ratio:.2f} (limit {RATIO_LIMIT})", ratio < RATIO_LIMIT),
    ]
    for text, met in checks:
        print(f"{text}: {'met' if met else 'MISSED'}")
    return int(not all(met for _, met in checks))


if __name__ == "__main__":
    sys.exit(main())
