"""Whoever waits sees who is gone, who gave up, what was lost and who is silent; whoever waits itself is not."""

from __future__ import annotations

import json
from threading import Timer
from time import monotonic, sleep

import pytest

from memory_transport import connected
from partywise.core.errors import PartyError, RefusalError
from partywise.deployment.session.session import Session
from partywise.deployment.session.watch import LOG, Watch, place_of

NAMES = ("a", "b", "c")


@pytest.fixture
def ends():
    return connected(NAMES)


def later(seconds, end, *frames):
    for position, frame in enumerate(frames):
        Timer(seconds * (position + 1), end.put, frame).start()


def waiting(at):
    return "waiting", json.dumps({"at": at}).encode()


def test_a_frame_is_there_as_soon_as_it_comes(ends):
    later(0.05, ends["b"], ("a", "message/3", b"x"))
    start = monotonic()
    assert Watch(ends["a"], 60).get("b", "message/3") == b"x" and monotonic() - start < 0.5


def test_one_that_says_that_it_waits_is_not_silent(ends):
    later(0.3, ends["b"], *[("a", *waiting("message/1"))] * 4, ("a", "message/3", b"x"))
    assert Watch(ends["a"], 1.0).get("b", "message/3") == b"x"


def test_one_that_says_nothing_is_silent_after_patience(ends):
    start = monotonic()
    with pytest.raises(PartyError, match=r"'b' was silent for patience=0\.4 s: 'a' waits for its 'message/3'"):
        Watch(ends["a"], 0.4).get("b", "message/3")
    assert 0.4 <= monotonic() - start < 2
    # Both others were told that this one waits.
    for name in ("b", "c"):
        assert json.loads(ends[name].get("a", "waiting", 0)) == {"at": "message/3"}


@pytest.mark.parametrize("tag", ["message/3", "done"])
def test_what_comes_while_a_busy_party_looks_around_is_taken(ends, tag, monkeypatch):
    """A look takes longer than the patience, and the frame comes during it: its sender knows that, and may end."""
    frame = json.dumps({"run": "r"}).encode()

    def slow_look(peer):
        sleep(0.3)
        ends["b"].put("a", tag, frame)
        return True

    monkeypatch.setattr(ends["a"], "is_there", slow_look)
    if tag == "done":
        ends["c"].put("a", tag, frame)
        session = Session(ends["a"], "c" * 64, patience=0.2)
        monkeypatch.setattr(session.watch, "put", lambda *frame: None)
        assert session.say_and_hear(tag, {"run": "r"}) == {peer: {"run": "r"} for peer in ("b", "c")}
    else:
        assert Watch(ends["a"], 0.2).get("b", tag) == frame


def test_a_run_ends_at_its_deadline_though_nobody_is_silent(ends):
    watch = Watch(ends["a"], 1.0, deadline=0.6)
    later(0.2, ends["b"], *[("a", *waiting("message/1"))] * 9)
    watch.start_clock()
    with pytest.raises(PartyError, match=r"more than deadline=0\.6 s: 'a' waits for 'b'; start all parties again"):
        watch.get("b", "message/3")


def test_the_log_says_for_whom_a_long_wait_is(ends, caplog, monkeypatch):
    monkeypatch.setattr("partywise.deployment.session.watch.QUIET", 0.3)
    caplog.set_level("INFO", logger=LOG.name)
    for step, seconds, lines in ((3, 0.1, []), (4, 1.5, ["waiting for b (message 4)"])):
        later(seconds, ends["b"], ("a", f"message/{step}", b"x"))
        Watch(ends["a"], 2.0).get("b", f"message/{step}")
        assert [record.getMessage() for record in caplog.records] == lines


@pytest.mark.parametrize("at", ["message/4", "message/17", "done"])
def test_one_that_waits_at_a_later_step_has_sent_what_is_missed(ends, at):
    ends["b"].put("a", *waiting(at))
    with pytest.raises(PartyError, match="'message/3' of 'b' did not reach 'a': it was lost on its way"):
        Watch(ends["a"], 5).get("b", "message/3")


def test_any_that_is_gone_is_seen_by_whoever_waits_for_another(ends):
    ends["c"].close()
    start = monotonic()
    with pytest.raises(PartyError, match="'c' is gone: 'a' found it so while it waited for 'message/3'"):
        Watch(ends["a"], 2).get("b", "message/3")
    assert monotonic() - start < 5


def test_the_sentence_of_whoever_gave_up_is_that_of_all_in_print(ends):
    ends["c"].put("a", "abort", json.dumps({"sentence": "'b' has\n\x1b[2J no data."}).encode())
    watch = Watch(ends["a"], 2)
    with pytest.raises(PartyError, match=r"^'c' reports: 'b' has  \[2J no data\.$"):
        watch.get("b", "message/3")
    assert watch.notice == "'b' has  [2J no data."


class Refusing:
    """A transport to peers that refuse what is put, at once."""

    def __init__(self, end):
        self.end, self.me, self.peers, self.get, self.is_there = end, end.me, end.peers, end.get, end.is_there

    def put(self, receiver, tag, data):
        raise RefusalError(f"{receiver!r} refuses what came.")


@pytest.mark.parametrize("hello", [True, False])
def test_whoever_is_refused_ends_with_the_sentence_of_all_where_there_is_one(ends, hello):
    end = Refusing(ends["a"])
    start = Session(end, "c" * 64, patience=1).begin if hello else lambda: Watch(end, 1).put("b", "message/3", b"")
    with pytest.raises(RefusalError, match="'b' refuses what came"):
        start()
    later(0.1, ends["b"], ("a", "abort", json.dumps({"sentence": "'a' began anew."}).encode()))
    with pytest.raises(PartyError, match=r"^'b' reports: 'a' began anew\.$"):
        start()


@pytest.mark.parametrize("data", [b"", b"3", b"\xff", b"[" * 10_000, b"{" + b" " * 70_000 + b"}"])
def test_a_notice_that_cannot_be_read_is_refused(ends, data):
    ends["c"].put("a", "abort", data)
    with pytest.raises(RefusalError, match="'abort' of 'c' cannot be read"):
        Watch(ends["a"], 2).get("b", "message/3")


def test_the_places_of_frames_are_those_of_the_program():
    tags = ["ready", "message/0", "message/9", "message/10", "done", "1/message/0", "1/done", "10/message/0"]
    assert sorted(reversed(tags), key=place_of) == tags
    assert place_of("message/" + "9" * 5000) == place_of("message/-1") == place_of("ready")
    assert place_of("message/x") == place_of("") == place_of("hello") == (0, -1)
