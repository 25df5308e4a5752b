"""Kaplan-Meier from histograms that are added under encryption, as the example kaplan-meier-he of NVFlare has it.

Times are rounded up to weeks; each client sends its largest in the clear, and adds events and censored records of every
week; each client has the key, decrypts the sum, and unfolds it into a list.
"""

from __future__ import annotations

import numpy as np

from ..exact import EventTable
from ..records import SurvivalRecords


def bin_numbers(times: np.ndarray, width: float) -> np.ndarray:
    """Bin (n,) of each time, rounded up: ceil(t / width)."""
    return np.ceil(times / width).astype(int)


def largest_bin(records: SurvivalRecords, width: float) -> int:
    """The largest bin of a client, which it sends in the clear."""
    return int(bin_numbers(records.times, width).max(initial=0))


def histograms(records: SurvivalRecords, width: float, bins: int) -> np.ndarray:
    """Events and censored records (2, bins + 1) in bins 0..bins."""
    places = bin_numbers(records.times, width)
    return np.stack([np.bincount(places[mask], minlength=bins + 1) for mask in (records.events, ~records.events)])


def tables_of(counts: np.ndarray, width: float) -> list[EventTable]:
    """The event table of each group from summed histograms (A, 2, m): at the end of every bin with an event."""
    events, censored = counts[:, 0], counts[:, 1]
    at_risk = np.cumsum((events + censored)[:, ::-1], axis=1)[:, ::-1]
    with_events = events.sum(axis=0) > 0
    times = width * np.flatnonzero(with_events).astype(float)
    return [
        EventTable(times, risk_set[with_events], d[with_events]) for risk_set, d in zip(at_risk, events, strict=True)
    ]


def alone(counts: np.ndarray) -> np.ndarray:
    """Number of the others' records (K,) that are alone in a cell once a client subtracts its counts (K, 2, m)."""
    return (counts.sum(axis=0) - counts == 1).sum(axis=(1, 2))
