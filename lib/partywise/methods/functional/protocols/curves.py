"""Protocol: every party releases its clipped, noised curves once; the active party boosts on the releases.

Source: document 000, "Differential Privacy" and "VFL Functional Boosting"; published or certified by its options.

What is protected: each record's curves at one party, against everyone but that party (unit ``features``,
``replace_one``, sequential over parties).  Not protected: the response, unless ``sy`` > 0 (the operators that go
back are then a function of releases only); who takes part; a radius taken from the data; later prediction queries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from ....core.errors import CertificationError
from ....core.randomness import Rng
from ....federation.parties import Party
from ....federation.run import Run
from ....privacy.accounted_values import AccountedValue, Clear, Public
from ....privacy.ledger.budget import PrivacyFilter
from ....privacy.mechanisms.integer import TABLE, IntegerGaussian
from ....privacy.mechanisms.release import Release, Terms
from ....privacy.statistics.clips import NormClip
from ....privacy.statistics.geometry import Ball, mahalanobis
from ....privacy.statistics.records import unwhiten, whole_curves
from ....privacy.statistics.whole import Whole
from ..boosting import BoostingFit, fit_boosting, fit_joint
from ..coordinates import Coordinates
from ..model import CurveEstimate, FitNumbers
from ..moments import CurveSums, block_noise, corrected_moments
from .common import (
    CurvePlan,
    announced_radii,
    local_known,
    local_labels,
    local_whole,
    merge_arrived,
    quantile_radius,
    rests_on,
)
from .estimate import estimate_of, operators_back, path_numbers
from .noise import chosen_rho, levels_share_radii, noise_levels, radius_cost

# A level that follows from private radii is named by what it shapes: by its clipped curves, and by `rests_on`.
ROUNDING = 1e-9


def noise_shape(plan: CurvePlan) -> np.ndarray:
    """Covariance (q, q) of the noise at level 1."""
    return plan.coordinates.gram_noise if plan.options.geometry == "gram" else plan.coordinates.white_noise


def curves_mechanism(plan: CurvePlan, level: float) -> IntegerGaussian:
    """Noise of standard deviation ``level`` on whitened curves.

    The source's formula makes the level proportional to the radius, so that the cost is the same for every private
    radius: there the cost is given, and the level follows from it.
    """
    options = plan.options
    if options.radius == "dp_quantile" and options.calibration == "classic":
        unit_level = noise_levels(options, np.ones(1), 1, plan.epsilon, plan.delta)[0]
        return IntegerGaussian(mu=2 * unit_reach(plan.coordinates, noise_shape(plan)) / unit_level)
    return IntegerGaussian(sigma=level)


def curves_budget(plan: CurvePlan) -> PrivacyFilter | None:
    """Budget of all curves together, where their levels are set by private radii; None elsewhere.

    The cost of one predictor depends on all radii and is seen with them. The sum of mu^2 = (2 S_j / s)^2 over the
    predictors is 2 (rho - p rho_q) for any radii, so that a budget fixed in advance pays for it.
    """
    options = plan.options
    if options.noise == "none" or options.radius != "dp_quantile" or not levels_share_radii(options):
        return None
    rho = chosen_rho(options, plan.epsilon, plan.delta) - radius_cost(options, len(plan.names))
    if not 0 < rho < np.inf:
        return None
    mu = unit_reach(plan.coordinates, noise_shape(plan)) * np.sqrt(2 * rho)
    return PrivacyFilter.of_mu(mu, unit="features", name=plan.name_of("budget of all curves"))


def require_within(budget: PrivacyFilter, radius: np.ndarray, levels: np.ndarray, plan: CurvePlan) -> None:
    """Raise unless the curves of all owners together fit into the budget, which each owner only charges for its own."""
    mu = 2 * unit_reach(plan.coordinates, noise_shape(plan)) * radius / levels
    total, allowed = float(np.linalg.norm(mu)), float(np.sqrt(budget.budget))
    if not total <= allowed * (1 + ROUNDING):
        raise CertificationError(
            f"the curves of all owners cost mu={total:.9g} together, and the budget that was fixed in advance is "
            f"{allowed:.9g}: their levels must be those of the radii that were announced."
        )


def unit_reach(coordinates: Coordinates, shape: np.ndarray) -> float:
    """Largest distance of a curve of length 1 from zero, in standard deviations of noise of this covariance."""
    return float(mahalanobis(Ball(1.0, None if coordinates.orthonormal else coordinates.gram), shape))


class OwnerCurves(NamedTuple):
    """Curves that an owner sends, and the shares of them that it clipped, which stay with it."""

    payloads: tuple[Release | Clear, ...]
    clip_shares: tuple[float, ...]


def local_curves(
    party: Party,
    radii: Sequence[AccountedValue],
    parts: Sequence[AccountedValue],
    passed: np.ndarray | None,
    plan: CurvePlan,
    rng_for: Rng,
) -> OwnerCurves:
    """Clip and noise the party's curves; without noise they leave in the clear, as they are."""
    known, budget, shape = local_known(party, radii, passed, plan), curves_budget(plan), noise_shape(plan)
    levels = plan.levels(known)
    if budget is not None:
        require_within(budget, known, levels, plan)
    payloads, shares = list[Release | Clear](), list[float]()
    for j, radius, name in zip(party.columns, radii, plan.names_of("curves", *party.columns), strict=True):
        curves = local_whole(party, j, plan.coordinates, radius, levels[j], shape)
        if isinstance(curves, Whole):
            terms: Terms = {"release_id": name, "data_dependent_parameters": rests_on(parts)}
            if budget is not None:
                terms["budget"] = budget
            mechanism, rng = curves_mechanism(plan, levels[j]), rng_for("curves", j, *plan.world)
            release = mechanism(curves, rng, owner=party.name, **terms)
            payloads.append(release.post_process(partial(unwhiten, shape=shape)))
            shares.append(curves.clip_share)
        else:
            payloads.append(curves)
            shares.append(0.0)
    return OwnerCurves(tuple(payloads), tuple(shares))


def local_sent(party: Party, drawn: OwnerCurves) -> tuple[Release | Clear, ...]:
    """The curves of the party, as they leave."""
    return drawn.payloads


def response_shape(plan: CurvePlan) -> np.ndarray:
    """Covariance (Qy, Qy) of the noise of the response at level 1, in orthonormal coordinates.

    As published N(0, M) on coefficients c = M^-1/2 y, which is N(0, M^2) on y.
    """
    gram = plan.coordinates.gram_y
    return gram.T @ gram if plan.options.geometry == "gram" else np.eye(len(gram))


def local_response(active: Party, plan: CurvePlan, rng_for: Rng) -> Release | Clear:
    """The response that the active party fits on: its own, or a noisy copy of it."""
    options, Y = plan.options, active.block["Y"]
    if options.sy == 0:
        return local_labels(active)
    radius: AccountedValue = Public(options.y_radius, because="y_radius of the method, an option")
    if options.y_radius == "quantile":
        radius = quantile_radius(Y, "label", active.name)
    rng, name, shape = rng_for("response", *plan.world), plan.name_of("response"), response_shape(plan)
    curves = whole_curves(Y, NormClip(radius), options.sy / TABLE, shape, unit="label", depends_on=("label",))
    # A radius that comes from the data clips by its definition.
    if isinstance(radius, Public):
        active.clips.add_share("y_radius", curves.clip_share, len(Y))
    release = IntegerGaussian(sigma=options.sy)(curves, rng, owner=active.name, release_id=name)
    return release.post_process(partial(unwhiten, shape=shape))


def active_fit(
    Z: np.ndarray, radius: np.ndarray, response: AccountedValue, plan: CurvePlan, rng_for: Rng
) -> BoostingFit:
    """Corrected moments of the training records and their halves, then the boosting path (or the joint solution)."""
    options, coordinates, fold = plan.options, plan.coordinates, plan.fold
    flat, Y = Z.reshape(len(Z), -1), coordinates.response(response.value)
    halves = [CurveSums.of(flat[rows], Y[rows]) for rows in (fold.half(0), fold.half(1))]
    noise = block_noise(plan.levels(radius)[:, None, None] ** 2 * noise_shape(plan), Z.shape[2], Z.shape[1])
    parts = (halves[0] + halves[1], *halves)
    response_noise = options.sy**2 * coordinates.to_y @ response_shape(plan) @ coordinates.to_y.T
    train, a, b = (corrected_moments(sums, noise, response_noise) for sums in parts)
    if options.learner == "joint":
        return fit_joint(train, coordinates.penalties, options)
    rng, trace = rng_for("probes"), float(np.trace(response_noise))
    return fit_boosting(train, a, b, plan.groups, coordinates.penalties, options, response_noise=trace, rng=rng)


def active_estimate(fit: BoostingFit, Z: np.ndarray, radius: np.ndarray, plan: CurvePlan) -> CurveEstimate:
    """The estimate, with its reported numbers."""
    level = float(np.sqrt(np.mean(plan.levels(radius) ** 2)))
    numbers: FitNumbers = {"radius": float(np.mean(radius)), "noise_sd": level}
    return estimate_of(fit, plan, plan.claim(radius), path_numbers(fit) | numbers, Z)


def with_clip_share(estimate: CurveEstimate, drawn: Mapping[str, OwnerCurves], plan: CurvePlan) -> CurveEstimate:
    """Add the share that was clipped, which stays with the owners and is reported to the evaluator alone."""
    clipped = np.zeros(len(plan.names))
    for columns, curves in zip(plan.owner_columns, drawn.values(), strict=True):
        clipped[list(columns)] = curves.clip_shares
    return replace(estimate, numbers=estimate.numbers | {"curve_clip_share": float(clipped.mean())})


def fit(run: Run) -> CurveEstimate:
    """Release once, correct the moments, boost; the operators go back to their parties."""
    active, *owners = run.parties
    plan = CurvePlan.of(run)
    budget = curves_budget(plan)
    if budget is not None:
        run.reserve(budget.row)
    radii, parts, passed, radius = announced_radii(run, plan)
    drawn = run.each(owners, local_curves, radii, parts, passed, plan, run.rng_for)
    arrived = run.gather(owners, active, lambda owner: plan.names_of("curves", *owner.columns), local_sent, drawn)
    Z = run.at(active.name, merge_arrived, arrived, plan.owner_columns)
    response = run.at(active, local_response, plan, run.rng_for)
    boosted = run.at(active.name, active_fit, Z, radius, response, plan, run.rng_for)
    estimate = run.at(active.name, active_estimate, boosted, Z, radius, plan)
    owner_estimates = operators_back(run, plan, estimate, plan.all_names("curves"), response)
    return run.assemble(with_clip_share, estimate, drawn, plan, parts=owner_estimates)
