"""Protocol with secure cross products: the correlation matrix itself is opened once, and no party sees a record.

The corrected form of document 004, "Block SVD": R = X'X / (n - 1) of columns that every party standardises by its own
means and deviations.  A standardised value is at most (n - 1) / sqrt(n) in size and a product of two columns at most
n - 1, so that the ring follows from n alone.

Once                                       from, to                    payload
seed                                       dealer, every party         Cipher, key: no single party   32 B
masked standardised columns                every party, all others     Cipher, key: dealer            n p_k elements
corrections of X_j'X_k                     dealer, party j             Cipher, key: no single party   p_j p_k elements
shares of X_j'X_k                          parties j and k, analyst    Clear(features)                2 p_j p_k elements
X_k'X_k                                    every party, analyst        Clear(features)                8 p_k^2 B
standard deviations, of a covariance       every party, analyst        Clear(features)                8 p_k B
rows of the loadings, unit of the scores   analyst, every party        Clear(features)                8 (p_k p + 1) B
With ``scores: true``, of c components
shares of X_k V_(k)                        every party, all others     Cipher, key: no single party   8 n c B
shares of the sum                          every party, analyst        Clear(features)                8 n c B

An element is a residue of 4 m bytes for m primes.  The dealer, a place without data, hands out correlated random
numbers and **does not collude**: the ledger is infinite against it; parties are semi-honest.  What is opened has no
noise: epsilon is infinite for the analyst, `record_openings` 0.

Scores are n-vectors of all parties' data: with ``scores`` the analyst has c of them (`record_openings` c), and with all
p components X = (sum of X_k V_(k)) V', every record.  No party sends U_k D_k here: next to R that would give X_k up to
signs without a known record (attack A3), and `BlockSvdOptions` refuses the true matrix for the same reason.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from ....alignment.rows import common_rows
from ....federation.exchanges.cross_product import private, product, reveal, send_masked
from ....federation.exchanges.dealing import dealing
from ....federation.exchanges.masks.masked_sum import bits_for
from ....federation.exchanges.residues import ring_for
from ....federation.exchanges.sharing import decode_words, encode_words, share_words
from ....federation.parties import Party, column_order
from ....federation.places import PerPlace, per_place
from ....federation.roles import ANALYST, parts_of
from ....federation.run import Run
from ....privacy.accounted_values import Clear
from ..components import components, standardise
from ..model import PcaEstimate
from ..options import CorrelationOptions
from .common import check_parties, local_columns, local_standardised, to_estimate

# After the point of a standardised value: errors of R stay near 1e-13.
BITS = 38
FEATURES = ("features",)


def local_own_products(party: Party, standardised: np.ndarray) -> Clear:
    """X_k'X_k of the party alone."""
    return Clear(standardised.T @ standardised, units=FEATURES, owner=party.name)


def local_deviations(party: Party, columns: np.ndarray) -> Clear:
    """Standard deviations (p_k,)."""
    return Clear(standardise(columns)[1], units=FEATURES, owner=party.name)


def local_projected(
    party: Party, columns: np.ndarray, loadings: tuple[np.ndarray, float], options: CorrelationOptions, n: int
) -> np.ndarray:
    """X_k V_(k) of the leading components (n, c) in words: at most sqrt(n p) in the unit that the analyst sent."""
    rows, unit = loadings
    standardised, sds = standardise(columns)
    weights = sds[:, None] / unit if options.matrix == "covariance" else 1.0
    return encode_words(standardised @ (weights * rows[:, : options.components]), bits_of(n, rows.shape[1]))


def local_summed(party: Party, shares: Sequence[np.ndarray]) -> np.ndarray:
    """A share of the sum over all parties."""
    return np.asarray(np.sum(shares, axis=0, dtype=np.uint64))


def local_opened(party: Party, share: np.ndarray, parts: Sequence[Clear]) -> Clear:
    """A share that completes the scores at the analyst."""
    return Clear(share, units=FEATURES, made_of=parts)


def bits_of(n: int, p: int) -> int:
    """Bits after the point of scores in words of 64, which are sums of p terms below sqrt(n)."""
    return bits_for(math.sqrt(n * p))


def analyst_estimate(
    within: Sequence[np.ndarray],
    between: Sequence[np.ndarray],
    sds: Sequence[np.ndarray] | None,
    columns: Sequence[Sequence[int]],
    n: int,
) -> PcaEstimate:
    """The correlation matrix, or with standard deviations the covariance matrix, and its components."""
    places = range(len(columns))
    pairs = dict(zip(combinations(places, 2), between, strict=True))
    blocks = [[within[j] if j == k else pairs[j, k] if j < k else pairs[k, j].T for k in places] for j in places]
    order = column_order(columns)
    matrix = np.block(blocks)[np.ix_(order, order)] / (n - 1)
    # Standardised columns: the diagonal is 1 up to rounding.
    np.fill_diagonal(matrix, 1.0)
    if sds is not None:
        scale = np.concatenate(sds)[order]
        matrix = matrix * np.outer(scale, scale)
    return PcaEstimate(matrix, *components(matrix), n)


def analyst_loadings(estimate: PcaEstimate, columns: Sequence[int], parts: Sequence[Clear]) -> Clear:
    """A party's rows of the loadings (p_k, p), and the unit in which it adds to the scores."""
    unit = math.sqrt(float(np.trace(estimate.matrix)))
    return Clear((np.ascontiguousarray(estimate.loadings[list(columns)]), unit), units=FEATURES, made_of=parts)


def analyst_scores(estimate: PcaEstimate, shares: Sequence[np.ndarray], options: CorrelationOptions) -> np.ndarray:
    """The scores (n, c) of all records."""
    words = np.asarray(np.sum(shares, axis=0, dtype=np.uint64))
    unit = math.sqrt(float(np.trace(estimate.matrix))) if options.matrix == "covariance" else 1.0
    return decode_words(words, bits_of(len(words), len(estimate.matrix))) * unit


def cross_products(run: Run, standardised: PerPlace[np.ndarray], n: int) -> tuple[list[np.ndarray], int]:
    """X_j'X_k of every pair of parties at the analyst, and how many products of secret numbers they took."""
    parties = run.parties
    triples = dealing(run, parties, ring_for(n, 2 * BITS))
    closed = []
    for party in parties:
        secret = private(run, triples, party, standardised, (n, len(party.columns)), BITS)
        closed.append(send_masked(run, triples, secret, f"columns of {party.name}", parties))
    opened = []
    for pair, (left, right) in zip(combinations(parties, 2), combinations(closed, 2), strict=True):
        name = f"products of {pair[0].name} and {pair[1].name}"
        shares = product(run, triples, left, right, name)
        opened.append(reveal(run, shares, ANALYST, name, parts_of(pair, FEATURES)))
    return opened, triples.products


def summed_scores(
    run: Run,
    columns: PerPlace[np.ndarray],
    loadings: PerPlace[tuple[np.ndarray, float]],
    estimate: PcaEstimate,
    n: int,
) -> np.ndarray:
    """The scores at the analyst, from shares that hide what each party adds."""
    options: CorrelationOptions = run.spec.options
    words = run.each(run.parties, local_projected, columns, loadings, options, n)
    shares = [share_words(run, party, run.parties, "scores", words, run.rng_for) for party in run.parties]
    sums = run.each(run.parties, local_summed, shares)
    sent = run.gather(run.parties, ANALYST, "scores", local_opened, sums, parts_of(run.parties, FEATURES))
    return run.at(ANALYST, analyst_scores, estimate, sent, options)


def complete(
    estimate: PcaEstimate,
    scores: np.ndarray | None,
    groups: Mapping[str, Sequence[int]],
    rows: Mapping[str, np.ndarray],
    aligned: bool,
    products: int,
) -> PcaEstimate:
    """Complete the estimate with what was opened."""
    width = 0 if scores is None else scores.shape[1]
    numbers: dict[str, float | int | bool | str | None] = {
        "openings": 1,
        "record_openings": width,
        "secure_products": products,
    }
    views = {}
    if scores is not None:
        # Part of the records that scores and their loadings disclose: with all components, everything.
        known = scores @ estimate.loadings[:, :width].T
        views = {f"{ANALYST}: {name}": known[:, list(columns)] for name, columns in groups.items()}
    return to_estimate(replace(estimate, scores=scores, views=views, numbers=numbers), rows, aligned)


def fit(run: Run) -> PcaEstimate:
    """Standardise at the parties, open the products once, decompose; scores where they are asked for."""
    options, p = run.spec.options, sum(len(party.columns) for party in run.parties)
    check_parties(run.parties)
    if options.components is not None and options.components > p:
        raise ValueError(f"components is {options.components}: {p} columns have {p} components at most.")
    rows, n = common_rows(run)
    all_parts = parts_of(run.parties, FEATURES)
    columns = run.each(run.parties, local_columns, rows, run.spec.public.names)
    standardised = run.each(run.parties, local_standardised, columns)
    between, products = cross_products(run, standardised, n)
    within = run.gather(run.parties, ANALYST, "own products", local_own_products, standardised)
    sds = None
    if options.matrix == "covariance":
        sds = run.gather(run.parties, ANALYST, "standard deviations", local_deviations, columns)
    estimate = run.at(ANALYST, analyst_estimate, within, between, sds, [party.columns for party in run.parties], n)
    loadings = {
        party.name: run.send(ANALYST, party, "loadings", analyst_loadings, estimate, party.columns, all_parts)
        for party in run.parties
    }
    scores = summed_scores(run, columns, per_place(loadings), estimate, n) if options.scores else None
    groups = {party.name: party.columns for party in run.parties}
    return run.assemble(complete, estimate, scores, groups, rows, run.spec.public.aligned, products)
