"""What every transport keeps: frames by tag in any order, each taken once, bounded; whoever is gone is gone."""

from __future__ import annotations

import multiprocessing
import os
import signal
from contextlib import suppress
from threading import Thread, Timer
from time import monotonic

import pytest

from memory_transport import connected
from partywise.core.errors import NoRoomError, RefusalError, Unreachable
from partywise.deployment.wire import inbox
from partywise.deployment.wire.inbox import Inbox
from partywise.deployment.wire.pipes import Mesh

NAMES = ("p1", "p2", "server")
LARGEST = 2**20


def through_pipes(names=NAMES):
    mesh = Mesh(names, LARGEST)
    sockets = dict(mesh._sockets)
    ends = {}
    for name in names:
        # In one process: the ends of the others stay open for them.
        mesh._sockets = {ends: end for ends, end in sockets.items() if ends[0] == name}
        ends[name] = mesh.end(name)
    return ends


@pytest.fixture(params=["memory", "pipes"])
def ends(request):
    made = connected(NAMES, LARGEST) if request.param == "memory" else through_pipes()
    yield made
    for end in made.values():
        end.close()


def test_frames_come_by_sender_and_tag_in_any_order(ends):
    for tag, data in (("message/1", b"one"), ("message/0", b""), ("hello", b"x" * (LARGEST // 2))):
        ends["p1"].put("server", tag, data)
    ends["p2"].put("server", "message/1", b"other")
    server = ends["server"]
    assert server.me == "server" and set(server.peers) == {"p1", "p2"}
    assert server.get("p1", "hello", 5) == b"x" * (LARGEST // 2)
    assert server.get("p1", "message/0", 5) == b"" and server.get("p2", "message/1", 5) == b"other"
    assert server.get("p1", "message/1", 5) == b"one"
    assert server.get("p1", "message/2", 0.01) is None and server.get("p1", "message/1", 0) is None
    with pytest.raises(ValueError, match="sender='p9' is not a peer of 'server'"):
        server.get("p9", "hello", 0)


def test_whoever_waits_is_woken_by_what_comes(ends):
    Timer(0.1, ends["p1"].put, ("server", "message/0", b"late")).start()
    start = monotonic()
    assert ends["server"].get("p1", "message/0", 5) == b"late" and monotonic() - start < 2


@pytest.mark.parametrize("taken", [True, False])
def test_another_frame_under_a_tag_is_a_replay(ends, taken):
    ends["p1"].put("server", "message/0", b"one")
    assert not taken or ends["server"].get("p1", "message/0", 5) == b"one"
    ends["p1"].put("server", "message/0", b"two")
    with pytest.raises(RefusalError, match="a second frame 'message/0' came from 'p1': it is a replay") as caught:
        ends["server"].get("p2", "message/5", 5)
    assert (caught.value.sender, caught.value.tag) == ("p1", "message/0")


def test_a_frame_that_is_too_large_is_refused_unread(ends):
    with suppress(Unreachable):
        ends["p1"].put("server", "message/0", b"x" * (LARGEST + 1))
    with pytest.raises(RefusalError, match=f"has {LARGEST + 1} bytes, more than largest_message={LARGEST}"):
        ends["server"].get("p2", "message/5", 5)


@pytest.mark.parametrize("tag", ["hello", "message/1", "done"])
def test_the_same_frame_comes_once_however_often_it_is_put_and_another_is_refused(ends, tag):
    """A connection that was cut before the answer: its sender cannot know that it was heard."""
    for _ in range(3):
        ends["p1"].put("server", tag, b"one")
    ends["p1"].put("server", "message/0", b"after")
    assert ends["server"].get("p1", "message/0", 5) == b"after"
    assert (ends["server"].get("p1", tag, 5), ends["server"].get("p1", tag, 0)) == (b"one", None)
    ends["p1"].put("server", tag, b"one")
    ends["p1"].put("server", tag, b"another")
    with pytest.raises(RefusalError, match=f"a second frame '{tag}' came from 'p1': it is a replay"):
        ends["server"].get("p2", "message/5", 5)


def test_of_those_that_say_that_one_waits_the_last_counts(ends):
    for place in (b"1", b"22", b"3"):
        ends["p1"].put("server", "waiting", place)
    ends["p1"].put("server", "message/0", b"")
    assert ends["server"].get("p1", "message/0", 5) == b""
    assert (ends["server"].get("p1", "waiting", 0), ends["server"].get("p1", "waiting", 0)) == (b"3", None)
    assert not ends["server"].inbox._held["p1"]


@pytest.mark.parametrize("size", [0, LARGEST])
def test_a_party_is_no_more_than_the_largest_frame_ahead_of_who_takes(ends, size):
    most = max(LARGEST // (size + inbox.BESIDE), 1)
    for number in range(2 * most + 2):
        ends["p1"].put("server", f"message/{number}", bytes(size))
        assert len(ends["server"].get("p1", f"message/{number}", 5)) == size
    flood = Thread(target=put_all, args=(ends["p2"], most + 10, size), daemon=True)
    flood.start()
    flood.join(2.0)
    # What is on its way in a pipe is not here.
    assert ends["server"].inbox._held["p2"] <= LARGEST + inbox.BESIDE
    for number in range(most + 10):
        assert len(ends["server"].get("p2", f"message/{number}", 5)) == size
    flood.join(5.0)
    assert not flood.is_alive() and not ends["server"].inbox._held["p2"]


def put_all(end, count: int, size: int) -> None:
    """Put frames, each again until there is room for it, as a session does."""
    for number in range(count):
        while True:
            try:
                end.put("server", f"message/{number}", bytes(size))
                break
            except NoRoomError:
                continue


def test_frames_that_never_end_are_counted_while_they_are_read():
    one = Inbox("server", ("p1",), 2**24)
    with one.reading("p1", "message/0", 2**24):
        assert not one.await_room("p1", "message/1", 1, 0.01)
        with pytest.raises(NoRoomError, match="leave no room for 'message/1'"), one.reading("p1", "message/1", 1):
            pass
    for number in range(100):
        with one.reading("p1", f"message/{number}", 2**24):
            pass


def test_whoever_has_closed_is_gone_and_what_it_put_still_arrives(ends):
    ends["p1"].put("server", "message/0", b"last words")
    assert ends["server"].is_there("p1")
    ends["p1"].close()
    assert ends["server"].get("p1", "message/0", 5) == b"last words"
    assert ends["server"].get("p1", "message/1", 0.2) is None and not ends["server"].is_there("p1")
    assert ends["server"].is_there("p2")
    with pytest.raises(Unreachable, match="'p1' is gone: frame 'message/2' of 'server' did not reach it"):
        ends["server"].put("p1", "message/2", b"")


def test_two_parties_of_one_name_are_refused():
    for make in (connected, Mesh):
        with pytest.raises(ValueError, match="must be distinct"):
            make(("p1", "p1"))


def test_a_killed_process_is_gone_though_others_were_forked_after_it():
    mesh = Mesh(NAMES)
    workers = []
    for name in ("p1", "p2"):
        worker = multiprocessing.get_context("fork").Process(target=idle, args=(mesh, name), daemon=True)
        worker.start()
        workers.append(worker)
    server = mesh.end("server")
    assert server.get("p1", "hello", 10) == server.get("p2", "hello", 10) == b"up"
    os.kill(workers[0].pid, signal.SIGKILL)
    workers[0].join()
    assert server.get("p1", "message/0", 0.2) is None
    assert not server.is_there("p1") and server.is_there("p2")
    workers[1].kill()
    workers[1].join()
    server.close()


def idle(mesh, name):
    mesh.end(name).put("server", "hello", b"up")
    signal.pause()
