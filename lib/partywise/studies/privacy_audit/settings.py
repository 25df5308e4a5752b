"""Settings of the cases of the audit study; standard library only, checked before any job starts.

A case is one row of the table "what the sources claim and what holds".  ``row`` names the mechanism; the other keys
are its parameters.  Every settings class knows delta, unit and texts of its row.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isfinite
from typing import ClassVar

from .rows import ROWS, Row


def whole_from(least: int, **values: int) -> None:
    """Raise a named error for the first argument below ``least``."""
    for name, value in values.items():
        if value < least:
            raise ValueError(f"{name} is {value}: it must be at least {least}.")


@dataclass(frozen=True)
class RowSettings:
    """What all rows share.

    row : mechanism, one of the class's ``rows``; n : records; delta : of the claim (None: the study's)
    """

    row: str
    n: int = 400
    delta: float | None = None

    rows: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        if self.row not in self.rows:
            raise ValueError(f"row is {self.row!r}: it must be one of {', '.join(self.rows)}.")
        whole_from(2, n=self.n)
        if self.delta is not None and not 0 < self.delta < 1:
            raise ValueError(f"delta is {self.delta}: it must lie in (0, 1).")

    @property
    def entry(self) -> Row:
        """Document, title, remedy, unit and kind of claim of the row."""
        return ROWS[self.row]

    @property
    def title(self) -> str:
        """Title of the row, with the parameters of the case."""
        return self.entry.title.format(**asdict(self))

    def claim_delta(self, study_delta: float) -> float:
        """Delta of the claim."""
        return study_delta if self.delta is None else self.delta


@dataclass(frozen=True)
class CurveSettings(RowSettings):
    """Seed 000: cubic B-splines on [start, end], public clipping radius of the L2 norm."""

    n_basis: int = 15
    start: float = 0.0
    end: float = 1.0
    radius: float = 1.0
    n_predictors: int = 20

    rows: ClassVar[tuple[str, ...]] = ("covariance", "orthonormal", "radius", "budget", "messages")

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_from(4 if self.row == "covariance" else 1, n_basis=self.n_basis)
        whole_from(1, n_predictors=self.n_predictors)
        if not (isfinite(self.start) and isfinite(self.end) and self.start < self.end):
            raise ValueError(f"start and end are {self.start} and {self.end}: they must be finite and increasing.")
        if not (isfinite(self.radius) and self.radius > 0):
            raise ValueError(f"radius is {self.radius}: it must be positive and finite.")


@dataclass(frozen=True)
class SliceSettings(RowSettings):
    """Seed 001: p features truncated to [-R, R], H slices; delta = n^(-1.1) unless given.

    truncation : R; ratio : longest record over the others, row ``scale``; threshold : t of the row ``screening``
    edges : public cuts of the response: ``classes``, between the whole numbers 0..H-1, or ``equal``, equally spaced
    over ``lowest``..``highest``; whatever lies outside is in the first or the last slice (None: that of the row)
    """

    p: int = 10
    n_slices: int = 8
    truncation: float = 2.0
    ratio: float = 1.5
    threshold: float = 0.3
    edges: str | None = None
    lowest: float = -3.0
    highest: float = 3.0

    # Rows whose worst neighbours differ in a class; the others have a response on a line.
    class_rows: ClassVar[tuple[str, ...]] = ("fixed_covariance", "printed_covariance", "near_tie", "screening")
    # Parameters taken from the data before a mechanism sees it; generated records are white by design.
    whitening: ClassVar[tuple[str, ...]] = ()
    rows: ClassVar[tuple[str, ...]] = (
        "public_slices",
        "quantile_slices",
        "fixed_covariance",
        "printed_covariance",
        "near_tie",
        "symmetric",
        "scale",
        "screening",
        "tracing",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_from(2, p=self.p, n_slices=self.n_slices)
        if self.delta is None:
            # The source's own delta.
            object.__setattr__(self, "delta", float(self.n) ** -1.1)
        if self.n < 4 * self.n_slices:
            raise ValueError(f"n is {self.n}: {self.n_slices} slices need at least {4 * self.n_slices} records.")
        if not self.truncation > 0:
            raise ValueError(f"truncation is {self.truncation}: it must be positive.")
        if not self.ratio > 1:
            raise ValueError(f"ratio is {self.ratio}: the replaced record must be longer than the others.")
        if self.edges is None:
            object.__setattr__(self, "edges", "classes" if self.row in self.class_rows else "equal")
        if self.edges not in ("classes", "equal"):
            raise ValueError(f"edges is {self.edges!r}: they must be 'classes' or 'equal', fixed before data are seen.")
        if not (isfinite(self.lowest) and isfinite(self.highest) and self.lowest < self.highest):
            raise ValueError(
                f"lowest and highest are {self.lowest} and {self.highest}: they must be finite and increasing."
            )


@dataclass(frozen=True)
class BodyFatSettings(SliceSettings):
    """Seed 001, Example 1, on its own data: whitened by the mean and covariance of all men, which nobody paid for."""

    rows: ClassVar[tuple[str, ...]] = ("tracing",)
    whitening: ClassVar[tuple[str, ...]] = ("mean and covariance of the data",)


@dataclass(frozen=True)
class LabelSettings(RowSettings):
    """Seed 002: k features in [0, 1]."""

    k: int = 8

    rows: ClassVar[tuple[str, ...]] = ("label_sum",)

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_from(1, k=self.k)


@dataclass(frozen=True)
class TreeSettings(RowSettings):
    """Seed 003: n_buckets equally filled buckets, n_features features, integers low..high, buckets of width theta."""

    n_buckets: int = 50
    n_features: int = 14
    low: int = 1
    high: int = 100
    theta: int = 10

    rows: ClassVar[tuple[str, ...]] = (
        "public_buckets",
        "quantile_buckets",
        "many_features",
        "distance",
        "adjusting",
        "affine",
        "encryption",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_from(2, n_buckets=self.n_buckets)
        whole_from(1, n_features=self.n_features, theta=self.theta)
        if self.low >= self.high:
            raise ValueError(f"low and high are {self.low} and {self.high}: they must be increasing.")
        if self.n < 2 * self.n_buckets:
            raise ValueError(f"n is {self.n}: {self.n_buckets} buckets need at least {2 * self.n_buckets} records.")


@dataclass(frozen=True)
class ExchangeSettings(RowSettings):
    """Seed 004: p features at an institution; identifiers are numbers below ``population``."""

    p: int = 8
    population: int = 20_000

    rows: ClassVar[tuple[str, ...]] = ("scores", "predictor", "hashes")

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_from(2, p=self.p)
        if self.n <= self.p or self.population < self.n:
            raise ValueError(
                f"n is {self.n}: it must exceed p ({self.p}) and not exceed population ({self.population})."
            )
