"""Sub-protocol: releases of all clients together, to which each adds a share of the noise (`noisy_sum`).

The server opens sums and nothing else; no client, and no t of them together, knows the noise. A release is about one
record of all N = n_1 + ... + n_K: delta falls with N, and so does the noise, as if one trusted server had all records.

Formal guarantee: each sum is mu-Gaussian-DP for replacing one record of any client, against t other clients and the
server; it is less against fewer (`partywise.privacy.mechanisms.noise_shares`). Every record is in every sum, so that
all sums of a fit compose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Generic

import numpy as np

from ....core.errors import PartyError
from ....federation.exchanges.masks.noisy_sum import noisy_sum
from ....federation.exchanges.masks.pair_keys import PairKeys, agree_on_keys
from ....federation.parties import Party
from ....federation.places import PerPlace
from ....federation.run import Run
from ....privacy.mechanisms.release import Release
from ....privacy.statistics.clips import WholeClip
from ....privacy.statistics.whole import Whole
from ..bounded import whole_slices
from ..certified import release_mu
from ..moments import SliceMoments
from ..options import SlicingExactOptions
from .budgets import CertifiedPlan, ExactPlan, Options


@dataclass(frozen=True)
class SharedNoise(Generic[Options]):
    """State of the program for clients that release sums: their keys, the plan, and N, the records of all."""

    keys: PairKeys
    plan: CertifiedPlan[Options]
    records: int

    def mu(self, kind: str) -> float:
        """Gaussian-DP parameter of a kind of release."""
        return release_mu(self.plan.budget[kind], self.plan.spec.settings.release_delta)

    def moments(self, p: int, clip: WholeClip, parents: tuple[str, ...] = ()) -> SliceMoments:
        """Moments of all records as all parties know them: their shape, their clip and their number."""
        public = self.plan.spec.public
        sums, counts = np.zeros((p, public.n_slices)), np.zeros(public.n_slices)
        return SliceMoments(
            n=self.records,
            sums=sums,
            gram=np.zeros(p * (p + 1) // 2),
            counts=counts,
            kind=public.public_slices.kind,
            clip=clip,
            bits=public.bits,
            parents=parents,
            slice_parents=public.public_slices.parents,
        )


def agree_to_share(
    run: Run, clients: Sequence[Party], weights: Sequence[int], plan: CertifiedPlan[Options]
) -> SharedNoise[Options]:
    """Every two clients agree on a key, once each has found as many records as is public."""
    run.each(clients, local_check, plan)
    return SharedNoise(agree_on_keys(run, clients, "server"), plan, sum(weights))


def local_check(client: Party, plan: ExactPlan) -> None:
    """PartyError unless a client has as many records as all parties assume: bounds of words and delta rest on it."""
    public = plan.spec.public
    if "y" in client.block and len(client.block["y"]) != public.sizes[public.number(client.name)]:
        raise PartyError(
            f"{client.name!r} has another number of records than is public: state it, and drop none by what they hold."
        )


def shared_release(
    run: Run,
    shared: SharedNoise[SlicingExactOptions],
    name: str,
    statistics: PerPlace[Whole],
    total: Whole,
    mu: float,
) -> Release:
    """The release of the sum of the statistics of all clients, at the server."""
    # No entry of a record exceeds the largest move of all, so that N times that bounds the sum.
    largest = shared.records * (isqrt(int(total.squares)) + 1)
    colluders = shared.plan.spec.options.colluders
    return noisy_sum(run, shared.keys, name, statistics, total, mu, colluders=colluders, largest=largest)


def local_whole_slices(client: Party, moments: SliceMoments) -> Whole:
    """Return a client's contribution to the slices of all, which stays with it."""
    return whole_slices(moments)
