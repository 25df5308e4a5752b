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

from ....federation.exchanges.noisy_sums import ReleasedSum, agree_on_sums, mu_of
from ....federation.roles import records_together
from ....federation.run import Run
from ..contributions import table_noise
from ..model import EpidemiologyEstimate, EpidemiologyFacts
from ..options import TablesOptions
from .common import SERVER, names_of, release_sums, require_records, server_estimate, sizes_of


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
    epsilon = run.epsilon / records_together(run.spec)
    chosen = table_noise(options, layout, epsilon, mu_of(run), sums.noise_factor)
    noisy = release_sums(run, sums, chosen.terms, chosen.noise)
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
