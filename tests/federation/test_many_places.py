"""Messages among thousands of places: what one costs does not depend on how many take part."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from partywise.core.errors import CertificationError
from partywise.federation import channel as channels
from partywise.federation.channel import Channel
from partywise.federation.cipher import Cipher
from partywise.federation.parties import Party
from partywise.privacy.accounted_values import Clear, Public
from partywise.privacy.ledger.event import Event
from partywise.privacy.mechanisms.release import Release


class Name(str):
    """A name that counts how often it is compared with another one."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other):
        Name.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def payload_of(kind: str, number: int, owner: str):
    """One payload of a kind, with a release of its own."""
    fields = {
        "mechanism": "gaussian",
        "unit": "row",
        "depends_on": frozenset({"label"}),
        "mu": 0.1,
        "stratum": f"clients/{owner}",
    }
    return {
        "release": lambda: Release(np.zeros(2), Event(f"release {number}", owner, **fields)),
        "clear": lambda: Clear(np.zeros(2), units=("row",)),
        "public": lambda: Public(np.zeros(2), because="a constant"),
        "cipher": lambda: Cipher(np.zeros(2), "nobody"),
    }[kind]()


@pytest.mark.parametrize("kind", ["release", "clear", "public", "cipher"])
def test_a_message_compares_as_few_names_among_a_thousand_as_among_ten(kind):
    compared = []
    for places in (10, 1000):
        names = [Name(f"client {k}") for k in range(places)]
        channel = Channel([Party(name, "client", {}) for name in names], (Name("server"),))
        Name.compared = 0
        for number in range(20):
            name = names[-1 - number % 10]
            channel.send(str(name), "server", "statistic", payload_of(kind, number, str(name)))
        compared.append(Name.compared)
    few, many = compared
    assert many <= few + 20


def test_messages_of_many_rounds_take_a_few_hundred_bytes_each():
    def traced(count: int) -> int:
        tracemalloc.start()
        channel = Channel([Party("a", "client", {})], ("server",))
        for _ in range(count):
            channel.send("a", "server", "gradient", Public(np.zeros(1000), because="a constant"))
        taken = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        assert len(channel.messages) == count and channel.bytes_total == 8000 * count
        return taken

    few, many = traced(500), traced(2500)
    assert 100 < (many - few) / 2000 < 500


def test_a_value_for_many_that_is_made_of_many_is_emptied_once(monkeypatch):
    emptied, counted = channels.strip_value, []
    monkeypatch.setattr(channels, "strip_value", lambda payload: counted.append(payload) or emptied(payload))
    names = tuple(f"client {k}" for k in range(50))
    channel = Channel([Party(name, "client", {}) for name in names], ("server", "judge"))
    parts = []
    for name in names:
        parts.append(Clear(np.ones(2), units=("row",), owner=name))
        channel.send(name, "server", "sums", parts[-1])
    counted.clear()
    answer = Clear(np.ones(2), units=("row",), made_of=parts, audience=names)
    for name in names:
        channel.send("server", name, "answer", answer)
    assert counted == [answer]
    assert {heard.value for name in names for heard in channel.received_payloads(name, "answer")} == {None}
    with pytest.raises(CertificationError, match="not for 'judge'"):
        channel.send("server", "judge", "answer", answer)
