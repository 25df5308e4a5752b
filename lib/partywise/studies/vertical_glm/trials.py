"""Small cases on which methods of the study are tried, and neighbours of their data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ...experiment.trial import Trial
from ...methods.glm.model import GlmEstimate
from ...methods.pca.model import PcaEstimate
from .data import GlmData

# Far from every other record, and beyond every radius.
FAR = 50.0


def neighbours(
    data: GlmData, settings: object, unit: str, count: int, rng: np.random.Generator
) -> Iterator[tuple[str, GlmData]]:
    """One record is replaced at all parties: its response by another one of the family, its columns by far ones."""
    for number, i in enumerate(rng.permutation(len(data.y))[:count]):
        X, y = data.X.copy(), data.y.copy()
        if unit != "features":
            y[i] = other(data, i, number)
        if unit != "label":
            X[i] = FAR * rng.choice([-1.0, 1.0], X.shape[1])
        yield f"record {i}", replace(data, X=X, y=y)


def other(data: GlmData, i: int, number: int) -> float:
    """A response that the family allows, far from that of record i."""
    if data.family == "binomial":
        return float(1 - data.y[i])
    if data.family == "gaussian":
        return float(FAR * (-1) ** number)
    return float(data.y[i] + np.ceil(FAR)) if number % 2 else float(np.max(data.y) + np.ceil(FAR))


def answer(estimate: GlmEstimate | PcaEstimate) -> np.ndarray:
    """Coefficients, or the matrix of a protocol that has none."""
    return estimate.coefficients if isinstance(estimate, GlmEstimate) else estimate.matrix


def within(data: GlmData, settings: object) -> GlmData:
    """Return the replicate with columns that no party clips: without noise any split gives the same answer."""
    return replace(data, X=data.X / np.max(np.abs(data.X)))


TRIALS = {
    family: Trial("generated", {"family": family, "n": 120, "p": 4}, (2, 3), 1.0, neighbours, answer, within)
    for family in ("gaussian", "binomial")
}
