"""Moments of all records from those of the clients: what a federation must agree with."""

from collections.abc import Iterable
from dataclasses import replace

from partywise.methods.inverse_regression.moments import SliceMoments


def merge(parts: Iterable[SliceMoments]) -> SliceMoments:
    """Moments of all records together, weights n_k / N; reads one client at a time (seed 001, algorithm 1)."""
    clients = iter(parts)
    total = next(clients)
    for part in clients:
        assert (part.clip, part.kind, part.bits) == (total.clip, total.kind, total.bits)
        n = total.n + part.n
        total = replace(
            total,
            n=n,
            sums=total.sums + part.sums,
            gram=total.gram + part.gram,
            counts=total.counts + part.counts,
            clip_share=(total.n * total.clip_share + part.n * part.clip_share) / n,
            largest_norm=max(total.largest_norm, part.largest_norm),
        )
    return total
