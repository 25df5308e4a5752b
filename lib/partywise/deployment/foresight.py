"""Foresight of fits: what would be sent and paid, and whether what is left has room for all of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from ..core.errors import BudgetExceeded, PolicyError
from ..federation.account.chain import Row
from ..federation.account.reading import charged_event, opened_account, paid_events, require_owner
from ..federation.account.spending import AccountBudget, Spending, costs_in_words, spent_of
from ..federation.gate import open_rows
from ..federation.payloads import Message
from ..privacy.ledger.event import Event
from .deployments import Deployment
from .rehearsal import PATIENT, clips_ahead, foresee
from .site.policy import cap_spendings
from .start import PartyStart, Preparation, prepare


@dataclass(frozen=True)
class Foresight:
    """Expected messages and costs of fits, from made-up records and the account as it is.

    estimates : by method, who would have what of it, in words, empty where that shows in the end
    messages : of all parties and fits; events : by fit, what this party would pay, as it counts in the mode of the run
    left : what is left of its budget and of the caps of its site, and whether all fits fit, in words
    clips : shares of its own records beyond public bounds, for its screen alone
    refused : whether one of these has no room
    """

    estimates: Mapping[str, str]
    messages: tuple[Message, ...]
    events: tuple[tuple[Event, ...], ...]
    left: tuple[str, ...]
    clips: Mapping[str, float] = field(default_factory=dict)
    refused: bool = False


def foresee_all(
    start: PartyStart, ready: Preparation, seconds: float
) -> list[tuple[Sequence[Message], tuple[Event, ...]]]:
    """Foresee what every fit would send and this party would pay; fits that differ in fold alone are alike."""
    seen = dict[tuple[str, float | None], tuple[Sequence[Message], tuple[Event, ...]]]()
    for deployment, charges in zip(start.deployments, ready.charges, strict=True):
        key = deployment.network.method, deployment.network.epsilon
        if key not in seen:
            messages, paid = foresee(deployment, start.me, ready.n, seconds)
            paid += open_rows(charges, start.me)
            seen[key] = messages, tuple(charged_event(event, deployment.network.mode) for event in paid)
    return [seen[deployment.network.method, deployment.network.epsilon] for deployment in start.deployments]


def foresight(start: PartyStart) -> Foresight:
    """Foresee the fits of a party without meeting another party, paying or writing."""
    ready = prepare(start)
    seen = foresee_all(start, ready, PATIENT)
    rows = account_rows(start)
    messages, events = [message for messages, _ in seen for message in messages], tuple(events for _, events in seen)
    check_receivers(start, messages)
    limits = list(rooms(start, rows, events))
    left = tuple(line if error is None else f"{line}; {remedy}" for line, error, remedy in limits)
    refused = any(error is not None for _, error, _ in limits)
    clips = clips_ahead(start.deployment, start.me, start.data) if start.me in start.deployment.holders else {}
    return Foresight(ready.estimates, tuple(messages), events, left, clips, refused)


def account_rows(start: PartyStart) -> tuple[Row, ...]:
    """Read the rows of a party's account as it is; AccountError if it is another party's."""
    if not start.ledger.exists():
        return ()
    rows = opened_account(start.ledger).rows
    require_owner(start.ledger, rows[0], start.me)
    return rows


def rooms(
    start: PartyStart, rows: Sequence[Row], events: Sequence[Sequence[Event]]
) -> Iterator[tuple[str, type[Exception] | None, str]]:
    """Yield what is left of each limit and whether all fits fit, in words, with error and remedy if they do not."""
    budget, what = stated_budget(start.deployment), "this run" if len(events) == 1 else f"these {len(events)} fits"
    limits = list[tuple[str, Spending, type[Exception]]]()
    if budget is not None:
        limits.append(("network.budget", Spending(budget, paid_events(rows), party=start.me), BudgetExceeded))
    if start.policy is not None:
        caps = enumerate(cap_spendings(start.policy.site, rows, start.me))
        limits += [(f"{start.policy.path} epsilon[{k}]", spending, PolicyError) for k, spending in caps]
    for name, spending, error in limits:
        room, fits, reserve = spending.room, 0, spending.needed_reserve(event for paid in events for event in paid)
        with suppress(BudgetExceeded):
            for paid in events:
                spending.require(f"fit {fits}", paid)
                fits += 1
        whole = fits == len(events)
        words = "has room for" if whole else "REFUSES"
        beyond = f"; the first {fits} would fit" if fits and not whole else ""
        before = "it" if len(events) == 1 else "them"
        line = f"{name} ({spending.budget}) {words} {what}: {room} is left before {before}{beyond}"
        yield line, None if whole else error, _remedy(name, spending.budget, reserve)


def _remedy(name: str, budget: AccountBudget | None, reserve: float) -> str:
    """Suggest what to do if a limit has no room: masks of ciphertexts need a reserve, not a larger epsilon."""
    if budget is not None and budget.numeric_reserve < reserve < budget.delta:
        return (
            f"masks of ciphertexts need a part of delta: set numeric_reserve of {name} to {reserve:g} or more "
            f"(it is {budget.numeric_reserve:g})"
        )
    return "use more noise, run fewer fits, or state a larger budget"


def require_room(start: PartyStart, rows: Sequence[Row], events: Sequence[Sequence[Event]]) -> None:
    """State what several fits would cost; BudgetExceeded or PolicyError if what is left has no room for all."""
    if len(start.deployments) > 1:
        cost = f"to pay: {cost_in_words(start, events)}" if events else "made-up records do not show what they cost"
        if start.deployment.network.mode == "experiment":
            cost = "what is released costs infinity"
        say(f"plan: {len(start.deployments)} fits; {cost}")
    for line, error, remedy in rooms(start, rows, events) if events else ():
        if error is PolicyError:
            assert start.policy is not None
            asked = f"{remedy}, or ask" if "numeric_reserve" in remedy else "ask"
            raise PolicyError(f"{start.policy.path} forbids it: {line}; {asked} the person responsible for the file.")
        if error is not None:
            raise error(f"{line}; {remedy}.")


def cost_in_words(start: PartyStart, events: Sequence[Sequence[Event]]) -> str:
    """Describe what a party would pay for fits, by unit; ``events`` by fit."""
    delta, group = start.delta, start.deployment.plan.rows_per_user(start.deployment.network.case)
    paid = [(f"fit {k}", event) for k, fit_events in enumerate(events) for event in fit_events]
    return costs_in_words(spent_of(paid, delta, group, party=start.me), delta)


def say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def check_receivers(start: PartyStart, messages: Sequence[Message]) -> None:
    """Raise PolicyError for a message of this party whose receiver may not have it."""
    for message in messages:
        if start.policy is not None and message.sender == start.me:
            start.policy.check_receiver(message.receiver, message.kind)


def stated_budget(deployment: Deployment) -> AccountBudget | None:
    stated = deployment.network.budget
    if stated is None:
        return None
    group = deployment.plan.rows_per_user(deployment.network.case) if stated.unit.startswith("user") else None
    return AccountBudget(
        stated.epsilon,
        stated.delta,
        stated.unit,
        group,
        numeric_reserve=stated.numeric_reserve,
        against=stated.against,
    )
