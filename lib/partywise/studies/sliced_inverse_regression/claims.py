"""Privacy claims of document 001: slice means, vectorised noise, the covariance of Lemma 1, screening, tracing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import isfinite
from typing import Annotated, ClassVar, Literal

from ...core.checks import Positive, Range
from ...experiment.claims import Claim, ClaimSettings, Document, Mechanism
from ...experiment.study import Lazy

DOCUMENT = Document("001", "001 sliced inverse regression")


@dataclass(frozen=True)
class RecordSettings(ClaimSettings):
    """p features; the source's own delta, n^(-1.1), unless another is given."""

    p: Annotated[int, Range(2)] = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.delta is None:
            object.__setattr__(self, "delta", float(self.n) ** -1.1)


@dataclass(frozen=True)
class ScaleSettings(RecordSettings):
    """One record that is ``ratio`` times as long as the longest other one."""

    ratio: float = 1.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.ratio > 1:
            raise ValueError(f"ratio is {self.ratio}: the replaced record must be longer than the others.")


@dataclass(frozen=True)
class BoxSettings(RecordSettings):
    """Features truncated to [-R, R], R = ``truncation``."""

    truncation: Positive = 2.0

    # Parameters taken from the data before a mechanism sees it; generated records are white by design.
    whitening: ClassVar[tuple[str, ...]] = ()


@dataclass(frozen=True)
class BodyFatSettings(BoxSettings):
    """Example 1 on its own data: whitened by the mean and covariance of all men, whose cost is not in the ledger."""

    whitening: ClassVar[tuple[str, ...]] = ("mean and covariance of the data",)


@dataclass(frozen=True)
class SliceSettings(BoxSettings):
    """H slices with public cuts of the response.

    edges : ``classes``, between the whole numbers 0..H-1, or ``equal``, equally spaced over ``lowest``..``highest``;
    all values outside are in the first or the last slice
    """

    n_slices: Annotated[int, Range(2)] = 8
    edges: Literal["classes", "equal"] = "equal"
    lowest: float = -3.0
    highest: float = 3.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n < 4 * self.n_slices:
            raise ValueError(f"n is {self.n}: {self.n_slices} slices need at least {4 * self.n_slices} records.")
        if not (isfinite(self.lowest) and isfinite(self.highest) and self.lowest < self.highest):
            raise ValueError(
                f"lowest and highest are {self.lowest} and {self.highest}: they must be finite and increasing."
            )


@dataclass(frozen=True)
class ClassSettings(SliceSettings):
    """Slices that are classes, as the worst neighbours differ in one."""

    edges: Literal["classes", "equal"] = "classes"


@dataclass(frozen=True)
class ScreeningSettings(ClassSettings):
    """Screening with threshold t."""

    threshold: float = 0.3


_EXPOSURES = "partywise.studies.sliced_inverse_regression.leaks:"
_NEIGHBOURS = "partywise.studies.sliced_inverse_regression.neighbours:"
_TRACING = "partywise.studies.sliced_inverse_regression.tracing:"
_form = partial(Mechanism.of, _EXPOSURES)
_claim = partial(Claim, document=DOCUMENT)
_INDEPENDENT = _form("slice means", "independent_noise")
_VECTORISED = _claim(
    name="near_tie",
    title="vectorised noise - charitable reading",
    plain="noise that follows the data, read charitably",
    remedy="independent noise at the analytic level",
    settings=ClassSettings,
    generate=Lazy(_NEIGHBOURS + "near_tie"),
    published=_form("slice means", "near_tie"),
    correction=_INDEPENDENT,
)
_DIRECTION = _claim(
    name="tracing",
    title="tracing attack on the discriminant direction",
    remedy="independent noise",
    states="none",
    settings=BoxSettings,
    generate=Lazy(_NEIGHBOURS + "white_records"),
    published=Mechanism("direction", Lazy(_TRACING + "direction_published")),
    correction=Mechanism("direction", Lazy(_TRACING + "direction_corrected")),
)

CLAIMS = (
    _claim(
        name="public_slices",
        title="slice means - public slices",
        remedy="analytic noise level",
        control=True,
        settings=SliceSettings,
        generate=Lazy(_NEIGHBOURS + "opposite_corners"),
        published=_form("slice means", "public_slices_published"),
        correction=_form("slice means", "public_slices_corrected"),
    ),
    _claim(
        name="quantile_slices",
        title="slice means - {n_slices} quantile slices",
        plain="slice means: {n_slices} slices cut at quantiles",
        remedy="public slices",
        settings=SliceSettings,
        generate=Lazy(_NEIGHBOURS + "shifted_slices"),
        published=_form("slice means", "quantile_slices"),
        correction=_form("slice means", "public_slices_corrected"),
    ),
    replace(
        _VECTORISED,
        name="fixed_covariance",
        title="vectorised noise - fixed covariance",
        remedy="analytic noise level",
        control=True,
        published=_form("slice means", "fixed_covariance"),
    ),
    replace(
        _VECTORISED,
        name="printed_covariance",
        title="vectorised noise - as printed",
        published=_form("slice means", "printed_covariance"),
    ),
    _VECTORISED,
    _claim(
        name="symmetric",
        title="covariance of Lemma 1",
        remedy="symmetric noise at the analytic level",
        settings=RecordSettings,
        generate=Lazy(_NEIGHBOURS + "unit_records"),
        published=_form("covariance", "symmetric_published"),
        correction=_form("covariance", "symmetric_corrected"),
    ),
    _claim(
        name="scale",
        title="scale from the longest record - ratio {ratio:g}",
        plain="data scaled by the longest record",
        remedy="public scale",
        settings=ScaleSettings,
        generate=Lazy(_NEIGHBOURS + "longest_record"),
        published=_form("covariance", "scale_published"),
        correction=_form("covariance", "scale_corrected"),
    ),
    _claim(
        name="screening",
        title="screened index sets",
        remedy="noisy votes",
        states="free",
        settings=ScreeningSettings,
        generate=Lazy(_NEIGHBOURS + "on_the_threshold"),
        published=_form("index set", "screened_indices"),
        correction=_form("noisy votes", "noisy_votes"),
    ),
    # Example 1 and Figure 1: descriptive
    _DIRECTION,
    replace(
        _DIRECTION,
        name="body_fat",
        settings=BodyFatSettings,
        generate=Lazy(_NEIGHBOURS + "body_fat"),
        resources=("body_fat",),
    ),
)
