"""Configurations of the source in settings and options of ours: its users' files run, or fail by the name of a key.

Source: document 003, the configurations that it prints. What it keeps silent about (ties cut by position that go
right when rows are scored, bins of the active party, ends of the sample, noise of a forest drawn for each tree) is
set as its published program does it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

# Any: keys of a configuration become settings and options by their names.
from typing import Any

from .options import DeployedOptions, GatheringOptions, ScatteringOptions
from .source.data import (
    GENERATED,
    TYPE,
    SourceData,
    note_root,
    party_names,
    shipped_table,
    table_names,
    tested_share,
    tree_data,
)
from .source.keys import Keys
from .source.protection import DISTRIBUTED, MODE, PORTS, READERS, inference_of, protection_of

MODELS = {"xgb_tree": "xgb", "gbdt_tree": "gbdt", "random_forest": "rf"}
LINEAR_MODEL = "lr"
CRITERIA = ("CrossEntropyLoss", "RegressionMSELoss")
# Options of trees and of the linear model, their keys and types.
TREE_OPTIONS = {
    "num_of_trees": ("model.num_of_trees", int),
    "lambda_": ("model.lambda_", float),
    "gamma": ("model.gamma", float),
    "eta": ("train.optimizer.eta", float),
    "feature_subsample_ratio": ("vertical.feature_subsample_ratio", float),
    "eval_freq": ("eval.freq", int),
}
LINEAR_OPTIONS = {
    "total_round_num": ("federate.total_round_num", int),
    "learning_rate": ("train.optimizer.lr", float),
    "batch_size": ("dataloader.batch_size", int),
    "eval_freq": ("eval.freq", int),
}
# The place without data that takes part next to the parties, by study.
PLACES = {"vertical_trees": "dealer", "vertical_linear": "server"}


@dataclass(frozen=True)
class SourceRun:
    """A configuration of the source in words of ours.

    study : ``vertical_trees`` or ``vertical_linear``
    data : source and settings of the case
    protocol, options : of the method, and keys of its options
    parties : their number
    epsilon : claim for a feature; None where nothing uses one
    notes : what reads otherwise than it did
    addresses : of all parties by name, with hosts to be filled in, where they run distributed
    """

    study: str
    data: SourceData
    protocol: str
    options: Mapping[str, object]
    parties: int
    epsilon: float | None
    notes: tuple[str, ...] = ()
    addresses: Mapping[str, object] | None = None

    def configuration(self, root_seed: int = 1) -> dict[str, object]:
        """A whole configuration that runs it: one method, one case, one replicate."""
        grid = {
            "methods": ["source"],
            "replicates": 1,
            "parties": [self.parties],
            "folds": 1,
            "epsilon": [float("inf") if self.epsilon is None else self.epsilon],
        }
        dataset = {} if self.data.dataset is None else {"dataset": self.data.dataset}
        case = {"source": self.data.source, "settings": dataset | self.data.settings, "grid": grid}
        method = {"protocol": self.protocol, **self.options}
        block = {"methods": {"source": method}, "cases": {self.case: case}}
        network = {} if self.addresses is None else {"network": self._network(self.addresses)}
        return {"root_seed": root_seed, "studies": {self.study: block}, **network}

    @property
    def case(self) -> str:
        """Name of the case."""
        return self.data.dataset or self.data.source

    def _network(self, parties: Mapping[str, object]) -> dict[str, object]:
        """The one fit of the configuration, in a distributed run with the numbers of the simulation."""
        fit: dict[str, object] = {"study": self.study, "case": self.case, "method": "source"}
        fit |= {} if self.epsilon is None else {"epsilon": self.epsilon}
        fit |= {} if self.data.records is None else {"rows": self.data.records}
        return fit | {"mode": "experiment", "parties": dict(parties)}

    def comments(self) -> list[str]:
        """The notes as lines of a YAML file."""
        return [f"# {note}" for note in self.notes]


def from_source(mapping: Mapping[str, object]) -> SourceRun:
    """Read a parsed configuration of the source.

    With ``federate.mode: distributed`` its configuration has a block ``network`` whose hosts are to be filled in. The
    ValueError names the first key that is missing, unknown, of another type, or asks for what there is not here
    (``use_gpu: true``).
    """
    keys = Keys(mapping)
    _surroundings(keys)
    distributed = keys.take(MODE, str, "standalone", allowed=("standalone", DISTRIBUTED)) == DISTRIBUTED
    model = keys.take("model.type", str, allowed=(*MODELS, LINEAR_MODEL))
    source_run = _linear(keys) if model == LINEAR_MODEL else _trees(keys, model, distributed)
    if distributed:
        source_run = _with_addresses(keys, source_run)
    keys.refuse_rest(READERS)
    return replace(source_run, notes=tuple(keys.notes))


def _with_addresses(keys: Keys, source_run: SourceRun) -> SourceRun:
    """Add addresses of all parties."""
    if source_run.data.source == "generated":
        raise ValueError(
            f"{TYPE} is {GENERATED!r}: its records are drawn in one place; with {MODE} {DISTRIBUTED!r} give 'adult'."
        )
    if not keys.take("distribute.use", bool, True):
        raise ValueError(f"distribute.use is False: {MODE} is {DISTRIBUTED!r}; write True, or leave it out.")
    server, first = (keys.take(key, int, 50_050 + k) for k, key in enumerate(PORTS))
    place = PLACES[source_run.study]
    keys.notes += [
        "Each party runs partywise network party --config mine.yaml --me NAME. Fill in the hosts in network.parties,",
        "then make certificates: partywise network certificates --config mine.yaml",
        *(f"{key} has no effect: all parties have this one file." for key in keys.take_rest("distribute")),
    ]
    names = enumerate(party_names(source_run.parties))
    parties = {name: {"host": f"HOST OF PARTY {k + 1}", "port": first + k} for k, name in names}
    return replace(source_run, addresses=parties | {place: {"host": f"HOST OF THE {place.upper()}", "port": server}})


def _surroundings(keys: Keys) -> None:
    """Check the keys of where and how the source's program ran; they have no effect here."""
    if keys.take("use_gpu", bool, False):
        raise ValueError("use_gpu is True: nothing here runs on a GPU; write False.")
    keys.take("device", int, 0)
    keys.take("backend", str, "torch", allowed=("torch",))
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


def _trees(keys: Keys, model: str, distributed: bool) -> SourceRun:
    keys.take("trainer.type", str, "verticaltrainer", allowed=("verticaltrainer",))
    algo = keys.take("vertical.algo", str, MODELS[model], allowed=tuple(MODELS.values()))
    if algo != MODELS[model]:
        raise ValueError(f"vertical.algo is {algo!r}: model.type is {model!r}, which goes with {MODELS[model]!r}.")
    dims = _parties(keys)
    data = tree_data(keys, dims)
    settings = data.settings | {"loss": keys.take("criterion.type", str, allowed=CRITERIA)}
    protocol, protection, epsilon = protection_of(keys, algo, settings["loss"])
    options: dict[str, Any] = growth_of(keys, algo, data.rows) | protection
    # The program cuts all columns alike, those of the party with the labels too.
    options |= {"ties": "position", "own_n_bins": options.get("n_bins")}
    options |= inference_of(keys, protocol)
    select(keys, options, settings, distributed)
    kind: type[DeployedOptions] = GatheringOptions if protocol == "feature_gathering" else ScatteringOptions
    # Keys that contradict each other are refused here, before anything is printed.
    kind(**options)
    data = replace(data, settings=settings)
    return SourceRun("vertical_trees", data, protocol, options, len(dims), epsilon)


def _linear(keys: Keys) -> SourceRun:
    """Logistic regression by gradient steps."""
    keys.take("trainer.type", str, "none", allowed=("none", "verticaltrainer"))
    keys.take("model.use_bias", bool, False, allowed=(False,))
    dims = _parties(keys)
    name, share = keys.take(TYPE, str, allowed=(GENERATED, *table_names())), None
    if "data.splits" in keys:
        share = tested_share(keys)
    if name == GENERATED:
        note_root(keys)
        keys.notes.append(f"{TYPE} is {GENERATED!r}: its records are drawn anew, by our generator.")
        tests = {} if share is None else {"test_share": share}
        data = SourceData("generated", None, {"dims": dims, "d": dims[-1]} | tests)
    else:
        data = shipped_table(keys, name, share, dims)
    options = keys.options(LINEAR_OPTIONS)
    keys.take("criterion.type", str, "CrossEntropyLoss", allowed=("CrossEntropyLoss",))
    if keys.take("vertical.key_size", int, None) is not None:
        keys.notes.append("vertical.key_size has no effect: the published encryption is one in name only.")
    return SourceRun("vertical_linear", data, "published", options, len(dims), None)


def growth_of(keys: Keys, algo: str, rows: int) -> dict[str, object]:
    """Options of the trees."""
    options: dict[str, object] = {"algo": algo, "as_published": True} | keys.options(TREE_OPTIONS)
    if "model.max_tree_depth" in keys:
        depth = keys.whole("model.max_tree_depth", 1)
        options["max_tree_depth"] = depth - 1
        keys.notes.append(
            f"model.max_tree_depth is {depth}, levels of nodes: here max_tree_depth counts levels of splits and is "
            f"{depth - 1}."
        )
    batch = keys.take("dataloader.batch_size", int, rows)
    if batch < rows:
        if algo != "rf":
            raise ValueError(
                f"dataloader.batch_size is {batch}: trees of {algo!r} are grown on all {rows} rows that train; give as "
                "many, or vertical.data_size_for_debug for fewer rows."
            )
        options["batch_size"] = batch
    return options


def select(keys: Keys, options: dict[str, object], settings: Mapping[str, object], distributed: bool) -> None:
    """The number of trees may be chosen by the loss on test rows, where one place has these."""
    key = "eval.best_res_update_round_wise_key"
    if key not in keys:
        return
    keys.take(key, str, allowed=("test_loss",))
    if settings.get("test_share", 1) == 0:
        raise ValueError(f"{key} is 'test_loss': data.splits leaves no rows to test; leave it out.")
    if distributed:
        keys.notes.append(f"{key} is 'test_loss': no party has test rows of all, so that all trees are kept.")
    elif "inference" in options:
        keys.notes.append(
            f"{key} is 'test_loss': the parties score with all trees, of which none are chosen afterwards."
        )
    else:
        options["select_by"] = "test_loss"
