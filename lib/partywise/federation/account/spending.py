"""What a party may spend over all its runs, and what it has spent in which of them."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ...errors import BudgetExceeded, CertificationError
from ...privacy.accounting.calibration import gaussian_epsilon, zcdp_epsilon
from ...privacy.ledger.budget import CURRENCY, PrivacyFilter
from ...privacy.ledger.event import QUESTIONS, Event

__all__ = ["Budget", "Spending", "Spent", "spent_of"]

SHOWN = 5


@dataclass(frozen=True)
class Budget:
    """What all runs of a party together may cost.

    Parameters
    ----------
    epsilon, delta : float
        Finite; leave the budget away for none.
    unit : {"row", "label", "features", "user", "user_label"}
        What it protects.
    rows_per_user : int, optional
        For the units of persons.
    rule, numeric_reserve
        As in `partywise.privacy.ledger.budget.PrivacyFilter`.

    Raises
    ------
    ValueError
        If an argument is out of range.
    """

    epsilon: float
    delta: float
    unit: str
    rows_per_user: int | None = None
    rule: str = "gdp"
    numeric_reserve: float = 0.0

    def __post_init__(self) -> None:
        if not math.isfinite(self.epsilon):
            raise ValueError(f"epsilon={self.epsilon!r} of a budget must be finite; leave the budget away for none.")
        if self.unit is None:
            raise ValueError(f"unit=None of a budget: name what it protects, one of {QUESTIONS}.")
        self.filter()

    def filter(self) -> PrivacyFilter:
        """The filter of it, with nothing spent."""
        terms: dict[str, Any] = asdict(self)
        return PrivacyFilter(terms.pop("epsilon"), terms.pop("delta"), **terms)

    def __str__(self) -> str:
        extra = "" if self.rows_per_user is None else f", rows_per_user = {self.rows_per_user}"
        return f"epsilon = {self.epsilon:g}, delta = {self.delta:g} of unit {self.unit}{extra} by rule {self.rule}"


class Spending:
    """What was spent of a budget, run by run; without one nothing is refused.

    Parameters
    ----------
    budget : Budget, optional
    earlier : iterable of (run, Event)
        What was paid before: all of it counts.
    """

    def __init__(self, budget: Budget | None, earlier: Iterable[tuple[str, Event]] = ()) -> None:
        self.budget, self.by_run = budget, dict[str, float]()
        self._filter = None if budget is None else budget.filter()
        for run, event in earlier:
            self.carry(run, event)

    def carry(self, run: str, event: Event) -> None:
        """Count what was paid before, under whatever budget."""
        if self._filter is not None:
            self._add(run, self._filter.carry(event))

    @property
    def spent(self) -> float:
        """In the currency of the rule; 0 without a budget."""
        return 0.0 if self._filter is None else self._filter.spent

    @property
    def left(self) -> float:
        """In the currency of the rule; infinite without a budget."""
        return math.inf if self._filter is None else self._filter.remaining

    def require(self, run: str, events: Sequence[Event]) -> None:
        """Spend the costs of all events, or refuse all of them.

        Raises
        ------
        BudgetExceeded
            With what was spent in which runs, if they do not fit or nothing finite is proved of one.
        """
        if self._filter is None:
            return
        trial, before = copy.copy(self._filter), self._filter.spent
        try:
            for event in events:
                trial.spend(event)
        except CertificationError as error:
            raise BudgetExceeded(f"{str(error).rstrip('.')}. {self.told}") from None
        self._filter = trial
        self._add(run, trial.spent - before)

    @property
    def told(self) -> str:
        """One sentence: the budget, and what was spent in which runs."""
        if self.budget is None:
            return "No budget was stated."
        paid = [(run, cost) for run, cost in self.by_run.items() if cost]
        last = ", ".join(f"{cost:.6g} in run {run[:12]}" for run, cost in paid[-SHOWN:])
        more = f" and {len(paid) - SHOWN} earlier runs" if len(paid) > SHOWN else ""
        return (
            f"Of the budget over all runs ({self.budget}) {CURRENCY[self.budget.rule]} = {self.spent:.6g} is spent"
            + (f": {last}{more}." if last else ", by no run.")
        )

    def _add(self, run: str, cost: float) -> None:
        self.by_run[run] = self.by_run.get(run, 0.0) + cost


@dataclass(frozen=True)
class Spent:
    """What all paid rows cost one unit.

    amount : their sum, in ``currency``; epsilon : at ``delta``, infinite where nothing is proved of a row
    unproved : number of such rows
    """

    unit: str
    amount: float
    currency: str
    epsilon: float
    delta: float
    unproved: int


def spent_of(events: Sequence[Event], delta: float, rows_per_user: int | None = None) -> Mapping[str, Spent]:
    """What rows cost together, for every unit that can be asked about, whoever may see them.

    Sums as a budget sums: mu squared, or rho where a law is known by its rho only.
    """
    rule = "zcdp" if any(event.rho is not None for event in events) else "gdp"
    units = QUESTIONS if rows_per_user is not None else tuple(u for u in QUESTIONS if not u.startswith("user"))
    return {unit: _spent(unit, rule, events, delta, rows_per_user) for unit in units}


def _spent(unit: str, rule: str, events: Sequence[Event], delta: float, rows_per_user: int | None) -> Spent:
    """What rows cost one unit."""
    count = PrivacyFilter(math.inf, 0.0, unit=unit, rule=rule, rows_per_user=rows_per_user)
    unproved = sum(math.isinf(count.carry(event)) for event in events)
    left = delta - math.fsum(event.delta_numeric for event in events if event.cost(unit, rows_per_user))
    amount = count.spent
    if not amount:
        epsilon = 0.0 if left >= 0 else math.inf
    elif math.isinf(amount) or left <= 0:
        epsilon = math.inf
    else:
        epsilon = float(gaussian_epsilon(math.sqrt(amount), left) if rule == "gdp" else zcdp_epsilon(amount, left))
    return Spent(unit, amount, CURRENCY[rule], epsilon, delta, unproved)
