"""A certified filter: what it releases, that it stops, and that each named mistake in it would be seen."""

from __future__ import annotations

import math
import multiprocessing
import os
import pickle
import signal
from collections.abc import Callable
from contextlib import suppress
from threading import Thread, Timer

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import documented
from error_rates import accepts_sigma
from partywise.audits import replay
from partywise.core.errors import AccountError, BudgetExceeded, CertificationError
from partywise.core.randomness import stream
from partywise.federation.account.account import FILE, Account
from partywise.federation.account.chain import read_chain
from partywise.federation.account.reading import opened_account
from partywise.federation.channel import Channel
from partywise.methods.filters import certified
from partywise.methods.filters.certified import CertifiedFilter
from partywise.privacy.accounting.calibration import gaussian_epsilon, gdp_mu
from partywise.privacy.mechanisms import random as sources
from partywise.privacy.mechanisms.random import RunRandom, SecureRandom, charge_to, require_secure
from partywise.privacy.mechanisms.release import OBSERVER
from pipeline import ROOT

FORK = multiprocessing.get_context("fork")
ROUNDS = 20


def filter_of(unit: str = "row", clip: float = 1.0, rounds: int = ROUNDS, **terms) -> CertifiedFilter:
    terms = {"rng": stream(7, "noise")} | terms
    return CertifiedFilter.for_rounds(clip, 1.0, 1e-5, rounds, unit, owner="north", **terms)


def on_disk(folder, **terms) -> CertifiedFilter:
    return filter_of(account=folder / FILE, rng=None, **terms)


class NoNoise:
    """An observer that releases the statistic itself, so that tests see what the noise hides."""

    def draw(self, bounded, mechanism, owner, draw, rng=None):
        draw()
        return np.array(bounded.value)

    def add_event(self, event):
        pass


@pytest.fixture
def bare():
    """Without noise, as long as a test asks for it."""
    token = OBSERVER.set(NoNoise())
    yield
    OBSERVER.reset(token)


# What holds of a filter, each a function of how one is made; the planted mistakes below must each break one of them.


def noise_is_as_large_as_stated(make: Callable[..., CertifiedFilter]) -> None:
    made = make()
    drawn = made.release(np.zeros((3, 200_000))).value
    assert accepts_sigma(drawn, made.sigma) and abs(drawn.std() / made.sigma - 1) < 0.01
    # The event states mu = 2 clip / sigma; so must the noise that was drawn.
    assert abs(2 * made.clip / drawn.std() / made.mu - 1) < 0.01


def one_clip_holds_for_all_arrays(make: Callable[..., CertifiedFilter]) -> None:
    token = OBSERVER.set(NoNoise())
    try:
        sent = make("user").arrays({"b": np.full((2, 2), 3.0), "a": np.array(-8.0), "c": np.array([1.0, 2.0])})
    finally:
        OBSERVER.reset(token)
    flat = np.concatenate([np.ravel(sent[name]) for name in sorted(sent)])
    assert 1 - 1e-5 < np.linalg.norm(flat) <= 1
    assert np.allclose(flat, np.array([-8, 3, 3, 3, 3, 1, 2]) / math.sqrt(105), atol=1e-5)


def arrays_without_an_axis_are_noised(make: Callable[..., CertifiedFilter]) -> None:
    update = {"intercept": np.array(0.25), "weights": np.array([0.5])}
    assert make("user").arrays(update)["intercept"] != make("user", rng=stream(8, "other")).arrays(update)["intercept"]


def the_budget_is_asked_before_the_draw(make: Callable[..., CertifiedFilter]) -> None:
    made = make(rounds=1)
    made.release(np.zeros((1, 3)))
    state = made._rng.bit_generator.state
    with pytest.raises(BudgetExceeded):
        made.release(np.zeros((1, 3)))
    assert made._rng.bit_generator.state == state


def a_row_that_is_not_finite_is_zero(make: Callable[..., CertifiedFilter]) -> None:
    rows = np.array([[0.5, 0.25], [math.nan, 1.4e6], [math.inf, 3.0]])
    token = OBSERVER.set(NoNoise())
    try:
        kept = make().release(rows).value
    finally:
        OBSERVER.reset(token)
    assert kept.tolist() == [0.5, 0.25]


def noise_is_not_from_a_generator_that_others_seed(make: Callable[..., CertifiedFilter]) -> None:
    drawn = []
    for _ in range(2):
        np.random.seed(42)  # noqa: NPY002
        drawn.append(make(rng=None).release(np.zeros((1, 8))).value)
    assert not np.array_equal(*drawn)


def a_whole_update_is_of_unit_user(make: Callable[..., CertifiedFilter]) -> None:
    with pytest.raises(ValueError, match=r"unit='row' of a filter for whole updates.*release one gradient per record"):
        make("row").arrays({"weights": np.zeros(3)})


FACTS = (
    noise_is_as_large_as_stated,
    one_clip_holds_for_all_arrays,
    arrays_without_an_axis_are_noised,
    the_budget_is_asked_before_the_draw,
    a_row_that_is_not_finite_is_zero,
    noise_is_not_from_a_generator_that_others_seed,
    a_whole_update_is_of_unit_user,
)


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact.__name__)
def test_fact(fact):
    fact(filter_of)


class WithoutTheTwo(CertifiedFilter):
    """Noise for half of what a replaced contribution moves."""

    def __init__(self, *given, **terms):
        super().__init__(*given, **terms)
        self.sigma /= 2


class ClipsEachArray(CertifiedFilter):
    """Every array has the whole clip."""

    def arrays(self, update, *, public=None):
        return {name: super(ClipsEachArray, self).arrays({name: array})[name] for name, array in update.items()}


class SkipsScalars(CertifiedFilter):
    """Arrays without an axis pass as they are."""

    def arrays(self, update, *, public=None):
        held = {name: array for name, array in update.items() if np.ndim(array)}
        return dict(update) | super().arrays(held)


class AsksAfterwards(CertifiedFilter):
    """Draws, and pays then."""

    def _paying(self, payer):
        self._rng.bit_generator.random_raw(1)
        return super()._paying(payer)


class SeededByOthers(CertifiedFilter):
    """Draws from the generator that training code seeds."""

    def __init__(self, *given, rng=None, **terms):
        super().__init__(*given, rng=np.random.Generator(np.random.mtrand._rand._bit_generator), **terms)


class TakesAnything(CertifiedFilter):
    """A whole update counts as a record."""

    def require_whole_updates(self):
        pass


def only_the_entry(contributions):
    """NaN counts as a clip of 1: the rest of the row stays."""
    return np.nan_to_num(np.asarray(contributions, dtype=float), nan=0.0, posinf=0.0)


PLANTED = {
    WithoutTheTwo: noise_is_as_large_as_stated,
    ClipsEachArray: one_clip_holds_for_all_arrays,
    SkipsScalars: arrays_without_an_axis_are_noised,
    AsksAfterwards: the_budget_is_asked_before_the_draw,
    SeededByOthers: noise_is_not_from_a_generator_that_others_seed,
    TakesAnything: a_whole_update_is_of_unit_user,
}


@pytest.mark.parametrize("wrong", PLANTED, ids=lambda wrong: wrong.__name__)
def test_a_planted_mistake_is_seen(wrong, monkeypatch):
    monkeypatch.setitem(globals(), "CertifiedFilter", wrong)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        PLANTED[wrong](filter_of)


def test_a_rule_that_clears_single_entries_is_seen(monkeypatch):
    monkeypatch.setattr(certified, "finite_rows", only_the_entry)
    with pytest.raises(AssertionError):
        a_row_that_is_not_finite_is_zero(filter_of)


ENTRIES = st.floats(-1e300, 1e300) | st.sampled_from([5e-324, -5e-324, 1e300, 0.0, math.nan, math.inf, -math.inf])
ROWS = arrays(float, (3, 2), elements=ENTRIES)


@settings(deadline=None)
@given(rows=ROWS, other=arrays(float, 2, elements=ENTRIES), clip=st.sampled_from([1e-60, 0.3, 1.0, 2.0**40, 1e80]))
def test_one_contribution_moves_the_integers_by_twice_the_clip_at_most(rows, other, clip):
    token = OBSERVER.set(NoNoise())
    try:
        made = filter_of(clip=clip)
        first = made.release(rows)
        second = made.release(np.vstack([rows[:2], other]))
    finally:
        OBSERVER.reset(token)
    assert first.event.sensitivity == 2 * clip
    steps = [[round(value / made.grid) for value in release.value.tolist()] for release in (first, second)]
    assert [[step * made.grid for step in side] for side in steps] == [first.value.tolist(), second.value.tolist()]
    assert sum((one - two) ** 2 for one, two in zip(*steps, strict=True)) <= 4 * 4**20


@pytest.mark.parametrize("clip", [1e-60, 0.3, 1.0, 7.7, 1e80])
def test_opposite_contributions_reach_the_sensitivity(clip, bare):
    ends = [filter_of(clip=clip).release([[sign * 1e90, 0.0], [clip, clip]]) for sign in (1, -1)]
    steps = [round(end.value[0] / filter_of(clip=clip).grid) for end in ends]
    assert steps[0] - steps[1] == 2 * 2**20 and ends[0].value[1] == ends[1].value[1]
    assert ends[0].event.sensitivity == 2 * clip


@pytest.mark.parametrize("size", [14, 10**6])
def test_an_update_is_not_rounded_to_nothing(size, bare):
    """However many entries it has, and however small each of them is beside the noise."""
    update = stream(5, "update").normal(size=size)
    update /= np.linalg.norm(update)
    assert np.linalg.norm(filter_of("user").release(update[None]).value - update) < 1e-3


def test_the_budget_lasts_for_its_rounds_and_no_longer():
    made = filter_of()
    for _ in range(ROUNDS):
        made.release(np.ones((5, 14)))
    assert 1 - 1e-11 < made.epsilon_spent <= 1
    with pytest.raises(BudgetExceeded, match="epsilon = 1, delta = 1e-05 of unit row"):
        made.release(np.ones((5, 14)))
    assert made.epsilon_spent <= 1
    assert made.mu * math.sqrt(ROUNDS) == pytest.approx(gdp_mu(1.0, 1e-5), rel=2e-12)
    assert made.sigma == pytest.approx(2 / made.mu, rel=1e-15)


@pytest.mark.parametrize("epsilon, delta, rounds", [(0.5, 1e-5, 1), (10.0, 1e-6, 7), (1.0, 1e-5, 100), (50.0, 1e-9, 3)])
def test_every_budget_lasts_for_its_rounds(epsilon, delta, rounds):
    made = CertifiedFilter.for_rounds(0.7, epsilon, delta, rounds, "user", owner="north", rng=stream(7, "noise"))
    for _ in range(rounds):
        made.release(np.ones((1, 2)))
    assert epsilon * (1 - 1e-11) < made.epsilon_spent <= epsilon
    with pytest.raises(BudgetExceeded):
        made.release(np.ones((1, 2)))


def test_releases_of_other_sizes_fit_by_the_sum_of_their_squares():
    made = CertifiedFilter(1.0, mu=0.1, unit="row", budget=(1.0, 1e-5), owner="north", rng=stream(7, "noise"))
    for _ in range(7):
        made.release(np.ones((5, 2)))
    assert made.epsilon_spent == pytest.approx(gaussian_epsilon(0.1 * math.sqrt(7), 1e-5), rel=1e-11)
    with pytest.raises(BudgetExceeded):
        made.release(np.ones((5, 2)))


def test_everything_that_leaves_is_on_the_grid_and_possible_in_every_world():
    """No output tells worlds apart by its low bits: all multiples of a public step, from either world."""
    made = filter_of(rounds=2)
    for rows in (np.zeros((1, 500_000)), np.full((1, 500_000), 1 / 3000)):
        value = made.release(rows).value
        assert np.array_equal(np.rint(value / made.grid) * made.grid, value)
    wanted = {"a": np.zeros(4, np.float32), "b": np.zeros((2, 1))}
    sent = filter_of("user").arrays(wanted)
    kinds = [(name, sent[name].dtype, sent[name].shape) for name in sent]
    assert kinds == [("a", np.dtype(np.float32), (4,)), ("b", np.dtype(float), (2, 1))]


def neighbour(rows: np.ndarray, value: float) -> np.ndarray:
    return np.vstack([rows[:-1], np.full(rows.shape[1], value)])


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e300, 5e-324, 0.0, -0.1])
@pytest.mark.parametrize("unit", ["row", "user"])
def test_releases_replayed_on_a_neighbour_look_the_same(unit, value):
    """Record and replay, with the ledger of a channel between."""
    rows = stream(3, "rows").normal(size=(6, 4))

    def run(data: np.ndarray) -> Channel:
        channel = Channel([], ("north", "server"), record=True)
        made = filter_of(unit, rounds=3)
        for number in range(3):
            terms = {"release_id": f"round {number}", "audience": ("server",)}
            channel.send("north", "server", f"round {number}", made.release(data * (number + 1), **terms))
        return channel

    first = replay.record(lambda: run(rows))
    second = replay.replay(lambda: run(neighbour(rows, value)), first)
    replay.compare(first, second, unit)
    total = first.channel.ledger.total("server", unit, delta=1e-5)
    assert 1 - 1e-11 < total.epsilon_certified <= 1


def test_no_row_tells_that_it_was_cleared(caplog):
    """Neither an error nor a log, nor a word more or less from the generator."""
    after = []
    for value in (0.5, math.nan):
        rng = stream(7, "noise")
        filter_of(rng=rng).release(np.full((2, 5), value))
        after.append(str(rng.bit_generator.state))
    assert after[0] == after[1] and not caplog.records


def test_what_is_refused_is_refused_by_type_and_shape_alone():
    made = filter_of("user")
    secret = "a name"
    for wrong, error in (
        ([[secret]], TypeError),
        (np.array([[object()]]), TypeError),
        (np.zeros((2, 2), complex), TypeError),
        (np.zeros((2, 2), bool), TypeError),
        (np.zeros(3), ValueError),
        (np.zeros((1, 1, 3)), ValueError),
        (np.zeros((4, 0)), ValueError),
    ):
        with pytest.raises(error) as refused:
            made.release(wrong)
        assert secret not in str(refused.value)
    for update, error in (
        ({"n": np.array([424242])}, TypeError),
        ({"n": np.array([secret], dtype=object), "w": np.zeros(2)}, TypeError),
        ({}, ValueError),
        ({"w": np.zeros(0)}, ValueError),
    ):
        with pytest.raises(error) as refused:
            made.arrays(update)
        assert secret not in str(refused.value) and "424242" not in str(refused.value)
        assert ("holds no number" if error is ValueError else "'n'") in str(refused.value)
    with pytest.raises(ValueError, match="because"):
        made.arrays({"n": np.array([3]), "w": np.zeros(2)}, public={"n": " "})
    assert made.epsilon_spent == 0
    sent = made.arrays({"n": np.array([3]), "w": np.zeros(2)}, public={"n": "the number of batches is a setting"})
    assert sent["n"].tolist() == [3] and sent["w"].any() and list(sent) == ["n", "w"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"clip": 0.0},
        {"clip": math.inf},
        {"clip": math.nan},
        {"clip": 1e-200},
        {"clip": 1.1e100},
        {"mu": -1.0},
        {"mu": 2.0**17 + 1},
        {"mu": 2.0**-17.1},
        {"mu": math.nan},
        {"unit": "label"},
        {"owner": ""},
        {"budget": (math.inf, 1e-5)},
        {"budget": (1.0, 1.0)},
        {"account": "ledger.jsonl"},
        {"account": "ledger.jsonl", "rng": RunRandom(bytes(32))},
        {"account": ".", "rng": None},
    ],
    # The same in every process of the tests: no address of an object.
    ids=lambda wrong: ", ".join(
        f"{key}={type(value).__name__ if key == 'rng' else value}" for key, value in wrong.items()
    ),
)
def test_arguments_out_of_range_are_named(wrong):
    given = {"clip": 1.0, "mu": 0.1, "unit": "row", "budget": (1.0, 1e-5), "owner": "north", "rng": stream(1, "a")}
    CertifiedFilter(given.pop("clip"), **given)
    given |= {"clip": 1.0} | wrong
    with pytest.raises(ValueError, match="epsilon|delta" if "budget" in wrong else next(iter(wrong))):
        CertifiedFilter(given.pop("clip"), **given)


@pytest.mark.parametrize(
    "wrong", [{"rounds": 0}, {"rounds": 1.5}, {"epsilon": -1.0}, {"epsilon": math.inf}, {"delta": 0.0}]
)
def test_arguments_of_rounds_out_of_range_are_named(wrong):
    given = {"clip": 1.0, "epsilon": 1.0, "delta": 1e-5, "rounds": 3, "unit": "row", "owner": "north"} | wrong
    with pytest.raises(ValueError, match=next(iter(wrong))):
        CertifiedFilter.for_rounds(**given)


# Accounts on disk.


def paid_rows(path) -> int:
    return sum(row.kind == "paid" for row in read_chain(path).rows)


def test_an_account_is_that_of_parties_and_goes_on_when_it_is_opened_again(tmp_path):
    for number in range(ROUNDS):
        made = on_disk(tmp_path)
        require_secure(made.release(np.ones((4, 3))))
        assert paid_rows(made.account) == number + 1
    assert 1 - 1e-11 < on_disk(tmp_path).epsilon_spent <= 1
    with pytest.raises(BudgetExceeded):
        on_disk(tmp_path).release(np.ones((4, 3)))
    rows = opened_account(tmp_path / FILE).rows
    assert [row.kind for row in rows[:6]] == ["account", "time", "budget", "began", "paid", "ended"]
    assert rows[0].fields["party"] == "north" and rows[2].fields["budget"]["epsilon"] == 1
    with Account(tmp_path, party="north") as account:
        assert (
            account.costs_by_unit(1e-5)["row"].epsilon == pytest.approx(on_disk(tmp_path).epsilon_spent, rel=1e-12)
            and not account._state.open
        )


def test_the_payment_is_on_disk_before_the_noise_is_drawn(tmp_path, monkeypatch):
    made, seen, sync, words = on_disk(tmp_path), [], os.fsync, SecureRandom._words
    monkeypatch.setattr(os, "fsync", lambda handle: (sync(handle), seen.append("synced"))[0])
    monkeypatch.setattr(SecureRandom, "_words", lambda *given: (seen.append(paid_rows(made.account)), words(*given))[1])
    made.release(np.ones((4, 3)))
    drawn = seen.index(1)
    assert seen[drawn - 1] == "synced" and 0 not in seen[:drawn]


def killed_at_the_draw(folder) -> None:
    sources.SecureRandom._words = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    on_disk(folder).release(np.ones((4, 3)))


def test_a_process_killed_between_payment_and_draw_has_paid(tmp_path):
    """Nothing is drawn twice for one payment: every draw that came to its end has a payment of its own."""
    child = FORK.Process(target=killed_at_the_draw, args=(tmp_path,))
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL and paid_rows(tmp_path / FILE) == 1
    for number in range(ROUNDS - 1):
        on_disk(tmp_path).release(np.ones((4, 3)))
        assert paid_rows(tmp_path / FILE) == number + 2
    with pytest.raises(BudgetExceeded):
        on_disk(tmp_path).release(np.ones((4, 3)))
    assert on_disk(tmp_path).epsilon_spent <= 1


def test_an_account_that_another_process_has_open_pays_nothing(tmp_path):
    made = on_disk(tmp_path)
    with Account(made.account, party="north"), pytest.raises(AccountError, match="open in another process"):
        made.release(np.ones((4, 3)))
    assert paid_rows(made.account) == 0
    made.release(np.ones((4, 3)))


def test_a_release_waits_for_another_process_that_is_about_to_end(tmp_path):
    made = on_disk(tmp_path)
    account = Account(made.account, party="north")
    closing = Timer(0.1, account.close)
    closing.start()
    made.release(np.ones((4, 3)))
    closing.join()
    assert paid_rows(made.account) == 1


def test_working_directories_and_later_budgets_make_no_new_budget(tmp_path, monkeypatch):
    """30 releases of mu 0.3 fit into epsilon 8, wherever the process is, and whatever a later filter asks for."""
    terms = {"clip": 1.0, "mu": 0.3, "unit": "user", "owner": "north"}
    with pytest.raises(ValueError, match=r"account='acc.jsonl' of a certified filter is a relative path, which is"):
        CertifiedFilter(**terms, budget=(8.0, 1e-5), account="acc.jsonl")
    made, released = CertifiedFilter(**terms, budget=(8.0, 1e-5), account=tmp_path / "acc.jsonl"), 0
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        with suppress(BudgetExceeded):
            for _ in range(40):
                made.release(np.ones((1, 1)))
                released += 1
    assert released == math.floor(gdp_mu(8.0, 1e-5) ** 2 / 0.3**2) == 30
    for budget in ((80.0, 1e-5), (8.0, 1e-3), (4.0, 1e-5)):
        with pytest.raises(AccountError, match=r"was begun with the budget epsilon = 8, .* the first one binds"):
            CertifiedFilter(**terms, budget=budget, account=tmp_path / "acc.jsonl").release(np.ones((1, 1)))
    assert paid_rows(tmp_path / "acc.jsonl") == 30


def test_an_account_of_somebody_else_or_changed_pays_nothing(tmp_path):
    made = on_disk(tmp_path)
    made.release(np.ones((4, 3)))
    south = CertifiedFilter.for_rounds(1.0, 1.0, 1e-5, 20, "row", owner="south", account=made.account)
    with pytest.raises(AccountError, match="north"):
        south.release(np.ones((4, 3)))
    made.account.write_bytes(made.account.read_bytes().replace(b'"mu":0.0', b'"mu":0.1'))
    with pytest.raises(AccountError, match="changed"):
        made.release(np.ones((4, 3)))
    with pytest.raises(AccountError, match="changed"):
        made.epsilon_spent  # noqa: B018


def test_threads_pay_one_after_the_other(tmp_path):
    made, done = on_disk(tmp_path, rounds=4), []

    def release():
        try:
            done.append(made.release(np.ones((4, 3))))
        except BudgetExceeded:
            done.append(None)

    threads = [Thread(target=release) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(one is not None for one in done) == paid_rows(made.account) == 4 and len(done) == 6


def test_a_copy_counts_on_the_same_account_or_is_refused(tmp_path):
    made = pickle.loads(pickle.dumps(on_disk(tmp_path)))
    made.release(np.ones((4, 3)))
    assert on_disk(tmp_path).epsilon_spent == made.epsilon_spent > 0
    for other in (filter_of(), filter_of(rng=SecureRandom(), account=made.account)):
        with pytest.raises(CertificationError, match="a copy would count on its own"):
            pickle.dumps(other)


def test_a_filter_says_where_it_counts(tmp_path):
    assert repr(filter_of("user")) == (
        "CertifiedFilter(clip=1, mu=0.0599381, unit='user', owner='north'; budget epsilon 1 at delta 1e-05, counted in "
        "memory)"
    )
    assert repr(on_disk(tmp_path)).endswith(f"counted in {tmp_path / FILE})")


def test_frameworks_run_what_counts_on_disk_and_takes_updates(tmp_path):
    assert certified.require_account(made := on_disk(tmp_path, unit="user")) is made
    for wrong, word in ((filter_of("user"), "account=None"), (on_disk(tmp_path), "unit='row'")):
        with pytest.raises(ValueError, match=word):
            certified.require_account(wrong)


def forked_release(made, pipe) -> None:
    try:
        made.release(np.ones((4, 3)))
        pipe.send("released")
    except CertificationError as error:
        pipe.send(str(error))


def test_a_forked_child_does_not_spend_what_its_parent_counts():
    (end, theirs), made = FORK.Pipe(duplex=False), filter_of(rng=None)
    child = FORK.Process(target=forked_release, args=(made, theirs))
    child.start()
    assert "one account in one process" in end.recv()
    child.join()


def test_whoever_pays_for_the_generator_pays_too(tmp_path):
    """As within a run of parties: its account is asked as well."""
    with Account(tmp_path / FILE, party="north") as account:
        account.began("run", "configuration", mode="experiment")
        made = filter_of(rng=charge_to(stream(7, "noise"), account))
        made.release(np.ones((4, 3)))
        assert paid_rows(account.path) == 1
    assert made.epsilon_spent > 0


def test_a_filter_pays_while_other_accounts_are_open(tmp_path):
    with Account(tmp_path / FILE, party="south") as account:
        filter_of(rng=None).release(np.ones((4, 3)))
        filter_of().release(np.ones((4, 3)))
        assert paid_rows(account.path) == 0


PAGE = ROOT / "docs" / "framework_filters.md"


def test_the_example_prints_what_stands_under_it():
    blocks = list(documented.examples(PAGE))
    assert [code.startswith(documented.EXTRA) for code, _ in blocks] == [False, True, True]
    assert all(expected for _, expected in blocks) and documented.run(PAGE, extras=False) == []
