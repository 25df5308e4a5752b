"""Runs an alignment on identifiers in the orders of their parties, with contents recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from partywise.alignment.options import AlignmentOptions
from partywise.alignment.rows import common_rows
from partywise.core.randomness import Streams
from partywise.federation.folds import Fold
from partywise.federation.parties import Party
from partywise.federation.roles import ANALYST
from partywise.federation.run import Run


def unaligned(
    ids: Sequence[Sequence[str]], mode: str, *, rng_for: Any = None, aligned: bool = False, n_folds: int = 1
) -> Run:
    """A run, not used yet, with a place beside the analyst that holds no data either."""
    parties = [
        Party(f"party {k}", "passive" if k else "active", {"ids": np.array(list(own))}) for k, own in enumerate(ids)
    ]
    return Run(
        parties,
        epsilon=np.inf,
        fold=Fold(np.arange(12) % n_folds, 0, n_folds),
        rng_for=rng_for or Streams(3, "alignment"),
        spec=SimpleNamespace(options=AlignmentOptions(mode), public=SimpleNamespace(aligned=aligned)),
        extra=(ANALYST, "dealer"),
        record=True,
    )


def rows_and_number(run: Run) -> tuple[dict[str, np.ndarray], int]:
    """What `common_rows` finds, as a protocol would report it."""
    rows, n = common_rows(run)
    return run.assemble(together, rows, n)


def together(rows: Mapping[str, np.ndarray], n: int) -> tuple[dict[str, np.ndarray], int]:
    """Both, as one value."""
    return dict(rows), n


def joined(ids: Sequence[Sequence[str]], rows: Mapping[str, np.ndarray]) -> list[list[str]]:
    """The identifiers of every party in the common order."""
    return [[own[row] for row in positions] for own, positions in zip(ids, rows.values(), strict=True)]
