"""Protocol: Kaplan-Meier from histograms that are added under encryption, whose sum every client decrypts.

Source: the example kaplan-meier-he of NVFlare (Apache-2.0).  The cipher is a stated stand-in: bytes are those of plain
counts, and the key lies at every client, as there.  Nothing is protected from another client, which subtracts its own
histogram; largest times cross in the clear.

Message          from, to          payload, bytes
largest bin      clients, server   `Clear`, 8
bins             server, clients   `Clear`, 8
histograms       clients, server   `Cipher`, key: every client, 16 a bin (by group)
sum              server, clients   `Clear` of rows, since every client opens it; 16 a bin
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...federation.cipher import Cipher
from ...federation.parties import Party
from ...federation.payloads import Payload
from ...federation.roles import parts_of
from ...federation.run import Run
from ...privacy.accounted_values import AccountedValue, Clear
from ...privacy.mechanisms.release import derive
from ..model import Estimate
from ..options import EncryptedHistogramOptions
from ..published.histograms import histograms, largest_bin, tables_of
from .common import SERVER, curves_of, local_rows

KEY = "every client"


def local_largest(client: Party, width: float) -> Clear:
    """The client's largest bin, as it is."""
    return Clear(np.array([largest_bin(local_rows(client), width)]), units=("row",), owner=client.name)


def local_histograms(client: Party, bins: np.ndarray, width: float, groups: int) -> Cipher:
    """Events and censored records by bin (A, 2, m), closed: every client has the key, and the server has none."""
    records = local_rows(client)
    own = [histograms(records.of_group(group), width, int(bins[0])) for group in range(groups)]
    return Cipher(np.stack(own), KEY)


def local_curves(client: Party, total: np.ndarray, width: float, clients: int) -> Estimate:
    """Kaplan-Meier of every group at ends of bins, as each client computes it."""
    found = curves_of(tables_of(total, width))
    numbers: dict[str, float | int | bool | str | None] = {"bins": total.shape[2] - 1, "times_sent": clients}
    return Estimate(clients=clients, curves=found.curves, log_rank=found.log_rank, numbers=numbers)


def server_bins(largest: Sequence[np.ndarray], parts: Sequence[AccountedValue]) -> Payload:
    """The largest bin of all."""
    return derive(np.max(largest, axis=0), parts, name="bins", owner=SERVER)


def server_total(sent: Sequence[Cipher], made_of: Sequence[AccountedValue]) -> Clear:
    """The sum of all histograms, for clients that all open it."""
    return Clear(np.sum([one.content for one in sent], axis=0), units=("row",), made_of=made_of)


def fit(run: Run) -> Estimate:
    """Largest bins, histograms, and their sum."""
    options: EncryptedHistogramOptions = run.spec.options
    largest = run.gather(run.parties, SERVER, "largest bin", local_largest, options.width)
    heard = run.received(SERVER, "largest bin")
    bins = run.broadcast(SERVER, run.parties, "bins", server_bins, largest, heard)
    groups = run.spec.public.groups
    sent = run.gather(run.parties, SERVER, "histograms", local_histograms, bins, options.width, groups)
    total = run.broadcast(SERVER, run.parties, "sum", server_total, sent, parts_of(run.parties))
    return run.at(run.parties[0], local_curves, total, options.width, len(run.parties))
