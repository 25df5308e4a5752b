"""What seed 004 claims about privacy: rotations of the data, linear predictors, hashes of identifiers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ...checks import Range
from ...experiment.claims import Claim, ClaimSettings, Mechanism
from ...experiment.study import Lazy


@dataclass(frozen=True)
class ExchangeSettings(ClaimSettings):
    """p features at an institution; identifiers are numbers below ``population``."""

    p: Annotated[int, Range(2)] = 8
    population: int = 20_000

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n <= self.p or self.population < self.n:
            raise ValueError(
                f"n is {self.n}: it must exceed p ({self.p}) and not exceed population ({self.population})."
            )


_EXPOSURES = "partywise.studies.vertical_glm.exposures:"
_GRAM = Mechanism("Gram matrix", Lazy(_EXPOSURES + "gram_matrix"))

CLAIMS = (
    Claim(
        name="scores",
        document="004",
        title="scores U D of a party",
        remedy="Gram matrix with noise",
        unit="features",
        states="free",
        settings=ExchangeSettings,
        generate=Lazy(_EXPOSURES + "replaced_row"),
        published=Mechanism("scores", Lazy(_EXPOSURES + "scores")),
        repaired=_GRAM,
    ),
    Claim(
        name="predictor",
        document="004",
        title="linear predictors eta of a party",
        remedy="Gram matrix with noise",
        unit="features",
        states="free",
        settings=ExchangeSettings,
        generate=Lazy(_EXPOSURES + "replaced_row"),
        published=Mechanism("linear predictors", Lazy(_EXPOSURES + "predictor")),
        repaired=_GRAM,
    ),
    Claim(
        name="hashes",
        document="004",
        title="SHA-256 of identifiers",
        remedy="private set intersection",
        states="free",
        settings=ExchangeSettings,
        generate=Lazy(_EXPOSURES + "replaced_identifier"),
        published=Mechanism("hashes", Lazy(_EXPOSURES + "hashes")),
        repaired=None,
    ),
)
