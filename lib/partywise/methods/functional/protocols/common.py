"""Shared parts of every protocol on curves: the public plan, radii, clipping at a party."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

# Any: options of whichever method the plan is of.
from typing import Any, NamedTuple

import numpy as np

from ....core.randomness import Rng
from ....federation.folds import Fold
from ....federation.parties import Party
from ....federation.payloads import Payload
from ....federation.run import Run
from ....privacy.accounted_values import AccountedValue, Clear, Public
from ....privacy.mechanisms.integer import TABLE
from ....privacy.mechanisms.quantiles import QuantileRadius
from ....privacy.mechanisms.release import Release, derive
from ....privacy.rounding import bounded_entries
from ....privacy.statistics.clips import NormClip
from ....privacy.statistics.records import whole_curves
from ....privacy.statistics.whole import Whole
from ..coordinates import Coordinates, coordinates_of
from ..model import CurveFacts
from .noise import claimed_epsilon, levels_share_radii, noise_levels


@dataclass(frozen=True)
class CurvePlan:
    """Public plan of a fit, known before it.

    names : of the predictors; owner_columns : the predictors of each owner, in the order of the owners
    radii : public clipping radii of the predictors
    active : name of the active party; owners : names of the others, in order
    """

    options: Any
    epsilon: float
    delta: float
    fold: Fold
    names: tuple[str, ...]
    owner_columns: tuple[tuple[int, ...], ...]
    radii: tuple[AccountedValue, ...]
    coordinates: Coordinates
    active: str
    owners: tuple[str, ...]

    @classmethod
    def of(cls, run: Run) -> CurvePlan:
        """The plan of a run."""
        options, public = run.spec.options, run.spec.public
        active, *owners = run.parties
        return cls(
            options=options,
            epsilon=run.epsilon,
            delta=run.spec.study.delta,
            fold=run.fold,
            names=public.predictor_names,
            owner_columns=tuple(party.columns for party in owners),
            radii=radii(public, options.radius_value),
            coordinates=coordinates_of(public, options),
            active=active.name,
            owners=tuple(party.name for party in owners),
        )

    @cached_property
    def radius(self) -> np.ndarray:
        """Public radii (p,) as numbers."""
        return np.array([radius.value for radius in self.radii], dtype=float)

    @cached_property
    def this_fit(self) -> str:
        """Name that distinguishes this fit from others of a replicate."""
        return f"fit J={len(self.owner_columns)} fold={self.fold.held_out}"

    @property
    def world(self) -> tuple[str, ...]:
        """Further parts of the names of releases and of the addresses of their noise."""
        return (self.this_fit,) if getattr(self.options, "release", "once") == "per_fit" else ()

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Predictors of each base learner."""
        return active_groups(self.owner_columns, self.options.learner)

    @property
    def announces(self) -> bool:
        """Whether the radii come from the data."""
        return self.options.noise == "local" and self.options.radius != "public"

    def name_of(self, what: str) -> str:
        """Name of a release."""
        return " ".join((what, *self.world))

    def names_of(self, what: str, *columns: int) -> tuple[str, ...]:
        """Names of the releases of some predictors."""
        return tuple(self.name_of(f"{what} of {self.names[j]}") for j in columns)

    def all_names(self, what: str) -> tuple[str, ...]:
        """Names of the releases of all predictors, in the order in which they are sent."""
        return tuple(name for columns in self.owner_columns for name in self.names_of(what, *columns))

    def levels(self, radius: np.ndarray) -> np.ndarray:
        """Noise sd (p,) of the curves with these radii."""
        return noise_levels(self.options, radius, len(self.owner_columns), self.epsilon, self.delta)

    def claim(self, radius: np.ndarray) -> float:
        """The epsilon that the method claims."""
        s = self.levels(radius)
        return claimed_epsilon(self.options, radius, s, len(self.owner_columns), self.epsilon, self.delta)


class Radii(NamedTuple):
    """Clipping radii and who has them.

    of_owner : of its predictors, at each owner; parts : further radii that its noise rests on, at each owner
    at_owners : (p,) at every owner whose noise depends on all of them, else None; at_active : (p,)
    """

    of_owner: Sequence[AccountedValue]
    parts: Sequence[AccountedValue]
    at_owners: np.ndarray | None
    at_active: np.ndarray


def announced_radii(run: Run, plan: CurvePlan) -> Radii:
    """Public radii; or those of the data, announced by their owners and passed on to whose noise depends on all."""
    active, *owners = run.parties
    if not plan.announces:
        return Radii(run.each(owners, local_public, plan), (), None, plan.radius)
    of_owners = run.each(owners, local_radii, plan, run.rng_for)
    arrived = run.gather(
        owners, active, lambda owner: plan.names_of("radius", *owner.columns), local_payloads, of_owners
    )
    at_active = run.at(active.name, active_radii, arrived, plan)
    if not levels_share_radii(plan.options):
        return Radii(of_owners, (), None, at_active)
    if len(owners) == 1:
        return Radii(of_owners, of_owners, None, at_active)
    announced, audience = run.received(active, *plan.all_names("radius")), tuple(owner.name for owner in owners)
    passed = run.broadcast(active.name, owners, "radii", active_passed, at_active, announced, plan, audience)
    return Radii(of_owners, run.received(owners, "radii"), passed, at_active)


def local_public(party: Party, plan: CurvePlan) -> tuple[AccountedValue, ...]:
    """Public radii of the party's predictors."""
    return tuple(plan.radii[j] for j in party.columns)


def local_radii(party: Party, plan: CurvePlan, rng_for: Rng) -> tuple[Release | Clear, ...]:
    """Radii of the party's predictors from its data: a private quantile, or the source's ``adapt_Sx``, not private."""
    curves = [party.block["X"][:, i] for i in range(len(party.columns))]
    if plan.options.radius == "quantile":
        return tuple(quantile_radius(records, "features", party.name) for records in curves)
    norms = [np.linalg.norm(bounded_entries(records), axis=1) for records in curves]
    quantile, names = QuantileRadius(plan.options.radius_rho), plan.names_of("radius", *party.columns)
    return tuple(
        quantile(lengths, rng_for("radius", j, *plan.world), owner=party.name, release_id=name)
        for lengths, j, name in zip(norms, party.columns, names, strict=True)
    )


def quantile_radius(curves: np.ndarray, unit: str, owner: str) -> Clear:
    """The source's radius of curves (N, Q): the 95 % quantile of their lengths, which nothing protects."""
    return Clear(float(np.quantile(np.linalg.norm(bounded_entries(curves), axis=1), 0.95)), units=(unit,), owner=owner)


def local_payloads(party: Party, payloads: tuple[Payload, ...]) -> tuple[Payload, ...]:
    """Return the payloads that the party made before, as they leave."""
    return payloads


def active_radii(arrived: tuple[tuple[float, ...], ...], plan: CurvePlan) -> np.ndarray:
    """Radii (p,) as numbers."""
    radius = plan.radius.copy()
    for columns, values in zip(plan.owner_columns, arrived, strict=True):
        radius[list(columns)] = values
    return radius


def active_passed(
    radius: np.ndarray, announced: Sequence[AccountedValue], plan: CurvePlan, audience: tuple[str, ...]
) -> Payload:
    """All radii for the owners, at what they cost."""
    return derive(radius.copy(), announced, name=plan.name_of("radii"), owner=plan.active, audience=audience)


def local_known(
    party: Party, party_radii: Sequence[AccountedValue], passed: np.ndarray | None, plan: CurvePlan
) -> np.ndarray:
    """Radii (p,) as the party knows them; where no radii are passed on, levels depend on those of the party alone."""
    known = plan.radius.copy()
    known[list(party.columns)] = [radius.value for radius in party_radii]
    return known if passed is None else passed


def rests_on(parts: Sequence[AccountedValue]) -> tuple[AccountedValue, ...]:
    """The radii that the noise of an owner depends on: its own, or those that the message with all of them names."""
    return tuple(radius for part in parts for radius in part.made_of or (part,))


def radii(public: CurveFacts, value: float | None) -> tuple[AccountedValue, ...]:
    """Clipping radii of all predictors: those of the case, or one that the method's option gives to all."""
    if value is None:
        return tuple(public.radius)
    return (Public(value, because="radius_value of the method, an option"),) * len(public.radius)


def local_whole(
    party: Party, column: int, coordinates: Coordinates, radius: AccountedValue, level: float, shape: np.ndarray
) -> Whole | Clear:
    """Curves (N, q) of one predictor in working coordinates, clipped, for noise of covariance ``level^2 shape``.

    Whole steps, as many to a deviation of the noise as its table has, with sensitivity 2 S; without noise as they are.
    """
    curves = coordinates.predictors(party.block["X"][:, party.columns.index(column)])
    if level == 0:
        return Clear(curves, units=("features",), owner=party.name)
    whole = whole_curves(curves, NormClip(radius, coordinates.metric), level / TABLE, shape)
    # A radius that comes from the data clips by its definition.
    if isinstance(radius, Public):
        party.clips.add_share("radius_value", whole.clip_share, len(curves))
    return whole


def local_labels(party: Party) -> Clear:
    """The response as it is, which what goes back is made of."""
    return Clear(party.block["Y"], units=("label",), owner=party.name)


def merge_arrived(
    arrived: Sequence[np.ndarray | tuple[np.ndarray, ...]], owner_columns: Sequence[tuple[int, ...]]
) -> np.ndarray:
    """Curves (N, p, q) of all predictors, from the curves of each owner: one array a predictor, or one (N, m, q)."""
    parts = [curves if isinstance(curves, tuple) else curves.transpose(1, 0, 2) for curves in arrived]
    n, q = parts[0][0].shape
    curves = np.empty((n, sum(map(len, owner_columns)), q))
    for columns, owner_curves in zip(owner_columns, parts, strict=True):
        for j, values in zip(columns, owner_curves, strict=True):
            curves[:, j] = values
    return curves


def active_groups(owner_columns: Sequence[tuple[int, ...]], learner: str) -> tuple[tuple[int, ...], ...]:
    """Predictors of each base learner: one each, or one joint block a party."""
    if learner == "party":
        return tuple(tuple(columns) for columns in owner_columns)
    return tuple((j,) for j in sorted(j for columns in owner_columns for j in columns))
