"""The sums over all records that a fit in shares opens to the analyst (`shared`): each is products and polynomials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...federation.exchanges.cross_product import combined, masked, opened, private, product
from ...federation.exchanges.dealing import Dealing
from ...federation.exchanges.polynomials import polynomials, shared_between
from ...federation.exchanges.residues import Ring
from ...federation.exchanges.shared_values import Masked, Shared
from ...federation.roles import ANALYST, involved
from ...federation.run import Own, Run
from ..shared.places import (
    local_cut,
    local_vector,
)
from ..shared.plan import (
    COEFFICIENT,
    LAST_COEFFICIENT,
    NUMBER,
    PREDICTOR,
    Plan,
    degree_of,
    last_bits,
    pearson_of,
)


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
        found.append(opened(run, sums, ANALYST, "scores", parts))
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
                row[k] = opened(run, sums, ANALYST, "products", involved(run.parties))
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
            found[j][k] = opened(run, sums, ANALYST, "information", parts)
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
    return opened(run, total, ANALYST, name, involved(run.parties))


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
