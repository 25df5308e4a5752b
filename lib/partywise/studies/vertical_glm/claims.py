"""Privacy claims of document 004: every institution sees its own data only and shares aggregate statistics.

Its sentences, and the claims below that they are. Without noise its corrections (cross products opened once, a link in
shares) let no record cross, and sums that are opened still cost infinity: what is audited as the correction has noise.

"Individual data values cannot be recovered from U_k D_k", an "aggregate transformation"            scores
"Only the linear predictor contributions are shared, never the raw data" (or coefficients)           predictor
Each institution solves with the response y, which thus lies at all of them                          response
"Only hashes are shared (irreversible)": "cannot recover input from output"                          hashes
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from ...core.checks import Range
from ...experiment.claims import Claim, ClaimSettings, Document, Mechanism
from ...experiment.study import Lazy

DOCUMENT = Document("004", "004 vertical generalised linear models")


@dataclass(frozen=True)
class ExchangeSettings(ClaimSettings):
    """p features at an institution; identifiers are numbers below ``population``."""

    p: Annotated[int, Range(2)] = 8
    population: int = 20_000

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.p < self.n < self.population:
            raise ValueError(f"n is {self.n}: it must exceed p ({self.p}) and be below population ({self.population}).")


_EXPOSURES = "partywise.studies.vertical_glm.leaks.records:"
_IDENTIFIERS = "partywise.studies.vertical_glm.leaks.identifiers:"
_GRAM = Mechanism("Gram matrix", Lazy(_EXPOSURES + "gram_matrix"))
_claim = partial(Claim, document=DOCUMENT, states="free", settings=ExchangeSettings)

CLAIMS = (
    _claim(
        name="scores",
        title="scores U D of a party",
        remedy="Gram matrix with noise",
        unit="features",
        generate=Lazy(_EXPOSURES + "replaced_row"),
        published=Mechanism("scores", Lazy(_EXPOSURES + "scores")),
        correction=_GRAM,
    ),
    _claim(
        name="predictor",
        title="linear predictors eta of a party",
        remedy="Gram matrix with noise",
        unit="features",
        generate=Lazy(_EXPOSURES + "replaced_row"),
        published=Mechanism("linear predictors", Lazy(_EXPOSURES + "predictor")),
        correction=_GRAM,
    ),
    _claim(
        name="response",
        title="response y at every institution",
        remedy="cross products with y with noise",
        unit="label",
        generate=Lazy(_EXPOSURES + "turned_response"),
        published=Mechanism("response", Lazy(_EXPOSURES + "response")),
        correction=Mechanism("cross products", Lazy(_EXPOSURES + "cross_products")),
    ),
    _claim(
        name="hashes",
        title="SHA-256 of identifiers",
        # No epsilon is finite: which records are common is what an alignment is for. Identifiers stay hidden.
        remedy="private set intersection - only membership is disclosed",
        correction_states="none",
        generate=Lazy(_IDENTIFIERS + "replaced_identifier"),
        published=Mechanism("hashes", Lazy(_IDENTIFIERS + "hashes")),
        correction=Mechanism("fully blinded list", Lazy(_IDENTIFIERS + "intersection")),
    ),
)
