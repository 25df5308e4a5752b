"""A party that began anew while a run is to go on, or whose account is an older copy: named to all, with the remedy."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from deployment_driver import CONFIGURATION, threads
from memory_transport import connected
from partywise.__main__ import main
from partywise.deployment.session.outcome import Outcome
from partywise.deployment.wire import authority
from partywise.deployment.wire.journal import Journal
from partywise.federation.account.account import FILE, Account
from partywise.federation.account.chain import line_of
from partywise.federation.account.reading import opened_account, runs_of
from partywise.federation.place_checks import PlacedRun
from relayed import Middle, relayed
from toy_rounds import program, run

NAMES = run().names


def tried(folder: Path, fit=program, *, journals: bool = True) -> dict[str, Outcome | BaseException]:
    """One start of all parties, each with its account, and with its journal where they have any."""
    accounts = {name: Account(folder / name / FILE, party=name) for name in NAMES}
    kept = {name: Journal(folder / name / "ledger.journal", CONFIGURATION) for name in NAMES} if journals else None
    ends = relayed(NAMES, folder / "certificates", Middle(), journals=kept) if journals else connected(NAMES)
    try:
        return threads(fit, {name: run() for name in NAMES}, ends, journal=kept, account=accounts, patience=30.0)
    finally:
        for one in [*accounts.values(), *(kept or {}).values()]:
            one.close()


def stopped(placed: PlacedRun) -> None:
    raise OSError("the disk is full")


def test_a_lost_journal_is_named_on_every_screen_with_the_verb_that_ends_the_run(tmp_path, capsys):
    authority.make(tmp_path / "certificates", NAMES, days=1)
    tried(tmp_path, stopped)
    (begun,) = {runs_of(opened_account(tmp_path / name / FILE).rows) for name in NAMES}
    victim = NAMES[0]
    (tmp_path / victim / "ledger.journal").unlink()
    found = tried(tmp_path)
    assert all(f"network give-up {begun[0][:12]}" in str(one) for one in found.values()), found
    assert any(f"start '{victim}' with its journal" in str(one) for one in found.values())
    for name in NAMES:
        assert main(["network", "status", str(tmp_path / name)]) == 0
        said = capsys.readouterr().out
        assert f"network give-up {begun[0][:12]} {tmp_path / name}" in said and "never ended" in said
        assert ("its journal, " in said and "is missing or of another run" in said) == (name == victim)
        assert main(["network", "give-up", begun[0][:6], str(tmp_path / name)]) == 0
        said = capsys.readouterr().out
        assert f"{name}: run {begun[0][:12]} is given up; it paid " in said and "which stays paid" in said
        assert main(["network", "give-up", begun[0], str(tmp_path / name)]) == 2
        assert "has ended: only a run that has not can be given up" in capsys.readouterr().err
    assert all(isinstance(one, Outcome) for one in tried(tmp_path).values())


@pytest.mark.parametrize("restored", [NAMES[0], NAMES[-1]])
def test_an_account_from_a_backup_is_refused_by_name(tmp_path, restored):
    assert all(isinstance(one, Outcome) for one in tried(tmp_path, journals=False).values())
    backup = shutil.copy(tmp_path / restored / FILE, tmp_path / "backup")
    assert all(isinstance(one, Outcome) for one in tried(tmp_path, journals=False).values())
    newest = shutil.copy(tmp_path / restored / FILE, tmp_path / "newest")
    shutil.copy(backup, tmp_path / restored / FILE)
    found = tried(tmp_path, journals=False)
    assert all(f"the account of '{restored}' lacks rows that " in str(one) for one in found.values()), found
    for name in NAMES:
        assert len(runs_of(opened_account(tmp_path / name / FILE).rows)) == (1 if name == restored else 2)
    shutil.copy(newest, tmp_path / restored / FILE)
    assert all(isinstance(one, Outcome) for one in tried(tmp_path, journals=False).values())


def test_another_account_and_one_from_before_accounts_had_ids_are_none_of_a_backup(tmp_path):
    """A party may have two data sets, each with an account; whose account has no id, nobody can tell copies apart."""
    assert all(isinstance(one, Outcome) for one in tried(tmp_path, journals=False).values())
    first, second = NAMES[0], NAMES[1]
    (tmp_path / first / FILE).unlink()
    line, _ = line_of(0, "0" * 64, "account", "", {"party": second, "format": 2})
    (tmp_path / second / FILE).write_bytes(line)
    assert all(isinstance(one, Outcome) for one in tried(tmp_path, journals=False).values())
