"""Whatever goes wrong between parties ends the run for all, in a sentence that names who it was, and never early.

No party returns a result of fewer parties: it returns what the simulation returns, or raises.
"""

from __future__ import annotations

import json
import os
import re
import signal
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.metadata import version
from threading import Event, Timer
from time import monotonic

import numpy as np
import pytest

from deployment_driver import CONFIGURATION, Notes, threads
from forked import forks
from meddling import Meddling, altered, mortal
from memory_transport import Memory, connected
from network_driver import addresses, ends
from partywise.core.errors import BudgetExceeded, PartyError
from partywise.core.randomness import stream
from partywise.deployment.session import session, watch
from partywise.deployment.session.outcome import Outcome
from partywise.deployment.session.platforms import differences, platform_of_process
from partywise.deployment.session.session import Session, library_digest
from partywise.deployment.wire import authority
from partywise.privacy.accounted_values import Clear
from toy_rounds import program, run

NAMES = run().names
WITHIN = 10.0


@pytest.fixture(autouse=True)
def brisk(monkeypatch):
    """Look around ten times a second, so that many faults take little time; the code is read once, not by each."""
    library_digest()
    monkeypatch.setattr(watch, "PULSE", 0.1)


def ended(found, *said, among=NAMES):
    """Every party has raised a sentence that holds all of ``said``."""
    assert set(found) == set(among)
    for name, error in found.items():
        assert isinstance(error, PartyError), (name, error)
        assert all(part in str(error) for part in said), (name, str(error))
        assert str(error).count("\n") == 0 and str(error).endswith((".", "!"))


def all_of(fit=program, ends=None, names=NAMES, **options):
    """What all parties but those that are not among ``names`` returned or raised, within the time."""
    start = monotonic()
    found = threads(fit, {name: run() for name in names}, ends or connected(NAMES), **options)
    assert monotonic() - start < WITHIN
    return found


def test_a_party_that_never_starts_is_missed_by_all():
    others = tuple(name for name in NAMES if name != "client 1")
    ended(all_of(names=others, patience=1.5), "'client 1' has not come within patience=1.5 s", among=others)


def test_a_party_that_came_and_went_is_missed_long_before_patience_ends():
    """It said hello to one other, and was told by all; a fourth has not come yet."""
    ends = connected(NAMES)
    others = tuple(name for name in NAMES if name not in ("client 1", "server"))
    hello = Session(ends["client 1"], CONFIGURATION)._hello
    ends["client 1"].put("client 0", "hello", json.dumps(hello).encode())
    Timer(0.3, ends["client 1"].close).start()
    ended(all_of(names=others, ends=ends, patience=30.0), "'client 1' is gone: 'client", "'hello'", among=others)


@pytest.mark.parametrize(
    ("option", "values", "sentence"),
    [
        ("configuration", {"client 2": "d" * 64}, "has another configuration ("),
        ("facts", {"client 2": {"ids": "other"}}, "has another ids than"),
    ],
)
def test_a_party_that_shares_something_else_is_refused_by_all(option, values, sentence):
    usual = {"configuration": CONFIGURATION, "facts": {"ids": "same"}}[option]
    found = all_of(**{option: {name: values.get(name, usual) for name in NAMES}})
    ended(found, "'client 2'", sentence)


def test_facts_that_only_some_state_are_compared_among_those():
    facts = {name: {"ids": "same"} if name != "server" else {} for name in NAMES}
    assert all(isinstance(outcome, Outcome) for outcome in all_of(facts=facts).values())


def meddled(name, meddle):
    """Ends of all parties, the frames of one of which go through a function."""
    ends = connected(NAMES)
    return dict(ends) | {name: Meddling(ends[name], meddle)}


UNLIKE = {
    "NaN": (lambda value: value * np.nan, "it holds a number that is not finite"),
    "infinity": (
        lambda value: np.where(np.arange(value.size) == 1, np.inf, value),
        "it holds a number that is not fini",
    ),
    "another type": (lambda value: value.astype(np.float32), "array of float32) where 'client 0' sent release (1-dim"),
    "other dimensions": (
        lambda value: value[None],
        "it is release (2-dimensional array of float64) where 'client 0' s",
    ),
}


@pytest.mark.parametrize("what", UNLIKE)
@pytest.mark.parametrize("over", ["memory", "pipes", "TLS"])
def test_a_value_that_is_not_as_the_program_says_ends_the_run_for_all_and_names_its_sender(over, what, tmp_path):
    """Of a release of NaN all four ended as if nothing was, with a result of NaN."""
    change, said = UNLIKE[what]
    meddle, sender = altered(NAMES, "sum", change), "client 1"
    if over == "pipes":
        told = forks(program, run(), through={sender: lambda end: Meddling(end, meddle)}, patience=4.0)
        assert told.pop(sender) is None, "forks asks nobody who has something between itself and its pipes"
        found = {name: PartyError(sentence) for name, (ended_as, sentence) in told.items() if ended_as == "ended"}
    elif over == "TLS":
        authority.make(tmp_path / "certificates", NAMES, days=1)
        with ends(tmp_path / "certificates", addresses(NAMES), *NAMES) as made:
            between = dict(zip(NAMES, made, strict=True))
            found = all_of(ends=between | {sender: Meddling(between[sender], meddle)})
    else:
        found = all_of(ends=meddled(sender, meddle))
    others = tuple(name for name in NAMES if over != "pipes" or name != sender)
    ended(found, "('sum') from 'client 1' to 'server' is refused", said, among=others)


def test_a_party_that_would_send_nan_is_told_before_anything_leaves_and_others_hear_no_more(monkeypatch):
    def nan(client, columns):
        return (Clear(client.block["x"][:, 0] * np.nan, ("features",), client.name),)

    def fit(run):
        return run.gather(run.parties, "server", ("column",), nan, None)

    found = all_of(fit)
    own = {name: error for name, error in found.items() if type(error) is ValueError}
    assert own and all("does not leave: it holds a number that is not finite" in str(error) for error in own.values())
    others = {name: error for name, error in found.items() if name not in own}
    ended(others, "ended with an error of its own; its output states which.", among=others)


def test_another_platform_is_told_to_all_and_refused_where_that_is_asked_for(monkeypatch):
    own, others = platform_of_process(), iter(range(2))
    assert {one.platforms for one in all_of().values()} == {""}
    other = own | {"Python": "3.14.0", "kernels of numpy": "AVX512_SPR\x1b[2J"}
    monkeypatch.setattr(session, "platform_of_process", lambda: own if next(others, None) is None else other)
    (said,) = {one.platforms for one in all_of().values()}
    kinds = dict(re.findall(r"(?:^Python |, )(\S+) \(([\w ]+, [\w ]+)\)", said.partition("; ")[0]))
    assert set(kinds) == {own["Python"], "3.14.0"}
    assert sorted(", ".join(kinds.values()).split(", ")) == sorted(NAMES)
    assert f"kernels of numpy AVX512_SPR [2J ({kinds['3.14.0']}), " in said and "architecture" not in said
    others = iter(range(1))
    found = all_of(same_platform=True)
    ended(found, "the platforms of the parties differ, and same_platform is true: Python 3", "3.14.0 (")


def test_a_platform_that_is_said_otherwise_to_one_is_another_hello():
    def other(receiver, tag, data):
        yield tag, data.replace(b'"Python": "', b'"Python": "9.') if (receiver, tag) == ("server", "hello") else data

    ended(all_of(ends=meddled("client 1", other)), "'client 1' sent another hello to ")


@pytest.mark.parametrize("told", [None, 3, ["Python"], {"Python": 3}])
def test_a_platform_that_cannot_be_read_is_an_unknown_one(told):
    found = differences({"a": platform_of_process(), "b": told})
    assert f"Python {platform_of_process()['Python']} (a), unknown (b)" in found and found.isprintable()


def test_a_party_with_other_code_is_refused_by_all():
    def older(receiver, tag, data):
        yield tag, data.replace(library_digest().encode(), b"0" * 64)

    found = all_of(ends=meddled("client 0", older))
    ended(found, "'client 0' has another library (000000000000)", "install the same version")


@pytest.mark.parametrize("lie", [rb'"\u001b[2J\n\u202e"', b"[" * 400 + b"]" * 400, b"1e400", b"null"])
@pytest.mark.parametrize("tag", ["hello", "ready", "done"])
def test_what_a_party_says_of_itself_is_shown_without_what_a_terminal_obeys(tag, lie):
    field = {"hello": b"library", "ready": b"session", "done": b"run"}[tag]

    def lies(receiver, name, data):
        yield name, re.sub(rb'("%s": )"[^"]*"' % field, lambda found: found[1] + lie, data) if name == tag else data

    found = all_of(ends=meddled("client 0", lies), patience=2.0)
    del found["client 0"]
    ended(found, "'client 0'", among=list(found))
    assert all(str(error).isprintable() for error in found.values())


def test_a_party_that_says_another_hello_to_one_than_to_others_is_named_by_all():
    """As one does that is killed between them, and begins anew."""

    def another(receiver, tag, data):
        changed = json.dumps(json.loads(data) | {"nonce": "n" * 32}).encode()
        yield tag, changed if (receiver, tag) == ("server", "hello") else data

    ended(all_of(ends=meddled("client 1", another)), "'client 1' sent another hello to ", "two processes have its name")


def test_a_certificate_speaks_for_one_name():
    def renamed(receiver, tag, data):
        yield tag, data.replace(b'"client 0"', b'"client 9"')

    ended(all_of(ends=meddled("client 0", renamed)), "'client 0' claims to be 'client 9'")


@pytest.mark.parametrize("at", ["hello", "message/3", "message/31"])
def test_a_party_that_begins_anew_or_comes_twice_is_refused_by_all(at):
    """Its second process gets as far as hello, at any time; whoever takes its place is told as well."""
    ends, second = connected(NAMES), []
    first = ends["client 1"]

    def another(receiver, tag, data):
        yield tag, data
        if tag == at and not second:
            again = Memory("client 1", ends, first.peers)
            second.append(again)
            ends["client 1"] = again
            for peer in first.peers:
                again.put(peer, "hello", b"{}")

    given = dict(ends) | {"client 1": Meddling(first, another)}
    found = all_of(ends=given, patience=2.0)
    assert second
    ended({name: error for name, error in found.items() if name != "client 1"}, "'client 1' sent a second hello",
          among=[name for name in NAMES if name != "client 1"])  # fmt: skip
    assert isinstance(found["client 1"], PartyError)
    notice = second[0].get("server", "abort", 0) or second[0].get("client 0", "abort", 0)
    assert b"'client 1' sent a second hello" in notice


def tampered(seed: int):
    """One frame of one party is changed on its way, once; what was done, and what all parties made of it."""
    rng = stream(seed, "tampering")
    how = ("flipped", "cut", "reordered", "replayed", "lost")[seed % 5]
    sender = NAMES[rng.integers(len(NAMES))]
    # Everyone puts a hello and a ready to each of three others, and messages after that.
    count, done, earlier = int(rng.integers(0, 7)), [], []

    def meddle(receiver, tag, data):
        # A run that has ended, or waits, is not changed by what is said of it.
        if not tag.startswith(("hello", "ready", "message")):
            return [(tag, data)]
        earlier.append((receiver, tag, data))
        early = {"reordered": not tag.startswith("message"), "replayed": tag == "hello"}.get(how)
        if done or len(earlier) <= count or early:
            return [(tag, data)]
        if how == "replayed":
            done.append(tag)
            # What was said before to the same party, under this tag as well.
            before = [old for to, _, old in earlier if to == receiver and old != data]
            return [(tag, data), (tag, before[-1])]
        if how == "reordered":
            # Under the tag of a later one, as if that had come first.
            done.append(tag)
            return [(f"message/{int(tag.split('/')[1]) + 12}", data)]
        done.append(tag)
        if how == "lost":
            return []
        position = int(rng.integers(len(data)))
        flipped = data[:position] + bytes([data[position] ^ int(rng.integers(1, 256))]) + data[position + 1 :]
        return [(tag, flipped if how == "flipped" else data[:position])]

    # Only a lost frame is waited for: a busy machine may need longer to come to the frame.
    patience = 2.0 if how == "lost" else 4.0
    return how, sender, done, all_of(ends=meddled(sender, meddle), patience=patience)


def test_two_hundred_frames_that_were_changed_cut_reordered_replayed_or_lost_end_every_run():
    with ThreadPoolExecutor(10) as pool:
        cases = list(pool.map(tampered, range(200)))
    kinds = {how: 0 for how, *_ in cases}
    for how, sender, done, found in cases:
        assert done, (how, sender)
        kinds[how] += 1
        ended(found)
        assert any(repr(name) in str(error) for name in NAMES for error in found.values())
    assert set(kinds.values()) == {40}


def test_what_fails_at_one_party_ends_all_and_tells_nothing_of_its_data():
    def fit(one):
        return program(one) and one.at("server", secret)

    def secret():
        raise ValueError("the largest salary is 123456")

    found = all_of(fit)
    assert str(found.pop("server")) == "the largest salary is 123456"
    ended(found, "'server' ended with an error of its own; its output states which.", among=NAMES[:3])


class Poor(Notes):
    """An account that refuses from the second release on."""

    def charge(self, *events):
        super().charge(*events)
        if len(self.paid) > 1:
            raise BudgetExceeded("nothing is left.")


def test_a_budget_that_is_spent_ends_the_run_for_all_before_the_noise():
    notes = {name: (Poor if name == "client 2" else Notes)(name) for name in NAMES}
    found = all_of(account=notes)
    assert isinstance(found.pop("client 2"), BudgetExceeded)
    ended(found, "'client 2' ended with an error of its own", among=NAMES[:2] + NAMES[3:])
    sent = [row for row in notes["client 2"].rows if getattr(row, "name", "") == "sum"]
    assert len(sent) == 1 and notes["client 2"].outcomes == []


def killed(seed: int):
    """One process is killed when it puts or gets its n-th frame."""
    rng = stream(seed, "kills")
    name, count = NAMES[rng.integers(len(NAMES))], int(rng.integers(1, 16))
    start = monotonic()
    found = forks(program, run(), through={name: partial(mortal, count=count)}, patience=4.0)
    return name, found, monotonic() - start


@pytest.mark.parametrize(
    "seed", [*range(8), *(pytest.param(seed, marks=pytest.mark.statistical) for seed in range(8, 30))]
)
def test_a_party_that_is_killed_at_any_moment_is_missed_by_all(seed):
    name, found, seconds = killed(seed)
    assert found.pop(name) is None and seconds < WITHIN
    for other, (what, said) in found.items():
        assert what == "ended" and f"'{name}' " in said, (other, what, said)


def test_a_party_that_stops_is_silent_for_too_long():
    def frozen(end):
        def meddle(receiver, tag, data):
            if tag == "message/5":
                os.kill(os.getpid(), signal.SIGSTOP)
            return [(tag, data)]

        return Meddling(end, meddle)

    sender = "client 2"
    found = forks(program, run(), through={sender: frozen}, patience=2.0)
    assert found.pop(sender) is None
    for what, said in found.values():
        assert what == "ended" and f"'{sender}' was silent for patience=2 s" in said


def test_one_that_hangs_does_not_keep_the_end_of_the_run_from_the_others():
    ends = connected(NAMES)
    told = Event()

    def hangs(receiver, tag, data):
        if receiver == "client 0":
            assert told.wait(5)
        yield tag, data
        if receiver == "client 2":
            told.set()

    Session(Meddling(ends["server"], hangs), CONFIGURATION).abort("'client 1' is gone.")
    assert told.is_set() and all(end.get("server", "abort", 0) for name, end in ends.items() if name != "server")


def test_other_versions_of_what_computes_are_another_library(monkeypatch):
    before = library_digest.__wrapped__()
    assert before == library_digest()
    monkeypatch.setattr(session, "version", lambda name: "1.0" if name == "numpy" else version(name))
    assert library_digest.__wrapped__() != before


def test_patience_is_a_time():
    with pytest.raises(ValueError, match="patience=0 of a session must be a number of seconds above 0"):
        Session(connected(NAMES)["server"], CONFIGURATION, patience=0)
