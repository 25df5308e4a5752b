"""Records of a survival study: how long each was followed, whether the event came, covariates and group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from math import floor, log10

import numpy as np
from numpy.typing import ArrayLike

from ...federation.parties import lost_squares
from ...privacy.rounding import bounded_entries

# Decimal digits of a time of the size of the horizon, after the first.
DIGITS = 9


@dataclass(frozen=True, eq=False)
class SurvivalRecords:
    """Records of n persons.

    times : (n,) follow-up, at least 0, in the unit of the horizon
    events : (n,) bool, True where the event ended the follow-up
    covariates : (n, p), scaled; without any (n, 0)
    groups : (n,) int, which of the public groups a record is in; all 0 by default
    causes : (n,) int, which of the public causes an event has; all 0 by default, and of no meaning without an event
    """

    times: np.ndarray
    events: np.ndarray
    covariates: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    groups: np.ndarray = field(default_factory=lambda: np.empty(0, int))
    causes: np.ndarray = field(default_factory=lambda: np.empty(0, int))

    def __post_init__(self) -> None:
        n = len(self.times)
        if self.covariates.size == 0:
            object.__setattr__(self, "covariates", np.empty((n, 0)))
        if self.groups.size == 0:
            object.__setattr__(self, "groups", np.zeros(n, int))
        if self.causes.size == 0:
            object.__setattr__(self, "causes", np.zeros(n, int))
        lengths = {len(getattr(self, part.name)) for part in fields(self)}
        if len(lengths) > 1:
            raise ValueError(
                f"times, events, covariates, groups and causes have {sorted(lengths)} rows; they must be equally long."
            )

    def __len__(self) -> int:
        return len(self.times)

    def until(self, horizon: float) -> SurvivalRecords:
        """Return the records followed up to the horizon at most: later events are not observed."""
        times = round_times(self.times, horizon)
        return replace(self, times=np.minimum(times, horizon), events=self.events & (times <= horizon))

    def take(self, rows: np.ndarray | slice) -> SurvivalRecords:
        """Some of the records, by their numbers or a mask."""
        return SurvivalRecords(*(getattr(self, part.name)[rows] for part in fields(self)))

    def of_group(self, group: int) -> SurvivalRecords:
        """The records of one group."""
        return self.take(self.groups == group)


def as_written(times: ArrayLike) -> np.ndarray:
    """Times (n,) of single precision as the shortest decimals that give them: 0.1 ties with the 0.1 of doubles."""
    array = np.asarray(times)
    return array.astype(str).astype(float) if array.dtype.kind == "f" and array.dtype.itemsize < 8 else array


def round_times(times: np.ndarray, horizon: float) -> np.ndarray:
    """Times (n,) to as many decimals as separate 1e-9 of the horizon, so that ties do not depend on the last bit.

    A record that reaches the horizon up to that has the time of the horizon itself.
    """
    decimals = DIGITS - floor(log10(horizon))
    rounded = np.round(np.minimum(as_written(times), 2 * horizon), decimals)
    return np.where(rounded == np.round(horizon, decimals), horizon, rounded)


def pool(parts: Sequence[SurvivalRecords]) -> SurvivalRecords:
    """The records of several clients, in their order."""
    names = [field_.name for field_ in fields(SurvivalRecords)]
    return SurvivalRecords(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def scale(covariates: np.ndarray, centre: np.ndarray, half_width: np.ndarray, radius: float) -> np.ndarray:
    """Covariates (n, p) in units of public half widths, cut off at 1 and shrunk to a length of at most ``radius``.

    Nothing here is computed from the records, so that one record moves its own row alone.
    """
    return shrink(np.clip((covariates - centre) / half_width, -1, 1), radius)


def shrink(covariates: np.ndarray, radius: float) -> np.ndarray:
    """Covariates (n, p) of any floats, shrunk to a length of at most ``radius`` by record."""
    entries = bounded_entries(covariates)
    lengths = np.linalg.norm(entries, axis=1, keepdims=True)
    return entries * np.minimum(1, radius / np.maximum(lengths, np.finfo(float).tiny))


def clipped_counts(
    covariates: np.ndarray, centre: np.ndarray, half_width: np.ndarray, radius: float
) -> dict[str, tuple[int, int, float]]:
    """Return how many entries `scale` cuts off and how many records it shrinks, of how many, and the squares lost."""
    scaled = bounded_entries((covariates - centre) / half_width)
    boxed = np.clip(scaled, -1, 1)
    long = np.linalg.norm(boxed, axis=1) > radius * (1 + 1e-12)
    return {
        "centre, scale": (int(np.count_nonzero(scaled != boxed)), scaled.size, lost_squares(scaled, boxed)),
        "radius": (int(np.count_nonzero(long)), len(scaled), lost_squares(boxed, shrink(boxed, radius))),
    }
