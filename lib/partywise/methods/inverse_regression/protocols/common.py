"""Common parts of all protocols of this study: participating clients, their records, the final estimate."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np

from ....core.arrays import orient
from ....core.randomness import Rng, once
from ....federation.parties import Party
from ....federation.payloads import Payload
from ....federation.run import Run
from ....models.intervals import NOT_COMPUTED, Intervals
from ....privacy.accounted_values import AccountedValue, Clear
from ....privacy.mechanisms.release import Release, Terms, derive
from ..estimate import Subspace, aggregate, dp_lda
from ..model import SlicingCase, SlicingEstimate, SlicingFacts, SlicingOptions, SlicingSpec
from ..moments import SliceMoments, large_enough
from ..records import ClientRecords
from ..screening import ccmd_multiplicity
from .dimension import NOT_ESTIMATED, ModelOrder
from .noise import Deviations

Options = TypeVar("Options", bound=SlicingOptions, covariant=True)
# Why a noisy basis has no deviations.
NO_FORMULA = (
    "a formula to first order is known of a finite basis of 'whitened', and of 'certified' with aggregation 'mean' and "
    "second 'goe'"
)
NO_DIRECTION = (
    "no singular value of the slice means exceeds noise and sampling alone: use more records, a larger epsilon or "
    "other slices"
)


class ClientTerms(Terms):
    """Terms that a client's release states."""

    owner: str
    stratum: str


@dataclass(frozen=True)
class RecordView:
    """View of clients on their records, shared by methods that screen columns by the same statistic."""

    facts: SlicingFacts
    settings: SlicingCase
    screening: str

    def __hash__(self) -> int:
        return hash((self.facts, self.screening))


@dataclass(frozen=True)
class SlicingPlan(Generic[Options]):
    """Public facts of a fit before its first message, which determine a client's releases."""

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
        """View of clients on their records."""
        return RecordView(self.spec.public, self.spec.settings, self.spec.options.screened_by)


def participating_clients(run: Run, least: float = 1) -> tuple[list[Party], list[int]]:
    """The clients that are large enough, and their sizes: public numbers."""
    sizes = run.spec.public.sizes[: len(run.parties)]
    positions = large_enough(sizes, least)
    return [run.parties[k] for k in positions], [sizes[k] for k in positions]


@once
def local_records(client: Party, view: RecordView, rng_for: Rng) -> ClientRecords:
    """The client's records, which stay with it."""
    return view.facts.records(client.block, view.facts, view.settings, view.screening)


@once
def local_moments(
    client: Party, view: RecordView, quantile: bool, columns: np.ndarray | None, clipped: bool, rng_for: Rng
) -> SliceMoments:
    """Moments of the client in its own slices or the public ones, which stay with it."""
    moments = local_records(client, view, rng_for).moments(quantile=quantile, columns=columns, clipped=clipped)
    if clipped:
        client.clips.add_share("radius", moments.clip_share, moments.n * len(moments.sums))
    return moments


@dataclass(frozen=True)
class ClientFacts:
    """Facts of a fit from a client's records, which stay with it."""

    # Of the entries behind its moments that the public radius clipped; None where nothing is clipped.
    clip_share: float | None
    # Records (H,) of the slices.
    counts: np.ndarray
    # The two least responses, if one slice holds all.
    levels: tuple[object, ...]


def local_facts(
    client: Party, view: RecordView, quantile: bool, columns: np.ndarray | None, clipped: bool | None, rng_for: Rng
) -> ClientFacts:
    """Return the facts from the client's records, which stay with it; ``clipped`` as for its moments, else None."""
    if clipped is None:
        share, counts = None, local_records(client, view, rng_for).counts()
    else:
        moments = local_moments(client, view, quantile, columns, clipped, rng_for)
        share, counts = moments.clip_share if clipped else None, moments.counts
    responses = client.block.get("y") if np.count_nonzero(counts) == 1 else None
    levels = () if responses is None else tuple(np.unique(responses)[:2].tolist())
    return ClientFacts(share, counts, levels)


def with_facts(estimate: SlicingEstimate, facts: Mapping[str, ClientFacts], weights: Sequence[int]) -> SlicingEstimate:
    """The estimate, with the share of all its entries that were clipped, and why its records give no direction."""
    local = list(facts.values())
    shares = [client_facts.clip_share for client_facts in local if client_facts.clip_share is not None]
    if shares:
        share = float(np.average(shares, weights=weights))
        estimate = replace(estimate, numbers=estimate.numbers | {"entry_clip_share": share})
    counts = np.sum([client_facts.counts for client_facts in local], axis=0)
    levels = {level for client_facts in local for level in client_facts.levels}
    if np.count_nonzero(counts) > 1:
        return estimate
    if len(levels) == 1:
        reason = f"y is {levels.pop()!r} in all {sum(weights)} records: give a response that varies"
        return replace(estimate, status="constant_response", reason=reason)
    reason = f"all responses lie in one of {len(counts)} slices: give edges inside the range of y, or the classes of y"
    return replace(estimate, status="one_slice", reason=reason)


@dataclass(frozen=True)
class ColumnChoice:
    """Rule by which a client selects columns without noise: own slices or public ones, and the rule per slice."""

    own: bool
    threshold: float | None
    top: int | None


@once
def local_choice(client: Party, view: RecordView, rule: ColumnChoice, rng_for: Rng) -> Clear:
    """Multiset of columns that the client's slices select: no noise, so that it is unprotected."""
    omega = local_records(client, view, rng_for).differences(quantile=rule.own)
    chosen = ccmd_multiplicity(omega, threshold=rule.threshold, top=rule.top)
    columns = np.flatnonzero(chosen)
    return Clear(np.stack([columns, chosen[columns]]), units=("row",), owner=client.name)


def server_table(choices: Sequence[np.ndarray], n_columns: int) -> np.ndarray:
    """Return the number of slices of each client that selected each column, shape (K, p)."""
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


def weighted_mean(values: Iterable[np.ndarray], weights: Sequence[int]) -> np.ndarray:
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
    least: float = 0.0,
) -> Subspace:
    """Basis from received slice means, each (p, H), and the merged second moment (p, p); NaN if nothing can be made."""
    stack = np.stack(means)
    if not (np.all(np.isfinite(stack)) and np.all(np.isfinite(second))):
        return failed_subspace(stack.shape[1], n_directions)
    if inversion == "floor" and not np.linalg.eigvalsh(second)[-1] > 0:
        return failed_subspace(stack.shape[1], n_directions)
    subspace = aggregate(
        stack, weights, second, n_directions, aggregation=aggregation, inversion=inversion, least=least
    )
    if estimator == "sir":
        return subspace
    mean = np.tensordot(np.asarray(weights) / np.sum(weights), stack, 1)
    return Subspace(dp_lda(mean, second, inversion), subspace.strengths, subspace.n_floored, subspace.indefinite, False)


def failed_subspace(p: int, n_directions: int) -> Subspace:
    """No basis: noise left no positive eigenvalue, or numbers left the range of floating point."""
    return Subspace(np.full((p, n_directions), np.nan), np.zeros(1), 0, True, True)


def server_estimate(
    subspace: Subspace,
    spec: SlicingSpec[object],
    *,
    epsilon_claimed: float,
    epsilon: float,
    clients: int,
    columns: np.ndarray | None = None,
    errors: np.ndarray | None = None,
    intervals: Intervals = NOT_COMPUTED,
    loss_bound: float | None = None,
    sds: Deviations | None = None,
    order: ModelOrder = NOT_ESTIMATED,
    records: int | None = None,
    **numbers: float | int | bool | None,
) -> SlicingEstimate:
    """The estimate in all p columns, with flags and, given ``records``, a verdict from releases and public numbers."""

    def spread(rows: np.ndarray) -> np.ndarray:
        if columns is None:
            return rows
        whole = np.zeros((spec.public.n_columns, rows.shape[1]))
        whole[columns] = rows
        return whole

    flags = {
        "floored_eigenvalues": subspace.n_floored,
        "indefinite": subspace.indefinite,
        "unidentified": subspace.unidentified,
    }
    errors = None if errors is None else spread(errors)
    scalars: dict[str, float | int | bool | str | None] = {**flags, **numbers}
    status, reason = ("ok", "") if records is None else verdict(subspace, records, math.isfinite(epsilon))
    p_values: tuple[float, ...] = ()
    if order.size is not None:
        scalars["size"] = order.size
    if order.rank is not None:
        p_values, scalars["dimension"] = order.rank.p_values, order.rank.dimension
        if not order.rank.dimension:
            subspace = replace(subspace, basis=np.full((len(subspace.basis), 1), np.nan))
            errors, status, reason = None, "uninformative", NO_DIRECTION
    basis = orient(spread(subspace.basis))
    why = NO_FORMULA if errors is None and math.isfinite(epsilon) else ""
    return SlicingEstimate(
        *(basis, epsilon_claimed, epsilon, clients, columns, scalars, errors, intervals, loss_bound, sds),
        *(status, reason, why, p_values),
    )


def verdict(subspace: Subspace, records: int, noisy: bool) -> tuple[str, str]:
    """Status of a basis and the sentence for it; ``noisy``: whether noise was added."""
    p = len(subspace.basis)
    if p > records:
        reason = f"X has {p} columns and {records} records: their covariance has no inverse; screen columns first"
        return "more_columns_than_records", reason
    lost = not np.all(np.isfinite(subspace.basis))
    if not lost and not subspace.n_floored:
        return "ok", ""
    which = f"no eigenvalue of {p}" if lost else f"{p - subspace.n_floored} of {p} eigenvalues"
    if noisy:
        cause, remedy = "stand out from the noise", "use more records, a larger epsilon or fewer columns"
    else:
        cause, remedy = "exceed rounding", "leave out columns that are constant, clipped throughout or sums of others"
    return "singular", f"{which} of the covariance {cause if not lost else cause.replace(' ', 's ', 1)}: {remedy}"
