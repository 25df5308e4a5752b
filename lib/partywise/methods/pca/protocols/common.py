"""Shared steps of both protocols of correlation and components: the parties, and the work of each on its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ....alignment.rows import columns_of
from ....federation.parties import Participant, Party
from ....federation.roles import check_holders
from ..components import check_spread, standardise
from ..model import PcaEstimate


def check_parties(parties: Sequence[Participant]) -> None:
    """ValueError unless at least two parties hold columns, each some."""
    if len(parties) < 2:
        raise ValueError(f"parties has {len(parties)} entry: columns must be at 2 parties or more.")
    check_holders(parties)


def local_columns(party: Party, rows: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """The party's common records (n, p_k); ValueError naming a column that has no correlations."""
    column_names = [names[column] for column in party.columns]
    X = columns_of(party.block, rows, column_names, party.name)
    check_spread(X, column_names, party.name)
    return X


def local_standardised(party: Party, columns: np.ndarray) -> np.ndarray:
    """The party's common records (n, p_k), standardised by its own means and deviations."""
    return standardise(columns)[0]


def to_estimate(estimate: PcaEstimate, rows: Mapping[str, np.ndarray], aligned: bool) -> PcaEstimate:
    """The estimate with the records that it was made of."""
    return estimate if aligned else replace(estimate, rows=rows)
