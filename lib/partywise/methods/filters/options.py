"""Options of the protocols of privacy layers; standard library only, checked before any job starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, final

from ...core.checks import CheckedFields, Count, Positive, Range, check_unread_options

Layer = Literal[
    "none",
    "local_dp",
    "fixed_clipping",
    "adaptive_clipping",
    "percentile",
    "svt",
    "exclude_vars",
    "biomed_central",
    "certified",
]
# Which layers read an option.
READERS: dict[str, tuple[Layer, ...]] = {
    "clip": ("local_dp", "fixed_clipping", "biomed_central", "certified"),
    "sensitivity": ("local_dp",),
    "multiplier": ("fixed_clipping", "adaptive_clipping", "biomed_central"),
    "start": ("adaptive_clipping",),
    "count_sd": ("adaptive_clipping",),
    "direction": ("adaptive_clipping",),
}


@dataclass(frozen=True)
class TrainingOptions(CheckedFields):
    """Rounds of federated training, from coefficients of 0.

    rounds : T; step : length of a step
    """

    rounds: Count = 20
    step: Positive = 0.5

    no_interval = "updates"


@final
@dataclass(frozen=True)
class FedavgOptions(TrainingOptions):
    """Federated averaging with one privacy layer of a framework, as it is shipped.

    layer : what an update goes through
    steps : full-batch steps of a client in each round
    clip : C of an update; of ``biomed_central`` the factor of its noise, which clips nothing
    sensitivity : S of ``local_dp``, which its noise is made of; None: twice the clip
    multiplier : z, noise in units of C / n, or sigma of ``biomed_central``
    start : first clip of ``adaptive_clipping``; count_sd : noise of its count; None: a twentieth of the clients
    direction : whether it counts updates that are clipped, as ``shipped``, or the others, ``mended``
    """

    layer: Layer = "none"
    steps: Count = 5
    clip: Positive = 1.0
    sensitivity: Positive | None = None
    multiplier: Positive = 1.0
    start: Positive = 0.1
    count_sd: Positive | None = None
    direction: Literal["shipped", "mended"] = "shipped"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, layers in READERS.items():
            if self.layer not in layers:
                check_unread_options(self, (name,), f"layer {' or '.join(layers)}")

    @property
    def uses_epsilon(self) -> bool:
        """Whether the grid's epsilon sets the noise: of each round under ``local_dp``, of all rounds if certified."""
        return self.layer in ("local_dp", "certified")

    @property
    def noise_free(self) -> bool:
        """Whether updates go through without a layer, and so without noise."""
        return self.layer == "none"

    @property
    def central(self) -> bool:
        """Whether the server sees updates as they are, and adds the noise."""
        return self.layer in ("fixed_clipping", "adaptive_clipping")

    @property
    def bound(self) -> float:
        """C, or the first one."""
        return self.start if self.layer == "adaptive_clipping" else self.clip

    @property
    def shift(self) -> float:
        """S."""
        return 2 * self.clip if self.sensitivity is None else self.sensitivity


@final
@dataclass(frozen=True)
class RowGradientsOptions(TrainingOptions):
    """Certified noisy sums of gradients, each of one record and clipped by itself.

    clip : C of the gradient of one record
    """

    step: Positive = 2.0
    clip: Positive = 1.0

    uses_epsilon = True
    unit = "row"


@final
@dataclass(frozen=True)
class StatisticsOptions(CheckedFields):
    """Federated statistics: extremes that are asked for again and again, and histograms that tile a range.

    jobs : how often the extremes are asked for
    """

    jobs: Annotated[int, Range(1)] = 200

    uses_epsilon = False


@final
@dataclass(frozen=True)
class MasksOptions(CheckedFields):
    """One round of secure aggregation of two clients whose seeds are planted.

    bits : the seed of their mask is drawn below 2^bits
    steps, step : of the update that is masked
    """

    bits: Annotated[int, Range(8, 24)] = 20
    steps: Count = 5
    step: Positive = 0.5

    uses_epsilon = False
