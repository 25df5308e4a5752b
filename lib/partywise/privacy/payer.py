"""Payer of noise: a capability that the generator of a draw carries, in any thread and in one process.

The code that gives out the generators of a run sets who pays (`Run.charge_to`; of a single generator
`partywise.privacy.mechanisms.random.charge_to`). A mechanism asks the payer of the very generator that it draws from.
While this process has an account open, a generator without a payer draws nothing that is released, and no secret
generator without one is made.
"""

from __future__ import annotations

from typing import Protocol
from weakref import WeakSet

from ..core.errors import CertificationError
from .ledger.event import Event


class Payer(Protocol):
    """Asked before noise is drawn, and before a value leaves in the clear (`partywise.federation.account`)."""

    def charge(self, *events: Event) -> None:
        """Remember for good what these cost together, or raise `BudgetExceeded` and remember nothing."""


class _PaidWhole:
    """The payer of what is part of something that was paid for as a whole."""

    def charge(self, *events: Event) -> None:
        """Nothing more to pay."""


PAID: Payer = _PaidWhole()


class PaidShares:
    """The payer of a run: noise of several owners was paid when its sum was announced, all else is when it is drawn.

    ``announced`` are the events that `partywise.federation.run.Run.charge` has announced so far, and that ``payer``
    paid.
    """

    def __init__(self, payer: Payer, announced: list[Event]) -> None:
        self._payer, self._announced = payer, announced

    def charge(self, *events: Event) -> None:
        """Charge the payer; CertificationError for a share of a sum that was not announced."""
        for event in events:
            if event.owners and event not in self._announced:
                raise CertificationError(
                    f"the sum {event.release_id!r} was not announced: no owner has paid for its share of the noise; "
                    "call run.charge(owners, event) before it is drawn."
                )
        if drawn := [event for event in events if not event.owners]:
            self._payer.charge(*drawn)


# The accounts that are open in this process, in whatever thread; a forked child keeps those of its parent.
OPEN_ACCOUNTS: WeakSet[object] = WeakSet()


def payer_of(source: object) -> Payer | None:
    """The payer that a generator carries."""
    return getattr(source, "payer", None)


def require_payer(source: object) -> Payer | None:
    """The payer that a generator carries; None without a payer in this process."""
    payer = payer_of(source)
    if payer is None and OPEN_ACCOUNTS:
        raise CertificationError(
            f"rng={type(source).__name__} carries no payer while {len(OPEN_ACCOUNTS)} account(s) are open in this "
            "process: take the generator from the run (run.rng_for), or name who pays by charge_to(rng, account)."
        )
    return payer
