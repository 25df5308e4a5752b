"""Kinds of columns, by the meaning of each: declarations before any data are seen; standard library only.

How a kind maps latent normal numbers to a column is in `partywise.models.simulation.columns`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, isfinite
from numbers import Real
from typing import Literal, get_args

KindName = Literal["normal", "uniform", "binary", "lognormal"]
KINDS: tuple[str, ...] = get_args(KindName)
# An indicator of a category of several levels, which has no law.
LEVELS = "levels"
WAITING = {
    "count": "a count of events has no law yet",
    LEVELS: "indicators of a category have no law: one latent number forces their covariances with other columns",
}


@dataclass(frozen=True)
class Kind:
    """Distribution of one column: a map of a latent normal number.

    name : ``normal``; ``uniform`` between two ends; ``binary`` with two values, by whether the latent number is
        positive; ``lognormal`` above a shift; or ``levels``, one of several indicators of a category, without a law
    ends : the ends or the two values, the smaller one first; shift : of ``lognormal``
    because : why the kind is public
    """

    name: str = "normal"
    ends: tuple[float, float] = (0.0, 1.0)
    shift: float = 0.0
    because: str = ""

    def __post_init__(self) -> None:
        if self.name not in (*KINDS, LEVELS):
            raise ValueError(f"kinds has {self.name!r}, which is unknown: use one of {', '.join(KINDS)}.")
        if not -inf < self.ends[0] < self.ends[1] < inf:
            raise ValueError(
                f"kinds has {self.name!r} with ends {self.ends}: give two finite numbers, the smaller first."
            )
        if not isfinite(self.shift):
            raise ValueError(f"kinds has {self.name!r} with shift {self.shift}: give a finite number.")

    @classmethod
    def of_text(cls, column: str, declared: object, because: str) -> Kind:
        """Read ``"normal"``, ``("uniform", low, high)``, ``("binary", low, high)`` or ``("lognormal", shift)``."""
        parts = [declared] if isinstance(declared, str) else declared
        # Of a mapping such as {"binary": [0, 2]} only the keys would be read.
        name, *numbers = parts if isinstance(parts, list | tuple) and parts else ["", None]
        if str(name) in WAITING:
            raise ValueError(
                f"kinds has {name!r} for column {column!r}: {WAITING[str(name)]}; leave kinds out for no intervals."
            )
        counts = {"uniform": (2,), "binary": (0, 2), "lognormal": (0, 1)}.get(str(name), (0,))
        values = [float(number) for number in numbers if isinstance(number, Real) and not isinstance(number, bool)]
        if len(values) != len(numbers) or (str(name) in KINDS and len(numbers) not in counts):
            raise ValueError(
                f"kinds has {declared!r} for column {column!r}: give 'normal', ('uniform', low, high), ('binary', low, "
                "high) or ('lognormal', shift)."
            )
        if name == "lognormal":
            return cls(str(name), shift=values[0] if values else 0.0, because=because)
        ends = (values[0], values[1]) if values else (0.0, 1.0)
        return cls(str(name), ends, because=because)

    @property
    def words(self) -> str:
        """The kind with its ends, values or shift."""
        low, high = self.ends
        ends = {"uniform": f" from {low:g} to {high:g}", "binary": f" {low:g} or {high:g}"}
        return self.name + ends.get(self.name, f" above {self.shift:g}" if self.name == "lognormal" else "")

    def in_units(self, location: float, scale: float) -> Kind:
        """Return the kind of the column less its location, over its scale."""
        low, high = ((end - location) / scale for end in self.ends)
        return replace(self, ends=(low, high), shift=(self.shift - location) / scale)
