"""Protocol: owners randomise codes of their columns, the active party makes histograms of them; no cryptography.

A public random set of features of each record is released by randomised response over declared bins.  The active party
grows trees on its own columns, sums gradients and hessians at them over the randomised-response codes, inverts the
distribution of the noise and boosts stumps on what it gets (`gradient_histograms`).  Source: the project's
own, docs/vertical_trees.md; document 003 has no certified method.

What is protected: the features of each record at all passive parties together (unit ``features``, replace one), against
everyone, by noise that each owner draws (``local``).  A record moves as many codes as its set has features; records
are divided, by public numbers alone, into strata in which every party releases equally many, so that the parties' rows
of a stratum add up and strata do not.  Gradients, hessians, labels and the active party's features stay where they are:
nothing but the randomised codes crosses, until the model is deployed.  Not protected: n, the declared edges, the sets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ....federation.parties import Party
from ....federation.payloads import Payload
from ....federation.run import Run
from ....models.criteria import CLASSES
from ....models.losses import class_derivatives, derivatives
from ....privacy.accounted_values import Clear, Public
from ....privacy.mechanisms.mixed_response import MixedResponse
from ....privacy.mechanisms.randomized_response import RandomizedResponse
from ....privacy.mechanisms.release import derive, resting_on
from ....privacy.statistics.records import entries
from ..codes import public_bins
from ..gradient_histograms import cut_count, fit_outputs
from ..histograms.debias import debias_histograms
from ..histograms.feature_sets import FeatureSets, feature_sets
from ..model import ColumnGroups, Ensemble, TreeEstimate, TreeFacts, TreeSpec
from ..options import LocalTablesOptions
from .common import active_of, columns_of, local_codes, local_own_ensemble, local_residual_clip_share, passive_of
from .inference import score_held_out

# Of the number of codes that a record moves.
SETS = "the sets of features are drawn by public randomness"
# The largest second derivative of the logarithmic loss: what ``gbdt`` takes for all records.
QUARTER = 0.25


def local_randomised_codes(passive: Party, train: np.ndarray, plan: FeatureSets, rng_for: Callable) -> Payload:
    """Codes of the drawn features of every training record, one after another, by randomised response."""
    places, released = plan.places(passive.columns), plan.of(passive.columns)
    edges = [plan.edges[place] for place in places]
    missing = [plan.missing[place] for place in places]
    codes = public_bins(passive.block["X"][train], [cuts.value for cuts in edges], missing).codes
    if math.isinf(plan.epsilon):
        return Clear(codes[released].astype(plan.code_type), units=("features",), owner=passive.name)
    # The address of the noise keeps the first name of the message, so that no number moves.
    sizes, rng = np.array(plan.sizes)[places], rng_for("noised codes", passive.name)
    randomised, parts = np.zeros(codes.shape, dtype=plan.code_type), []
    for stratum in plan.strata:
        count = stratum.counts[passive.name]
        rows, columns = np.nonzero(released[stratum.rows])
        if not count:
            continue
        cells = stratum.rows[rows], columns
        bounded = entries(codes[cells], unit="features", moved=Public(count, because=SETS), stratum=stratum.name)
        name = f"codes of {passive.name}" + (f", {stratum.cell} features" if stratum.cell else "")
        response = MixedResponse(plan.epsilon, sizes[columns])
        parts.append(response(resting_on(bounded, *edges), rng, owner=passive.name, release_id=name))
        randomised[cells] = parts[-1].value
    sent = randomised[released]
    if len(parts) == 1:
        return parts[0].post_process(lambda _: sent)
    return derive(sent, parts, name=f"codes of {passive.name}", owner=passive.name) if parts else Public(sent, SETS)


def local_statistics(
    active: Party, train: np.ndarray, ensemble: Ensemble, spec: TreeSpec[LocalTablesOptions]
) -> tuple[tuple[np.ndarray, ...], ...]:
    """Gradients, hessians and quarters (n,) of the trees' scores per output; they stay at the active party."""
    scores, y = local_scores(active, train, ensemble, spec.public), active.block["y"][train]
    if spec.public.outputs > 1:
        g, h = class_derivatives(scores, y)
        h = np.full(g.shape, 2 * QUARTER) if spec.options.algo == "gbdt" else h
        return tuple((*both, _quarters(class_scores)) for *both, class_scores in zip(g.T, h.T, scores.T, strict=True))
    g, h = derivatives(scores, y, spec.public.criterion)
    if spec.options.algo == "gbdt" and spec.public.criterion == "CrossEntropyLoss":
        h = np.full(len(g), QUARTER)
    # Gradients of classes are at most 1.
    bound = spec.options.residual_bound if spec.public.criterion == "RegressionMSELoss" else None
    return ((g if bound is None else np.clip(g, -bound, bound), h, _quarters(scores)),)


def local_numbers(
    active: Party, train: np.ndarray, ensemble: Ensemble, spec: TreeSpec[LocalTablesOptions]
) -> dict[str, float]:
    """Return the share of residuals that the public bound clips; nothing where none is clipped."""
    bound, facts = spec.options.residual_bound, spec.public
    if bound is None or facts.criterion == CLASSES:
        return {}
    gradients = derivatives(local_scores(active, train, ensemble, facts), active.block["y"][train], facts.criterion)[0]
    return {"residual_clip_share": local_residual_clip_share(active, gradients, bound)}


def local_scores(active: Party, train: np.ndarray, ensemble: Ensemble, facts: TreeFacts) -> np.ndarray:
    """Scores of the training records by the active party's own trees."""
    X = np.full((int(train.sum()), len(facts.columns)), np.nan)
    X[:, active.columns] = active.block["X"][train]
    return ensemble.scores(X)


def _quarters(scores: np.ndarray) -> np.ndarray:
    """Features hang together by what the first model knows too: its quarters replace pairs that no record releases."""
    return np.searchsorted(np.unique(np.quantile(scores, (0.25, 0.5, 0.75), method="lower")), scores)


def local_cuts(passive: Party, plan: FeatureSets) -> tuple[np.ndarray, ...]:
    """The declared cuts of a party's columns, by which it routes records where the model is deployed."""
    return tuple(plan.edges[place].value for place in plan.places(passive.columns))


def active_model(
    ensemble: Ensemble,
    statistics: tuple[tuple[np.ndarray, ...], ...],
    messages: Sequence[np.ndarray],
    plan: FeatureSets,
    groups: ColumnGroups,
    spec: TreeSpec[LocalTablesOptions],
) -> tuple[Ensemble, dict[str, float]]:
    """The trees with a table for every passive column, from the randomised codes."""
    codes = np.zeros(plan.released_features.shape, dtype=np.int64)
    for (_, columns), message in zip(groups, messages, strict=True):
        party_codes = np.zeros((len(codes), len(columns)), dtype=np.int64)
        party_codes[plan.of(columns)] = message
        codes[:, plan.places(columns)] = party_codes
    missing: tuple[bool, ...] = plan.missing if any(plan.missing) else ()
    shape = codes, plan.released_features, plan.sizes, plan.epsilon
    histograms = [debias_histograms(*shape, g, h, quarters, missing) for g, h, quarters in statistics]
    # With one feature a record nothing is known of pairs: fewer cuts must win by chance.
    cuts = sum(map(cut_count, plan.sizes, plan.missing))
    q = 2.0 if plan.per_record > 1 else max(2.0, 2 * math.log(cuts))
    tables, numbers = fit_outputs(histograms, spec.options, plan.columns, [edges.value for edges in plan.edges], q=q)
    shares = {column: _shares(codes[:, f], plan, f) for f, column in enumerate(plan.columns)}
    tables = tuple(replace(table, shares=shares[table.feature]) for table in tables)
    return replace(ensemble, tables=tables), numbers


def _shares(codes: np.ndarray, plan: FeatureSets, place: int) -> np.ndarray | None:
    """Shares of the codes of a column with their intervals, from the released ones; None where there are none."""
    response = RandomizedResponse(plan.epsilon, plan.sizes[place])
    released = codes[plan.released_features[:, place]]
    if not len(released):
        return None
    return np.column_stack([response.frequencies(released), response.frequency_intervals(released)])


def active_estimate(
    model: tuple[Ensemble, dict[str, float]],
    clips: dict[str, float],
    scores: np.ndarray | None,
    plan: FeatureSets,
    epsilon: float,
) -> TreeEstimate:
    """The estimate: the target is what it claims."""
    ensemble, numbers = model
    costs = {
        "features_released": plan.per_record,
        "epsilon_per_index": plan.epsilon,
        "bytes_formula": int(plan.released_features.sum()) * plan.code_type.itemsize,
    }
    return TreeEstimate(ensemble, epsilon, scores, {**numbers, **costs, **clips})


def active_ensemble(model: tuple[Ensemble, dict[str, float]]) -> Ensemble:
    """The model alone, for inference."""
    return model[0]


def fit(run: Run) -> TreeEstimate:
    """Randomised codes to the active party, trees on its own columns, tables, inference as the options state."""
    active, passive, train, spec = active_of(run.parties), passive_of(run.parties), run.fold.train, run.spec
    groups, options = columns_of(passive), spec.options
    plan = run.everywhere(feature_sets, spec, groups, int(train.sum()), run.epsilon, run.rng_for)
    messages = run.gather(
        passive, active, "randomised-response codes", local_randomised_codes, train, plan, run.rng_for
    )
    codes = run.at(active, local_codes, train, options)
    trees = run.at(active, local_own_ensemble, train, codes, options, spec.public, run.rng_for)
    statistics = run.at(active, local_statistics, train, trees, spec)
    model = run.at(active.name, active_model, trees, statistics, messages, plan, groups, spec)
    scores = score_held_out(run, run.at(active.name, active_ensemble, model), run.each(passive, local_cuts, plan))
    clips = run.at(active, local_numbers, train, trees, spec)
    return run.at(active.name, active_estimate, model, clips, scores, plan, run.epsilon)
