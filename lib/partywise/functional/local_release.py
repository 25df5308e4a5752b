"""Protocol: every party releases its clipped, noised curves once; the active party boosts on the releases.

Source: seed 000, "Differential Privacy" and "VFL Functional Boosting"; published or certified by its options.

What is protected: each record's curves at one party, against everyone but that party (unit ``features``,
``replace_one``, sequential over parties).  Not protected: the response, unless ``sy`` > 0 (the operators that go
back are then a function of releases only); who takes part; a radius taken from the data; later prediction queries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..parties import Party
from ..privacy.accounted import Public
from ..privacy.mechanisms import Gaussian, QuantileRadius, Release
from ..wire import Channel, Clear
from .boosting import BoostingFit, fit_boosting, fit_joint
from .communication import formula_bytes
from .coordinates import coordinates_of
from .data import Estimate
from .moments import Sums, block_noise, corrected_moments
from .noise import claimed_epsilon, noise_levels
from .protocol_options import LocalOptions
from .releases import (
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


def fit(
    parties: list[Party],
    channel: Channel,
    *,
    epsilon: float,
    fold: Any,
    rng_for: Callable[..., np.random.Generator],
    spec: Any,
) -> Estimate:
    """Release once, correct the moments, boost; the operators go back to their parties.

    Parameters
    ----------
    parties : list of Party
        The active party (``block["Y"]``, (N, Qy)) first, then the owners of predictors (``block["X"]``, (N, m, Qx)).
    channel : Channel
        The only way between them.
    epsilon : float
        Target of calibrated noise; inf where none is set.
    fold : Fold
        Public assignment of records to training, held-out and the two halves.
    rng_for : callable
        Generators by address.
    spec : MethodSpec
        ``options`` (LocalOptions), ``study`` (delta), ``public`` (bases, radii).
    """
    options, public, active, owners = spec.options, spec.public, parties[0], parties[1:]
    names, p = public.predictor_names, len(public.predictor_names)
    coordinates = coordinates_of(public, options)
    world = (f"fit J={len(owners)} fold={fold.held_out}",) if options.release == "per_fit" else ()

    # 1. radii: public, or announced by their party
    radii_used = radii(public, options.radius_value)
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
            radii_used[j] = payload

    # 2. releases: one a predictor, seen by the active party
    radius = sizes_of(radii_used)
    s = noise_levels(options, radius, len(owners), epsilon, spec.study.delta)
    shape = coordinates.gram_noise if options.geometry == "gram" else coordinates.white_noise
    Z, clipped = np.empty((len(active.block["Y"]), p, len(shape))), np.zeros(p)
    for party in owners:
        for j in party.columns:
            name = " ".join(("curves of", names[j], *world))
            if s[j] > 0:
                bounded = local_clip(party, j, coordinates, radii_used[j])
                mechanism = Gaussian(covariance=s[j] ** 2 * shape)
                payload = mechanism(bounded, rng_for("curves", j, *world), owner=party.name, release_id=name)
                clipped[j] = bounded.clip_share
            else:
                bounded = local_clip(party, j, coordinates, UNCLIPPED)
                payload = Clear(bounded.value, units=("features",), owner=party.name)
            Z[:, j] = channel.send(party.name, active.name, name, payload)
    received = Received(Z, s[:, None, None] ** 2 * shape, s, radius, float(clipped.mean()), coordinates)

    # 3. the active party fits, on its response or on a noisy copy of it
    Y, response = active.block["Y"], None
    if options.sy > 0:
        mechanism = Gaussian(sigma=options.sy)
        bounded = local_response(active, Public(options.y_radius, because="y_radius of the method, an option"))
        name = " ".join(("response", *world))
        response = mechanism(bounded, rng_for("response", *world), owner=active.name, release_id=name)
        Y = response.value
    groups = active_groups([party.columns for party in owners], options.learner)
    fitted = active_fit(received, Y, fold, groups, options, rng_for("probes"))
    claimed = claimed_epsilon(options, radius, s, len(owners), epsilon, spec.study.delta)
    sizes = [len(party.columns) for party in owners]
    formulas = formula_bytes(sizes, int(fold.train.sum()), len(Y), Z.shape[2], Y.shape[1], 2 * fold.n_folds)
    numbers = received.numbers() | formulas
    estimate = active_estimate(fitted, coordinates, groups, claimed, released=Z, **numbers)

    # 4. operators go back: post-processing of releases, or clear in the response (and in curves sent without noise)
    units = ("label",) if s.all() else ("label", "features")
    for party in owners:
        block = estimate.operators[list(party.columns)]
        back: Release | Clear = Clear(block, units=units, owner=active.name)
        if response is not None and s.all():
            back = Release(block, response.event)
        channel.send(active.name, party.name, "operators", back)
    return estimate
