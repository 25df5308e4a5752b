"""Options of the audits; standard library only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AuditOptions:
    """How a mechanism is built and how hard it is attacked.

    variant : ``published`` (formula for formula) or ``repaired``
    draws : releases a world and pair of neighbours; confidence : of each lower bound
    canaries : records of the audit that needs one run only; canary_confidence : of its bound
    trials : repetitions of the tracing attack
    """

    variant: str = "published"
    draws: int = 200_000
    confidence: float = 0.999
    canaries: int = 2000
    canary_confidence: float = 0.95
    trials: int = 200

    uses_epsilon = True

    def __post_init__(self) -> None:
        if self.variant not in ("published", "repaired"):
            raise ValueError(f"variant is {self.variant!r}: it must be 'published' or 'repaired'.")
        for name, least in (("draws", 1000), ("canaries", 10), ("trials", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} is {getattr(self, name)}: it must be at least {least}.")
        for name in ("confidence", "canary_confidence"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: it must lie in (0, 1).")
