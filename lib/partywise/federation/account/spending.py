"""Budget of a party over all its runs, and what it has spent in which of them.

One run is composed exactly, as its ledger is: its profiles are in what all parties share before anything is drawn.
Runs are chosen after the outcomes of earlier ones were seen, and are added by rules that hold then too (`Spending`).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from ...core.errors import BudgetExceeded, CertificationError
from ...privacy.accounting.calibration import gaussian_epsilon, zcdp_epsilon
from ...privacy.accounting.compose import compose
from ...privacy.accounting.privacy_profile import PrivacyProfile
from ...privacy.ledger.budget import CURRENCY, PrivacyFilter
from ...privacy.ledger.event import QUESTIONS, Event
from ...privacy.ledger.total import sum_view
from ...privacy.rounding import as_decimal, downward, upward

SHOWN = 5
Cost = PrivacyProfile | float | None


@dataclass(frozen=True)
class AccountBudget:
    """Budget of all runs of a party together; epsilon and delta are finite, so leave the budget away for none.

    unit : what it protects
    rows_per_user : for the units of persons
    rule, numeric_reserve : as in `partywise.privacy.ledger.budget.PrivacyFilter`
    against : of noise in shares, as many colluders as its releases state (``"declared"``) or any others (``"any"``)
    """

    epsilon: float
    delta: float
    unit: str
    rows_per_user: int | None = None
    rule: str = "gdp"
    numeric_reserve: float = 0.0
    against: str = "declared"

    def __post_init__(self) -> None:
        if not math.isfinite(self.epsilon):
            raise ValueError(f"epsilon={self.epsilon!r} of a budget must be finite; leave the budget away for none.")
        if self.unit is None:
            raise ValueError(f"unit=None of a budget: name what it protects, one of {QUESTIONS}.")
        self.filter()

    def filter(self, holder: str = "") -> PrivacyFilter:
        """The filter of it, with nothing spent, for the records of one party."""
        return PrivacyFilter(**vars(self), holder=holder)

    def __str__(self) -> str:
        extra = "" if self.rows_per_user is None else f", rows_per_user = {self.rows_per_user}"
        extra += ", against any others" if self.against == "any" else ""
        return f"epsilon = {self.epsilon:g}, delta = {self.delta:g} of unit {self.unit}{extra} by rule {self.rule}"


@dataclass
class UnitPayments:
    """Sums of the payments that count for one unit.

    filter : the sum by the rule of the budget; pure : the sum of epsilons, None once a profile is not pure
    runs : that cost anything; rows : of the first of them; alone : whether its first payment is beyond the filter
    """

    filter: PrivacyFilter
    pure: Fraction | None = Fraction(0)
    runs: tuple[str, ...] = ()
    rows: tuple[tuple[Event, Cost], ...] = ()
    alone: bool = False

    def add(self, run: str, event: Event) -> float:
        """Count a payment; its cost in the currency of the filter."""
        profile = event.cost(self.filter.unit or event.unit, self.filter.rows_per_user)
        cost = self.filter.carry(event)
        if not cost and not event.delta_numeric:
            return cost
        if run not in self.runs:
            self.runs = (*self.runs, run)
        if self.runs == (run,):
            self.alone = self.alone if self.rows else cost > self.filter.budget
            self.rows = (*self.rows, (event, profile))
        epsilon = profile.epsilon if isinstance(profile, PrivacyProfile) and profile.epsilon != math.inf else None
        if self.pure is not None and isinstance(profile, PrivacyProfile):
            self.pure = None if epsilon is None else self.pure + profile.count * as_decimal(epsilon)
        elif profile is None:
            self.pure = None
        return cost

    def within(self, budget: AccountBudget) -> bool:
        """Whether one of the rules other than the filter has room for everything."""
        if not self.filter.covers_tails:
            return False
        if self.pure is not None and self.pure <= as_decimal(budget.epsilon):
            return True
        fixed = all(not event.data_dependent_parameters for event, _ in self.rows)
        if len(self.runs) != 1 or not self.alone or not fixed:
            return False
        return self.epsilon(budget.delta) <= budget.epsilon

    def epsilon(self, delta: float) -> float:
        """The exact composition of the first run, against the worst coalition; inf where something is unproved."""
        wholes = [
            sum_view(
                (
                    event,
                    self.filter.profile_against(event, profile, view)
                    if isinstance(profile, PrivacyProfile)
                    else profile,
                )
                for event, profile in self.rows
            )
            for view in self.filter.coalitions()
        ]
        return max(whole.epsilon(delta) if whole.certified else math.inf for whole in wholes)


class Spending:
    """Amounts spent of a budget, run by run; all that was paid earlier counts, and without a budget nothing is refused.

    A payment fits if the sum by the rule of the budget does (mu squared: Smith and Thakurta 2022; Koskela, Tobaben and
    Honkela 2023), or the sum of the epsilons of profiles that are all pure (Rogers, Roth, Ullman and Vadhan 2016), or
    the exact composition of the one run that cost anything, where its first payment alone is beyond the rule.

    The first two are filters: they hold where the profiles of every run are chosen after all outcomes before it. The
    third holds for one run, whose profiles were fixed in advance, while what is asked and when it ends may depend on
    all that was seen (Dong, Roth and Su 2022, theorem 3.2 of the preprint: composition of trade-off functions).

    Together they cost no more than ``delta``. Let A be the outcomes of histories that the first rule let through, B and
    C those of the second and third that are in none before. Stopping a history where a rule would refuse leaves the
    probabilities of its outcomes as they are, so P(S and A) <= e^epsilon Q(S and A) + delta,
    P(S and B) <= e^epsilon Q(S and B) and P(S and C) <= e^epsilon Q(S and C) + delta. The profile of the first payment
    is known before anything is drawn. If it alone is beyond the first rule, A is empty; otherwise C is.
    """

    def __init__(
        self, budget: AccountBudget | None, earlier: Iterable[tuple[str, Event]] = (), *, party: str = ""
    ) -> None:
        self.budget, self.by_run = budget, dict[str, float]()
        self._paid = None if budget is None else UnitPayments(budget.filter(party))
        for run, event in earlier:
            self.carry(run, event)

    def carry(self, run: str, event: Event) -> None:
        """Count what was paid before, under any budget."""
        if self._paid is not None:
            self._add(run, self._paid.add(run, event))

    @property
    def amount_spent(self) -> float:
        """Amount spent, in the currency of the rule; 0 without a budget."""
        return 0.0 if self._paid is None else self._paid.filter.amount_spent

    @property
    def left(self) -> float:
        """Amount left, in the currency of the rule; infinite without a budget."""
        return math.inf if self._paid is None else self._paid.filter.remaining

    def require(self, run: str, events: Sequence[Event]) -> None:
        """Spend the costs of all events; BudgetExceeded if they do not fit or nothing finite is proved of one."""
        if self.budget is None or self._paid is None:
            return
        trial, before = copy.copy(self._paid), self._paid.filter.amount_spent
        trial.filter, by_rule = copy.copy(trial.filter), copy.copy(trial.filter)
        for event in events:
            trial.add(run, event)
        try:
            for event in events:
                by_rule.spend(event)
        except CertificationError as error:
            if not trial.within(self.budget):
                raise BudgetExceeded(f"{str(error).rstrip('.')}. {self.summary} It has room for {self.room}.") from None
        self._paid = trial
        self._add(run, trial.filter.amount_spent - before)

    def needed_reserve(self, events: Iterable[Event]) -> float:
        """The least ``numeric_reserve`` that has room for everything so far and for these events, rounded upward."""
        if self._paid is None:
            return 0.0
        trial = copy.copy(self._paid.filter)
        for event in events:
            trial.carry(event)
        return round_up(trial.tails)

    @property
    def summary(self) -> str:
        """One sentence: the budget, and what was spent in which runs."""
        if self.budget is None:
            return "No budget was stated."
        paid = [(run, cost) for run, cost in self.by_run.items() if cost]
        last = ", ".join(f"{cost:.6g} in run {run[:12]}" for run, cost in paid[-SHOWN:])
        more = f" and {len(paid) - SHOWN} earlier runs" if len(paid) > SHOWN else ""
        return (
            f"Of the budget over all runs ({self.budget}) {CURRENCY[self.budget.rule]} = {self.amount_spent:.6g} "
            "is spent" + (f": {last}{more}." if last else ", by no run.")
        )

    @property
    def room(self) -> str:
        """Amount left for another run, as a piece of a sentence; empty without a budget."""
        if self.budget is None or self._paid is None:
            return ""
        pure = self._paid.pure
        left = f"{CURRENCY[self.budget.rule]} {self.left:.6g}"
        more = None if pure is None else max(float(as_decimal(self.budget.epsilon) - pure), 0.0)
        return left if more is None else f"{left}, or epsilon {downward(more)} of pure profiles"

    def _add(self, run: str, cost: float) -> None:
        self.by_run[run] = self.by_run.get(run, 0.0) + cost


@dataclass(frozen=True)
class UnitCost:
    """Cost of all paid rows to one unit.

    epsilon : at ``delta``, infinite where nothing is proved of a row; n_unproved : number of such rows
    rule : how it was composed; amount : sum of all rows in the ``currency`` of a filter
    """

    unit: str
    epsilon: float
    delta: float
    n_unproved: int
    rule: str
    amount: float
    currency: str

    def __str__(self) -> str:
        return "without limit" if self.n_unproved else upward(self.epsilon)


def spent_of(
    paid: Sequence[tuple[str, Event]],
    delta: float,
    rows_per_user: int | None = None,
    *,
    party: str = "",
    against: str | Collection[str] = "declared",
) -> Mapping[str, UnitCost]:
    """Cost of all payments of a party, for every unit that can be asked about, for all observers of the releases."""
    units = QUESTIONS if rows_per_user is not None else tuple(u for u in QUESTIONS if not u.startswith("user"))
    unspent = partial(PrivacyFilter, math.inf, 0.0, rows_per_user=rows_per_user, holder=party, against=against)
    return {unit: _unit_cost(unit, paid, delta, unspent) for unit in units}


def _unit_cost(
    unit: str, paid: Sequence[tuple[str, Event]], delta: float, unspent: Callable[..., PrivacyFilter]
) -> UnitCost:
    """Cost of the paid rows to one unit."""
    rule = "zcdp" if any(event.rho is not None for _, event in paid) else "gdp"
    count = UnitPayments(unspent(unit=unit, rule=rule))
    unproved = sum(math.isinf(count.add(run, event)) for run, event in paid)
    amount = count.filter.amount_spent
    composition_rule = "composed exactly" if len(count.runs) <= 1 else f"{len(count.runs)} runs added"
    left = delta - count.filter.numeric
    if math.isinf(amount) or left < 0:
        epsilon = math.inf
    elif len(count.runs) <= 1:
        epsilon = count.epsilon(delta)
    else:
        by_filter = gaussian_epsilon(math.sqrt(amount), left) if rule == "gdp" else zcdp_epsilon(amount, left)
        if count.filter.tv:
            profile = (
                PrivacyProfile(mu=math.nextafter(math.sqrt(amount), math.inf))
                if rule == "gdp"
                else PrivacyProfile(rho=amount)
            )
            by_filter = compose([profile], count.filter.numeric, count.filter.tv).epsilon(delta)
        pure = math.inf if count.pure is None or count.filter.tv else float(count.pure)
        epsilon = min(float(by_filter), pure)
    return UnitCost(unit, epsilon, delta, unproved, composition_rule, amount, CURRENCY[rule])


def round_up(number: float) -> float:
    """A number with two digits, never below it."""
    if not 0 < number < math.inf:
        return number
    step = Fraction(10) ** (math.floor(math.log10(number)) - 1)
    return float(f"{float(math.ceil(Fraction(number) / step) * step):.1e}")


def costs_in_words(costs: Mapping[str, UnitCost], delta: float) -> str:
    """Describe what was paid, by unit, at a delta."""
    parts = [f"{unit} {cost}" for unit, cost in costs.items() if cost.amount or cost.n_unproved]
    return f"{', '.join(parts)} (epsilon at delta {delta:g}, by unit)" if parts else "nothing"


def coalitions_in_words(events: Sequence[Event], party: str) -> dict[str, str | Collection[str]]:
    """Coalitions that may learn of a party's records, if noise comes in shares: outsiders, the declared ones, all."""
    shared = [event for event in events if event.shares]
    others = sorted({name for event in shared for name in event.weights} - {party})
    if not others:
        return {}
    most = max(event.colluders for event in shared)
    declared = "any other single party" if most == 1 else f"any {most} other parties together"
    coalitions: dict[str, str | Collection[str]] = {"outsiders": (), declared: "declared"}
    return coalitions if most >= len(others) else coalitions | {f"{' and '.join(others)} together": others}


def shares_in_words(events: Sequence[Event]) -> str:
    """Describe what each party adds of the noise; empty where none comes in shares."""
    shares = {
        f"{weight} of the full variance from each of {len(e.shares)} parties" for e in events for _, weight in e.shares
    }
    return "; ".join(sorted(shares))
