"""Layers of `partywise.methods.filters`, called on the inputs of `framework_layers`; and how outputs compare."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np

from partywise.methods.filters.layers import flower, masks, nvflare, pfl, statistics

LAYERS: dict[str, Callable[..., Any]] = {
    "local_dp": flower.local_dp,
    "clip": lambda rng, **inputs: flower.clip(**inputs),
    "mask": lambda rng, seed, shapes: masks.mask(seed, [tuple(shape) for shape in shapes]),
    "percentile": lambda rng, **inputs: nvflare.percentile(**inputs),
    "exclude_vars": lambda rng, **inputs: nvflare.exclude_vars(**inputs),
    "histogram_bins": lambda rng, bins, records, percent: [
        statistics.histogram_bins(count, records, percent) for count in bins
    ],
    "min_count": lambda rng, records, least: [statistics.min_count(count, least) for count in records],
    "pfl_sigma": lambda rng, **inputs: pfl.pfl_sigma(**inputs),
}


def layer(function: Callable[..., Any]) -> Callable[..., Any]:
    LAYERS[function.__name__] = function
    return function


@layer
def fixed_clipping(rng: Any, optimiser: str = "FedAvg", **inputs: Any) -> Any:
    found = flower.fixed_clipping(rng=rng, **inputs)
    if optimiser == "FedAvg":
        return found
    sent = inputs["sent"]
    return [x + flower.optimiser_step(optimiser, y - x) for x, y in zip(sent, found, strict=True)]


@layer
def adaptive_clipping(rng: Any, clients: int, norm: float, entries: int, rounds: int, **inputs: Any) -> Any:
    bound, bounds = inputs.pop("bound"), []
    for _ in range(rounds):
        arrays, bound = flower.adaptive_clipping(
            [np.zeros(entries)],
            [[norm * np.eye(entries)[0]]] * clients,
            [1.0] * clients,
            bound=bound,
            rng=rng,
            **inputs,
        )
        bounds.append(bound)
    return [bounds, arrays]


@layer
def secure_masks(rng: Any, update: Any, examples: int, private: int, pairs: Any) -> Any:
    return masks.secure_masks(masks.quantise(update, examples, rng), private=private, pairs=pairs)


@layer
def svt(rng: Any, chunk: int, **inputs: Any) -> Any:
    with patch.object(nvflare, "CHUNK", chunk):
        return nvflare.svt(rng=rng, **inputs)


@layer
def min_max(rng: random.Random, values: list[float]) -> Any:
    return [[statistics.noisy_minimum(value, rng), statistics.noisy_maximum(value, rng)] for value in values]


def outputs(layer: str, seed: int, inputs: dict[str, Any]) -> Any:
    """What the restated layer makes of inputs, with a generator of the kind that the source has globally."""
    rng = random.Random(seed) if layer == "min_max" else np.random.RandomState(seed)
    return LAYERS[layer](rng, **inputs) if layer != "local_dp" else flower.local_dp(**inputs, rng=rng)


def differences(found: Any, expected: Any, where: str = "") -> list[str]:
    """Places at which two outputs differ in type, shape or any bit."""
    if isinstance(expected, np.ndarray):
        array = np.asarray(found)
        same = array.dtype == expected.dtype and array.shape == expected.shape and array.tobytes() == expected.tobytes()
        return [] if same else [f"{where}: {array!r} instead of {expected!r}"]
    if isinstance(expected, dict):
        if sorted(found) != sorted(expected):
            return [f"{where}: names {sorted(found)} instead of {sorted(expected)}"]
        return [text for name in expected for text in differences(found[name], expected[name], f"{where}/{name}")]
    if isinstance(expected, list):
        if len(found) != len(expected):
            return [f"{where}: {len(found)} parts instead of {len(expected)}"]
        pairs = zip(found, expected, strict=True)
        return [text for place, (a, b) in enumerate(pairs) for text in differences(a, b, f"{where}/{place}")]
    return [] if found == expected else [f"{where}: {found!r} instead of {expected!r}"]
