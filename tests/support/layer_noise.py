"""mu of noise that is made without the clip, or without weights: formulas that exposures and protocols must equal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from partywise.methods.filters.layers.flower import local_sd

Relation = Literal["replace_one", "zero_out"]
# By how many clips an update moves.
MOVES = {"replace_one": 2.0, "zero_out": 1.0}


def local_mu(
    bound: float, sensitivity: float, epsilon: float, delta: float, relation: Relation = "replace_one"
) -> float:
    """mu = 2 C / sd (C by zero-out) of one round of `local_dp`, sd = S sqrt(2 ln(1.25 / delta)) / epsilon.

    ``flwr`` 1.42.0, ``flwr/clientapp/mod/localdp_mod.py:143``: S is set apart from C; rounds are not composed.
    """
    return MOVES[relation] * bound / local_sd(sensitivity, epsilon, delta)


def fixed_mu(multiplier: float, relation: Relation = "replace_one", weights: Sequence[float] = (1.0,)) -> float:
    """mu = 2 n max(w) / z (half by zero-out) of one round of `fixed_clipping`: the noise z C / n forgets the weights.

    ``weights`` in any unit, w_i being their shares; n max(w) = 1 where they are equal. ``flwr`` 1.42.0,
    ``flwr/serverapp/strategy/dp_fixed_clipping.py:216-248``.
    """
    return MOVES[relation] * len(weights) * max(weights) / sum(weights) / multiplier
