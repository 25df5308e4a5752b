"""Joint fit whose predictors stay in shares: L-BFGS on opened sums, a polynomial for the link, nobody sees an n-vector.

Source: seed 004 with the leak of its predictors closed. Two parties, the active and the first passive one, hold the
predictors of all in additive shares modulo a product of primes; scores are polynomials of them (`..shared.links`) times
numbers of the active party, and what is opened to the analyst are sums over all records: the scores of every party's
columns and one objective, the integral of the polynomial. The dealer hands out correlated random numbers, hears when
the evaluations end and nothing else of the data, and **colludes with nobody**: the ledger does not model it. The
parties are semi-honest, and the two holders **must not collude**: together they open the predictor of every further
party, an n-vector an evaluation.

Once                                              from, to                       payload, ring elements (4 m bytes)
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
whether another follows                           analyst, everybody else        Clear(label, features)
At the optimum
weights behind masks; W X_k behind masks          holders (and k), every party   Cipher, key: dealer          n; n p_k
shares of X_j'W X_k; deviance; Pearson's sum      holders (and j, k), analyst    Clear(label, features)    p_j p_k; 1; 1
deviance; likelihood                              analyst, active; back          Clear(label, features); Clear(label)

What is opened are functions of everybody's records without noise: nothing finite is certified (epsilon = inf). The
coefficients are those of the polynomial, not of the link, and wrong where |u| > R; only an evaluator, who sees all
predictors, can count such records (``outside`` in the numbers): the count itself would be one more opening. With
more than 1 % of them the fit is ``diverged``, and has no standard errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...alignment.rows import common_rows
from ...federation.exchanges.cross_product import combined, dealing, masked, opened, private, product
from ...federation.exchanges.dealing import Dealing
from ...federation.exchanges.polynomials import polynomials, shared_between
from ...federation.exchanges.residues import Ring
from ...federation.exchanges.shared_values import Masked, Shared
from ...federation.roles import ANALYST, involved, others_than, roles
from ...federation.run import Own, Run
from ..exact import check_size
from ..model import Estimate
from ..shared.places import (
    GOING,
    analyst_advanced,
    analyst_coefficients,
    analyst_deviance,
    analyst_found,
    analyst_started,
    analyst_status,
    local_block,
    local_cut,
    local_likelihood,
    local_null,
    local_own,
    local_predictor,
    local_shift,
    local_start,
    local_terms,
    local_vector,
    reported,
)
from ..shared.plan import (
    COEFFICIENT,
    COLUMN,
    LAST_COEFFICIENT,
    NUMBER,
    PREDICTOR,
    Plan,
    degree_of,
    last_bits,
    pearson_of,
    planned,
)
from .common import local_columns, local_response, local_scaling


@dataclass(frozen=True)
class Dealt:
    """What the program carries through a fit: who holds what, and the masked values that serve in every evaluation.

    order : the active party, then the others; holders : the two of them that have shares of predictors
    constant, linear, scores : v_0 as the active party has it, v_0 and v_1, v_2, ... behind masks
    blocks : standardised columns at every party; shift : part of u that is no coefficient's, at the active one
    """

    dealing: Dealing
    plan: Plan
    order: tuple[Any, ...]
    holders: tuple[Any, ...]
    blocks: Own
    shift: Any
    columns: tuple[Masked, ...]
    constant: Shared
    linear: Masked
    scores: tuple[Masked, ...]


def predicted(run: Run, dealt: Dealt, theta: Own, bits: int, ring: Ring, name: str) -> Masked:
    """u / R of all parties in shares of both holders, behind a mask."""
    n, plan, own = dealt.plan.n, dealt.plan, []
    for party in dealt.order:
        shift = dealt.shift if party.role == "active" else 0.0
        cut = run.at(party, local_cut, dealt.blocks, theta, shift, plan)
        value = private(run, dealt.dealing, party, cut, (n, 1), bits, ring=ring)
        if party not in dealt.holders:
            value = shared_between(run, dealt.dealing, value, dealt.holders, f"part of {party.name}, {name}")
        own.append((value, 1.0))
    return masked(run, dealt.dealing, combined(run, own, bits), f"predictor, {name}", ())


def evaluated(run: Run, dealt: Dealt, theta: Own, name: str) -> tuple[Any, list[Any]]:
    """Objective and scores at coefficients, opened to the analyst."""
    plan, dealing, parts = dealt.plan, dealt.dealing, involved(run.parties)
    link, degree = plan.link, degree_of(plan.link.scores)
    bits = (degree + 1) * PREDICTOR + COEFFICIENT
    u = predicted(run, dealt, theta, PREDICTOR, plan.ring, name)
    count = len(link.scores)
    integrals = polynomials(run, dealing, u, link.integrals, name, bits, slopes=True)
    # All in units of R, as the slopes are derivatives in u / R.
    score = [(dealt.constant, link.radius)]
    pairs = []
    for place, given in enumerate(dealt.scores):
        p = masked(run, dealing, integrals[count + place], f"polynomial {place + 1}, {name}", ())
        score.append((product(run, dealing, given, p, f"scores {place + 1}, {name}", entries=True), 1.0))
        pairs.append((given, masked(run, dealing, integrals[place], f"integral {place + 1}, {name}", ())))
    scores = masked(run, dealing, combined(run, score, bits - PREDICTOR + NUMBER), f"scores, {name}", dealt.order)
    found = []
    for party, X in zip(dealt.order, dealt.columns, strict=True):
        sums = product(run, dealing, X, scores, f"scores of {party.name}, {name}")
        found.append(opened(run, dealing, sums, ANALYST, "scores", parts))
    linear = product(run, dealing, dealt.linear, u, f"linear part, {name}"), link.radius
    return opened_sum(run, dealt, [linear], pairs, f"objective, {name}", bits), found


def opened_gram(run: Run, dealt: Dealt, whole: bool) -> list[list[Any]]:
    """X_j'X_k at the analyst, of all pairs of parties or of every party's own columns."""
    found: list[list[Any]] = []
    for j, one in enumerate(dealt.columns):
        row: list[Any] = [None] * len(dealt.columns)
        for k, other in enumerate(dealt.columns):
            if k == j or (whole and k > j):
                sums = product(run, dealt.dealing, one, other, f"products {j}, {k}", ring=dealt.plan.gram)
                row[k] = opened(run, dealt.dealing, sums, ANALYST, "products", involved(run.parties))
        found.append(row)
    return found


def opened_information(run: Run, dealt: Dealt, weights: Shared) -> list[list[Any]]:
    """X_j'W X_k at the analyst, of all pairs of parties."""
    dealing, parts = dealt.dealing, involved(run.parties)
    W = masked(run, dealing, weights, "weights", dealt.order)
    found: list[list[Any]] = [[None] * len(dealt.order) for _ in dealt.order]
    for k, other in enumerate(dealt.columns):
        weighted = product(run, dealing, W, other, f"weighted columns {k}", entries=True)
        closed = masked(run, dealing, weighted, f"weighted columns behind masks {k}", dealt.order)
        for j in range(k + 1):
            sums = product(run, dealing, dealt.columns[j], closed, f"information {j}, {k}")
            found[j][k] = opened(run, dealing, sums, ANALYST, "information", parts)
    return found


def at_optimum(run: Run, dealt: Dealt, theta: Own, terms: Any) -> tuple[list[list[Any]], Any, Any]:
    """X'WX at expected weights, the sums of the deviance, and those of Pearson's statistic (None if not wanted)."""
    plan, dealing = dealt.plan, dealt.dealing
    wanted = pearson_of(plan.link, run.spec.public.family, run.spec.options)
    every, count = (plan.link.weight, *plan.link.exact, *wanted), len(plan.link.exact)
    low = last_bits(degree_of(every))
    bits = degree_of(every) * low + LAST_COEFFICIENT
    u = predicted(run, dealt, theta, low, plan.last, "optimum")
    values = [
        masked(run, dealing, value, f"polynomial {place}, optimum", ())
        for place, value in enumerate(polynomials(run, dealing, u, every, "optimum", bits))
    ]
    _, own = vector_of(run, dealing, dealt.holders, terms, ("weight", None), plan, plan.last)
    weights = product(run, dealing, own, values[0], "weights of records", entries=True)
    pairs = list(zip(dealt.scores, values[1 : 1 + count], strict=True))
    linear = product(run, dealing, dealt.linear, u, "linear part, optimum"), plan.link.radius
    deviance = opened_sum(run, dealt, [linear], pairs, "deviance", bits)
    information = opened_information(run, dealt, weights)
    if not wanted:
        return information, deviance, None
    given = [
        vector_of(run, dealing, dealt.holders, terms, ("pearson", place), plan, plan.last)[1]
        for place in range(len(wanted))
    ]
    pairs = list(zip(given, values[1 + count :], strict=True))
    return information, deviance, opened_sum(run, dealt, [], pairs, "Pearson's statistic", bits)


def opened_sum(
    run: Run,
    dealt: Dealt,
    terms: Sequence[tuple[Shared, float]],
    pairs: Sequence[tuple[Masked, Masked]],
    name: str,
    bits: int,
) -> Any:
    """One number at the analyst: terms, and the sums over records of products of the response with polynomials."""
    made = [(product(run, dealt.dealing, one, other, f"{name} {k}"), 1.0) for k, (one, other) in enumerate(pairs)]
    total = combined(run, [*terms, *made], bits + NUMBER)
    return opened(run, dealt.dealing, total, ANALYST, name, involved(run.parties))


def vector_of(
    run: Run,
    dealing: Dealing,
    holders: Sequence[Any],
    terms: Any,
    which: tuple[str, int | None],
    plan: Plan,
    ring: Ring,
) -> tuple[Shared, Masked]:
    """One of the vectors of the response, at its owner, and behind its mask at both holders."""
    values = run.at(holders[0], local_vector, terms, which)
    bound = plan.bound(which[0])
    own = private(run, dealing, holders[0], values, (plan.n, 1), NUMBER, bound=bound, ring=ring)
    return own, masked(run, dealing, own, f"{which[0]} {which[1]}", holders[1:])


def prepared(run: Run, rows: Own, n: int) -> tuple[Dealt, Any, Any, Any, Own]:
    """Checked columns and response, rings, seeds, and what crosses once behind masks."""
    active, passive = roles(run.parties)
    order, public, options = (active, *passive), run.spec.public, run.spec.options
    columns = run.each(order, local_columns, rows, public)
    check_size(n, 1 + len(public.names), options.ridge)
    response = run.at(active, local_response, rows, public, options.ridge)
    null = run.at(active, local_null, response)
    terms = run.at(active, local_terms, response, null)
    scaling = run.each(order, local_scaling, columns)
    blocks = run.each(order, local_block, columns, scaling)
    widths = [len(party.columns) + (party.role == "active") for party in order]
    plan = planned(public.family, n, widths, options)
    seeds = dealing(run, order, plan.columns)
    X = []
    for party, width in zip(order, widths, strict=True):
        own = private(run, seeds, party, run.at(party, local_own, blocks), (n, width), COLUMN, bound=2 * n**0.5)
        X.append(masked(run, seeds, own, f"columns of {party.name}", order))
    holders = order[:2]
    every = ("linear", None), *(("scores", place) for place in range(len(plan.link.scores)))
    vectors = [vector_of(run, seeds, holders, terms, which, plan, plan.ring) for which in every]
    shift = run.at(active, local_shift, terms)
    dealt = Dealt(
        seeds, plan, order, holders, blocks, shift, tuple(X), *vectors[0], tuple(one for _, one in vectors[1:])
    )
    start = run.send(active, ANALYST, "fit without columns", local_start, response, null, terms)
    return dealt, start, response, terms, scaling


def told(run: Run, dealt: Dealt, state: Any) -> Own:
    """Every party has the coefficients of its columns at the trial."""
    parts, found = involved(run.parties), {}
    for place, party in enumerate(dealt.order):
        found[party.name] = run.send(
            ANALYST, party, "coefficients", analyst_coefficients, state, place, dealt.plan, parts
        )
    return Own(found)


def fit(run: Run) -> Estimate:
    """Evaluations until the coefficients stand still, then the sums of the diagnostics."""
    options, parts, public = run.spec.options, involved(run.parties), run.spec.public
    rows, n = common_rows(run)
    dealt, start, response, terms, scaling = prepared(run, rows, n)
    plan, active = dealt.plan, dealt.order[0]
    gram = opened_gram(run, dealt, options.start == "gram")
    state = run.at(ANALYST, analyst_started, start, gram, plan, options)
    status, number = GOING, 0
    while status == GOING:
        number += 1
        theta = told(run, dealt, state)
        objective, scores = evaluated(run, dealt, theta, f"evaluation {number}")
        state = run.at(ANALYST, analyst_advanced, state, objective, scores, plan.link.radius, options)
        status = run.known(run.broadcast(ANALYST, others_than(run, ANALYST), "state", analyst_status, state, parts))
    theta = told(run, dealt, state)
    # Aggregates: X'X, scores and objective of an evaluation, X'WX, deviance, Pearson's statistic.
    openings, optimum = 1 + 2 * number, None
    if status == "ok":
        sums = at_optimum(run, dealt, theta, terms)
        openings += 2 + (sums[2] is not None)
        found = run.at(ANALYST, analyst_found, state, *sums, plan)
        deviance = run.send(ANALYST, active, "deviance", analyst_deviance, found, parts)
        optimum = found, run.send(active, ANALYST, "likelihood", local_likelihood, response, deviance)
    predictors = run.each(dealt.order, local_predictor, dealt.blocks, theta)
    shift = run.at(active, local_shift, terms)
    counts = {"openings": openings, "secure_products": dealt.dealing.products}
    order = [(party.name, party.columns) for party in dealt.order]
    kept = None if public.aligned else rows
    given = (
        state,
        scaling,
        predictors,
        shift,
        optimum,
        kept,
        (plan.link.radius * plan.cut, plan.reach),
        order,
        options,
        public.family,
        counts,
    )
    return run.assemble(reported, *given)
