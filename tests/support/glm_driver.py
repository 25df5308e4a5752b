"""Runs a protocol of vertical GLM, correlation or PCA on arrays, and draws small data of every family."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from partywise.core.randomness import Streams, stream
from partywise.federation.folds import Fold
from partywise.federation.parties import Party
from partywise.federation.run import Run, simulate
from partywise.methods.glm.model import GlmFacts
from partywise.models.family_facts import FACTS
from partywise.privacy.accounted_values import Public
from partywise.studies.vertical_glm.cases import coefficients, correlated_columns, responses

FAMILIES = tuple(FACTS)
DECLARED = "declared by the test"


def records(family: str, n: int, p: int, *, rho: float = 0.3, mean: float = 2.0, seed: int = 1) -> tuple:
    """X (n, p) with equal correlations and y (n,) of a family, as the generator of the study draws them."""
    rng = stream(seed, "glm records", family)
    X = correlated_columns(rng, n, p, rho)
    slopes, intercept = coefficients(SimpleNamespace(family=family, p=p, rho=rho, mean=mean))
    return X, responses(family, X @ slopes + intercept, mean, rng)


def start(
    X: np.ndarray,
    y: np.ndarray,
    groups: Sequence[Sequence[int]],
    options: Any,
    *,
    family: str = "gaussian",
    extra: tuple[str, ...] = ("analyst", "dealer"),
    epsilon: float = np.inf,
    **changes: Any,
) -> Run:
    """A run, not used yet, whose first party is the active one.

    changes : ``block`` further arrays of the active party (weights, offset), ``facts`` further fields of `GlmFacts`,
        ``rng_for``, ``fold``, ``delta``
    """
    parties = []
    for number, group in enumerate(groups):
        block = {"X": np.ascontiguousarray(X[:, list(group)])}
        if number == 0:
            parties.append(Party("active", "active", block | {"y": y} | changes.get("block", {}), tuple(group)))
        else:
            parties.append(Party(f"passive {number}", "passive", block, tuple(group)))
    p = X.shape[1]
    facts = {
        "location": Public(np.zeros(p), because=DECLARED),
        "scale": Public(np.ones(p), because=DECLARED),
    } | changes.get("facts", {})
    public = GlmFacts(family, tuple(f"x{j}" for j in range(p)), **facts)
    study = SimpleNamespace(delta=changes.get("delta", 1e-5), unit="row")
    return Run(
        parties,
        epsilon=epsilon,
        fold=changes.get("fold", Fold(np.full(len(y), -1), 0, 1)),
        rng_for=changes.get("rng_for", Streams(7, "glm")),
        spec=SimpleNamespace(options=options, public=public, study=study, settings=SimpleNamespace()),
        extra=extra,
        record=True,
    )


def fitted(fit: Callable[[Run], Any], *given: Any, **changes: Any) -> tuple[Any, Run]:
    """What a protocol found, and the run."""
    run = start(*given, **changes)
    return simulate(fit, run), run
