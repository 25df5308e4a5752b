"""What seed 002 claims about privacy: one noisy sum of features weighted by labels."""

from __future__ import annotations

from dataclasses import dataclass

from ...checks import at_least
from ...experiment.claims import Claim, ClaimSettings, Mechanism
from ...experiment.study import Lazy


@dataclass(frozen=True)
class SumSettings(ClaimSettings):
    """k features in [0, 1]."""

    k: int = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(k=(self.k, 1))


_EXPOSURES = "partywise.studies.label_private.exposures:"

CLAIMS = (
    Claim(
        name="label_sum",
        document="002",
        title="label dot product - classic noise",
        remedy="analytic noise level",
        unit="label",
        settings=SumSettings,
        generate=Lazy(_EXPOSURES + "flipped_label"),
        published=Mechanism("label dot product", Lazy(_EXPOSURES + "label_sum_published")),
        repaired=Mechanism("label dot product", Lazy(_EXPOSURES + "label_sum_repaired")),
    ),
)
