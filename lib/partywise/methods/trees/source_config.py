"""Configurations of the source in settings and options of ours: its users' files run, or fail by the name of a key.

Source: seed 003, the configurations that it prints. What it keeps silent about (ties cut by position that go
right when rows are scored, bins of the active party, ends of the sample, noise of a forest drawn for each tree) is
set as its published program does it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

# Any: keys of a configuration become settings and options by their names.
from typing import Any

from .options import DeployedOptions, GatheringOptions, ScatteringOptions
from .source.keys import Keys
from .source.protection import READERS, inference_of, protection_of

# Our name of a data set of the source, and rows that may train: what a batch must hold to be all of them.
TREE_DATA = {"abalone": ("abalone", 4177), "adult": ("adult", 45_222)}
ADULT_SPLIT = ("adult_split", 30_162)
LINEAR_DATA = {"vertical_fl_data": None, "adult": "adult"}
MODELS = {"xgb_tree": "xgb", "gbdt_tree": "gbdt", "random_forest": "rf"}
LINEAR_MODEL = "lr"
CRITERIA = ("CrossEntropyLoss", "RegressionMSELoss")


@dataclass(frozen=True)
class SourceRun:
    """A configuration of the source in words of ours.

    study : ``vertical_trees`` or ``vertical_linear``
    dataset, settings : shipped table of the case, None for generated records, and keys of its settings
    protocol, options : of the method, and keys of its options
    parties : their number
    epsilon : claim for a feature; None where nothing uses one
    notes : what reads otherwise than it did
    """

    study: str
    dataset: str | None
    settings: Mapping[str, object]
    protocol: str
    options: Mapping[str, object]
    parties: int
    epsilon: float | None
    notes: tuple[str, ...]

    def configuration(self, root_seed: int = 1) -> dict[str, object]:
        """A whole configuration that runs it: one method, one case, one replicate."""
        grid = {
            "methods": ["source"],
            "replicates": 1,
            "parties": [self.parties],
            "folds": 1,
            "epsilon": [float("inf") if self.epsilon is None else self.epsilon],
        }
        dataset = {} if self.dataset is None else {"dataset": self.dataset}
        source = "generated" if self.dataset is None else "dataset"
        case = {"source": source, "settings": {**dataset, **self.settings}, "grid": grid}
        method = {"protocol": self.protocol, **self.options}
        block = {"methods": {"source": method}, "cases": {self.dataset or source: case}}
        return {"root_seed": root_seed, "studies": {self.study: block}}

    def comments(self) -> list[str]:
        """The notes as lines of a YAML file."""
        return [f"# {note}" for note in self.notes]


def from_source(mapping: Mapping[str, object]) -> SourceRun:
    """Read a parsed configuration of the source.

    The ValueError names the first key that is missing, unknown, of another type, or asks for what there is not here
    (``use_gpu: true``, ``federate.mode: distributed``).
    """
    keys, notes = Keys(mapping), list[str]()
    _surroundings(keys, notes)
    model = keys.take("model.type", str, allowed=(*MODELS, LINEAR_MODEL))
    source_run = _linear(keys, notes) if model == LINEAR_MODEL else _trees(keys, model, notes)
    keys.refuse_rest(READERS)
    return source_run


def _surroundings(keys: Keys, notes: list[str]) -> None:
    """Check the keys of where and how the source's program ran; they have no effect here."""
    if keys.take("use_gpu", bool, False):
        raise ValueError("use_gpu is True: nothing here runs on a GPU; write False.")
    keys.take("device", int, 0)
    keys.take("backend", str, "torch", allowed=("torch",))
    mode = keys.take("federate.mode", str, "standalone")
    if mode != "standalone":
        raise ValueError(f"federate.mode is {mode!r}: all parties run in one process here; write 'standalone'.")
    if "data.root" in keys:
        notes.append(f"data.root is {keys.take('data.root', str)!r}: data are fetched into resources instead.")
    keys.take("dataloader.type", str, "raw", allowed=("raw",))
    keys.take("vertical.use", bool, allowed=(True,))


def _parties(keys: Keys) -> list[int]:
    """Ends of the columns of each party."""
    dims = keys.numbers("vertical.dims", int)
    if len(dims) < 2 or any(b <= a for a, b in zip([0, *dims], dims, strict=False)):
        raise ValueError(
            f"vertical.dims is {dims}: give the ends of the columns of each party, increasing, two at least."
        )
    count = keys.take("federate.client_num", int, len(dims))
    if count != len(dims):
        raise ValueError(f"federate.client_num is {count}: vertical.dims is {dims}, which makes {len(dims)} parties.")
    return list(dims)


def _trees(keys: Keys, model: str, notes: list[str]) -> SourceRun:
    keys.take("trainer.type", str, "verticaltrainer", allowed=("verticaltrainer",))
    algo = keys.take("vertical.algo", str, MODELS[model], allowed=tuple(MODELS.values()))
    if algo != MODELS[model]:
        raise ValueError(f"vertical.algo is {algo!r}: model.type is {model!r}, which goes with {MODELS[model]!r}.")
    dims = _parties(keys)
    dataset, settings, rows = _data(keys)
    settings |= {
        "dims": dims,
        "loss": keys.take("criterion.type", str, allowed=CRITERIA),
    }
    protocol, protection, epsilon = protection_of(keys, algo, settings["loss"], notes)
    options: dict[str, Any] = growth_of(keys, algo, rows, notes) | protection
    # The program cuts all columns alike, those of the party with the labels too.
    options |= {"ties": "position", "own_n_bins": options.get("n_bins")}
    options |= inference_of(keys, protocol, notes)
    select(keys, options, settings, notes)
    kind: type[DeployedOptions] = GatheringOptions if protocol == "feature_gathering" else ScatteringOptions
    # Keys that contradict each other are refused here, before anything is printed.
    kind(**options)
    return SourceRun("vertical_trees", dataset, settings, protocol, options, len(dims), epsilon, tuple(notes))


def _data(keys: Keys) -> tuple[str, dict[str, Any], int]:
    """Shipped table, settings, and the most rows that can train."""
    name = keys.take("data.type", str, allowed=tuple(TREE_DATA))
    share = _test_share(keys)
    dataset, rows = TREE_DATA[name]
    settings: dict[str, Any] = {"test_share": share}
    if name == "adult" and share == 0:
        # All of the table trains: the authors' own division has test rows apart.
        (dataset, rows), settings = ADULT_SPLIT, {}
    fewer = keys.take("vertical.data_size_for_debug", int, 0)
    if fewer < 0:
        raise ValueError(f"vertical.data_size_for_debug is {fewer}: it must be at least 0, which means all rows.")
    if fewer:
        settings["rows"] = fewer
    rows = fewer or rows
    return dataset, settings, rows - int(settings.get("test_share", 0.0) * rows)


def _test_share(keys: Keys) -> float:
    splits = keys.numbers("data.splits", float, [0.8, 0.2])
    if len(splits) != 2 or abs(sum(splits) - 1) > 1e-9 or not 0 < splits[0] <= 1:
        raise ValueError(f"data.splits is {splits}: give the shares that train and that test, together 1.")
    return float(splits[1])


def _linear(keys: Keys, notes: list[str]) -> SourceRun:
    """Logistic regression by gradient steps."""
    keys.take("trainer.type", str, "none", allowed=("none", "verticaltrainer"))
    keys.take("model.use_bias", bool, False, allowed=(False,))
    dims = _parties(keys)
    dataset = LINEAR_DATA[keys.take("data.type", str, allowed=tuple(LINEAR_DATA))]
    settings: dict[str, object] = {"dims": dims}
    if dataset is None:
        settings["d"] = dims[-1]
        notes.append("data.type is 'vertical_fl_data': its records are drawn anew, by our generator.")
    if "data.splits" in keys:
        settings["test_share"] = _test_share(keys)
    options = {
        name: keys.take(key, kind)
        for name, key, kind in (
            ("total_round_num", "federate.total_round_num", int),
            ("learning_rate", "train.optimizer.lr", float),
            ("batch_size", "dataloader.batch_size", int),
            ("eval_freq", "eval.freq", int),
        )
        if key in keys
    }
    keys.take("criterion.type", str, "CrossEntropyLoss", allowed=("CrossEntropyLoss",))
    if keys.take("vertical.key_size", int, None) is not None:
        notes.append("vertical.key_size has no effect: the published encryption is one in name only.")
    return SourceRun("vertical_linear", dataset, settings, "published", options, len(dims), None, tuple(notes))


def growth_of(keys: Keys, algo: str, rows: int, notes: list[str]) -> dict[str, object]:
    """Options of the trees."""
    options: dict[str, object] = {"algo": algo, "as_published": True}
    if "model.max_tree_depth" in keys:
        depth = keys.take("model.max_tree_depth", int)
        if depth < 1:
            raise ValueError(f"model.max_tree_depth is {depth}: it counts levels of nodes and must be at least 1.")
        options["max_tree_depth"] = depth - 1
        notes.append(
            f"model.max_tree_depth is {depth}, levels of nodes: here max_tree_depth counts levels of splits and is "
            f"{depth - 1}."
        )
    for name, kind in (("num_of_trees", int), ("lambda_", float), ("gamma", float)):
        if f"model.{name}" in keys:
            options[name] = keys.take(f"model.{name}", kind)
    for name, key, kind in (
        ("eta", "train.optimizer.eta", float),
        ("feature_subsample_ratio", "vertical.feature_subsample_ratio", float),
        ("eval_freq", "eval.freq", int),
    ):
        if key in keys:
            options[name] = keys.take(key, kind)
    batch = keys.take("dataloader.batch_size", int, rows)
    if batch < rows:
        if algo != "rf":
            raise ValueError(
                f"dataloader.batch_size is {batch}: trees of {algo!r} are grown on all {rows} rows that train; give as "
                "many, or vertical.data_size_for_debug for fewer rows."
            )
        options["batch_size"] = batch
    return options


def select(keys: Keys, options: dict[str, object], settings: Mapping[str, object], notes: list[str]) -> None:
    """The number of trees may be chosen by the loss on test rows."""
    key = "eval.best_res_update_round_wise_key"
    if key not in keys:
        return
    keys.take(key, str, allowed=("test_loss",))
    if settings.get("test_share", 1) == 0:
        raise ValueError(f"{key} is 'test_loss': data.splits leaves no rows to test; leave it out.")
    if "inference" in options:
        notes.append(f"{key} is 'test_loss': the parties score with all trees, of which none are chosen afterwards.")
    else:
        options["select_by"] = "test_loss"
