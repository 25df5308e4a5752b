"""What a journal has after a crash: all whole records, nothing of one that was torn, and no more than one answer."""

from __future__ import annotations

import errno
import os

import pytest

from partywise.core.errors import AccountError, PartyError
from partywise.deployment.wire.inbox import Inbox
from partywise.deployment.wire.journal import DIGEST, Journal


def written(path) -> Journal:
    journal = Journal(path, "shared")
    journal.choose("nonce", lambda: "first")
    journal.notice("p1", "ready", b"agreed")
    journal.keep("p1", "message/0", b"frame")
    journal.notice("p1", "done", b"said")
    journal.deliver("p1", "done")
    return journal


def test_another_process_finds_what_was_written(tmp_path):
    written(tmp_path / "j").close()
    again = Journal(tmp_path / "j", "shared")
    assert again.goes_on and again.choose("nonce", lambda: "second") == "first"
    assert again.frame("p1", "message/0") == b"frame" and list(again.digests) == [("p1", "message/0")]
    assert again.notice("p1", "done", b"other") == b"said" and again.is_delivered("p1", "done")
    assert not again.is_delivered("p1", "message/0") and (tmp_path / "j").stat().st_mode & 0o077 == 0
    again.discard()
    assert not (tmp_path / "j").exists()


@pytest.mark.parametrize("cut", [1, DIGEST, DIGEST + 1, 30])
def test_a_record_that_was_torn_is_none_and_the_next_one_takes_its_place(tmp_path, cut):
    written(tmp_path / "j").close()
    whole = (tmp_path / "j").stat().st_size
    os.truncate(tmp_path / "j", whole - cut)
    again = Journal(tmp_path / "j", "shared")
    assert not again.is_delivered("p1", "done") and again.frame("p1", "message/0") == b"frame"
    again.keep("p2", "message/1", b"x" * 100)
    again.close()
    assert Journal(tmp_path / "j", "shared").frame("p2", "message/1") == b"x" * 100


def test_a_frame_that_was_changed_on_disk_is_not_taken(tmp_path):
    journal = written(tmp_path / "j")
    begin = journal._frames["p1", "message/0"][0]
    os.pwrite(journal._handle, b"!", begin)
    with pytest.raises(PartyError, match="was changed: 'message/0' of 'p1' has another digest"):
        journal.frame("p1", "message/0")


def test_a_journal_of_something_else_is_refused_or_gives_way(tmp_path):
    written(tmp_path / "j").close()
    with pytest.raises(AccountError, match="started with another configuration or another version and has not ended"):
        Journal(tmp_path / "j", "other")
    assert not Journal(tmp_path / "j", "other", replaces=True).goes_on


def test_a_journal_of_a_run_on_which_nobody_has_agreed_gives_way(tmp_path):
    journal = Journal(tmp_path / "j", "shared")
    journal.keep("p1", "hello", b"met")
    assert not journal.is_agreed and written(tmp_path / "agreed").is_agreed
    journal.close()
    assert not Journal(tmp_path / "j", "other").goes_on


def test_nothing_is_left_of_a_run_in_which_nobody_said_anything(tmp_path):
    Journal(tmp_path / "j", "shared").close()
    assert not (tmp_path / "j").exists()


def test_an_inbox_hands_out_what_came_before_once_and_takes_the_same_frame_again(tmp_path):
    written(tmp_path / "j").close()
    inbox = Inbox("me", ("p1",), journal=Journal(tmp_path / "j", "shared"))
    inbox.keep("p1", "message/0", b"frame")
    assert inbox.get("p1", "message/0", 0) == b"frame" and inbox.get("p1", "message/0", 0) is None


def test_a_frame_that_finds_no_room_on_disk_is_not_acknowledged_and_ends_who_waits(tmp_path, monkeypatch):
    inbox = Inbox("me", ("p1",), journal=written(tmp_path / "j"))

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        with pytest.raises(OSError, match="No space left"):
            inbox.keep("p1", "message/1", b"x")
    with pytest.raises(OSError, match="No space left"):
        inbox.get("p1", "message/1", 0)
    assert ("p1", "message/1") not in inbox._seen
