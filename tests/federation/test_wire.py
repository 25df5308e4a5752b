"""Nothing crosses untyped, unmetered or unaccounted."""

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fixed import fixed
from partywise.core.errors import CertificationError
from partywise.core.randomness import stream
from partywise.federation.channel import Channel
from partywise.federation.cipher import Cipher
from partywise.federation.parties import Party
from partywise.federation.payloads import payload_bytes
from partywise.privacy.accounted_values import Clear, Public
from partywise.privacy.ledger.event import Event
from partywise.privacy.ledger.reach import clear_event
from partywise.privacy.mechanisms import Gaussian, Release
from partywise.privacy.mechanisms.release import derive
from partywise.privacy.statistics.records import clipped_coefficients

LIBRARY = str(Path(__file__).parents[2] / "lib")
PARTIES = [Party("active", "active", {}), Party("p1", "passive", {}), Party("p2", "passive", {})]
NAMES = ["active", "p1", "p2"]
DELTA = 1e-5


@pytest.fixture
def channel():
    return Channel(PARTIES)


def released(release_id="curves", **terms):
    bounded = clipped_coefficients(np.ones((10, 3)), None, fixed(1.0))
    return Gaussian(sigma=2.0)(bounded, stream(1, release_id), owner="p1", release_id=release_id, **terms)


@pytest.mark.parametrize("payload", [np.zeros(3), 1.0, "text", {"a": 1}, None, [1], Party("x", "client", {})])
def test_bare_values_are_refused_by_name(channel, payload):
    with pytest.raises(TypeError, match="payload 'moments' from 'p1' is a bare"):
        channel.send("p1", "active", "moments", payload)
    assert channel.messages == () and len(channel.ledger) == 0


def test_a_message_without_an_event_cannot_be_made():
    with pytest.raises(TypeError, match="must be an Event"):
        Release(np.zeros(3), {"mu": 1.0})
    with pytest.raises(ValueError, match="because="):
        Public(np.zeros(3), because=" ")
    with pytest.raises(ValueError, match="units="):
        Clear(np.zeros(3), units=())
    with pytest.raises(ValueError, match="units="):
        Clear(np.zeros(3), units=("age",))
    with pytest.raises(TypeError, match="units='label' must be a tuple"):
        Clear(np.zeros(3), units="label")


def test_a_release_arrives_and_is_charged_once(channel):
    release = released()
    for receiver in ("active", "p2", "active"):
        value = channel.send("p1", receiver, "curves", release)
        assert np.array_equal(value, release.value)
    assert [row.release_id for row in channel.ledger.rows] == ["curves"]
    assert channel.ledger.worst_total(NAMES, "features", DELTA).mu_total == pytest.approx(1.0)
    assert len(channel.messages) == 3 and channel.bytes_total == 3 * 10 * 3 * 8
    channel.send("active", "p2", "forwarded", release)
    assert len(channel.ledger) == 1
    channel.send("p1", "active", "curves again", released("second draw"))
    assert channel.ledger.worst_total(NAMES, "features", DELTA).mu_total == pytest.approx(math.sqrt(2))


def test_a_release_keeps_to_its_audience(channel):
    release = released(audience=("active",))
    channel.send("p1", "active", "curves", release)
    with pytest.raises(CertificationError, match=r"for \('active',\), not for 'p2'"):
        channel.send("p1", "p2", "curves", release)
    assert channel.ledger.total("p2", "features", DELTA).mu_total == 0


def test_features_sent_in_the_clear_are_an_infinite_row(channel):
    channel.send("p1", "active", "curves", Clear(np.ones((10, 3)), units=("features",)))
    for unit, answer in (("features", math.inf), ("row", math.inf), ("label", 0)):
        assert channel.ledger.worst_total(NAMES, unit, DELTA).epsilon_certified == answer
    assert channel.ledger.total("p2", "row", DELTA).epsilon_certified == 0
    (row,) = channel.ledger.rows
    assert (row.mechanism, row.owner, row.audience, row.certified) == ("none", "p1", ("active",), False)


def test_a_clear_value_belongs_to_its_owner_and_repeats_share_a_row(channel):
    for step in range(5):
        channel.send("p1", "p2", "residual", Clear(np.full(4, step), units=("label",), owner="active"))
    assert len(channel.messages) == 5 and len(channel.ledger) == 1
    assert channel.ledger.total("active", "label", DELTA).epsilon_certified == 0
    assert channel.ledger.total("p2", "label", DELTA).epsilon_certified == math.inf
    channel.send("p1", "p2", "residual", Clear(np.zeros(4), units=("features",)))
    assert len(channel.ledger) == 2


def test_the_rows_of_values_of_one_kind_are_made_once_and_those_of_another_kind_anew(channel, monkeypatch):
    made = []

    def counted(*given):
        made.append(given)
        return clear_event(*given)

    monkeypatch.setattr("partywise.federation.channel.clear_event", counted)

    def sent(receiver, name, *owners):
        parts = [Clear(None, ("label",) if owner == "active" else ("features",), owner) for owner in owners]
        channel.send("active", receiver, name, Clear(np.zeros(2), ("label", "features"), made_of=parts))

    for _ in range(3):
        sent("p1", "predictor", "active", "p2")
    assert len(made) == len(channel.ledger) == 2
    for other in (("p2", "predictor", "active", "p1"), ("p1", "change", "active", "p2"), ("p1", "predictor", "active")):
        sent(*other)
    # The last is a part of what is there already: its row is made, and recognised.
    assert len(made) == 2 + 2 + 2 + 1 and len(channel.ledger) == 2 + 2 + 2
    assert {message.event for message in channel.messages} <= {event.release_id for event in channel.ledger.rows}
    assert channel.ledger.total("p2", "features", DELTA).epsilon_certified == math.inf


def test_ciphers_stay_closed_and_their_key_holder_gets_none(channel):
    cipher = Cipher(np.zeros(4), key_holder="active")
    closed = channel.send("p1", "p2", "sum", cipher)
    assert (type(closed), closed.key_holder) == (Cipher, "active") and np.array_equal(
        closed.decrypt("active"), np.zeros(4)
    )
    assert channel.bytes_total == 32
    ((row,), ledger) = channel.ledger.rows, channel.ledger
    assert (row.mechanism, row.owner, row.audience, row.key_holders) == ("cipher", "p1", ("p2",), ("active",))
    assert channel.messages[-1].event == row.release_id
    channel.send("p1", "p2", "another sum", cipher)
    assert ledger.rows == (row,), "ciphers of one kind share a row"
    for view, epsilon in (("p2", 0), ("active", 0), (("p2", "active"), math.inf), (("p1", "p2", "active"), 0)):
        assert ledger.total(view, "row", DELTA).epsilon_certified == epsilon, view
    with pytest.raises(CertificationError, match="'active' holds the key"):
        channel.send("p1", "active", "sum", cipher)
    channel.send("p1", "active", "sum", Clear(cipher, units=("features",)))
    noisy = released("noisy sum").post_process(lambda value: Cipher(value, key_holder="active"))
    assert channel.send("p2", "active", "sum", noisy).decrypt("active").shape == (10, 3)
    assert channel.bytes_total == 32 + 32 + 32 + 240 and channel.messages[-1].shape == (10, 3)


def test_a_cipher_is_opened_by_its_key_holder_alone():
    cipher = Cipher(np.ones(2), key_holder="active")
    with pytest.raises(CertificationError, match=r"only 'active' may decrypt it, by cipher\.decrypt"):
        _ = cipher.value
    with pytest.raises(CertificationError, match="by='p1': only 'active' can decrypt"):
        cipher.decrypt("p1")
    assert cipher.decrypt("active").tolist() == [1, 1]


def test_a_cipher_has_the_operations_of_its_scheme_and_no_others():
    sealed = Cipher(np.ones(2), "active")
    one, two = (Cipher(np.full(2, value), "active", "additive shares") for value in (1.0, 2.0))
    assert (one + two.scale(0.5)).decrypt("active").tolist() == [2, 2]
    assert (one + two).scheme == "additive shares" and (one + two).key_holder == "active"
    refused = [
        (lambda: sealed + sealed, "no operation 'add'"),
        (lambda: sealed.scale(2), "no operation 'scale'"),
        (lambda: one + Cipher(np.ones(2), "p1", "additive shares"), "of its scheme and key holder"),
        (lambda: one + sealed, "of its scheme and key holder"),
        (lambda: one + 1.0, "of its scheme and key holder"),
        (lambda: 1.0 + one, "unsupported operand"),
        (lambda: one * two, "unsupported operand"),
    ]
    for operation, sentence in refused:
        with pytest.raises((TypeError, ValueError), match=sentence):
            operation()
    with pytest.raises(ValueError, match="scheme='paper' of a cipher is unknown"):
        Cipher(1.0, "active", "paper")


def test_public_values_are_free_and_say_why(channel):
    assert channel.send("active", "p1", "n", Public(1000, because="n is public under replace-one")) == 1000
    assert len(channel.ledger) == 0
    assert channel.messages[0].argument == "n is public under replace-one"


def test_names_are_checked(channel):
    for sender, receiver in (("p9", "active"), ("active", "p9"), ("active", "server")):
        with pytest.raises(ValueError, match="is not on this channel; it connects"):
            channel.send(sender, receiver, "x", Public(1, because="constant"))
    with pytest.raises(ValueError, match="'p1' cannot send to itself"):
        channel.send("p1", "p1", "x", Public(1, because="constant"))
    with pytest.raises(ValueError, match="distinct names"):
        Channel([PARTIES[0], PARTIES[0]])
    served = Channel(PARTIES, extra=("server",))
    assert served.names == ("active", "p1", "p2", "server")
    served.send("p1", "server", "x", Public(1, because="constant"))


def test_a_refused_payload_leaves_no_trace(channel):
    flip = Event(release_id="f", owner="p1", mechanism="randomized_response", unit="row", depends_on=("label",))
    with pytest.raises(CertificationError, match="carries no mu"):
        channel.send("p1", "active", "x", Release(np.zeros(2), flip))
    with pytest.raises(TypeError, match="payload 'y' holds a Party"):
        channel.send("p1", "active", "y", Clear([PARTIES[0]], units=("row",)))
    with pytest.raises(TypeError, match="holds a ndarray"):
        channel.send("p1", "active", "z", Clear(np.array([{}]), units=("row",)))
    assert channel.messages == () and len(channel.ledger) == 0


def test_what_arrives_cannot_be_written_back(channel):
    block = np.zeros(3)
    received = channel.send("p1", "active", "x", Clear({"a": [block, (block,)]}, units=("features",)))
    for array in (received["a"][0], received["a"][1][0]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    block[0] = 1  # the sender's own array stays writable


SENT = {
    "public": lambda array: Public(array, because="constant"),
    "clear": lambda array: Clear({"of": [array]}, units=("row",)),
    "cipher": lambda array: Cipher(array, key_holder="active"),
    "release": lambda array: Release(array, released().event),
}


def views(array):
    """An array and all arrays that it is a view of."""
    while isinstance(array, np.ndarray):
        yield array
        array = array.base


@pytest.mark.parametrize("kind", SENT)
@pytest.mark.parametrize("shape", [(3,), (0, 2), (), (2, 3, 4)])
def test_the_write_flag_of_what_arrives_cannot_be_set_and_neither_side_sees_the_other_change(channel, kind, shape):
    own = np.arange(float(np.prod(shape))).reshape(shape).T
    received = channel.send("p1", "p2", "x", SENT[kind](own))
    received = received.decrypt("active") if kind == "cipher" else received["of"][0] if kind == "clear" else received
    for array in views(received):
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True
    assert not np.shares_memory(received, own)
    before = received.copy()
    own.flags.writeable = True
    own += 1
    assert np.array_equal(received, before)


@pytest.mark.parametrize("order", ["C", "F"])
def test_what_arrives_has_the_values_the_type_and_the_layout_of_what_was_sent(channel, order):
    for own in (np.arange(24.0).reshape(2, 3, 4, order=order), np.arange(6, dtype=np.float32), np.array(["ab", "c"])):
        for sent in (own, own.T, own[::-1], np.moveaxis(own, 0, -1)):
            received = channel.send("p1", "p2", "x", Public(sent, because="constant"))
            assert np.array_equal(received, sent) and received.dtype == sent.dtype
            assert received.strides == sent.copy(order="K").strides


@pytest.mark.parametrize(
    ("value", "size"),
    [
        (np.zeros((3, 5)), 120),
        (np.zeros((3, 5), dtype=np.float32), 60),
        (np.zeros(4, dtype=bool), 4),
        (1.5, 8),
        (7, 8),
        (np.float64(1), 8),
        (True, 8),
        (None, 8),
        (2**2047, 256),
        ("äb", 3),
        (b"abc", 3),
        ([1.0, np.zeros(2)], 24),
        ((), 0),
        ({"ab": 1.0, "c": np.zeros(2)}, 2 + 8 + 1 + 16),
        (Cipher(np.zeros(2), "a"), 16),
    ],
)
def test_sizes_are_those_of_the_serialised_value(value, size):
    assert payload_bytes(value) == size


def test_the_transcript_is_a_plain_table_in_order(channel):
    channel.send("p1", "active", "curves", released())
    channel.send("active", "p1", "operators", Clear(np.zeros((3, 2)), units=("label",)))
    channel.send("active", "p2", "steps", Public(30, because="fixed in advance"))
    channel.send("p1", "p2", "share", Cipher(np.zeros(2), key_holder="active"))
    rows = json.loads(json.dumps(channel.transcript()))
    assert [row["kind"] for row in rows] == ["release", "clear", "public", "cipher"]
    assert [row["step"] for row in rows] == [0, 1, 2, 3]
    assert rows[0] == {
        "step": 0,
        "sender": "p1",
        "receiver": "active",
        "name": "curves",
        "kind": "release",
        "argument": "gaussian, mu = 1",
        "event": "curves",
        "shape": "10x3",
        "bytes": 240,
    }
    assert (rows[1]["argument"], rows[2]["argument"], rows[3]["argument"]) == (
        "label",
        "fixed in advance",
        "key: active",
    )
    ids = {row.release_id for row in channel.ledger.rows}
    assert all(row["event"] in ids for row in rows if row["kind"] in ("release", "clear"))
    assert [sum(row["bytes"] for row in rows if row["sender"] == name) for name in ("p1", "p2")] == [240 + 16, 0]
    assert channel.bytes_total == 240 + 48 + 8 + 16


def test_importing_the_wire_starts_no_heavy_package():
    program = (
        "import sys, partywise.federation.channel, partywise.privacy.audit.pairs; "
        "heavy = {'scipy.stats', 'scipy.optimize', 'scipy.interpolate', 'xarray', 'matplotlib', 'netCDF4', 'pandas'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={"PYTHONPATH": LIBRARY}
    )
    assert found.stdout.strip() == "[]"


def test_a_value_for_several_is_accounted_for_once_and_still_for_nobody_else(channel, monkeypatch):
    """One payload or a copy for each receiver: the same rows. The rows of many owners are not made again."""
    made = []

    def counted(*given):
        made.append(given)
        return clear_event(*given)

    monkeypatch.setattr("partywise.federation.channel.clear_event", counted)
    parts = [Clear(1.0, ("row",), owner) for owner in ("p1", "p2")]
    other = Channel([*PARTIES, Party("p3", "passive", {})])
    answers = [derive(2.0, parts, name="sum", owner="active", audience=("p1", "p2")) for _ in range(2)]
    for one, sent in ((channel, (answers[0], answers[0])), (other, answers)):
        for receiver, answer in zip(("p1", "p2"), sent, strict=True):
            one.send("active", receiver, "sum", answer)
    assert len(made) == 2 + 2
    assert channel.ledger.digest == other.ledger.digest and len(channel.ledger) == 2
    assert channel.transcript() == other.transcript()
    with pytest.raises(CertificationError, match=r"the value is for \('p1', 'p2'\), not for 'p3'"):
        other.send("active", "p3", "sum", answers[1])
    other.send("active", "p1", "another", answers[1])
    assert len(other.ledger) == 4
