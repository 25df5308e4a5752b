"""All scalars of one cell: distance to the true subspace, what happened on the way, and what the source printed."""

from __future__ import annotations

import csv
import hashlib
import math
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, get_type_hints

import numpy as np

from ...core.errors import DataMissing
from ...methods.inverse_regression.model import SlicingEstimate, SlicingFacts
from ...methods.inverse_regression.subspace import (
    angle,
    coordinates,
    projection_loss,
    screening_metrics,
    separation,
)
from .data import SlicingData
from .measures import SlicingExamples, SlicingMeasures
from .settings import SimulatedSlicingSettings

if TYPE_CHECKING:
    from ...experiment.study import MethodSpec
    from .study import SlicingConstants


def metrics(
    estimate: SlicingEstimate, data: SlicingData, train: np.ndarray, spec: MethodSpec[object, SlicingConstants, object]
) -> SlicingMeasures:
    """Scalars of one fit; a basis that is not finite has no loss, and the status of the cell is ``diverged``."""
    basis, beta = estimate.basis, data.beta
    protected = data.n_protected(spec.study.unit, estimate.clients, _shares_noise(spec))
    measures = estimate_measures(estimate, train, spec) | source_numbers(estimate, spec)
    measures |= SlicingMeasures(n_protected=protected)
    if not np.all(np.isfinite(basis)):
        return measures
    if (centre := estimate.intervals.centre) is not None and beta.shape[1] == 1:
        measures |= SlicingMeasures.of(estimate.intervals.numbers(aligned_direction(beta[:, 0], centre)))
    if beta.shape[1]:
        loss = projection_loss(basis, beta)
        worse = loss > random_loss(*beta.shape)
        measures |= SlicingMeasures(loss=loss, worse_than_random=worse, n_records=getattr(spec.settings, "n", None))
        if basis.shape == beta.shape:
            measures |= SlicingMeasures(angle=angle(basis, beta))
    else:
        between = separation(data.X, data.public_slices.codes(data.y), basis)
        measures |= SlicingMeasures(separation=between, in_sample=True)
    if estimate.columns is not None and beta.shape[1]:
        screening = screening_metrics(estimate.columns, np.flatnonzero(np.any(beta != 0, axis=1)))
        support, others = screening["support_kept"], screening["false_positives"]
        measures |= SlicingMeasures(support_kept=support, false_positives=others)
    return measures


def estimate_measures(
    estimate: SlicingEstimate, train: np.ndarray, spec: MethodSpec[object, SlicingConstants, object]
) -> SlicingMeasures:
    """Return the measures of estimate and public facts, without a record: the number of persons is not public."""
    assert isinstance(spec.public, SlicingFacts)
    measures = SlicingMeasures.of(estimate.numbers) | SlicingMeasures(n_columns=len(estimate.basis))
    if spec.study.unit != "user":
        sizes = spec.public.sizes[: estimate.clients]
        measures |= SlicingMeasures(n_protected=sum(sizes) if _shares_noise(spec) else max(sizes))
    if not np.all(np.isfinite(estimate.basis)):
        return measures if estimate.status == "uninformative" else measures | SlicingMeasures(diverged=True)
    measures |= SlicingMeasures.of(estimate.intervals.numbers()) | SlicingMeasures(loss_bound=estimate.loss_bound)
    if estimate.columns is not None:
        measures |= SlicingMeasures(selected_columns=len(estimate.columns))
    return measures


def aligned_direction(direction: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Direction (p,) of length 1, with the sign of another one."""
    return np.asarray(direction / np.linalg.norm(direction) * (1.0 if direction @ like >= 0 else -1.0))


def _shares_noise(spec: MethodSpec[object, SlicingConstants, object]) -> bool:
    return bool(getattr(spec.options, "shares_noise", False))


def random_loss(p: int, d: int) -> float:
    """Root of the mean squared loss of a subspace that is drawn at random: E ||P - Q||^2 = 2 d (1 - d / p)."""
    return math.sqrt(2 * d * (1 - d / p))


def source_numbers(estimate: SlicingEstimate, spec: MethodSpec[object, object, object]) -> SlicingMeasures:
    """Mean and bracket that the source prints for this cell, where it prints one for this method."""
    settings, column = spec.settings, getattr(spec.options, "column", None)
    if column is None or not isinstance(settings, SimulatedSlicingSettings) or settings.row is None:
        return SlicingMeasures()
    where = (estimate.epsilon, settings.model, settings.row, column, estimate.clients)
    entry = printed_entry(*where, high=settings.screened)
    if entry is None:
        return SlicingMeasures()
    return SlicingMeasures(paper_mean=entry.mean, paper_bracket=entry.bracket)


def example_fits(
    estimate: SlicingEstimate,
    data: SlicingData,
    train: np.ndarray,
    spec: MethodSpec[object, SlicingConstants, object],
) -> SlicingExamples:
    """Records in the estimated subspace; nothing of simulated data.

    record_coordinates : (record_shown, direction), shown_response : (record_shown,)
    """
    if not len(data.X):
        return SlicingExamples()
    assert isinstance(spec.public, SlicingFacts)
    basis, rows = estimate.basis, data.shown_rows
    projected = np.full((len(rows), spec.public.n_directions), np.nan)
    if np.all(np.isfinite(basis)):
        turned = coordinates(data.X, data.public_slices.codes(data.y), basis)[rows][:, : projected.shape[1]]
        projected[:, : turned.shape[1]] = turned
    return SlicingExamples(record_coordinates=projected, shown_response=data.y[rows].astype(float))


# The numbers that the source prints in its Tables 1 to 4, transcribed by tests/tools/paper_tables.py from section 5.2.
FILE = Path(__file__).with_name("paper_tables.csv")
# Stated here so that another file is another version of the code.
SHA256 = "243185064077a525790e70f68f4a474f62f8e98c2bbc2c1faa07d6cae2d4a9ff"


class PrintedEntry(NamedTuple):
    """One entry of a table: table, epsilon, model, row label (n or p), column, clients; mean and bracket as printed.

    The source calls the bracket a standard error; its size is that of the standard deviation over replicates.
    """

    table: int
    epsilon: float
    model: str
    row: int
    column: str
    clients: int
    mean: float
    bracket: float


@cache
def printed_table() -> dict[tuple[bool, float, str, int, str, int], PrintedEntry]:
    """All 560 entries by (of tables 3 and 4, epsilon, model, row label, column, clients)."""
    content = FILE.read_bytes()
    if hashlib.sha256(content).hexdigest() != SHA256:
        raise DataMissing(f"{FILE.name} is not the pinned transcription: restore it from the repository.")
    kinds = get_type_hints(PrintedEntry)
    rows = csv.DictReader(content.decode().splitlines())
    entries = [PrintedEntry(**{name: kinds[name](value) for name, value in row.items()}) for row in rows]
    return {(e.table > 2, e.epsilon, e.model, e.row, e.column, e.clients): e for e in entries}


def printed_entry(
    epsilon: float, model: str, row: int, column: str, clients: int, *, high: bool = False
) -> PrintedEntry | None:
    """The entry of a cell, or None if the source prints none; ``row`` is n in tables 1 and 2, p in 3 and 4 (``high``).

    500 and 1000 are labels of both kinds of tables.
    """
    return printed_table().get((high, float(epsilon), model, row, column, clients))
