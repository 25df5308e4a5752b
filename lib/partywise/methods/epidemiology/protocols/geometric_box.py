"""Protocol: exact sums with full draws of geometric noise by several peers, and regions from a box around all cells.

Source: dsVert 1.1.0, whose parties hold different columns.  Two peers hold a vector of counts in shares; each adds a
full two-sided geometric draw to every cell, on a grid of 1/256 and scaled to the absolute move of the whole vector,
and the sum is opened and moved into [0, capacity].  A region of a measure is its range over a box that holds all exact
cells with probability 95 %, by the tails of both draws and a union bound; it counts no sampling.
Transcribed to parties that hold different records: the peers that join the shares are one assumed functionality, which
adds every draw.  A region is the measure at the two corners where it is extreme: never wider than what the source
prints, whose regions of curves, areas and common ratios are joined from those of their parts.

Formal guarantee: epsilon-DP for replacing one record, of one release, by one draw alone: it holds against those who
know all other draws, such as the peers that drew them.  Several releases add up.

Message          from, to              payload
tables in shares parties, aggregator   shares that only all peers together open
tables           aggregator, server    `Release`: sums (d,) with all draws
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ....federation.exchanges.noisy_sums import GeometricNoise, ReleasedSum, agree_on_sums
from ....federation.roles import records_together
from ....federation.run import Run
from ..contributions import WEIGHT_BITS, Contributions
from ..model import EpidemiologyEstimate, EpidemiologyFacts
from ..options import GeometricBoxOptions
from ..published import box_radius
from .common import SERVER, names_of, release_sums, require_records, server_estimate, sizes_of

# Steps of a count.
STEPS = 256
# Steps of an estimate, whose weights are equal, in a step of the source.
FINER = 2**WEIGHT_BITS // STEPS


def server_cells(
    noisy: ReleasedSum, terms: Contributions, capacity: int, public: EpidemiologyEstimate
) -> EpidemiologyEstimate:
    """The estimate of noisy counts moved into [0, capacity], and of sums of means into [-capacity, capacity]."""
    cells = sum(table.entries for table in terms.layout.tables)
    lowest = np.where(np.arange(terms.layout.entries) < cells, 0, -capacity * STEPS)
    return server_estimate(FINER * np.clip(noisy.value, lowest, capacity * STEPS), public)


def fit(run: Run) -> EpidemiologyEstimate:
    """One release of the sums of all parties with every draw."""
    facts: EpidemiologyFacts = run.spec.public
    options: GeometricBoxOptions = run.spec.options
    names, sizes = names_of(run), sizes_of(run)
    layout = facts.questions.layout(names)
    require_records(run, layout)
    terms = Contributions(layout, (STEPS,) * len(layout.items), Fraction(1, STEPS))
    noise = GeometricNoise(run.epsilon / records_together(run.spec), terms.absolute_move, options.draws)
    sums = agree_on_sums(run, "central", 0, sum(sizes), SERVER)
    noisy = release_sums(run, sums, terms, noise)
    capacity = sums.records if options.capacity is None else options.capacity
    public = EpidemiologyEstimate(
        run.epsilon,
        names,
        sizes,
        noise_sd=FINER * noise.standard_deviation,
        excess=noise.excess_kurtosis,
        radius=min(box_radius(layout.entries, noise)[0] / STEPS, capacity),
        weights="equal",
    )
    return run.at(SERVER, server_cells, noisy, terms, capacity, public)
