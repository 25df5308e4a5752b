"""Whether the rows of one account agree with each other: what was sent was paid, and what was paid and kept is listed.

Rows come in order, one after the other, so that a file of any length takes the memory of one run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

# Any: rows of an account, JSON that another process wrote.
from typing import Any

from ...core.errors import AccountError
from ...privacy.accounted_values import Clear, Public, open_charges
from ...privacy.ledger.event import POST_PROCESSING, UNNAMED
from ...privacy.ledger.terms import JOIN
from ...privacy.mechanisms.release import Release
from ..cipher import Cipher
from ..codec import payload_of
from .chain import REMEDY, Row

# What a row says after the draw, and its name: no part of the profile that was paid for.
AFTERWARDS = ("release_id", "noise_digest", "certified")
# Of a release whose profile was chosen within a budget, the row of the budget states the profile.
PROFILE_TERMS = ("mu", "rho", "epsilon", "k", "range", "rate", "count", "delta_numeric", "data_dependent_parameters")


class Agreement:
    """Rows of an account, compared with each other as they come.

    Within a run: every release of the party that a message carries was paid with the same terms, once; every value that
    it sent in the clear was paid; the payments that no message carries are those that ``ended`` lists; the own digest
    in ``heads`` is that of the row before.
    """

    def __init__(self, path: Path | str, party: str) -> None:
        self.path, self.party = path, party
        self._last = ""
        self._begin("")

    def _begin(self, run: str) -> None:
        self._run = run
        self._paid = defaultdict[str, list[tuple[int, Mapping[str, Any]]]](list)
        self._clear, self._carried, self._budgets = set[str](), set[str](), set[str]()

    def add(self, row: Row) -> None:
        """Compare a row with those before it; AccountError naming the first that disagrees."""
        try:
            self._add(row)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
            raise AccountError(
                f"row {row.number} ({row.kind}) of {self.path} is none that an account writes: it was changed."
            ) from error
        self._last = row.digest

    @property
    def uncarried_payments(self) -> list[int]:
        """Numbers of the payments of this run for releases of the party that no message carried so far."""
        payments = [number for paid in self._paid.values() for number, event in paid if event["owner"] == self.party]
        return sorted(payments)

    def _add(self, row: Row) -> None:
        if row.kind == "began":
            self._begin(row.run)
        elif row.kind == "paid":
            event = row.fields["event"]
            if event["mechanism"] == "none":
                self._clear.add(event["release_id"])
            else:
                self._paid[event["release_id"]].append((row.number, event))
        elif row.kind == "reserved":
            self._budgets.add(row.fields["event"]["release_id"])
        elif row.kind == "sent":
            self._check_sent(row)
        elif row.kind == "heads":
            head = row.fields["heads"][self.party]
            if (head["rows"], head["digest"]) != (row.number, self._last):
                raise self._disagrees(row, "has another digest of the row before than that row")
        elif row.kind == "ended" and row.fields["outcome"] and row.fields.get("kept", []) != self.uncarried_payments:
            raise self._disagrees(
                row, f"lists other payments without a message than there are, {self.uncarried_payments}"
            )

    def unpaid(self, message: Mapping[str, Any]) -> str:
        """Why a message (the fields of its row) may not leave, as the end of a sentence; empty if all was paid."""
        form = message["payload"]
        for event in self._own(form):
            if problem := self._payment(event)[1]:
                return problem
        if form["kind"] == "Cipher" or not (form["kind"] == "Clear" or form.get("made_of")):
            return ""
        payload = payload_of(form)
        return "" if isinstance(payload, Cipher) else self._clear_problem(message, payload)

    def _check_sent(self, row: Row) -> None:
        if problem := self.unpaid(row.fields):
            raise self._disagrees(row, problem)
        for event in self._own(row.fields["payload"]):
            (name, place), _ = self._payment(event)
            del self._paid[name][place]
            self._carried.add(event["release_id"])

    def _own(self, form: Mapping[str, object]) -> list[Mapping[str, Any]]:
        """Rows of the party's own releases that a message is the first to carry, each once."""
        releases = {event["release_id"]: event for event in releases_in(form) if event["owner"] == self.party}
        return [event for name, event in releases.items() if name not in self._carried]

    def _payment(self, event: Mapping[str, Any]) -> tuple[tuple[str, int], str]:
        """Place of the payment of a release, or the reason that it has none."""
        names = [event["release_id"]]
        if event["release_id"] == f"{event['mechanism']}-{event['noise_digest']}":
            names.append(event["mechanism"])
        waiting = [(name, place) for name in names for place in range(len(self._paid.get(name, ())))]
        if not waiting:
            return ("", -1), f"sends release {event['release_id']!r}, which no row before it has paid"
        for name, place in waiting:
            if self._same(self._paid[name][place][1], event):
                return (name, place), ""
        number, paid = self._paid[waiting[0][0]][waiting[0][1]]
        first = next((key for key in event if key not in AFTERWARDS and paid.get(key) != event[key]), "certified")
        difference = f"{first} {event.get(first)!r}, which row {number} paid with {paid.get(first)!r}"
        return ("", -1), f"sends release {event['release_id']!r} with {difference}"

    def _same(self, paid: Mapping[str, Any], sent: Mapping[str, Any]) -> bool:
        """Whether a release is what was paid: all its terms, the profile in that of its budget where one pays."""
        # Paid as unproved is paid in full; an unproved release is paid as proved only where its profile came from
        # releases.
        if paid["certified"] and not sent["certified"] and not paid["data_dependent_parameters"]:
            return False
        if terms_of(paid) == terms_of(sent):
            return True
        parents, paid_parents = (
            [*filter(None, event["data_dependent_parameters"].split(JOIN))] for event in (sent, paid)
        )
        budgeted = bool(parents) and parents[-1] in self._budgets and parents[:-1] == paid_parents and not sent["mu"]
        return budgeted and terms_of(paid, *PROFILE_TERMS) == terms_of(sent, *PROFILE_TERMS)

    def _clear_problem(self, message: Mapping[str, object], payload: Release | Public | Clear) -> str:
        """Return why a value in the clear may not leave, as `unpaid` does: every owner's units must have their row."""
        for owner, units in open_charges(payload, self.party).items():
            begin, end = f"clear/{owner}/{self.party}>", f"/{message['name']}/{'+'.join(sorted(units))}"
            paid = any(name.startswith(begin) and name.endswith(end) for name in self._clear)
            if not paid and owner != message["receiver"]:
                return f"sends {message['name']!r} of {owner!r} in the clear, which no row before it has paid"
        return ""

    def _disagrees(self, row: Row, what: str) -> AccountError:
        return AccountError(f"row {row.number} ({row.kind}) of {self.path} {what}: the file was changed; {REMEDY}.")


def terms_of(event: Mapping[str, object], *without: str) -> dict[str, object]:
    """Terms that a payment and its release have in common, from the row of an event."""
    return {name: value for name, value in event.items() if name not in (*AFTERWARDS, *without)}


def releases_in(form: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Rows of the releases that a message carries, those inside of others included; values computed from them not."""
    for part in form.get("made_of") or ():
        yield from releases_in(part)
    if (
        form["kind"] == "Release"
        and form["event"]["mechanism"] != POST_PROCESSING
        and form["event"]["owner"] != UNNAMED
    ):
        yield form["event"]
