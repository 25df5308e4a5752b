"""Protocol: Kaplan-Meier from histograms that are added under encryption, whose sum every client decrypts.

Source: the example kaplan-meier-he of NVFlare (Apache-2.0).  The sum under encryption is stated to be an assumed
aggregation with bytes of plain counts.  Nothing is protected from another client, which subtracts its own histogram;
largest times cross in the clear.

Message          from, to              payload, bytes
largest bin      clients, server       `Clear`, 8
bins             server, clients       `Clear`, 8
histograms       clients, aggregator   `Cipher`, 16 a bin (by group)
sum              aggregator, clients   `Clear` of rows, since every client opens it; 16 a bin
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....federation.exchanges.secure_sum import shared_once, sums_of_shares
from ....federation.parties import Party
from ....federation.payloads import Payload
from ....federation.roles import parts_of
from ....federation.run import Run
from ....privacy.accounted_values import AccountedValue, Clear
from ....privacy.mechanisms.release import derive
from ..model import SurvivalEstimate, SurvivalFacts
from ..options import EncryptedHistogramOptions
from ..published.histograms import histograms, largest_bin, tables_of
from .common import SERVER, curves_of, local_rows


def local_largest(client: Party, width: float, horizon: float) -> Clear:
    """The client's largest bin, as it is."""
    return Clear(np.array([largest_bin(local_rows(client, horizon), width)]), units=("row",), owner=client.name)


def local_histograms(client: Party, bins: np.ndarray, width: float, groups: int, horizon: float) -> np.ndarray:
    """Events and censored records by bin (A, 2, m), which stay closed."""
    records = local_rows(client, horizon)
    return np.stack([histograms(records.of_group(group), width, int(bins[0])) for group in range(groups)])


def local_curves(client: Party, opened: Sequence[Sequence[np.ndarray]], width: float, clients: int) -> SurvivalEstimate:
    """Kaplan-Meier of every group at ends of bins, as each client computes it."""
    ((total,),) = opened
    return curves_of(tables_of(total, width), clients, bins=total.shape[2] - 1, times_sent=clients)


def server_bins(largest: Sequence[np.ndarray], parts: Sequence[AccountedValue]) -> Payload:
    """The largest bin of all."""
    return derive(np.max(largest, axis=0), parts, name="bins", owner=SERVER)


def server_total(opened: Sequence[np.ndarray], made_of: Sequence[AccountedValue]) -> tuple[Clear, ...]:
    """The sum of all histograms, as every client reads it."""
    return (Clear(np.sum(opened, axis=0), units=("row",), made_of=made_of),)


def fit(run: Run) -> SurvivalEstimate:
    """Largest bins, histograms, and their sum."""
    facts: SurvivalFacts = run.spec.public
    options: EncryptedHistogramOptions = run.spec.options
    largest = run.gather(run.parties, SERVER, "largest bin", local_largest, options.width, facts.horizon)
    heard = run.received(SERVER, "largest bin")
    bins = run.broadcast(SERVER, run.parties, "bins", server_bins, largest, heard)
    inputs = bins, options.width, facts.groups, facts.horizon
    shares = shared_once(run, [(run.parties, "histograms", local_histograms, inputs)])
    first, *others = run.parties
    made_of, names = parts_of(run.parties), ("sum",)
    total = sums_of_shares(run, shares, first, names, server_total, made_of)
    for client in others:
        sums_of_shares(run, shares, client, names, server_total, made_of)
    return run.at(first, local_curves, total, options.width, len(run.parties))
