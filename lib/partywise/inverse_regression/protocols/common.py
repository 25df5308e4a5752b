"""What all protocols of this study share: who takes part, a client's records, the final estimate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np

from ...federation.parties import Party
from ...federation.payloads import Payload
from ...federation.run import Run
from ...privacy.accounted_values import AccountedValue, Clear
from ...privacy.mechanisms.release import Release, Terms, derive
from ...randomness import Rng, once
from ..estimate import Subspace, aggregate, dp_lda
from ..model import CaseSettings, Estimate, PublicFacts, SlicingOptions, SlicingSpec
from ..moments import Moments, large_enough
from ..records import Records
from ..screening import ccmd_multiplicity
from ..subspace import ReleasedMoments

R = TypeVar("R")
Options = TypeVar("Options", bound=SlicingOptions, covariant=True)


class ClientTerms(Terms):
    """What a release of a client states."""

    owner: str
    stratum: str


@dataclass(frozen=True)
class RecordView:
    """How clients read their records: what they share between methods that read the same.

    facts : what everyone knows; settings : of the case; screening : by which statistic columns are screened
    """

    facts: PublicFacts
    settings: CaseSettings
    screening: str

    def __hash__(self) -> int:
        return hash((self.facts, self.screening))


@dataclass(frozen=True)
class Plan(Generic[Options]):
    """What everyone knows of a fit before its first message: by it a client's releases are what they are.

    spec : of the method; epsilon : of the grid
    """

    spec: SlicingSpec[Options]
    epsilon: float

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        # All releases of a fit are remembered by their plan, whose fields are many.
        return hash((self.spec, self.epsilon))

    @cached_property
    def view(self) -> RecordView:
        """How clients read their records."""
        return RecordView(self.spec.public, self.spec.settings, self.spec.options.screened_by)


def participating_clients(run: Run, least: float = 1) -> tuple[list[Party], list[int]]:
    """The clients that are large enough, and their sizes: public numbers."""
    sizes = run.spec.public.sizes[: len(run.parties)]
    kept = large_enough(sizes, least)
    return [run.parties[k] for k in kept], [sizes[k] for k in kept]


@once
def local_records(client: Party, view: RecordView, rng_for: Rng) -> Records:
    """The client's records, which stay with it."""
    return view.facts.records(client.block, view.facts, view.settings, view.screening)


@once
def local_moments(
    client: Party, view: RecordView, own: bool, columns: np.ndarray | None, clipped: bool, rng_for: Rng
) -> Moments:
    """Moments of the client in its own slices or the public ones, which stay with it."""
    return local_records(client, view, rng_for).moments(own=own, columns=columns, clipped=clipped)


def local_first(client: Party, pair: tuple[R, object]) -> R:
    """The first of two values that a client has."""
    return pair[0]


def local_last(client: Party, pair: tuple[object, R]) -> R:
    """The other one."""
    return pair[1]


def local_clip_share(client: Party, view: RecordView, own: bool, columns: np.ndarray | None, rng_for: Rng) -> float:
    """Share of the entries behind the client's moments that the public radius clipped, which stays with it."""
    return local_moments(client, view, own, columns, True, rng_for).clip_share


def with_clip_share(estimate: Estimate, shares: Mapping[str, float], weights: Sequence[int]) -> Estimate:
    """The estimate, with the share of all its entries that were clipped."""
    found = float(np.average(list(shares.values()), weights=weights))
    return replace(estimate, numbers=estimate.numbers | {"entry_clip_share": found})


@dataclass(frozen=True)
class Choice:
    """Which columns a client selects without noise: own slices or public ones, and the rule of each slice."""

    own: bool
    threshold: float | None
    top: int | None


@once
def local_choice(client: Party, view: RecordView, rule: Choice, rng_for: Rng) -> Clear:
    """Multiset of columns that the client's slices select: no noise, so that it is unprotected."""
    omega = local_records(client, view, rng_for).differences(own=rule.own)
    chosen = ccmd_multiplicity(omega, threshold=rule.threshold, top=rule.top)
    found = np.flatnonzero(chosen)
    return Clear(np.stack([found, chosen[found]]), units=("row",), owner=client.name)


def server_table(choices: Sequence[np.ndarray], n_columns: int) -> np.ndarray:
    """How many slices of each client selected each column (K, p)."""
    table = np.zeros((len(choices), n_columns), dtype=np.int64)
    for row, (columns, multiplicity) in zip(table, choices, strict=True):
        row[columns] = multiplicity
    return table


def server_answer(columns: np.ndarray, choices: Sequence[AccountedValue], clients: Sequence[str]) -> Payload:
    """The columns that stay, as unprotected as what the clients selected."""
    return derive(columns, choices, name="columns", owner="server", audience=tuple(clients))


def noise_sd(releases: Sequence[Release]) -> float:
    """Noise sd of an entry of the last of several Gaussian releases, as its event states it."""
    event = releases[-1].event
    shares = math.sqrt(sum(event.weights.values()) or 1)
    return 0.0 if not event.mu or event.sensitivity is None else event.sensitivity / event.mu * shares


def merged_sd(releases: Sequence[Release], weights: Sequence[int]) -> float:
    """Noise sd of an entry of the mean of Gaussian releases, weighted by sizes."""
    sds = [noise_sd([release]) for release in releases]
    return float(np.linalg.norm(np.multiply(weights, sds)) / sum(weights))


def weighted_mean(values: Sequence[np.ndarray], weights: Sequence[int]) -> np.ndarray:
    """Mean of what clients sent, weighted by their sizes."""
    total: np.ndarray = np.zeros(())
    for value, weight in zip(values, weights, strict=True):
        total = total + weight * value
    return total / sum(weights)


def server_basis(
    means: Sequence[np.ndarray],
    weights: Sequence[int],
    second: np.ndarray,
    n_directions: int,
    *,
    aggregation: str = "mean",
    inversion: str = "floor",
    estimator: str = "sir",
) -> Subspace:
    """Basis from received slice means, each (p, H), and the merged second moment (p, p); NaN if nothing can be made."""
    stack = np.stack(means)
    if not (np.all(np.isfinite(stack)) and np.all(np.isfinite(second))):
        return failed_subspace(stack.shape[1], n_directions)
    if inversion == "floor" and not np.linalg.eigvalsh(second)[-1] > 0:
        return failed_subspace(stack.shape[1], n_directions)
    found = aggregate(stack, weights, second, n_directions, aggregation=aggregation, inversion=inversion)
    if estimator == "sir":
        return found
    mean = np.tensordot(np.asarray(weights) / np.sum(weights), stack, 1)
    return Subspace(dp_lda(mean, second, inversion), found.strengths, found.n_floored, found.indefinite, False)


def failed_subspace(p: int, n_directions: int) -> Subspace:
    """No basis: noise left no positive eigenvalue, or numbers left the range of floating point."""
    return Subspace(np.full((p, n_directions), np.nan), np.zeros(1), 0, True, True)


def server_estimate(
    found: Subspace,
    spec: SlicingSpec[object],
    *,
    epsilon_claimed: float,
    epsilon: float,
    clients: int,
    columns: np.ndarray | None = None,
    errors: np.ndarray | None = None,
    moments: ReleasedMoments | None = None,
    **numbers: float | int | bool | None,
) -> Estimate:
    """The estimate in all p columns, with its flags; ``errors`` of the basis, from noise."""

    def spread(kept: np.ndarray) -> np.ndarray:
        if columns is None:
            return kept
        whole = np.zeros((spec.public.n_columns, kept.shape[1]))
        whole[columns] = kept
        return whole

    flags = {
        "floored_eigenvalues": found.n_floored,
        "indefinite": found.indefinite,
        "unidentified": found.unidentified,
    }
    errors = None if errors is None else spread(errors)
    scalars: dict[str, float | int | bool | str | None] = {**flags, **numbers}
    return Estimate(spread(found.basis), epsilon_claimed, epsilon, clients, columns, scalars, errors, moments)
