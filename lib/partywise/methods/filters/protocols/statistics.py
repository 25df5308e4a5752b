"""Protocol: federated statistics under the cleansers of NVFlare, asked for again and again.

A range and a number of bins are fields of the job, so that the sender of jobs chooses them: extremes are asked for
many times, and histograms of bins one unit wide tile the range of a column, as many bins in each job as pass.

Message      from, to        payload
extremes     sites, server   noisy minimum and maximum of each column, (jobs, columns, 2), `Clear`
histograms   sites, server   counts of all jobs, column by column, `Clear`
"""

from __future__ import annotations

import numpy as np

from ....core.randomness import Rng
from ....federation.parties import Party
from ....federation.run import Run
from ....privacy.accounted_values import Clear
from ..layers.statistics import histogram_bins, min_count, noisy_maximum, noisy_minimum
from ..model import FilterEstimate, FilterFacts
from ..options import StatisticsOptions


def most_bins(records: int) -> int:
    """Bins of a histogram that just pass."""
    return max((bins for bins in range(records) if histogram_bins(bins, records)), default=0)


def jobs_of(bins: int, span: tuple[float, float, float]) -> int:
    """Jobs whose bins tile a column from its first edge, bins wide each, to its end."""
    first, width, end = span
    return int(np.ceil((end - first) / width / bins))


def local_statistics(
    client: Party, spans: dict[str, tuple[float, float, float]], jobs: int, rng_for: Rng
) -> tuple[Clear, Clear]:
    """Extremes of all jobs, and counts of all tiles."""
    columns, rng = client.block["columns"], rng_for("extremes", client.name)
    bins = most_bins(len(columns))
    if not min_count(len(columns)) or not bins:
        return Clear(np.zeros((0, len(spans), 2)), ("row",)), Clear({}, ("row",))
    ends = [(column.min(), column.max()) for column in columns.T]
    extremes = np.array([[(noisy_minimum(a, rng), noisy_maximum(b, rng)) for a, b in ends] for _ in range(jobs)])
    counts = {}
    for (name, span), column in zip(spans.items(), columns.T, strict=True):
        first, width, _ = span
        edges = first + width * np.arange(jobs_of(bins, span) * bins + 1)
        counts[name] = np.histogram(column, edges)[0]
    return Clear(extremes, ("row",)), Clear(counts, ("row",))


def server_answer(extremes: tuple[np.ndarray, ...], histograms: tuple[dict[str, np.ndarray], ...]) -> FilterEstimate:
    """Return the statistics that arrived."""
    return FilterEstimate(extremes=extremes, histograms=histograms)


def fit(run: Run) -> FilterEstimate:
    """All jobs at once."""
    facts: FilterFacts = run.spec.public
    options: StatisticsOptions = run.spec.options
    names = ("extremes", "histograms")
    extremes, histograms = run.gather(
        run.parties, "server", names, local_statistics, dict(facts.spans), options.jobs, run.rng_for
    )
    return run.at("server", server_answer, extremes, histograms)
