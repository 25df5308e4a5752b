"""One program for all parties: the same transcript, ledger and estimate in one process, checked, and in many."""

from __future__ import annotations

import numpy as np
import pytest

from fixed import fixed
from forked import forked
from partywise.core.randomness import stream
from partywise.federation.channel import Channel
from partywise.federation.cipher import Cipher
from partywise.federation.codec import decode, encode, pack, unpack
from partywise.federation.parties import Party
from partywise.federation.payloads import content_of, strip_value
from partywise.federation.place_checks import PlacedRun
from partywise.federation.places import PlaceError
from partywise.federation.run import Run, simulate
from partywise.privacy.accounted_values import Clear, Public
from partywise.privacy.mechanisms.gaussian import Gaussian
from partywise.privacy.mechanisms.release import derive
from partywise.privacy.statistics.moments import record_sum
from toy_rounds import local_scale, local_size, local_sum, parties, program, run


def described(estimate) -> bytes:
    return encode(estimate)


@pytest.mark.parametrize("how", ["checked", "forked"])
def test_all_ways_to_run_a_program_are_one(how):
    plain, other = run(), run()
    expected = simulate(program, plain)
    found = program(PlacedRun(other)) if how == "checked" else forked(program, other)
    assert described(found) == described(expected)
    assert other.channel.transcript() == plain.channel.transcript()
    assert other.channel.ledger.digest == plain.channel.ledger.digest
    assert len(expected["means"]) == 2 and len(plain.channel.messages) == 2 * (6 + 3 + 3) + 4 + 3 + 1
    budgets = [row.release_id for row in plain.channel.ledger.rows if row.mechanism == "budget"]
    assert budgets == ["budget 1.0", "budget 2.0"] and plain.channel.ledger.rows[0].release_id == "budget 1.0"
    # What goes back is a function of sums that were released, and names them.
    total = plain.channel.ledger.total("client 1", "features", 1e-5)
    assert 0 < total.epsilon_certified < np.inf


def local_taken(client, other):
    return Public(float(other.block["x"][0, 0]), because="nothing: it is the block of somebody else")


MISTAKES = {
    "a value that was never sent": (
        lambda run: run.at("server", len, run.at(run.parties[0], local_scale, np.ones(3))),
        r"server, len, uses a value that only \['client 0'\] have",
    ),
    "a program that reads what one party has": (
        lambda run: bool(run.at(run.parties[0], local_scale, np.ones(3))),
        "the program itself reads a value",
    ),
    "a program steered by what only some have": (
        lambda run: run.agreed(run.send(run.parties[0], "server", "size", local_size, 1.0, 0, None)),
        r"steered by a value that \['client 1', 'client 2'\] do not have",
    ),
    "the block of another party": (
        lambda run: run.send(run.parties[0], "server", "taken", local_taken, run.parties[1]),
        "client 0 reads the block of client 1",
    ),
    "a block read by the program": (lambda run: run.parties[0].block["x"], "the program itself reads the block"),
    "noise drawn by the program": (lambda run: run.rng_for("noise"), "the program itself draws"),
    "everywhere what only one has": (
        lambda run: run.everywhere(len, run.at("server", list, ())),
        r"uses a value that only \['server'\] have",
    ),
    "at several places what one of them lacks": (
        lambda run: run.among(("server", run.parties[1]), len, run.at("server", list, ())),
        r"client 1, len, uses a value that only \['server'\] have",
    ),
}


# Seen at once, also where the program runs unchecked on bare values.
PLAIN_MISTAKES = {
    "a place that does not exist": (lambda run: run.at("sever", len, ()), "place='sever' is not on this channel"),
    "a place that has no value of its own": (
        lambda run: run.at(run.parties[2], local_inside, [run.each(run.parties[:2], local_scale, np.ones(3))]),
        r"client 2.* has no value of its own; \('client 0', 'client 1'\) have",
    ),
    "known is what each has for itself": (
        lambda run: run.agreed(run.each(run.parties, local_scale, np.ones(3))),
        "each have a value of their own here: send it to all first",
    ),
    "among places of which one does not exist": (
        lambda run: run.among(("server", "sever"), len, ()),
        "place='sever' is not on this channel",
    ),
    "everywhere from what each has for itself": (
        lambda run: run.everywhere(len, [run.each(run.parties, local_scale, np.ones(3))]),
        "each have a value of their own here: send it to all first",
    ),
}


def forward(run):
    sent = run.send(run.parties[0], "server", "sum 0", local_sum, 2.0, 0, run.rng_for)
    (release,) = run.received("server", "sum 0")
    return sent, release


@pytest.mark.parametrize("how", ["plain", "checked", "forked"])
def test_what_was_received_is_not_sent_on_without_its_value(how):
    """`run.received` lists costs: sent on unchanged, a payload would arrive as None."""

    def unchanged(run):
        _, release = forward(run)
        return run.send("server", run.parties[1], "again", as_it_is, release)

    def as_a_value(run):
        value, release = forward(run)
        return run.send("server", run.parties[1], "again", as_public, value, release)

    ways = {"plain": simulate, "checked": lambda fit, run: fit(PlacedRun(run)), "forked": forked}
    match = "payload 'again': 'server' sends on what run.received lists of message 'sum 0'.*made_of="
    with pytest.raises((ValueError, AssertionError), match=match):
        ways[how](unchanged, run())
    again = run()
    ways[how](as_a_value, again)
    assert [row.mechanism for row in again.channel.ledger.rows] == ["gaussian", "post_processing"]


@pytest.mark.parametrize("how", ["plain", "checked"])
def test_what_was_received_is_not_computed_with_without_its_value(how):
    """The function of the user would be called with None, and a cipher would be opened to None."""
    with pytest.raises(ValueError, match=r"post_process of release 'sum 0.*': its value is not here.*made_of="):
        {"plain": simulate, "checked": lambda fit, run: fit(PlacedRun(run))}[how](half, run())
    closed = strip_value(Cipher(42.0, key_holder="server", scheme="additive shares"))
    for operation in (lambda: closed + closed, lambda: closed.scale(2.0), lambda: closed.decrypt("server")):
        with pytest.raises(ValueError, match="of a cipher for 'server': its content is not here"):
            operation()


def half(run):
    _, release = forward(run)
    return run.send("server", run.parties[1], "half", half_of, release)


def half_of(release):
    return release.post_process(lambda value: value / 2)


def as_it_is(release):
    return release


def as_public(value, release):
    return Public(value, because="a function of the sum", made_of=(release,))


def test_several_places_compute_what_all_of_them_can_and_no_other_has_it():
    plain, placed = run(), PlacedRun(run())
    doubled = []
    for one in (plain, placed):
        size = one.send(one.parties[1], "server", "size", local_size, 1.0, 0, None)
        doubled.append(one.among(("server", one.parties[1]), sum, (size, size)))
    assert doubled[0] == 2 * len(plain.parties[1].block["x"])
    assert doubled[1].values == {"server": doubled[0], "client 1": doubled[0]} and len(doubled[1].places) == 2
    with pytest.raises(PlaceError, match=r"only \['client 1', 'server'\] have"):
        placed.at(placed.parties[0], local_inside, [doubled[1]])


def local_inside(client, values):
    return values[0]


@pytest.mark.parametrize("mode", [Run, PlacedRun])
@pytest.mark.parametrize("name", PLAIN_MISTAKES)
def test_a_place_or_an_own_value_that_is_not_there_is_an_error_in_every_mode(mode, name):
    mistake, sentence = PLAIN_MISTAKES[name]
    with pytest.raises(PlaceError, match=sentence):
        mistake(run() if mode is Run else PlacedRun(run()))


@pytest.mark.parametrize("mode", [Run, PlacedRun])
def test_own_values_inside_lists_are_those_of_the_place(mode):
    one = run() if mode is Run else PlacedRun(run())
    scales = one.each(one.parties, local_scale, np.ones(3))
    again = one.assemble(dict, one.each(one.parties, local_inside, [scales, ([scales],)]))
    assert len(set(again.values())) == 1 and again == one.assemble(dict, scales)
    nested = one.at(one.parties[1], lambda client, values: values[1][0][0], [scales, ([scales],)])
    assert one.assemble(float, nested) == again["client 1"]


@pytest.mark.parametrize("name", MISTAKES)
def test_a_value_used_where_it_is_not_is_an_error(name):
    mistake, sentence = MISTAKES[name]
    with pytest.raises(PlaceError, match=sentence):
        mistake(PlacedRun(run()))


def closure(run):
    """Reads a block through a variable of the program, which no check of values sees."""
    client, other = run.parties[0], CAPTURED[1]
    return run.send(client, "server", "taken", lambda client: Public(float(other.block["x"].sum()), because="a leak"))


CAPTURED: list[Party] = []


def test_a_process_of_its_own_holds_no_block_of_another_party():
    plain, other = run(), run()
    CAPTURED[:] = plain.parties
    assert np.isfinite(simulate(closure, plain))
    CAPTURED[:] = other.parties
    # What is gone is NaN there, and a number that is not finite does not leave.
    with pytest.raises(AssertionError, match=r"'taken'.* does not leave: it holds a number that is not finite"):
        forked(closure, other)


def test_a_gathered_function_gives_as_many_payloads_as_names():
    with pytest.raises(ValueError, match="the function returned one Public, give that many"):
        run().gather(run().parties, "server", ("a", "b"), local_size, 1.0, 0, None)


def test_a_view_holds_what_reached_its_members_and_nothing_else():
    one = run(record=True)
    simulate(program, one)
    seen = one.channel.view("client 2")
    assert {message.name for message, _ in seen} == {"mean", "stop"}
    assert all(isinstance(value, np.ndarray | bool) for _, value in seen)
    closed = [value for message, value in one.channel.view("server") if message.name == "closed"]
    assert isinstance(closed[0], Cipher)
    with pytest.raises(ValueError, match="make it with record=True"):
        Channel(parties(), ("server",)).view("server")
    with pytest.raises(ValueError, match="'sever' is not on this channel"):
        one.channel.view("sever")


VALUES = [
    None, True, 3, 2**70, -0.0, float("inf"), "text", b"bytes", [1, (2.5, "a")], {"a": np.arange(6.0).reshape(2, 3)},
    np.float64(2.5), np.arange(3, dtype=np.uint8), np.array(["a", "bc"]), np.zeros((0, 2)), np.array(1.5),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=[str(k) for k in range(len(VALUES))])
def test_what_is_encoded_comes_back_in_kind_and_to_the_last_bit(value):
    again = decode(encode(value))
    assert type(again) is type(value) and encode(again) == encode(value)
    if isinstance(value, np.ndarray):
        assert again.dtype == value.dtype and again.shape == value.shape and again.tobytes() == value.tobytes()


@pytest.mark.parametrize("value", [object(), np.array([object()]), {1, 2}, lambda: 0])
def test_what_is_no_message_is_refused(value):
    with pytest.raises(TypeError, match="cannot be a message"):
        encode(value)


def test_bytes_that_were_cut_off_are_refused():
    whole = encode({"a": np.arange(6.0)})
    for data in (whole[:4], whole[:20], whole[:-1], whole + b"x"):
        with pytest.raises(ValueError):
            decode(data)


def test_a_payload_comes_back_with_what_it_cost():
    bounded = record_sum(np.ones((5, 2)), fixed(1.0))
    release = Gaussian(mu=1.0)(bounded, stream(1, "a"), owner="a", release_id="sum")
    mean = derive(release.value / 5, [release], name="mean", owner="b")
    for payload in (release, mean, Public(1.0, "a setting"), Clear([1], ("row",), "a"), Cipher(b"x", "a")):
        again = unpack(pack(payload))
        assert type(again) is type(payload) and encode(content_of(again)) == encode(content_of(payload))
        assert getattr(again, "event", None) == getattr(payload, "event", None)
        assert [type(part) for part in getattr(again, "made_of", ())] == [
            type(part) for part in getattr(payload, "made_of", ())
        ]


LAID_OUT = {
    "columns first": np.arange(6.0).reshape(2, 3).T,
    "a middle axis first": np.moveaxis(np.arange(24.0).reshape(2, 3, 4), 1, 0),
    "backwards": np.arange(12).reshape(3, 4)[::-1, ::-2].T,
    "axes of one": np.arange(6.0).reshape(3, 1, 2).transpose(2, 1, 0)[:, :, :, None],
    "repeated": np.broadcast_to(np.arange(3.0), (2, 3)),
    "empty": np.zeros((3, 0)).T,
    "a number": np.array(1.5),
}


@pytest.mark.parametrize("name", LAID_OUT)
def test_an_array_lies_in_memory_as_a_channel_delivers_it(name):
    """Sums depend on it: a process that received the bytes must add in the order of one that was simulated."""
    array = LAID_OUT[name]
    again = decode(encode(array))
    channel = Channel(parties(), ("server",))
    received = channel.send("client 0", "server", "x", Public(array, because="constant"))
    np.testing.assert_array_equal(again, array)
    assert again.dtype == array.dtype and encode(again) == encode(array)
    long = [axis for axis in range(array.ndim) if array.size and array.shape[axis] > 1]
    assert [again.strides[axis] for axis in long] == [received.strides[axis] for axis in long]
