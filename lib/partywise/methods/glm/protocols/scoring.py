"""Parts of a fitted model at its parties, and a protocol that predicts the means of new records from them.

Every passive party sends the linear predictor of its columns to the active one, which adds its own and the intercept.
No response is needed, and nothing is learnt.

What is protected: nothing is certified. The active party reads a number of every record from each passive party, which
reveals as much of its columns as they enter the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ....core.randomness import Rng
from ....federation.folds import ProtocolSpec
from ....federation.parties import Participant, Party
from ....federation.place_checks import estimate_at
from ....federation.places import PerPlace, Place, name_of, per_place
from ....federation.roles import roles
from ....federation.run import Run
from ....models.families import FAMILIES
from ....privacy.accounted_values import Clear
from ....privacy.mechanisms.integer import IntegerGaussian
from ....privacy.mechanisms.release import Release
from ..model import GlmEstimate, GlmFacts
from ..noisy_statistics.clip_counts import RECORDS, RESPONSES, CountPlan, NoisyCounts, beyond, outside
from ..noisy_statistics.scaling import local_response, local_scaled_columns, statistic


def local_part(party: Party, sent: np.ndarray, n_columns: int, epsilon: float) -> GlmEstimate:
    """Return the party's coefficients, the active one's with the intercept before them; the rest is nan."""
    coefficients = np.full(1 + n_columns, np.nan)
    coefficients[1 + np.asarray(party.columns, dtype=int)] = sent[len(sent) - len(party.columns) :]
    if len(sent) > len(party.columns):
        coefficients[0] = sent[0]
    return GlmEstimate(coefficients, epsilon_claimed=epsilon)


def held_parts(run: Run, sent: Mapping[str, np.ndarray]) -> PerPlace[GlmEstimate]:
    """Return every party's part of the estimate."""
    return run.each(run.parties, local_part, per_place(sent), len(run.spec.public.names), run.epsilon)


def with_records(
    estimate: GlmEstimate,
    rows: Mapping[str, np.ndarray] | None,
    clipped: Mapping[str, np.ndarray],
    scores: Sequence[float] = (),
) -> GlmEstimate:
    """Add the positions of the used records (None if they came aligned) and the shares that were clipped.

    clipped : of each party, which records of its block were (`local_clipped`)
    scores : shares of clipped scores, by step
    """
    numbers: dict[str, float | int | bool | str | None] = {
        "record_clip_share": float(np.mean(np.any(list(clipped.values()), axis=0)))
    }
    if len(scores):
        numbers["score_clip_share"] = float(np.mean(scores))
    positions = None if rows is None else dict(rows)
    return replace(estimate, rows=positions, numbers=estimate.numbers | numbers)


def local_counts(party: Party, place: int, rows: np.ndarray, plan: CountPlan, rng_for: Rng) -> Release:
    """Numbers (2,) of the party's records beyond its radius and beyond its far radius, with noise."""
    counts = beyond(local_scaled_columns(party, rows, plan.public), plan.radii[place])
    rng, name = rng_for(RECORDS, party.name), f"{RECORDS} of {party.name}"
    return IntegerGaussian(mu=plan.mu[place])(counts, rng, owner=party.name, release_id=name)


def local_outside(active: Party, rows: np.ndarray, plan: CountPlan, rng_for: Rng) -> Release:
    """Number (1,) of responses outside of their public range, with noise."""
    count = outside(statistic(local_response(active, rows, plan.public), plan.public.family), plan.public)
    return IntegerGaussian(mu=plan.mu[-1])(
        count, rng_for(RESPONSES, active.name), owner=active.name, release_id=RESPONSES
    )


def released_counts(
    run: Run, rows: PerPlace[np.ndarray], plan: CountPlan | None, readers: Sequence[Place]
) -> NoisyCounts | None:
    """Release the counts of all parties to all readers, who have them then; None without a plan.

    Each party pays for its own when it draws them, so they come after what all parties pay and wait for.
    """
    if plan is None:
        return None
    values = []
    for place, party in enumerate(run.parties):
        others = [reader for reader in readers if name_of(reader) != party.name]
        values.append(run.broadcast(party, others, RECORDS, local_counts, place, rows, plan, run.rng_for))
    if plan.active is not None:
        active = run.parties[plan.active]
        others = [reader for reader in readers if name_of(reader) != active.name]
        values.append(run.broadcast(active, others, RESPONSES, local_outside, rows, plan, run.rng_for))
    return run.among(readers, plan.counts_from, values)


@dataclass(frozen=True)
class ModelPart:
    """Part of a model that a party keeps.

    coefficients : (p_k,) of its columns; intercept : of the active party
    """

    coefficients: np.ndarray
    intercept: float | None = None

    def check(self, role: str, columns: tuple[int, ...], p: int) -> None:
        """ValueError unless a party with these of p columns can score with it."""
        if (role == "active") != (self.intercept is not None):
            raise ValueError(f"it is not that of the {role} party")
        numbers = [*self.coefficients.ravel().tolist(), self.intercept or 0.0]
        if self.coefficients.shape != (len(columns),) or not np.all(np.isfinite(numbers)):
            raise ValueError(f"it has not {len(columns)} finite coefficients")


@dataclass(frozen=True)
class LinearScores:
    """Result of scoring at the active party: (n,) linear predictors and means."""

    scores: np.ndarray
    predictions: np.ndarray
    epsilon_claimed: float = float("inf")


def refusal(options: object) -> str:
    """Why no model of a method with these options is scored in a distributed run, with the remedy; empty if any is."""
    return ""


def part_of(
    value: object, party: Participant, spec: ProtocolSpec[object, object, object, GlmFacts]
) -> ModelPart | None:
    """The part that a party has of what a fit returned there; None where it has none that scores."""
    estimate = estimate_at(value, party.name)
    if not isinstance(estimate, GlmEstimate) or estimate.status != "ok":
        return None
    coefficients = estimate.coefficients[1 + np.asarray(party.columns, dtype=int)]
    intercept = float(estimate.coefficients[0]) if party.role == "active" else None
    return ModelPart(coefficients, intercept) if np.all(np.isfinite([*coefficients, intercept or 0.0])) else None


def made_up_part(party: Participant, public: GlmFacts) -> ModelPart:
    """A part whose coefficients are 0."""
    return ModelPart(np.zeros(len(party.columns)), 0.0 if party.role == "active" else None)


def local_own_predictor(party: Party) -> np.ndarray:
    """(n,) what the columns of a party add to the linear predictor."""
    part: ModelPart = party.block["part"].item()
    return np.asarray(party.block["X"] @ part.coefficients)


def local_predictor(passive: Party) -> Clear:
    """(n,) linear predictors of a passive party's columns."""
    return Clear(local_own_predictor(passive), units=("features",), owner=passive.name)


def local_scores(active: Party, others: tuple[np.ndarray, ...], family: str) -> LinearScores:
    """Linear predictors of all columns, and the means of the responses."""
    part: ModelPart = active.block["part"].item()
    total = local_own_predictor(active) + part.intercept
    for predictor in others:
        total = total + predictor
    return LinearScores(total, FAMILIES[family].mean(total))


def fit(run: Run) -> LinearScores:
    """One message of each passive party; the active party has the scores."""
    active, passive = roles(run.parties, bare=True)
    others = run.gather(passive, active, "linear predictors of new records", local_predictor)
    return run.at(active, local_scores, others, run.spec.public.family)
