"""A budget that is asked before noise is drawn, valid when each release is chosen after seeing all earlier ones."""

import math
import sys
from collections.abc import Collection
from fractions import Fraction
from itertools import combinations

# Any: the one parameter of a profile that the rule of a budget names.
from typing import Any

from ...core.checks import check_numbers
from ...core.errors import BudgetExceeded, CertificationError
from ..accounting.calibration import MARGIN, gdp_mu, zcdp_rho
from ..accounting.gaussian_profile import pure_mu
from ..accounting.privacy_profile import PrivacyProfile
from ..rounding import as_decimal, round_up
from .event import FIELDS, QUESTIONS, UNNAMED, Event
from .terms import honest_weight, known_shares

RULES = ("gdp", "zcdp", "pure")
CURRENCY = {"gdp": "mu squared", "zcdp": "rho", "pure": "epsilon"}
# Calibration rounds its budgets down by more than this (relative), so that equal shares of a budget fit into it.
ROUNDING = {"gdp": MARGIN, "zcdp": MARGIN, "pure": 0.0}
# Coalitions that are asked about one by one; of more each release is charged as it is stated.
MANY = 1024


def _square_down(mu: float) -> float:
    """mu squared as a budget: what overflows is the largest float."""
    return mu * mu if math.isinf(mu) else min(mu * mu, sys.float_info.max)


class PrivacyFilter:
    """Total budget of a sequence of releases whose mechanisms and parameters may depend on earlier outputs.

    Parameters
    ----------
    epsilon, delta : float
        The budget: ``epsilon`` non-negative, ``delta`` in [0, 1).
    unit : {"row", "label", "features", "user", "user_label"}, optional
        What the budget protects, under replacement; events are charged by the table of units. By default the unit
        and relation of the first event, and all others must have the same.
    rule : {"gdp", "zcdp", "pure"}
        How costs add: sums of mu squared up to ``gdp_mu(epsilon, delta)`` squared (Smith and Thakurta 2022; Koskela,
        Tobaben and Honkela 2023), of rho up to ``zcdp_rho(epsilon, delta)`` (Feldman and Zrnic 2021; Whitehouse,
        Ramdas, Rogers and Wu 2023), or of pure epsilons (Rogers, Roth, Ullman and Vadhan 2016).
    numeric_reserve : float
        Part of ``delta`` that is kept for the ``delta_numeric`` of the events, and for (1 + e^epsilon) times their
        ``tv``. A ``tv`` needs none of it while that multiple of all of them together is below the rounding margin of
        the budget (`ROUNDING` times what is left of ``delta``), which the budget was rounded down by.
    rows_per_user : int, optional
        For the units of persons, ``user`` and ``user_label``.
    name : str
        Of the row that pays for releases whose profiles depend on earlier ones (see `row`); without it there is none.
    against : {"declared", "any"} or collection of str
        Of noise in shares: against any colluders, as many as its releases state; any number of them; or
        these. Costs of releases are added for the same coalition, and the worst one counts. Nothing is proved against
        a place that knows the noise or the records (``knows``) and is counted.
    holder : str
        Whose records the budget protects, who does not collude.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    A pure release costs the ``gdp`` rule ``pure_mu(epsilon)`` squared, the ``zcdp`` rule epsilon squared / 2, a pick a
    quarter of these (``pure_mu(epsilon / 2)`` squared). Sampling is not credited. A release that is sent again was
    drawn once and is spent once.

    Examples
    --------
    >>> import partywise as pw
    >>> budget = pw.PrivacyFilter(epsilon=1.0, delta=1e-5, unit="features", numeric_reserve=1e-6, name="study")
    >>> event = pw.Event("sum", "hospital", "gaussian", unit="features", depends_on={"features"}, mu=0.2)
    >>> budget.spend(event)
    >>> round(budget.amount_spent, 2), round(budget.remaining, 2)  # mu squared, which adds up
    (0.04, 0.03)
    >>> budget.would_fit(event)  # a second such release
    False
    >>> budget.numeric, budget.tv, budget.tails, budget.covers_tails  # nothing is outside the profiles so far
    (0.0, 0.0, 0.0, True)
    >>> budget.row.mechanism, round(budget.row.mu, 2)  # what is certified: the budget, whatever is spent of it
    ('budget', 0.27)
    """

    def __init__(
        self,
        epsilon: float,
        delta: float,
        *,
        unit: str | None = None,
        rule: str = "gdp",
        numeric_reserve: float = 0.0,
        rows_per_user: int | None = None,
        name: str = "",
        against: str | Collection[str] = "declared",
        holder: str = "",
    ) -> None:
        if isinstance(against, str) and against not in ("declared", "any"):
            raise ValueError(f"against={against!r} of a filter is unknown; use 'declared', 'any', or names.")
        if rule not in RULES:
            raise ValueError(f"rule={rule!r} of a filter is unknown; use one of {RULES}.")
        if unit is not None and unit not in QUESTIONS:
            raise ValueError(f"unit={unit!r} of a filter is unknown; use one of {QUESTIONS}.")
        check_numbers(epsilon=epsilon, delta=delta, numeric_reserve=numeric_reserve)
        if not epsilon >= 0:
            raise ValueError(f"epsilon={epsilon!r} of a filter must be non-negative.")
        if not 0 <= delta < 1:
            raise ValueError(f"delta={delta!r} of a filter must lie in [0, 1).")
        if not 0 <= numeric_reserve <= delta:
            raise ValueError(f"numeric_reserve={numeric_reserve!r} must lie in [0, delta={delta!r}].")
        self.epsilon, self.delta, self.unit, self.rule = float(epsilon), float(delta), unit, rule
        self.numeric_reserve, self.rows_per_user, self.name = float(numeric_reserve), rows_per_user, name
        left = self.delta - self.numeric_reserve
        self.budget: float = {
            "gdp": lambda: _square_down(float(gdp_mu(epsilon, left))),
            "zcdp": lambda: float(zcdp_rho(epsilon, left)),
            "pure": lambda: self.epsilon,
        }[rule]()
        # Sums are exact, of amounts as they print: many small releases cannot slip through by rounding, and three times
        # 0.1 are 0.3.
        self._spent, self._numeric, self._lost, self._distance = Fraction(0), Fraction(0), False, Fraction(0)
        self.against, self.holder = against, holder
        # Releases with noise in shares, each with its cost as it is stated.
        self._shared: tuple[tuple[Event, Fraction], ...] = ()
        self._first: tuple[str, str] | None = None

    @classmethod
    def of_mu(cls, mu: float, *, unit: str, name: str = "") -> "PrivacyFilter":
        """A budget of rule ``gdp`` that is stated as the Gaussian-DP parameter of everything charged to it.

        Parameters
        ----------
        mu : float
        unit, name
            As of the class.

        Examples
        --------
        >>> import partywise as pw
        >>> budget = pw.PrivacyFilter.of_mu(1.0, unit="features")
        >>> terms = {"unit": "features", "depends_on": {"features"}, "mu": 0.5}
        >>> budget.spend(pw.Event("sum", "hospital", "gaussian", **terms))
        >>> budget.remaining  # 1 - (1 / 2)^2
        0.75
        """
        privacy_filter = cls(math.inf, 0.0, unit=unit, name=name)
        privacy_filter.budget = float(mu) ** 2
        return privacy_filter

    def pays_for(self, unit: str) -> bool:
        """Whether the row of this budget covers releases about a unit.

        Parameters
        ----------
        unit : str

        Examples
        --------
        >>> import partywise as pw
        >>> pw.PrivacyFilter(1.0, 1e-5, unit="features", name="study").pays_for("row")
        False
        """
        return bool(self.name) and self.unit == unit

    @property
    def row(self) -> Event:
        """The whole budget as one row, to be entered into a ledger before anything is charged to it.

        What was charged depends on what was released, while the budget was fixed in advance: it is what is certified.
        A view of another owner's release that names it is charged all of it.

        Raises
        ------
        ValueError
            If the budget has no name, or no unit.
        """
        if not self.name or self.unit is None:
            raise ValueError(f"name={self.name!r}, unit={self.unit!r} of a filter: a budget with a row needs both.")
        whole = math.sqrt(self.budget) if self.rule == "gdp" else self.budget
        profile: dict[str, Any] = {{"gdp": "mu", "zcdp": "rho", "pure": "epsilon"}[self.rule]: whole}
        return Event(
            release_id=self.name,
            owner=UNNAMED,
            mechanism="budget",
            unit=self.unit,
            depends_on=frozenset({self.unit} if self.unit in FIELDS else FIELDS),
            audience=(),
            certificate=f"adaptive composition within a budget, rule {self.rule}",
            delta_numeric=self.numeric_reserve,
            **profile,
        )

    @property
    def amount_spent(self) -> float:
        """Amount drawn so far, in mu squared, rho or epsilon; infinite after a release without a proof (`carry`)."""
        return math.inf if self._lost else float(self._spent)

    @property
    def remaining(self) -> float:
        """Remainder of the budget, in mu squared, rho or epsilon."""
        if self._lost:
            return 0.0
        return math.inf if math.isinf(self.budget) else max(float(as_decimal(self.budget) - self._spent), 0.0)

    def would_fit(self, event: Event) -> bool:
        """Whether `spend` would accept an event; CertificationError where `spend` would raise it.

        Parameters
        ----------
        event : Event

        Examples
        --------
        >>> import partywise as pw
        >>> budget, terms = pw.PrivacyFilter(1.0, 1e-5), {"unit": "features", "depends_on": {"features"}}
        >>> [budget.would_fit(pw.Event("sum", "hospital", "gaussian", mu=mu, **terms)) for mu in (0.2, 0.3)]
        [True, False]
        """
        return self._fits(self._cost(event), event)

    def spend(self, event: Event) -> None:
        """Draw an event's cost; call it before the noise is drawn.

        Parameters
        ----------
        event : Event

        Raises
        ------
        BudgetExceeded
            If the event does not fit; the filter stays as it was.
        CertificationError, ValueError
            If nothing finite is proved of it, the rule cannot charge it, or it has another unit than the first one.

        Examples
        --------
        >>> import partywise as pw
        >>> budget = pw.PrivacyFilter(epsilon=1.0, delta=0.0, rule="pure")
        >>> terms = {"unit": "label", "depends_on": {"label"}, "epsilon": 0.6, "k": 2}
        >>> for name in ("labels", "again"):
        ...     budget.spend(pw.Event(name, "registry", "randomized_response", **terms))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        partywise.core.errors.BudgetExceeded: randomized_response 'again' costs epsilon = 0.6...
        """
        cost = self._cost(event)
        if not self._fits(cost, event):
            raise BudgetExceeded(self._refusal(event, float(cost)))
        self._first = self._first or (event.unit, event.relation)
        self._count(event, cost)

    def _refusal(self, event: Event, cost: float) -> str:
        """The sentence about an event that does not fit: about its cost, and about the reserve where that is short."""
        reserve = f"delta_numeric = {event.delta_numeric:.3g}" + (f", tv = {event.tv:.3g}" if event.tv else "")
        what, numeric = f"{event.mechanism} {event.release_id!r}", self._has_room(event.delta_numeric, event.tv)
        needed = self._reserve_of(event.delta_numeric, event.tv if cost else 0.0)
        if not cost and not numeric:
            return (
                f"{what} takes {reserve} of the numeric reserve, and {max(self._numeric_left, 0.0):.3g} of "
                f"{self.numeric_reserve:.3g} is left: state numeric_reserve = {_up(needed):.3g} or more, which is "
                f"a part of delta = {self.delta:.3g}."
            )
        digits = next((k for k in (6, 9, 12) if f"{cost:.{k}g}" != f"{self.remaining:.{k}g}"), 17)
        return (
            f"{what} costs {CURRENCY[self.rule]} = {cost:.{digits}g} (and {reserve}); {self.remaining:.{digits}g} of "
            f"{self.budget:.6g} is left of epsilon = {self.epsilon:.6g}, delta = {self.delta:.3g} (and "
            f"{self._numeric_left:.3g} of the numeric reserve). Use more noise, send an earlier release again, or "
            "state a larger budget" + ("." if numeric else f" with numeric_reserve = {_up(needed):.3g} or more.")
        )

    def carry(self, event: Event) -> float:
        """Count what was drawn before, under any budget, and return its cost; never refused.

        Parameters
        ----------
        event : Event
            One of which nothing finite is proved is infinite: nothing that costs anything fits from then on.

        Examples
        --------
        >>> import partywise as pw
        >>> budget = pw.PrivacyFilter(epsilon=1.0, delta=1e-5)
        >>> event = pw.Event("last year", "hospital", "gaussian", unit="features", depends_on={"features"}, mu=0.5)
        >>> budget.carry(event), budget.remaining  # more than there was
        (0.25, 0.0)
        """
        try:
            cost = self._cost(event)
        except CertificationError:
            cost = math.inf
        self._lost = self._lost or math.isinf(cost)
        self._count(event, cost)
        return float(cost)

    def _count(self, event: Event, cost: float | Fraction) -> None:
        """Add an event, which is drawn."""
        self._numeric += as_decimal(event.delta_numeric)
        if not cost:
            return
        self._distance += as_decimal(event.tv)
        if not math.isinf(cost):
            self._spent += Fraction(cost)
            if event.shares:
                self._shared = (*self._shared, (event, self._stated_amount(event)))

    @property
    def tv(self) -> float:
        """The distances of what was drawn from the stated profiles, together."""
        return float(self._distance)

    @property
    def covers_tails(self) -> bool:
        """Whether what the profiles do not cover fits in addition: ``delta_numeric`` and ``tv`` of all events."""
        return self._has_room(0.0, 0.0)

    def coalitions(self) -> list[frozenset[str] | None]:
        """List the coalitions that may join what they know of the noise; None where each release counts as stated.

        Examples
        --------
        >>> import partywise as pw
        >>> budget = pw.PrivacyFilter(3.0, 1e-5, unit="row", against="any", holder="north")
        >>> names, terms = ("north", "south", "west"), {"unit": "row", "depends_on": {"label"}, "mu": 0.3}
        >>> shares = [(name, "1") for name in names]
        >>> budget.spend(pw.Event("count", "several", "gaussian", owners=names, shares=shares, **terms))
        >>> [sorted(view) for view in budget.coalitions()]  # all but the holder of the records
        [['south', 'west']]
        """
        return self._coalitions_of([event for event, _ in self._shared])

    def profile_against(self, event: Event, profile: PrivacyProfile, view: frozenset[str] | None) -> PrivacyProfile:
        """The profile of an event against a coalition, which leaves an owner out.

        Parameters
        ----------
        event : Event
        profile : PrivacyProfile
            Its own, or that of a group.
        view : frozenset of str, or None
            One of `coalitions`.

        Examples
        --------
        >>> import partywise as pw
        >>> names, terms = ("north", "south", "west"), {"unit": "row", "depends_on": {"label"}, "mu": 0.3}
        >>> shares = [(name, "1") for name in names]
        >>> event = pw.Event("count", "several", "gaussian", owners=names, shares=shares, **terms)
        >>> budget, profile = pw.PrivacyFilter(3.0, 1e-5, unit="row", against="any"), event.profile
        >>> [round(budget.profile_against(event, profile, frozenset(names[:size])).mu, 2) for size in (0, 1, 2)]
        [0.17, 0.21, 0.3]
        """
        return (
            profile
            if view is None or not event.shares
            else event.profile_against(profile, known_shares(event.weights, view))
        )

    @property
    def numeric(self) -> float:
        """Part of delta that the events took in addition to their profiles (``delta_numeric``)."""
        return float(self._numeric)

    @property
    def _numeric_left(self) -> float:
        return float(as_decimal(self.numeric_reserve) - self._numeric)

    @property
    def tails(self) -> float:
        """Part of the numeric reserve that the events took, or would take: all that their profiles do not cover."""
        return float(self._reserve_of(0.0, 0.0))

    def _has_room(self, numeric: float, distance: float) -> bool:
        """Whether the numeric reserve has room for so much more, the rounding margin for a small distance."""
        return self._reserve_of(numeric, distance) <= as_decimal(self.numeric_reserve)

    def _reserve_of(self, numeric: float, distance: float) -> Fraction:
        """Return the numeric reserve that everything so far and so much more take together."""
        used, far = self._numeric + as_decimal(numeric), self._distance + as_decimal(distance)
        if far and not math.isinf(self.budget):
            # Beyond, (1 + e^epsilon) times the least distance that is ever stated is more than 1.
            factor = 1 + Fraction(math.exp(self.epsilon)) if self.epsilon < 700 else Fraction(sys.float_info.max)
            margin = as_decimal(self.delta) - as_decimal(self.numeric_reserve)
            if far * factor > Fraction(ROUNDING[self.rule]) * margin:
                used += far * factor
        return used

    def _fits(self, cost: float | Fraction, event: Event) -> bool:
        numeric, distance = event.delta_numeric, event.tv if cost else 0.0
        if self._lost:
            return cost == 0 and numeric == 0
        if not self._has_room(numeric, distance):
            return False
        if math.isinf(cost) or math.isinf(self.budget):
            return cost == 0 or math.isinf(self.budget)
        return self._spent + Fraction(cost) <= as_decimal(self.budget) * (1 + Fraction(ROUNDING[self.rule]))

    def _cost(self, event: Event) -> float | Fraction:
        """Cost that an event adds; for noise in shares, to the worst coalition."""
        stated = self._stated_cost(event)
        if math.isinf(stated):
            return stated
        cost = self._stated_amount(event)
        if not event.shares or not cost:
            return cost
        return self._worst((*self._shared, (event, cost))) - self._worst(self._shared)

    def _worst(self, shared: tuple[tuple[Event, Fraction], ...]) -> Fraction:
        """Cost of releases with noise in shares together, to the coalition for which it is largest."""
        views = self._coalitions_of([event for event, _ in shared])
        return max(
            sum(
                (cost if view is None else cost / honest_weight(event.weights, view) for event, cost in shared),
                Fraction(0),
            )
            for view in views
        )

    def _coalitions_of(self, events: list[Event]) -> list[frozenset[str] | None]:
        """Coalitions of as many as may collude, without the holder; smaller ones know less."""
        if not isinstance(self.against, str):
            return [frozenset(self.against)]
        names = sorted({name for event in events for name in event.weights} - {self.holder})
        # A later release that tolerates fewer takes nothing back.
        most = max((event.colluders for event in events), default=0)
        size = len(names) if self.against == "any" else min(most, len(names))
        if math.comb(len(names), size) > MANY:
            return [None]
        return [frozenset(view) for view in combinations(names, size)]

    def _stated_amount(self, event: Event) -> Fraction:
        """The finite cost of an event as it is stated, as a decimal: of a pure release its epsilon times its count."""
        cost, profile = self._stated_cost(event), self._profile(event)
        if cost and self.rule == "pure" and isinstance(profile, PrivacyProfile) and profile.epsilon is not None:
            return profile.count * as_decimal(profile.epsilon)
        return as_decimal(cost)

    def _stated_cost(self, event: Event) -> float:
        """Cost of an event as it is stated, by the rule."""
        profile = self._profile(event)
        if profile is None:
            raise CertificationError(
                f"nothing finite is proved of {event.mechanism} {event.release_id!r} for the unit "
                f"{self.unit or event.unit!r}; a budget cannot cover it."
            )
        if not isinstance(profile, PrivacyProfile) or profile.free:
            return 0.0
        if self.rule == "pure" and profile.epsilon is not None:
            return profile.count * profile.epsilon
        if self.rule == "zcdp":
            return profile.zcdp
        if self.rule == "gdp" and profile.rho is None:
            pure = (profile.epsilon or 0.0) * (1.0 if profile.range is None else 0.5)
            mu = profile.mu if profile.mu is not None else pure_mu(pure) * (1 + MARGIN)
            return round_up(profile.count * mu * mu, mu)
        raise CertificationError(
            f"the rule {self.rule!r} cannot charge {event.mechanism} {event.release_id!r} with {profile}; use a "
            f"filter of rule {'zcdp' if profile.rho is not None else 'gdp'!r}."
        )

    def _profile(self, event: Event) -> PrivacyProfile | float | None:
        if self.unit is not None:
            cost = event.cost(self.unit, self.rows_per_user)
            if self.against == "declared" or cost == 0.0:
                return cost
            counted = set(event.knows) if self.against == "any" else set(event.knows).intersection(self.against)
            return None if counted else cost
        if self._first not in (None, (event.unit, event.relation)):
            raise ValueError(
                f"event {event.release_id!r} has unit {event.unit!r} and relation {event.relation!r}, the filter began "
                f"with {self._first}; name the unit that the budget protects: PrivacyFilter(..., unit=...)."
            )
        return event.profile if event.certified else None


def _up(amount: Fraction) -> float:
    """An amount with three digits, rounded up."""
    scale = Fraction(10) ** (math.floor(math.log10(amount)) - 2) if 0 < amount < sys.float_info.max else Fraction(1)
    return float(min(math.ceil(amount / scale) * scale, Fraction(sys.float_info.max)))
