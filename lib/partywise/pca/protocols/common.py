"""What both protocols of correlation and components share: who takes part, and what a party does to its own columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...federation.parties import Party
from ...federation.roles import check_columns
from ...federation.run import Own, Run
from ..model import Estimate
from ..records import checked_columns, standardised

__all__ = ["Columns", "check_parties", "columns_of", "reported"]


class Columns(NamedTuple):
    """A party's common records: standardised (n, p_k), and the standard deviations (p_k,)."""

    values: np.ndarray
    sds: np.ndarray


def check_parties(parties: Sequence[Any]) -> None:
    """ValueError unless at least two parties hold columns, each some."""
    if len(parties) < 2:
        raise ValueError(f"parties has {len(parties)} entry: columns must lie at 2 parties or more.")
    check_columns(parties)


def local_columns(party: Party, rows: np.ndarray, names: Sequence[str], count: int | None) -> Columns:
    """The party's common records, standardised by its own means and deviations; ValueError naming what has none.

    count : of records, where those of all parties are the same in the same order
    """
    X, own = party.block["X"], [names[column] for column in party.columns]
    if count is not None and len(X) != count:
        raise ValueError(f"X of {party.name} has {len(X)} rows for {count} records: give all parties the same records.")
    return Columns(*standardised(checked_columns(X[rows], party.name, own)))


def columns_of(run: Run, rows: Own) -> Own:
    """`Columns` at every party."""
    public = run.spec.public
    return run.each(run.parties, local_columns, rows, public.names, len(run.fold.of) if public.aligned else None)


def reported(estimate: Estimate, rows: Mapping[str, np.ndarray], aligned: bool) -> Estimate:
    """The estimate with the records that it was made of."""
    return estimate if aligned else replace(estimate, rows=rows)
