"""A link writes down before it sends, and takes nothing whose row is another than its own channel gives it."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from deployment_driver import Notes, threads
from memory_transport import connected
from partywise.core.errors import PartyError, RefusalError
from partywise.deployment.session.link import SessionLink, form_of, inner_releases
from partywise.deployment.session.session import Session
from partywise.deployment.wire.frames import FrameAddress, encode_frame
from partywise.federation.account.rows import SentMessage
from partywise.privacy.accounted_values import Clear, Public
from partywise.privacy.ledger.event import Event
from partywise.privacy.ledger.reach import clear_event
from partywise.privacy.mechanisms.release import Release, derive
from toy_rounds import program, run

NAMES = ("p1", "p2", "server")


def event(name: str, **terms) -> Event:
    return Event(
        release_id=name, owner="p1", mechanism="gaussian", unit="row", depends_on=("features",), mu=0.5, **terms
    )


@pytest.fixture
def link():
    """The link of the server, and what p1 would have to put to it."""
    ends = connected(NAMES)
    session = Session(ends["server"], "c" * 64, patience=0.2)
    session.salts["p1", "server"] = "5" * 64
    return SessionLink(session.run(0), NAMES, Notes("server")), ends["p1"]


def put(end, payload, row, step=0, name="x"):
    address = FrameAddress(Session(end, "c" * 64).run(0).id, step, "p1", "server", name)
    end.put("server", address.tag, encode_frame(address, payload, row))


def test_a_message_is_written_down_before_it_leaves():
    names, order = run().names, []

    class Written(Notes):
        def record_sent(self, step, *given):
            order.append((self.me, "written", step))
            super().record_sent(step, *given)

    class Seen:
        def __init__(self, end):
            self.end, self.me, self.peers = end, end.me, end.peers
            self.get, self.is_there, self.close = end.get, end.is_there, end.close
            self.credential = end.credential

        def put(self, receiver, tag, data):
            if tag.startswith("message/"):
                order.append((self.me, "put", int(tag.split("/")[1])))
            self.end.put(receiver, tag, data)

    ends = {name: Seen(end) for name, end in connected(names).items()}
    threads(program, {name: run() for name in names}, ends, account={name: Written(name) for name in names})
    for name in names:
        own = [(what, step) for who, what, step in order if who == name]
        assert own[::2] == [("written", step) for _, step in own[1::2]]
        assert own[1::2] == [("put", step) for _, step in own[::2]] and own


def test_what_is_received_has_the_row_that_the_channel_of_its_receiver_gives_it(link):
    server, end = link
    release = Release(1.0, event("sum"))
    of = derive(2.0, [release], name="of", owner="p1")
    put(end, of, "of")
    assert server.get(0, "p1", "server", "x").value == 2.0
    # The release inside was never sent here, and has its row.
    assert [row.release_id for row in server.channel.ledger.rows] == ["sum", "of"]
    put(end, Clear(1.0, ("row",)), "clear/p1/p1>server/y/row", step=1, name="y")
    assert server.get(1, "p1", "server", "y").value == 1.0
    assert server._account.paid == [], "whoever sends pays"


FORGED = {
    "the row of another release": (Release(1.0, event("sum")), "other", "its event is 'other' where .* has 'sum'"),
    "a row where there is none": (Public(1.0, because="a setting"), "sum", "its event is 'sum' where .* has ''"),
    "no row where there is one": (Clear(1.0, ("row",)), "", "its event is '' where the program has 'clear/p1"),
    "a release for others": (
        Release(1.0, event("sum", audience=("p2",))),
        "sum",
        "be accounted for .CertificationError",
    ),
    "a value without the releases that it names": (
        Release(1.0, replace(derive(1.0, [Release(1.0, event("sum"))], name="of", owner="p1").event)),
        "of",
        "cannot be accounted for .CertificationError",
    ),
}


@pytest.mark.parametrize("what", FORGED)
def test_a_message_that_cannot_be_accounted_for_as_it_says_is_refused(link, what):
    server, end = link
    payload, row, sentence = FORGED[what]
    put(end, payload, row)
    with pytest.raises(RefusalError, match=sentence) as caught:
        server.get(0, "p1", "server", "x")
    assert caught.value.sender == "p1" and "message 0 ('x') from 'p1' to 'server' is refused" in str(caught.value)


UNLIKE = {
    "NaN": (Public(np.array([0.0, np.nan]), "a setting"), "it holds a number that is not finite .NaN or infinity"),
    "infinity in a list": (Public([{"at": -np.inf}], "a setting"), "it holds a number that is not finite"),
    "a complex NaN": (Public(np.complex128(complex(0, np.nan)), "a setting"), "it holds a number that is not finite"),
    "single precision": (
        Public(np.zeros(2, np.float32), "a setting"),
        r"\(1-dimensional array of float32\) where 'p1'",
    ),
    "whole numbers": (
        Public(np.zeros(2, int), "a setting"),
        r"\(1-dimensional array of int\) where 'p1' sent",
    ),
    "a table": (Public(np.zeros((2, 1)), "a setting"), r"\(2-dimensional array of float64\) where 'p1' sent"),
    "a number": (Public(0.0, "a setting"), r"it is public \(float64\) where 'p1' sent public \(1-dimensional"),
    "another kind": (
        Clear(np.zeros(2), ("row",)),
        r"it is clear \(1-dimensional array of float64\) where 'p1' sent",
    ),
}


@pytest.mark.parametrize("what", UNLIKE)
def test_what_does_not_look_like_its_name_is_refused_and_leaves_nobody(link, what):
    server, end = link
    payload, said = UNLIKE[what]
    put(end, Public(np.zeros(3), because="a setting"), "")
    server.get(0, "p1", "server", "x")
    rows = list(server._account.rows)
    put(end, payload, "clear/p1/p1>server/x/row" if isinstance(payload, Clear) else "", step=1)
    with pytest.raises(RefusalError, match=said) as caught:
        server.get(1, "p1", "server", "x")
    assert caught.value.sender == "p1" and "message 1 ('x') from 'p1' to 'server' is refused" in str(caught.value)
    assert server._account.rows == rows
    server.put(2, "server", "p1", "x", Public(np.zeros(5), because="a setting"))
    rows = list(server._account.rows)
    with pytest.raises(ValueError, match=said.replace("'p1'", "'server'")):
        server.put(3, "server", "p1", "x", payload)
    assert server._account.rows == rows and server._account.paid == [] and end.get("server", "message/3", 0.0) is None


def test_lists_without_entries_and_shapes_may_differ(link):
    server, end = link
    for step, value in enumerate([[1, 2], [], [3], []]):
        put(end, Public(value, because="a setting"), "", step)
        assert server.get(step, "p1", "server", "x").value == value
    for step, shape in enumerate([(2, 3), (0, 4)], 4):
        put(end, Public(np.zeros(shape), because="a setting"), "", step, name="y")
        assert server.get(step, "p1", "server", "y").value.shape == shape


def test_what_a_rehearsal_had_is_compared_with_the_first_message(link):
    server, end = link
    rehearsed = {("server", "x"): form_of(Public(1.0, because="a setting"))}
    server = SessionLink(server._run, NAMES, Notes("server"), forms=rehearsed)
    put(end, Public("1.0", because="a setting"), "")
    with pytest.raises(RefusalError, match=r"it is public \(str\) where the program has public \(float64\)"):
        server.get(0, "p1", "server", "x")


def test_one_name_for_two_releases_is_refused(link):
    server, end = link
    put(end, Release(1.0, event("sum", noise_digest="a")), "sum")
    put(end, Release(2.0, event("sum", noise_digest="b")), "sum", step=1)
    server.get(0, "p1", "server", "x")
    with pytest.raises(RefusalError, match=r"message 1 .* cannot be accounted for .CertificationError"):
        server.get(1, "p1", "server", "x")


@pytest.mark.parametrize("inside", [False, True])
def test_a_peer_cannot_enter_the_row_of_a_value_that_leaves_here_in_the_clear(link, inside):
    """With its row there already, the value left unpaid, whatever the budget."""
    server, end = link
    forged = Release(None, event("sum"))
    object.__setattr__(forged, "event", clear_event("clear/server/server>all/y/row", "server", ("row",), ("*",)))
    put(end, Public(1.0, "a setting", (forged,)) if inside else forged, "" if inside else forged.event.release_id)
    with pytest.raises(RefusalError, match="its body is not a payload"):
        server.get(0, "p1", "server", "x")
    server.put(1, "server", "p1", "y", Clear(1.0, ("row",), audience="*"))
    assert server._account.paid == [forged.event]


def test_what_does_not_come_is_missed(link):
    server, _ = link
    with pytest.raises(PartyError, match=r"'p1' was silent for patience=0\.2 s: 'server' waits for its 'message/0'"):
        server.get(0, "p1", "server", "x")


def test_releases_inside_come_after_those_that_they_are_made_of():
    first, second = (Release(1.0, event(name)) for name in ("a", "b"))
    one = derive(1.0, [first], name="c", owner="p1")
    two = derive(1.0, [Public(1.0, "of both", (one, second)), one], name="d", owner="p1")
    assert [release.event.release_id for release in inner_releases(two)] == ["a", "c", "b"]


def test_what_is_written_down_is_plain_json():
    names = run().names
    notes = {name: Notes(name) for name in names}
    threads(program, {name: run() for name in names}, connected(names), account=notes)
    rows = [row for own in notes.values() for row in own.rows if isinstance(row, SentMessage)]
    assert len(rows) == 32 and all(json.loads(json.dumps(row.payload)) == row.payload for row in rows)
    assert all(row.payload.get("value") is None and row.payload.get("content") is None for row in rows)
