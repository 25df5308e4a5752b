"""A party that releases and sends in a loop, charged to its account: what tests of accounts run and kill."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from partywise.federation.account.account import Account
from partywise.federation.codec import row_of
from partywise.privacy.ledger.event import Event
from partywise.privacy.mechanisms.gaussian import Gaussian
from partywise.privacy.mechanisms.random import charge_to
from partywise.privacy.mechanisms.release import OBSERVER, Release
from partywise.privacy.payer import Payer
from partywise.privacy.statistics.bounded import Bounded, SensitivityCertificate

FIELDS = frozenset({"label", "features"})


def bounded(parents: tuple[str, ...] = ()) -> Bounded:
    """A number that a record moves by 1."""
    certificate = SensitivityCertificate(1.0, "l2", "row", "replace_one", FIELDS)
    return Bounded(np.zeros(1), certificate, parents=parents)


def release(name: str, payer: Payer, mu: float = 0.1, **terms: Any) -> Release:
    """That number with noise, from a generator that carries a payer."""
    rng = charge_to(np.random.default_rng(0), payer)
    return Gaussian(mu=mu)(bounded(), rng, owner="clinic", release_id=name, **terms)


def event(name: str, mu: float = 0.1, **terms: Any) -> Event:
    """What it costs."""
    stated: dict[str, Any] = {"mechanism": "gaussian", "unit": "row", "depends_on": FIELDS, "mu": mu}
    return Event(name, "clinic", **stated | terms)


class Marks:
    """Lines about what happened, written at once and outside of the account."""

    def __init__(self, path: Path) -> None:
        self.handle, self.next = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), ""

    def mark(self, what: str) -> None:
        os.write(self.handle, f"{what} {self.next}\n".encode())

    def draw(self, _: Any, mechanism: str, owner: str, draw: Callable[[], Any], rng: object = None) -> Any:
        """As an observer of releases: the moment at which noise is drawn."""
        self.mark("drawn")
        return draw()

    def add_event(self, _: Event) -> None:
        """The release is there."""


def paying(path: Path, marks: Path, run: str) -> None:
    """Release and send until killed."""
    seen = Marks(marks)
    OBSERVER.set(seen)  # type: ignore[arg-type]
    account = Account(path, party="clinic")
    account.began(run, "one configuration")
    step = 0
    while True:
        seen.next = f"{run}/{step}"
        value = release(seen.next, account)
        account.record_sent(step, "server", seen.next, row_of(value), (1,), 8)
        seen.mark("left")
        step += 1
