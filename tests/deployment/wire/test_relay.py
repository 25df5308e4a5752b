"""Parties behind somebody who hands on: what it sees, and what comes of what it changes, repeats, loses or makes up."""

from __future__ import annotations

import os
from time import monotonic

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509 import load_pem_x509_certificate

from deployment_driver import threads
from network_driver import credentials, signers
from partywise.core.errors import NoRoomError, PartyError, RefusalError, Unreachable
from partywise.deployment.session.outcome import outcomes
from partywise.deployment.wire import authority
from partywise.deployment.wire.credential import Credential
from partywise.deployment.wire.journal import Journal
from partywise.deployment.wire.relay import FRAME, KEY, LOOK, Seal, split_parts
from partywise.federation.identity import Identity, join_parts
from relayed import CONFIGURATION, JOB, Middle, relayed
from toy_rounds import program, run

NAMES = ("hospital", "klinik süd", "server")
SECRET = b"what nobody between may read"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("certificates")
    authority.make(made, NAMES, days=1)
    return made


@pytest.fixture
def middle():
    return Middle()


def is_frame(data: bytes) -> bool:
    return data != LOOK and split_parts(data)[0] == FRAME


def test_frames_arrive_as_they_are_and_whoever_is_between_sees_sizes(folder, middle):
    ends = relayed(NAMES, folder, middle)
    large = os.urandom(700_001)
    ends["hospital"].put("server", "message/0", SECRET)
    ends["klinik süd"].put("server", "message/0", SECRET[::-1])
    ends["hospital"].put("server", "message/1", large)
    assert ends["server"].get("hospital", "message/0", 1) == SECRET
    assert ends["server"].get("klinik süd", "message/0", 1) == SECRET[::-1]
    assert ends["server"].get("hospital", "message/1", 1) == large
    assert ends["server"].get("hospital", "message/2", 0.01) is None
    went_by = b"".join(middle.seen)
    assert SECRET not in went_by and b"message/" not in went_by and large[:32] not in went_by
    assert len(went_by) > len(large)


def test_a_program_has_the_outcome_of_its_simulation(folder, middle):
    names = run().names
    expected = outcomes(program, run())
    ends = relayed(names, made_for(folder, names), middle)
    found = threads(program, {name: run() for name in names}, ends)
    assert {name: one.digest for name, one in found.items()} == {name: one.digest for name, one in expected.items()}


def made_for(folder, names):
    """Certificates of other names, beside those of this module."""
    made = folder / "others"
    if not made.exists():
        authority.make(made, names, days=1)
    return made


def test_whoever_is_not_there_or_has_left_is_gone(folder, middle):
    ends = relayed(NAMES, folder, middle, "hospital", "server")
    assert ends["hospital"].is_there("server") and not ends["hospital"].is_there("klinik süd")
    with pytest.raises(Unreachable, match="'klinik süd' does not answer"):
        ends["hospital"].put("klinik süd", "hello", b"")
    ends["hospital"].put("server", "done", b"x")
    ends["hospital"].close()
    assert not ends["server"].is_there("hospital") and ends["server"].get("hospital", "done", 0) == b"x"
    with pytest.raises(ValueError, match="'stranger' is not a peer of 'server'"):
        ends["server"].put("stranger", "hello", b"")


def test_a_job_that_is_ended_ends_who_waits(folder, middle):
    ends = relayed(NAMES, folder, middle)
    middle.ended = True
    for action in (
        lambda: ends["server"].get("hospital", "hello", 5),
        lambda: ends["server"].put("hospital", "x", b""),
    ):
        with pytest.raises(PartyError, match="the job was ended"):
            action()


def test_another_frame_under_a_tag_is_a_replay_and_the_same_is_none(folder, middle):
    ends = relayed(NAMES, folder, middle)
    for _ in range(2):
        ends["hospital"].put("server", "message/1", b"x")
    with pytest.raises(RefusalError, match=r"'server' refuses what came: a second frame 'message/1' .* is a replay"):
        ends["hospital"].put("server", "message/1", b"y")
    with pytest.raises(RefusalError, match="a second frame 'message/1' came from 'hospital': it is a replay"):
        ends["server"].get("klinik süd", "message/1", 1)


def test_sizes_are_bounded(folder, middle):
    ends = relayed(NAMES, folder, middle, largest=1000)
    ends["hospital"].put("server", "message/0", bytes(1000))
    with pytest.raises(NoRoomError, match="'server' has not taken what came before"):
        ends["hospital"].put("server", "message/1", bytes(1000))
    with pytest.raises(RefusalError, match=r"has 1001 bytes, more than largest_message=1000"):
        ends["hospital"].put("server", "message/2", bytes(1001))


@pytest.mark.parametrize("place", [0, 30, -1])
def test_what_was_changed_on_its_way_never_arrives(folder, middle, place):
    """The sender learns that nobody took it; the receiver is as if nothing had come."""
    ends = relayed(NAMES, folder, middle, patience=0.4)

    def change(me, peer, data):
        if not is_frame(data):
            return data
        *head, sealed = split_parts(data)
        return join_parts(*head, sealed[:place] + bytes([sealed[place] ^ 1]) + sealed[place:][1:])

    middle.meddle = change
    with pytest.raises(PartyError, match=r"'server' has taken nothing for 0\.4 seconds: it hangs"):
        ends["hospital"].put("server", "message/0", SECRET)
    assert ends["server"].get("hospital", "message/0", 0) is None
    middle.meddle = lambda me, peer, data: data
    ends["hospital"].put("server", "message/0", SECRET)
    assert ends["server"].get("hospital", "message/0", 0) == SECRET


def test_a_frame_that_is_repeated_lost_or_handed_to_another_changes_nothing(folder, middle):
    ends = relayed(NAMES, folder, middle, patience=5.0)
    kept, lost = [], [True, True]

    def meddle(me, peer, data):
        if is_frame(data):
            kept.append(data)
            if lost and lost.pop():
                return None
        return data

    middle.meddle = meddle
    ends["hospital"].put("server", "message/0", SECRET)
    assert ends["server"].get("hospital", "message/0", 0) == SECRET
    for name in NAMES:
        for frame in kept:
            middle.serving[name](frame)
    # To its own sender as well: a shared secret is that of both.
    mirrored = [b"frame", b"server", *split_parts(kept[-1])[3:1:-1], split_parts(kept[-1])[4]]
    assert middle.serving["hospital"](join_parts(*mirrored)) == b"refused"
    for name in NAMES:
        for peer in ends[name].peers:
            assert ends[name].get(peer, "message/0", 0) is None


def test_an_answer_that_is_made_up_or_of_another_frame_is_none(folder, middle):
    ends = relayed(NAMES, folder, middle, patience=0.4)
    ends["hospital"].put("server", "message/0", b"first")
    taken = middle.seen[-1]
    for answer in (taken, b"taken", b"refused", b"stale"):
        middle.serving["server"], before = (lambda data, answer=answer: answer), middle.serving["server"]
        with pytest.raises(PartyError) as caught:
            ends["hospital"].put("server", "message/1", b"second")
        assert not isinstance(caught.value, RefusalError), answer
        middle.serving["server"] = before
    assert ends["server"].get("hospital", "message/1", 0) is None


def test_whoever_has_another_process_is_met_anew(folder, middle, tmp_path):
    journal = Journal(tmp_path / "j", "shared")
    ends = relayed(NAMES, folder, middle, journals={"server": journal})
    ends["hospital"].put("server", "hello", b"1")
    ends["server"].put("hospital", "hello", b"2")
    journal.close()
    again = Journal(tmp_path / "j", "shared")
    second = relayed(NAMES, folder, middle, "server", journals={"server": again})["server"]
    ends["hospital"].put("server", "hello", b"1")
    ends["hospital"].put("server", "message/0", b"3")
    assert [second.get("hospital", tag, 0) for tag in ("hello", "message/0")] == [b"1", b"3"]
    before = len(middle.seen)
    second.put("hospital", "hello", b"another, which was delivered")
    assert len(middle.seen) == before
    second.put("hospital", "message/1", b"4")
    assert [ends["hospital"].get("server", tag, 0) for tag in ("hello", "message/1")] == [b"2", b"4"]


def test_a_key_is_taken_with_the_certificate_of_its_party_for_this_job_alone(folder, middle, tmp_path):
    """Whoever is between can put a key of its own in place of one, and has no certificate to sign it with."""
    first, second = signers(2)
    forged = credentials(tmp_path / "forged", "server", second)
    own = credentials(tmp_path / "own", "server", first)
    theirs = credentials(tmp_path / "theirs", "hospital", first)
    other = credentials(tmp_path / "other", "server", first, shown="hospital")
    me = Seal("hospital", Identity(JOB, CONFIGURATION, {}, Credential(theirs, "hospital")))

    def announced(folder, job=JOB, configuration=CONFIGURATION):
        return Seal("server", Identity(job, configuration, {}, Credential(folder, "server"))).announcement

    # Signed by the certificate of another party, which the authority has issued.
    issuer = load_pem_x509_certificate((theirs / "hospital.pem").read_bytes())
    leaf = issuer, load_pem_private_key((theirs / "hospital.key").read_bytes(), None)
    chain = credentials(tmp_path / "chain", "server", leaf)
    (chain / "server.pem").write_bytes((chain / "server.pem").read_bytes() + (theirs / "hospital.pem").read_bytes())
    me.learn("server", announced(own))
    key = me.key_of("server")
    for announcement, why in (
        (announced(forged), "signed with a certificate that is not of the authority"),
        (announced(chain), "not of the authority .*cA must be asserted"),
        (announced(other), "is signed with the certificate of another party"),
        (announced(own, job="job 6"), "has another signature"),
        (announced(own, configuration="d" * 64), "has another signature"),
        (join_parts(os.urandom(32), *split_parts(announced(own))[1:]), "has another signature"),
        (b"nothing", "cannot be read"),
    ):
        with pytest.raises(RefusalError, match=why):
            me.learn("server", announcement)
        assert me.key_of("server") == key


def test_a_pinned_certificate_keeps_out_whoever_holds_the_key_of_the_authority(tmp_path, middle):
    (signer,) = signers(1)
    folders = {name: credentials(tmp_path / name, name, signer) for name in ("hospital", "server")}
    text = (folders["server"] / "server.pem").read_text()
    pins = {"server": Credential.fingerprint(text), "hospital": "0" * 64}
    ends = relayed(("hospital", "server"), folders, middle, fingerprints=pins)
    with pytest.raises(PartyError, match="'server' refuses the sealing key of 'hospital'") as caught:
        ends["hospital"].put("server", "hello", b"")
    assert not isinstance(caught.value, RefusalError), "whoever is between could have said so"
    with pytest.raises(PartyError, match=r"key of 'hospital' is signed with another certificate than network\.cert"):
        ends["server"].put("hospital", "hello", b"")


def test_what_a_stranger_says_is_refused_and_ends_nothing(folder, middle):
    ends = relayed(NAMES, folder, middle)
    answer = middle.serving["server"]
    for words in (b"", b"junk", join_parts(KEY), join_parts(KEY, "mallory", b""), join_parts(FRAME, "hospital", b"x")):
        assert answer(words) == b"refused"
    assert answer(join_parts(FRAME, "hospital", b"x" * 32, b"y" * 32, b"z")) == b"stale"
    begun = monotonic()
    ends["hospital"].put("server", "hello", b"x")
    assert ends["server"].get("hospital", "hello", 1) == b"x" and monotonic() - begun < 1


def test_nobody_seals_without_a_certificate():
    with pytest.raises(ValueError, match="identity of 'hospital' has no credential"):
        Seal("hospital", Identity(JOB, CONFIGURATION))
