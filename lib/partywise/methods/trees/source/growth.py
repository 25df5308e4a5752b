"""Options of growing trees in the source's configurations, and which of the trees are kept."""

from __future__ import annotations

from collections.abc import Mapping

from .keys import Keys


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
