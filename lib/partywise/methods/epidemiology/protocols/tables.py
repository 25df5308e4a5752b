"""Protocol: one noisy release of all tables and moments of a question set, of parties that hold different records.

Public, fixed before data are seen: the question set with its levels, edges and ranges, and the sizes n_k.  A record
adds whole numbers to one cell of each table and to the moments of its group; the sums of all parties are released once,
and everything after that is post-processing.

Formal guarantee: (epsilon_certified, delta)-DP for replacing one record, by the exact profile of one Gaussian release
whose squared sensitivity is the largest squared move of the whole numbers, found over all of them
(`Contributions.squares`); with geometric noise epsilon-DP, by the largest absolute move (`Contributions.shift`).
Trust, by option ``noise``: no t + 1 parties join what they know (``shared``); no other party (``local``); an assumed
secure aggregation (``central``).

Message        from, to            payload
tables         parties, server     shared: words under masks (`noisy_sum`); local: `Release`; central: in shares
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ....federation.exchanges.noisy_sums import (
    GeometricNoise,
    NoisySums,
    ReleasedSum,
    agree_on_sums,
    mu_of,
    released_sum,
)
from ....federation.roles import records_together
from ....federation.run import Run
from ..contributions import Contributions, Distribution, contributions
from ..layout import Layout, Table
from ..model import EpidemiologyEstimate, EpidemiologyFacts
from ..options import TablesOptions
from .common import SERVER, TABLES, local_statistic, names_of, require_records, server_estimate, sizes_of, whole_sums


@dataclass(frozen=True)
class TableNoise:
    """Contributions, the noise on their sums, and its law: public.

    noise : mu of Gaussian noise, or geometric noise; sd : its standard deviation in steps; excess : its kurtosis
    """

    terms: Contributions
    distribution: Distribution
    noise: float | GeometricNoise
    sd: float
    excess: float

    @property
    def mean_log_sd(self) -> float:
        """Mean over all entries of the logarithm of the noise of a count."""
        rows = [
            (table.entries, weight) for table, weight in zip(self.terms.layout.tables, self.terms.weights, strict=False)
        ]
        return math.log(self.sd) - sum(cells * math.log(w) for cells, w in rows) / sum(cells for cells, _ in rows)


def table_noise(run: Run, layout: Layout, sums: NoisySums) -> TableNoise:
    """Return the noise that the options ask for; ``auto`` is the narrower one of those that the release can have."""
    options: TablesOptions = run.spec.options
    terms, mu = contributions(layout, options.weights), mu_of(run)
    sd = terms.deviation(mu, sums.noise_factor)
    gaussian = TableNoise(terms, "gaussian", mu, sd, 0.0)
    may_be_geometric = sums.noise != "shared" and all(isinstance(item, Table) for item in layout.items)
    if options.distribution == "gaussian" or (options.distribution == "auto" and (not may_be_geometric or not sd)):
        return gaussian
    terms = contributions(layout, options.weights, "laplace")
    noise = GeometricNoise(run.epsilon / records_together(run.spec), terms.shift)
    sd, excess = noise.standard_deviation * math.sqrt(sums.noise_factor), noise.excess_kurtosis / sums.noise_factor
    geometric = TableNoise(terms, "laplace", noise, sd, excess)
    if options.distribution == "laplace" or geometric.mean_log_sd < gaussian.mean_log_sd:
        return geometric
    return gaussian


def server_answer(noisy: ReleasedSum, public: EpidemiologyEstimate) -> EpidemiologyEstimate:
    """The estimate of the noisy sums, with what is public of it."""
    return server_estimate(noisy.value, public)


def fit(run: Run) -> EpidemiologyEstimate:
    """One release of the sums of all parties."""
    facts: EpidemiologyFacts = run.spec.public
    options: TablesOptions = run.spec.options
    names, sizes = names_of(run), sizes_of(run)
    layout = facts.questions.layout(names)
    require_records(run, layout)
    sums = agree_on_sums(run, options.noise, options.colluders, sum(sizes), SERVER)
    chosen = table_noise(run, layout, sums)
    terms = chosen.terms
    statistics = run.each(sums.clients, local_statistic, terms, names)
    total = whole_sums(np.zeros(layout.entries, dtype=np.int64), terms)
    # No entry of a record exceeds its weight: z / sqrt(2) and z^2 - 1/2 are below 1.
    largest = sums.records * max(terms.weights)
    noisy = released_sum(run, sums, TABLES, statistics, total, chosen.noise, largest)
    public = EpidemiologyEstimate(
        run.epsilon,
        names,
        sizes,
        noise_sd=chosen.sd,
        excess=chosen.excess,
        weights=options.weights,
        distribution=chosen.distribution,
    )
    return run.at(SERVER, server_answer, noisy, public)
