"""Protocol: survival curves, bands and the log-rank test from one noisy table of public cells.

Public, fixed before data are seen: horizon, bins, groups, sizes n_k.  Every record is in one of A (2 J + 1) cells; the
counts of all clients are released once, and everything after that is post-processing.

Formal guarantee: (epsilon_certified, delta)-DP for replacing one record (or, ``add_remove``, for adding one), by the
exact profile of one Gaussian release of sensitivity sqrt(2) (or 1).  Trust, by option ``noise``: no t + 1 clients join
what they know (``shared``); no other party (``local``); an assumed secure aggregation (``central``).

Message        from, to            payload
cells          clients, server     shared: words under masks (`noisy_sum`); local: `Release`; central: in shares
"""

from __future__ import annotations

from ....federation.exchanges.noisy_sums import mu_of
from ....federation.run import Run
from ..model import SurvivalEstimate, SurvivalFacts
from ..options import SurvivalTableOptions
from ..tables import chosen_bins
from .common import SERVER, agree_on_noise, released_cells, server_estimate


def fit(run: Run) -> SurvivalEstimate:
    """One release of the cells of all clients; curves follow from it."""
    facts: SurvivalFacts = run.spec.public
    options: SurvivalTableOptions = run.spec.options
    sums, mu = agree_on_noise(run), mu_of(run)
    bins = options.bins or chosen_bins(sums.records, min(mu, 1e6), sums.noise_factor)
    _, table = released_cells(run, sums, facts.cell_edges(bins), mu, facts.groups)
    return run.at(SERVER, server_estimate, table, run.epsilon, len(run.parties))
