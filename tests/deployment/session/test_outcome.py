"""What a party holds has one digest, from its own process or a simulation, and tells nothing of what others hold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from partywise.deployment.session.outcome import Outcome, estimate_of, outcomes, plain
from partywise.federation.cipher import Cipher
from partywise.federation.codec import encode
from partywise.federation.parties import Party
from partywise.federation.place_checks import LocatedValue, PlaceReport
from partywise.federation.places import per_place
from partywise.federation.run import simulate
from toy_rounds import program, run

EVERYBODY = frozenset(["a", "b"])


@dataclass(frozen=True)
class Model:
    weights: Any
    name: str = "model"


def held(**values):
    return LocatedValue(EVERYBODY, values)


VALUES = [
    1, 1.0, True, None, "1", b"1", -0.0, 0.0, float("nan"), [1], {"a": 1}, {1: "a"}, {1, 2}, Model(1), Model(2),
    np.array([1.0]), np.array([1]), np.array(1.0), np.float64(1), np.zeros((0, 2)), np.zeros((2, 0)), len, plain,
    Cipher(b"x", "a"), Cipher(b"x", "b"),
    Party("a", "client", {}), held(a=1), held(a=2), LocatedValue(frozenset("a"), {"a": 1}),
    per_place({"a": held(a=1)}), per_place({"b": held(a=1)}),
    PlaceReport(len, (1,)), PlaceReport(len, (1, 1)), PlaceReport(plain, (1,)),
]  # fmt: skip


def test_different_values_have_different_digests():
    digests = [Outcome("a", value).digest for value in VALUES]
    assert len(set(digests)) == len(VALUES)
    assert digests == [Outcome("a", value).digest for value in VALUES]


def test_what_others_hold_is_no_part_of_it():
    mine = PlaceReport(len, (held(a=1), per_place({"a": held(a=np.ones(2)), "b": held()})))
    whole = PlaceReport(len, (held(a=1, b=2), per_place({"a": held(a=np.ones(2)), "b": held(b=np.zeros(3))})))
    assert Outcome("a", mine).digest == Outcome("a", whole).digest != Outcome("b", whole).digest
    assert b"zeros" not in encode(Outcome("a", whole).plain_values)


def test_how_an_array_lies_in_memory_and_the_run_are_no_part_of_it():
    array = np.arange(6.0).reshape(2, 3)
    assert Outcome("a", array).digest == Outcome("a", np.asfortranarray(array)).digest
    assert Outcome("a", array).digest == replace(Outcome("a", array), run="f" * 64, steps=3).digest
    assert Outcome("a", array).digest != Outcome("a", array.T).digest


def test_a_set_has_one_digest_in_any_order():
    names = [f"name {k}" for k in range(50)]
    assert Outcome("a", set(names)).digest == Outcome("a", set(reversed(names))).digest


@pytest.mark.parametrize("value", [object(), 1j, np.array([object()]), np.array(["2026"], dtype="M8[Y]")])
def test_what_has_no_plain_form_is_refused(value):
    with pytest.raises(TypeError, match=r"has no plain form|cannot be a message"):
        _ = Outcome("a", [value]).digest


def test_a_simulation_gives_what_every_place_would_hold_and_the_estimate():
    one, other = run(), run()
    found = outcomes(program, one)
    assert tuple(found) == one.names and {outcome.steps for outcome in found.values()} == {34}
    assert encode(estimate_of(list(found.values()))) == encode(simulate(program, other))
    assert one.channel.ledger.digest == other.channel.ledger.digest
