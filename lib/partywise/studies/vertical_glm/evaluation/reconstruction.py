"""Attacks on what one participant saw of another party's records: its column space, and its rows from a few known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import qr

from ....audits.attacks.linear_images import attack_rows, attack_space, space_by_iteration
from ..data import GlmData
from ..measures import GlmMeasures

if TYPE_CHECKING:
    from ....methods.glm.model import GlmEstimate
    from ....methods.pca.model import PcaEstimate
    from .persons import GlmMethodSpec

# Names of what was seen are "who: whose", of sums "who: one + another".
BETWEEN, TOGETHER = ": ", " + "
# Messages that are attacked: a party whose predictors cross so often has as many columns at most, in all tables here.
MESSAGES = 30


def reconstruction_shares(
    estimate: GlmEstimate | PcaEstimate, data: GlmData, persons: np.ndarray, spec: GlmMethodSpec
) -> GlmMeasures:
    """Largest share of a party's column space that another party saw, and of the rows that it gives back.

    The attacker knows as many rows as the party has columns, and one more, which are enough to determine all columns.
    """
    space, rows = 0.0, 0.0
    for sent, X in views(estimate, data, persons, spec):
        space = max(space, attack_space(sent, X))
        rows = max(rows, attack_rows(sent, X, known_rows(X), transformation="affine"))
    return GlmMeasures(attack_space=space, attack_rows=rows)


def known_rows(X: np.ndarray) -> np.ndarray:
    """Positions of 1 + k rows of a block (n, k) that lie apart: those that a pivoted decomposition picks first."""
    scale = np.max(np.abs(X), axis=0)
    rows = np.column_stack([np.ones(len(X)), X / np.where(scale > 0, scale, 1.0)])
    return np.asarray(qr(rows.T, mode="r", pivoting=True)[1][: rows.shape[1]])


def views(
    estimate: GlmEstimate | PcaEstimate, data: GlmData, persons: np.ndarray, spec: GlmMethodSpec
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The first messages that were seen of each party (n, t), and its columns (n, p_k)."""
    owned = dict(zip(spec.settings.party_names(spec.n_parties), spec.settings.groups(spec.n_parties), strict=True))
    for name, sent in estimate.views.items():
        owners = [owner for owner in name.partition(BETWEEN)[2].split(TOGETHER) if owner in owned]
        columns, messages = [column for owner in owners for column in owned[owner]], sent[:, :MESSAGES]
        if columns and messages.size and np.all(np.isfinite(messages)):
            yield messages, data.X[np.ix_(persons, np.array(columns))]


def space_by_message(
    estimate: GlmEstimate | PcaEstimate, data: GlmData, persons: np.ndarray, spec: GlmMethodSpec
) -> np.ndarray:
    """(MESSAGES,) largest share of a party's column space that was seen after so many messages of its records."""
    shares = np.zeros(MESSAGES)
    for sent, X in views(estimate, data, persons, spec):
        path = space_by_iteration(sent, X)
        shares = np.maximum(shares, np.concatenate([path, np.full(MESSAGES - len(path), path[-1])]))
    return shares
