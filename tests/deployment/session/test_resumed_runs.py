"""A party is killed in a run over a network with TLS, and another process takes its place: the run ends all the same.

More kills: `tests/statistical/statistical_network.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Timer

import pytest

from deployment_driver import CONFIGURATION, threads
from memory_transport import connected
from networked_kills import check_resumed
from partywise.deployment.session.outcome import outcomes
from partywise.deployment.wire import authority
from partywise.deployment.wire.journal import Journal
from partywise.federation.place_checks import PlacedRun
from relayed import Middle, relayed
from resumed import KINDS
from toy_rounds import program, run


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    authority.make(folder, tuple({name for _, start, *_ in KINDS.values() for name in start().names}), days=1)
    return folder


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.statistical if n else []) for n, kind in enumerate(KINDS)]
)
def test_a_killed_party_that_comes_back_goes_on_with_the_run(certificates, tmp_path, kind):
    fit, start, frames, count = KINDS[kind]
    killed = 0
    for seed in range(4 if count == 1 else 2):
        (tmp_path / str(seed)).mkdir()
        killed += check_resumed(fit, start, certificates, tmp_path / str(seed), seed, frames, count)
    assert killed > 1


def test_who_comes_back_with_other_records_says_so_to_all_and_nothing_of_the_run_is_lost(tmp_path):
    """Facts are what a party says of its list of records: it restarted with another file, which can be put right."""
    names = run().names
    first, others = names[0], names[1:]

    def tried(facts: dict[str, str], fit=program) -> dict[str, object]:
        journals = {name: Journal(tmp_path / f"{name}.journal", CONFIGURATION) for name in names}
        told = {name: facts if name == first else {} for name in names}
        try:
            return threads(fit, {name: run() for name in names}, connected(names), journal=journals, facts=told)
        finally:
            # A transport in memory keeps no frames: something must have been said for a journal to stay.
            journals[first].notice(others[0], "ready", b"said")
            for journal in journals.values():
                journal.close()

    def stopped(placed: PlacedRun) -> None:
        raise OSError("the disk is full")

    tried({"records": "a"}, stopped)
    found = tried({"records": "b"})
    assert "its list of records, or what it runs on, is another than it was" in str(found[first])
    assert all(f"'{first}' reports: '{first}' cannot go on with its run" in str(found[name]) for name in others)
    assert (tmp_path / f"{first}.journal").exists(), "the right file may still be put back"
    expected = {name: outcome.digest for name, outcome in outcomes(program, run()).items()}
    assert {name: outcome.digest for name, outcome in tried({"records": "a"}).items()} == expected


@pytest.mark.parametrize("ended", [True, False])
def test_a_party_that_was_killed_while_all_met_is_met_again(tmp_path, ended):
    """Where the job of all was ended, all keep what they have said; else all begin anew at the second attempt."""
    folder, names = tmp_path / "certificates", run().names
    authority.make(folder, names, days=1)
    victim, *others = names

    def tried(middle: Middle, there: Sequence[str]) -> dict[str, object]:
        journals = {name: Journal(tmp_path / f"{name}.journal", CONFIGURATION) for name in there}
        ends = relayed(names, folder, middle, *there, journals=journals)
        if set(there) != set(names):
            # It had met all others when it was killed.
            Timer(0.5, lambda: setattr(middle, "ended", ended)).start()
        found = threads(program, {name: run() for name in there}, ends, journal=journals, patience=4.0)
        for journal in journals.values():
            journal.close()
        return found

    middle = Middle()
    journal = Journal(tmp_path / f"{victim}.journal", CONFIGURATION)
    relayed(names, folder, middle, victim, journals={victim: journal})
    assert set(tried(middle, others)) == set(others)
    journal.close()
    found = tried(Middle(), names)
    if not ended:
        assert any("sent a second hello" in str(one) or "reports:" in str(one) for one in found.values())
        found = tried(Middle(), names)
    expected = {name: outcome.digest for name, outcome in outcomes(program, run()).items()}
    assert {name: getattr(one, "digest", one) for name, one in found.items()} == expected


def test_a_start_in_which_two_differ_leaves_no_run_that_others_would_go_on_with(tmp_path):
    """A party without records agrees with both: it has what it said, and hears that nobody can have begun."""
    folder, names = tmp_path / "certificates", run().names
    authority.make(folder, names, days=1)

    def tried(*records: str) -> dict[str, object]:
        journals = {name: Journal(tmp_path / f"{name}.journal", CONFIGURATION) for name in names}
        facts = {name: {} for name in names} | {f"client {k}": {"records": what} for k, what in enumerate(records)}
        ends = relayed(names, folder, Middle(), *names, journals=journals)
        found = threads(program, {name: run() for name in names}, ends, journal=journals, facts=facts, patience=30.0)
        for journal in journals.values():
            journal.close()
        return found

    assert all("another records than" in str(one) for one in tried("a", "b").values())
    expected = {name: outcome.digest for name, outcome in outcomes(program, run()).items()}
    assert {name: getattr(one, "digest", one) for name, one in tried("a", "a").items()} == expected
