"""Joint fit whose predictors stay in shares: L-BFGS on opened sums, a polynomial link, no party sees an n-vector.

Source: document 004 with the leak of its predictors closed. Two parties, the active and the first passive one, hold the
predictors of all in additive shares modulo a product of primes; scores are polynomials of them
(`..secret_shared_link.polynomials`) times numbers of the active party, and what is opened to the analyst are sums over
all records: the scores of every party's columns and one objective, the integral of the polynomial. Where that search
ends, Newton steps follow with a finer polynomial (`..secret_shared_link.refinement`): they lead to the root of the link
itself, to a tenth of a standard error, and what they open shows where they do not. The dealer hands out correlated
random numbers, hears where the polynomial is centred and when the evaluations end and nothing else of the data, and
**does not collude**: the ledger is infinite against it. The parties are semi-honest, and the two holders **must not
collude**: together they open the predictor of every further party, an n-vector an evaluation.

Once                                              from, to                       payload, ring elements (4 m bytes)
centre (binomial: logit of the mean, to 1/4)      active, every other            Clear(label)                   8 bytes
with a ridge: records without weight              active, every passive          Clear(label)
seeds (32 bytes)                                  dealer, every party            Cipher, key: no single party
columns behind masks                              every party, every other       Cipher, key: dealer             n p_k
numbers of the response behind masks              active, first passive          Cipher, key: dealer             n each
scale of the objective, fit without columns       active, analyst                Clear(label)
sums of products X_j'X_k (``start: block``: j = k)  holders, analyst             Clear(label, features)      2 p_j p_k
An evaluation
its coefficients                                  analyst, every party           Clear(label, features)
predictor of any further party                    it, both holders               Cipher                          n each
predictor, behind a mask                          holders, each other            Cipher, key: dealer             n
powers of the mask; products of masks             dealer, holders                Cipher
polynomials behind masks                          holders, each other            Cipher, key: dealer             n each
scores behind masks                               holders, every party           Cipher, key: dealer             n
shares of the objective; of X_k'(scores)          holders (and k), analyst       Clear(label, features)          1; p_k
whether another follows                           analyst, every other           Clear(label, features)
At the end of the search, and after every Newton step
its coefficients                                  analyst, every party           Clear(label, features)
predictor, polynomials, scores, as above; weights behind masks; W X_k behind masks                         n; n p_k
shares of X_j'W X_k; of X_k'(scores)              holders (and j, k), analyst    Clear(label, features)    p_j p_k; p_k
residuals behind masks (Pearson's statistic)      holders, each other            Cipher, key: dealer             n
shares of deviance; sum of (u / R)^k; Pearson's   holders, analyst               Clear(label, features)      1; 1; 1
whether another follows, on which range           analyst, every other           Clear(label, features)
In the end
coefficients                                      analyst, every party           Clear(label, features)
deviance; likelihood                              analyst, active; back          Clear(label, features); Clear(label)

What is opened are functions of all records without noise: nothing finite is certified (epsilon = inf). No party
counts the records where |u| > R: the opened sum of (u / R)^k, ``outside`` in the numbers, bounds their number from
above. A fit that fails a check of `..secret_shared_link.refinement` is ``diverged``, and has no standard errors.
"""

from __future__ import annotations

import numpy as np

from ....alignment.rows import common_rows
from ....federation.exchanges.cross_product import private, send_masked
from ....federation.exchanges.dealing import dealing
from ....federation.places import PerPlace, per_place
from ....federation.roles import ANALYST, others_than, parts_of, roles
from ....federation.run import Run
from ....models.standardise import Scaling
from ..exact import check_size
from ..model import GlmEstimate
from ..records import WeightedResponse, absent_records, local_columns, local_null, local_response, local_scaling
from ..secret_shared_link.plan import COLUMN, make_plan, wants_pearson
from ..secret_shared_link.polynomials import is_centred
from ..secret_shared_link.steps import (
    GOING,
    State,
    analyst_advanced,
    analyst_coefficients,
    analyst_deviance,
    analyst_end,
    analyst_refined,
    analyst_started,
    analyst_status,
    local_block,
    local_centre,
    local_likelihood,
    local_start,
    local_terms,
    to_estimate,
)
from .secret_shared_sums import SharedInputs, at_optimum, ends_of, evaluate, opened_gram, vector_of


def prepare(
    run: Run, rows: PerPlace[np.ndarray], n: int
) -> tuple[SharedInputs, np.ndarray, WeightedResponse, PerPlace[Scaling]]:
    """Checked columns and response, rings, seeds, and what crosses once behind masks."""
    active, passive = roles(run.parties, bare=True)
    order, public, options = (active, *passive), run.spec.public, run.spec.options
    columns = run.each(order, local_columns, rows, public)
    check_size(n, 1 + len(public.names), options.ridge)
    response = run.at(active, local_response, rows, public, options.ridge)
    null = run.at(active, local_null, response)
    centre = 0.0
    if is_centred(public.family):
        centre = run.agreed(run.broadcast(active, others_than(run, active), "centre", local_centre, response, null))
    terms = run.at(active, local_terms, response, null, centre)
    absent = absent_records(run, active, passive, response)
    scaling = run.each(order, local_scaling, columns, absent)
    blocks = run.each(order, local_block, columns, scaling, absent)
    widths = [len(party.columns) + (party.role == "active") for party in order]
    plan = make_plan(public.family, centre, n, widths, options)
    seeds = dealing(run, order, plan.columns)
    X = []
    for party, width in zip(order, widths, strict=True):
        value = private(run, seeds, party, blocks, (n, width), COLUMN, bound=2 * n**0.5)
        X.append(send_masked(run, seeds, value, f"columns of {party.name}", order))
    holders = order[:2]
    every = ("linear", None), *(("scores", place) for place in range(len(plan.link.scores)))
    vectors = [vector_of(run, seeds, holders, terms, which, plan) for which in every]
    inputs = SharedInputs(
        seeds, plan, order, holders, blocks, terms, tuple(X), *vectors[0], tuple(masked for _, masked in vectors[1:])
    )
    start = run.send(active, ANALYST, "fit without columns", local_start, response, null, terms)
    return inputs, start, response, scaling


def send_coefficients(run: Run, inputs: SharedInputs, state: State) -> PerPlace[np.ndarray]:
    """Every party has the coefficients of its columns at the trial."""
    parts, sent = parts_of(run.parties), {}
    for place, party in enumerate(inputs.order):
        sent[party.name] = run.send(
            ANALYST, party, "coefficients", analyst_coefficients, state, place, inputs.plan, parts
        )
    return per_place(sent)


def refine(run: Run, inputs: SharedInputs, state: State) -> tuple[State, str, int]:
    """The state after Newton steps at the end of the search, how they ended, and how many sums they opened."""
    options, parts, public = run.spec.options, parts_of(run.parties), run.spec.public
    ranges = {fine.name: fine for fine in inputs.plan.link.fine}
    first = inputs.plan.link.fine[0]
    ends = ends_of(run, inputs)
    names = public.names_of(party.columns for party in inputs.order)
    status, number = first.name, 0
    while status in ranges:
        number += 1
        theta = send_coefficients(run, inputs, state)
        sums = at_optimum(run, inputs, ends, theta, ranges[status], f"optimum {number}")
        state = run.at(ANALYST, analyst_refined, state, *sums, inputs.plan, options, names)
        others = others_than(run, ANALYST)
        status = run.agreed(run.broadcast(ANALYST, others, "state", analyst_end, state, inputs.plan.link, parts))
    if first.scores:
        send_coefficients(run, inputs, state)
    # X'WX and Pearson's statistic; where the link is not a polynomial scores, deviance and the power sum as well.
    return state, status, number * (1 + 3 * bool(first.scores) + wants_pearson(public.family, options))


def fit(run: Run) -> GlmEstimate:
    """Evaluations until the coefficients stop changing, then Newton steps and the sums of the diagnostics."""
    options, parts, public = run.spec.options, parts_of(run.parties), run.spec.public
    rows, n = common_rows(run)
    inputs, start, response, scaling = prepare(run, rows, n)
    plan, active = inputs.plan, inputs.order[0]
    gram = opened_gram(run, inputs, options.start == "gram")
    state = run.at(ANALYST, analyst_started, start, gram, plan, options)
    status, number = GOING, 0
    while status == GOING:
        number += 1
        theta = send_coefficients(run, inputs, state)
        objective, scores = evaluate(run, inputs, theta, f"evaluation {number}")
        state = run.at(ANALYST, analyst_advanced, state, objective, scores, plan, options)
        status = run.agreed(run.broadcast(ANALYST, others_than(run, ANALYST), "state", analyst_status, state, parts))
    # Aggregates: X'X, scores and objective of an evaluation; then X'WX, scores, deviance, power sum, Pearson's.
    openings, likelihood = 1 + 2 * number, None
    if status == "ok" or (plan.link.fine[0].scores and number < options.max_iter):
        state, status, more = refine(run, inputs, state)
        openings += more
    else:
        send_coefficients(run, inputs, state)
    if status == "ok":
        deviance = run.send(ANALYST, active, "deviance", analyst_deviance, state, parts)
        likelihood = run.send(active, ANALYST, "likelihood", local_likelihood, response, deviance)
    counts = {"openings": openings, "secure_products": inputs.dealing.products}
    order = [(party.name, party.columns) for party in inputs.order]
    positions = None if public.aligned else rows
    # Nobody has it: scales of columns stay with their owners, and the coefficients of scaled ones with the analyst.
    return run.assemble(to_estimate, counts, state, scaling, likelihood, positions, order, options, public.family)
