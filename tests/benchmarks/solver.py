"""The published solver (``solver: kronecker``) against the diagonalised one, measured side by side on one thread.

One-off: factor and solve one right-hand side.  Further: one more right-hand side with the factors kept (Kronecker:
two triangular solves with the Cholesky factor).  Fails when the one-off ratio is below 5 at Q = 20 or 100 at Q = 40.
"""

from __future__ import annotations

import _timing  # noqa: F401

# isort: split

import sys
import time
from collections.abc import Callable

import numpy as np

from partywise.methods.functional.bases import BSplineBasis
from partywise.methods.functional.solver import KroneckerSolver, PenalizedSolver, solve_penalized, spectral_scale

LAMBDAS = (1e-3, 1e-3, 1e-3)
# Of the source, as a share of the mean of the diagonal.
H_RIDGE = 1e-10
REQUIRED = {20: 5.0, 40: 100.0}
TOLERANCE = 2e-9


def median_seconds(work: Callable[[], object], repeats: int) -> float:
    """Median wall time of one call."""
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return float(np.median(times))


def measure(size: int) -> tuple[float, float, float, float, float]:
    """Seconds one-off (Kronecker, diagonalised), seconds per further side (both), relative difference."""
    rng = np.random.default_rng(size)
    root = rng.standard_normal((4 * size, size))
    G, R = root.T @ root / len(root), rng.standard_normal((size, size))
    basis = BSplineBasis((0, 1), size)
    omega = basis.inverse_root @ basis.penalty @ basis.inverse_root
    omega = spectral_scale((omega + omega.T) / 2)

    def dense() -> np.ndarray:
        return KroneckerSolver(G, omega, omega, LAMBDAS, H_RIDGE).solve(R)

    def exact() -> np.ndarray:
        return solve_penalized(G, R, omega, omega, *LAMBDAS)

    difference = float(np.linalg.norm(dense() - exact()) / np.linalg.norm(exact()))
    repeats = 3 if size >= 30 else 9
    one_off = median_seconds(dense, repeats), median_seconds(exact, 51)
    kept = KroneckerSolver(G, omega, omega, LAMBDAS, H_RIDGE)
    solver = PenalizedSolver(G, omega, omega, LAMBDAS)
    again = (
        median_seconds(lambda: kept.solve(R), 31),
        median_seconds(lambda: solver.solve(R), 301),
    )
    return *one_off, *again, difference


def main() -> int:
    """Print the table; 1 when a required ratio is missed or the two solutions differ."""
    print("        one-off, ms                       further right-hand side, ms")
    print("  Q   Kronecker  diagonalised   ratio    Kronecker  diagonalised   ratio   difference")
    failed = []
    for size in (15, 20, 30, 40):
        dense, exact, dense_more, exact_more, difference = measure(size)
        ratio, more = dense / exact, dense_more / exact_more
        print(
            f"{size:3d}  {1e3 * dense:10.3f}  {1e3 * exact:12.3f}  {ratio:6.1f}   {1e3 * dense_more:10.4f}  "
            f"{1e3 * exact_more:12.4f}  {more:6.1f}   {difference:10.1e}"
        )
        if ratio < REQUIRED.get(size, 0.0):
            failed.append(f"Q={size}: ratio {ratio:.1f} is below {REQUIRED[size]:g}")
        if difference > TOLERANCE:
            failed.append(f"Q={size}: the solutions differ by {difference:.1e}")
    print("required: one-off ratio >= " + ", ".join(f"{r:g} at Q={q}" for q, r in REQUIRED.items()))
    print("; ".join(failed) if failed else "met")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
