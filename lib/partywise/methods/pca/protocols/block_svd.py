"""Protocol as published: every party sends a rotation of its data, from which the wrong matrix is made.

Source: document 004, "Block Singular Value Decomposition".

Once                                                from, to                          payload
U_k D_k of its standardised block (n, p_k)          every party, analyst              Clear(features), 8 n p_k bytes

The analyst stacks and decomposes them.  Its matrix is R~ = B'RB with B = blockdiag(V_k), not the correlation matrix R,
and is reported under this protocol's own name for comparison; eigenvalues and explained variances are right.
The source calls U_k D_k an aggregate from which values "cannot be recovered": it is the block up to a rotation, so that
p_k known records give all others (`partywise.audits.attacks.linear_images`), and is booked as infinite.
With the true R next to it no record need be known (one of 2^p_k sign patterns is exact): the options refuse that.

The formulas: X_k = U_k D_k V_k' of the standardised block of party k, M = [U_1 D_1 | ... | U_K D_K] = U~ D~ V~',
R~ = V~ D~^2 V~' / (n - 1).  M = X B, so that eigenvalues and explained variances are those of R, while R~ is the
correlation of nothing (inside a party it is diagonal) and V~ = B'V are the loadings of rotated columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ....alignment.rows import common_rows
from ....core.arrays import orient
from ....federation.parties import Party, column_order
from ....federation.roles import ANALYST
from ....federation.run import Run
from ....privacy.accounted_values import Clear
from ..model import PcaEstimate
from .common import check_parties, local_columns, local_standardised, to_estimate


class RotationStack(NamedTuple):
    """Decomposition of the stacked scores of all parties, as in the source.

    matrix : (p, p) R~, which the source calls the correlation matrix
    eigenvalues : (p,) D~^2 / (n - 1), from the largest; loadings : (p, p) V~; scores : (n, p) U~ D~
    """

    matrix: np.ndarray
    eigenvalues: np.ndarray
    loadings: np.ndarray
    scores: np.ndarray


def scores_of_block(X: np.ndarray) -> np.ndarray:
    """Return what a party sends: U_k D_k of its block, shape (n, k), of rank n at most (steps 1 and 2)."""
    block = np.asarray(X, dtype=float)
    left, values, _ = np.linalg.svd(block, full_matrices=False)
    sent = np.zeros(block.shape)
    sent[:, : len(values)] = left * values
    return sent


def stack_rotations(M: np.ndarray) -> RotationStack:
    """The global result of stacked scores M (n, p) (steps 3 and 4)."""
    n, p = M.shape
    _, values, right = np.linalg.svd(M, full_matrices=n < p)
    squares = np.zeros(p)
    squares[: len(values)] = values**2 / (n - 1)
    loadings = orient(right.T)
    return RotationStack((loadings * squares) @ loadings.T, squares, loadings, M @ loadings)


def local_scores(party: Party, standardised: np.ndarray) -> Clear:
    """U_k D_k of the party's block."""
    return Clear(scores_of_block(standardised), units=("features",), owner=party.name)


def analyst_estimate(
    scores: Sequence[np.ndarray], columns: Sequence[Sequence[int]], names: Sequence[str], n: int
) -> PcaEstimate:
    """Estimate by the source's formulas, its matrix as if rotated columns had the numbers of the party's own."""
    M = np.concatenate(scores, axis=1)[:, column_order(columns)]
    stack = stack_rotations(M)
    views = {f"{ANALYST}: {name}": sent for name, sent in zip(names, scores, strict=True)}
    numbers: dict[str, float | int | bool | str | None] = {"record_openings": M.shape[1], "openings": 0}
    return PcaEstimate(
        stack.matrix, stack.eigenvalues, stack.loadings, n, scores=stack.scores, views=views, numbers=numbers
    )


def fit(run: Run) -> PcaEstimate:
    """Four steps of the source: decompose at the parties, send, stack, decompose."""
    check_parties(run.parties)
    rows, n = common_rows(run)
    columns = run.each(run.parties, local_columns, rows, run.spec.public.names)
    standardised = run.each(run.parties, local_standardised, columns)
    scores = run.gather(run.parties, ANALYST, "scores U D", local_scores, standardised)
    groups, names = [party.columns for party in run.parties], [party.name for party in run.parties]
    estimate = run.at(ANALYST, analyst_estimate, scores, groups, names, n)
    return run.assemble(to_estimate, estimate, rows, run.spec.public.aligned)
