"""Only messages carry data between parties: when others act, a party's block may hold anything, and no fit moves.

Every fit runs twice with the same seeds.  In the second run the block of a party holds garbage whenever it is not its
turn.  Before the first message it is everybody's turn, after the last one that of the party that trains; in between,
of whoever received what was sent last (a sender may write to several in a row) and of whoever sends next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import fields, is_dataclass
from itertools import takewhile
from typing import Any

import numpy as np
import pytest
from partywise.cells import generate
from partywise.folds import Fold
from partywise.parties import Party
from partywise.plan import Plan, plan
from partywise.study import MethodSpec, available, load
from partywise.wire import Channel, Message

import every_protocol
from partywise.randomness import Streams
from pipeline import ROOT

FITS = list(every_protocol.fits())
SEED = every_protocol.ROOT_SEED
PLANS: dict[str, Plan] = {name: plan(name, every_protocol.block(name), SEED) for name in available()}


def trainers(study: str, parties: Sequence[Party]) -> set[str]:
    """Parties that go on with their own block after the last message."""
    if study == "privacy_audit":
        return {parties[0].name}  # the experimenter, who knows the worlds, attacks what was sent
    return {party.name for party in parties if party.role == "active" or party.name == "trainer"}


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
        made = PLANS[study]
        self.study, self.case, self.seed = made.study, made.cases[case], made.root_seed
        self.method, self.made = made.methods[method], made
        self.data = generate(made, case, [0], ROOT / "resources")[0]
        (count,) = self.case.parties
        self.parties = self.study.split(self.data, count, made.spec, self.case.settings)
        self.fold = Fold(self.study.folds(self.data, 1, self.case.settings), 0, 1)
        (self.epsilon,) = made.epsilons(case, method)

    def run(self, parties: Sequence[Party], after: Callable[[int], None]) -> tuple[Any, Channel]:
        """The estimate, and the channel with everything that was sent."""
        channel = Turns(parties, self.method.protocol.extra, after)
        spec = MethodSpec(self.method.options, self.made.spec, self.case.settings, self.data.public())
        noise = Streams(self.seed, self.study.name, self.case.name, "noise", 0)
        estimate = self.method.protocol.fit(
            parties, channel, epsilon=self.epsilon, fold=self.fold, rng_for=noise, spec=spec
        )
        return deepcopy(estimate), channel  # some are views of a block


def same(first: Any, second: Any) -> bool:
    """Whether two estimates agree to the last bit."""
    if type(first) is not type(second):
        return False
    if isinstance(first, np.ndarray):
        return (first.shape, first.dtype, first.tobytes()) == (second.shape, second.dtype, second.tobytes())
    if is_dataclass(first):
        return all(same(getattr(first, f.name), getattr(second, f.name)) for f in fields(first))
    if isinstance(first, Mapping):
        return list(first) == list(second) and all(same(first[key], second[key]) for key in first)
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, float):
        return np.float64(first).tobytes() == np.float64(second).tobytes()
    return bool(first == second)


def test_the_fits_cover_every_protocol_of_every_study():
    for study in available():
        used = {PLANS[study].methods[method].protocol for name, _, method in FITS if name == study}
        assert used == set(load(study).methods.values()), study


@pytest.mark.parametrize("fit", FITS, ids="/".join)
def test_no_fit_moves_when_the_blocks_of_all_others_are_changed(fit):
    job = Fit(*fit)
    blocks = Blocks(job.parties)
    estimate, undisturbed = job.run(blocks.parties, lambda sent: None)
    messages, last = undisturbed.messages, trainers(fit[0], job.parties)
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
