"""Protocol: every party releases its clipped, noised curves once; the active party boosts on the releases.

Source: seed 000, "Differential Privacy" and "VFL Functional Boosting"; published or certified by its options.

What is protected: each record's curves at one party, against everyone but that party (unit ``features``,
``replace_one``, sequential over parties).  Not protected: the response, unless ``sy`` > 0 (the operators that go
back are then a function of releases only); who takes part; a radius taken from the data; later prediction queries.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...federation.run import Run
from ...privacy.accounted import Clear, Public
from ...privacy.ledger.budget import PrivacyFilter
from ...privacy.mechanisms.gaussian import Gaussian
from ...privacy.mechanisms.quantiles import QuantileRadius
from ...privacy.mechanisms.release import Release, Terms, derived
from ...privacy.statistics.geometry import Ball, mahalanobis
from ..boosting import BoostingFit, fit_boosting, fit_joint
from ..coordinates import Coordinates, coordinates_of
from ..model import Estimate
from ..moments import Sums, block_noise, corrected_moments
from ..options import LocalOptions
from .common import (
    UNCLIPPED,
    Received,
    active_estimate,
    active_groups,
    local_clip,
    local_norms,
    local_quantile,
    local_response,
    radii,
    sizes_of,
)
from .communication import formula_bytes
from .noise import chosen_rho, claimed_epsilon, levels_share_radii, noise_levels, radius_cost

# A level that follows from private radii is named by what it shapes: by its clipped curves, and by `rests_on`.
SHAPE = "noise level of the method times a matrix of the basis, which are options and settings"


def active_fit(
    received: Received,
    Y: np.ndarray,
    fold: Any,
    groups: tuple[tuple[int, ...], ...],
    options: LocalOptions,
    rng: np.random.Generator,
) -> BoostingFit:
    """Corrected moments of the training records and their halves, then the boosting path (or the joint solution)."""
    flat = received.Z.reshape(len(received.Z), -1)
    response = received.coordinates.response(Y)
    halves = [Sums.of(flat[rows], response[rows]) for rows in (fold.half(0), fold.half(1))]
    noise = block_noise(received.covariance, received.Z.shape[2], received.Z.shape[1])
    parts = (halves[0] + halves[1], *halves)
    train, a, b = (corrected_moments(sums, noise, options.sy**2) for sums in parts)
    penalties = received.coordinates.penalties
    if options.learner == "joint":
        return fit_joint(train, penalties, options)
    return fit_boosting(train, a, b, groups, penalties, options, response_noise=options.sy**2, rng=rng)


def curves_mechanism(
    options: LocalOptions, coordinates: Coordinates, shape: np.ndarray, level: float, epsilon: float, delta: float
) -> Gaussian:
    """Noise of covariance ``level^2 shape``.

    The source's formula makes the level proportional to the radius, so that the cost is the same whatever a private
    radius is: there the cost is given, and the level follows from it.
    """
    if options.radius == "dp_quantile" and options.calibration == "classic":
        one = noise_levels(options, np.ones(1), 1, epsilon, delta)[0]
        return Gaussian(mu=2 * unit_reach(coordinates, shape) / one, covariance=Public(shape, because=SHAPE))
    return Gaussian(covariance=Public(level**2 * shape, because=SHAPE))


def curves_budget(
    options: LocalOptions, coordinates: Coordinates, n_predictors: int, epsilon: float, delta: float, world: tuple
) -> PrivacyFilter | None:
    """What all curves may cost together, where their levels are set by private radii; None elsewhere.

    The cost of one predictor depends on all radii and is seen with them. The sum of mu^2 = (2 S_j / s)^2 over the
    predictors is 2 (rho - p rho_q) whatever the radii are, so that a budget fixed in advance pays for it.
    """
    if options.noise == "none" or options.radius != "dp_quantile" or not levels_share_radii(options):
        return None
    rho = chosen_rho(options, epsilon, delta) - radius_cost(options, n_predictors)
    if not 0 < rho < np.inf:
        return None
    shape = coordinates.gram_noise if options.geometry == "gram" else coordinates.white_noise
    mu = unit_reach(coordinates, shape) * np.sqrt(2 * rho)
    return PrivacyFilter.of_mu(mu, unit="features", name=" ".join(("budget of all curves", *world)))


def unit_reach(coordinates: Coordinates, shape: np.ndarray) -> float:
    """How far a curve of length 1 can be from zero, in standard deviations of noise of this covariance."""
    return float(mahalanobis(Ball(1.0, None if coordinates.orthonormal else coordinates.gram), shape))


def rests_on(options: LocalOptions, announced: dict[int, Release | Clear]) -> tuple[Release | Clear, ...]:
    """The radii that the noise of a predictor depends on, besides its own, which its clipped curves name."""
    return tuple(announced.values()) if levels_share_radii(options) else ()


def fit(run: Run) -> Estimate:
    """Release once, correct the moments, boost; the operators go back to their parties."""
    parties, channel, spec = run.parties, run.channel, run.spec
    epsilon, fold, rng_for = run.epsilon, run.fold, run.rng_for
    options, public, active, owners = spec.options, spec.public, parties[0], parties[1:]
    names, p = public.predictor_names, len(public.predictor_names)
    coordinates = coordinates_of(public, options)
    world = (f"fit J={len(owners)} fold={fold.held_out}",) if options.release == "per_fit" else ()

    # 1. radii: public, or announced by their party; passed on to the owners whose noise depends on all of them
    radii_used = radii(public, options.radius_value)
    budget = curves_budget(options, coordinates, p, epsilon, spec.study.delta, world)
    if budget is not None:
        channel.ledger.append(budget.row)
    announced: dict[int, Release | Clear] = {}
    for party in owners:
        for j in party.columns if options.noise == "local" and options.radius != "public" else ():
            name = " ".join(("radius of", names[j], *world))
            payload: Release | Clear
            if options.radius == "dp_quantile":
                quantile = QuantileRadius(options.radius_rho)
                norms = local_norms(party, j)
                payload = quantile(norms, rng_for("radius", j, *world), owner=party.name, release_id=name)
            else:
                payload = Clear(local_quantile(party, j), units=("features",), owner=party.name)
            channel.send(party.name, active.name, name, payload)
            radii_used[j] = announced[j] = payload
    radius = sizes_of(radii_used)
    known = dict.fromkeys((party.name for party in owners), radius)
    if announced and levels_share_radii(options):
        others = tuple(party.name for party in owners if len(party.columns) < p)
        all_radii = " ".join(("radii", *world))
        passed = derived(radius.copy(), [*announced.values()], name=all_radii, owner=active.name, audience=others)
        known |= {name: channel.send(active.name, name, "radii", passed) for name in others}

    # 2. releases: one a predictor, seen by the active party
    s = noise_levels(options, radius, len(owners), epsilon, spec.study.delta)
    shape = coordinates.gram_noise if options.geometry == "gram" else coordinates.white_noise
    Z, clipped = np.empty((len(active.block["Y"]), p, len(shape))), np.zeros(p)
    curves: list[Release | Clear] = []
    for party in owners:
        # A level that is not shared depends on the owner's own radius alone.
        level = noise_levels(options, known[party.name], len(owners), epsilon, spec.study.delta)
        for j in party.columns:
            name = " ".join(("curves of", names[j], *world))
            if level[j] > 0:
                bounded = local_clip(party, j, coordinates, radii_used[j])
                terms: Terms = {"release_id": name, "data_dependent_parameters": rests_on(options, announced)}
                if budget is not None:
                    terms["budget"] = budget
                mechanism = curves_mechanism(options, coordinates, shape, level[j], epsilon, spec.study.delta)
                payload = mechanism(bounded, rng_for("curves", j, *world), owner=party.name, **terms)
                clipped[j] = bounded.clip_share
            else:
                bounded = local_clip(party, j, coordinates, UNCLIPPED)
                payload = Clear(bounded.value, units=("features",), owner=party.name)
            Z[:, j] = channel.send(party.name, active.name, name, payload)
            curves.append(payload)
    received = Received(Z, s[:, None, None] ** 2 * shape, s, radius, coordinates)

    # 3. the active party fits, on its response or on a noisy copy of it
    Y = active.block["Y"]
    response: Release | Clear = Clear(Y, units=("label",), owner=active.name)
    if options.sy > 0:
        bounded = local_response(active, Public(options.y_radius, because="y_radius of the method, an option"))
        name = " ".join(("response", *world))
        response = Gaussian(sigma=options.sy)(bounded, rng_for("response", *world), owner=active.name, release_id=name)
        Y = response.value
    groups = active_groups([party.columns for party in owners], options.learner)
    fitted = active_fit(received, Y, fold, groups, options, rng_for("probes"))
    claimed = claimed_epsilon(options, radius, s, len(owners), epsilon, spec.study.delta)
    sizes = [len(party.columns) for party in owners]
    formulas = formula_bytes(sizes, int(fold.train.sum()), len(Y), Z.shape[2], Y.shape[1], 2 * fold.n_folds)
    # What share was clipped stays with the owners; it is reported to whoever runs the experiment.
    numbers = received.numbers() | formulas | {"clip_share": float(clipped.mean())}
    estimate = active_estimate(fitted, coordinates, groups, claimed, released=Z, **numbers)

    # 4. operators go back: they cost what the curves and the response cost
    for party in owners:
        back = derived(
            estimate.operators[list(party.columns)],
            [*curves, response],
            name=f"operators of {party.name} fit J={len(owners)} fold={fold.held_out}",
            owner=active.name,
            audience=(party.name,),
        )
        channel.send(active.name, party.name, "operators", back)
    return estimate
