"""Shared parts of several protocols of vertical linear models: batches, steps, estimates."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ....federation.parties import Party
from ....privacy.accounted_values import Public
from ..model import LinearEstimate, Numbers, Path
from ..options import StepOptions
from ..steps import batches, is_kept, kept_rounds, responses

# Holds the keys, and no data.
SERVER = "server"
DRAWN = "drawn without a look at the data"
# Coefficients now, and those that the path keeps.
Trail = tuple[np.ndarray, tuple[np.ndarray, ...]]


def local_batches(active: Party, train: np.ndarray, options: StepOptions, rng_for: Callable) -> tuple[np.ndarray, ...]:
    """Rows of every step among the training rows: the same for all protocols, as only their number decides."""
    rng = rng_for("batches", active.name)
    return batches(int(train.sum()), options.batch_size, options.total_round_num, rng)


def local_batch(active: Party, drawn: Sequence[np.ndarray], step: int) -> Public:
    """The rows of one step."""
    return Public(drawn[step].astype(np.int32), because=DRAWN)


def local_response(active: Party, train: np.ndarray, model: str) -> np.ndarray:
    """(n,) the response of the training rows, as the model takes it."""
    return responses(active.block["y"][train], model)


def start(d: int) -> Trail:
    """Return the trail of d coefficients before the first step, all 0."""
    return np.zeros(d), (np.zeros(d),)


def move(trail: Trail, gradient: np.ndarray, shrunk: np.ndarray, step: int, options: StepOptions) -> Trail:
    """One step along a mean gradient, with ridge ``shrunk`` of every coefficient."""
    b, recorded = trail
    b = b - options.learning_rate * (gradient + shrunk * b)
    return b, (*recorded, b) if is_kept(step + 1, options.total_round_num, options.eval_freq) else recorded


def estimate_of(
    coefficients: np.ndarray,
    drawn: Sequence[np.ndarray],
    seen: np.ndarray | None,
    options: StepOptions,
    numbers: Numbers,
) -> LinearEstimate:
    """Estimate with coefficients (e, 1 + d) along the rounds."""
    path = Path(kept_rounds(options.total_round_num, options.eval_freq), coefficients)
    return LinearEstimate(coefficients[-1], path=path, batches=tuple(drawn), key_holder_view=seen, numbers=numbers)
