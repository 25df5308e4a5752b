"""Estimate of a place when a run has ended: numbers by names, or why it has none."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ...core.verdicts import public_verdict
from ...experiment.cells import INTERVAL, Cell, example_arrays, is_example, measure_values
from ...experiment.owner_outputs import OwnerReport, estimate_rows, with_interval_reason
from ...federation.estimators.estimate_rows import EstimateRow, interval_status, missing_reason, rows_of, table_of
from ...federation.place_checks import estimate_at
from ..deployments import Deployment
from ..part import LocalRun
from ..session.outcome import Outcome, estimate_places, plain

if TYPE_CHECKING:
    from ...core.checks import Scalar
    from ...experiment.measures import Arrays
    from ...experiment.study import MethodSpec, Source


@dataclass(frozen=True)
class HeldEstimate:
    """Estimate of one place, or its part of the estimate.

    whole, parts : places with all of it, and with a part; rows : its numbers, none where ``reason`` states why
    model : as the study describes it, with its columns; empty for a study that describes none
    status : of the fit, as the estimate reports it
    predictions : of its own records, where it makes any alone: name, whether the fit did not use it, and the number
    cell : what a cube has of it, except what needs the messages and accounts of all parties; None where another place
        has more of the estimate, or where ``no_cell`` states why
    """

    whole: tuple[str, ...]
    parts: tuple[str, ...] = ()
    rows: tuple[EstimateRow, ...] = ()
    model: Mapping[str, object] = field(default_factory=dict)
    status: str = "ok"
    reason: str = ""
    predictions: tuple[tuple[str, int, float], ...] = ()
    cell: Cell | None = None
    no_cell: str = ""


def held_estimate(
    deployment: Deployment,
    value: object,
    place: str,
    spec: MethodSpec[object, object, object],
    part: LocalRun | None = None,
) -> HeldEstimate:
    """Return what a place has of the estimate, from the value of ``fit``; never an error, since all is paid.

    part : its part of the run, where its records are predicted
    """
    network, places, estimate = deployment.network, estimate_places(value), estimate_at(value, place)
    if estimate is None:
        return HeldEstimate(*places, reason=f"method {network.method} gives {holders_in_words(*places)}")
    if not hasattr(estimate, "epsilon_claimed"):
        return HeldEstimate(*places, reason="what it has is not an estimate: let assemble begin with one")
    source: Source = deployment.plan.cases[network.case].source
    model: Mapping[str, object] = {}
    try:
        if source.model is not None:
            model = with_interval_reason(source.model(estimate, spec), estimate, spec.options)
        note = missing_reason(estimate, spec.options)
        rows = tuple(rows_of(plain(estimate, place), note) if source.model is None else estimate_rows(model))
        predictions = () if part is None else _own_predictions(source, estimate, place, part)
    except Exception as error:
        return HeldEstimate(*places, reason=f"it has no names: {type(error).__name__}: {error}")
    status = public_verdict(estimate).status
    reason = "" if rows else f"all its numbers are undefined (status {status})"
    cell, no_cell = None, ""
    if part is not None and place in (places[0] or places[1]):
        try:
            # The coefficients of a part stay with whoever has them.
            report = _report(model, predictions) if place in places[0] else None
            cell = _cell(deployment, estimate, report, part)
        except Exception as error:
            no_cell = f"{type(error).__name__}: {error}"
    return HeldEstimate(*places, rows, model, status, reason, predictions, cell, no_cell)


def held_scores(outcome: Outcome, ids: Sequence[str]) -> HeldEstimate:
    """Return a place's scores of new records: predictions, if the place has them."""
    places, estimate = estimate_places(outcome.value), estimate_at(outcome.value, outcome.place)
    reason = f"new records were scored, which gives {holders_in_words(*places)}"
    predictions: tuple[tuple[str, int, float], ...] = ()
    if estimate is not None:
        predicted: np.ndarray = estimate.predictions  # type: ignore[attr-defined]
        predictions = tuple((name, 1, number) for name, number in zip(ids, predicted.tolist(), strict=True))
        reason = f"{len(predictions)} new records were scored: predictions.csv"
    return HeldEstimate(*places, reason=reason, predictions=predictions)


def _report(model: Mapping[str, object], predictions: Sequence[tuple[str, int, float]]) -> OwnerReport:
    """Return the report for the owner, as a cube has it."""
    ids, held_out, values = zip(*predictions, strict=True) if predictions else ((), (), ())
    columns = {"predicted": np.array(values, dtype=float)} if predictions else {}
    return OwnerReport(np.array(ids, dtype=str), np.array(held_out, dtype=bool), columns, model)


def _cell(deployment: Deployment, estimate: object, report: OwnerReport | None, part: LocalRun) -> Cell:
    """Return the cell of a fit, as far as it follows from what a place has of the estimate."""
    plan, network = deployment.plan, deployment.network
    source, coords = plan.cases[network.case].source, deployment.coords
    arguments = estimate, part.run.fold.train, part.run.spec
    claimed = float(getattr(estimate, "epsilon_claimed", math.nan))
    numbers: dict[str, Scalar] = {"epsilon_claimed": claimed, "status": public_verdict(estimate).status}
    numbers[INTERVAL] = interval_status(estimate, part.run.spec.options)
    if source.measures is not None:
        numbers |= measure_values(plan.study, "measures", source.measures(*arguments))
    examples: Arrays = {}
    if source.examples is not None and is_example(coords):
        examples = example_arrays(plan.study, source.examples(*arguments))
    return Cell(coords, numbers, examples, None, deployment.names, [], report)


def _own_predictions(
    source: Source, estimate: object, place: str, part: LocalRun
) -> tuple[tuple[str, int, float], ...]:
    """Predict the records of a place from what it has of the estimate and of them."""
    party = next((party for party in part.run.parties if party.name == place), None)
    if source.predictions is None or party is None or not part.ids:
        return ()
    numbers, trained = source.predictions(estimate, party.block, part.run.fold, part.run.spec), part.run.fold.train
    rows = zip(part.ids, (~trained).astype(int).tolist(), numbers.tolist(), strict=True)
    return tuple(row for row in rows if math.isfinite(row[2]))


def holders_in_words(whole: Sequence[str], parts: Sequence[str]) -> str:
    """Describe which places have all of an estimate and which a part, as the end of a sentence."""
    all_of_it = f"all of it to {', '.join(whole)}" if whole else "all of it to none of them"
    return f"{all_of_it}, and to {', '.join(parts)} a part each" if parts else all_of_it


def estimate_table(
    deployment: Deployment, value: object, place: str, spec: MethodSpec[object, object, object]
) -> bytes:
    """Return the estimate as a CSV file; for a place without one, the numbers that it has."""
    estimate = held_estimate(deployment, value, place, spec)
    return table_of(estimate.rows or rows_of(plain(value, place)))
