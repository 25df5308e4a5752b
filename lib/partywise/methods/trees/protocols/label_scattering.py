"""Protocol: gradients go to the owners of columns encrypted, sums over bins come back, the active party chooses.

Source: document 003, "Label-scattering tree-based models" and "Protection of label-scattering". As published with
``cipher: identity``. With Paillier the owners learn no gradient, but which rows are in which node (unless instances
are hidden) and where their columns were cut; the active party learns sums, and of every split the left indicator.

What is protected: nothing is certified. The indicator is the exact order bit of every training row, so all that comes
back is `Clear`. The loop over trees and levels is public; a level without open nodes sends messages of no bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ....federation.cipher import Cipher
from ....federation.exchanges.homomorphic.paillier_keys import PrivateKey, PublicKey, shared_key
from ....federation.parties import Party
from ....federation.places import PerPlace, per_place
from ....federation.run import Run
from ..codes import CodedColumns, side_by_side
from ..ensemble import base_of, begin, pooled_difference, rows_rerouted, with_thresholds
from ..model import ColumnGroups, TreeEstimate, TreeSpec
from ..options import ScatteringOptions
from ..scattering.active import (
    Branches,
    TreeTraining,
    local_chosen,
    local_drawn,
    local_ensemble,
    local_gradients,
    local_grown,
    local_nodes,
    local_parted,
    local_root,
    local_splits,
)
from ..scattering.column_groups import ColumnGroup
from ..scattering.passive import (
    Work,
    local_answer,
    local_bins,
    local_groups,
    local_left,
    local_sums,
    local_thresholds,
    local_worked,
)
from ..scattering.plan import STEP, ScatteringPlan, plan_of, wire
from .common import active_of, columns_of, draws_of, local_codes, local_rows, passive_of
from .inference import score_held_out

# The key of the active party, and its public half at the others; none where encryption is one in name only.
Keys = tuple[PrivateKey | None, PerPlace[PublicKey | None]]
# Of the passive parties: codes, columns that are summed together, work so far.
State = tuple[PerPlace[CodedColumns], PerPlace[tuple[ColumnGroup, ...]], PerPlace[Work]]
FREE_KEY = "drawn for this run, without data"


def local_training(
    active: Party, train: np.ndarray, groups: ColumnGroups, spec: TreeSpec[ScatteringOptions], rng_for: Callable
) -> TreeTraining:
    """No tree yet."""
    y, options = active.block["y"][train], spec.options
    base = base_of(y, options, spec.public.criterion, bounds=spec.public.response_bounds)
    return TreeTraining(
        local_codes(active, train, options), draws_of(groups, len(y), options, rng_for), begin(len(y), base)
    )


def to_estimate(
    estimate: TreeEstimate,
    training: TreeTraining,
    codes: Mapping[str, CodedColumns],
    work: Mapping[str, Work],
    rows: Mapping[str, Mapping[str, np.ndarray]],
    groups: ColumnGroups,
    plan: ScatteringPlan,
    spec: TreeSpec[ScatteringOptions],
) -> TreeEstimate:
    """The estimate, as only an evaluator sees it, with the codes of the passive parties; no guarantee is claimed."""
    columns, draws = dict(groups), training.draws
    labels = next(arrays["y"] for arrays in rows.values() if "y" in arrays)
    others = {name: columns[name] for name in work}
    raw = {
        c: cuts
        for name, party_columns in others.items()
        for c, cuts in zip(party_columns, codes[name].thresholds, strict=True)
    }
    ensemble = estimate.ensemble
    whole = with_thresholds(ensemble, raw)
    X = np.empty((plan.n, sum(map(len, columns.values()))))
    for name, arrays in rows.items():
        X[:, columns[name]] = arrays["X"]
    data = side_by_side([codes.get(name, training.codes) for name in columns], list(columns.values()))
    options, criterion = spec.options, spec.public.criterion
    numbers = wire(ensemble, [columns for columns, _ in draws], list(others.values()), plan, options) | {
        "additions": sum(report.additions for report in work.values()),
        "rows_rerouted": rows_rerouted(whole, data, X),
        "max_prediction_difference": pooled_difference(
            whole, data.thresholds, X, labels, options, criterion, draws, STEP, plan.unit, spec.public.response_bounds
        ),
    }
    guess = next((report.guess for report in work.values()), None)
    if guess is not None and criterion == "CrossEntropyLoss":
        numbers["labels_recovered"] = float(np.mean(guess == (labels > 0)))
    return replace(estimate, ensemble=whole, numbers=numbers)


def keys_of(run: Run, active: Party, passive: Sequence[Party]) -> Keys:
    """The active party's key and the public half at the others; none where encryption is one in name only."""
    options = run.spec.options
    if options.cipher == "identity":
        return None, None
    address = "encryption", active.name, "key"
    return shared_key(run, active, passive, options, kind=options.cipher, address=address, because=FREE_KEY)


def one_tree(
    run: Run, number: int, training: TreeTraining, state: State, plan: ScatteringPlan, keys: Keys
) -> tuple[Branches, PerPlace[Work]]:
    """Grow one tree; ``state`` is that of the passive parties."""
    options, train, groups = run.spec.options, run.fold.train, columns_of(run.parties)
    active, passive = active_of(run.parties), passive_of(run.parties)
    names, (private, public), (codes, together, work) = tuple(party.name for party in passive), keys, state
    drawn: Sequence[int] = tuple(range(len(run.spec.public.columns)))
    if options.feature_subsample_ratio < 1:
        drawn = run.broadcast(active, passive, "drawn columns", local_drawn, training, number)
    tree = run.at(active, local_root, training, train, number, run.spec)
    gradients: np.ndarray | Cipher | None = None
    for depth in range(options.max_tree_depth):
        marks: np.ndarray | None = None
        place = number, depth
        if options.hide_instances or not depth:
            inputs = training, tree, private, plan, place, options.hide_instances, run.rng_for
            gradients = run.broadcast(active, passive, "gradients", local_gradients, *inputs)
        if depth and not options.hide_instances:
            marks = run.broadcast(active, passive, "nodes", local_nodes, tree, plan, names)
        by_owner = codes, together, gradients, marks, drawn, public, plan, place, active.name, run.rng_for
        sums = run.each(passive, local_sums, *by_owner)
        work = run.each(passive, local_worked, work, sums, gradients, options)
        answers = run.gather(passive, active, "sums", local_answer, sums)
        chosen = run.at(active, local_chosen, tree, answers, groups, private, plan, options)
        sent = {party.name: run.send(active, party, "splits", local_splits, chosen, party.columns) for party in passive}
        indicators = run.gather(passive, active, "left indicators", local_left, codes, per_place(sent), active.name)
        tree = run.at(active, local_parted, chosen, indicators, groups)
    return tree, work


def fit(run: Run) -> TreeEstimate:
    """Keys, trees, inference as the options state."""
    spec, train, groups = run.spec, run.fold.train, columns_of(run.parties)
    active, passive = active_of(run.parties), passive_of(run.parties)
    plan = plan_of(
        spec.options, spec.public, int(train.sum()), [column for party in passive for column in party.columns]
    )
    keys = keys_of(run, active, passive)
    codes, work = run.each(passive, local_bins, train, spec), per_place({party.name: Work() for party in passive})
    together = run.each(passive, local_groups, codes, spec.options)
    training = run.at(active, local_training, train, groups, spec, run.rng_for)
    for number in range(spec.options.num_of_trees):
        tree, work = one_tree(run, number, training, (codes, together, work), plan, keys)
        training = run.at(active, local_grown, training, tree, plan, spec)
    ensemble = run.at(active, local_ensemble, training, spec.options)
    thresholds = run.each(passive, local_thresholds, codes)
    scores = score_held_out(run, ensemble, thresholds)
    rows = run.each(run.parties, local_rows, train)
    estimate = run.at(active.name, TreeEstimate, ensemble, float("inf"), scores)
    return run.assemble(to_estimate, estimate, training, codes, work, rows, groups, plan, spec)
