"""Small cases on which methods of the study are tried, and neighbours of their data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ...audits.contract import changed_records
from ...experiment.trial import Trial
from ...methods.inverse_regression.model import SlicingEstimate
from .cases import client_statistics
from .data import SlicingData
from .settings import SimulatedSlicingSettings


def as_table(data: SlicingData, settings: SimulatedSlicingSettings) -> SlicingData:
    """Simulated clients as if their records were a table, which a neighbour can then change."""
    columns = np.arange(len(data.beta)) if settings.screened else None
    records = [data.facts.records(client.block, data.facts, settings, "signs") for client in data.clients]
    X, y = (np.concatenate(part) for part in zip(*(client.records(columns) for client in records), strict=True))
    return with_statistics(replace(data, X=X, y=y), settings)


def with_statistics(data: SlicingData, settings: SimulatedSlicingSettings) -> SlicingData:
    """Return the data with the moments that clients keep of their records."""
    ends = np.cumsum(data.sizes)[:-1]
    blocks = [] if settings.screened else zip(np.split(data.X, ends), np.split(data.y, ends), strict=True)
    most = int(data.sizes.max())
    return replace(data, **client_statistics(blocks, most, data.public_slices, data.X.shape[1], settings.radius))


def neighbours(
    data: SlicingData, settings: SimulatedSlicingSettings, unit: str, count: int, rng: np.random.Generator
) -> Iterator[tuple[str, SlicingData]]:
    """One record of a client is replaced; besides the ways of others, a response at a public edge and far away."""
    for name, response in (("response at an edge", data.edges[0]), ("response far away", 1e300)):
        y = data.y.copy()
        y[len(y) // 2] = response
        yield name, with_statistics(replace(data, y=y), settings)
    for name, x, y in changed_records(data.X, data.y, unit, count - 2, rng):
        yield name, with_statistics(replace(data, X=x, y=y), settings)


def deal_to_clients(data: SlicingData, settings: SimulatedSlicingSettings, parties: int) -> SlicingData:
    """Divide the records among that many clients."""
    sizes = np.full(parties, len(data.X) // parties)
    sizes[0] += len(data.X) - sizes.sum()
    return with_statistics(replace(data, sizes=sizes), settings)


def span(estimate: SlicingEstimate) -> np.ndarray:
    """Projection (p, p) onto the span of the basis, the part of it that counts."""
    q = np.linalg.qr(estimate.basis)[0] if np.all(np.isfinite(estimate.basis)) else estimate.basis
    return np.asarray(q @ q.T)


ROWS = {"model": "III", "n": 300, "clients": 3}
COLUMNS = {"model": "III", "n": 400, "p": 60, "active": 5, "clients": 3}
TRIALS = {
    "rows": Trial("simulated", ROWS, (3, 1), 1.0, neighbours, span, as_table, deal_to_clients),
    "many_columns": Trial("simulated", COLUMNS, (3, 1), 1.0, neighbours, span, as_table, deal_to_clients),
}
