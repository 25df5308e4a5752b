"""Small vertical data, a run of any number of parties on them, and trees grown the slow way, in exact fractions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import inf
from types import SimpleNamespace
from typing import Any

import numpy as np

from partywise.core.randomness import Streams, stream
from partywise.federation.folds import Fold, Spec
from partywise.federation.parties import Party, split_columns
from partywise.federation.run import Run, simulate
from partywise.methods.trees.growth.splits import Rule
from partywise.methods.trees.model import TreeColumn, TreeEstimate, TreeFacts
from partywise.models.criteria import Criterion

CLASSES: Criterion = "CrossEntropyLoss"
SQUARES: Criterion = "RegressionMSELoss"


def data(n: int = 200, d: int = 7, criterion: Criterion = CLASSES, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Columns with ties, one constant, and labels or responses that depend on several of them."""
    rng = stream(11, "trees", seed)
    X = rng.normal(size=(n, d))
    X[:, 1::3] = np.round(2 * X[:, 1::3])
    X[:, d // 2] = 3.0
    signal = X[:, 0] + X[:, -1] ** 2 - X[:, 1] * (X[:, -2] > 0) + rng.normal(size=n)
    return X, (signal > np.median(signal)).astype(float) if criterion == CLASSES else 3 * signal


def run_of(
    X: np.ndarray,
    y: np.ndarray,
    options: Any,
    *,
    parties: int = 2,
    criterion: Criterion = CLASSES,
    epsilon: float = inf,
    share: float = 0.2,
    extra: tuple[str, ...] = (),
    seed: int = 5,
) -> Run:
    """A run on contiguous groups of columns, the last party active; a share of the rows is held out."""
    n, d = X.shape
    test = stream(11, "held out").permutation(n) < round(share * n)
    fold = Fold(np.where(test, 0, -1), 0, 1)
    held = []
    for k, group in enumerate(split_columns(d, parties, "contiguous"), start=1):
        last = k == parties
        name, block = ("active", {"y": y}) if last else (f"passive {k}", {})
        held.append(Party(name, "active" if last else "passive", {"X": X[:, group]} | block, columns=group))
    public = TreeFacts(tuple(TreeColumn(f"x{j}") for j in range(d)), criterion)
    spec = Spec(options, SimpleNamespace(delta=1e-5), SimpleNamespace(), public)
    return Run(held, epsilon=epsilon, fold=fold, rng_for=Streams(seed, "fit"), spec=spec, extra=extra, record=True)


def fitted(fit: Callable[[Run], TreeEstimate], *args: Any, **kwargs: Any) -> tuple[TreeEstimate, Run]:
    """A protocol, simulated on `run_of`."""
    run = run_of(*args, **kwargs)
    return simulate(fit, run), run


def slow_tree(codes: np.ndarray, a: np.ndarray, w: np.ndarray, depth: int, rule: Rule) -> list[tuple[int, int]]:
    """(feature, cut) of every node in the order of levels, (-1, 0) at leaves: every cut tried, sums in fractions."""
    exact = [[Fraction(x) for x in one.tolist()] for one in (a, w)]
    found, level = [], [list(range(len(a)))]
    for remaining in range(depth, -1, -1):
        below = []
        for rows in level:
            best = _slow_split(codes, exact, rows, rule) if remaining else None
            found.append(best or (-1, 0))
            if best:
                left = [i for i in rows if codes[i, best[0]] <= best[1]]
                below += [left, [i for i in rows if i not in set(left)]]
        level = below
    return found


def _slow_split(codes: np.ndarray, exact: list[list[Fraction]], rows: list[int], rule: Rule) -> tuple[int, int] | None:
    def term(some: list[int]) -> Fraction:
        below = sum(exact[1][i] for i in some) + Fraction(rule.ridge)
        return sum(exact[0][i] for i in some) ** 2 / below if below > 0 else Fraction(0)

    best, gain = None, Fraction(0)
    for f in range(codes.shape[1]):
        for cut in sorted({int(codes[i, f]) for i in rows})[:-1]:
            left = [i for i in rows if codes[i, f] <= cut]
            worth = term(left) + term([i for i in rows if codes[i, f] > cut])
            worth = Fraction(rule.factor) * (worth - (term(rows) if rule.parent else 0)) - Fraction(rule.gamma)
            if worth > gain or (best is None and not rule.parent):
                best, gain = (f, cut), worth
    return best
