"""Computations of a client in federated training, and of privacy layers on its update: arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Unpack

import numpy as np

from ...models.links import LOGIT
from ...privacy.ledger.event import UNNAMED, EventProfile
from ...privacy.mechanisms.release import Release, Terms, charge_and_draw, generator
from ...privacy.statistics.bounded import Bounded
from .guarantees import svt_bound
from .layers.flower import Generator
from .layers.nvflare import svt
from .options import FedavgOptions

# Defaults of the layers of NVFlare: percentile and largest entry; of the sparse-vector technique its parameter epsilon
# and its largest entry.  Both divide by the local steps if an update says how many it took, which here it does not.
PERCENTILE, GAMMA, SVT_EPSILON, SVT_GAMMA = 10.0, 0.01, 0.1, 1e-5
# Coefficients that `exclude_vars` removes: the first ones.
EXCLUDED = 3


def by_client(block: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Records X (n, D) and labels y (n,) of a site, client by client: (c, n / c, D) and (c, n / c)."""
    clients = int(block["clients"])
    return block["X"].reshape(clients, -1, block["X"].shape[1]), block["y"].reshape(clients, -1)


def residuals(margins: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Probability less label, of every record."""
    return np.asarray(LOGIT.mean(margins) - y)


def local_updates(start: np.ndarray, X: np.ndarray, y: np.ndarray, steps: int, step: float) -> np.ndarray:
    """Updates (c, D) of c clients: full-batch gradient steps of mean logistic loss from ``start`` (D,).

    X : (c, n, D) records; y : (c, n) labels 0 and 1
    """
    coefficients = np.repeat(start[None].astype(X.dtype), len(X), axis=0)
    # Labels are float64, and so is every number but the first margins: records are cast once, not in every product.
    records = X.astype(float, copy=False)
    for number in range(steps):
        rest = residuals(((records if number else X) @ coefficients[:, :, None])[:, :, 0], y)
        coefficients = coefficients - step * (rest[:, None, :] @ records)[:, 0, :] / X.shape[1]
    return np.asarray(coefficients - start, dtype=float)


def record_gradients(at: np.ndarray, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Gradients (n, D) of the logistic loss of every record."""
    return np.asarray(residuals(X @ at, y)[:, None] * X)


def clip_rows(rows: np.ndarray, bound: float) -> np.ndarray:
    """Rows (n, D) scaled to a length of ``bound`` at most; one of zeros stays, where Flower's clip divides by zero."""
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows * np.minimum(1.0, bound / np.maximum(lengths, np.finfo(float).tiny)))


def percentile_rows(rows: np.ndarray) -> np.ndarray:
    """`layers.nvflare.percentile` of each row (n, D) with its defaults."""
    cutoffs = np.percentile(np.abs(rows), PERCENTILE, axis=1, keepdims=True)
    return np.asarray(np.clip(np.where((rows > -cutoffs) & (rows < cutoffs), 0.0, rows), -GAMMA, GAMMA))


def plain_rows(rows: np.ndarray, options: FedavgOptions) -> np.ndarray:
    """Return the updates (n, D) as a layer changes them before it adds noise, if it adds any."""
    if options.layer == "percentile":
        return percentile_rows(rows)
    if options.layer == "exclude_vars":
        return np.asarray(np.where(np.arange(rows.shape[1]) < EXCLUDED, 0.0, rows))
    return clip_rows(rows, options.bound) if options.layer in ("local_dp", "certified") else rows


def sparse_rows(rows: np.ndarray, rng: Generator, epsilon: float = SVT_EPSILON) -> np.ndarray:
    """`layers.nvflare.svt` of each row (n, D), by default with its defaults."""
    return np.stack([svt({"weights": row}, rng=rng, epsilon=epsilon)["weights"] for row in rows])


@dataclass(frozen=True)
class SparseVector:
    """The sparse-vector technique of NVFlare as a mechanism, of updates (c, D), each a unit of its own.

    Its row states `svt_bound`, which is pure and made of public numbers alone, not the epsilon that the layer names.
    """

    epsilon: float = SVT_EPSILON

    def __call__(
        self, bounded: Bounded, rng: np.random.Generator, *, owner: str = UNNAMED, **terms: Unpack[Terms]
    ) -> Release:
        """Release the updates."""
        rows = np.asarray(bounded.value)
        source = generator(rng, "SparseVector")

        def draw() -> np.ndarray:
            return sparse_rows(rows, source, self.epsilon)

        profile: EventProfile = {"epsilon": svt_bound(rows.shape[1], epsilon=self.epsilon)}
        return charge_and_draw(bounded, profile, "svt", draw, owner, terms, source, preset=True)
