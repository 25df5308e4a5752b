"""Only messages carry data between parties: when others act, a party's block may hold anything, and no fit moves.

Every fit runs twice with the same seeds.  In the second run the block of a party holds garbage whenever it is not its
turn.  Before the first message it is everybody's turn, after the last one that of the party that trains; in between,
of whoever received what was sent last (a sender may write to several in a row) and of whoever sends next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from itertools import takewhile
from typing import Any

import numpy as np
import pytest

import every_protocol
from every_protocol import execution, generated, planned
from partywise.audits.contract import same
from partywise.experiment.study import available, load
from partywise.federation.channel import Channel, Message
from partywise.federation.parties import Party
from partywise.federation.run import simulate

FITS = list(every_protocol.fits())

# Who goes on with its own block after the last message: the party that trains; in an audit the experimenter, who knows
# the worlds and attacks what was sent; in slicing a server without data.
LAST = {
    "functional_boosting": {"active"},
    "label_private": {"trainer"},
    "privacy_audit": {"owner 1"},
    "sliced_inverse_regression": set(),
}


def turn(messages: Sequence[Message], sent: int, last: set[str]) -> set[str]:
    """Whose turn it is when ``sent`` of the messages are on their way; ``last`` when all are."""
    before = reversed(messages[:sent])
    heard = {message.receiver for message in takewhile(lambda m: m.sender == messages[sent - 1].sender, before)}
    return heard | (last if sent == len(messages) else {messages[sent].sender})


class Blocks:
    """The parties of a fit over memory of their own, which can be garbled and restored."""

    def __init__(self, parties: Sequence[Party]) -> None:
        self.memory = {p.name: {key: np.array(value) for key, value in p.block.items()} for p in parties}
        self.true = {name: {key: value.copy() for key, value in own.items()} for name, own in self.memory.items()}
        self.parties = [Party(p.name, p.role, self.memory[p.name], p.columns) for p in parties]

    def only(self, names: set[str]) -> None:
        """The blocks of these parties are as they were, those of all others hold garbage."""
        for name, arrays in self.memory.items():
            for key, array in arrays.items():
                array[...] = self.true[name][key] if name in names else garbage(self.true[name][key])


def garbage(array: np.ndarray) -> np.ndarray:
    """Other values of the same type and shape."""
    if array.dtype.kind == "f":
        return np.full_like(array, np.nan)
    if array.dtype.kind == "b":
        return ~array
    return array + np.ones((), array.dtype) if array.dtype.kind in "iuc" else np.full_like(array, "?")


class Turns(Channel):
    """A channel that says after each message whose turn it is."""

    def __init__(self, parties: Sequence[Party], extra: tuple[str, ...], after: Callable[[int], None]) -> None:
        super().__init__(parties, extra)
        self.after = after

    def send(self, sender: str, receiver: str, name: str, payload: Any) -> Any:
        received = super().send(sender, receiver, name, payload)
        self.after(len(self._messages))
        return received


class Fit:
    """One fit of a method of a case, as often as wanted."""

    def __init__(self, study: str, case: str, method: str) -> None:
        self.given = planned(study), case, method, generated(study, case)
        self.fit = planned(study).methods[method].protocol.fit
        self.parties = execution(*self.given).parties

    def run(self, parties: Sequence[Party], after: Callable[[int], None]) -> tuple[Any, Channel]:
        """The estimate, and the channel with everything that was sent."""
        run = execution(*self.given)
        run.parties, run.channel = tuple(parties), Turns(parties, run.channel.names[len(parties) :], after)
        return deepcopy(simulate(self.fit, run)), run.channel  # some are views of a block


def test_the_fits_cover_every_protocol_of_every_study():
    for study in available():
        used = {planned(study).methods[method].protocol for name, _, method in FITS if name == study}
        assert used == set(load(study).methods.values()), study


@pytest.mark.parametrize("fit", FITS, ids="/".join)
def test_no_fit_moves_when_the_blocks_of_all_others_are_changed(fit):
    job = Fit(*fit)
    blocks = Blocks(job.parties)
    estimate, undisturbed = job.run(blocks.parties, lambda sent: None)
    messages, last = undisturbed.messages, LAST[fit[0]]
    again, disturbed = job.run(blocks.parties, lambda sent: blocks.only(turn(messages, sent, last)))
    assert disturbed.transcript() == undisturbed.transcript()
    assert disturbed.ledger.digest == undisturbed.ledger.digest
    assert same(again, estimate)


@pytest.mark.parametrize("fit", FITS, ids="/".join)
def test_a_fit_whose_blocks_are_garbage_from_the_start_does_move(fit):
    """The counterpart: the estimates do depend on what the blocks hold."""
    job = Fit(*fit)
    blocks = Blocks(job.parties)
    estimate, _ = job.run(blocks.parties, lambda sent: None)
    blocks.only(set())
    with np.errstate(all="ignore"):
        try:
            again, _ = job.run(blocks.parties, lambda sent: None)
        except (ValueError, np.linalg.LinAlgError, ArithmeticError, IndexError):
            return
    assert not same(again, estimate)
