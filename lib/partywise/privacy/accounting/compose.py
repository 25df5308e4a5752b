"""Any multiset of laws as one (epsilon, delta): Gaussians first, finite laws beside them, the rest on a grid.

Gaussians join one mu before anything is rounded; finite laws (pure, randomised response) are summed exactly beside it
(`finite`); Poisson-sampled Gaussians, and more finite laws than can be enumerated, go to a grid (`convolution`).
Laws known by their zCDP parameter alone take the lesser of everything as zCDP and a split of delta. Every number is
rounded up.
"""

import functools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..rounding import round_up, total
from .calibration import gaussian_delta, gaussian_epsilon, zcdp_epsilon
from .convolution import grid_delta, grid_epsilon
from .finite import SLACK, Atoms, atoms_delta, atoms_epsilon, lattice, sum_atoms
from .law import Law, check_law
from .pld import Part
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
# Largest epsilon of laws that are drawn to within a distance in total variation: beyond it e^epsilon nears the end of
# floats.
LARGEST_BESIDE = 600.0


@dataclass(frozen=True, slots=True)
class Composition:
    """A multiset of laws, as small as exactness allows; hashable.

    Compositions add, and are repeated by whole numbers: ``(10 * cost(mu=0.1) + cost(epsilon=0.5)).epsilon(1e-5)``.

    Parameters
    ----------
    mu_squared : float
        Of all unsampled Gaussians.
    rho : float
        Summed zCDP of the rows known by nothing better.
    finite : tuple of (epsilon, k or None, count)
        Pure laws and randomised responses, sorted.
    sampled_gaussians : tuple of (mu, rate, count)
        Poisson-sampled Gaussians, sorted.
    delta_numeric : float
        What is added to delta beside the laws.
    tv : float
        Distance in total variation of what is drawn from what the laws state: (1 + e^epsilon) times it is added to
        delta at epsilon.
    """

    mu_squared: float = 0.0
    rho: float = 0.0
    finite: tuple[tuple[float, int | None, int], ...] = ()
    sampled_gaussians: tuple[tuple[float, float, int], ...] = ()
    delta_numeric: float = 0.0
    tv: float = 0.0

    @property
    def gaussian(self) -> bool:
        """Whether there is nothing but unsampled Gaussians."""
        return not (self.rho or self.finite or self.sampled_gaussians or self.delta_numeric or self.tv)

    @property
    def mu(self) -> float:
        """Gaussian-DP parameter of the Gaussians."""
        return math.sqrt(self.mu_squared)

    @property
    def infinite(self) -> bool:
        """Whether a law has no noise."""
        return math.inf in (self.mu_squared, self.rho, self.pure) or any(
            mu == math.inf for mu, _, _ in self.sampled_gaussians
        )

    @property
    def pure(self) -> float:
        """Sum of the pure epsilons: basic composition of the finite laws."""
        return total(epsilon * count for epsilon, _, count in self.finite)

    @property
    def zcdp(self) -> float:
        """Summed zCDP parameter of everything."""
        finite = total(round_up(epsilon * epsilon / 2 * count, epsilon) for epsilon, _, count in self.finite)
        sampled = total(round_up(mu * mu / 2 * count, mu) for mu, _, count in self.sampled_gaussians)
        return self.mu_squared / 2 + self.rho + finite + sampled

    def __add__(self, other: Any) -> "Composition":
        return self.merge(other) if isinstance(other, Composition) else NotImplemented

    def __radd__(self, other: Any) -> "Composition":
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
        )

    __rmul__ = __mul__

    def merge(self, other: "Composition") -> "Composition":
        """Both, one after the other."""
        finite, sampled = Counter[Any](), Counter[Any]()
        for part in (self, other):
            finite.update({(epsilon, k): count for epsilon, k, count in part.finite})
            sampled.update({(mu, rate): count for mu, rate, count in part.sampled_gaussians})
        return arrange(
            self.mu_squared + other.mu_squared,
            self.rho + other.rho,
            finite,
            sampled,
            self.delta_numeric + other.delta_numeric,
            self.tv + other.tv,
        )

    @property
    def laws(self) -> "Composition":
        """The laws alone, with nothing beside them."""
        return replace(self, delta_numeric=0.0, tv=0.0) if self.delta_numeric or self.tv else self

    def epsilon(self, delta: float) -> float:
        """Least epsilon at ``delta`` in [0, 1), rounded up."""
        if self.gaussian:
            return _gaussian_epsilon(self.mu, float(delta))
        left = check_delta(delta) - self.delta_numeric
        return epsilon_beside(lambda rest: _epsilon(self.laws, rest), left, self.tv)

    def delta(self, epsilon: float) -> float:
        """Least delta at ``epsilon`` >= 0, rounded up."""
        if not epsilon >= 0:
            raise ValueError(f"epsilon={epsilon!r} must be non-negative.")
        return min(1.0, _delta(self.laws, float(epsilon)) + self.delta_numeric + beside(self.tv, float(epsilon)))


def cost(**law: Any) -> Composition:
    """What one law costs, as a composition of its own, to be added and repeated.

    Parameters
    ----------
    **law
        Fields of `Law`: one of ``mu``, ``rho`` and ``epsilon``, and what goes with it (``k``, ``rate``, ``count``).
        A ``rate`` is credited for neighbours of whom one contributes nothing to the sampled sum (``add_remove``,
        ``label_flip``); for a record that is replaced give none.

    Raises
    ------
    ValueError
        If the fields state no law, or one is out of range.
    """
    made = Law(**law)
    if made.mu is made.rho is made.epsilon is None:
        raise ValueError("cost() states no law: give mu (Gaussian), rho (zCDP) or epsilon (pure).")
    check_law(made, "of a cost")
    return compose([made])


def beside(tv: float, epsilon: float) -> float:
    """What a distance in total variation adds to delta at epsilon: (1 + e^epsilon) tv, rounded up; at most 1."""
    if tv == 0:
        return 0.0
    return 1.0 if epsilon > LARGEST_BESIDE else min(1.0, (1 + math.exp(epsilon)) * tv * (1 + SLACK))


def epsilon_beside(epsilon_of: Callable[[float], float], delta: float, tv: float) -> float:
    """Least epsilon of laws whose drawing is ``tv`` away from what they state, rounded up.

    Parameters
    ----------
    epsilon_of : callable
        Epsilon of the laws at a delta in [0, 1).
    delta : float
        What is left of delta for them; nothing is certified below 0.
    tv : float

    Notes
    -----
    The least epsilon with ``delta_of(epsilon) + (1 + e^epsilon) tv <= delta``: it is the limit from below of epsilon at
    the delta that the last epsilon leaves.
    """
    if delta < 0:
        return math.inf
    found = epsilon_of(delta)
    if tv == 0:
        return found
    while found <= LARGEST_BESIDE:
        left = delta - beside(tv, found)
        if left <= 0:
            return math.inf
        further = epsilon_of(left)
        if further - found <= 1e-13 * found:
            return further * (1 + 1e-12)
        found = further
    return math.inf


def compose(laws: Iterable[Law], delta_numeric: float = 0.0, tv: float = 0.0) -> Composition:
    """Join laws into a `Composition`; equal finite and sampled laws add their counts."""
    squares, rhos = [], []
    finite: Counter[tuple[float, int | None]] = Counter()
    sampled: Counter[tuple[float, float]] = Counter()
    for law in laws:
        square = law.mu_squared
        if square is not None:
            squares.append(square)
        elif law.free:
            continue
        elif law.rho is not None:
            rhos.append(law.count * law.rho)
        elif law.epsilon is not None:
            # Two outcomes are what a pure law is dominated by.
            finite[law.epsilon, None if law.k == 2 else law.k] += law.count
        elif law.mu is not None:
            sampled[law.mu, law.rate] += law.count
    return arrange(total(squares), total(rhos), finite, sampled, delta_numeric, tv)


def arrange(
    squares: float, rho: float, finite: Mapping[Any, int], sampled: Mapping[Any, int], numeric: float, tv: float = 0.0
) -> Composition:
    """Sums and counts of laws as a `Composition`: sorted, so that the order of the rows does not matter."""
    return Composition(
        squares,
        rho,
        tuple(sorted(((e, k, n) for (e, k), n in finite.items()), key=lambda part: (part[0], part[1] or 0))),
        tuple(sorted((mu, rate, n) for (mu, rate), n in sampled.items())),
        numeric,
        tv,
    )


@functools.lru_cache(maxsize=65536)
def _gaussian_epsilon(mu: float, delta: float) -> float:
    return float(gaussian_epsilon(mu, delta))


@functools.lru_cache(maxsize=16384)
def _epsilon(law: Composition, delta: float) -> float:
    """Of laws with nothing beside them."""
    if law.gaussian:
        return _gaussian_epsilon(law.mu, delta)
    if law.infinite:
        return math.inf
    if delta == 0:
        return math.inf if law.mu_squared or law.rho or law.sampled_gaussians else law.pure
    if law.rho:
        whole = float(zcdp_epsilon(law.zcdp, delta))
        return whole if delta < DELTAS else min(whole, _split(law, delta))
    found = _loss_epsilon(law, delta)
    return min(found, law.pure) if not (law.mu_squared or law.sampled_gaussians) else found


def _loss_epsilon(law: Composition, delta: float) -> float:
    """Epsilon from the distribution of the loss: without rows known by rho alone."""
    if delta < DELTAS or not within_limits(law):
        return float(zcdp_epsilon(law.zcdp, delta))
    atoms = finite_atoms(law)
    if atoms is not None:
        return atoms_epsilon(law.mu, atoms, delta)
    # The grid has its limits (extreme deltas, losses of thousands); what zCDP says holds always.
    return min(grid_epsilon(loss_parts(law), delta), float(zcdp_epsilon(law.zcdp, delta)))


def within_limits(law: Composition) -> bool:
    """Whether the losses of all laws are of a size that floats can add."""
    mus = [mu for mu, _, _ in law.sampled_gaussians] + ([law.mu] if law.mu_squared else [])
    counts = [part[-1] for part in (*law.finite, *law.sampled_gaussians)]
    return (
        all(MUS[0] <= mu <= MUS[1] for mu in mus)
        and all(rate >= RATES for _, rate, _ in law.sampled_gaussians)
        and all(LOSSES[0] <= epsilon <= LOSSES[1] for epsilon, _, _ in law.finite)
        and sum(counts) <= APPLICATIONS
    )


def finite_atoms(law: Composition) -> Atoms | None:
    """Summed losses of the finite laws; None beside sampled Gaussians, or where they are too many to enumerate."""
    return None if law.sampled_gaussians else sum_atoms([lattice(*part) for part in law.finite], ATOMS)


def loss_parts(law: Composition) -> list[Part]:
    """What a grid is made of: every law but those known by rho alone."""
    parts = [Part(atoms=lattice(*part)) for part in law.finite]
    parts += [Part(mu=mu, rate=rate, count=count) for mu, rate, count in law.sampled_gaussians]
    return parts + ([Part(mu=law.mu)] if law.mu_squared else [])


def _split(law: Composition, delta: float) -> float:
    """Best division of delta between the rows known by rho and the others (golden section in its log odds)."""
    rest, rho = replace(law, rho=0.0), law.rho
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
def _delta(law: Composition, epsilon: float) -> float:
    """Of laws with nothing beside them."""
    if law == Composition() or epsilon == math.inf:
        return 0.0
    if epsilon >= law.pure and not (law.mu_squared or law.rho or law.sampled_gaussians):
        return 0.0
    if law.infinite:
        found = 1.0
    elif law.gaussian:
        found = float(gaussian_delta(law.mu, epsilon)) * (1 + SLACK)
    elif law.rho or not within_limits(law):
        found = _delta_by_bisection(law, epsilon)
    else:
        atoms = finite_atoms(law)
        found = grid_delta(loss_parts(law), epsilon) if atoms is None else atoms_delta(law.mu, atoms, epsilon)
    # A loss that can be larger than epsilon has a delta, even where no float is as small.
    return min(1.0, max(found, LEAST))


def _delta_by_bisection(law: Composition, epsilon: float) -> float:
    """Least delta (to 1e-6, rounded up) at which epsilon is not exceeded; by zCDP alone where grids would take long."""
    quick = within_limits(law) and finite_atoms(law) is not None

    def exceeds(log_delta: float) -> bool:
        delta = math.exp(log_delta)
        return not (_epsilon(law, delta) if quick else float(zcdp_epsilon(law.zcdp, delta))) <= epsilon

    return math.exp(bisect(exceeds, -700.0, 0.0, gap=1e-6)[1])


def check_delta(delta: float) -> float:
    """``delta`` as a float; `ValueError` unless it lies in [0, 1)."""
    if not 0 <= delta < 1:
        raise ValueError(f"delta={delta!r} must lie in [0, 1).")
    return float(delta)
