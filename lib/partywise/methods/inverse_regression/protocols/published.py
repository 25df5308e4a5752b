"""Protocol: federated sliced inverse regression as published, with the constants that come closest to its tables.

Source: document 001, algorithms 1 to 3, proposition 2, lemma 1.  Not differentially private with its defaults: quantile
slices, c_R and the singular vectors behind the noise are taken from the data, and index sets cross in the clear.

What is claimed: (epsilon_m + epsilon_x, sum of the deltas) for one record of a client.  Trust: local, each client
noises its own moments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ....core.randomness import Rng, once
from ....federation.parties import Party
from ....federation.payloads import Payload
from ....federation.run import Run
from ....privacy.accounted_values import UNPROVED, AccountedValue
from ....privacy.mechanisms.release import Release
from ....privacy.strata import cell_of
from ..estimate import eigengap_dimension, leading
from ..model import SlicingEstimate, SlicingSpec
from ..moments import SliceMoments, centre
from ..options import SlicingPublishedOptions
from ..published import (
    covariance_release,
    fitted_sigma,
    iid_release,
    lemma1_sigma,
    minimal_n,
    prop2_sigma,
    vgm_floor,
    vgm_precision,
    vgm_release,
)
from ..screening import ccmd_select
from .common import (
    ClientTerms,
    ColumnChoice,
    RecordView,
    SlicingPlan,
    local_choice,
    local_facts,
    local_moments,
    participating_clients,
    server_answer,
    server_basis,
    server_estimate,
    server_table,
    weighted_mean,
    with_facts,
)


class PublishedPlan(SlicingPlan[SlicingPublishedOptions]):
    """Public facts of a fit as published; its epsilon is that of the slice means."""

    @cached_property
    def second(self) -> SecondMomentRule:
        """Rule of a client's second moment."""
        options, epsilon = self.spec.options, self.spec.settings.epsilon_second or self.epsilon
        return SecondMomentRule(
            options.slices == "quantile", options.centre, options.cov_clipped, options.cov_scale, epsilon
        )

    @property
    def choice(self) -> ColumnChoice:
        """The rule by which clients select columns."""
        options = self.spec.options
        top = None if options.threshold is not None else options.top or self.spec.settings.active
        return ColumnChoice(options.slices == "quantile", options.threshold, top)

    @property
    def least(self) -> float:
        """Records of the smallest client that takes part: enough for the noise that it tolerates."""
        options, settings = self.spec.options, self.spec.settings
        if options.sigma0 is None:
            return 1
        return minimal_n(self.spec.public.n_columns, settings.radius, self.epsilon, settings.delta, options.sigma0)

    def noise(self, n: int, p: int) -> float:
        """Sd of independent noise on slice means, or the least variance of shaped noise."""
        options, settings = self.spec.options, self.spec.settings
        if options.mechanism == "iid" and options.iid_variance == "fitted":
            return fitted_sigma(n, self.epsilon, settings.delta)
        rule = vgm_floor if options.vgm_variance == "variance" else vgm_precision
        rule = prop2_sigma if options.mechanism == "iid" else rule
        return rule(n, p, settings.radius, self.epsilon, settings.delta)


@dataclass(frozen=True)
class SecondMomentRule:
    """Inputs of a second moment's release besides the records: the same for either noise on slice means."""

    # Of the moments.
    own: bool
    centre: bool
    clipped: bool
    # Of lemma 1's noise.
    scale: float
    # Claimed.
    epsilon: float


def local_release(
    client: Party, plan: PublishedPlan, columns: np.ndarray | None, rng_for: Rng
) -> tuple[Release, Release]:
    """Noisy slice means (p, H) and second moment (p, p): one release at an epsilon, however many others take part."""
    second = local_second(client, plan.view, plan.second, columns, rng_for)
    return local_means(client, plan, columns, rng_for), second


def local_shaped(
    client: Party, view: RecordView, second: SecondMomentRule, columns: np.ndarray | None, clipped: bool, rng_for: Rng
) -> SliceMoments:
    """Moments that are released, about the mean of the records where that is asked for."""
    moments = local_moments(client, view, second.own, columns, clipped, rng_for)
    return centre(moments) if second.centre and clipped else moments


def local_terms(client: Party, columns: np.ndarray | None) -> ClientTerms:
    """Return the terms that both releases of a client state."""
    # How many columns there are, and with them the sensitivity, was chosen in the clear.
    parents: tuple[str, ...] = () if columns is None else (UNPROVED,)
    return {"owner": client.name, "stratum": cell_of("clients", client.name), "data_dependent_parameters": parents}


@once
def local_means(client: Party, plan: PublishedPlan, columns: np.ndarray | None, rng_for: Rng) -> Release:
    """The slice means with independent noise, or with noise shaped by their own singular vectors."""
    spec, options = plan.spec, plan.spec.options
    moments = local_shaped(client, plan.view, plan.second, columns, True, rng_for)
    rng, noise = rng_for("client", spec.public.number(client.name), "mean"), plan.noise(moments.n, moments.p)
    terms = local_terms(client, columns) | {"release_id": f"slice means of {client.name}"}
    terms |= {"epsilon_claimed": plan.epsilon}
    if options.mechanism == "iid":
        return iid_release(moments, noise, rng, **terms)
    d = spec.public.n_directions
    if options.dimension == "eigengap":
        d = eigengap_dimension(np.linalg.svd(moments.means, compute_uv=False))
    return vgm_release(moments, d, noise, rng, gap_sign=options.gap_sign, **terms)


@once
def local_second(
    client: Party, view: RecordView, second: SecondMomentRule, columns: np.ndarray | None, rng_for: Rng
) -> Release:
    """The second moment with the noise of lemma 1."""
    moments = local_shaped(client, view, second, columns, second.clipped, rng_for)
    terms = local_terms(client, columns) | {"release_id": f"second moment of {client.name}"}
    terms |= {"epsilon_claimed": second.epsilon}
    return covariance_release(
        moments,
        lemma1_sigma(moments.n, moments.p, second.epsilon, view.settings.delta),
        rng_for("client", view.facts.number(client.name), "covariance"),
        scale=second.scale,
        **terms,
    )


def server_selected(
    choices: Sequence[np.ndarray], spec: SlicingSpec[SlicingPublishedOptions]
) -> tuple[np.ndarray, bool]:
    """Columns with more votes of slices than half the clients, and whether the next ones complete them to d columns."""
    table, d = server_table(choices, spec.public.n_columns), spec.public.n_directions
    selected = ccmd_select(table)
    if len(selected) >= d:
        return selected, False
    return np.sort(np.argsort(-table.sum(axis=0), kind="stable")[:d]), True


def server_columns(
    selected: tuple[np.ndarray, bool], *given: *tuple[Sequence[AccountedValue], Sequence[str]]
) -> Payload:
    """The columns that stay."""
    return server_answer(selected[0], *given)


def server_dimension(
    means: Sequence[np.ndarray], weights: Sequence[int], spec: SlicingSpec[SlicingPublishedOptions]
) -> int:
    """The true d, or by the gaps of the singular values of the merged matrix."""
    if spec.options.dimension == "true":
        return spec.public.n_directions
    return eigengap_dimension(leading(np.stack(means), weights, 1)[1])


def server_fit(
    means: Sequence[np.ndarray],
    seconds: Sequence[np.ndarray],
    weights: Sequence[int],
    selected: tuple[np.ndarray | None, bool],
    plan: PublishedPlan,
    clients: int,
) -> SlicingEstimate:
    """Aggregation and inversion, however large the noise is; the noise sd is that of the last client."""
    spec, (columns, completed) = plan.spec, selected
    noise = plan.noise(weights[-1], len(means[-1]))
    subspace = server_basis(
        means,
        weights,
        weighted_mean(seconds, weights),
        server_dimension(means, weights, spec),
        aggregation=spec.options.chosen_aggregation,
        inversion="plain",
        estimator=spec.options.estimator,
    )
    return server_estimate(
        subspace,
        spec,
        epsilon_claimed=plan.epsilon + plan.second.epsilon,
        epsilon=plan.epsilon,
        clients=clients,
        columns=columns,
        records=sum(weights),
        skipped_clients=clients - len(weights),
        completed=completed,
        sd_means=noise if spec.options.mechanism == "iid" else float(np.sqrt(noise)),
        delta_claimed=spec.settings.claimed_delta,
    )


def fit(run: Run) -> SlicingEstimate:
    """One shot: screen (many columns only), release, aggregate."""
    plan, spec = PublishedPlan(run.spec, run.epsilon), run.spec
    clients, weights = participating_clients(run, plan.least)
    columns: np.ndarray | None = None
    selected: tuple[np.ndarray | None, bool] = (None, False)
    if spec.settings.screened:
        choices = run.gather(clients, "server", "selected columns", local_choice, plan.view, plan.choice, run.rng_for)
        selected = run.at("server", server_selected, choices, spec)
        received, audience = run.received("server", "selected columns"), [client.name for client in clients]
        columns = run.broadcast("server", clients, "columns", server_columns, selected, received, audience)
    names = ("slice means", "second moment")
    means, seconds = run.gather(clients, "server", names, local_release, plan, columns, run.rng_for)
    estimate = run.at("server", server_fit, means, seconds, weights, selected, plan, len(run.parties))
    facts = run.each(clients, local_facts, plan.view, plan.second.own, columns, True, run.rng_for)
    return run.assemble(with_facts, estimate, facts, weights)
