"""Options of the audits; standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, final

from ...core.checks import CheckedFields, Count, Range, Share


@final
@dataclass(frozen=True)
class AuditOptions(CheckedFields):
    """Variant of a mechanism, and effort of the attacks on it.

    variant : ``published`` (formula for formula) or ``corrected``
    draws : releases a world and pair of neighbours; confidence : of each lower bound
    canaries : records of the audit that needs one run only; canary_confidence : of its bound
    trials : repetitions of the tracing attack
    """

    variant: Literal["published", "corrected"] = "published"
    draws: Annotated[int, Range(1000)] = 200_000
    confidence: Share = 0.999
    canaries: Annotated[int, Range(10)] = 2000
    canary_confidence: Share = 0.95
    trials: Count = 200

    uses_epsilon = True
