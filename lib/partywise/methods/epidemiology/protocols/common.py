"""Common parts of the protocols of tables: a party's own sums, and what is public of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

# Any: a generator of an address, which only rounding at random reads.
from typing import Any

import numpy as np

from ....core.randomness import Rng
from ....federation.exchanges.noisy_sums import GeometricNoise, NoisySums, ReleasedSum, released_sum, require_sizes
from ....federation.parties import Party, lost_squares
from ....federation.run import Run
from ....privacy.accounted_values import Clear
from ....privacy.statistics.whole import Whole, whole
from ..contributions import Contributions, contributions
from ..layout import Layout
from ..model import EpidemiologyEstimate, EpidemiologyFacts

SERVER = "server"
TABLES = "tables"
SOURCE = "the largest squared move of whole contributions, over all values on their grid"
# What a party shows of its exact sums (d,), by its random numbers.
Show = Callable[[np.ndarray, Contributions, Any], np.ndarray]


def names_of(run: Run) -> tuple[str, ...]:
    """Names of the parties."""
    return tuple(party.name for party in run.parties)


def sizes_of(run: Run) -> tuple[int, ...]:
    """Records of every party: public."""
    facts: EpidemiologyFacts = run.spec.public
    return facts.sizes(len(run.parties))


def require_records(run: Run, layout: Layout) -> None:
    """Check that every party has its public number of records."""
    require_sizes(run, sizes_of(run), layout.columns[0])


def local_clip_counts(party: Party, layout: Layout) -> None:
    """Count the party's values beyond the public ranges of means."""
    ends = {layout.variables[name].columns[0] for name in layout.incidence}
    for item in layout.moments:
        # Follow-up ends at the horizon by its definition.
        if item.column not in ends and item.column in party.block:
            values = np.asarray(party.block[item.column], dtype=float)
            known = values[~np.isnan(values)]
            clipped = np.clip(known, item.low, item.high)
            loss = lost_squares((known - item.centre)[:, None], (clipped - item.centre)[:, None])
            party.clips.add(f"means.{item.column}", int(np.count_nonzero(known != clipped)), len(known), loss)


def local_sums(party: Party, terms: Contributions, names: Sequence[str]) -> np.ndarray:
    """Sums (d,) of the contributions of the party's records, int64; values beyond the ranges of means are counted."""
    local_clip_counts(party, terms.layout)
    return terms.sums(party.block, names.index(party.name))


def whole_sums(sums: np.ndarray, terms: Contributions) -> Whole:
    """Sums of whole contributions, in steps, with how far one record moves them."""
    return whole(sums, terms.squares, 1.0, SOURCE)


def local_statistic(party: Party, terms: Contributions, names: Sequence[str]) -> Whole:
    """Sums of the party's records, which stay with it."""
    return whole_sums(local_sums(party, terms, names), terms)


def release_sums(run: Run, sums: NoisySums, terms: Contributions, noise: float | GeometricNoise) -> ReleasedSum:
    """Return the noisy sums of the contributions of all records, at the server."""
    statistics = run.each(sums.clients, local_statistic, terms, names_of(run))
    total = whole_sums(np.zeros(terms.layout.entries, dtype=np.int64), terms)
    # No entry of a record exceeds its weight: z / sqrt(2) and z^2 - 1/2 are below 1.
    return released_sum(run, sums, TABLES, statistics, total, noise, sums.records * max(terms.weights))


def server_estimate(sums: np.ndarray, public: EpidemiologyEstimate) -> EpidemiologyEstimate:
    """The estimate of released sums (d,) in steps, with what is public of it."""
    return replace(public, sums=np.asarray(sums, dtype=float))


def local_view(party: Party, terms: Contributions, names: Sequence[str], show: Show, rng_for: Rng) -> Clear:
    """Part of the party's exact sums that it shows, in the clear, and the mask (d,) of what it refuses."""
    values = show(local_sums(party, terms, names), terms, rng_for("shown", party.name))
    refused = np.isnan(values)
    return Clear((np.where(refused, 0.0, values), refused), units=("row",), owner=party.name)


def server_total(parts: Sequence[tuple[np.ndarray, np.ndarray]], public: EpidemiologyEstimate) -> EpidemiologyEstimate:
    """The estimate of the sum of what the parties show; nan where any refuses."""
    total = np.sum([values for values, _ in parts], axis=0)
    return server_estimate(np.where(np.any([refused for _, refused in parts], axis=0), np.nan, total), public)


def estimate_in_clear(run: Run, show: Show) -> EpidemiologyEstimate:
    """Add what every party shows of its exact sums."""
    facts: EpidemiologyFacts = run.spec.public
    names = names_of(run)
    terms = contributions(facts.questions.layout(names))
    require_records(run, terms.layout)
    parts = run.gather(run.parties, SERVER, TABLES, local_view, terms, names, show, run.rng_for)
    return run.at(SERVER, server_total, parts, EpidemiologyEstimate(names=names, sizes=sizes_of(run)))
