"""Sliced inverse regression against an independent package, and the cost of one client's moments; one thread.

Peer: statsmodels `SlicedInverseReg`, in the same process, where it is installed; without it the table says so. Its fit
does more (it also validates its input as a model), so the ratio is orientation. The same directions are required.
Fails below a ratio of 2 in either shape, when the directions differ, or above 1.1 microseconds a record for drawing
and reducing the clients of the tables.
"""

from __future__ import annotations

from _timing import by_turns

# isort: split

import sys
from collections.abc import Callable

import numpy as np

from partywise.core.randomness import stream
from partywise.methods.inverse_regression import models, projection_loss, sir
from partywise.methods.inverse_regression.moments import client_moments
from partywise.methods.inverse_regression.slices import equal_frequency
from partywise.privacy.accounted_values import Public
from partywise.privacy.statistics.clips import BoxClip

SHAPES, H, D = ((50_000, 10), (5_000, 200)), 10, 2
REQUIRED, TOLERANCE, PER_RECORD = 2.0, 1e-8, 1.1


CLIP = BoxClip(Public(1.0, because="a setting of the benchmark"))


def peer() -> Callable[[np.ndarray, np.ndarray], np.ndarray] | None:
    """The independent package as a function of (X, y), or None."""
    try:
        from statsmodels.regression.dimred import SlicedInverseReg
    except ImportError:
        return None
    return lambda X, y: SlicedInverseReg(y, X).fit(slice_n=len(y) // H).params[:, :D]


def compare() -> list[str]:
    """Print the comparison; what failed."""
    other, failed = peer(), []
    print("      n     p   here, ms   statsmodels, ms   ratio   projection loss")
    for n, p in SHAPES:
        X, y, _ = models.draw("III", n, p, stream(7, "benchmark", n))
        X = np.ascontiguousarray(X)
        works: list[Callable[[], object]] = [lambda X=X, y=y: sir(X, y, H, D)]  # type: ignore[misc]
        if other is None:
            (mine,) = by_turns(works, 15)
            print(f"{n:7d} {p:5d} {1e3 * mine:10.2f}   not installed")
            continue
        works.append(lambda X=X, y=y: other(X, y))  # type: ignore[misc]
        mine, theirs = by_turns(works, 15)
        loss = projection_loss(sir(X, y, H, D), other(X, y))
        print(f"{n:7d} {p:5d} {1e3 * mine:10.2f}   {1e3 * theirs:15.2f}   {theirs / mine:5.1f}   {loss:.1e}")
        if theirs / mine < REQUIRED:
            failed.append(f"n={n}, p={p}: ratio {theirs / mine:.1f} is below {REQUIRED:g}")
        if loss > TOLERANCE:
            failed.append(f"n={n}, p={p}: the directions differ by {loss:.1e}")
    return failed


def clients() -> list[str]:
    """Print the cost of drawing and of reducing a client of tables 1 and 2; what failed."""
    failed, n, p = [], 5_000, 10
    print("\nmodel   draw, us a record   moments, us a record")
    for name, model in models.MODELS.items():
        rng = stream(7, "benchmark", name)
        X, y, _ = models.draw(name, n, p, rng)
        draw, reduce = by_turns(
            [
                lambda name=name, rng=rng: models.draw(name, n, p, rng),  # type: ignore[misc]
                lambda X=X, y=y, H=model.n_slices: client_moments(X, y, equal_frequency(y, H), clip=CLIP),  # type: ignore[misc]
            ],
            51,
        )
        print(f"{name:5s}   {1e6 * draw / n:17.3f}   {1e6 * reduce / n:20.3f}")
        if 1e6 * (draw + reduce) / n > PER_RECORD:
            failed.append(f"model {name}: more than {PER_RECORD:g} us a record")
    return failed


def main() -> int:
    """Print both tables; 1 when something that is required is missed."""
    failed = compare() + clients()
    print(f"required: ratio >= {REQUIRED:g}, same directions to {TOLERANCE:g}, <= {PER_RECORD:g} us a record")
    print("; ".join(failed) if failed else "met")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
