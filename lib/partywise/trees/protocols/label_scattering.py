"""Protocol: gradients go to the owners of columns encrypted, sums over buckets come back, the active party chooses.

Source: seed 003, "Label-scattering tree-based models" and "Protection of label-scattering". As published with ``cipher:
identity``. With Paillier the owners learn no gradient, but which rows are in which node (unless instances are hidden)
and where their columns were cut; the active party learns sums, and of every split the left indicator.

What is protected: nothing is certified. The indicator is the exact order bit of every training row, so all that comes
back is `Clear`. The loop over trees and levels is public; a level without open nodes sends messages of no bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...federation.channel import Cipher
from ...federation.exchanges import lanes, paillier
from ...federation.exchanges.keys import shared_key
from ...federation.parties import Party
from ...federation.run import Own, Run
from ...privacy.accounted import Clear, Public
from ...privacy.ledger.event import UNNAMED
from ..codes import Coded
from ..ensemble import Draws, Growing, begin, ensemble_of, rounded, rule_of, statistics
from ..growth.level import Splits, closed
from ..model import Ensemble, Estimate
from ..options import ScatteringOptions
from ..scattering.branches import Branches, own_bins
from ..scattering.cells import by_column, grouped, guessed_labels, integers_of, marks_of, nodes_of, open_sums
from ..scattering.plan import STEP, Plan, passive_buckets, plan_of
from ..scattering.report import Work, reported
from .common import active_of, columns_of, draws_of, local_codes, passive_of
from .inference import deployed

LABELS = ("label", "features")
FREE_KEY = "drawn for this run, without data"


@dataclass(frozen=True, eq=False)
class Training:
    """What the active party has between trees: its codes, the draws of every tree, trees and scores so far."""

    codes: Coded
    draws: tuple[Draws, ...]
    growing: Growing


@dataclass(frozen=True, eq=False)
class Sums:
    """What a passive party computes of a level: the answer, and how many additions it took."""

    answer: Clear
    additions: int


def local_training(
    active: Party, train: np.ndarray, groups: Any, options: ScatteringOptions, rng_for: Callable
) -> Training:
    """No tree yet."""
    n = int(train.sum())
    return Training(local_codes(active, train, options), draws_of(groups, n, options, rng_for), begin(n))


def local_draws(active: Party, training: Training) -> tuple[Draws, ...]:
    """Columns and rows of every tree, for what is reported of the run."""
    return training.draws


def local_drawn(active: Party, training: Training, number: int) -> Public:
    """The columns of one tree."""
    return Public(np.array(training.draws[number][0], dtype=np.int64), because="drawn without data")


def local_buckets(passive: Party, train: np.ndarray, spec: Any) -> Coded:
    """A passive party's own columns, coded; they stay there."""
    facts = [spec.public.columns[column] for column in passive.columns]
    return passive_buckets(passive.block["X"][train], facts, spec.options)


def local_all_codes(party: Party, train: np.ndarray, spec: Any) -> Coded:
    """A party's columns as it coded them, for what is reported of the run."""
    if party.role == "active":
        return local_codes(party, train, spec.options)
    return local_buckets(party, train, spec)


def local_labels(active: Party, train: np.ndarray) -> np.ndarray:
    """The labels, for what is reported of the run."""
    return active.block["y"][train]


def local_rows(party: Party, train: np.ndarray) -> np.ndarray:
    """A party's own training rows, for what is reported of the run."""
    return party.block["X"][train]


def local_thresholds(passive: Party, codes: Coded) -> tuple[np.ndarray, ...]:
    """What the cuts of a passive party's columns mean."""
    return codes.thresholds


def local_root(active: Party, training: Training, train: np.ndarray, number: int, spec: Any) -> Branches:
    """A tree of no splits: gradients and hessians on the grid of the lanes."""
    drawn, times = training.draws[number]
    y, scores = active.block["y"][train], training.growing.scores
    sums = rounded(*statistics(y, scores, spec.options, spec.public.criterion, times), STEP)
    rows = None if times is None else times > 0
    return Branches.begun(sums, rows, own_bins(training.codes, active.columns), drawn)


def local_gradients(
    active: Party,
    training: Training,
    branches: Branches,
    key: Any,
    plan: Plan,
    place: tuple[int, int],
    hidden: bool,
    rng_for: Callable,
) -> Cipher | Clear:
    """Gradients and hessians of all rows, or once for every node that is summed, with zeros outside it.

    place : tree and level
    """
    numbers = integers_of(branches.a, branches.w, training.draws[place[0]][1], plan.bound)
    if hidden:
        inside = branches.wanted == np.arange(len(branches.level.wanted))[:, None]
        numbers = np.where(inside[..., None], numbers, 0).reshape(-1, 2)
    if key is None:
        return Clear(numbers, units=("label",))
    pairs = lanes.joined_lanes((numbers[:, 0], numbers[:, 1]), plan.bits)
    rng = rng_for("encryption", active.name, "gradients", *place)
    return paillier.encrypt(key, pairs, rng, key_holder=active.name)


def local_nodes(active: Party, branches: Branches, plan: Plan, audience: tuple[str, ...]) -> Clear:
    """In which of the nodes that are summed each row is; of no rows where there is none."""
    nodes = branches.wanted[: len(branches.wanted) if len(branches.level.wanted) else 0]
    return Clear(marks_of(nodes, plan.node_bytes), units=LABELS, owner=UNNAMED, audience=audience)


def local_sums(
    passive: Party,
    codes: Coded,
    gradients: Any,
    marks: np.ndarray | None,
    drawn: Sequence[int],
    key: Any,
    plan: Plan,
    place: tuple[int, int],
    rng_for: Callable,
) -> Sums:
    """Sums over nodes and buckets of a passive party's columns, packed and re-randomised.

    marks : node of every row; None where each node comes with gradients of its own
    """
    rows = gradients.shape[0]
    node = np.arange(rows) // max(plan.n, 1) if marks is None else nodes_of(marks)
    nodes = int(node.max(initial=-1)) + 1
    own = [k for k, column in enumerate(passive.columns) if column in set(np.asarray(drawn).tolist())]
    if len(node) < rows:
        # No node is open: nothing is summed.
        node = np.full(rows, -1)
    cells, counts = grouped(codes, own, node, nodes)
    if key is None:
        return Sums(Clear(open_sums(gradients, cells, counts), units=("features",)), 0)
    sums = paillier.sums(key, gradients, cells, counts)
    packed = paillier.packed(key, sums, plan.per, 2 * plan.bits)
    rng = rng_for("encryption", passive.name, "sums", *place)
    return Sums(Clear(paillier.rerandomised(key, packed, rng), units=("features",)), paillier.additions(cells))


def local_answer(passive: Party, sums: Sums) -> Clear:
    """What of the sums leaves."""
    return sums.answer


def local_work(passive: Party) -> Work:
    """Nothing yet."""
    return Work()


def local_worked(passive: Party, before: Work, sums: Sums, gradients: Any, options: ScatteringOptions) -> Work:
    """Additions so far, and what the first gradients showed."""
    guess = guessed_labels(gradients, options.algo == "rf") if before.guess is None else before.guess
    return Work(before.additions + sums.additions, guess)


def local_chosen(
    active: Party, branches: Branches, answers: Sequence[Any], groups: Any, key: Any, plan: Plan, options: Any
) -> tuple[Branches, Splits]:
    """Best splits, from the answers of the passive parties in order."""
    nodes, found = len(branches.level.wanted), dict[int, np.ndarray]()
    others = [columns for name, columns in groups if name != active.name]
    for columns, answer in zip(others, answers, strict=True):
        own = [column for column in columns if column in branches.drawn]
        sizes = [plan.sizes[column] for column in own]
        if key is None:
            pairs = answer
        else:
            integers = paillier.decrypt(key, answer)
            # The lower lane holds the hessian.
            pairs = lanes.split_lanes(integers, plan.bits, 2 * plan.per).reshape(-1, 2)[: nodes * sum(sizes), ::-1]
        found |= dict(zip(own, by_column(pairs, sizes, nodes), strict=True))
    return branches.chosen(found, rule_of(options))


def local_splits(active: Party, chosen: tuple[Branches, Splits], columns: tuple[int, ...]) -> Clear:
    """(m, 3) int32: node, column and cut of the splits of one owner."""
    branches, splits = chosen
    positions = _positions(splits, columns)
    rows = np.stack([branches.level.first + positions, splits.feature[positions], splits.cut[positions]], axis=1)
    return Clear(rows.astype(np.int32), units=LABELS, owner=UNNAMED)


def local_left(passive: Party, codes: Coded, splits: np.ndarray) -> Clear:
    """(m, n / 8) uint8, which rows go left of each split of a passive party: the order bit of every row."""
    place = {column: k for k, column in enumerate(passive.columns)}
    left = [codes.codes[:, place[column]] <= cut for _, column, cut in splits.tolist()]
    rows = np.array(left, dtype=bool).reshape(len(splits), len(codes.codes))
    return Clear(np.packbits(rows, axis=1), units=("features",))


def local_parted(
    active: Party, chosen: tuple[Branches, Splits], indicators: Sequence[np.ndarray], groups: Any
) -> Branches:
    """One level on."""
    branches, splits = chosen
    n, found = len(branches.a), dict[int, np.ndarray]()
    others = [columns for name, columns in groups if name != active.name]
    for columns, bits in zip(others, indicators, strict=True):
        left = np.unpackbits(bits, axis=1, count=n).astype(bool)
        found |= dict(zip(_positions(splits, columns).tolist(), left, strict=True))
    return branches.parted(splits, found)


def local_grown(active: Party, training: Training, branches: Branches, plan: Plan, spec: Any) -> Training:
    """One tree more; cuts of passive columns are codes whose raw values the active party does not know."""
    own = dict(zip(active.columns, training.codes.thresholds, strict=True))
    unknown = {column: np.full(size - 1, np.nan) for column, size in plan.sizes.items()}
    every = tuple((own | unknown)[column] for column in range(len(spec.public.columns)))
    codes, level = replace(training.codes, thresholds=every), closed(branches.level)
    growing = training.growing.with_tree(level, codes, spec.options, spec.public.criterion)
    return replace(training, growing=growing)


def local_ensemble(active: Party, training: Training, options: ScatteringOptions) -> Ensemble:
    """All trees; thresholds of own columns only."""
    return ensemble_of(training.growing.trees, options)


def _positions(splits: Splits, columns: Sequence[int]) -> np.ndarray:
    """Open nodes that some columns split."""
    return np.flatnonzero(np.isin(splits.feature, columns))


def keys_of(run: Run, active: Any, passive: Sequence[Any]) -> tuple[Any, Any]:
    """The active party's key and the public half at the others; none where encryption is one in name only."""
    options = run.spec.options
    if options.cipher == "identity":
        return None, None
    address = "encryption", active.name, "key"
    return shared_key(run, active, passive, options, kind=options.cipher, address=address, because=FREE_KEY)


def one_tree(run: Run, number: int, training: Any, state: Any, plan: Plan, keys: tuple[Any, Any]) -> tuple[Any, Any]:
    """Grow one tree.

    state : codes, and work so far, of the passive parties

    Returns
    -------
    the tree at the active party; the work
    """
    options, train, groups = run.spec.options, run.fold.train, columns_of(run.parties)
    active, passive = active_of(run.parties), passive_of(run.parties)
    names, (private, public), (codes, work) = tuple(party.name for party in passive), keys, state
    drawn = tuple(range(len(run.spec.public.columns)))
    if options.feature_subsample_ratio < 1:
        drawn = run.broadcast(active, passive, "drawn columns", local_drawn, training, number)
    tree = run.at(active, local_root, training, train, number, run.spec)
    gradients = None
    for depth in range(options.max_tree_depth):
        place, marks = (number, depth), None
        if options.hide_instances or not depth:
            given = training, tree, private, plan, place, options.hide_instances, run.rng_for
            gradients = run.broadcast(active, passive, "gradients", local_gradients, *given)
        if depth and not options.hide_instances:
            marks = run.broadcast(active, passive, "nodes", local_nodes, tree, plan, names)
        sums = run.each(passive, local_sums, codes, gradients, marks, drawn, public, plan, place, run.rng_for)
        work = run.each(passive, local_worked, work, sums, gradients, options)
        answers = run.gather(passive, active, "sums", local_answer, sums)
        chosen = run.at(active, local_chosen, tree, answers, groups, private, plan, options)
        sent = {party.name: run.send(active, party, "splits", local_splits, chosen, party.columns) for party in passive}
        indicators = run.gather(passive, active, "left indicators", local_left, codes, Own(sent))
        tree = run.at(active, local_parted, chosen, indicators, groups)
    return tree, work


def fit(run: Run) -> Estimate:
    """Keys, trees, inference as the options say."""
    spec, train, groups = run.spec, run.fold.train, columns_of(run.parties)
    active, passive = active_of(run.parties), passive_of(run.parties)
    plan = plan_of(
        spec.options, spec.public, int(train.sum()), [column for party in passive for column in party.columns]
    )
    keys = keys_of(run, active, passive)
    codes, work = run.each(passive, local_buckets, train, spec), run.each(passive, local_work)
    training = run.at(active, local_training, train, groups, spec.options, run.rng_for)
    for number in range(spec.options.num_of_trees):
        tree, work = one_tree(run, number, training, (codes, work), plan, keys)
        training = run.at(active, local_grown, training, tree, plan, spec)
    ensemble = run.at(active, local_ensemble, training, spec.options)
    thresholds = run.each(passive, local_thresholds, codes)
    scores = deployed(run, ensemble, thresholds)
    draws, labels = run.at(active, local_draws, training), run.at(active, local_labels, train)
    all_codes, rows = run.each(run.parties, local_all_codes, train, spec), run.each(run.parties, local_rows, train)
    return run.assemble(reported, ensemble, scores, work, labels, draws, groups, plan, all_codes, rows, spec)
