"""A study small enough to know every number of it: the mean of a column, sent in the clear or with noise."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from fixed import fixed
from partywise.experiment.configuration.grammar import Batch, Grid
from partywise.experiment.measures import DIVERGED, N_TRAIN, ExampleFits, Measures, example, measure
from partywise.experiment.plan import CasePlan, MethodPlan, Plan
from partywise.experiment.study import Lazy, Protocol, Source, Study
from partywise.federation.parties import Party
from partywise.privacy.accounted_values import Clear
from partywise.privacy.mechanisms import Gaussian
from partywise.privacy.statistics.moments import record_sum

FOLDS = 2


@dataclass(frozen=True)
class Spec:
    delta: float = 1e-5
    unit: str = "features"


@dataclass(frozen=True)
class Settings:
    n: int = 12


@dataclass(frozen=True)
class ClearOptions:
    scale: float = 1.0
    uses_epsilon = False


@dataclass(frozen=True)
class NoisyOptions:
    sigma: float = 2.0
    uses_epsilon = True


@dataclass(frozen=True)
class Data:
    x: np.ndarray
    name: str = "toy"
    level: float = 0.5

    def public(self) -> int:
        return len(self.x)


@dataclass(frozen=True)
class Estimate:
    mean: float
    epsilon_claimed: float
    numbers: dict[str, Any] = field(default_factory=dict)
    status: str = "ok"


def generate(settings: Settings, spec: Spec, rng_for: Any, resources: Any) -> Data:
    shared = rng_for("level", shared=True).standard_normal()
    return Data(rng_for("x").standard_normal((settings.n, 1)), level=float(shared))


def split(data: Data, n_parties: int, spec: Spec, settings: Settings) -> list[Party]:
    if n_parties == 99:
        raise ValueError("n_parties is 99: too many for a toy.")
    return [Party("active", "active", {}), Party("owner", "passive", {"x": data.x}, columns=(0,))]


def fit_clear(run) -> Estimate:
    value = Clear(run.parties[1].block["x"][run.fold.train].sum(), units=("features",), owner="owner")
    total = run.channel.send("owner", "active", "sum", value)
    return Estimate(float(total) / run.fold.train.sum(), np.inf, {"large": np.int64(2**40)})


def fit_noisy(run) -> Estimate:
    """One release for all folds, at a noise that falls with epsilon."""
    bounded = record_sum(run.parties[1].block["x"], fixed(1.0))
    release = Gaussian(sigma=run.spec.options.sigma / min(run.epsilon, 100.0))(
        bounded, run.rng_for("sum"), owner="owner", release_id="sum"
    )
    total = run.channel.send("owner", "active", "sum", release)
    return Estimate(float(np.sum(total)) / len(run.fold.of), float(run.epsilon))


def fit_anew(run) -> Estimate:
    """A release of its own for every fit, mu = epsilon / sigma each."""
    name = f"sum for fold {run.fold.held_out}"
    bounded = record_sum(run.parties[1].block["x"], fixed(0.5))
    release = Gaussian(sigma=run.spec.options.sigma / run.epsilon)(
        bounded, run.rng_for(name), owner="owner", release_id=name
    )
    total = run.channel.send("owner", "active", "sum", release)
    return Estimate(float(np.sum(total)) / len(run.fold.of), float(run.epsilon))


def fit_broken(run) -> Estimate:
    raise FloatingPointError("a division by nothing")


@dataclass(frozen=True, kw_only=True)
class ToyMeasures(Measures):
    error: float | None = measure("error of the mean", heading="error", summary=True)
    n_train: int | None = measure(N_TRAIN)
    near: bool | None = measure("1 if the mean is near zero")
    nothing: float | None = measure("never defined")
    large: int | None = measure("a large whole number", "byte")
    diverged: bool | None = measure(DIVERGED)


@dataclass(frozen=True, kw_only=True)
class ToyExamples(ExampleFits):
    shown: np.ndarray | None = example("first records", "record")


def metrics(estimate: Estimate, data: Data, train: np.ndarray, spec: Any) -> ToyMeasures:
    truth = float(data.x[~train].mean()) if not train.all() else float(data.x.mean())
    found = ToyMeasures(error=estimate.mean - truth, n_train=int(train.sum()), near=abs(estimate.mean) < 1)
    return found | ToyMeasures(nothing=None) | ToyMeasures.of(estimate.numbers)


def metrics_undeclared(estimate: Estimate, data: Data, train: np.ndarray, spec: Any) -> ToyMeasures:
    return ToyMeasures.of({"mystery": 1.0})


def metrics_as_mapping(estimate: Estimate, data: Data, train: np.ndarray, spec: Any) -> dict[str, Any]:
    return {"error": 1.0}


def metrics_diverged(estimate: Estimate, data: Data, train: np.ndarray, spec: Any) -> ToyMeasures:
    return ToyMeasures(error=np.inf, diverged=True)


def example_fits(estimate: Estimate, data: Data, train: np.ndarray, spec: Any) -> ToyExamples:
    return ToyExamples(shown=data.x[:3, 0])


def lazy(name: str) -> Lazy:
    return Lazy(f"toy:{name}")


STUDY = Study(
    __name__,
    name="toy",
    title="A toy",
    references="no document",
    spec=Spec,
    sources={"normal": Source(Settings, lazy("generate"))},
    methods={
        "clear": Protocol(ClearOptions, lazy("fit_clear")),
        "noisy": Protocol(NoisyOptions, lazy("fit_noisy")),
        "anew": Protocol(NoisyOptions, lazy("fit_anew")),
        "broken": Protocol(ClearOptions, lazy("fit_broken")),
    },
    measures=ToyMeasures,
    examples=ToyExamples,
    folds=None,
    folds_share=True,
)
EPSILON = (1.0, 4.0, np.inf)


def toy_plan(study: Study = STUDY, **grids: dict[str, Any]) -> Plan:
    """Plan of one or more cases; by default two cases with different grids."""
    if not grids:
        grids = {
            "one": {"methods": ("clear", "noisy"), "replicates": 2, "parties": (1, 2), "folds": 2, "epsilon": EPSILON},
            "two": {"methods": ("noisy",), "replicates": 3, "parties": (2,), "folds": 1, "epsilon": (4.0,)},
        }
    labels = dict.fromkeys(label for grid in grids.values() for label in grid["methods"])
    methods = {
        label: MethodPlan(label, study.methods[label], study.methods[label].options(), label, label) for label in labels
    }
    cases = {
        name: CasePlan(name, study.sources["normal"], Settings(), Grid(**grid), name, name, "normal")
        for name, grid in grids.items()
    }
    block = {"spec": {"delta": 1e-5}, "methods": {label: {"protocol": label} for label in labels}}
    block["cases"] = {name: {"grid": {**grid}} for name, grid in grids.items()}
    return Plan(study, 5, Spec(), methods, cases, Batch(), (), MappingProxyType(block), "toy", MappingProxyType(block))


def varied(**changes: Any) -> Study:
    """The toy with other parts."""
    return replace(STUDY, **changes)
