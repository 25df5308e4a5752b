"""Options of its methods."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MeanOptions:
    """Values are clipped to [-bound, bound]."""

    bound: float = 1.0
    uses_epsilon = True

    def __post_init__(self) -> None:
        if not self.bound > 0:
            raise ValueError(f"bound is {self.bound}: it must be positive.")
