"""Division of a client's budget among its kinds of release, by public numbers only."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

# Any: a specification of any class, of which a copy has other settings.
from typing import Any, TypeVar

from ....federation.exchanges.noisy_sums import noise_factor
from ....privacy.accounting.calibration import gaussian_epsilon, gdp_mu
from ....privacy.accounting.compose import cost
from ....privacy.accounting.roots import bisect
from ..model import SlicingSpec
from ..options import SlicingExactOptions
from .common import SlicingPlan

Options = TypeVar("Options", bound=SlicingExactOptions, covariant=True)

# Screening by signs in two rounds: the first keeps every fourth column, and pays this share of mu^2.
FIRST_PART, FIRST_SHARE = 4, 0.6


@dataclass(frozen=True)
class RoundPlan:
    """One round of screening: what crosses, what it costs, how many columns are left."""

    # From 1.
    number: int
    # Name of what a client sends.
    message: str
    # Gaussian-DP parameter of its release (0 of picks), and the share of the squared parameter of all rounds.
    mu: float
    share: float
    # Columns that stay.
    keep: int
    # Number of picks of a client, and the range of each; None where it releases none.
    picks: int = 0
    range: float | None = None


class CertifiedPlan(SlicingPlan[Options]):
    """Public facts of a certified fit; where clients share noise its delta is that of all records together."""

    @classmethod
    def of(cls, spec: Any, epsilon: float, clients: int) -> CertifiedPlan[Options]:
        """The plan of a fit in which so many clients take part."""
        shared = spec.options.shares_noise
        return cls(replace(spec, settings=spec.settings.of_all(clients)) if shared else spec, epsilon)

    def variance(self, clients: int) -> float:
        """Variance of the noise on a sum over clients, in that of one release: K where each adds its own noise, and
        K / (K - t) where each adds a share.
        """
        return noise_factor(self.spec.options.noise, clients, self.spec.options.colluders)

    @cached_property
    def epsilon_claimed(self) -> float:
        """Epsilon of all releases of a client together: the one asked for, or the sum of the source's claims."""
        if self.spec.options.calibrate == "total":
            return self.epsilon
        return sum(claimed_epsilons(self.spec, self.epsilon).values())

    @cached_property
    def budget(self) -> dict[str, float]:
        """Epsilon at which each kind of release is calibrated."""
        return calibrated_epsilons(self.spec, self.epsilon)

    @cached_property
    def n_kept(self) -> int:
        """Columns behind the moments."""
        return self.rounds[-1].keep if self.rounds else self.spec.public.n_columns

    @cached_property
    def rounds(self) -> tuple[RoundPlan, ...]:
        """Rounds of screening."""
        return screening_rounds(self.spec, self.budget, self.epsilon_claimed)


ExactPlan = CertifiedPlan[SlicingExactOptions]


def claimed_epsilons(spec: SlicingSpec[SlicingExactOptions], epsilon: float) -> dict[str, float]:
    """Epsilon of each kind of release of a client, as the source has it; their sum is its claim."""
    second = spec.settings.epsilon_second or epsilon
    budget = {"means": epsilon, "second": second}
    return budget | ({"screening": epsilon} if spec.settings.screened else {})


def calibrated_epsilons(spec: SlicingSpec[SlicingExactOptions], epsilon: float) -> dict[str, float]:
    """Epsilon at which each kind is calibrated, at its share of delta.

    ``calibrate="total"``: the options' shares of the squared Gaussian-DP parameter of epsilon, so that all kinds
    together cost exactly epsilon at delta.  ``"claims"``: the parameters of the source's claims times one factor, such
    that all kinds together cost exactly their sum.  ``"each"``: the claims themselves, so that the exact total lies
    below their sum.  Where persons are protected, these are the costs of all m records of one, and a record's is
    1/m of each parameter.
    """
    options, settings, group = spec.options, spec.settings, records_of(spec)
    budget = claimed_epsilons(spec, epsilon)
    if math.isinf(epsilon) or (options.calibrate == "each" and group == 1):
        return budget
    if options.calibrate == "total":
        wanted = float(gdp_mu(epsilon, settings.delta))
        mus = {kind: wanted * math.sqrt(share) for kind, share in shares(spec).items()}
    else:
        mus = {kind: float(gdp_mu(value, settings.release_delta)) for kind, value in budget.items()}
    factor = 1.0
    if options.calibrate == "claims":
        wanted = float(gdp_mu(sum(budget.values()), settings.delta))
        factor = wanted / math.sqrt(math.fsum(mu * mu for mu in mus.values()))
    epsilons = {kind: float(gaussian_epsilon(factor * mu / group, settings.release_delta)) for kind, mu in mus.items()}
    if not all(epsilons.values()):
        raise ValueError(
            f"epsilon is {epsilon:g}: the share of one release of one of {group} records is below what delta "
            f"{settings.release_delta:.3g} gives away; take a larger epsilon, a larger delta_power or a smaller "
            "rows_per_user."
        )
    return epsilons


def shares(spec: SlicingSpec[SlicingExactOptions]) -> dict[str, float]:
    """Share of each kind of release in the squared Gaussian-DP parameter of all of them."""
    first = spec.options.screening_share if spec.settings.screened else 0.0
    second = spec.options.second_share
    fractions = {"means": (1 - first) * (1 - second), "second": (1 - first) * second}
    return fractions | ({"screening": first} if spec.settings.screened else {})


def records_of(spec: SlicingSpec[SlicingExactOptions]) -> int:
    """Records that are protected together: those of one person, at most, where the study protects persons."""
    group = spec.settings.rows_per_user
    return group if group is not None and getattr(spec.study, "unit", None) == "user" else 1


def screening_rounds(
    spec: SlicingSpec[SlicingExactOptions], budget: dict[str, float], together: float
) -> tuple[RoundPlan, ...]:
    """Rounds of screening, none without it; together they cost mu = gdp_mu(epsilon, delta) of one release, picks what
    is left of ``together``, the epsilon of all releases of a client.

    Votes and picks take one round.  Signs take two where T is less than every fourth column: the sensitivity grows with
    the square root of the number of columns, so that the second round sees a quarter of them with half the noise.
    """
    if not spec.settings.screened:
        return ()
    epsilon, size, columns = budget["screening"], kept_columns(spec), spec.public.n_columns
    if spec.options.screening == "peeling":
        picks = picks_of(spec)
        return (RoundPlan(1, "picked columns", 0.0, 1.0, size, picks, pick_range(spec, budget, together, picks)),)
    mu = math.inf if math.isinf(epsilon) else float(gdp_mu(epsilon, spec.settings.release_delta))
    if spec.options.screening == "votes":
        return (RoundPlan(1, "votes", mu, 1.0, size),)
    first = -(-columns // FIRST_PART)
    if spec.options.rounds == 1 or first <= size:
        return (RoundPlan(1, "contrasts of signs", mu, 1.0, size),)
    shares = (FIRST_SHARE, 1 - FIRST_SHARE)
    return tuple(
        RoundPlan(number, "contrasts of signs", mu * math.sqrt(share), share, keep)
        for number, share, keep in zip((1, 2), shares, (first, size), strict=True)
    )


def picks_of(spec: SlicingSpec[SlicingExactOptions]) -> int:
    """Columns that each client picks: half of those that stay, rounded up, unless the options set it."""
    picks, columns = spec.options.picks or -(-kept_columns(spec) // 2), spec.public.n_columns
    if picks > columns:
        raise ValueError(f"picks is {picks}: there are {columns} columns; take at most as many.")
    return picks


def pick_range(spec: SlicingSpec[SlicingExactOptions], budget: dict[str, float], together: float, count: int) -> float:
    """Range of each of ``count`` picks of a client.

    By Gumbel noise the largest at which all releases of a client, its picks before or after any other, cost
    ``together`` (with ``calibrate="each"`` the picks alone, their epsilon). By Laplace noise, as published, pure
    epsilons that advanced composition adds up to that of screening.
    """
    epsilon, delta = budget["screening"], spec.settings.release_delta
    if math.isinf(epsilon):
        return math.inf
    if spec.options.distribution == "laplace":
        return advanced_range(epsilon, delta, count)
    group = records_of(spec)
    if spec.options.calibrate == "each":
        return largest_range(0.0, count, epsilon, delta)
    mus = (float(gdp_mu(budget[kind], delta)) for kind in ("means", "second"))
    return largest_range(group * math.hypot(*mus), count, together, spec.settings.delta) / group


@lru_cache(maxsize=256)
def largest_range(mu: float, count: int, epsilon: float, delta: float) -> float:
    """The largest range of ``count`` picks that cost ``epsilon`` at ``delta`` together with a mu-Gaussian, to 1e-6."""

    def exceeds(log_range: float) -> bool:
        return (cost(mu=mu) + count * cost(range=math.exp(log_range))).epsilon(delta) > epsilon

    # Picks alone: as pure ones they need no delta, and one of twice epsilon exceeds it.
    low, high = math.log(epsilon / count) - 8.0, math.log(2 * epsilon + 1.0)
    if exceeds(low):
        raise ValueError(
            f"epsilon is {epsilon:g}: the share of {count} picks is too small for any; take a larger epsilon or "
            "screening_share, or fewer picks."
        )
    return math.exp(bisect(lambda x: not exceeds(x), low, high, gap=1e-6)[0]) * (1 - 1e-9)


def advanced_range(epsilon: float, delta: float, count: int) -> float:
    """Pure e of each of ``count`` releases with sqrt(2 count log(1 / delta)) e + count e (exp(e) - 1) = epsilon."""
    root = math.sqrt(2 * count * math.log(1 / delta))
    return bisect(lambda e: root * e + count * e * math.expm1(e) < epsilon, 0.0, epsilon / root)[0]


def kept_columns(spec: SlicingSpec[SlicingExactOptions]) -> int:
    """T: how many columns screening keeps, twice the true support unless the options set it."""
    size = spec.options.max_size
    return size if size is not None else 2 * spec.settings.active


def user_epsilon(plan: CertifiedPlan[Options]) -> float | None:
    """Certified epsilon of all records of one person together; None where no public number bounds them.

    m records cost m mu (group privacy of Gaussian mechanisms), mu being that of all Gaussian releases of a client, and
    picks of m times the range.
    """
    settings, rows = plan.spec.settings, plan.spec.settings.rows_per_user
    if rows is None:
        return None
    picks = [(step.picks, step.range) for step in plan.rounds if step.range is not None]
    kinds = plan.budget.keys() - ({"screening"} if picks else set[str]())
    mu = math.hypot(*(float(gdp_mu(plan.budget[kind], settings.release_delta)) for kind in kinds))
    total = cost(mu=rows * mu)
    for count, reach in picks:
        gumbel, size = plan.spec.options.distribution == "gumbel", rows * reach
        total += count * (cost(range=size) if gumbel else cost(epsilon=size))
    return total.epsilon(settings.delta)
