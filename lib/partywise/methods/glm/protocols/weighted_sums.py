"""Sub-protocol: X'u and X'WX of columns at several parties, where the active party alone knows u and w.

Message                                            from, to                   payload, elements of 4 m bytes
Once
seed                                               dealer, every party        Cipher, key: no single party
masked standardised columns                        every party, all others    Cipher, key: dealer        n p_k
For X'X, once
X_k'X_k                                            every party, analyst       Clear(features)            8 p_k^2 B
shares of X_j'X_k                                  j and k, analyst           Clear(features)            2 p_j p_k
For X'u
masked u, 1 at most                                active, every passive      Cipher, key: dealer        n
shares of X_k'u                                    active and k, analyst      Clear(label, features)     2 p_k
For X'WX
masked w, 1 at most                                active, every passive      Cipher, key: dealer        n
masked shares of W X_k                             active and k, all          Cipher, key: dealer        2 n p_k
shares of X_k'w                                    active and k, analyst      Clear(label, features)     2 p_k
shares of X_j'WX_k, k not before j                 active, j, k, analyst      Clear(label, features)     2 or 3 p_j p_k
With every product: the dealer's correction        dealer, a holder           Cipher, key: no single party

The dealer draws the masks and does not collude. A standardised column has the length sqrt(n), u and w are at most 1
in size, so that nothing opened is larger than n: the ring follows from n alone, and no range of the data is needed.
The active party sends the analyst the powers of two that u and w were divided by.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal

import numpy as np

from ....federation.exchanges.cross_product import private, product, reveal, send_masked
from ....federation.exchanges.dealing import Dealing, dealing
from ....federation.exchanges.residues import Ring, ring_for
from ....federation.exchanges.shared_values import MaskedValue
from ....federation.parties import Participant, Party
from ....federation.places import PerPlace
from ....federation.roles import ANALYST, parts_of
from ....federation.run import Run
from ....privacy.accounted_values import Clear
from ..opened_link.iterations import in_blocks
from ..opened_link.steps import Evaluation

# After the point of columns, weights and scores: sums are right to about 1e-13 of what they could be.
BITS = 38

# What the active party sends of its own columns, and the power of two that it was divided by.
OwnSums = tuple[tuple[np.ndarray, float], ...]


@dataclass(frozen=True)
class MaskedColumns:
    """Columns of all parties behind masks, and what is public of them.

    order : the active party, then the others; sizes : of their coefficients, the intercept among those of the first
    columns : by the name of the party; sums : ring of products of two values
    parts : whose data sums are made of; aggregates : sums over records of all parties that were opened so far
    """

    dealing: Dealing
    order: tuple[Party, ...]
    n: int
    columns: Mapping[str, MaskedValue]
    sums: Ring
    parts: tuple[Clear, ...]
    aggregates: list[str] = field(default_factory=list)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of coefficients of every party."""
        return (1 + len(self.order[0].columns), *(len(party.columns) for party in self.order[1:]))

    @property
    def rest(self) -> tuple[Party, ...]:
        """The passive parties."""
        return self.order[1:]


def local_values(active: Party, evaluation: Evaluation, vector: Literal["u", "w"]) -> np.ndarray:
    """The numbers up to 1 of a vector of the evaluation."""
    return (evaluation.u if vector == "u" else evaluation.w).values


def local_own_products(party: Party, columns: np.ndarray) -> Clear:
    """X_k'X_k of the party's own columns, (p_k, p_k)."""
    return Clear(columns.T @ columns, units=("features",), owner=party.name)


def closed_columns(run: Run, order: Sequence[Party], columns: PerPlace[np.ndarray], n: int) -> MaskedColumns:
    """Masked columns at all parties: they cross once a run; ``order`` begins with the active party."""
    triples = dealing(run, order, ring_for(2 * n, 3 * BITS))
    masked = {}
    for party in order:
        value = private(run, triples, party, columns, (n, len(party.columns)), BITS)
        masked[party.name] = send_masked(run, triples, value, f"columns of {party.name}", order)
    return MaskedColumns(triples, tuple(order), n, masked, ring_for(2 * n, 2 * BITS), parts_of(run.parties))


def gram(run: Run, masked: MaskedColumns, columns: PerPlace[np.ndarray], *, between: bool) -> np.ndarray:
    """X'X (q, q) at the analyst, with 0 ``between`` parties where nothing is wanted of it."""
    diagonal = run.gather(masked.order, ANALYST, "X'X of its own", local_own_products, columns)
    pairs = []
    for first, other in combinations(masked.order, 2) if between else ():
        name = f"X'X of {first.name} and {other.name}"
        X, Y = masked.columns[first.name], masked.columns[other.name]
        shares = product(run, masked.dealing, X, Y, name, ring=masked.sums)
        pairs.append(reveal(run, shares, ANALYST, name, features_of((first, other))))
    masked.aggregates.append("X'X")
    return run.at(ANALYST, analyst_gram, diagonal, pairs, masked.n)


def scores(run: Run, masked: MaskedColumns, evaluation: Evaluation, active_scores: OwnSums, step: int) -> np.ndarray:
    """X'u (q,) at the analyst, from u at the active party and what it sends of its own columns."""
    active = masked.order[0]
    values = run.at(active, local_values, evaluation, "u")
    vector = private(run, masked.dealing, active, values, (masked.n, 1), BITS)
    hidden = send_masked(run, masked.dealing, vector, f"scores, step {step}", masked.rest)
    opened = []
    for party in masked.rest:
        name = f"X'u of {party.name}"
        shares = product(
            run, masked.dealing, masked.columns[party.name], hidden, f"{name}, step {step}", ring=masked.sums
        )
        opened.append(reveal(run, shares, ANALYST, name, masked.parts))
    masked.aggregates.append("X'u")
    return run.at(ANALYST, analyst_scores, active_scores, opened)


def information(
    run: Run, masked: MaskedColumns, evaluation: Evaluation, active_block: OwnSums, name: str
) -> np.ndarray:
    """X'WX (q, q) at the analyst, from w at the active party and what it sends of its own columns."""
    active, triples = masked.order[0], masked.dealing
    values = run.at(active, local_values, evaluation, "w")
    vector = private(run, triples, active, values, (masked.n, 1), BITS)
    hidden = send_masked(run, triples, vector, f"weights, {name}", masked.rest)
    edges, blocks = [], []
    for place, party in enumerate(masked.rest, 1):
        X, key = masked.columns[party.name], f"{party.name}, {name}"
        shares = product(run, triples, X, hidden, f"X'w of {key}", ring=masked.sums)
        edges.append(reveal(run, shares, ANALYST, f"X'w of {party.name}", masked.parts))
        weighed = product(run, triples, hidden, X, f"weights by columns of {key}", entries=True)
        second = send_masked(run, triples, weighed, f"weighted columns of {key}", masked.order[: place + 1])
        for other in masked.order[: place + 1]:
            title = f"X'WX of {other.name} and {party.name}"
            shares = product(run, triples, masked.columns[other.name], second, f"{title}, {name}")
            blocks.append(reveal(run, shares, ANALYST, title, masked.parts))
    masked.aggregates.append("X'WX")
    return run.at(ANALYST, analyst_information, active_block, edges, blocks, masked.sizes)


def analyst_gram(diagonal: Sequence[np.ndarray], pairs: Sequence[np.ndarray], n: int) -> np.ndarray:
    """X'X of standardised columns with ones; blocks that were not opened are 0."""
    sizes = [len(block) for block in diagonal]
    places = in_blocks(sizes)
    matrix = np.zeros((1 + sum(sizes), 1 + sum(sizes)))
    matrix[0, 0], inside = n, matrix[1:, 1:]
    for block, place in zip(diagonal, places, strict=True):
        inside[place, place] = block
    for block, (first, other) in zip(pairs, combinations(places, 2), strict=False):
        inside[first, other], inside[other, first] = block, block.T
    return matrix


def analyst_scores(active_scores: OwnSums, others: Sequence[np.ndarray]) -> np.ndarray:
    """X'u of all parties: that of the active one as it is, those of the others in its unit."""
    ((first, scale),) = active_scores
    return np.concatenate([first, *(scale * part[:, 0] for part in others)])


def analyst_information(
    active_block: OwnSums,
    edges: Sequence[np.ndarray],
    blocks: Sequence[np.ndarray],
    sizes: Sequence[int],
) -> np.ndarray:
    """X'WX of all parties, the intercept's row from X'w."""
    ((first, scale),) = active_block
    places, opened = in_blocks(sizes), iter(blocks)
    matrix = np.zeros((sum(sizes), sum(sizes)))
    matrix[places[0], places[0]] = first
    for k, columns in enumerate(places[1:], 1):
        matrix[0, columns] = matrix[columns, 0] = scale * edges[k - 1][:, 0]
        for j in range(k + 1):
            rows = slice(1, sizes[0]) if j == 0 else places[j]
            block = scale * next(opened)
            matrix[rows, columns] = block
            matrix[columns, rows] = block.T
    return (matrix + matrix.T) / 2


def features_of(parties: Sequence[Participant]) -> tuple[Clear, ...]:
    """Return the entries of the ledger for a function of the columns of some parties."""
    return tuple(Clear(None, units=("features",), owner=party.name) for party in parties)
