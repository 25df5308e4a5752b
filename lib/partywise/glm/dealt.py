"""Arrays of a caller as blocks of parties: aligned columns in one array, or own records of each with identifiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..alignment.identifiers import prepared
from ..alignment.options import IdentifierRules
from ..federation.estimator import groups_of, numbers, party
from ..federation.parties import Party, split_columns

__all__ = ["LIKE", "blocks_of", "holders"]

LIKE = "(n, p): records, columns of all parties without one for the intercept"
VECTOR = "(n,): one a record of the first party"


def blocks_of(
    X: Any, parties: int | Sequence[Sequence[int]], ids: Sequence[Sequence[str]] | None
) -> tuple[list[np.ndarray], list[tuple]]:
    """Columns of each party (n_k, p_k), and their global numbers.

    Raises
    ------
    ValueError
        If shapes disagree, a value is not finite, or ``parties`` is no partition of the columns.
    """
    if ids is None:
        whole = numbers("X", X, 2, LIKE)
        groups = groups_of(parties, whole.shape[1], lambda count, k: split_columns(count, k, "contiguous"))
        return [np.ascontiguousarray(whole[:, list(group)]) for group in groups], groups
    if len(X) != len(ids):
        raise ValueError(f"ids has {len(ids)} lists, X {len(X)} arrays: give one of each a party.")
    blocks = [numbers(f"X[{place}]", one, 2, "(n_k, p_k): records of a party") for place, one in enumerate(X)]
    for place, (block, own) in enumerate(zip(blocks, ids, strict=True)):
        if len(block) != len(own):
            raise ValueError(f"ids[{place}] has {len(own)} entries for {len(block)} rows of X[{place}].")
    ends = [0, *np.cumsum([block.shape[1] for block in blocks]).tolist()]
    return blocks, [tuple(range(*pair)) for pair in pairwise(ends)]


def holders(
    blocks: Sequence[np.ndarray],
    groups: Sequence[tuple],
    given: Mapping[str, Any],
    ids: Sequence[Sequence[str]] | None,
) -> list[Party]:
    """The parties in order, the active one first, with y and what else is given of its records."""
    n = len(blocks[0])
    own = {name: numbers(name, value, 1, VECTOR) for name, value in given.items() if value is not None}
    for name, value in own.items():
        if len(value) != n:
            raise ValueError(f"{name} has {len(value)} entries for {n} rows of X.")
    found = []
    for place, (block, group) in enumerate(zip(blocks, groups, strict=True)):
        name, role = (f"passive {place}", "passive") if place else ("active", "active")
        arrays = {"X": block} | ({} if place else own)
        if ids is not None:
            # As they were given: an array would make text of the numbers among them.
            arrays["ids"] = np.array(prepared(ids[place], IdentifierRules(), name)[0])
        found.append(party(name, role, group, **arrays))
    return found
