"""Drives a protocol of the label-private study directly: data, parties, channel, one fit, its ledger and metrics."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from partywise.core.randomness import stream
from partywise.experiment.study import MethodSpec
from partywise.federation import run as federation
from partywise.federation.channel import Channel
from partywise.federation.folds import Fold
from partywise.methods.logistic.model import LabelEstimate
from partywise.privacy.ledger.total import Total
from partywise.studies.label_private import cases, metrics
from partywise.studies.label_private import data as study_data
from partywise.studies.label_private.data import LabelData
from partywise.studies.label_private.settings import LabelGeneratedSettings
from partywise.studies.label_private.study import STUDY, LabelConstants

SMALL = LabelGeneratedSettings(n=600, k=6, rarest=0.3)


def rng_for(kind: str, replicate: int = 0):
    """Generators by address, as the pipeline makes them."""
    return lambda *names, shared=False: stream(7, kind, "shared" if shared else replicate, *names)


def make_data(settings: LabelGeneratedSettings = SMALL, replicate: int = 0) -> LabelData:
    """One generated replicate."""
    return cases.draw_generated(settings, LabelConstants(), rng_for("data", replicate), Path("unused"))


@dataclass(frozen=True)
class Run:
    """One fit with everything that may be asked about it."""

    estimate: LabelEstimate
    channel: Channel
    data: LabelData
    fold: Fold
    spec: MethodSpec

    def total(self, unit: str = "label", delta: float = 1e-5) -> Total:
        """Total of the worst coalition."""
        return self.channel.ledger.worst_total(self.channel.names, unit, delta)

    @property
    def scalars(self) -> dict[str, Any]:
        """Metrics of the cell."""
        return metrics.metrics(self.estimate, self.data, self.fold.train, self.spec).as_dict()


def run(protocol: str, epsilon: float, *, data: LabelData | None = None, settings=SMALL, replicate=0, **options) -> Run:
    """Fit one cell of a protocol of the study."""
    data = make_data(settings, replicate) if data is None else data
    chosen = STUDY.methods[protocol]
    parties = study_data.split(data, 2, LabelConstants(), settings)
    fold = Fold(study_data.folds(data, 1, settings), 0, 1)
    spec = MethodSpec(chosen.options(**options), LabelConstants(), settings, data.public())
    noise = rng_for("noise", replicate)
    execution = federation.Run(parties, epsilon=epsilon, fold=fold, rng_for=noise, spec=spec)
    estimate = federation.simulate(chosen.fit, execution)
    return Run(estimate, execution.channel, data, fold, spec)
