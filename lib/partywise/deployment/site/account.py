"""A party's account under the policy of its site: caps over days, and who may receive what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ...core.documents import TIME
from ...core.errors import BudgetExceeded, PolicyError
from ...federation.account.account import Account
from ...federation.account.chain import Row
from ...federation.account.interface import EXPERIMENT
from ...federation.account.reading import charged_event, event_of, mode_of
from ...federation.account.spending import Budget, Spending
from ...privacy.ledger.event import Event
from .policy import SitePolicy
from .settings import Site


class SiteAccount(Account):
    """A party's account under the policy of its site: its caps, and who may receive what. See `Account`."""

    def __init__(self, path: Path, policy: SitePolicy, *, party: str, budget: Budget | None = None) -> None:
        super().__init__(path, party=party, budget=budget)
        self._policy = policy
        self._caps = cap_spendings(policy.site, self.rows(), party)

    def require(self, run: str, events: Sequence[Event]) -> None:
        """As `Account.require`; PolicyError where a cap has no room."""
        for k, (cap, spending) in enumerate(zip(self._policy.site.epsilon, self._caps, strict=True)):
            try:
                spending.require(run, events)
            except BudgetExceeded as error:
                days = "" if cap.days is None else f" of {cap.days:g} days"
                raise PolicyError(f"{self._policy.path} forbids it: the cap epsilon[{k}]{days}: {error}") from error
        super().require(run, events)

    def require_receiver(self, receiver: str, kind: str) -> None:
        """As `Account.require_receiver`; PolicyError if the receiver may not have it."""
        self._policy.check_receiver(receiver, kind)


def cap_spendings(site: Site, rows: Sequence[Row], party: str) -> list[Spending]:
    """What the rows of an account have spent of each cap of a site."""
    budgets = [
        Budget(cap.epsilon, cap.delta, cap.unit, cap.rows_per_user, numeric_reserve=cap.numeric_reserve)
        for cap in site.epsilon
    ]
    pairs = zip(site.epsilon, budgets, strict=True)
    return [Spending(budget, _payments_within(cap.days, rows), party=party) for cap, budget in pairs]


def _payments_within(days: float | None, rows: Sequence[Row]) -> Iterator[tuple[str, Event]]:
    """Payments of so many days, or ever; of a run that wrote no time when it began, or went on, all count."""
    since = "" if days is None else (datetime.now(UTC) - timedelta(days=days)).strftime(TIME)
    # An account that was begun with an earlier version has times of some runs only.
    time, mode = "", EXPERIMENT
    for row in rows:
        if row.kind == "time":
            time = row.fields["time"]
        elif row.kind == "began":
            mode = mode_of(row)
        elif row.kind == "ended":
            time = ""
        elif row.kind == "paid" and (not time or time >= since):
            yield row.run, charged_event(event_of(row), mode)
