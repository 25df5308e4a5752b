"""Drives a protocol directly, without the pipeline: data, parties, channel, one fit, its ledger and its metrics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from partywise.core.randomness import stream
from partywise.experiment.study import MethodSpec
from partywise.federation import run as federation
from partywise.federation.channel import Channel
from partywise.federation.folds import Fold
from partywise.methods.functional.model import CurveEstimate
from partywise.methods.functional.options import BaselineOptions, CurveMomentsOptions, RoundwiseOptions
from partywise.methods.functional.protocols import baselines
from partywise.methods.functional.protocols import curves as local_release
from partywise.methods.functional.protocols import moments as moments_release
from partywise.methods.functional.protocols import rounds as roundwise
from partywise.privacy.ledger.total import Total
from partywise.studies.functional_boosting import cases, metrics
from partywise.studies.functional_boosting import data as study_data
from partywise.studies.functional_boosting.data import FunctionalData
from partywise.studies.functional_boosting.settings import SimulatedCurveSettings
from partywise.studies.functional_boosting.study import CurveConstants

ROOT = 20240601
DELTA = 1e-5
INF = float("inf")
SMALL = SimulatedCurveSettings(n=120, p=4, n_basis_x=6, n_basis_y=6, active=(0, 1), singular_values=(1.0, 0.5))


def data_rng(replicate: int = 0, root: int = ROOT) -> Callable[..., np.random.Generator]:
    """Generators of the data of a replicate, addressed as the pipeline does it."""

    def rng_for(*names: str | int, shared: bool = False) -> np.random.Generator:
        return stream(root, "data", "shared" if shared else replicate, *names)

    return rng_for


def noise_rng(replicate: int = 0, root: int = ROOT) -> Callable[..., np.random.Generator]:
    """Generators of the noise of a replicate."""
    return lambda *names: stream(root, "noise", replicate, *names)


def make_data(settings: SimulatedCurveSettings = SMALL, replicate: int = 0) -> FunctionalData:
    """One simulated replicate."""
    return cases.draw_simulated(settings, CurveConstants(), data_rng(replicate), Path("unused"))


@dataclass(frozen=True)
class Run:
    """One fit with everything that may be asked about it."""

    estimate: CurveEstimate
    channel: Channel
    data: FunctionalData
    fold: Fold
    spec: MethodSpec

    def total(self, unit: str = "features", delta: float = DELTA) -> Total:
        """Total of the worst coalition."""
        return self.channel.ledger.worst_total(self.channel.names, unit, delta)

    @property
    def scalars(self) -> dict[str, Any]:
        """Metrics of the cell."""
        return metrics.metrics(self.estimate, self.data, self.fold.train, self.spec).as_dict()

    @property
    def releases(self) -> list[Any]:
        """Certified or uncertified rows of the ledger that carry a mechanism of their own."""
        rows = self.channel.ledger.rows
        return [event for event in rows if event.mechanism not in ("none", "cipher", "post_processing", "budget")]


def protocol_of(options: Any) -> Callable[..., CurveEstimate]:
    """The protocol that a class of options belongs to."""
    if isinstance(options, RoundwiseOptions):
        return roundwise.fit
    if isinstance(options, CurveMomentsOptions):
        return moments_release.fit
    return baselines.fit if isinstance(options, BaselineOptions) else local_release.fit


def execution(
    options: Any,
    *,
    settings: SimulatedCurveSettings = SMALL,
    data: FunctionalData | None = None,
    parties: int = 2,
    epsilon: float = INF,
    folds: int = 3,
    held_out: int = 0,
    replicate: int = 0,
    noise: Callable[..., np.random.Generator] | None = None,
    delta: float = DELTA,
) -> federation.Run:
    """A run of one cell."""
    data = make_data(settings, replicate) if data is None else data
    held = study_data.split(data, parties, CurveConstants(), settings)
    fold = Fold(study_data.folds(data, folds, settings), held_out, folds)
    extra = ("analyst", "dealer") if isinstance(options, CurveMomentsOptions) else ()
    spec = MethodSpec(options, CurveConstants(delta=delta), settings, data.public())
    rng_for = noise_rng(replicate) if noise is None else noise
    return federation.Run(held, epsilon=epsilon, fold=fold, rng_for=rng_for, spec=spec, extra=extra)


def run(options: Any, *, data: FunctionalData | None = None, **cell: Any) -> Run:
    """Fit one cell."""
    data = make_data(cell.get("settings", SMALL), cell.get("replicate", 0)) if data is None else data
    one = execution(options, data=data, **cell)
    estimate = federation.simulate(protocol_of(options), one)
    return Run(estimate, one.channel, data, one.fold, one.spec)
