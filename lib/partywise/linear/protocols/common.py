"""What several protocols of vertical linear models use: roles, batches, what unprotected values are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...federation.parties import Party
from ...privacy.accounted import Clear, Public
from ..model import Estimate, Path
from ..steps import batches, is_kept, kept_rounds, responses

# Holds the keys, and no data.
SERVER = "server"
DRAWN = "drawn without a look at the data"
# Coefficients now, and those that the path keeps.
Trail = tuple[np.ndarray, tuple[np.ndarray, ...]]


def roles(parties: Sequence[Any]) -> tuple[Any, tuple[Any, ...]]:
    """The active party, and the passive ones in their order.

    Raises
    ------
    ValueError
        If there is not exactly one active party and at least one passive one.
    """
    active = [party for party in parties if party.role == "active"]
    passive = tuple(party for party in parties if party.role == "passive")
    if len(active) != 1 or not passive:
        raise ValueError(
            f"parties has {len(active)} active and {len(passive)} passive ones: give one that holds the labels and at "
            "least one other."
        )
    return active[0], passive


def involved(parties: Sequence[Any]) -> tuple[Clear, ...]:
    """What a function of the blocks of some parties is made of, for the ledger."""
    units = {"active": ("label", "features"), "passive": ("features",)}
    return tuple(Clear(None, units=units[party.role], owner=party.name) for party in parties)


def unprotected(value: Any, parts: Sequence[Clear]) -> Clear:
    """A value in the clear, charged to everybody whose data it was computed from."""
    units = tuple(dict.fromkeys(unit for part in parts for unit in part.units))
    return Clear(value, units=units, made_of=parts)


def local_batches(active: Party, train: np.ndarray, options: Any, rng_for: Callable) -> tuple[np.ndarray, ...]:
    """Rows of every step among the training rows: the same for all protocols, as only their number decides."""
    rng = rng_for("batches", active.name)
    return batches(int(train.sum()), options.batch_size, options.total_round_num, rng)


def local_batch(active: Party, drawn: Sequence[np.ndarray], step: int) -> Public:
    """The rows of one step."""
    return Public(drawn[step].astype(np.int32), because=DRAWN)


def local_response(active: Party, train: np.ndarray, model: str) -> np.ndarray:
    """(n,) the response of the training rows, as the model takes it."""
    return responses(active.block["y"][train], model)


def joined(parts: Sequence[np.ndarray], columns: Sequence[Sequence[int]]) -> np.ndarray:
    """(n, d) columns of several parties in the order of their global numbers."""
    order = np.concatenate([np.asarray(group, dtype=int) for group in columns])
    return np.ascontiguousarray(np.concatenate(parts, axis=1)[:, np.argsort(order)])


def started(d: int) -> Trail:
    """No coefficient yet."""
    return np.zeros(d), (np.zeros(d),)


def moved(trail: Trail, gradient: np.ndarray, shrunk: np.ndarray, step: int, options: Any) -> Trail:
    """One step along a mean gradient, with ridge ``shrunk`` of every coefficient."""
    b, kept = trail
    b = b - options.learning_rate * (gradient + shrunk * b)
    return b, (*kept, b) if is_kept(step + 1, options.total_round_num, options.eval_freq) else kept


def estimated(
    kept: np.ndarray, drawn: Sequence[np.ndarray], seen: np.ndarray, options: Any, numbers: dict[str, Any]
) -> Estimate:
    """What is reported of coefficients (e, 1 + d) along the rounds."""
    path = Path(kept_rounds(options.total_round_num, options.eval_freq), kept)
    return Estimate(kept[-1], path=path, batches=tuple(drawn), seen=seen, numbers=numbers)
