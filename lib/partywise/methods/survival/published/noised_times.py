"""Event times with noise from a fixed seed, as v6-kaplan-meier-py has them (state cfeb22d).

Every call draws the noise anew from the same integer, 0 by default and with a warning; the documentation recommends to
keep the seed secret and to reuse it.  Then exact event tables of the noised times are sent.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ....core.randomness import mersenne_twister
from ..exact import EventTable
from ..records import SurvivalRecords

Noise = Literal["poisson", "gaussian", "none"]


def add_noise(times: np.ndarray, noise: Noise, seed: int, snr: float | None = None) -> np.ndarray:
    """Times (n,) as they are sent: Poisson(t) in the order of the rows, or t + N(0, var(t) / snr) rounded, at least 0.

    ValueError without ``snr`` for Gaussian noise, whose default of 0 divides by zero.
    """
    generator = mersenne_twister(seed)
    if noise == "none":
        return times.astype(float)
    if noise == "poisson":
        return generator.poisson(times).astype(float)
    if not snr:
        raise ValueError(f"snr is {snr}: Gaussian noise needs a positive ratio of the variances.")
    drawn = np.round(generator.normal(0, np.sqrt(np.var(times) / snr), len(times)))
    return np.maximum(times + drawn, 0.0)


def table_at(times: np.ndarray, events: np.ndarray, union: np.ndarray) -> np.ndarray:
    """Events, censored records and records at risk (3, U) of a client at the times of all."""
    places = np.searchsorted(union, times)
    event_mask = [np.bincount(places[mask], minlength=len(union)) for mask in (events, ~events)]
    at_risk = len(times) - np.searchsorted(np.sort(times), union, side="left")
    return np.stack([*event_mask, at_risk])


def tables_of(sums: np.ndarray, union: np.ndarray) -> list[EventTable]:
    """The event table of each group from the sums of all clients (A, 3, U), at times with events."""
    with_events = sums[:, 0].sum(axis=0) > 0
    return [EventTable(union[with_events], total[2][with_events], total[0][with_events]) for total in sums]


def distinct_times(records: SurvivalRecords, noise: Noise, seed: int, snr: float | None = None) -> np.ndarray:
    """Distinct noised times of a client in the order of its rows."""
    drawn = add_noise(records.times, noise, seed, snr)
    return drawn[np.sort(np.unique(drawn, return_index=True)[1])]
