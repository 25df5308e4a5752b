"""Long checks of breakdown buckets against WALR at the same label epsilon, and of the source's words on time.

Part of ``./run test --long`` alone.  Of one replicate all methods and epsilons have the same data, split and source of
noise, so that differences are of pairs; they are printed with standard errors over replicates.
"""

from __future__ import annotations

import functools
from pathlib import Path
from time import process_time

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from label_driver import rng_for, run
from partywise.core.randomness import stream
from partywise.methods.logistic.model import dot_product
from partywise.methods.logistic.planner import fixed_plan
from partywise.methods.logistic.trainers import fit_walr
from partywise.models.links import LOGIT
from partywise.studies.label_private.cases import draw_dataset, draw_generated, draw_logistic
from partywise.studies.label_private.data import LabelData
from partywise.studies.label_private.register.facts import stored_ratio
from partywise.studies.label_private.settings import LabelDatasetSettings, LabelGeneratedSettings
from partywise.studies.label_private.study import LabelConstants

pytestmark = pytest.mark.statistical

RESOURCES = Path(__file__).resolve().parents[2] / "resources"
SETTINGS = {
    "generated": LabelGeneratedSettings(n=50_000, k=20),
    "Adult": LabelDatasetSettings(dataset="adult_indicators"),
    "breast cancer": LabelDatasetSettings(dataset="breast_cancer", delta=1e-3),
    "body fat": LabelDatasetSettings(dataset="body_fat", delta=1e-3),
}
REPLICATES = {"generated": 4, "Adult": 8, "breast cancer": 12, "body fat": 12}
EPSILONS = {"generated": (0.1, 1.0), "Adult": (0.1, 1.0, 4.0), "breast cancer": (0.3, 1.0, 4.0), "body fat": (1.0, 4.0)}
PUBLISHED = {"noise": "iid", "sigma": "classic", "bound": "sqrt_k", "ridge": "fixed"}
METHODS = {
    "WALR, published noise": ("walr", PUBLISHED),
    "WALR planned": ("walr", {"noise": "shaped"}),
    "buckets, 4 bins": ("buckets", {"bins": 4}),
    "buckets, 10 bins": ("buckets", {"bins": 10}),
    "all pairs, 4 bins": ("buckets", {"bins": 4, "pairs": "all"}),
}
# All pairs have more than a thousand cells: body fat alone.
PAIRS = ("body fat",)


@functools.cache
def data_of(name: str, replicate: int) -> LabelData:
    """One data set and split."""
    draw = draw_generated if name == "generated" else draw_dataset
    return draw(SETTINGS[name], LabelConstants(), rng_for(f"buckets {name}", replicate), RESOURCES)


@functools.cache
def losses(name: str, method: str, epsilon: float) -> np.ndarray:
    """Test log-loss of every replicate."""
    protocol, options = METHODS[method]
    found = []
    for replicate in range(REPLICATES[name]):
        fit = run(
            protocol, epsilon, data=data_of(name, replicate), settings=SETTINGS[name], replicate=replicate, **options
        )
        found.append(fit.scalars["log_loss"])
    return np.array(found)


def difference(name: str, method: str, epsilon: float) -> tuple[float, float]:
    """Mean log-loss above that of planned WALR, and its standard error over pairs."""
    above = losses(name, method, epsilon) - losses(name, "WALR planned", epsilon)
    return float(above.mean()), float(above.std(ddof=1) / np.sqrt(len(above)))


@pytest.mark.parametrize(("name", "epsilon"), [(name, e) for name, targets in EPSILONS.items() for e in targets])
def test_the_table_of_buckets_and_walr(name, epsilon):
    chosen = [method for method in METHODS if name in PAIRS or not method.startswith("all pairs")]
    for method in chosen:
        values = losses(name, method, epsilon)
        mean, error = difference(name, method, epsilon)
        print(
            f"{name}, epsilon={epsilon:g}, {method}: log-loss {values.mean():.4f} +- "
            f"{values.std(ddof=1) / np.sqrt(len(values)):.4f}, above planned {mean:+.4f} +- {error:.4f} "
            f"({len(values)} pairs)"
        )
        assert np.all(np.isfinite(values))
    mean, error = difference(name, "buckets, 10 bins", epsilon)
    assert abs(mean) < 3 * error or (mean < 0) == (name == "Adult")


def cpu(function, repeats: int) -> float:
    """Least CPU seconds of one call, of five rounds."""
    rounds = []
    for _ in range(5):
        start = process_time()
        for _ in range(repeats):
            function()
        rounds.append((process_time() - start) / repeats)
    return min(rounds)


def times() -> dict[str, float]:
    """Ratios of CPU times at 35,000 rows and 20 features on one thread, as in ``register/measured.csv``."""
    X, y, _ = draw_logistic(LabelGeneratedSettings(n=35_000, k=20), stream(7, "times"))
    theta, v, rng = np.full(20, 0.1), dot_product(X, y), stream(7, "batches")
    plan = fixed_plan(X, np.inf, 0.5, ridge=1e-6)

    def gradient(batch: np.ndarray) -> np.ndarray:
        return LOGIT.mean(batch @ theta) @ batch / len(batch) - v

    with threadpool_limits(1):
        full = cpu(lambda: gradient(X), 20)
        hybrid = cpu(lambda: gradient(X[rng.choice(35_000, 256, replace=False, shuffle=False)]), 200)
        once = cpu(lambda: y @ X, 50)
        exact = cpu(lambda: fit_walr(X, v, plan), 2)
        long = cpu(lambda: fit_walr(X, v, plan, "hybrid", rng=rng, steps=2000, batch_size=1024), 1)
    return {"one_pass": once / full, "minibatch": hybrid / full, "full_batch": exact / long}


def test_times_are_those_of_the_register():
    """Within a factor of three: another machine has other ratios, on the same side of one."""
    for name, ratio in times().items():
        print(f"{name},{ratio:.3g}")
        assert 1 / 3 < ratio / stored_ratio(name) < 3 and (ratio < 1) == (stored_ratio(name) < 1), name
