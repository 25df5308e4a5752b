"""What the source prints turns into cases that a plan accepts, and anything else is refused by the name of a key."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import pytest
import yaml

from partywise.experiment.cells import run
from partywise.experiment.data import generate
from partywise.experiment.plan import plan
from partywise.experiment.plans import plans
from partywise.methods.trees.options import GatheringOptions, ScatteringOptions
from partywise.methods.trees.source_config import from_source
from pipeline import ROOT

# The configurations that seed 003 prints, letter by letter.
PRINTED = {
    path.stem: path.read_text() for path in sorted((ROOT / "tests" / "support" / "files" / "source").glob("*.yaml"))
}
# What it prints as comments, to stand in the place of the line before.
BELOW = "  # protect_args"
PRINTED["shuffled"], PRINTED["adjust"] = (
    "".join(line for line in text.replace(BELOW, "  protect_args").splitlines(True) if "'epsilon':" not in line)
    for text in (PRINTED["dp"], PRINTED["op_boost"])
)
TREES, EXAMPLE = yaml.safe_load(PRINTED["trees"]), yaml.safe_load(PRINTED["example"])
# What stands for the letters that the source prints for numbers.
LETTERS = {"lb": 1, "ub": 100, "pb": 10, "ks": 2048, "b": 32}


def merged(*blocks: Mapping[str, Any]) -> dict[str, Any]:
    """Blocks laid over each other."""
    found: dict[str, Any] = {}
    for block in blocks:
        for key, value in block.items():
            both = isinstance(value, Mapping) and isinstance(found.get(key), Mapping)
            found[key] = merged(found[key], value) if both else deepcopy(value)
    return found


def filled(text: str) -> dict[str, Any]:
    """A printed fragment with numbers for its letters, laid over the printed configuration."""

    def put(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: put(one) for key, one in value.items()}
        if isinstance(value, list):
            return [put(one) for one in value]
        return LETTERS.get(value, value) if isinstance(value, str) else value

    return merged(TREES, put(yaml.safe_load(text)))


def changed(path: str, value: Any, base: Mapping[str, Any] = TREES) -> dict[str, Any]:
    """The printed configuration with one key given another value."""
    block: Any = value
    for part in reversed(path.split(".")):
        block = {part: block}
    return merged(base, block)


def without(path: str) -> dict[str, Any]:
    """The printed configuration without one key."""
    found: Any = merged(TREES)
    *parents, last = path.split(".")
    block = found
    for part in parents:
        block = block[part]
    del block[last]
    return found


def planned(found: Any) -> Any:
    """The plan of what a configuration turned into: study, case and method are known and fit together."""
    made = plans(found.configuration())[found.study]
    assert made.n_cells == 1
    return made


# What is printed ----------------------------------------------------------------------------------------------------


def test_the_printed_configuration_of_trees():
    found = from_source(TREES)
    made = planned(found)
    assert (found.study, found.data.dataset, found.protocol) == ("vertical_trees", "abalone", "feature_gathering")
    assert found.data.settings == {"test_share": 0.2, "dims": [4, 8], "loss": "RegressionMSELoss"}
    assert (found.parties, found.epsilon) == (2, None)
    assert made.methods["source"].options == GatheringOptions(
        algo="xgb",
        num_of_trees=10,
        max_tree_depth=5,
        as_published=True,
        select_by="test_loss",
        ties="position",
        own_n_bins=None,
    )
    assert any("max_tree_depth is 6" in note and "is 5" in note for note in found.notes)


def test_the_printed_example():
    found = from_source(EXAMPLE)
    made = planned(found)
    assert (found.data.dataset, found.epsilon, made.cases["adult_split"].epsilon) == ("adult_split", 10.0, (10.0,))
    assert made.cases["adult_split"].settings.rows == 2000
    assert made.methods["source"].options == GatheringOptions(
        protect="dp",
        edges="quantile",
        ties="position",
        n_bins=100,
        own_n_bins=100,
        budget="feature",
        max_tree_depth=2,
        eta=0.5,
        as_published=True,
        select_by="test_loss",
    )


QUANTILES = {"protect": "dp", "n_bins": 50, "edges": "quantile", "own_n_bins": 50}
INTEGERS = {"protect": "op_boost", "extremes": "sample", "budget": "feature", "own_n_bins": None}
PROTECTED = {
    "dp": (3.0, {**QUANTILES, "budget": "feature"}),
    "shuffled": (None, {**QUANTILES, "randomise": False}),
    "op_boost": (2.0, {**INTEGERS, "variant": "global"}),
    "adjust": (None, {**INTEGERS, "variant": "adjust"}),
}


@pytest.mark.parametrize("name", PROTECTED)
def test_the_printed_protections_of_orders(name):
    epsilon, options = PROTECTED[name]
    found = from_source(filled(PRINTED[name]))
    assert found.epsilon == epsilon
    expected = GatheringOptions(**options, max_tree_depth=5, as_published=True, select_by="test_loss", ties="position")
    assert planned(found).methods["source"].options == expected


def test_the_printed_protection_of_gradients():
    found = from_source(filled(PRINTED["he"]))
    assert (found.protocol, found.epsilon) == ("label_scattering", None)
    options = planned(found).methods["source"].options
    assert isinstance(options, ScatteringOptions)
    assert (options.cipher, options.n_bins, options.key_size) == ("paillier", 32, 2048)
    assert options.residual_bound == 64.0 and any("residual_bound is 64" in note for note in found.notes)
    classes = merged(
        filled(PRINTED["he"]), EXAMPLE, yaml.safe_load(PRINTED["he"].replace("ks", "3072").replace(" b ", " 8 "))
    )
    assert planned(from_source(classes)).methods["source"].options.residual_bound is None


@pytest.mark.parametrize(
    ("name", "key"),
    [("op_boost", r"vertical.protect_args\[0\].lower_bound is 'lb'"), ("he", "bucket_num is 'b'")],
)
def test_letters_are_no_numbers(name, key):
    with pytest.raises(ValueError, match=key):
        from_source(merged(TREES, yaml.safe_load(PRINTED[name])))


@pytest.mark.parametrize("name", ["dp", "op_boost", "he"])
def test_a_fragment_alone_lacks_what_it_is_added_to(name):
    with pytest.raises(ValueError, match="missing"):
        from_source(yaml.safe_load(PRINTED[name]))


@pytest.mark.parametrize(("model", "algo"), [("xgb_tree", "xgb"), ("gbdt_tree", "gbdt"), ("random_forest", "rf")])
@pytest.mark.parametrize("name", [None, *PROTECTED, "he"])
def test_all_models_with_all_protections(model, algo, name):
    base = TREES if name is None else filled(PRINTED[name])
    found = from_source(merged(base, {"model": {"type": model}, "vertical": {"algo": algo}}))
    options = planned(found).methods["source"].options
    assert options.algo == algo
    noised = name in ("dp", "op_boost", "adjust")
    assert getattr(options, "redraw", "once") == ("tree" if algo == "rf" and noised else "once")


@pytest.mark.parametrize(("way", "ours"), [("", "plain"), ("ss", "ss"), ("he", "he")])
def test_ways_of_inference(way, ours):
    found = from_source(changed("vertical.eval", way))
    options = planned(found).methods["source"].options
    assert (options.inference, options.select_by) == (ours, "none")
    assert any("best_res_update_round_wise_key" in note for note in found.notes)


def test_keys_of_inference_and_batches_are_read_where_they_count():
    both = merged(changed("vertical.eval", "he"), {"vertical": {"key_size": 3072}})
    assert from_source(both).options["key_size"] == 3072
    forest = {"model": {"type": "random_forest"}, "vertical": {"algo": "rf"}, "dataloader": {"batch_size": 500}}
    assert from_source(merged(TREES, forest)).options["batch_size"] == 500
    assert "batch_size" not in from_source(merged(TREES, forest, {"dataloader": {"batch_size": 4177}})).options
    # The shares of the source leave 3342 rows to train.
    assert "batch_size" not in from_source(changed("dataloader.batch_size", 3342)).options
    buckets = filled(PRINTED["op_boost"])
    buckets["vertical"]["protect_args"][0]["bucket_num"] = 16
    assert from_source(buckets).options["n_bins"] == 16
    for none in (None, "None"):
        shuffled = filled(PRINTED["dp"])
        shuffled["vertical"]["protect_args"][0]["epsilon"] = none
        assert from_source(shuffled).options["randomise"] is False


def test_the_shares_of_adult_say_which_table_is_meant():
    adult = merged(EXAMPLE, {"data": {"splits": [0.8, 0.2]}, "vertical": {"data_size_for_debug": 2000}})
    found = from_source(adult)
    assert (found.data.dataset, found.data.settings["test_share"]) == ("adult", 0.2)
    # Of the 2000 rows 1600 train, so that a batch of as many is all of them.
    planned(found)
    assert "batch_size" not in from_source(merged(adult, {"dataloader": {"batch_size": 1600}})).options
    with pytest.raises(ValueError, match=r"dataloader\.batch_size is 1599: trees of 'xgb' are grown on all 1600 rows"):
        from_source(merged(adult, {"dataloader": {"batch_size": 1599}}))


LINEAR = {
    "federate": {"mode": "standalone", "client_num": 2, "total_round_num": 30},
    "model": {"type": "lr", "use_bias": False},
    "train": {"optimizer": {"lr": 0.05}},
    "data": {"type": "vertical_fl_data"},
    "dataloader": {"type": "raw", "batch_size": 50},
    "vertical": {"use": True, "dims": [5, 10], "key_size": 256},
    "eval": {"freq": 5},
}


def test_a_linear_model():
    found = from_source(LINEAR)
    made = planned(found)
    assert (found.study, found.protocol, found.data.dataset) == ("vertical_linear", "published", None)
    options = made.methods["source"].options
    assert (options.batch_size, options.total_round_num, options.learning_rate) == (50, 30, 0.05)
    assert made.cases["generated"].settings.dims == (5, 10)
    assert any("key_size has no effect" in note for note in found.notes)


def test_a_linear_model_of_a_real_table():
    found = from_source(
        merged(LINEAR, {"data": {"type": "adult", "splits": [0.7, 0.3]}, "vertical": {"dims": [7, 14]}})
    )
    made = planned(found)
    assert found.data.dataset == "adult" and made.cases["adult"].settings.test_share == 0.3


# What runs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", [None, "", "ss"])
@pytest.mark.parametrize("algo", ["xgb", "gbdt", "rf"])
@pytest.mark.parametrize("name", [None, *PROTECTED])
def test_what_was_read_runs(name, algo, way):
    """On generated records in the place of the real ones, which the pipeline alone fetches."""
    models = {"xgb": "xgb_tree", "gbdt": "gbdt_tree", "rf": "random_forest"}
    base = TREES if name is None else filled(PRINTED[name])
    base = merged(base, {"model": {"type": models[algo], "num_of_trees": 2}, "vertical": {"algo": algo}})
    cell = on_generated_records(base if way is None else merged(base, {"vertical": {"eval": way}}))
    assert (cell.scalars.get("score_difference") is None) == (way is None)


def test_encrypted_gradients_run():
    base = merged(filled(PRINTED["he"]), {"model": {"num_of_trees": 1, "max_tree_depth": 2}})
    on_generated_records(base, n=40)


def on_generated_records(base: Mapping[str, Any], n: int = 120) -> Any:
    """The one cell of a configuration, on other records."""
    found = from_source(base)
    study = found.configuration()["studies"][found.study]
    case = study["cases"].pop("abalone")
    settings = {name: value for name, value in case["settings"].items() if name != "dataset"} | {"n": n, "d": 8}
    made = plan("vertical_trees", study | {"cases": {"made": case | {"source": "generated", "settings": settings}}}, 3)
    (cell,) = run(made, "made", "source", [2], [0], [0], generate(made, "made", [0], ROOT))
    assert cell.scalars["status"] == "ok" and cell.scalars["mse"] > 0
    return cell


# What is refused ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("use_gpu", True, "use_gpu is True: nothing here runs on a GPU"),
        ("use_gpu", "no", "use_gpu is 'no': it must be true or false"),
        ("federate.mode", "grpc", "federate.mode is 'grpc': it must be 'standalone' or 'distributed' here"),
        ("federate.client_num", 3, r"federate.client_num is 3: vertical.dims is \[4, 8\]"),
        ("federate.total_round_num", 30, "total_round_num is 30: it is read with model.type 'lr' only"),
        ("backend", "tensorflow", "backend is 'tensorflow': it must be 'torch' here"),
        ("device", "cpu", "device is 'cpu': it must be a whole number"),
        ("model.type", "mlp", "model.type is 'mlp': it must be 'xgb_tree'"),
        ("model.max_tree_depth", 0, "model.max_tree_depth is 0"),
        ("model.lamda_", 0.1, "model.lamda_ is unknown: did you mean model.lambda_?"),
        ("model.lambda_", -1, "lambda_ is -1.0"),
        ("data.type", "blog", "data.type is 'blog': it must be 'abalone'"),
        ("data.splits", [0.8, 0.1], r"data.splits is \[0.8, 0.1\]"),
        ("data.splits", [1.0, 0.0], "best_res_update_round_wise_key is 'test_loss': data.splits leaves no rows"),
        ("data.splits", "all", "data.splits is 'all': it must be a list"),
        ("dataloader.type", "pyg", "dataloader.type is 'pyg'"),
        ("dataloader.batch_size", 100, "batch_size is 100: trees of 'xgb' are grown on all 3342 rows"),
        ("criterion.type", "L1Loss", "criterion.type is 'L1Loss'"),
        ("trainer.type", "cvtrainer", "trainer.type is 'cvtrainer'"),
        ("vertical.use", False, "vertical.use is False: it must be True here"),
        ("vertical.dims", [8], r"vertical.dims is \[8\]"),
        ("vertical.dims", [4, 4], r"vertical.dims is \[4, 4\]"),
        ("vertical.algo", "gbdt", "vertical.algo is 'gbdt': model.type is 'xgb_tree'"),
        ("vertical.eval", "mpc", "vertical.eval is 'mpc': it must be '' or 'ss' or 'he' here"),
        ("vertical.mode", "label_based", "vertical.protect_object is missing"),
        ("vertical.key_size", 2048, "vertical.key_size is 2048: it is read with vertical.protect_method 'he'"),
        ("vertical.protect_method", "dp", "protect_method is 'dp': it is read with vertical.protect_object only"),
        ("vertical.data_size_for_debug", -1, "data_size_for_debug is -1"),
        ("vertical.feature_subsample_ratio", 0.0, "feature_subsample_ratio is 0.0"),
        ("eval.freq", 0, "eval_freq is 0"),
        ("eval.best_res_update_round_wise_key", "val_loss", "best_res_update_round_wise_key is 'val_loss'"),
        ("nonsense", {"deep": 1}, "nonsense.deep is unknown"),
    ],
)
def test_a_wrong_key_is_named(path, value, message):
    with pytest.raises(ValueError, match=message):
        from_source(changed(path, value))


@pytest.mark.parametrize("path", ["model.type", "data.type", "criterion.type", "vertical.dims", "vertical.use"])
def test_a_missing_key_is_named(path):
    with pytest.raises(ValueError, match=f"{path} is missing"):
        from_source(without(path))


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([{"epsilon": 3}], "bucket_num is missing"),
        ([{"bucket_num": 50, "epsilon": 0}], "epsilon is 0.0: it must be positive"),
        ([{"bucket_num": 1, "epsilon": 3}], "bucket_num is 1: it must be at least 2"),
        ([{"bucket_num": 50, "epsilon": "three"}], "epsilon is 'three'"),
        ([{"bucket_num": 50, "epsilom": 3}], "epsilom is unknown"),
        ([{"bucket_num": 50}, {"bucket_num": 60}], "a list of one block"),
        ({"bucket_num": 50}, "a list of one block"),
        ([50], r"protect_args\[0\] is 50"),
    ],
)
def test_a_wrong_argument_of_buckets_is_named(args, message):
    with pytest.raises(ValueError, match=message):
        from_source(merged(filled(PRINTED["dp"]), {"vertical": {"protect_args": args}}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"algo": "local"}, "algo is 'local'"),
        ({"lower_bound": 100, "upper_bound": 1}, "lower_bound and upper_bound are 100 and 1"),
        ({"epsilon_prt": 1.0}, "epsilon_prt is 1.0: it is read with algo 'adjusting' only"),
        ({"algo": "adjusting", "epsilon_prt": 1.0, "epsilon_ner": 1.0, "partition_num": 7}, "epsilon is 2: it is read"),
        ({"lower_bound": 1.5}, "lower_bound is 1.5: it must be a whole number"),
    ],
)
def test_a_wrong_argument_of_op_boost_is_named(changes, message):
    block = filled(PRINTED["op_boost"])
    block["vertical"]["protect_args"][0] |= changes
    with pytest.raises(ValueError, match=message):
        from_source(block)


def test_parts_must_divide_the_integers_and_short_keys_are_refused():
    block = filled(PRINTED["adjust"])
    block["vertical"]["protect_args"][0]["partition_num"] = 7
    with pytest.raises(ValueError, match="partition_num is 7: it must divide the 100 integers"):
        from_source(block)
    with pytest.raises(ValueError, match="key_size is 512"):
        from_source(merged(filled(PRINTED["he"]), {"vertical": {"key_size": 512}}))
    bare = filled(PRINTED["he"])
    del bare["vertical"]["key_size"]
    with pytest.raises(ValueError, match=r"vertical.key_size is missing"):
        from_source(bare)
    with pytest.raises(ValueError, match="mapping is None"):
        from_source(None)


# The command --------------------------------------------------------------------------------------------------------


def test_the_command_prints_a_configuration_that_runs(tmp_path):
    (tmp_path / "theirs.yaml").write_text(PRINTED["example"])
    command = [sys.executable, "-m", "partywise", "from-source", str(tmp_path / "theirs.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert yaml.safe_load(done.stdout) == from_source(EXAMPLE).configuration()
    assert "# model.max_tree_depth is 3" in done.stdout
    assert plans(yaml.safe_load(done.stdout))["vertical_trees"].n_cells == 1
    (tmp_path / "theirs.yaml").write_text(PRINTED["example"].replace("standalone", "distributed"))
    apart = subprocess.run(command, capture_output=True, text=True, check=True)
    assert list(yaml.safe_load(apart.stdout)["network"]["parties"]) == ["passive 1", "active", "dealer"]
    assert "# Each party runs partywise network party" in apart.stdout
    (tmp_path / "theirs.yaml").write_text(PRINTED["example"].replace("standalone", "grpc"))
    refused = subprocess.run(command, capture_output=True, text=True)
    assert refused.returncode == 2 and "federate.mode is 'grpc'" in refused.stderr
    assert "Traceback" not in refused.stderr
