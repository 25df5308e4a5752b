"""Options of the protocols of vertical correlation and principal components; standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final

from ...alignment.options import AlignmentOptions, Mode
from ...core.checks import Count, check_unread_options


@final
@dataclass(frozen=True)
class BlockSvdOptions(AlignmentOptions):
    """Options of the published method: every party sends U_k D_k of its standardised block (document 004, "Block SVD").

    matrix : ``rotated``, what the source's formula gives; ``correlation`` is refused, as U_k D_k and the true matrix in
        one run give the analyst every block up to the signs of its columns
    """

    alignment: Mode = "sha256"
    matrix: Literal["rotated", "correlation"] = "rotated"

    uses_epsilon = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.matrix != "rotated":
            raise ValueError(
                f"matrix is {self.matrix!r}: U_k D_k and the true matrix in one run give the analyst X_k up to 2^p_k "
                "sign patterns; use protocol 'correlation', which sends no U_k D_k."
            )


@final
@dataclass(frozen=True)
class CorrelationOptions(AlignmentOptions):
    """The matrix itself from secure cross products, opened once.

    matrix : ``correlation`` (columns standardised at their party) or ``covariance`` (centred)
    scores : whether the records' scores are opened to the analyst too, in the clear
    components : how many leading components have their scores opened; None for all p, which with their loadings give
        the analyst every record
    """

    matrix: Literal["correlation", "covariance"] = "correlation"
    scores: bool = False
    components: Count | None = None

    uses_epsilon = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.scores:
            check_unread_options(self, ("components",), "scores: true")
