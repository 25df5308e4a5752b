"""Held-out quality of trees and tables, as an evaluator outside the federation sees it; what is undefined is None."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import expit

from ...attacks.roc import rank_auc
from ...privacy.ledger.ledger import Ledger
from ...trees.model import Ensemble, Estimate
from .data import TreeData
from .settings import CLASSES

Arrays = dict[str, tuple[tuple[str, ...], np.ndarray]]
# Probabilities are kept this far from 0 and 1 where their logarithm is taken.
EDGE = float(np.finfo(float).eps)


def metrics(estimate: Estimate, data: TreeData, train: np.ndarray, spec: Any) -> dict[str, Any]:
    """All scalars of one cell, on the rows outside ``train``."""
    X, y = data.X[~train], data.y[~train]
    chosen, selection = _selected(estimate.ensemble, X, y, spec)
    found: dict[str, Any] = {"n_protected": int(train.sum()), "n_trees": len(chosen.trees)} | selection
    scores = chosen.scores(X)
    if not np.isfinite(scores).all():
        return found | estimate.numbers | {"diverged": True}
    found |= quality(scores, y, spec) | estimate.numbers
    if estimate.scores is not None:
        found |= _deployed(estimate.scores, estimate.ensemble.scores(X), y, spec)
    return found


def ledger(releases: Ledger, names: tuple[str, ...], spec: Any) -> dict[str, Any]:
    """What the worst view learns of one label; the study's unit is the features."""
    return {"epsilon_label": releases.worst_total(names, "label", spec.study.delta).epsilon_certified}


def quality(scores: np.ndarray, y: np.ndarray, spec: Any) -> dict[str, Any]:
    """Quality of scores (n,) at responses (n,): losses in force for the criterion, None for the others.

    ``published_loss`` is the mean of -y ln p, which the source minimises over trees: what negative records lose is
    missing in it.
    """
    found = dict.fromkeys(("log_loss", "auc", "accuracy", "mse", "published_loss"), None)
    if not len(y):
        return found
    if spec.public.criterion != CLASSES:
        return found | {"mse": float(np.mean((y - scores) ** 2))}
    p = probabilities(scores, spec)
    gain, rest = -y * np.log(p), -(1 - y) * np.log1p(-p)
    return found | {
        "log_loss": float(np.mean(gain + rest)),
        "auc": rank_auc(scores[y == 1], scores[y == 0]),
        "accuracy": float(np.mean((p > 0.5) == (y == 1))),
        "published_loss": float(np.mean(gain)),
    }


def probabilities(scores: np.ndarray, spec: Any) -> np.ndarray:
    """Probabilities of a label 1, kept away from 0 and 1: a forest's scores are such, those of boosting log odds."""
    p = scores if getattr(spec.options, "algo", None) == "rf" else expit(scores)
    return np.clip(p, EDGE, 1 - EDGE)


def loss(scores: np.ndarray, y: np.ndarray, spec: Any, key: str | None = None) -> float:
    """The loss of the criterion, or the one of that name."""
    key = key or ("log_loss" if spec.public.criterion == CLASSES else "mse")
    value = quality(scores, y, spec)[key]
    return np.nan if value is None else float(value)


def steps(n_trees: int, every: int) -> list[int]:
    """Numbers of trees at which a loss is kept: every so many, and all."""
    return list(dict.fromkeys([*range(every, n_trees + 1, every), n_trees]))


def cut(ensemble: Ensemble, n_trees: int, spec: Any) -> Ensemble:
    """The first trees alone; those of a forest weigh one over their number."""
    weight = 1 / n_trees if getattr(spec.options, "algo", None) == "rf" and n_trees else ensemble.weight
    return replace(ensemble, trees=ensemble.trees[:n_trees], weight=weight)


def _selected(ensemble: Ensemble, X: np.ndarray, y: np.ndarray, spec: Any) -> tuple[Ensemble, dict[str, Any]]:
    """The trees up to the least loss on test rows where that is asked for, which is marked: it flatters the result."""
    options = spec.options
    if getattr(options, "select_by", "none") == "none":
        return ensemble, {"best_trees": None, "selected_on_test": False}
    half = options.as_published and spec.public.criterion == CLASSES
    numbers = steps(len(ensemble.trees), options.eval_freq)
    losses = path(ensemble, X, y, spec, numbers, "published_loss" if half else None)
    best = numbers[int(np.argmin(losses))]
    return cut(ensemble, best, spec), {"best_trees": best, "selected_on_test": True}


def path(
    ensemble: Ensemble, X: np.ndarray, y: np.ndarray, spec: Any, numbers: list[int], key: str | None = None
) -> list[float]:
    """Loss after so many trees, one by one."""
    total, place, found = cut(ensemble, 0, spec).scores(X), 0, []
    sums = np.zeros(len(X))
    for number in numbers:
        for tree in ensemble.trees[place:number]:
            sums += tree.value[tree.leaves_of(X)]
        place = number
        found.append(loss(total + cut(ensemble, number, spec).weight * sums, y, spec, key))
    return found


def _deployed(scores: np.ndarray, expected: np.ndarray, y: np.ndarray, spec: Any) -> dict[str, Any]:
    """Quality of the rows that were scored together, and how far their scores are from the evaluator's."""
    n = len(scores)
    found = {
        f"scored_{name}": value for name, value in quality(scores, y[:n], spec).items() if name != "published_loss"
    }
    return found | {"scored_rows": n, "score_difference": float(np.max(np.abs(scores - expected[:n]), initial=0.0))}


def example_fits(estimate: Estimate, data: TreeData, train: np.ndarray, spec: Any) -> Arrays:
    """Loss along the trees on training and test rows, and what the fit itself shows (tables with bands)."""
    every = getattr(spec.options, "eval_freq", 1)
    numbers = steps(len(estimate.ensemble.trees), every)
    losses = [path(estimate.ensemble, data.X[rows], data.y[rows], spec, numbers) for rows in (train, ~train)]
    curves = {"path_trees": np.array(numbers, float), "path_train_loss": losses[0], "path_test_loss": losses[1]}
    shown: Arrays = {name: (("path_step",), np.asarray(values)) for name, values in curves.items()}
    return shown | estimate.arrays
