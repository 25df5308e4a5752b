"""Ensembles made by hand of coins, and the least program that deploys them: what scoring together is tried on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from partywise.core.randomness import stream
from partywise.federation.exchanges.sharing import DEALER
from partywise.federation.folds import Fold
from partywise.federation.parties import Party, split_columns
from partywise.federation.places import per_place
from partywise.federation.run import Run
from partywise.methods.trees.ensemble import with_thresholds
from partywise.methods.trees.model import LEAF, Ensemble, StepFunction, Tree, TreeColumn, TreeFacts
from partywise.methods.trees.options import GatheringOptions
from partywise.privacy.accounted_values import Public

DRAWN = "coins of the test, thrown before any data are seen"
CUTS = 4


def random_tree(rng: np.random.Generator, columns: list[int], depth: int, full: bool) -> Tree:
    """A tree of at most ``depth`` levels of splits on some columns; ``full`` ones have all of them."""
    nodes: list[list[float]] = []

    def grow(level: int) -> int:
        place = len(nodes)
        nodes.append([LEAF, 0, 0, 0, rng.normal()])
        if level < depth and (full or rng.random() < 0.7):
            nodes[place][:2] = [columns[rng.integers(len(columns))], rng.integers(CUTS)]
            nodes[place][2:4] = [grow(level + 1), grow(level + 1)]
        return place

    grow(0)
    feature, cut, left, right, value = np.array(nodes, dtype=float).T
    whole = [part.astype(int) for part in (feature, cut, left, right)]
    return Tree(whole[0], whole[1], np.full(len(nodes), np.nan), whole[2], whole[3], value)


def cuts_of(columns: int) -> np.ndarray:
    """(columns, CUTS) raw thresholds; the data lie on the same grid, so that values meet cuts."""
    return np.sort(stream(3, "cuts").permuted(np.tile(np.arange(7.0), (columns, 1)), axis=1)[:, :CUTS], axis=1)


def case(
    parties: int = 2,
    *,
    columns: int = 5,
    trees: int = 3,
    depth: int = 2,
    full: bool = False,
    tables: int = 0,
    on: list[int] | None = None,
    n_test: int = 9,
    active: int = -1,
    seed: int = 0,
    extra: tuple[str, ...] = (DEALER,),
    record: bool = False,
    **options: Any,
) -> tuple[Run, Ensemble, np.ndarray]:
    """A run, the whole ensemble as an evaluator has it, and the held-out rows (n_test, columns) in pooled order.

    on : columns that trees split, by default all
    """
    rng = stream(3, "case", seed)
    n = n_test + 4
    X = rng.integers(0, 8, (n, columns)).astype(float)
    fold = Fold(np.where(rng.permutation(n) < n_test, 0, 1), 0, 2)
    groups, parts = split_columns(columns, parties, "contiguous"), []
    for k, group in enumerate(groups):
        block = {"X": X[:, group]}
        role = "active" if k == active % parties else "passive"
        name = role if role == "active" else f"passive {k + 1}"
        parts.append(Party(name, role, block | ({"y": np.zeros(n)} if role == "active" else {}), group))
    cuts = cuts_of(columns)
    grown = tuple(random_tree(rng, on or list(range(columns)), depth, full) for _ in range(trees))
    steps = tuple(StepFunction(f, cuts[f], rng.normal(size=CUTS + 1)) for f in rng.integers(0, columns, tables))
    ensemble = with_thresholds(Ensemble(grown, 0.3, 0.7, steps), dict(enumerate(cuts)))
    named = tuple(TreeColumn(f"x{j}", edges=Public(cuts[j], because=DRAWN)) for j in range(columns))
    spec = SimpleNamespace(options=GatheringOptions(**options), public=TreeFacts(named, "CrossEntropyLoss"), study=None)
    run = Run(
        parts,
        epsilon=np.inf,
        fold=fold,
        rng_for=lambda *names: stream(4, *names),
        spec=spec,
        extra=extra,
        record=record,
    )
    return run, ensemble, X[fold.of == 0][: spec.options.inference_rows]


def trained(ensemble: Ensemble):
    """A program that deploys the ensemble as if it had been trained: the active party has its own thresholds only."""
    from partywise.methods.trees.protocols.inference import score_held_out

    def local_cuts(party, cuts):
        return tuple(cuts[column] for column in party.columns)

    def local_ensemble(active, cuts):
        unknown = np.full(CUTS, np.nan)
        known = {f: cuts[f] if f in active.columns else unknown for f in range(len(cuts))}
        return with_thresholds(ensemble, known)

    def program(run):
        active = next(party for party in run.parties if party.role == "active")
        passive = [party for party in run.parties if party.role == "passive"]
        cuts = cuts_of(len(run.spec.public.columns))
        thresholds = run.each(passive, local_cuts, cuts) if passive else per_place({})
        return score_held_out(run, run.at(active, local_ensemble, cuts), thresholds)

    return program
