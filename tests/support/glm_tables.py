"""Private fits of real tables: parties, public facts, and how much of what the columns explain a fit has missed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from partywise.core.randomness import Streams
from partywise.data import fetch as resources
from partywise.data.descriptions import TABLES
from partywise.data.loaders.party_tables.read import load
from partywise.federation.folds import Fold
from partywise.federation.parties import Party
from partywise.federation.run import Run, simulate
from partywise.methods.glm.exact import fit_glm, intercept_only
from partywise.methods.glm.model import GlmFacts
from partywise.models.families import FAMILIES
from partywise.privacy.accounted_values import Public

RESOURCES = Path(__file__).resolve().parents[2] / "resources"
PLACES = ("analyst", "dealer", "aggregator")


@dataclass(frozen=True)
class Fitted:
    """A table at its parties, with the deviances of its pooled and its null fit."""

    parties: tuple[Party, ...]
    public: GlmFacts
    X: np.ndarray
    y: np.ndarray
    deviance: float
    null_deviance: float

    def excess(self, coefficients: np.ndarray) -> float:
        """Deviance above the pooled fit's, in what all columns explain: 1 for the null model."""
        eta = coefficients[0] + self.X @ coefficients[1:]
        found = FAMILIES[self.public.family].deviance(self.y, eta)
        return (found - self.deviance) / (self.null_deviance - self.deviance)


@cache
def table(name: str, response: str | None = None, family: str | None = None) -> Fitted:
    """A described table with a response and a family, its usual ones where none is named."""
    described = TABLES[name]
    explained = described.response(response)
    resources.fetch(described.resource, RESOURCES / described.resource)
    data = load(described, explained, RESOURCES / described.resource)

    def said(value: Any) -> Public:
        return Public(value, because=described.because)

    public = GlmFacts(
        family or explained.families[0],
        tuple(column.name for column in described.columns),
        location=said(np.array([column.location for column in described.columns])),
        scale=said(np.array([column.scale for column in described.columns])),
        radii={one.name: said(one.radius) for one in described.holders if one.radius is not None},
        statistic=said(explained.statistic),
        eta_start=said(explained.eta_start),
    )
    parties = tuple(
        Party(
            holder.name,
            "passive" if k else "active",
            {"X": np.ascontiguousarray(data.X[:, list(own)])} | ({} if k else {"y": data.y}),
            own,
        )
        for k, (holder, own) in enumerate(zip(described.holders, described.groups, strict=True))
    )
    chosen = FAMILIES[public.family]
    pooled = fit_glm(data.X, data.y, chosen)
    deviances = chosen.deviance(data.y, pooled.eta), intercept_only(data.y, chosen)[1]
    return Fitted(parties, public, data.X, data.y, *deviances)


def private_fits(
    given: Fitted, fit: Callable[[Run], Any], options: Any, epsilon: float, draws: int, seed: int = 7
) -> list[Any]:
    """Estimates whose noise alone differs; every epsilon and method has the same noise."""
    found = []
    for draw in range(draws):
        run = Run(
            given.parties,
            epsilon=epsilon,
            fold=Fold(np.full(len(given.y), -1), 0, 1),
            rng_for=Streams(seed, "private tables", draw),
            spec=SimpleNamespace(
                options=options, public=given.public, study=SimpleNamespace(delta=1e-5, unit="row"), settings=None
            ),
            extra=PLACES,
        )
        found.append(simulate(fit, run))
    return found


def excess_deviances(
    given: Fitted, fit: Callable[[Run], Any], options: Any, epsilon: float, draws: int, seed: int = 7
) -> np.ndarray:
    """(draws,) excess deviance of `private_fits`."""
    return np.array([given.excess(one.coefficients) for one in private_fits(given, fit, options, epsilon, draws, seed)])
