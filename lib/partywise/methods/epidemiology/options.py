"""Options of the protocols of certified tables; standard library only, checked before any job starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, final

from ...core.checks import (
    CheckedFields,
    Count,
    KeySize,
    Natural,
    Noise,
    Range,
    check_fields,
    check_key_size,
    check_unread_options,
)

# Noise of tables: what users choose, and what a release has.
Choice = Literal["auto", "gaussian", "laplace"]
WeightRule = Literal["auto", "equal"] | dict[str, float]


@final
@dataclass(frozen=True)
class TablesOptions:
    """One noisy release of all tables and moments of a question set.

    noise : ``shared``, each party adds a share of the noise and no party has all of it; ``local``, each noises its own
        sums; or ``central``, an assumed secure aggregation adds it once
    colluders : parties that may join what they know so that epsilon holds against them (at most all but one); only
        ``shared`` reads it
    distribution : of the noise. ``laplace``, geometric noise on whole counts, is for tables without moments, and for
        noise ``local`` or ``central``; ``auto`` takes the smaller deviation, by public numbers
    weights : of the items: ``auto``, by their numbers of cells; ``equal``; or by the names of items, such as
        {arm x died: 2}, in [1/256, 256], where the others have those of ``auto``
    """

    noise: Noise = "shared"
    colluders: Natural = 1
    distribution: Choice = "auto"
    weights: WeightRule = "auto"

    uses_epsilon = True

    def __post_init__(self) -> None:
        check_fields(self)
        if self.noise != "shared":
            check_unread_options(self, ("colluders",), "noise 'shared'")
        elif self.distribution == "laplace":
            raise ValueError(
                "distribution is 'laplace': shares of noise are Gaussian; take noise 'local' or 'central', or "
                "distribution 'gaussian'."
            )

    @property
    def shares_noise(self) -> bool:
        """Whether each party adds a share of the noise."""
        return self.noise == "shared"

    @property
    def places(self) -> tuple[str, ...]:
        """Places without data in addition to the server."""
        return ("aggregator",) if self.noise == "central" else ()


@final
@dataclass(frozen=True)
class ProductsOptions:
    """One noisy release of a question set by organisations that hold different columns of the same records.

    A number of two organisations has the noise of both, so that neither knows all of it; of one organisation once.

    cipher : ``paillier``, or ``sized`` (the same integers computed openly, the same bytes)
    key_size : bits of the Paillier modulus
    weights : of the items, as of `TablesOptions`
    """

    cipher: Literal["paillier", "sized"] = "paillier"
    key_size: KeySize = 2048
    weights: WeightRule = "auto"

    uses_epsilon = True

    def __post_init__(self) -> None:
        check_fields(self)
        check_key_size(self.key_size)


@final
@dataclass(frozen=True)
class TablesReferenceOptions(CheckedFields):
    """Exact sums of all parties, in the clear, with the intervals of textbooks."""

    uses_epsilon = False


@final
@dataclass(frozen=True)
class SuppressedOptions(CheckedFields):
    """Exact tables, of which each that has a small cell is refused, as published; nothing is protected.

    threshold : a table with a count of 1 to threshold - 1 at any party is refused by that party
    """

    threshold: Annotated[int, Range(2)] = 3

    uses_epsilon = False


@final
@dataclass(frozen=True)
class RoundedOptions(CheckedFields):
    """Exact tables whose counts are rounded, as published; nothing is protected.

    base : counts are shown as multiples of it; ``midpoint`` shows the middle of each run of so many counts
    how : to the ``nearest`` multiple, to ``midpoint``s, or at ``random`` to one of the two next multiples, unbiased
    """

    base: Annotated[int, Range(2)] = 5
    how: Literal["nearest", "midpoint", "random"] = "nearest"

    uses_epsilon = False


@final
@dataclass(frozen=True)
class GeometricBoxOptions(CheckedFields):
    """Tables with full draws of geometric noise and regions from a box around all cells, as published.

    capacity : largest count that is shown; without it the number of all records
    draws : peers that each add a full draw of the noise to every cell
    """

    capacity: Count | None = None
    draws: Count = 2

    uses_epsilon = True
