"""One cell of the study of sliced inverse regression without the pipeline: estimate, numbers, ledger, transcript."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from partywise.experiment.study import MethodSpec, load
from partywise.federation.channel import Channel
from partywise.federation.folds import Fold
from partywise.federation.run import Run, simulate
from partywise.randomness import stream
from partywise.studies.sliced_inverse_regression import cases
from partywise.studies.sliced_inverse_regression.metrics import metrics
from partywise.studies.sliced_inverse_regression.splitting import folds, split

STUDY = load("sliced_inverse_regression")


def simulated(settings, replicate: int = 0, root: int = 7):
    """One replicate of a simulated case."""

    def rng_for(*names, shared=False):
        return stream(root, "sir study", settings.model, "shared" if shared else replicate, *names)

    return cases.simulated(settings, STUDY.spec(), rng_for, Path())


@dataclass(frozen=True)
class Done:
    """What a fit left behind."""

    estimate: Any
    scalars: dict[str, Any]
    channel: Channel
    delta: float

    def total(self, unit: str = "row"):
        return self.channel.ledger.worst_total(self.channel.names, unit, self.delta)

    @property
    def releases(self) -> dict[str, str]:
        """Name -> digest of every release."""
        return {row.release_id: row.noise_digest for row in self.channel.ledger.rows if row.noise_digest}


def fit(protocol: str, data, settings, clients: int, epsilon: float = inf, replicate: int = 0, **options) -> Done:
    """One fit of a protocol of the study."""
    chosen = STUDY.methods[protocol]
    spec = MethodSpec(chosen.options(**options), STUDY.spec(), settings, data.public())
    parties = split(data, clients, spec.study, settings)
    fold = Fold(folds(data, 1, settings), 0, 1)

    def rng_for(*names) -> np.random.Generator:
        return stream(7, "sir study", "noise", replicate, *names)

    run = Run(parties, epsilon=epsilon, fold=fold, rng_for=rng_for, spec=spec, extra=chosen.extra)
    estimate = simulate(chosen.fit, run)
    return Done(estimate, metrics(estimate, data, fold.train, spec), run.channel, settings.delta)
