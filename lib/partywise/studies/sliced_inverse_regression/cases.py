"""The cases of the study: one replicate each, simulated or dealt from real tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike

from ...core.randomness import Rng, draw_root, stream
from ...data.division import deal_rows
from ...data.loaders.read import read_table
from ...methods.inverse_regression import models
from ...methods.inverse_regression.moments import SliceMoments, client_moments
from ...methods.inverse_regression.records import own_slices
from ...methods.inverse_regression.slices import Slices, case_clip, case_edges, class_slices, public_slices
from ...privacy.statistics.whole import step_bits
from .data import SlicingData
from .own_settings import OwnSlicingSettings
from .settings import SimulatedSlicingSettings, SlicingDatasetSettings
from .simulation.clients import true_records


class ModelDraw(TypedDict):
    """Draw of a replicate of a model."""

    beta: np.ndarray
    edges: np.ndarray
    key: int


class ClientStatistics(TypedDict):
    """Fields of the data that clients keep of their records."""

    sums_own: np.ndarray
    sums_fixed: np.ndarray
    gram: np.ndarray
    counts_own: np.ndarray
    counts_fixed: np.ndarray
    norms: np.ndarray
    clip_share: np.ndarray


def draw_simulated(settings: SimulatedSlicingSettings, spec: object, rng_for: Rng, resources: Path) -> ModelDraw:
    """Draw a replicate of a model: directions, public edges, and the root of the clients' addresses."""
    directions = models.directions(
        settings.model, settings.p, rng_for("directions"), active=settings.active, support=settings.support
    )
    edges = model_edges(settings, draw_root(rng_for("edges", shared=True)))
    return {"beta": directions, "edges": edges, "key": draw_root(rng_for("clients"))}


def complete_simulated(settings: SimulatedSlicingSettings, drawn: ModelDraw) -> SlicingData:
    """The replicate: clients draw records at their addresses and keep moments, unless columns are screened."""
    fixed, key, beta = public_slices(case_edges(drawn["edges"])), drawn["key"], drawn["beta"]
    clients = range(0 if settings.screened else settings.clients)
    records = (true_records(settings, key, k, beta) for k in clients)
    return SlicingData(
        **drawn,
        labels=np.zeros(0),
        sizes=np.full(settings.clients, settings.n),
        n_directions=settings.n_directions,
        **client_statistics(records, settings.n, fixed, settings.p, settings.radius),
        X=np.zeros((0, settings.p)),
        y=np.zeros(0),
        names=np.zeros(0, dtype="U1"),
        shown_rows=np.zeros(0, dtype=int),
    )


@lru_cache(maxsize=8)
def model_edges(settings: SimulatedSlicingSettings, key: int) -> np.ndarray:
    """Population quantiles of the response: the same for all replicates, and no record is read."""
    s = settings.p if settings.active is None else settings.active
    rng = stream(key, "edges")
    beta = None
    if settings.n_directions == 2:
        beta = models.directions(settings.model, s, rng, active=s, support=settings.support)
    return models.public_edges(settings.model, settings.slices, s, rng, beta=beta)


def client_statistics(
    clients: Iterable[tuple[np.ndarray, np.ndarray]], largest: int, fixed: Slices, p: int, radius: float
) -> ClientStatistics:
    """Return the statistics that clients keep, one client in memory at a time; the largest of them sets the steps."""
    parts: list[tuple[SliceMoments, SliceMoments]] = []
    moments_of = partial(client_moments, clip=case_clip(radius), bits=step_bits(largest))
    for X, y in clients:
        slices = own_slices(y, fixed)
        by_fixed = moments_of(X, y, fixed)
        parts.append((by_fixed if slices is fixed else moments_of(X, y, slices), by_fixed))
    H = fixed.n_slices
    separate = any(by_own is not by_fixed for by_own, by_fixed in parts)
    return {
        "sums_own": stack([by_own.sums for by_own, _ in parts if separate], (p, H)),
        "sums_fixed": stack([moments.sums for _, moments in parts], (p, H)),
        "gram": stack([moments.gram for _, moments in parts], (p * (p + 1) // 2,)),
        "counts_own": stack([by_own.counts for by_own, _ in parts if separate], (H,)).astype(int),
        "counts_fixed": stack([moments.counts for _, moments in parts], (H,)).astype(int),
        "norms": stack([moments.largest_norm for _, moments in parts], ()),
        "clip_share": stack([moments.clip_share for _, moments in parts], ()),
    }


def stack(arrays: Sequence[ArrayLike], shape: tuple[int, ...]) -> np.ndarray:
    """The arrays along a new first axis, which may be empty."""
    return np.stack(arrays) if arrays else np.zeros((0, *shape))


def draw_dataset(settings: SlicingDatasetSettings, spec: object, rng_for: Rng, resources: Path) -> SlicingData:
    """Rows of a shipped table, drawn for clients anew for each replicate."""
    table = read_table(settings.dataset, settings.response, Path(resources))
    dealt = deal_rows(table, settings, rng_for)
    rows, sizes = np.concatenate(dealt), np.array([len(block) for block in dealt])
    shared = of_records(table.symmetric_interval()[rows], table.y[rows], sizes, table.names, settings)
    rng, y = rng_for("shown"), shared.y
    groups = [np.flatnonzero(y == c) for c in shared.labels] or [np.arange(len(y))]
    samples = [rng.choice(group, min(settings.n_shown, len(group)), replace=False) for group in groups]
    key = draw_root(rng_for("clients"))
    return replace(shared, key=key, shown_rows=np.sort(np.concatenate(samples)))


def of_records(
    X: np.ndarray,
    y: np.ndarray,
    sizes: np.ndarray,
    names: np.ndarray,
    settings: SlicingDatasetSettings | OwnSlicingSettings,
) -> SlicingData:
    """Records of clients, one after another, without what replicates differ in: addresses and shown records."""
    edges, ends = np.array(settings.cuts), np.cumsum(sizes)[:-1]
    labels = np.arange(0 if len(edges) else settings.slices)
    fixed = public_slices(case_edges(edges)) if len(edges) else class_slices(case_edges(labels))
    blocks = [] if settings.screened else zip(np.split(X, ends), np.split(y, ends), strict=True)
    return SlicingData(
        key=0,
        beta=np.zeros((X.shape[1], 0)),
        edges=edges,
        labels=labels,
        sizes=sizes,
        **client_statistics(blocks, int(sizes.max()), fixed, X.shape[1], settings.radius),
        X=X,
        y=y,
        names=names,
        shown_rows=np.zeros(0, dtype=int),
        n_directions=settings.n_directions,
    )
