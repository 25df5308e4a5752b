"""Facts of response families that need no formula: one row per family, and the table that refuses unknown families.

The formulas of a family are in `partywise.models.families`. Standard library only: options, settings and descriptions
of tables read these facts before any job starts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar

Row = TypeVar("Row")


@dataclass(frozen=True)
class FamilyFacts:
    """Facts of a response distribution with its link.

    title : its name in sentences and figures
    link : of the mean
    domain : what y may be, for messages
    variance_power : k of V(mu) = mu^k; None where V is not a power of the mean
    canonical : whether the link is the canonical one, so that the score of a record is y - mu
    """

    title: str
    link: Literal["identity", "logit", "log"]
    domain: str
    variance_power: float | None
    canonical: bool

    @property
    def estimates_dispersion(self) -> bool:
        """Whether the dispersion is a parameter of the distribution; otherwise it is 1."""
        return self.variance_power not in (None, 1)

    @property
    def deviance_power(self) -> float | None:
        """Power of c by which y -> c y multiplies the deviance; None where the response has no unit."""
        return 2 - self.variance_power if self.variance_power is not None and self.estimates_dispersion else None

    @property
    def is_positive(self) -> bool:
        """Whether responses are above 0; then public ranges and released statistics are those of log y."""
        return self.variance_power is not None and self.variance_power >= 2


class ByFamily(dict[str, Row]):
    """A table with a row per family; a family that it lacks is refused in a sentence.

    row_name : what a row is and which protocol reads it, for the message; remedy : what fits other families as well
    """

    def __init__(self, row_name: str, rows: Mapping[str, Row], remedy: str = "") -> None:
        super().__init__(rows)
        self.row_name, self.remedy = row_name, remedy

    def __missing__(self, family: str) -> Row:
        others = f", or {self.remedy}, which fits others as well" if self.remedy else ""
        raise ValueError(f"family {family!r} has no {self.row_name}: use one of {', '.join(self)}{others}.")


FACTS: Mapping[str, FamilyFacts] = ByFamily(
    "row of facts",
    {
        "gaussian": FamilyFacts("Gaussian", "identity", "finite numbers", 0, canonical=True),
        "binomial": FamilyFacts("binomial", "logit", "0 and 1", None, canonical=True),
        "poisson": FamilyFacts("Poisson", "log", "0, 1, 2, ...", 1, canonical=True),
        "gamma": FamilyFacts("Gamma", "log", "numbers above 0", 2, canonical=False),
        "inverse_gaussian": FamilyFacts("inverse Gaussian", "log", "numbers above 0", 3, canonical=False),
    },
)

# What an option `family` may be: the names of the rows.
if TYPE_CHECKING:
    FamilyName = str
else:
    FamilyName = Literal[tuple(FACTS)]
