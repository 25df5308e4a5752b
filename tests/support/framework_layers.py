"""Real privacy layers of Flower, NVFlare and pfl, called on the inputs of cases; the frameworks are imported here.

Cases, inputs and outputs are plain data: what `tests/methods/filters/vectors.json` holds, and what
`./run test --frameworks` makes again in the environment of `locks/requirements-frameworks.lock`.
"""

from __future__ import annotations

import importlib.util
import json
import random
import sys
import types
from collections.abc import Callable, Sequence
from importlib.metadata import distribution, version
from pathlib import Path
from typing import Any

import numpy as np

Arrays = list[np.ndarray]
# Distributions whose layers are called.
FRAMEWORKS = ("flwr", "nvflare", "pfl")


def versions() -> dict[str, str]:
    """Versions of the frameworks that are installed; PackageNotFoundError names one that is not."""
    return {name: version(name) for name in FRAMEWORKS}


def encode(value: Any) -> Any:
    """Arrays as type and nested lists (a float has all its digits), within mappings and lists."""
    if isinstance(value, np.ndarray):
        return {"type": str(value.dtype), "entries": value.tolist()}
    if isinstance(value, dict):
        return {name: encode(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [encode(part) for part in value]
    return value.item() if isinstance(value, np.generic) else value


def decode(value: Any) -> Any:
    """What `encode` was given."""
    if isinstance(value, dict) and set(value) == {"type", "entries"}:
        return np.array(value["entries"], dtype=value["type"])
    if isinstance(value, dict):
        return {name: decode(part) for name, part in value.items()}
    return [decode(part) for part in value] if isinstance(value, list) else value


# -- Flower


def in_a_task() -> None:
    """Messages are made within a task only."""
    from flwr.supercore.task_identity import TaskIdentity

    TaskIdentity.run_id, TaskIdentity.task_id, TaskIdentity.node_id = 1, 1, 1


def record(arrays: Sequence[np.ndarray]) -> Any:
    from flwr.app import Array, ArrayRecord

    return ArrayRecord({f"w{place}": Array(np.asarray(array)) for place, array in enumerate(arrays)})


def reply(arrays: Sequence[np.ndarray], weight: float, node: int = 1) -> Any:
    """A client's answer to a message of training."""
    from flwr.app import Message, MetricRecord, RecordDict

    in_a_task()
    asked = Message(RecordDict({"arrays": record([np.zeros(1)])}), dst_node_id=node, message_type="train")
    content = RecordDict({"arrays": record(arrays), "metrics": MetricRecord({"num-examples": weight})})
    return Message(content, reply_to=asked)


def local_dp(sent: Arrays, trained: Arrays, bound: float, sensitivity: float, epsilon: float, delta: float) -> Arrays:
    from flwr.app import Message, RecordDict
    from flwr.clientapp.mod import LocalDpMod

    in_a_task()
    asked = Message(RecordDict({"arrays": record(sent)}), dst_node_id=1, message_type="train")

    def train(message: Any, context: Any) -> Any:
        return Message(RecordDict({"arrays": record(trained)}), reply_to=message)

    answer = LocalDpMod(bound, sensitivity, epsilon, delta)(asked, None, train)
    return next(iter(answer.content.array_records.values())).to_numpy_ndarrays()


def clip(update: Arrays, bound: float) -> Arrays:
    from flwr.supercore.differential_privacy import clip_inputs_inplace

    clip_inputs_inplace(copied := [array.copy() for array in update], bound)
    return copied


def fixed_clipping(
    sent: Arrays,
    replies: list[Arrays],
    weights: list[float],
    bound: float,
    multiplier: float,
    optimiser: str = "FedAvg",
) -> Arrays:
    import flwr.serverapp.strategy as strategies

    inner = getattr(strategies, optimiser)()
    strategy = strategies.DifferentialPrivacyServerSideFixedClipping(inner, multiplier, bound, len(replies))
    strategy.current_arrays = record(sent)
    if optimiser != "FedAvg":
        inner.current_arrays = dict(zip(strategy.current_arrays, sent, strict=True))
    answers = [reply(arrays, weight) for arrays, weight in zip(replies, weights, strict=True)]
    found, _ = strategy.aggregate_train(1, answers)
    return found.to_numpy_ndarrays()


def adaptive_clipping(
    clients: int, norm: float, entries: int, rounds: int, multiplier: float, bound: float
) -> tuple[list[float], Arrays]:
    """Clips after each round, and the last parameters, where each client moves its first entry by ``norm``."""
    import flwr.serverapp.strategy as strategies

    sent = [np.zeros(entries)]
    moved = [norm * np.eye(entries)[0]]
    strategy = strategies.DifferentialPrivacyServerSideAdaptiveClipping(strategies.FedAvg(), multiplier, clients, bound)
    bounds, arrays = [], sent
    for number in range(rounds):
        strategy.current_arrays = record(sent)
        found, _ = strategy.aggregate_train(number + 1, [reply(moved, 1.0) for _ in range(clients)])
        bounds.append(strategy.clipping_norm)
        arrays = found.to_numpy_ndarrays()
    return bounds, arrays


def planted_key(seed: int) -> bytes:
    """Four bytes: a key whose seed is itself."""
    return seed.to_bytes(4, "little")


def mask(seed: int, shapes: list[list[int]]) -> Arrays:
    from flwr.common.secure_aggregation.secaggplus_utils import pseudo_rand_gen

    return pseudo_rand_gen(planted_key(seed), 1 << 32, [tuple(shape) for shape in shapes])


def secure_masks(update: Arrays, examples: int, private: int, pairs: list[tuple[int, bool]]) -> Arrays:
    """The steps of a client (`client/mod/secure_aggregation/secaggplus_mod.py`) with planted seeds."""
    import flwr.common.secure_aggregation.ndarrays_arithmetic as arithmetic
    from flwr.common.secure_aggregation.quantization import quantize

    levels = 1 << 22
    weight = round(examples / 1000.0 * levels)
    integers = quantize(arithmetic.parameters_multiply(update, weight / levels), 8.0, levels)
    integers = arithmetic.factor_combine(weight, integers)
    shapes = [list(array.shape) for array in integers]
    masked = arithmetic.parameters_addition(integers, mask(private, shapes))
    for seed, larger in pairs:
        step = arithmetic.parameters_addition if larger else arithmetic.parameters_subtraction
        masked = step(masked, mask(seed, shapes))
    return arithmetic.parameters_mod(masked, 1 << 32)


# -- NVFlare


def _filtered(privacy_filter: Any, update: dict[str, np.ndarray], steps: int) -> dict[str, np.ndarray]:
    """What a filter makes of the weights of a task's result."""
    from nvflare.apis.dxo import DXO, DataKind, MetaKey, from_shareable
    from nvflare.apis.fl_context import FLContext

    copied = {name: np.array(array) for name, array in update.items()}
    dxo = DXO(DataKind.WEIGHT_DIFF, data=copied, meta={MetaKey.NUM_STEPS_CURRENT_ROUND: steps})
    found = from_shareable(privacy_filter.process(dxo.to_shareable(), FLContext())).data
    return {name: np.asarray(array) for name, array in found.items()}


def percentile(update: dict[str, np.ndarray], percentile: float, gamma: float, steps: int) -> dict[str, np.ndarray]:
    from nvflare.app_common.filters.percentile_privacy import PercentilePrivacy

    return _filtered(PercentilePrivacy(percentile, gamma), update, steps)


def exclude_vars(update: dict[str, np.ndarray], excluded: list[str] | str) -> dict[str, np.ndarray]:
    from nvflare.app_common.filters.exclude_vars import ExcludeVars

    return _filtered(ExcludeVars(excluded), update, 1)


def svt(update: dict[str, np.ndarray], steps: int, chunk: int, **settings: Any) -> dict[str, np.ndarray]:
    import nvflare.app_common.filters.svt_privacy as module

    whole, module._SVT_CHUNK_SIZE = module._SVT_CHUNK_SIZE, chunk
    try:
        return _filtered(module.SVTPrivacy(**settings), update, steps)
    finally:
        module._SVT_CHUNK_SIZE = whole


def min_max(values: list[float]) -> list[list[float]]:
    from nvflare.app_common.statistics.min_max_cleanser import AddNoiseToMinMax

    levels = (0.1, 0.3)
    return [[AddNoiseToMinMax._get_min_value(v, levels), AddNoiseToMinMax._get_max_value(v, levels)] for v in values]


def histogram_bins(bins: list[int], records: int, percent: float) -> list[bool]:
    from nvflare.app_common.abstract.statistics_spec import Bin, Histogram, HistogramType
    from nvflare.app_common.statistics.histogram_bins_cleanser import HistogramBinsCleanser

    made = {str(count): Histogram(HistogramType.STANDARD, [Bin(0.0, 1.0, 1)] * count) for count in bins}
    counts, failures = ({name: number for name in made} for number in (records + 2, 2))
    statistics = {"histogram": {"train": made}, "count": {"train": counts}, "failure_count": {"train": failures}}
    found = HistogramBinsCleanser(percent).apply(statistics, "site")[0]["histogram"]["train"]
    return [str(count) in found for count in bins]


def min_count(records: list[int], least: int) -> list[bool]:
    from nvflare.app_common.statistics.min_count_cleanser import MinCountCleanser

    counts = {str(count): count for count in records}
    statistics = {part: {"train": dict(counts)} for part in ("count", "mean")}
    statistics["failure_count"] = {"train": dict.fromkeys(counts, 0)}
    found = MinCountCleanser(least).apply(statistics, "site")[0]
    assert len(found["count"]["train"]) == len(records), "the count itself is always sent"
    return [name in found["mean"]["train"] for name in counts]


# -- pfl


def pfl_sigma(epsilon: float, delta: float) -> float:
    """By the module alone, under empty parents: the package asks for another dp-accounting than is installed."""
    root = Path(str(distribution("pfl").locate_file("pfl")))
    kept = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "pfl"}
    try:
        for name in ("pfl", "pfl.internal", "pfl.internal.distribution", "pfl.privacy"):
            parent = types.ModuleType(name)
            parent.__path__ = [str(root.joinpath(*name.split(".")[1:]))]
            sys.modules[name] = parent
        spec = importlib.util.find_spec("pfl.privacy.compute_parameters")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return float(module.AnalyticGM_robust(epsilon, delta, 1, 1.0))
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == "pfl"]:
            del sys.modules[name]
        sys.modules.update(kept)


LAYERS: dict[str, Callable[..., Any]] = {
    layer.__name__: layer
    for layer in (
        *(local_dp, clip, fixed_clipping, adaptive_clipping, mask, secure_masks),
        *(percentile, exclude_vars, svt, min_max, histogram_bins, min_count, pfl_sigma),
    )
}


def cases() -> list[dict[str, Any]]:
    """Layer, seed of its generator, and inputs: few, and such that each branch of a formula is taken."""
    draw = np.random.RandomState(20261127)

    def arrays(scale: float, kind: str = "float64") -> Arrays:
        # Few digits, so that squares add up exactly: else the last bit of a length is that of a processor's kernel.
        step = 2.0**-6 if scale > 2.0**-7 else 2.0**-72
        return [(np.rint(scale * draw.normal(size=shape) / step) * step).astype(kind) for shape in ((3, 2), (4,))]

    def named(scale: float, scalar: bool, kind: str = "float64") -> dict[str, np.ndarray]:
        # Not in the order of their names, in which they are looked at.
        made = {"v": scale * draw.normal(size=(5, 4)), "b": scale * draw.normal(size=7)}
        made |= {"intercept": np.array(0.25)} if scalar else {}
        return {name: np.asarray(array, dtype=kind) for name, array in made.items()}

    found: list[tuple[str, dict[str, Any]]] = []
    for kind in ("float32", "float64"):
        local = {"bound": 1.0, "sensitivity": 2.0, "epsilon": 1.0, "delta": 1e-5}
        found += [("local_dp", {"sent": arrays(1, kind), "trained": arrays(s, kind), **local}) for s in (0.05, 5.0)]
        found += [("clip", {"update": arrays(scale, kind), "bound": 1.0}) for scale in (0.05, 5.0, 1e-20)]
        replies = [arrays(scale, kind) for scale in (0.1, 1.0, 2.0, 0.01)]
        weighted = {"weights": [304.0, 260.0, 46.0, 130.0], "bound": 1.0, "multiplier": 1.0}
        found += [("fixed_clipping", {"sent": arrays(1, kind), "replies": replies, **weighted})]
    broken = arrays(1.0)
    broken[0][0, 0], broken[1][0] = np.nan, 1.4e6
    found += [("clip", {"update": broken, "bound": 1.0})]
    still = [np.zeros(14)]
    for optimiser in ("FedAvg", "FedAdam", "FedAdagrad", "FedYogi"):
        # One update at the clip beside nine that are almost nothing: of nothing the source cannot take the length.
        moved = [[np.full(14, 1.0)]] + [[np.full(14, 1e-15)]] * 9
        equal = {"weights": [1.0] * 10, "bound": 0.01, "multiplier": 0.0, "optimiser": optimiser}
        found += [("fixed_clipping", {"sent": still, "replies": moved, **equal})]
    adaptive = {"clients": 100, "entries": 3, "rounds": 40, "multiplier": 1.0, "bound": 0.1}
    found += [("adaptive_clipping", {"norm": norm, **adaptive}) for norm in (1.0, 0.05)]
    found += [("mask", {"seed": seed, "shapes": [[1], [3, 2], []]}) for seed in (0, 1, 20_261_127, (1 << 32) - 1)]
    for examples, larger in ((304, True), (1, False)):
        pairs = [[77, larger], [1 << 31, not larger]]
        found += [("secure_masks", {"update": arrays(4.0), "examples": examples, "private": 5, "pairs": pairs})]
    for steps, kind in ((1, "float64"), (5, "float64"), (5, "float32")):
        found += [
            ("percentile", {"update": named(0.02, True, kind), "percentile": 10, "gamma": 0.01, "steps": steps}),
            ("svt", {"update": named(2e-5, steps == 5, kind), "steps": steps, "chunk": 1_000_000}),
            ("svt", {"update": named(2e-5, False, kind), "steps": steps, "chunk": 6, "replace": False}),
            ("svt", {"update": named(2e-5, True, kind), "steps": steps, "chunk": 6, "fraction": 0.5, "epsilon": 4.0}),
        ]
    for out_of_range in ({"percentile": 10, "gamma": 0.0}, {"percentile": 101, "gamma": 0.01}):
        found += [("percentile", {"update": named(0.02, True), "steps": 1, **out_of_range})]
    for excluded in (["b"], ["b", 1], "^[vi]", "", "none"):
        found += [("exclude_vars", {"update": named(1.0, True), "excluded": excluded})]
    found += [("min_max", {"values": [0.0, 28.0, -3.0]}) for _ in range(4)]
    found += [("histogram_bins", {"bins": [4, 5, 29, 30, 31], "records": n, "percent": 10}) for n in (46, 55, 304, 305)]
    found += [("min_count", {"records": [1, 9, 10, 11], "least": 10})]
    found += [("pfl_sigma", {"epsilon": epsilon, "delta": 1e-5}) for epsilon in (0.5, 1.0, 4.0, 10.0)]
    return [{"layer": layer, "seed": seed, "inputs": inputs} for seed, (layer, inputs) in enumerate(found, 1)]


def outputs(layer: str, seed: int, inputs: dict[str, Any]) -> Any:
    """What the real layer makes of inputs, with both global generators seeded."""
    np.random.seed(seed)  # noqa: NPY002 (the layers draw from it)
    random.seed(seed)
    return LAYERS[layer](**inputs)


VECTORS = Path(__file__).parents[1] / "methods" / "filters" / "vectors.json"


def vectors() -> dict[str, Any]:
    """All cases with the outputs of the layers that are installed."""
    made = [{**case, "outputs": outputs(**case)} for case in cases()]
    return {"versions": versions(), "cases": [encode(case) for case in made]}


if __name__ == "__main__":
    VECTORS.write_text(json.dumps(vectors()) + "\n", encoding="utf-8")
