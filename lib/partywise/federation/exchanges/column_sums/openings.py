"""Openings of column sums: which records, with whose noise, at which cost; public before anything is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ....privacy.ledger.event import Event
from ....privacy.mechanisms.noise_shares import NoiseShares
from ....privacy.mechanisms.release import Release, digest_of
from ....privacy.statistics.whole import Whole
from ...run import Run
from .layout import SumLayout


@dataclass(frozen=True)
class NoisySum:
    """One release: the sums of one part of a layout over a chunk, as all parties know them (integers are not read)."""

    name: str
    total: Whole
    mu: float


@dataclass(frozen=True)
class Chunk:
    """Records that are summed, where they lie one after the other, and one release for each part of the layout."""

    rows: slice
    sums: tuple[NoisySum, ...]

    @property
    def n(self) -> int:
        """Number of records."""
        return int(self.rows.stop - self.rows.start)


@dataclass(frozen=True)
class Opening:
    """A release with who draws noise for it and what it costs: public before anything is drawn."""

    noise: NoiseShares
    event: Event


def opening_of(
    run: Run, noisy_sum: NoisySum, layout: SumLayout, source: str, *, dealers: tuple[str, ...] = (), tv: float = 0.0
) -> Opening:
    """A sum with noise of the full variance of every party, or of ``dealers``, who know it; ``tv`` as of `Event`."""
    owners = dealers or layout.names
    noise = NoiseShares(noisy_sum.total, noisy_sum.mu, owners, len(owners) - 1)
    if noise.bits:
        raise ValueError(
            f"mu={noisy_sum.mu!r} of {noisy_sum.name!r} needs noise of less than 16 steps: use a smaller mu."
        )
    sampler = "secure" if run.secure else "simulation"
    event = noise.event(noisy_sum.name, ("*",), sampler, digest_of([run.identity.run, noisy_sum.name]))
    certificate = f"{noisy_sum.total.certificate.source}; {source}"
    return Opening(noise, replace(event, owners=layout.names, shares=(), knows=dealers, tv=tv, certificate=certificate))


def announce(run: Run, layout: SumLayout, openings: Sequence[Opening]) -> None:
    """Charge what is opened, and enter it into the ledger, before anything leaves."""
    events = [opening.event for opening in openings]
    if len({event.release_id for event in events}) < len(events):
        raise ValueError("names of noisy sums repeat: each release needs its own.")
    run.charge(layout.names, *events)
    for event in events:
        run.reserve(event)


def only_release(releases: Sequence[Release]) -> Release:
    """Return the release of an opening whose one chunk has one sum."""
    (release,) = releases
    return release
