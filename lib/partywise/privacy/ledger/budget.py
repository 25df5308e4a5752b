"""A budget that is asked before noise is drawn, valid when each release is chosen after seeing all earlier ones."""

import math
import sys
from fractions import Fraction
from typing import Any

from ...errors import BudgetExceeded, CertificationError
from ..accounting.calibration import MARGIN, gdp_mu, zcdp_rho
from ..accounting.law import Law
from ..accounting.tradeoff import pure_mu
from ..rounding import round_up
from .event import FIELDS, QUESTIONS, UNNAMED, Event

RULES = ("gdp", "zcdp", "pure")
CURRENCY = {"gdp": "mu squared", "zcdp": "rho", "pure": "epsilon"}
# Calibration rounds its budgets down by more than this (relative), so that equal shares of a budget fit into it.
ROUNDING = {"gdp": MARGIN, "zcdp": MARGIN, "pure": 0.0}


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
        Part of ``delta`` that is kept for the ``delta_numeric`` of the events.
    rows_per_user : int, optional
        For the units of persons, ``user`` and ``user_label``.
    name : str
        Of the row that pays for releases whose laws depend on earlier ones (see `row`); without it there is none.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    A pure release costs the ``gdp`` rule ``pure_mu(epsilon)`` squared, the ``zcdp`` rule epsilon squared / 2. Sampling
    is not credited. A release that is sent again was drawn once and is spent once.
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
    ) -> None:
        if rule not in RULES:
            raise ValueError(f"rule={rule!r} of a filter is unknown; use one of {RULES}.")
        if unit is not None and unit not in QUESTIONS:
            raise ValueError(f"unit={unit!r} of a filter is unknown; use one of {QUESTIONS}.")
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
        # Sums are exact: many small releases cannot slip through by rounding.
        self._spent, self._numeric, self._lost = Fraction(0), Fraction(0), False
        self._first: tuple[str, str] | None = None

    @classmethod
    def of_mu(cls, mu: float, *, unit: str, name: str = "") -> "PrivacyFilter":
        """A budget of rule ``gdp`` that is stated as the Gaussian-DP parameter of everything charged to it."""
        made = cls(math.inf, 0.0, unit=unit, name=name)
        made.budget = float(mu) ** 2
        return made

    def pays_for(self, unit: str) -> bool:
        """Whether the row of this budget covers releases about a unit."""
        return bool(self.name) and self.unit == unit

    @property
    def row(self) -> Event:
        """The whole budget as one row, to be entered into a ledger before anything is charged to it.

        The sum of what was charged is known only afterwards and depends on what was released, while the budget was
        fixed in advance: this is what is certified. Whoever sees somebody else's release that names it is charged all
        of it.

        Raises
        ------
        ValueError
            If the budget has no name, or no unit.
        """
        if not self.name or self.unit is None:
            raise ValueError(f"name={self.name!r}, unit={self.unit!r} of a filter: a budget with a row needs both.")
        whole = math.sqrt(self.budget) if self.rule == "gdp" else self.budget
        law: dict[str, Any] = {{"gdp": "mu", "zcdp": "rho", "pure": "epsilon"}[self.rule]: whole}
        return Event(
            release_id=self.name,
            owner=UNNAMED,
            mechanism="budget",
            unit=self.unit,
            depends_on=frozenset({self.unit} if self.unit in FIELDS else FIELDS),
            audience=(),
            certificate=f"adaptive composition within a budget, rule {self.rule}",
            delta_numeric=self.numeric_reserve,
            **law,
        )

    @property
    def amount_spent(self) -> float:
        """What was drawn so far, in mu squared, rho or epsilon; infinite after a release without a proof (`carry`)."""
        return math.inf if self._lost else float(self._spent)

    @property
    def remaining(self) -> float:
        """What is left of the budget, in mu squared, rho or epsilon."""
        if self._lost:
            return 0.0
        return math.inf if math.isinf(self.budget) else max(float(Fraction(self.budget) - self._spent), 0.0)

    def would_fit(self, event: Event) -> bool:
        """Whether `spend` would accept the event; raises `CertificationError` where that would."""
        return self._fits(self._cost(event), event.delta_numeric)

    def spend(self, event: Event) -> None:
        """Draw an event's cost; call it before the noise is drawn.

        Raises
        ------
        BudgetExceeded
            If the event does not fit; the filter stays as it was.
        CertificationError
            If nothing finite is proved of the event, or the rule cannot charge its law.
        ValueError
            If no unit was named and the event has another unit or relation than the first one.
        """
        cost = self._cost(event)
        if not self._fits(cost, event.delta_numeric):
            raise BudgetExceeded(
                f"{event.mechanism} {event.release_id!r} costs {CURRENCY[self.rule]} = {cost:.6g} (and delta_numeric = "
                f"{event.delta_numeric:.3g}); {self.remaining:.6g} of {self.budget:.6g} is left of epsilon = "
                f"{self.epsilon:.6g}, delta = {self.delta:.3g} (and {self._numeric_left:.3g} of the numeric reserve). "
                "Use more noise, send an earlier release again, or state a larger budget"
                + (" with a numeric_reserve." if event.delta_numeric > self._numeric_left else ".")
            )
        self._first = self._first or (event.unit, event.relation)
        if cost < math.inf:
            self._spent += Fraction(cost)
        self._numeric += Fraction(event.delta_numeric)

    def carry(self, event: Event) -> float:
        """Count what was drawn before, under whatever budget; never refused.

        Returns
        -------
        float
            Its cost. One of which nothing finite is proved is infinite: nothing that costs anything fits from then on.
        """
        try:
            cost = self._cost(event)
        except CertificationError:
            cost = math.inf
        self._numeric += Fraction(event.delta_numeric)
        if math.isinf(cost):
            self._lost = True
        else:
            self._spent += Fraction(cost)
        return cost

    @property
    def numeric(self) -> float:
        """What the events took of delta beside their laws (``delta_numeric``)."""
        return float(self._numeric)

    @property
    def _numeric_left(self) -> float:
        return float(Fraction(self.numeric_reserve) - self._numeric)

    def _fits(self, cost: float, numeric: float) -> bool:
        if self._lost:
            return cost == 0 and numeric == 0
        if float(self._numeric + Fraction(numeric)) > self.numeric_reserve:
            return False
        if math.isinf(cost) or math.isinf(self.budget):
            return cost == 0 or math.isinf(self.budget)
        try:
            return float(self._spent + Fraction(cost)) <= self.budget * (1 + ROUNDING[self.rule])
        except OverflowError:
            return False

    def _cost(self, event: Event) -> float:
        law = self._law(event)
        if law is None:
            raise CertificationError(
                f"nothing finite is proved of {event.mechanism} {event.release_id!r} for the unit "
                f"{self.unit or event.unit!r}; a budget cannot cover it."
            )
        if not isinstance(law, Law) or law.free:
            return 0.0
        if self.rule == "pure" and law.epsilon is not None:
            return law.count * law.epsilon
        if self.rule == "zcdp":
            return law.zcdp
        if self.rule == "gdp" and law.rho is None:
            mu = law.mu if law.mu is not None else pure_mu(law.epsilon or 0.0) * (1 + MARGIN)
            return round_up(law.count * mu * mu, mu)
        raise CertificationError(
            f"the rule {self.rule!r} cannot charge {event.mechanism} {event.release_id!r} with {law}; use a filter of "
            f"rule {'zcdp' if law.rho is not None else 'gdp'!r}."
        )

    def _law(self, event: Event) -> Law | float | None:
        if self.unit is not None:
            return event.cost(self.unit, self.rows_per_user)
        if self._first not in (None, (event.unit, event.relation)):
            raise ValueError(
                f"event {event.release_id!r} has unit {event.unit!r} and relation {event.relation!r}, the filter began "
                f"with {self._first}; name the unit that the budget protects: PrivacyFilter(..., unit=...)."
            )
        return event.law if event.certified else None
