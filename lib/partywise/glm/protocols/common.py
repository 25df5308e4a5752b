"""What the protocols of vertical GLM share: roles, columns, responses, and what unprotected values are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...federation.parties import Party
from ...federation.run import Place, Run, name_of
from ...privacy.accounted import Clear
from ..exact import check_size
from ..model import PublicFacts
from ..records import Response, columns_of, response_of
from ..standardise import Scaling, scaling_of

# Steers and has the result (the client of seed 004); holds no data.
ANALYST = "analyst"
# Hands out correlated random numbers before the data are used, and colludes with nobody.
DEALER = "dealer"


def roles(parties: Sequence[Any]) -> tuple[Any, tuple[Any, ...]]:
    """The active party, and the passive ones in their order.

    Raises
    ------
    ValueError
        If there is not exactly one active party and at least one passive one, or one of them holds no column.
    """
    active = [party for party in parties if party.role == "active"]
    passive = tuple(party for party in parties if party.role == "passive")
    if len(active) != 1 or not passive:
        raise ValueError(
            f"parties has {len(active)} active and {len(passive)} passive ones: give one that holds the response and "
            "at least one other."
        )
    for party in parties:
        if not party.columns:
            raise ValueError(f"party {party.name!r} holds no column: give it one, or leave it out.")
    return active[0], passive


def others_than(run: Run, *places: Place) -> tuple[Place, ...]:
    """Everybody on the channel but some: parties in order, then the places without data."""
    left = {name_of(place) for place in places}
    holders = {party.name: party for party in run.parties}
    return tuple(holders.get(name, name) for name in run.names if name not in left)


def involved(parties: Sequence[Any]) -> tuple[Clear, ...]:
    """What a function of the blocks of some parties is made of, for the ledger."""
    units = {"active": ("label", "features"), "passive": ("features",)}
    return tuple(Clear(None, units=units[party.role], owner=party.name) for party in parties)


def unprotected(value: Any, parts: Sequence[Clear]) -> Clear:
    """A value in the clear, charged to everybody whose data it was computed from."""
    units = tuple(dict.fromkeys(unit for part in parts for unit in part.units))
    return Clear(value, units=units, made_of=parts)


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


def joined(parts: Sequence[np.ndarray], columns: Sequence[Sequence[int]]) -> np.ndarray:
    """(n, p) columns of several parties in the order of their global numbers."""
    order = np.concatenate([np.asarray(group, dtype=int) for group in columns])
    return np.ascontiguousarray(np.concatenate(parts, axis=1)[:, np.argsort(order)])
