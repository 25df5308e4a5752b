"""Any multiset of profiles as one (epsilon, delta): Gaussians first, then finite profiles, the rest on a grid.

Gaussians join one mu before anything is rounded; finite profiles (pure, randomised response) and the distribution that
dominates all picks of the exponential mechanism together (`picks`) are summed exactly next to
it (`finite`); Poisson-sampled Gaussians, and more finite profiles than can be enumerated, go to a grid (`convolution`).
Profiles known by their zCDP parameter alone take the lesser of everything as zCDP and a split of delta. Every number is
rounded up.
"""

import functools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Unpack

from ..rounding import round_up, total
from .calibration import gaussian_delta, gaussian_epsilon, zcdp_epsilon
from .convolution import grid_delta, grid_epsilon
from .finite import SLACK, Atoms, atoms_delta, atoms_epsilon, lattice, sum_atoms
from .picks import Picks, divide_picks, pick_atoms
from .pld import LossPart
from .privacy_profile import PrivacyProfile, ProfileFields, check_profile
from .roots import bisect

# More atoms than this go to the grid.
ATOMS = 4096
# The smallest positive float.
LEAST = 5e-324
# Limits of what a grid or a sum of atoms is asked: deltas, losses, mu, rates and numbers of applications. Beyond them
# the conversion of zCDP answers, which holds always.
DELTAS = 1e-280
LOSSES = (1e-12, 1e5)
MUS = (1e-8, 1e4)
RATES = 1e-12
APPLICATIONS = 10**9
# Largest epsilon of profiles that are drawn to within a distance in total variation: beyond it e^epsilon nears the end
# of floats.
LARGEST_TV_EPSILON = 600.0


@dataclass(frozen=True, slots=True)
class Composition:
    """A multiset of profiles, as small as exactness allows; hashable.

    Compositions add, and are repeated by whole numbers: ``(10 * cost(mu=0.1) + cost(epsilon=0.5)).epsilon(1e-5)``.

    mu_squared : of all unsampled Gaussians
    rho : summed zCDP of the rows known by nothing better
    finite : pure profiles and randomised responses as (epsilon, k or None, count), sorted
    sampled_gaussians : Poisson-sampled Gaussians as (mu, rate, count), sorted
    delta_numeric : what is added to delta next to the profiles
    tv : distance in total variation of what is drawn from what the profiles state, (1 + e^epsilon) times which is added
        to delta at epsilon
    picks : draws of the exponential mechanism as (range, count), sorted, adaptive and in any order with the rest
    """

    mu_squared: float = 0.0
    rho: float = 0.0
    finite: tuple[tuple[float, int | None, int], ...] = ()
    sampled_gaussians: tuple[tuple[float, float, int], ...] = ()
    delta_numeric: float = 0.0
    tv: float = 0.0
    picks: Picks = ()

    @property
    def gaussian(self) -> bool:
        """Whether there is nothing but unsampled Gaussians."""
        return not (self.rho or self.finite or self.picks or self.sampled_gaussians or self.delta_numeric or self.tv)

    @property
    def mu(self) -> float:
        """Gaussian-DP parameter of the Gaussians."""
        return math.sqrt(self.mu_squared)

    @property
    def infinite(self) -> bool:
        """Whether a profile has no noise."""
        return math.inf in (self.mu_squared, self.rho, self.pure) or any(
            mu == math.inf for mu, _, _ in self.sampled_gaussians
        )

    @property
    def pure(self) -> float:
        """Sum of the pure epsilons: basic composition of the finite profiles and the picks."""
        return total(
            [epsilon * count for epsilon, _, count in self.finite] + [reach * count for reach, count in self.picks]
        )

    @property
    def zcdp(self) -> float:
        """Summed zCDP parameter of everything; a pick of range r has r^2 / 8 (Cesar and Rogers 2021)."""
        finite = total(round_up(epsilon * epsilon / 2 * count, epsilon) for epsilon, _, count in self.finite)
        sampled = total(round_up(mu * mu / 2 * count, mu) for mu, _, count in self.sampled_gaussians)
        picks = total(round_up(reach * reach / 8 * count, reach) for reach, count in self.picks)
        return self.mu_squared / 2 + self.rho + finite + sampled + picks

    def __add__(self, other: object) -> "Composition":
        return self.merge(other) if isinstance(other, Composition) else NotImplemented

    def __radd__(self, other: object) -> "Composition":
        # sum() begins with 0.
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __mul__(self, times: int) -> "Composition":
        if isinstance(times, bool) or not isinstance(times, int) or times < 0:
            raise ValueError(f"a composition times {times!r}: it is repeated a whole number of times from 0.")
        if times == 0:
            return Composition()
        return Composition(
            round_up(self.mu_squared * times, self.mu_squared),
            round_up(self.rho * times, self.rho),
            tuple((epsilon, k, count * times) for epsilon, k, count in self.finite),
            tuple((mu, rate, count * times) for mu, rate, count in self.sampled_gaussians),
            round_up(self.delta_numeric * times, self.delta_numeric),
            round_up(self.tv * times, self.tv),
            tuple((reach, count * times) for reach, count in self.picks),
        )

    __rmul__ = __mul__

    def merge(self, other: "Composition") -> "Composition":
        """Both, one after the other."""
        finite: Counter[tuple[float, int | None]] = Counter()
        sampled: Counter[tuple[float, float]] = Counter()
        picks: Counter[float] = Counter()
        for part in (self, other):
            finite.update({(epsilon, k): count for epsilon, k, count in part.finite})
            sampled.update({(mu, rate): count for mu, rate, count in part.sampled_gaussians})
            picks.update(dict(part.picks))
        return arrange(
            self.mu_squared + other.mu_squared,
            self.rho + other.rho,
            finite,
            sampled,
            self.delta_numeric + other.delta_numeric,
            self.tv + other.tv,
            picks,
        )

    @property
    def profiles(self) -> "Composition":
        """The profiles alone, with nothing in addition to them."""
        return replace(self, delta_numeric=0.0, tv=0.0) if self.delta_numeric or self.tv else self

    @property
    def picks_as_pure(self) -> "Composition":
        """Composition with every pick at its pure epsilon."""
        return _with_picks(self, (), 0.0, self.picks) if self.picks else self

    @property
    def picks_followed(self) -> "Composition":
        """Composition with the picks of `pick_atoms` alone: each other one is a Gaussian or pure profile above it."""
        exact, square, pure = divide_picks(self.picks)
        return self if exact == self.picks else _with_picks(self, exact, square, pure)

    def epsilon(self, delta: float) -> float:
        """Least epsilon at ``delta`` in [0, 1), rounded up."""
        if self.gaussian:
            return _gaussian_epsilon(self.mu, float(delta))
        left = check_delta(delta) - self.delta_numeric
        return epsilon_with_tv(lambda rest: _epsilon(self.profiles, rest), left, self.tv)

    def delta(self, epsilon: float) -> float:
        """Least delta at ``epsilon`` >= 0, rounded up."""
        if not epsilon >= 0:
            raise ValueError(f"epsilon={epsilon!r} must be non-negative.")
        return min(1.0, _delta(self.profiles, float(epsilon)) + self.delta_numeric + tv_delta(self.tv, float(epsilon)))


def cost(**profile: Unpack[ProfileFields]) -> Composition:
    """Return the cost of one profile as a composition of its own, to be added and repeated.

    Parameters
    ----------
    **profile
        Fields of `PrivacyProfile`: one of ``mu``, ``rho``, ``epsilon`` and ``range`` (of a pick of the exponential
        mechanism), and what goes with it (``k``, ``rate``, ``count``). A ``rate`` is credited for neighbours of
        whom one contributes nothing to the sampled sum (``add_remove``, ``label_flip``); for a record that is replaced
        give none.

    Returns
    -------
    Composition
        Its ``epsilon(delta)`` is rounded up; Gaussians compose without loss (Dong, Roth and Su 2022).

    Raises
    ------
    ValueError
        If the fields state no profile, or one is out of range.

    Examples
    --------
    >>> import partywise as pw
    >>> plan = 1000 * pw.cost(mu=1.0, rate=0.01) + pw.cost(epsilon=0.5)  # steps on samples of 1 %, and one count
    >>> round(plan.epsilon(1e-5), 2)
    2.27
    >>> round((1000 * pw.cost(mu=1.0)).epsilon(1e-5))  # the same steps on all records
    634
    >>> picks = 10 * pw.cost(range=0.12)  # ten draws of the exponential mechanism, each chosen by those before it
    >>> pure = 10 * pw.cost(epsilon=0.12)
    >>> round((pw.cost(mu=0.3) + picks).epsilon(1e-5), 2), round((pw.cost(mu=0.3) + pure).epsilon(1e-5), 2)
    (1.37, 1.82)
    """
    if (reach := profile.get("range")) is not None:
        profile.setdefault("epsilon", reach)
    privacy_profile = PrivacyProfile(**profile)
    if privacy_profile.mu is privacy_profile.rho is privacy_profile.epsilon is None:
        raise ValueError("cost() states no profile: give mu (Gaussian), rho (zCDP) or epsilon (pure).")
    check_profile(privacy_profile, "of a cost")
    return compose([privacy_profile])


def _with_picks(composition: Composition, picks: Picks, square: float, pure: Picks) -> Composition:
    """Return the composition with these picks in place of its own, and more of mu squared and of pure profiles."""
    more = Composition(square, finite=tuple((reach, None, count) for reach, count in pure), picks=picks)
    return replace(composition, picks=()).merge(more)


def tv_delta(tv: float, epsilon: float) -> float:
    """Addition to delta at epsilon by a distance in total variation: (1 + e^epsilon) tv, rounded up; at most 1."""
    if tv == 0:
        return 0.0
    return 1.0 if epsilon > LARGEST_TV_EPSILON else min(1.0, (1 + math.exp(epsilon)) * tv * (1 + SLACK))


def epsilon_with_tv(epsilon_of: Callable[[float], float], delta: float, tv: float) -> float:
    """Least epsilon with ``delta_of(epsilon) + (1 + e^epsilon) tv <= delta``, rounded up; inf for a negative delta.

    It is the limit from below of ``epsilon_of`` at the delta that the last epsilon leaves.
    """
    if delta < 0:
        return math.inf
    epsilon = epsilon_of(delta)
    if tv == 0:
        return epsilon
    while epsilon <= LARGEST_TV_EPSILON:
        left = delta - tv_delta(tv, epsilon)
        if left <= 0:
            return math.inf
        further = epsilon_of(left)
        if further - epsilon <= 1e-13 * epsilon:
            return further * (1 + 1e-12)
        epsilon = further
    return math.inf


def compose(profiles: Iterable[PrivacyProfile], delta_numeric: float = 0.0, tv: float = 0.0) -> Composition:
    """Join profiles into a `Composition`; equal finite and sampled profiles add their counts."""
    squares, rhos = [], []
    finite: Counter[tuple[float, int | None]] = Counter()
    sampled: Counter[tuple[float, float]] = Counter()
    picks: Counter[float] = Counter()
    for profile in profiles:
        square = profile.mu_squared
        if square is not None:
            squares.append(square)
        elif profile.free:
            continue
        elif profile.rho is not None:
            rhos.append(profile.count * profile.rho)
        elif profile.range is not None:
            picks[profile.range] += profile.count
        elif profile.epsilon is not None:
            # Two outcomes are what a pure profile is dominated by.
            finite[profile.epsilon, None if profile.k == 2 else profile.k] += profile.count
        elif profile.mu is not None:
            sampled[profile.mu, profile.rate] += profile.count
    return arrange(total(squares), total(rhos), finite, sampled, delta_numeric, tv, picks)


def arrange(
    squares: float,
    rho: float,
    finite: Mapping[tuple[float, int | None], int],
    sampled: Mapping[tuple[float, float], int],
    numeric: float,
    tv: float = 0.0,
    picks: Mapping[float, int] = MappingProxyType({}),
) -> Composition:
    """Sums and counts of profiles as a `Composition`: sorted, so that the order of the rows does not matter."""
    return Composition(
        squares,
        rho,
        tuple(sorted(((e, k, n) for (e, k), n in finite.items()), key=lambda part: (part[0], part[1] or 0))),
        tuple(sorted((mu, rate, n) for (mu, rate), n in sampled.items())),
        numeric,
        tv,
        tuple(sorted(picks.items())),
    )


@functools.lru_cache(maxsize=65536)
def _gaussian_epsilon(mu: float, delta: float) -> float:
    return float(gaussian_epsilon(mu, delta))


@functools.lru_cache(maxsize=16384)
def _epsilon(composition: Composition, delta: float) -> float:
    """Epsilon at ``delta`` of profiles alone, without ``delta_numeric`` and ``tv``."""
    if composition.gaussian:
        return _gaussian_epsilon(composition.mu, delta)
    if composition.infinite:
        return math.inf
    if delta == 0:
        return (
            math.inf if composition.mu_squared or composition.rho or composition.sampled_gaussians else composition.pure
        )
    if composition.rho:
        whole = float(zcdp_epsilon(composition.zcdp, delta))
        return whole if delta < DELTAS else min(whole, _split(composition, delta))
    epsilon = _loss_epsilon(composition, delta)
    return min(epsilon, composition.pure) if not (composition.mu_squared or composition.sampled_gaussians) else epsilon


def _loss_epsilon(composition: Composition, delta: float) -> float:
    """Epsilon from the distribution of the loss: without rows known by rho alone."""
    exact = composition.picks_followed
    if delta < DELTAS or not within_limits(exact):
        return float(zcdp_epsilon(composition.zcdp, delta))
    atoms = finite_atoms(exact)
    if atoms is not None:
        return atoms_epsilon(exact.mu, atoms, delta)
    # The grid has its limits (extreme deltas, losses of thousands); what zCDP says holds always.
    return min(grid_epsilon(loss_parts(exact), delta), float(zcdp_epsilon(composition.zcdp, delta)))


def within_limits(composition: Composition) -> bool:
    """Whether the losses of all profiles are of a size that floats can add."""
    mus = [mu for mu, _, _ in composition.sampled_gaussians] + ([composition.mu] if composition.mu_squared else [])
    counts = [count for _, _, count in composition.finite] + [count for _, count in composition.picks]
    counts += [count for _, _, count in composition.sampled_gaussians]
    return (
        all(MUS[0] <= mu <= MUS[1] for mu in mus)
        and all(rate >= RATES for _, rate, _ in composition.sampled_gaussians)
        and all(LOSSES[0] <= epsilon <= LOSSES[1] for epsilon, _, _ in composition.finite)
        and sum(counts) <= APPLICATIONS
    )


def finite_atoms(composition: Composition) -> Atoms | None:
    """Summed losses of finite profiles and picks; None with sampled Gaussians, or where they are too many."""
    return None if composition.sampled_gaussians else sum_atoms(_atoms(composition), ATOMS)


def _atoms(composition: Composition) -> list[Atoms]:
    """Distributions of the finite profiles, and that of all picks together."""
    picks = [pick_atoms(composition.picks)] if composition.picks else []
    return [lattice(*part) for part in composition.finite] + picks


def loss_parts(composition: Composition) -> list[LossPart]:
    """Parts of a loss grid: every profile except those known by rho alone."""
    parts = [LossPart(atoms=atoms) for atoms in _atoms(composition)]
    parts += [LossPart(mu=mu, rate=rate, count=count) for mu, rate, count in composition.sampled_gaussians]
    return parts + ([LossPart(mu=composition.mu)] if composition.mu_squared else [])


def _split(composition: Composition, delta: float) -> float:
    """Best division of delta between the rows known by rho and the others (golden section in its log odds)."""
    # Nothing is proved here of picks that are chosen by rows of which rho alone is known.
    rest, rho = replace(composition, rho=0.0).picks_as_pure, composition.rho
    if rest == Composition():
        return float(zcdp_epsilon(rho, delta))

    def cost(odds: float) -> float:
        share = 1 / (1 + math.exp(-odds))
        return float(zcdp_epsilon(rho, share * delta)) + rest.epsilon((1 - share) * delta * (1 - 1e-15))

    low, high = -14.0, 14.0
    ratio = (math.sqrt(5) - 1) / 2
    best = math.inf
    for _ in range(18):
        a, b = high - ratio * (high - low), low + ratio * (high - low)
        at_a, at_b = cost(a), cost(b)
        best = min(best, at_a, at_b)
        low, high = (low, b) if at_a <= at_b else (a, high)
    return best


@functools.lru_cache(maxsize=16384)
def _delta(composition: Composition, epsilon: float) -> float:
    """Delta at ``epsilon`` of profiles alone, without ``delta_numeric`` and ``tv``."""
    if composition == Composition() or epsilon == math.inf:
        return 0.0
    if epsilon >= composition.pure and not (composition.mu_squared or composition.rho or composition.sampled_gaussians):
        return 0.0
    if composition.infinite:
        delta = 1.0
    elif composition.gaussian:
        delta = float(gaussian_delta(composition.mu, epsilon)) * (1 + SLACK)
    elif composition.rho or not within_limits(exact := composition.picks_followed):
        delta = _delta_by_bisection(composition, epsilon)
    else:
        atoms = finite_atoms(exact)
        delta = grid_delta(loss_parts(exact), epsilon) if atoms is None else atoms_delta(exact.mu, atoms, epsilon)
    # A loss that can be larger than epsilon has a delta, even where no float is as small.
    return min(1.0, max(delta, LEAST))


def _delta_by_bisection(composition: Composition, epsilon: float) -> float:
    """Least delta (to 1e-6, rounded up) at which epsilon is not exceeded; by zCDP alone where grids would take long."""
    exact = composition.picks_followed
    quick = within_limits(exact) and finite_atoms(exact) is not None

    def exceeds(log_delta: float) -> bool:
        delta = math.exp(log_delta)
        return not (_epsilon(composition, delta) if quick else float(zcdp_epsilon(composition.zcdp, delta))) <= epsilon

    return math.exp(bisect(exceeds, -700.0, 0.0, gap=1e-6)[1])


def check_delta(delta: float) -> float:
    """``delta`` as a float; `ValueError` unless it lies in [0, 1)."""
    if not 0 <= delta < 1:
        raise ValueError(f"delta={delta!r} must lie in [0, 1).")
    return float(delta)
