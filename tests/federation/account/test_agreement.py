"""The rows of an account agree with each other, or the one that does not is named; what was not paid is not sent."""

from __future__ import annotations

import numpy as np
import pytest

from accounts import bounded, event, release
from forgeries import both_less, paid_less, rewritten, sent_as_public, sent_less
from partywise.__main__ import main
from partywise.core.errors import AccountError, CertificationError
from partywise.federation.account.account import FILE, Account
from partywise.federation.account.reading import opened_account
from partywise.federation.codec import row_of
from partywise.privacy.accounted_values import Clear
from partywise.privacy.ledger.reach import clear_event
from partywise.privacy.mechanisms.gaussian import Gaussian
from partywise.privacy.mechanisms.random import charge_to
from partywise.privacy.mechanisms.release import derive
from partywise.privacy.payer import PAID


@pytest.fixture
def account(tmp_path):
    """A party that released two numbers, sent one as it is and one inside of a sum, and kept a third."""
    with Account(tmp_path / FILE, party="clinic") as made:
        made.began("run", "c")
        one, two, _ = release("one", made, 2.0), release("two", made), release("kept", made, 0.5)
        made.record_sent(0, "server", "one", row_of(one), (1,), 8, "d" * 64)
        total = derive(np.zeros(1), [one, two], name="sum", owner="clinic")
        made.record_sent(1, "server", "sum", row_of(total), (1,), 8, "e" * 64)
        rows, digest = made.head
        made.record_heads({"clinic": {"rows": rows, "digest": digest, "certificate": "", "signature": ""}})
        made.record_end("outcome")
    return tmp_path / FILE


def test_payments_that_no_message_carries_are_listed(account):
    rows = opened_account(account).rows
    (kept,) = rows[-1].fields["kept"]
    assert rows[kept].fields["event"]["release_id"] == "kept"
    Account(account, party="clinic").close()


EDITS = {
    "payments": (paid_less, r"row 6 \(sent\) .* with mu 2\.0, which row 3 paid with 0\.2"),
    "messages": (sent_less, r"row 6 \(sent\) .* with mu 0\.2, which row 3 paid with 2\.0"),
    "a release as public": (
        sent_as_public,
        r"row \d \(ended\) .* lists other payments without a message .*\[3, 4, 5\]",
    ),
}


@pytest.mark.parametrize("what", EDITS)
def test_an_edit_whose_digests_are_right_is_seen_by_every_reader(what, account, capsys):
    edit, words = EDITS[what]
    account.write_bytes(rewritten(opened_account(account).rows, edit))
    with pytest.raises(AccountError, match=words):
        opened_account(account)
    with pytest.raises(AccountError, match=words):
        Account(account, party="clinic")
    assert main(["network", "ledger", str(account)]) == 2
    assert "the file was changed; put back a copy" in capsys.readouterr().err


def test_an_edit_of_payments_and_messages_is_seen_by_the_end_of_the_run_if_that_stays(account):
    rows = opened_account(account).rows
    account.write_bytes(rewritten(rows, both_less, heads=False))
    with pytest.raises(AccountError, match=r"\(heads\) .* has another digest of the row before than that row"):
        opened_account(account)
    account.write_bytes(rewritten(rows, both_less))
    opened_account(account)  # nothing inside of the file is wrong: others are asked (test_apart_processes)


def test_what_was_not_paid_is_not_sent(tmp_path):
    with Account(tmp_path / FILE, party="clinic") as made:
        made.began("run", "c")
        with pytest.raises(
            CertificationError, match=r"'x'\) sends release 'one', which no row before it has paid: it "
        ):
            made.record_sent(0, "server", "x", row_of(release("one", PAID)), (1,), 8)
        with pytest.raises(CertificationError, match="sends 'y' of 'clinic' in the clear, which no row before it has"):
            made.record_sent(0, "server", "y", row_of(Clear(np.zeros(1), ("row",))), (1,), 8)
        made.charge(clear_event("clear/clinic/clinic>server/y/row", "clinic", ("row",), "server"))
        made.record_sent(0, "server", "y", row_of(Clear(np.zeros(1), ("row",))), (1,), 8)
        made.charge(event("one", 0.1))
        with pytest.raises(CertificationError, match=r"with sensitivity 1\.0, which row 5 paid with None"):
            made.record_sent(1, "server", "x", row_of(release("one", PAID)), (1,), 8)
        again = release("two", made)
        made.record_sent(1, "server", "x", row_of(again), (1,), 8)
        assert [row.kind for row in made.rows()] == ["account", "time", "began", "paid", "sent", "paid", "paid", "sent"]


def test_one_payment_covers_one_draw(tmp_path):
    """Two releases without names of their own: each is told from the other by its digest, and paid by itself."""
    with Account(tmp_path / FILE, party="clinic") as made:
        made.began("run", "c")
        first = unnamed(1, made)
        made.record_sent(0, "server", "x", row_of(first), (1,), 8)
        made.record_sent(1, "other", "x", row_of(first), (1,), 8)
    with Account(tmp_path / FILE, party="clinic") as made:
        made.began("again", "c")
        with pytest.raises(CertificationError, match="which no row before it has paid"):
            made.record_sent(0, "server", "x", row_of(unnamed(2, PAID)), (1,), 8)


def unnamed(seed, payer):

    return Gaussian(mu=0.1)(bounded(), charge_to(np.random.default_rng(seed), payer), owner="clinic")
