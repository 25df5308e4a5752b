"""Noise of Fed-BioMed (``fedbiomed`` 6.4.1, Apache-2.0, wheel 12caec18), restated; another version may differ."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .flower import Generator


def biomed_central(
    parameters: Mapping[str, np.ndarray], *, sigma: float, bound: float, rng: Generator
) -> dict[str, np.ndarray]:
    """Parameters of one site after training without noise, plus sigma clip N(0, 1) in each entry.

    The clip is that of each record's gradient in training; the parameters themselves are not clipped.
    Source: ``fedbiomed/common/privacy/_dp_controller.py:140-142, 216-221``.
    """
    return {
        name: array + (sigma * bound * rng.standard_normal(array.shape)).astype(array.dtype)
        for name, array in parameters.items()
    }


def biomed_local(gradients: np.ndarray, *, sigma: float, bound: float, batch: float, rng: Generator) -> np.ndarray:
    """Mean gradient (D,) of one step of DP-SGD: gradients (n, D) of a Poisson batch, clipped one by one, plus noise.

    (sum of clipped gradients + sigma clip N(0, 1)) / ``batch``, the expected number of records, which need not be n.
    Source: ``fedbiomed/common/privacy/_dp_controller.py:84-92``, which hands sigma and clip to Opacus.
    """
    norms = np.linalg.norm(gradients, axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        factors = np.minimum(1.0, bound / norms)
    summed = np.where(norms > 0, gradients * factors, 0.0).sum(axis=0)
    noisy: np.ndarray = (summed + sigma * bound * rng.standard_normal(summed.shape)) / batch
    return noisy
