"""Privacy claim of document 002: one noisy sum of features weighted by labels."""

from __future__ import annotations

from dataclasses import dataclass

from ...core.checks import Count
from ...experiment.claims import Claim, ClaimSettings, Document, Mechanism
from ...experiment.study import Lazy

DOCUMENT = Document("002", "002 label-private logistic regression")


@dataclass(frozen=True)
class SumSettings(ClaimSettings):
    """k features in [0, 1]."""

    k: Count = 8


_EXPOSURES = "partywise.studies.label_private.leaks:"

CLAIMS = (
    Claim(
        name="label_sum",
        document=DOCUMENT,
        title="label dot product - classic noise",
        plain="noisy sum of labels, classic formula",
        remedy="analytic noise level",
        unit="label",
        settings=SumSettings,
        generate=Lazy(_EXPOSURES + "flipped_label"),
        published=Mechanism("label dot product", Lazy(_EXPOSURES + "label_sum_published")),
        correction=Mechanism("label dot product", Lazy(_EXPOSURES + "label_sum_corrected")),
    ),
)
