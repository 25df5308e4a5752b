"""A party's account on disk: what is paid is on disk before it is drawn, and is never forgotten."""

from __future__ import annotations

import errno
import math
import multiprocessing
import os
import random
import signal
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accounts import Marks, bounded, event, paying, release
from forgeries import rewritten
from partywise.core.errors import AccountError, BudgetExceeded, CertificationError
from partywise.federation.account.account import FILE, Account
from partywise.federation.account.chain import Row, read_chain
from partywise.federation.account.reading import opened_extract, paid_events
from partywise.federation.account.spending import AccountBudget, spent_of
from partywise.federation.channel import Channel
from partywise.federation.parties import Party
from partywise.privacy.accounted_values import Clear
from partywise.privacy.accounting.calibration import gaussian_epsilon, gdp_mu
from partywise.privacy.ledger.event import Event
from partywise.privacy.mechanisms.discrete import DiscreteGaussian
from partywise.privacy.mechanisms.gaussian import Gaussian
from partywise.privacy.mechanisms.random import SecureRandom
from partywise.privacy.mechanisms.release import OBSERVER, Release

FORK = multiprocessing.get_context("fork")
ONE = AccountBudget(1.0, 1e-6, "row")


def opened(folder: Path, budget: AccountBudget | None = None, run: str = "") -> Account:
    account = Account(folder / FILE, party="clinic", budget=budget)
    if run:
        account.began(run, "one configuration")
    return account


def names(account: Account) -> list[str]:
    return [paid.release_id for _, paid in paid_events(account.rows())]


def test_what_is_paid_is_on_disk_before_it_is_drawn(tmp_path, monkeypatch):
    order, sync = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (sync(handle), order.append("synced"))[0])
    marks = Marks(tmp_path / "marks")
    monkeypatch.setattr(marks, "mark", lambda what: order.append(what))
    with opened(tmp_path, run="a") as account:
        order.clear()
        token = OBSERVER.set(marks)
        try:
            release("one", account)
        finally:
            OBSERVER.reset(token)
        assert order == ["synced", "drawn"]
        account.charge(*(event(f"several {k}") for k in range(5)))
        assert order == ["synced", "drawn", "synced"], "rows that are paid together are written together"


def length(path: Path) -> int:
    """Bytes of a file."""
    return path.stat().st_size if path.exists() else 0


def test_a_killed_party_loses_no_paid_release_and_pays_none_twice(tmp_path):
    account, marks, moments = tmp_path / FILE, tmp_path / "marks", random.Random(15)
    before: list[str] = []
    for number in range(30):
        child = FORK.Process(target=paying, args=(account, marks, f"run {number}"), daemon=True)
        child.start()
        # From before the file is open to some rows later, however slow the disk is.
        wanted = length(marks) + moments.choice((0, 1, moments.randrange(400)))
        while length(marks) < wanted and child.exitcode is None:
            child.join(0.001)
        child.join(moments.uniform(0, 0.01))
        assert child.exitcode is None
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        if not account.exists():
            continue
        rows = read_chain(account).rows
        digests = [row.digest for row in rows]
        assert digests[: len(before)] == before
        before = digests
        done = Counter(marks.read_text().splitlines()) if marks.exists() else Counter[str]()
        assert max(done.values(), default=1) == 1
        paid = Counter(row.fields["event"]["release_id"] for row in rows if row.kind == "paid")
        sent = Counter(row.fields["name"] for row in rows if row.kind == "sent")
        assert set(paid.values()) <= {1} and set(sent.values()) <= {1}
        assert {line.removeprefix("drawn ") for line in done if line.startswith("drawn")} <= set(paid)
        assert {line.removeprefix("left ") for line in done if line.startswith("left")} <= set(sent) <= set(paid)
    assert len(before) > 100, "the processes must have paid before they were killed"
    with opened(tmp_path) as left:
        assert "never ended" in left.notes[-1]


def test_a_second_process_of_a_party_is_refused_in_one_sentence(tmp_path):
    def second(pipe):
        try:
            opened(tmp_path)
            pipe.send("opened")
        except AccountError as error:
            pipe.send(str(error))

    mine, theirs = FORK.Pipe()
    with opened(tmp_path, run="a"):
        child = FORK.Process(target=second, args=(theirs,))
        child.start()
        assert mine.poll(30)
        told = mine.recv()
        child.join()
        assert "open in another process" in told and str(tmp_path / FILE) in told
        with pytest.raises(AccountError, match="open in another process"):
            opened(tmp_path)
    with opened(tmp_path) as again:
        assert [row.kind for row in again.rows()] == ["account", "time", "began"]


def test_an_account_belongs_to_one_party(tmp_path):
    opened(tmp_path).close()
    with pytest.raises(AccountError, match=r"party='lab'.*account of 'clinic'"):
        Account(tmp_path, party="lab")


def test_a_run_begins_once_and_before_anything_is_paid(tmp_path):
    with opened(tmp_path) as account:
        with pytest.raises(AccountError, match="no run has begun"):
            account.charge(event("one"))
        account.began("a", "x")
        account.record_end("digest")
        with pytest.raises(AccountError, match="run='a'"):
            account.began("a", "x")
        with pytest.raises(AccountError, match="no run has begun"):
            account.charge(event("one"))
        assert [row.kind for row in account.rows()] == ["account", "time", "began", "ended"]


def test_what_cannot_be_written_is_not_drawn(tmp_path, monkeypatch):
    with opened(tmp_path, run="a") as account:
        marks = Marks(tmp_path / "marks")
        OBSERVER.set(marks)

        def full(_: int) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as patched, pytest.raises(AccountError, match=r"No space left.*free space"):
            patched.setattr(os, "fsync", full)
            release("one", account)
        with pytest.raises(AccountError, match="begin again"):
            release("two", account)
        assert not (tmp_path / "marks").read_text()
    OBSERVER.set(None)


def test_an_account_that_is_deleted_while_it_is_open_pays_for_nothing_more(tmp_path):
    with opened(tmp_path, run="a") as account:
        account.charge(event("one"))
        (tmp_path / FILE).unlink()
        with pytest.raises(AccountError, match="was deleted while it was open"):
            account.charge(event("two"))


def test_new_folders_and_the_name_of_the_file_are_on_disk(tmp_path, monkeypatch):
    synced, sync = list[str](), os.fsync

    def noted(handle: int) -> None:
        sync(handle)
        synced.append(os.readlink(f"/proc/self/fd/{handle}"))

    monkeypatch.setattr(os, "fsync", noted)
    path = tmp_path / "parties" / "clinic" / FILE
    Account(path, party="clinic").close()
    assert {str(place) for place in (tmp_path, *path.parents[:2], path)} <= set(synced)
    synced.clear()
    Account(path, party="clinic").close()
    assert {str(path.parent), str(path)} <= set(synced), "who made it may have been killed before"


def spend(folder: Path, mus: list[float], restarts: set[int], budget: AccountBudget) -> list[bool]:
    """Which releases are let through, with the process begun anew before some of them."""
    folder.mkdir()
    accepted, account = [], opened(folder, budget, "run 0")
    for k, mu in enumerate(mus):
        if k in restarts:
            account.close()
            account = opened(folder, budget, f"run {k + 1}")
        try:
            account.charge(event(f"release {k}", mu))
            accepted.append(True)
        except BudgetExceeded:
            accepted.append(False)
    account.close()
    return accepted


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.floats(0.0, 0.3), min_size=1, max_size=8),
    st.sets(st.integers(0, 7)),
    st.sampled_from([ONE, AccountBudget(0.3, 1e-6, "row"), AccountBudget(0.5, 1e-6, "user", rows_per_user=2)]),
)
def test_a_budget_over_restarts_is_that_of_one_run(tmp_path_factory, mus, restarts, budget):
    folder = tmp_path_factory.mktemp("accounts")
    whole = spend(folder / "whole", mus, set(), budget)
    assert spend(folder / "parts", mus, restarts, budget) == whole
    with opened(folder / "parts", budget) as account:
        paid = [cost for cost, accepted in zip(mus, whole, strict=True) if accepted]
        group = budget.rows_per_user or 1
        assert math.fsum((group * mu) ** 2 for mu in paid) <= gdp_mu(budget.epsilon, budget.delta) ** 2 * (1 + 1e-9)
        assert len(names(account)) == len(paid)
        assert account.costs_by_unit()[budget.unit].epsilon <= budget.epsilon * (1 + 1e-9)


def test_a_refusal_tells_what_was_spent_in_which_runs_and_draws_nothing(tmp_path):
    for run in ("first", "second"):
        with opened(tmp_path, ONE, run) as account:
            account.charge(event("x", 0.1))
            account.record_end()
    with opened(tmp_path, ONE, "third") as account:
        marks = Marks(tmp_path / "marks")
        token = OBSERVER.set(marks)
        try:
            with pytest.raises(BudgetExceeded, match=r"0\.01 in run first, 0\.01 in run second\.") as error:
                release("large", account, 5.0)
        finally:
            OBSERVER.reset(token)
        assert "epsilon = 1, delta = 1e-06 of unit row" in str(error.value)
        assert not (tmp_path / "marks").read_text()
        assert names(account) == ["x", "x"]
        release("small", account, 0.1)
        assert names(account) == ["x", "x", "small"]


def test_events_that_are_charged_together_are_all_paid_or_none(tmp_path):
    with opened(tmp_path, ONE, "a") as account:
        left = account.left
        with pytest.raises(BudgetExceeded):
            account.charge(event("one", 0.1), event("two", 9.0))
        assert account.left == left and not names(account)


def test_threads_that_pay_at_once_spend_no_more_than_the_budget(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: None)
    with opened(tmp_path, ONE, "a") as account:
        affordable = int(account.left / 0.01)

        def pay(k: int) -> bool:
            try:
                account.charge(event(f"release {k}", 0.1))
            except BudgetExceeded:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(pay, range(8 * affordable))) == affordable
    assert len(read_chain(tmp_path / FILE).rows) == affordable + 4


def test_a_budget_that_changes_is_told_and_forgets_nothing(tmp_path):
    with opened(tmp_path, None, "free") as account:
        account.charge(event("one", 0.1), event("two", 0.1))
        account.record_end()
    with opened(tmp_path, ONE) as account:
        (note,) = account.notes
        assert "was none and is epsilon = 1" in note and "0.02 in run free" in note
        assert account.left == pytest.approx(float(gdp_mu(1.0, 1e-6)) ** 2 - 0.02, rel=1e-9)
    smaller = AccountBudget(0.1, 1e-6, "row")
    with opened(tmp_path, smaller, "after") as account:
        assert account.left == 0
        with pytest.raises(BudgetExceeded, match="run free"):
            account.charge(event("three", 1e-3))
        assert account.notes
    with opened(tmp_path, smaller) as account:
        assert not any("was" in note and "from the next run on" in note for note in account.notes)


def test_values_in_the_clear_are_paid_without_a_budget_and_refused_with_one(tmp_path):
    parties = [Party("clinic", "active", {}), Party("lab", "passive", {}, (0,))]
    for budget, count in ((None, 1), (AccountBudget(50.0, 1e-6, "features"), 0)):
        folder = tmp_path / str(count)
        folder.mkdir()
        with opened(folder, budget, "a") as account:
            channel = Channel(parties)
            channel.payer = account
            if budget is None:
                channel.send("clinic", "lab", "columns", Clear(np.ones(3), ("features",)))
                channel.send("clinic", "lab", "columns", Clear(np.ones(3), ("features",)))
                assert account.costs_by_unit()["features"].epsilon == math.inf
            else:
                with pytest.raises(BudgetExceeded, match="nothing finite is proved"):
                    channel.send("clinic", "lab", "columns", Clear(np.ones(3), ("features",)))
                assert not channel.messages and not len(channel.ledger)
                channel.send("clinic", "lab", "labels", Clear(np.ones(3), ("label",)))
            assert len(names(account)) == 1
            assert account.costs_by_unit()["label"].epsilon == (math.inf if budget else 0.0)


def test_what_was_sent_in_the_clear_uses_a_later_budget_up(tmp_path):
    with opened(tmp_path, None, "a") as account:
        account.charge(Event("c", "clinic", "none", "row", {"label", "features"}, certified=False, trust_model="none"))
    with opened(tmp_path, ONE, "b") as account:
        with pytest.raises(BudgetExceeded, match="inf in run a"):
            account.charge(event("small", 1e-9))
        account.charge(event("free", 0.0))


def test_what_an_experiment_paid_uses_a_later_budget_up_and_so_does_an_account_that_names_no_mode(tmp_path):
    """Rows of version 1 do not say whether others knew the seeds."""
    with opened(tmp_path) as account:
        account.began("a", "one configuration", "experiment")
        account.charge(event("small", 1e-9))
    earlier = tmp_path / "version 1"
    earlier.mkdir()
    (earlier / FILE).write_bytes(rewritten(read_chain(tmp_path / FILE).rows, version_1))
    for folder in (tmp_path, earlier):
        with opened(folder, ONE, "b") as account:
            assert account.costs_by_unit()["row"].epsilon == math.inf and account.left == 0
            with pytest.raises(BudgetExceeded, match="inf in run a"):
                account.charge(event("another", 1e-9))


def version_1(row: Row, fields: dict[str, Any]) -> dict[str, Any]:
    if row.kind == "account":
        return fields | {"format": 1}
    return {name: value for name, value in fields.items() if name != "mode"}


@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(0.01, 2.0), min_size=1, max_size=6))
def test_the_total_of_an_account_is_the_composition_of_its_rows(tmp_path_factory, mus):
    with opened(tmp_path_factory.mktemp("total"), run="a") as account:
        account.charge(*(event(f"{k}", mu) for k, mu in enumerate(mus)))
        spent = account.costs_by_unit(1e-5)["row"]
    assert spent.amount == pytest.approx(sum(mu * mu for mu in mus), rel=1e-12)
    assert spent.epsilon == pytest.approx(float(gaussian_epsilon(math.hypot(*mus), 1e-5)), rel=1e-9)


def test_three_releases_in_a_thread_do_not_go_around_the_budget(tmp_path):
    """The account was not asked in a thread: three releases of mu = 50 under a budget of 1, and nothing was paid."""
    said = list[str]()

    def draw(make: Callable[[], Release]) -> None:
        try:
            make()
        except (BudgetExceeded, CertificationError) as error:
            said.append(type(error).__name__)

    with opened(tmp_path, ONE, "a") as account:
        ways = (
            lambda: DiscreteGaussian(mu=50.0)(bounded(), SecureRandom()),
            lambda: Gaussian(mu=50.0)(bounded(), np.random.default_rng(0)),
            lambda: release("x", account, 50.0),
        )
        for way in ways:
            thread = Thread(target=draw, args=(way,))
            thread.start()
            thread.join()
        assert said == ["CertificationError", "CertificationError", "BudgetExceeded"] and not names(account)
    # Closed, it has no say in what an experiment draws.
    assert Gaussian(mu=50.0)(bounded(), np.random.default_rng(0)).event.mu == 50.0


def test_an_account_pays_in_the_process_that_opened_it_alone(tmp_path):
    """A forked child shares the lock of the file, and has a sum of its own."""
    with opened(tmp_path, ONE, "a") as account:
        account.charge(event("before", 0.1))
        inner, outer = os.pipe()
        child = os.fork()
        if child == 0:
            said = []
            for spend in (
                lambda: release("in the child", account),
                lambda: account.charge(event("bare")),
                SecureRandom,
            ):
                try:
                    spend()
                    said.append("paid")
                except (AccountError, CertificationError) as error:
                    said.append(f"{type(error).__name__} {error}")
            os.write(outer, "\n".join(said).encode())
            os._exit(0)
        os.waitpid(child, 0)
        os.close(outer)
        one, two, three = os.read(inner, 65536).decode().split("\n")
        os.close(inner)
        assert all(f"was opened in process {os.getpid()}" in what for what in (one, two))
        assert three.startswith("CertificationError") and "carries no payer" in three
        account.charge(event("after", 0.1))
        assert names(account) == ["before", "after"]


def test_a_process_that_goes_on_pays_what_is_new_and_nothing_twice(tmp_path):
    with opened(tmp_path) as account:
        account.began("a", "x")
        account.charge(event("one"), event("two"))
    with opened(tmp_path) as account:
        account.began("a", "x", again=True)
        size = account.path.stat().st_size
        account.charge(event("one"), event("two"))
        assert account.path.stat().st_size == size and not account.repeats
        account.charge(event("three"))
        account.record_end("digest")
        assert account.costs_by_unit()["row"].epsilon == pytest.approx(
            spent_of([("a", event(name)) for name in ("one", "two", "three")], 1e-6)["row"].epsilon
        )


def test_a_process_that_does_something_else_than_the_one_before_is_stopped(tmp_path):
    with opened(tmp_path) as account:
        account.began("a", "x")
        account.charge(event("one"))
    with opened(tmp_path) as account:
        account.began("a", "x", again=True)
        with pytest.raises(AccountError, match=r"run a cannot go on: row 3 \(paid\) .* is not what"):
            account.charge(event("one", mu=0.2))


def test_the_rows_of_a_run_are_those_of_its_end_of_the_file_though_its_process_was_killed(tmp_path):
    """Another run before it, and a row that the kill tore: an auditor reads the chain of the run alone."""
    with opened(tmp_path, run="a") as account:
        account.charge(event("x"))
        account.record_end("held")
        account.began("b", "one configuration")
        account.charge(event("y"))
    with (tmp_path / FILE).open("ab") as file:
        file.write(b'{"number":')
    with opened(tmp_path) as account:
        account.began("b", "one configuration", again=True)
        account.charge(event("y"))
        account.record_end("held")
        (tmp_path / "run.jsonl").write_bytes(account.rows_of_run())
        whole = account.rows()
    rows = opened_extract(tmp_path / "run.jsonl").rows
    assert [row.kind for row in rows] == ["began", "paid", "dropped", "ended"] and rows == whole[-4:]
