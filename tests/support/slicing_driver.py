"""One cell of the study of sliced inverse regression without the pipeline: estimate, numbers, ledger, transcript."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from partywise.core.randomness import stream
from partywise.experiment.study import MethodSpec, load
from partywise.federation.channel import Channel
from partywise.federation.folds import Fold
from partywise.federation.parties import Party
from partywise.federation.run import Run, simulate
from partywise.methods.inverse_regression.options import SlicingCertifiedOptions
from partywise.methods.inverse_regression.protocols.budgets import CertifiedPlan
from partywise.studies.sliced_inverse_regression import cases
from partywise.studies.sliced_inverse_regression.data import folds, split
from partywise.studies.sliced_inverse_regression.metrics import metrics

STUDY = load("sliced_inverse_regression")


def simulated(settings, replicate: int = 0, root: int = 7):
    """One replicate of a simulated case."""

    def rng_for(*names, shared=False):
        return stream(root, "sir study", settings.model, "shared" if shared else replicate, *names)

    return cases.complete_simulated(settings, cases.draw_simulated(settings, STUDY.spec(), rng_for, Path()))


def records_of(data, number: int, settings, screening: str = "slice means"):
    """The records of a client, as a protocol that screens so reads them."""
    return data.facts.records(data.clients[number].block, data.facts, settings, screening)


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


def run_of(protocol: str, data, settings, clients: int, epsilon: float = inf, replicate: int = 0, **options) -> Run:
    """A run of a protocol of the study that has not begun."""
    chosen = STUDY.methods[protocol]
    spec = MethodSpec(chosen.options(**options), STUDY.spec(), settings, data.public())
    parties = split(data, clients, spec.study, settings)
    fold = Fold(folds(data, 1, settings), 0, 1)

    def rng_for(*names) -> np.random.Generator:
        return stream(7, "sir study", "noise", replicate, *names)

    return Run(parties, epsilon=epsilon, fold=fold, rng_for=rng_for, spec=spec, extra=chosen.extra)


def plan_of(data, settings, clients: int, epsilon: float = 1.0, **options) -> tuple[list[Party], CertifiedPlan]:
    """Clients, and the public plan of a certified fit of them."""
    spec = MethodSpec(SlicingCertifiedOptions(**options), STUDY.spec(), settings, data.public())
    return split(data, clients, spec.study, settings), CertifiedPlan.of(spec, epsilon, clients)


def fit(protocol: str, data, settings, clients: int, epsilon: float = inf, replicate: int = 0, **options) -> Done:
    """One fit of a protocol of the study."""
    run = run_of(protocol, data, settings, clients, epsilon, replicate, **options)
    estimate = simulate(STUDY.methods[protocol].fit, run)
    return Done(estimate, metrics(estimate, data, run.fold.train, run.spec).as_dict(), run.channel, settings.delta)
