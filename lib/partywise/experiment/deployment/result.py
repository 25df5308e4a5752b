"""What a place has of the estimate when a run has ended: numbers by names, or why it has none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...federation.deployment.outcome import estimate_at, estimate_places, plain
from ...federation.publication.estimate import EstimateRow, rows_of, table_of
from ..owner_outputs import estimate_rows
from .settings import Deployment

if TYPE_CHECKING:
    from ..study import MethodSpec


@dataclass(frozen=True)
class HeldEstimate:
    """The estimate, or its part, as one place has it.

    whole, parts : who has all of it, and who a part; rows : its numbers, none where ``reason`` says why
    model : as the study tells it, with its columns; empty of a study that tells none
    status : of the fit, as it says itself
    """

    whole: tuple[str, ...]
    parts: tuple[str, ...] = ()
    rows: tuple[EstimateRow, ...] = ()
    model: Mapping[str, object] = field(default_factory=dict)
    status: str = "ok"
    reason: str = ""


def held_estimate(
    deployment: Deployment, value: object, place: str, spec: MethodSpec[object, object, object]
) -> HeldEstimate:
    """What a place has of the estimate, from what ``fit`` returned in its process; never an error, for all is paid."""
    network, places, found = deployment.network, estimate_places(value), estimate_at(value, place)
    if found is None:
        return HeldEstimate(*places, reason=f"method {network.method} gives {holders_in_words(*places)}")
    if not hasattr(found, "epsilon_claimed"):
        return HeldEstimate(*places, reason="what it has is no estimate: let assemble begin with one")
    told, model = deployment.plan.cases[network.case].source.model, dict[str, object]()
    try:
        if told is not None:
            model = told(found, spec)
        rows = tuple(rows_of(plain(found, place)) if told is None else estimate_rows(model))
    except Exception as error:
        return HeldEstimate(*places, reason=f"it has no names: {type(error).__name__}: {error}")
    status = str(getattr(found, "status", None) or getattr(found, "numbers", {}).get("status") or "ok")
    return HeldEstimate(
        *places, rows, model, status, "" if rows else f"all its numbers are undefined (status {status})"
    )


def holders_in_words(whole: Sequence[str], parts: Sequence[str]) -> str:
    """Who has what of an estimate, as the end of a sentence."""
    all_of_it = f"all of it to {', '.join(whole)}" if whole else "all of it to nobody"
    return f"{all_of_it}, and to {', '.join(parts)} a part each" if parts else all_of_it


def estimate_table(
    deployment: Deployment, value: object, place: str, spec: MethodSpec[object, object, object]
) -> bytes:
    """The estimate as a CSV file; where a place has none, the numbers that it has."""
    held = held_estimate(deployment, value, place, spec)
    return table_of(held.rows or rows_of(plain(value, place)))
