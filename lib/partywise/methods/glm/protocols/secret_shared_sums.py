"""The sums over all records that a fit in shares opens to the analyst: each is products and polynomials."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ....federation.exchanges.cross_product import private, product, reveal, send_masked
from ....federation.exchanges.dealing import Dealing
from ....federation.exchanges.polynomials import polynomials, shared_between
from ....federation.exchanges.residues import Ring
from ....federation.exchanges.shared_values import LinearCombination, MaskedValue, SharedValue
from ....federation.parties import Party
from ....federation.places import PerPlace
from ....federation.roles import ANALYST, parts_of
from ....federation.run import Run
from ..secret_shared_link.plan import (
    COEFFICIENT,
    LAST_COEFFICIENT,
    NUMBER,
    PREDICTOR,
    RingPlan,
    degree_of,
    last_bits,
    last_of,
    wants_pearson,
)
from ..secret_shared_link.polynomials import FineLink, SharedLink
from ..secret_shared_link.steps import local_cut, local_vector
from ..secret_shared_link.terms import LinkTerms


@dataclass(frozen=True)
class SharedInputs:
    """Inputs of every evaluation: which party holds what, and the masked values.

    order : the active party, then the others; holders : the two of them that have shares of predictors
    constant, linear, scores : v_0 as the active party has it, v_0 and v_1, v_2, ... behind masks
    blocks : standardised columns at every party; terms : numbers of the response, at the active one
    """

    dealing: Dealing
    plan: RingPlan
    order: tuple[Party, ...]
    holders: tuple[Party, ...]
    blocks: PerPlace
    terms: LinkTerms
    columns: tuple[MaskedValue, ...]
    constant: SharedValue
    linear: MaskedValue
    scores: tuple[MaskedValue, ...]


@dataclass(frozen=True)
class Ends:
    """Numbers of the response behind masks in the ring of the optimum, once for all evaluations there.

    constant : v_0 as the active party has it; linear, scores, weight : of `LinkTerms`, behind masks
    residual : a_1, a_2, ... behind masks; none where Pearson's statistic is not wanted; level : a_0 as the active party
        has it
    """

    constant: SharedValue
    linear: MaskedValue
    scores: tuple[MaskedValue, ...]
    weight: MaskedValue
    level: SharedValue | None
    residual: tuple[MaskedValue, ...]


def predict_shares(
    run: Run,
    inputs: SharedInputs,
    theta: PerPlace[np.ndarray],
    bits: int,
    ring: Ring,
    name: str,
    link: SharedLink | FineLink,
) -> MaskedValue:
    """u / R of all parties in shares of both holders, behind a mask."""
    most = link.widest / len(inputs.order)
    n, predictors = inputs.plan.n, []
    for party in inputs.order:
        terms = inputs.terms if party.role == "active" else None
        cut = run.at(party, local_cut, inputs.blocks, theta, terms, link.radius, most)
        value = private(run, inputs.dealing, party, cut, (n, 1), bits, ring=ring)
        if party not in inputs.holders:
            value = shared_between(run, inputs.dealing, value, inputs.holders, f"part of {party.name}, {name}")
        predictors.append(value)
    return send_masked(
        run, inputs.dealing, LinearCombination.of(predictors).evaluate(run, bits), f"predictor, {name}", ()
    )


def evaluate(
    run: Run, inputs: SharedInputs, theta: PerPlace[np.ndarray], name: str
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Objective and scores at coefficients, opened to the analyst."""
    plan, dealing = inputs.plan, inputs.dealing
    link, degree = plan.link, degree_of(plan.link.scores)
    bits = (degree + 1) * PREDICTOR + COEFFICIENT
    u = predict_shares(run, inputs, theta, PREDICTOR, plan.ring, name, link)
    count = len(link.scores)
    integrals = polynomials(run, dealing, u, link.integrals, name, bits, slopes=True)
    # All in units of R, as the slopes are derivatives in u / R.
    score = link.radius * inputs.constant
    pairs = []
    for place, vector in enumerate(inputs.scores):
        p = send_masked(run, dealing, integrals[count + place], f"polynomial {place + 1}, {name}", ())
        score += product(run, dealing, vector, p, f"scores {place + 1}, {name}", entries=True)
        pairs.append((vector, send_masked(run, dealing, integrals[place], f"integral {place + 1}, {name}", ())))
    opened = revealed_scores(run, inputs, score, name)
    linear = link.radius * product(run, dealing, inputs.linear, u, f"linear part, {name}")
    return opened_sum(run, inputs, [linear], pairs, f"objective, {name}"), opened


def ends_of(run: Run, inputs: SharedInputs) -> Ends:
    """The numbers of the response for evaluations at the optimum."""
    plan, dealing, holders, terms = inputs.plan, inputs.dealing, inputs.holders, inputs.terms

    def vector(name: str, place: int | None = None) -> tuple[SharedValue, MaskedValue]:
        value = local_value(run, dealing, holders, terms, (name, place), plan, plan.last)
        return value, send_masked(run, dealing, value, f"{name} {place}, optimum", holders[1:])

    constant, linear = vector("linear")
    scores = tuple(vector("scores", place)[1] for place in range(len(inputs.scores)))
    residual, level = [], None
    if wants_pearson(run.spec.public.family, run.spec.options):
        level = local_value(run, dealing, holders, terms, ("residual", 0), plan, plan.last)
        residual = [vector("residual", 1 + place)[1] for place in range(len(plan.link.fine[0].residual))]
    return Ends(constant, linear, scores, vector("weight")[1], level, tuple(residual))


def opened_gram(run: Run, inputs: SharedInputs, whole: bool) -> list[list[np.ndarray | None]]:
    """X_j'X_k at the analyst, of all pairs of parties or of every party's own columns."""
    blocks: list[list[np.ndarray | None]] = []
    for j, columns in enumerate(inputs.columns):
        row: list[np.ndarray | None] = [None] * len(inputs.columns)
        for k, other in enumerate(inputs.columns):
            if k == j or (whole and k > j):
                sums = product(run, inputs.dealing, columns, other, f"products {j}, {k}", ring=inputs.plan.gram)
                row[k] = reveal(run, sums, ANALYST, "products", parts_of(run.parties))
        blocks.append(row)
    return blocks


def opened_information(
    run: Run, inputs: SharedInputs, weights: SharedValue, name: str
) -> list[list[np.ndarray | None]]:
    """X_j'W X_k at the analyst, of all pairs of parties."""
    dealing, parts = inputs.dealing, parts_of(run.parties)
    W = send_masked(run, dealing, weights, f"weights, {name}", inputs.order)
    blocks: list[list[np.ndarray | None]] = [[None] * len(inputs.order) for _ in inputs.order]
    for k, other in enumerate(inputs.columns):
        weighted = product(run, dealing, W, other, f"weighted columns {k}, {name}", entries=True)
        closed = send_masked(run, dealing, weighted, f"weighted columns behind masks {k}, {name}", inputs.order)
        for j in range(k + 1):
            sums = product(run, dealing, inputs.columns[j], closed, f"information {j}, {k}, {name}")
            blocks[j][k] = reveal(run, sums, ANALYST, "information", parts)
    return blocks


def opened_scores(
    run: Run, inputs: SharedInputs, ends: Ends, values: Sequence[MaskedValue], name: str
) -> list[np.ndarray]:
    """X_k'(scores) at the analyst, of every party, from the polynomials of the scores."""
    total = weighted_polynomials(run, inputs.dealing, ends.constant, ends.scores, values, f"scores {{}}, {name}")
    return revealed_scores(run, inputs, total, name)


def revealed_scores(run: Run, inputs: SharedInputs, score: LinearCombination, name: str) -> list[np.ndarray]:
    """X_k'(scores) at the analyst, of every party, from the scores of the records in shares."""
    dealing, parts = inputs.dealing, parts_of(run.parties)
    closed = send_masked(run, dealing, score.evaluate(run, bits_of(score)), f"scores, {name}", inputs.order)
    sums = []
    for party, X in zip(inputs.order, inputs.columns, strict=True):
        product_of_party = product(run, dealing, X, closed, f"scores of {party.name}, {name}")
        sums.append(reveal(run, product_of_party, ANALYST, "scores", parts))
    return sums


def weighted_polynomials(
    run: Run,
    dealing: Dealing,
    constant: SharedValue,
    factors: Sequence[MaskedValue],
    values: Sequence[MaskedValue],
    name: str,
) -> LinearCombination:
    """A number of the active party and the products of others with polynomials, by records; `name` has a place."""
    total = LinearCombination.of([constant])
    for place, (factor, value) in enumerate(zip(factors, values, strict=True), start=1):
        total += product(run, dealing, factor, value, name.format(place), entries=True)
    return total


def opened_squares(
    run: Run, inputs: SharedInputs, ends: Ends, values: Sequence[MaskedValue], name: str
) -> np.ndarray | None:
    """Pearson's statistic at the analyst: the squares of residuals that stay in shares; None where not wanted."""
    if ends.level is None:
        return None
    dealing = inputs.dealing
    total = weighted_polynomials(run, dealing, ends.level, ends.residual, values, f"residuals {{}}, {name}")
    closed = send_masked(run, dealing, total.evaluate(run, bits_of(total)), f"residuals, {name}", ())
    squares = product(run, dealing, closed, closed, f"squares of residuals, {name}")
    return reveal(run, squares, ANALYST, f"Pearson's statistic, {name}", parts_of(run.parties))


def at_optimum(
    run: Run, inputs: SharedInputs, ends: Ends, theta: PerPlace[np.ndarray], fine: FineLink, name: str
) -> tuple[
    list[list[np.ndarray | None]], list[np.ndarray] | None, np.ndarray | None, np.ndarray | None, np.ndarray | None
]:
    """X'WX at expected weights, scores, deviance, power sum of predictors, Pearson's sum; None where not wanted."""
    dealing, low = inputs.dealing, last_bits(fine)
    residual = fine.residual if ends.residual else ()
    every = last_of(replace(fine, residual=residual))
    u = predict_shares(run, inputs, theta, low, inputs.plan.last, name, fine)
    bits = [(len(polynomial) - 1) * low + LAST_COEFFICIENT for polynomial in every]
    shares = iter(polynomials(run, dealing, u, every, name, bits))

    def values(count: int, what: str) -> list[MaskedValue]:
        """The next polynomials behind masks."""
        return [send_masked(run, dealing, next(shares), f"{what} {place}, {name}", ()) for place in range(count)]

    def sums(
        terms: Sequence[LinearCombination], pairs: Iterable[tuple[MaskedValue, MaskedValue]], what: str
    ) -> np.ndarray:
        return opened_sum(run, inputs, terms, tuple(pairs), f"{what}, {name}")

    weight, integrals, scores, powers, roots = (
        values(len(some), what)
        for some, what in (
            ((fine.weight,), "weight"),
            (fine.exact, "integral"),
            (fine.scores, "score"),
            (fine.outside, "power"),
            (residual, "residual"),
        )
    )
    weights = product(run, dealing, ends.weight, weight[0], f"weights of records, {name}", entries=True)
    linear = fine.radius * product(run, dealing, ends.linear, u, f"linear part, {name}")
    return (
        opened_information(run, inputs, weights, name),
        opened_scores(run, inputs, ends, scores, name) if scores else None,
        sums([linear], zip(ends.scores, integrals, strict=True), "deviance") if integrals else None,
        # Of weights of mean 1: what has no weight is not a record.
        sums([], [(ends.weight, powers[0])], "power sum") if powers else None,
        opened_squares(run, inputs, ends, roots, name),
    )


def opened_sum(
    run: Run,
    inputs: SharedInputs,
    terms: Sequence[LinearCombination],
    pairs: Sequence[tuple[MaskedValue, MaskedValue]],
    name: str,
) -> np.ndarray:
    """One number at the analyst: terms, and the sums over records of products of the response with polynomials."""
    products = [product(run, inputs.dealing, first, other, f"{name} {k}") for k, (first, other) in enumerate(pairs)]
    total = LinearCombination.of([*terms, *products])
    return reveal(run, total.evaluate(run, bits_of(total)), ANALYST, name, parts_of(run.parties))


def bits_of(total: LinearCombination) -> int:
    """The most bits after the point of its values."""
    return max(value.bits for value, _ in total.values)


def local_value(
    run: Run,
    dealing: Dealing,
    holders: Sequence[Party],
    terms: LinkTerms,
    which: tuple[str, int | None],
    plan: RingPlan,
    ring: Ring,
    bits: int = NUMBER,
) -> SharedValue:
    """One of the vectors of the response, at its owner."""
    values = run.at(holders[0], local_vector, terms, which)
    return private(run, dealing, holders[0], values, (plan.n, 1), bits, bound=plan.bound, ring=ring)


def vector_of(
    run: Run,
    dealing: Dealing,
    holders: Sequence[Party],
    terms: LinkTerms,
    which: tuple[str, int | None],
    plan: RingPlan,
) -> tuple[SharedValue, MaskedValue]:
    """One of the vectors of the response for the search, at its owner, and behind its mask at both holders."""
    value = local_value(run, dealing, holders, terms, which, plan, plan.ring, NUMBER)
    return value, send_masked(run, dealing, value, f"{which[0]} {which[1]}", holders[1:])
