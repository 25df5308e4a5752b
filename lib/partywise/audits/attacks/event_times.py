"""Times and covariates of single records from what systems of survival analysis send or print.

Every function takes what an attacker holds and returns what follows from it, without noise to guess: sums over risk
sets, event tables of two calls, a printed curve, times with noise of a known seed.
"""

from __future__ import annotations

from dataclasses import dataclass

# Any: the state of NumPy's generator, a tuple or a dictionary.
from typing import Any

import numpy as np

from ...core.randomness import mersenne_twister


@dataclass(frozen=True, eq=False)
class ReadRecords:
    """Records that were read: covariates (m, p), and the times (m, 2) between which each of them ends."""

    covariates: np.ndarray
    between: np.ndarray


def read_sums(times: np.ndarray, zeroth: np.ndarray, first: np.ndarray) -> ReadRecords:
    """Records from the sums of one client over its risk sets at coefficients of 0.

    times : (U,) increasing event times of all clients
    zeroth, first : (U,) records at risk, and (U, p) sums of their covariates, as the client sent them; where the number
        at risk falls by one from a time to the next, the difference of the sums is that record
    """
    after = np.append(zeroth[1:], 0.0)
    sums = np.vstack([first[1:], np.zeros((1, first.shape[1]))])
    alone = np.flatnonzero(np.rint(zeroth - after) == 1)
    # What is left after the last time is the difference to nothing.
    ends = np.append(times[1:], np.inf)
    return ReadRecords(first[alone] - sums[alone], np.column_stack([times[alone], ends[alone]]))


@dataclass(frozen=True)
class ReadExit:
    """Time and status of one record, from two tables."""

    time: float
    event: bool


def read_difference(without: np.ndarray, with_person: np.ndarray) -> ReadExit | None:
    """The person by whom two tables of one client differ: columns time, events, censored; None if not by one.

    Each (m, 3), rows in increasing order of their times; tables need not have the same times.
    """
    counts: dict[float, np.ndarray] = {}
    for sign, table in ((-1.0, without), (1.0, with_person)):
        for time, *exits in table.tolist():
            counts[time] = counts.get(time, np.zeros(2)) + sign * np.array(exits)
    moved = [(time, change) for time, change in counts.items() if change.any()]
    if len(moved) != 1 or sorted(moved[0][1].tolist()) != [0.0, 1.0]:
        return None
    ((time, change),) = moved
    return ReadExit(float(time), bool(change[0] == 1))


def read_curve(survival: np.ndarray, records: int, decimals: int, most_events: int = 5) -> list[tuple[int, int]]:
    """Records at risk and events (U) behind a printed Kaplan-Meier curve, (U,) values rounded to ``decimals``.

    Each step is a factor 1 - d / m with whole numbers d, at most ``most_events``, and m, at first the known number of
    records.  The number at risk never grows, and falls by the events at least.  Sequences are extended step by step; of
    those that lead to the same number at risk and to the printed values the one with the fewest censored records is
    kept.
    """
    half = 0.5 * 10.0**-decimals * (1 + 1e-9)
    # State: at risk after the step -> (records censored so far, exact product, path).
    states: dict[int, tuple[int, float, tuple[tuple[int, int], ...]]] = {records: (0, 1.0, ())}
    for value in survival.tolist():
        extended: dict[int, tuple[int, float, tuple[tuple[int, int], ...]]] = {}
        for left, (censored, product, path) in states.items():
            for events in range(1, most_events + 1):
                ratio_low, ratio_high = (value - half) / product, min((value + half) / product, 1 - 1e-12)
                # 1 - d / m within the rounding: m between d / (1 - low) and d / (1 - high).
                low = int(np.ceil(events / (1 - ratio_low) - 1e-9)) if ratio_low < 1 else events
                high = min(int(np.floor(events / (1 - ratio_high) + 1e-9)), left)
                for at_risk in range(max(low, events), high + 1):
                    candidate = (
                        censored + left - at_risk,
                        product * (1 - events / at_risk),
                        (*path, (at_risk, events)),
                    )
                    key = at_risk - events
                    if key not in extended or candidate[0] < extended[key][0]:
                        extended[key] = candidate
        states = extended
        if not states:
            return []
    return list(min(states.values())[2])


@dataclass(frozen=True)
class SeededTimes:
    """True times of each row that its noise leaves possible, the most likely first."""

    possible: tuple[tuple[int, ...], ...]

    def holds(self, times: np.ndarray) -> np.ndarray:
        """Whether each of the true times (n,) is among the possible ones."""
        return np.array(
            [int(time) in candidates for time, candidates in zip(times.tolist(), self.possible, strict=True)]
        )


def read_seeded_poisson(noised: np.ndarray, seed: int, *, beam: int = 60, reach: float = 6.0) -> SeededTimes:
    """True whole times behind Poisson draws (n,) of MT19937 in the order of rows, whose seed is known.

    A time is possible where the generator, in the state in which earlier rows left it, draws what was sent.  Rows
    consume different amounts of the generator, so that later rows rule most of the candidates out.  ``beam`` states of
    the generator are followed at once; times further away than ``reach`` standard deviations are not tried.
    """
    generator = mersenne_twister(seed)
    states: list[tuple[Any, tuple[int, ...]]] = [(generator.get_state(), ())]
    for value in noised.astype(int).tolist():
        span = int(np.ceil(reach * np.sqrt(value + reach**2))) + 1
        candidates = sorted(range(max(value - span, 0), value + span + 1), key=lambda time: abs(time - value))
        consistent: list[tuple[Any, tuple[int, ...]]] = []
        for state, path in states:
            for time in candidates:
                generator.set_state(state)
                if generator.poisson(time) == value:
                    consistent.append((generator.get_state(), (*path, time)))
        states = consistent[:beam]
        if not states:
            return SeededTimes(tuple(() for _ in noised))
    rows = zip(*(path for _, path in states), strict=True)
    return SeededTimes(tuple(tuple(dict.fromkeys(row)) for row in rows))
