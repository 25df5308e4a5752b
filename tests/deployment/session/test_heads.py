"""The ends of all accounts stand in every account, signed where parties have certificates, and are compared."""

from __future__ import annotations

import pytest

from deployment_driver import threads
from memory_transport import connected
from partywise.core.errors import PartyError
from partywise.deployment.outcomes.joint_results import check_heads
from partywise.deployment.session.outcome import Outcome
from partywise.deployment.wire.authority import make
from partywise.deployment.wire.credential import Credential
from partywise.federation.account.account import Account
from partywise.federation.account.reading import heads_of, opened_account, runs_of
from toy_rounds import program, run

NAMES = run().names


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """The heads that every account has, the digests of its rows by their number, the run, hosts, and the authority."""
    folder, ends = tmp_path_factory.mktemp("heads"), connected(NAMES)
    make(folder / "certificates", NAMES)
    for name, end in ends.items():
        end.credential = Credential(folder / "certificates", name)
    accounts = {name: Account(folder / f"{name}.jsonl", party=name) for name in NAMES}
    found = threads(program, {name: run() for name in NAMES}, ends, account=accounts)
    for account in accounts.values():
        account.close()
    assert all(isinstance(outcome, Outcome) for outcome in found.values()), found
    rows = {name: opened_account(folder / f"{name}.jsonl").rows for name in NAMES}
    ((run_id,),) = {runs_of(own) for own in rows.values()}
    heads = {name: heads_of(own, run_id) for name, own in rows.items()}
    digests = {name: {row.number: row.digest for row in own} for name, own in rows.items()}
    return heads, digests, run_id, {}, (folder / "certificates" / "authority.pem").read_text()


def changed(heads, teller, name, **keys):
    """The heads with other words of one party about one."""
    return heads | {teller: heads[teller] | {name: heads[teller][name] | keys}}


def test_every_account_has_the_end_of_all_signed_by_their_certificates(ended):
    heads, *_ = ended
    assert all(set(told) == set(NAMES) for told in heads.values())
    assert all(head["certificate"] and head["signature"] for told in heads.values() for head in told.values())
    assert len(check_heads(*ended)) == len(NAMES)


def test_what_disagrees_about_an_end_is_named(ended, tmp_path):
    heads, digests, run_id, _, authority = ended
    one, two = NAMES[:2]
    less = heads | {one: {name: head for name, head in heads[one].items() if name != two}}
    with pytest.raises(PartyError, match=f"the account of '{one}' has not the ends of the accounts of all parties"):
        check_heads(less, digests, run_id, {}, authority)
    anew = digests | {two: dict.fromkeys(digests[two], "0" * 64)}
    with pytest.raises(PartyError, match=rf"'{two}' is not the one whose end '{one}' saw .*signed by its certificate"):
        check_heads({one: heads[one]} | heads, anew, run_id, {}, authority)
    with pytest.raises(PartyError, match=f"the end of '{two}' that it has has another signature"):
        check_heads(changed(heads, one, two, digest="0" * 64), anew, run_id, {}, authority)
    with pytest.raises(PartyError, match=f"'{two}' has two certificates in the accounts"):
        check_heads(
            changed(heads, two, two, certificate=heads[one][one]["certificate"]), digests, run_id, {}, authority
        )
    with pytest.raises(PartyError, match="has another signature"):
        check_heads(heads, digests, "another run", {}, authority)
    make(tmp_path / "others", NAMES)
    with pytest.raises(PartyError, match="with a certificate that is not of the authority"):
        check_heads(heads, digests, run_id, {}, (tmp_path / "others" / "authority.pem").read_text())
