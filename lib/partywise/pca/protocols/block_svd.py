"""Protocol as published: every party sends a rotation of its data, from which the wrong matrix is made.

Source: seed 004, "Block Singular Value Decomposition".

Once                                                from, to                          payload
U_k D_k of its standardised block (n, p_k)          every party, analyst              Clear(features), 8 n p_k bytes

The analyst stacks and decomposes them.  Its matrix is R~ = B'RB with B = blockdiag(V_k), not the correlation matrix R,
and is reported under this protocol's own name for comparison; eigenvalues and explained variances are right.
The source calls U_k D_k an aggregate from which values "cannot be recovered": it is the block up to a rotation, so that
p_k known records give all others (`partywise.attacks.rotations`), and is booked as infinite.
With the true R beside it no record need be known (one of 2^p_k sign patterns is exact): the options refuse that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...alignment.rows import common_rows
from ...federation.parties import Party
from ...federation.run import Run
from ...privacy.accounted import Clear
from ..model import Estimate
from ..records import checked_columns, standardised
from ..rotations import scores_of_block, stacked

ANALYST = "analyst"


def local_standardised(party: Party, rows: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """The party's common records (n, p_k), standardised by its own means and deviations."""
    own = [names[column] for column in party.columns]
    return standardised(checked_columns(party.block["X"][rows], party.name, own))[0]


def local_scores(party: Party, columns: np.ndarray) -> Clear:
    """U_k D_k of the party's block."""
    return Clear(scores_of_block(columns), units=("features",), owner=party.name)


def analyst_estimate(
    scores: Sequence[np.ndarray], columns: Sequence[Sequence[int]], names: Sequence[str], n: int
) -> Estimate:
    """What the source's formulas give, its matrix as if rotated columns had the numbers of the party's own."""
    order = np.argsort(np.concatenate([np.asarray(group, dtype=int) for group in columns]))
    M = np.concatenate(scores, axis=1)[:, order]
    found = stacked(M)
    seen = {f"{ANALYST}: {name}": sent for name, sent in zip(names, scores, strict=True)}
    numbers: dict[str, float | int | bool | str | None] = {"record_openings": M.shape[1], "openings": 0}
    return Estimate(found.matrix, found.eigenvalues, found.loadings, n, scores=found.scores, seen=seen, numbers=numbers)


def reported(estimate: Estimate, rows: Mapping[str, np.ndarray], aligned: bool) -> Estimate:
    """The estimate with the records that it was made of."""
    return estimate if aligned else replace(estimate, rows=rows)


def fit(run: Run) -> Estimate:
    """Four steps of the source: decompose at the parties, send, stack, decompose."""
    rows, n = common_rows(run)
    public = run.spec.public
    columns = run.each(run.parties, local_standardised, rows, public.names)
    scores = run.gather(run.parties, ANALYST, "scores U D", local_scores, columns)
    held, names = [party.columns for party in run.parties], [party.name for party in run.parties]
    estimate = run.at(ANALYST, analyst_estimate, scores, held, names, n)
    return run.assemble(reported, estimate, rows, public.aligned)
