"""Options of the protocols of vertical correlation and principal components; standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final

from ..alignment.options import AlignmentOptions, Mode


@final
@dataclass(frozen=True)
class BlockSvdOptions(AlignmentOptions):
    """As published: every party sends U_k D_k of its standardised block (seed 004, "Block SVD")."""

    alignment: Mode = "sha256"

    uses_epsilon = False


@final
@dataclass(frozen=True)
class CorrelationOptions(AlignmentOptions):
    """The matrix itself from secure cross products, opened once.

    matrix : ``correlation`` (columns standardised at their party) or ``covariance`` (centred)
    scores : whether the records' scores are opened to the analyst too, in the clear
    """

    matrix: Literal["correlation", "covariance"] = "correlation"
    scores: bool = False

    uses_epsilon = False
