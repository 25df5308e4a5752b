"""Three parties with columns for secure products, and their masked blocks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from partywise.core.randomness import Streams, stream
from partywise.federation.exchanges.cross_product import private, send_masked
from partywise.federation.exchanges.sharing import DEALER
from partywise.federation.parties import Party
from partywise.federation.run import Run
from partywise.privacy.accounted_values import Clear

N, BITS = 50, 30
GROUPS = ((0, 1), (2,), (3, 4, 5))


def blocks(seed: int = 1) -> np.ndarray:
    return stream(seed, "cross products").standard_normal((N, 6))


def a_run(X: np.ndarray, rng_for: Any = None) -> Run:
    parties = [
        Party(f"p{k}", "passive" if k else "active", {"X": X[:, list(group)]}, group) for k, group in enumerate(GROUPS)
    ]
    return Run(
        parties,
        epsilon=np.inf,
        fold=None,
        rng_for=rng_for or Streams(3, "exchange"),
        spec=SimpleNamespace(),
        extra=("analyst", DEALER),
        record=True,
    )


def parts(run: Run) -> tuple[Clear, ...]:
    return tuple(Clear(None, units=("features",), owner=party.name) for party in run.parties)


def local_block(party: Party) -> np.ndarray:
    return party.block["X"]


def masked_blocks(run: Run, dealt: Any, bits: int = BITS) -> list:
    found = []
    for party in run.parties:
        values = run.at(party, local_block)
        own = private(run, dealt, party, values, (N, len(party.columns)), bits)
        found.append(send_masked(run, dealt, own, f"X of {party.name}", run.parties))
    return found
