"""Protocol: new records are scored by all parties together, each with the part of a model that a fit left it.

The active party has the trees and tables, every passive party the thresholds of its columns; how records are routed is
`inference`, by the option of that name. No label is needed, and nothing is learnt.

What is protected: nothing is certified. Scores depend on the features of the records at all parties, and the splits
that their owners get on the labels and features that trained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....federation.parties import Participant, Party
from ....federation.place_checks import PlaceReport, estimate_at
from ....federation.run import Run
from ....models.links import LOGIT
from ..model import Ensemble, TreeEstimate, TreeFacts, TreeSpec, check_ensemble
from ..options import TreeOptions
from .common import active_of, passive_of
from .inference import score_rows

# Name in the block of a party.
PART = "part"


@dataclass(frozen=True)
class ModelPart:
    """Part of a model that one party keeps.

    ensemble : at the active party, with the thresholds that it knows
    thresholds : at a passive party, of each of its columns in their order
    """

    ensemble: Ensemble | None = None
    thresholds: tuple[np.ndarray, ...] = ()

    def check(self, role: str, columns: Sequence[int], d: int) -> None:
        """ValueError unless a party with these of d columns can score with it."""
        if (role == "active") != (self.ensemble is not None):
            raise ValueError(f"it is not that of the {role} party")
        if self.ensemble is not None:
            check_ensemble(self.ensemble, d, columns)
            if self.ensemble.outputs != 1:
                raise ValueError("it has several scores a record, which are not routed apart")
        elif len(self.thresholds) != len(columns) or not all(_are_cuts(cuts) for cuts in self.thresholds):
            raise ValueError(f"it has not the thresholds of {len(columns)} columns")


def _are_cuts(array: np.ndarray) -> bool:
    """Whether an array can be thresholds of a column."""
    return array.ndim == 1 and array.dtype.kind == "f" and not np.any(np.isnan(array))


@dataclass(frozen=True)
class TreeScores:
    """Scores of an inference, at the active party.

    scores : (n,), log odds where boosting learns classes; predictions : (n,) probabilities of label 1, or numbers
    """

    scores: np.ndarray
    predictions: np.ndarray
    epsilon_claimed: float = float("inf")


def refusal(options: TreeOptions) -> str:
    """Why no model of a method with these options is scored in a distributed run, with the remedy; empty if any is."""
    inference = getattr(options, "inference", None)
    if inference is None:
        return "grows trees in one place, which scores by itself: use pw.load there"
    return "has inference: none; state how records are routed, 'he', 'ss' or 'plain'" if inference == "none" else ""


def part_of(value: object, party: Participant, spec: TreeSpec[TreeOptions]) -> ModelPart | None:
    """The part that a party has of what a fit returned there; None where it has none that scores."""
    place, columns = party.name, party.columns
    estimate = estimate_at(value, place)
    if isinstance(estimate, TreeEstimate):
        return ModelPart(estimate.ensemble)
    # A fit on ranks reports the thresholds of their owners; those of tables are declared.
    if isinstance(value, PlaceReport) and (thresholds := value.value_at("thresholds", place)) is not None:
        return ModelPart(thresholds=thresholds)
    edges = [spec.public.columns[column].edges for column in columns]
    if not hasattr(spec.options, "stumps") or None in edges:
        return None
    return ModelPart(thresholds=tuple(np.asarray(cuts.value, dtype=float) for cuts in edges if cuts is not None))


def made_up_part(party: Participant, public: TreeFacts) -> ModelPart:
    """Empty part: no tree, and a cut of each column."""
    if party.role == "active":
        return ModelPart(Ensemble((), 0.0, 1.0))
    return ModelPart(thresholds=tuple(np.zeros(1) for _ in party.columns))


def local_ensemble(active: Party) -> Ensemble:
    """The trees and tables of the active party."""
    ensemble: Ensemble = local_part(active).ensemble  # type: ignore[assignment]
    return ensemble


def local_thresholds(passive: Party) -> tuple[np.ndarray, ...]:
    """The thresholds of a passive party."""
    return local_part(passive).thresholds


def local_part(party: Party) -> ModelPart:
    part: object = party.block[PART].item()
    assert isinstance(part, ModelPart)
    return part


def active_scores(scores: np.ndarray, spec: TreeSpec[TreeOptions]) -> TreeScores:
    """Scores, and what they predict."""
    if spec.options.algo == "rf" or spec.public.criterion != "CrossEntropyLoss":
        return TreeScores(scores, scores)
    return TreeScores(scores, LOGIT.mean(scores))


def to_scores(scores: TreeScores) -> TreeScores:
    """Return the scores of the active party as the estimate."""
    return scores


def fit(run: Run) -> TreeScores:
    """Routing by the option ``inference``; the active party has the scores."""
    active, passive = active_of(run.parties), passive_of(run.parties)
    rows = np.arange(len(run.fold.of))
    ensemble = run.at(active, local_ensemble)
    scores = score_rows(run, ensemble, run.each(passive, local_thresholds), rows)
    return run.assemble(to_scores, run.at(active.name, active_scores, scores, run.spec))
