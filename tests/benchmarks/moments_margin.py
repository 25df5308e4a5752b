"""Released moments at every epsilon: risk as a share of the mean curve's, with the margin for the noise and without it.

``old`` takes the lowest noisy criterion (``margin: none``), ``new`` is the default: the same releases, the same noise.
Means over replicates of the mean over folds, with standard errors over replicates; ``new / old`` is paired.  Fails when
``new`` exceeds 1.05 of the mean curve anywhere, or 1.02 of ``old`` where the old rule is useful (below .98).

``moments_margin.py CASE REPLICATES`` runs one case with more replicates.
"""

from __future__ import annotations

from _timing import ROOT

# isort: split

import sys
from typing import Any

import numpy as np

from partywise.core.randomness import Streams, stream
from partywise.data import fetch as resources
from partywise.experiment.study import MethodSpec
from partywise.federation.folds import Fold
from partywise.federation.run import Run, simulate
from partywise.methods.functional.options import CurveMomentsOptions
from partywise.methods.functional.protocols import moments as moments_release
from partywise.studies.functional_boosting import cases
from partywise.studies.functional_boosting import data as study_data
from partywise.studies.functional_boosting.metrics import metrics
from partywise.studies.functional_boosting.settings import CurveDatasetSettings, SimulatedCurveSettings
from partywise.studies.functional_boosting.study import CurveConstants

SEED = 20261121
EPSILON = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, float("inf"))
WORST, LOSS, USEFUL = 1.05, 1.02, 0.98
FRESH: dict[str, Any] = {"n_test": 2000, "n_basis_x": 8, "n_basis_y": 8}
# Settings, numbers of parties, folds, replicates.
CASES: dict[str, tuple[Any, int, int, int]] = {
    "sweep": (SimulatedCurveSettings(n=5000, p=4, active=(0, 1, 2, 3), snr=10.0, **FRESH), 4, 1, 20),
    "weak signal": (SimulatedCurveSettings(n=3000, p=6, active=(0, 1), snr=0.5, **FRESH), 2, 1, 20),
    "small sample": (SimulatedCurveSettings(n=400, p=4, active=(0, 1), snr=2.0, **FRESH), 2, 1, 20),
    "no signal": (SimulatedCurveSettings(n=1000, p=4, active=(0,), snr=1e-3, **FRESH), 2, 1, 20),
    "twelve predictors": (SimulatedCurveSettings(n=2000, p=12, **FRESH), 4, 1, 10),
    "beijing": (CurveDatasetSettings(dataset="beijing"), 3, 5, 10),
    "nyc": (CurveDatasetSettings(dataset="nyc"), 4, 5, 2),
}
# New York has 27 predictors: a fit costs a hundred times one of the others, so it has its own, fewer targets.
FEW = {"nyc": (1.0, 10.0, 100.0, 1000.0)}


def made(name: str, settings: Any, replicate: int) -> Any:
    """The data of one replicate."""

    def rng_for(*names: str | int, shared: bool = False) -> np.random.Generator:
        return stream(SEED, name, "data", "shared" if shared else replicate, *names)

    if isinstance(settings, CurveDatasetSettings):
        for resource in settings.resources:
            resources.fetch(resource, ROOT / "resources" / resource)
        return cases.draw_dataset(settings, CurveConstants(), rng_for, ROOT / "resources")
    return cases.draw_simulated(settings, CurveConstants(), rng_for, ROOT)


def share(data: Any, settings: Any, parties: int, folds: int, epsilon: float, margin: str, noise: Streams) -> float:
    """Risk as a share of the mean curve's: mean over the folds."""
    found = []
    of, options = study_data.folds(data, folds, settings), CurveMomentsOptions(margin=margin)
    for held_out in range(folds):
        fold, held = Fold(of, held_out, folds), study_data.split(data, parties, CurveConstants(), settings)
        spec, extra = MethodSpec(options, CurveConstants(), settings, data.public()), ("analyst", "dealer")
        run = Run(held, epsilon=epsilon, fold=fold, rng_for=noise, spec=spec, extra=extra)
        estimate = simulate(moments_release.fit, run)
        found.append(metrics(estimate, data, fold.train, spec).relative_error)
    return float(np.mean(found))


def with_error(values: np.ndarray) -> str:
    """Mean and standard error."""
    return f"{values.mean():8.3f} +- {values.std(ddof=1) / np.sqrt(len(values)):.3f}"


def main(chosen: list[str]) -> int:
    """Print the table; the number of lines that miss a limit."""
    missed = 0
    print(f"{'case':18s} {'epsilon':>7s} {'reps':>4s} {'old':>17s} {'new':>17s} {'new / old':>17s}")
    for name, (settings, parties, folds, replicates) in CASES.items():
        if chosen and name != chosen[0]:
            continue
        count = int(chosen[1]) if chosen[1:] else replicates
        drawn = [made(name, settings, replicate) for replicate in range(count)]
        for epsilon in FEW.get(name, EPSILON):
            table = np.array(
                [
                    [
                        share(data, settings, parties, folds, epsilon, margin, Streams(SEED, name, "noise", replicate))
                        for margin in ("none", "noise")
                    ]
                    for replicate, data in enumerate(drawn)
                ]
            )
            old, new = table.T
            bad = new.mean() > WORST or (old.mean() < USEFUL and new.mean() > LOSS * old.mean())
            missed += bad
            columns = " ".join(map(with_error, (old, new, new / old)))
            print(f"{name:18s} {epsilon:7.4g} {count:4d} {columns}{'  MISSED' if bad else ''}", flush=True)
    print(f"{missed} lines above 1.05 of the mean curve, or above 1.02 of the old rule where that is useful")
    return missed


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)
