"""What the protocols of vertical GLM share: who takes part, and columns and responses as they are held."""

from __future__ import annotations

import numpy as np

from ...alignment.held import columns_of
from ...federation.parties import Party
from ..exact import check_size
from ..model import PublicFacts
from ..records import Response, response_of
from ..standardise import Scaling, scaling_of


def local_columns(party: Party, rows: np.ndarray, public: PublicFacts) -> np.ndarray:
    """(n, p_k) the party's columns at the used records, after a look at them."""
    return columns_of(party.block, rows, [public.names[column] for column in party.columns], party.name)


def local_scaling(party: Party, columns: np.ndarray) -> Scaling:
    """Means and standard deviations of the party's columns."""
    return scaling_of(columns)


def local_standardised(party: Party, columns: np.ndarray, scaling: Scaling) -> np.ndarray:
    """(n, p_k) the party's columns with mean 0 and standard deviation 1."""
    return scaling.applied(columns)


def local_response(active: Party, rows: np.ndarray, public: PublicFacts, ridge: float) -> Response:
    """The response at the used records with its weights and offset, after a look at them."""
    found = response_of(active.block, rows, public.family, active.name)
    check_size(found.used, 1 + len(public.names), ridge)
    return found
