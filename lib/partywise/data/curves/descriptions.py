"""The shipped curves: who holds which, and the public change of scale of each; read from ``catalogue.toml``.

The two constants of a scale come from the meaning of the variable (a standard, a physical or reporting range), never
from the sample: constants taken from the data would be a release of their own.  Standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass

# Any: blocks of a TOML file.
from typing import TYPE_CHECKING, Any, Literal

from ..catalogue import ENTRIES

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, kw_only=True)
class UnitChange:
    """A variable and its public change of scale: value here = (value in ``unit`` - offset) / scale.

    holder : who measures it, where that is the same for every response; because : where the two constants come from
    """

    name: str
    unit: str
    offset: float
    scale: float
    because: str
    holder: str = ""

    def apply(self, values: np.ndarray) -> np.ndarray:
        """Convert values from ``unit`` to the scale of the table."""
        return (values - self.offset) / self.scale

    def undo(self, values: np.ndarray) -> np.ndarray:
        """Convert values from the scale of the table to ``unit``."""
        return values * self.scale + self.offset


@dataclass(frozen=True, kw_only=True)
class CurveHolder:
    """A natural party and the number of its curves."""

    name: str
    curves: int


@dataclass(frozen=True, kw_only=True)
class CurveDescription:
    """Day curves, and which parties hold them in addition to the party of the response.

    resource : data set of the catalogue; record : what a record of the privacy unit is
    responses : what may be predicted, the usual one first; label, domain, tick : of its axis, in hours
    blocks : groups of days that are held out together
    holders : natural parties; variables : what they measure, the response first
    """

    name: str
    resource: str
    record: str
    responses: tuple[str, ...]
    label: str
    domain: tuple[float, float]
    tick: int
    blocks: int
    holders: tuple[CurveHolder, ...]
    variables: tuple[UnitChange, ...]

    @property
    def n_predictors(self) -> int:
        """Curves of all natural parties."""
        return sum(holder.curves for holder in self.holders)

    @property
    def predictors(self) -> tuple[UnitChange, ...]:
        """The variables but the response."""
        return self.variables[1:]

    def response(self, name: str | None) -> str:
        """The response of that name, the usual one for None."""
        if name is not None and name not in self.responses:
            raise ValueError(f"response is {name!r}: dataset {self.name!r} has {', '.join(self.responses)}.")
        return name or self.responses[0]


def _description(name: str, resource: str, entry: dict[str, Any]) -> CurveDescription:
    blocks = {"holders": CurveHolder, "variables": UnitChange}
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
    values |= {key: tuple(kind(**block) for block in entry[key]) for key, kind in blocks.items()}
    return CurveDescription(name=name, resource=resource, **values)


CURVES = {
    name: _description(name, resource, entry)
    for resource, pinned in ENTRIES.items()
    for name, entry in pinned.get("curves", {}).items()
}
# The names in the grammar of settings are those of the catalogue.
if TYPE_CHECKING:
    CurveName = str
else:
    CurveName = Literal[tuple(sorted(CURVES))]
