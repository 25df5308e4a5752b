"""Masks of secure aggregation in Flower (``flwr`` 1.42.0), restated: 32-bit seed in, masked integers out.

A key of 256 bits is folded to 32 bits before it becomes a mask (issue 7522 and pull request 7570 of its repository, of
July 2026). Here the seed is given: no key is folded. Another version may differ.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .flower import Arrays, Generator

# Defaults (flwr/server/workflow/secure_aggregation/secaggplus_workflow.py:167-170): clip of an entry, range of an
# integer, range of a sum, and the number of examples that weighs 1.
RANGE, LEVELS, MODULUS, EXAMPLES = 8.0, 1 << 22, 1 << 32, 1000.0


def mask(seed: int, shapes: Sequence[tuple[int, ...]]) -> list[np.ndarray]:
    """Integers below 2^32 - 1 of a Mersenne twister with a 32-bit seed, for arrays of the given shapes.

    Source: ``flwr/common/secure_aggregation/secaggplus_utils.py:83-100``.
    """
    generator = np.random.RandomState(seed)
    return [np.asarray(generator.randint(0, MODULUS - 1, shape, dtype=np.int64)) for shape in shapes]


def quantise(parameters: Arrays, examples: float, rng: Generator) -> list[np.ndarray]:
    """A weight (1,) and the weighted parameters as integers in [0, 2^22], which stand for [-8, 8], rounded at random.

    The share of the examples in 1,000 is the weight, in steps of 2^-22; x becomes floor(x) with probability ceil(x) -
    x. Source: ``flwr/client/mod/secure_aggregation/secaggplus_mod.py:443-463``,
    ``flwr/common/secure_aggregation/quantization.py``.
    """
    weight = round(examples / EXAMPLES * LEVELS)
    integers = [np.array([weight])]
    for array in parameters:
        scaled = (np.clip(array * (weight / LEVELS), -RANGE, RANGE) + RANGE) * (LEVELS / (2 * RANGE))
        upper = np.ceil(scaled).astype(np.int32)
        integers.append(upper - (rng.random(upper.shape) < upper - scaled).astype(np.int32))
    return integers


def secure_masks(integers: Arrays, *, private: int, pairs: Sequence[tuple[int, bool]]) -> list[np.ndarray]:
    """Mask the integers of a client: plus its private mask, plus or minus the mask of each pair, modulo 2^32.

    Masks are given by their seeds; the server removes the private one in every honest round. Of a pair the client with
    the larger identifier adds. Source: ``flwr/client/mod/secure_aggregation/secaggplus_mod.py:468-490``.
    """
    shapes = [array.shape for array in integers]
    masked = [array + noise for array, noise in zip(integers, mask(private, shapes), strict=True)]
    for seed, larger in pairs:
        sign = 1 if larger else -1
        masked = [array + sign * noise for array, noise in zip(masked, mask(seed, shapes), strict=True)]
    return [array % MODULUS for array in masked]
