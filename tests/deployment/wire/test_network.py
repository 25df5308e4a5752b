"""Parties on a network with TLS: frames arrive as they are, from who they say, once, in the sizes agreed on."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from threading import Thread, Timer

import psutil
import pytest

from network_driver import HOST, addresses, ends, posted, said
from partywise.core.errors import NoRoomError, PartyError, RefusalError, Unreachable
from partywise.deployment.session.watch import Watch
from partywise.deployment.wire import authority
from partywise.deployment.wire.network import Network
from partywise.deployment.wire.tls import client_context
from pipeline import ROOT, environment

NAMES = ("hospital", "klinik süd", "server")
NEXT = dict(zip(NAMES, NAMES[1:] + NAMES[:1], strict=True))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("certificates")
    authority.make(made, (*NAMES, "mallory"), days=1)
    return made


@pytest.fixture
def places():
    return addresses(NAMES)


def test_frames_arrive_as_they_are_from_who_put_them(folder, places):
    frames = {"empty": b"", "bytes": bytes(range(256)), "large": os.urandom(3_000_001)}
    with ends(folder, places, *NAMES) as (a, b, c):
        for tag, frame in frames.items():
            b.put("hospital", tag, frame)
            c.put("hospital", tag, frame[::-1])
        for tag, frame in frames.items():
            assert a.get("server", tag, 1) == frame[::-1]
            assert a.get("klinik süd", tag, 1) == frame
        assert a.get("server", "never put", 0.01) is None


def test_who_waits_has_a_frame_as_soon_as_it_comes(folder, places):
    with ends(folder, places, *NAMES[:2]) as (a, b):
        waiting = Thread(target=lambda: b.put("hospital", "late", b"x"))
        begun = time.monotonic()
        waiting.start()
        assert a.get("klinik süd", "late", 5) == b"x"
        assert time.monotonic() - begun < 1
        waiting.join()


def test_a_tag_is_taken_once(folder, places):
    """Another frame is refused whether the first was taken or not, and both sides say so by name."""
    with ends(folder, places, *NAMES) as (a, b, _):
        b.put("hospital", "message/1", b"x")
        assert a.get("klinik süd", "message/1", 1) == b"x"
        b.put("hospital", "message/1", b"x")
        with pytest.raises(RefusalError, match=r"'hospital' at .* second frame 'message/1' came from 'klinik süd'"):
            b.put("hospital", "message/1", b"y")
        with pytest.raises(RefusalError, match="second frame 'message/1' came from 'klinik süd': it is a replay"):
            a.get("server", "message/1", 1)


def test_a_frame_that_is_too_large_is_refused_before_it_is_read(folder, places):
    with ends(folder, places, *NAMES[:2], largest=1000) as (a, b):
        b.put("hospital", "just", bytes(1000))
        assert a.get("klinik süd", "just", 1) == bytes(1000)
        begin = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 50000000\r\n\r\n\x00\x04more"
        assert "409 Conflict" in said(places["hospital"], client_context(folder, "klinik süd"), begin)
        with pytest.raises(
            RefusalError, match=r"frame 'more' of 'klinik süd' has 49999994 bytes, more than largest_message"
        ):
            a.get("klinik süd", "just", 1)


def test_who_sends_too_much_is_told_and_ends_as_well(folder, places):
    with ends(folder, places, *NAMES[:2], largest=1000) as (a, b):
        with pytest.raises(RefusalError, match=r"'hospital' at .* refuses what came: .* has 30000000 bytes, more than"):
            b.put("hospital", "more", bytes(30_000_000))
        with pytest.raises(RefusalError, match=r"frame 'more' of 'klinik süd' has 30000000 bytes"):
            a.get("klinik süd", "more", 1)


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b"", {}),
        (b"\x00", {}),
        (b"\x00\x09short", {}),
        (b"\xff\xff" + bytes(70_000), {}),
        (b"\x00\x02\xff\xfeframe", {}),
        (b"\x00\x01xframe", {"Content-Encoding": "gzip"}),
    ],
)
def test_what_is_no_frame_is_refused_and_the_run_goes_on(folder, places, body, headers):
    with ends(folder, places, *NAMES[:2]) as (a, b):
        status, text = posted(places["hospital"], client_context(folder, "klinik süd"), body, **headers)
        assert status == 400 and "'klinik süd' sent no frame" in text
        b.put("hospital", "good", b"x")
        assert a.get("klinik süd", "good", 1) == b"x"


BABBLE = [
    b"GET /else HTTP/1.1\r\nHost: x\r\n\r\n",
    b"PUT / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\nContent-Length: 60\r\n\r\n",
    b"GET / HTTP/1.1\r\nA: " + b"x" * 20_000 + b"\r\n\r\n",
    bytes(range(256)) * 2,
]


def test_babble_within_tls_and_without_is_answered_or_not_and_nobody_is_told(folder, places, capfd, caplog):
    """What nobody asked about appears neither on the screen of whoever runs a party nor as the end of the run."""
    with ends(folder, places, *NAMES[:2]) as (a, b):
        for begin in BABBLE:
            answer = said(places["hospital"], client_context(folder, "klinik süd"), begin)
            assert answer.startswith(("HTTP/1.0 4", "HTTP/1.1 4")), begin[:40]
        cut = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n\x00\x09mess"
        with pytest.raises(TimeoutError):
            said(places["hospital"], client_context(folder, "klinik süd"), cut, patience=0.1)
        for begin in BABBLE:
            with socket.create_connection(places["hospital"]) as bare:
                bare.sendall(begin)
        b.put("hospital", "x", b"own")
        assert a.get("klinik süd", "x", 1) == b"own"
    assert capfd.readouterr() == ("", "")
    assert {record.name for record in caplog.records} <= {"partywise.deployment.wire.pool"}


def test_a_body_without_a_size_is_not_read(folder, places):
    with ends(folder, places, *NAMES[:2]):
        context = client_context(folder, "klinik süd")
        status, text = posted(places["hospital"], context, iter([b"\x00\x01x", b"frame"]))
        assert status == 400 and "size is not stated" in text


def test_who_takes_nothing_makes_who_puts_wait_and_the_frame_comes_in_the_end(folder, places):
    with ends(folder, places, *NAMES[:2], largest=200_000) as (a, b):
        b.put("hospital", "message/0", bytes(150_000))
        with pytest.raises(NoRoomError, match=r"'hospital' at .* has not taken what came before"):
            b.put("hospital", "message/1", bytes(150_000))
        assert a.inbox._held["klinik süd"] < 200_000
        taking = Timer(0.5, a.get, ("klinik süd", "message/0", 5))
        taking.start()
        Watch(b, 20.0).put("hospital", "message/1", b"x" * 150_000)
        assert a.get("klinik süd", "message/1", 5) == b"x" * 150_000
        taking.join()


STRANGERS = """
import resource, socket, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
idle = [socket.create_connection(sys.argv[1:], timeout=30) for _ in range(1100)]
print(len(idle), flush=True)
sys.stdin.read()
"""


def test_idle_connections_of_strangers_keep_no_party_out(folder, places):
    """Eleven hundred, with the thousand files that a process may usually have open."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, limits[1]))
    host, port = places["hospital"]
    try:
        with ends(folder, places, *NAMES[:2]) as (a, b):
            command = [sys.executable, "-c", STRANGERS, host, str(port)]
            with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as strangers:
                assert strangers.stdout.readline() == b"1100\n"
                begun = time.monotonic()
                b.put("hospital", "message", b"x")
                assert a.get("klinik süd", "message", 5) == b"x" and time.monotonic() - begun < 5
                strangers.communicate(b"", timeout=30)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_a_certificate_of_the_authority_is_not_enough_to_be_a_party(folder, places):
    with ends(folder, places, *NAMES[:2]) as (a, b):
        status, text = posted(places["hospital"], client_context(folder, "mallory"), b"\x00\x01xframe")
        assert status == 403 and "'mallory' is none of the parties ('klinik süd', 'server') of 'hospital'" in text
        b.put("hospital", "x", b"own")
        assert a.get("klinik süd", "x", 1) == b"own"


def test_whoever_speaks_without_tls_is_not_heard(folder, places):
    with ends(folder, places, *NAMES[:2]) as (a, b):
        with pytest.raises(OSError):
            posted(places["hospital"], None, b"\x00\x01xframe")
        b.put("hospital", "x", b"own")
        assert a.get("klinik süd", "x", 1) == b"own"


def test_a_peer_that_speaks_no_tls_is_refused_by_name(folder, places):
    with socket.create_server(places["klinik süd"]) as deaf, ends(folder, places, "hospital") as (a,):

        def plain():
            with deaf.accept()[0] as connection:
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        answer = Thread(target=plain)
        answer.start()
        with pytest.raises(RefusalError, match=r"'klinik süd' at 127.0.0.1:\d+ is refused: it does not speak TLS 1.3"):
            a.is_there("klinik süd")
        answer.join()


def test_who_is_not_there_is_unreachable_and_may_come_later(folder, places):
    with ends(folder, places, "hospital") as (a,):
        assert not a.is_there("server")
        with pytest.raises(Unreachable, match=r"'server' at 127.0.0.1:\d+ does not answer: start it"):
            a.put("server", "hello", b"x")
        with ends(folder, places, "server") as (c,):
            assert a.is_there("server") and c.is_there("hospital")
            a.put("server", "hello", b"x")
            assert c.get("hospital", "hello", 1) == b"x"
        assert not a.is_there("server")


CHILD = """
import sys, time
from partywise.deployment.wire.network import Network
me, folder, *rest = sys.argv[1:]
addresses = {name: (host, int(port)) for name, host, port in zip(*[iter(rest)] * 3)}
end = Network(me, addresses, folder)
others = {name: other for name, other in zip(addresses, [*addresses][1:] + [*addresses][:1])}
before = {other: name for name, other in others.items()}[me]
print("ready", flush=True)
for turn in range(10**6):
    frame = None
    while frame is None:
        frame = end.get(before, f"turn/{turn}", 60)
    end.put(others[me], f"turn/{turn}", frame)
"""


@pytest.fixture
def children(folder, places):
    """The second and the third party as processes that hand on what comes to them."""
    words = [str(word) for name, (host, port) in places.items() for word in (name, host, port)]
    environ = environment() | {"PYTHONPATH": str(ROOT / "lib")}
    started = {
        name: subprocess.Popen(
            [sys.executable, "-c", CHILD, name, str(folder), *words], env=environ, stdout=subprocess.PIPE, text=True
        )
        for name in NAMES[1:]
    }
    try:
        assert [child.stdout.readline() for child in started.values()] == ["ready\n"] * 2
        yield started
    finally:
        for child in started.values():
            child.kill()
            child.wait()
            child.stdout.close()


@pytest.mark.parametrize("how", ["plain", "journal"])
def test_a_frame_takes_two_and_a_half_times_its_size_at_most(folder, places, how, tmp_path):
    """Beside the value that is sent; what is received is the frame and the arrays in it, and no more."""
    command = [sys.executable, "tests/support/frame_memory.py", str(folder), json.dumps(places), str(tmp_path), how]
    both = [subprocess.Popen([*command, name], cwd=ROOT, stdout=subprocess.PIPE, text=True) for name in NAMES[:2]]
    sent, received = (float(one.communicate(timeout=120)[0]) for one in both)
    assert sent < 1.5 and received < 2.5


def test_three_processes_hand_on_a_message_in_20_ms_and_20_MB_in_2_s(folder, places, children):
    with ends(folder, places, "hospital") as (a,):
        seconds = []
        for turn in range(45):
            frame = b"x" * 100 if turn < 40 else os.urandom(20_000_000)
            begun = time.perf_counter()
            a.put("klinik süd", f"turn/{turn}", frame)
            assert a.get("server", f"turn/{turn}", 20) == frame
            seconds.append(time.perf_counter() - begun)
        assert sorted(seconds[:40])[20] <= 0.020
        assert sorted(seconds[40:])[2] <= 2.0
        # The first turns opened what the others used: no connection is left behind by a frame.
        assert len(psutil.Process().net_connections()) <= 8


def test_a_process_that_was_killed_is_gone_and_one_that_was_stopped_is_silent(folder, places, children):
    with ends(folder, places, "hospital", patience=1.5) as (a,):
        assert a.is_there("server") and a.is_there("klinik süd")
        children["server"].kill()
        children["server"].wait()
        begun = time.monotonic()
        assert not a.is_there("server")
        with pytest.raises(Unreachable, match=r"'server' at 127.0.0.1:\d+ (closed the connection|does not answer)"):
            a.put("server", "turn/0", b"x")
        children["klinik süd"].send_signal(signal.SIGSTOP)
        while psutil.Process(children["klinik süd"].pid).status() != psutil.STATUS_STOPPED:
            assert time.monotonic() - begun < 10
        asked = time.monotonic()
        assert a.is_there("klinik süd") and time.monotonic() - asked < 2
        with pytest.raises(PartyError, match=r"'klinik süd' at .* has taken nothing for 1.5 seconds"):
            a.put("klinik süd", "turn/0", b"x")
        assert time.monotonic() - begun < 10
        children["klinik süd"].send_signal(signal.SIGCONT)
        assert a.is_there("klinik süd")


def test_a_port_in_use_a_host_that_is_unknown_and_one_of_elsewhere_are_named(folder, places):
    listening = r"'hospital' cannot listen at 127.0.0.1:\d+: another process listens"
    with ends(folder, places, "hospital"), pytest.raises(PartyError, match=listening):
        Network("hospital", places, folder)
    nowhere = places | {"server": ("no-such-host.invalid", 4711)}
    with pytest.raises(PartyError, match=r"cannot listen at no-such-host.invalid:4711: this host is not known"):
        Network("server", nowhere, folder)
    with pytest.raises(PartyError, match=r"cannot listen at 192.0.2.1:\d+: this machine has no such address"):
        Network("hospital", places, folder, listen=("192.0.2.1", 4711))
    with ends(folder, nowhere, "hospital") as (a,):
        with pytest.raises(Unreachable, match=r"'server' at no-such-host.invalid:4711: this host is not known"):
            a.put("server", "hello", b"x")
        with pytest.raises(Unreachable, match="this host is not known"):
            a.is_there("server")


def test_a_port_without_permission_is_named(folder, places, monkeypatch):
    """As whoever is not root meets it."""

    async def refused(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("aiohttp.web.TCPSite.start", refused)
    with pytest.raises(PartyError, match=r"'hospital' cannot listen at 127.0.0.1:80: ports below 1024 need permission"):
        Network("hospital", places | {"hospital": (HOST, 80)}, folder)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"hospital": (HOST, 0)}, "port=0 of 'hospital' must be from 1 to 65535"),
        ({"hospital": (HOST, "80")}, "give a host as text and a port as a number"),
        ({"hospital": ("", 80)}, "give a host as text and a port as a number"),
        ({"server": (HOST, 4711), "hospital": (HOST, 4711)}, "two have one host and port"),
        ({"Hospital": (HOST, 4711)}, "differ in capitals alone"),
    ],
)
def test_addresses_are_checked_before_anything_is_opened(folder, places, change, sentence):
    with pytest.raises(ValueError, match=sentence):
        Network("hospital", places | change, folder)


def test_unknown_names_and_closed_ends_are_refused(folder, places):
    with pytest.raises(ValueError, match="me='mallory' has no address"):
        Network("mallory", places, folder)
    with ends(folder, places, "hospital") as (a,):
        for ask in (a.is_there, lambda name: a.put(name, "x", b""), lambda name: a.get(name, "x", 0)):
            with pytest.raises(ValueError, match="'mallory' is not a peer of 'hospital'"):
                ask("mallory")
        with pytest.raises(ValueError, match="more than 200 bytes"):
            a.put("server", "x" * 201, b"")
        a.close()
        with pytest.raises(PartyError, match="'hospital' has left the network"):
            a.is_there("server")


def test_nothing_is_left_of_an_end_that_was_closed(folder, places):
    process = psutil.Process()
    with ends(folder, places, *NAMES) as (a, b, c):
        a.put("server", "x", b"1")
        b.put("server", "x", b"2")
        assert c.get("klinik süd", "x", 1) == b"2"
        during = process.num_threads(), len(process.net_connections())
    # A thread that has been joined may be on the list of the system for a moment.
    end, after = time.monotonic() + 5, during
    while (after[0] > during[0] - 3 or after[1]) and time.monotonic() < end:
        after = process.num_threads(), len(process.net_connections())
        time.sleep(0.02)
    assert after[0] <= during[0] - 3 and after[1] == 0


def test_without_the_extra_one_sentence_says_what_to_install(folder, tmp_path):
    """And nothing of it is loaded by whoever asks for no network."""
    code = f"""
import sys
import partywise.deployment.wire.network as network, partywise.deployment.wire.authority as authority
assert not [name for name in sys.modules if name.split(".")[0] in ("aiohttp", "tno", "cryptography", "ormsgpack")]
sys.modules["aiohttp"] = sys.modules["cryptography"] = None
for ask in (
    lambda: network.Network("server", {{"server": ("127.0.0.1", 4711)}}, {str(folder)!r}),
    lambda: authority.make({str(tmp_path / "new")!r}, ["server"]),
):
    try:
        ask()
    except ImportError as error:
        print(error)
"""
    environ = environment() | {"PYTHONPATH": str(ROOT / "lib")}
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
    network, certificates = done.stdout.splitlines()
    assert network == "a network of parties needs the package aiohttp: pip install 'partywise[network]'."
    assert certificates == "a test authority needs the package cryptography: pip install 'partywise[network]'."
