"""The public side of sweeps over blocks whose every message is released: who releases what, at which cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ....federation.parties import Participant
from ....privacy.accounted_values import AccountedValue, Public
from ..model import GlmFacts
from ..options import NoisyPredictorOptions
from .blocks import radius_with_constant
from .scaling import radius_of, split_budget, statistic_range

BOUNDED = ("gaussian", "binomial")


@dataclass(frozen=True)
class SweepBlock:
    """Public facts of one party's block.

    radius : c_k; length : of its records, the constant entry of the active party's among them
    moments, scores, predictors : Gaussian-DP parameters of its releases, one a sweep of the last two
    """

    name: str
    columns: tuple[int, ...]
    active: bool
    radius: AccountedValue
    length: AccountedValue
    moments: float
    scores: tuple[float, ...]
    predictors: tuple[float, ...]

    @property
    def size(self) -> int:
        """Number of its coefficients."""
        return len(self.columns) + self.active


@dataclass(frozen=True)
class SweepPlan:
    """Public facts of a run before its fit; ``residual`` is the bound R of residuals."""

    public: GlmFacts
    options: NoisyPredictorOptions
    epsilon: float
    n: int
    residual: AccountedValue
    blocks: tuple[SweepBlock, ...]

    @property
    def releases(self) -> tuple[str, ...]:
        """Names of the releases that coefficients are functions of."""
        scores = [message_name("X'r", block, sweep) for sweep in range(self.options.sweeps) for block in self.blocks]
        return (*(message_name("X'X", block) for block in self.blocks), *scores)

    @classmethod
    def of(
        cls,
        parties: Sequence[Participant],
        public: GlmFacts,
        options: NoisyPredictorOptions,
        epsilon: float,
        delta: float,
        n: int,
        group: int = 1,
    ) -> SweepPlan:
        """The plan of a fit on n records: every party's releases cost the same."""
        sweeps, K = options.sweeps, len(parties)
        moments, scores, predictors = (share / K for share in options.shares)
        each = moments, *(scores / sweeps,) * sweeps, *(predictors / sweeps,) * sweeps
        mu = split_budget(epsilon, delta, each * K, group)
        cost = mu[0], mu[1 : 1 + sweeps], mu[1 + sweeps : len(each)]
        blocks = []
        for party in parties:
            radius, active = radius_of(public, party), party.role == "active"
            length = radius_with_constant(radius, len(party.columns)) if active else radius
            blocks.append(SweepBlock(party.name, party.columns, active, radius, length, *cost))
        return cls(public, options, epsilon, n, residual_of(public), tuple(blocks))


def residual_of(public: GlmFacts) -> AccountedValue:
    """Bound R of y - mu: twice the half-width of the response's public range, 1 of a label."""
    if public.family == "binomial":
        return Public(1.0, because="a label and a probability differ by 1 at most")
    assert public.statistic is not None
    width = 2 * statistic_range(public)[1]
    return Public(width, because="width of the response's public range", made_of=(public.statistic,))


def check_family(public: GlmFacts) -> None:
    """ValueError for a family whose residuals have no public bound."""
    if public.family not in BOUNDED:
        raise ValueError(
            f"family={public.family!r} of noisy_predictor: it takes {' and '.join(BOUNDED)}, whose residuals have a "
            "public bound; use moments, noisy_newton or noisy_gradient."
        )


def message_name(what: str, block: SweepBlock, sweep: int | None = None) -> str:
    """Name of a message about a block."""
    return f"{what} of {block.name}" if sweep is None else f"{what} of {block.name}, sweep {sweep}"
