"""Parties apart with accounts on disk: the union of what they wrote is the simulation's, and budgets hold over runs."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from deployment_driver import threads
from every_protocol import generated, planned
from memory_transport import connected
from partywise.core.errors import BudgetExceeded, CertificationError, PartyError
from partywise.deployment.outcomes.joint_results import union
from partywise.deployment.session.outcome import Outcome
from partywise.deployment.session.party import PrepaidCosts
from partywise.experiment.trial import execution
from partywise.federation.account.account import FILE, Account
from partywise.federation.account.chain import read_chain
from partywise.federation.account.reading import messages_of, opened_account, paid_events, runs_of
from partywise.federation.account.spending import AccountBudget
from partywise.federation.place_checks import PlacedRun
from partywise.federation.run import Run, simulate
from partywise.federation.secure_streams import SecureStreams
from partywise.privacy.accounting.calibration import gaussian_epsilon
from partywise.privacy.ledger.event import POST_PROCESSING, SEVERAL, UNNAMED, Event

STUDY, CASE = "vertical_glm", "aligned"
# Noise of a functionality, of a dealer, of either party of a product, and of parties beside such products.
METHODS = ("private_newton", "private_moments_dealer", "private_moments", "private_predictor")


def apart(
    method: str, folder: Path, budgets: dict[str, AccountBudget] | None = None, where: tuple[str, str] = (STUDY, CASE)
) -> dict[str, Outcome | BaseException]:
    """Every place in a thread, with its account in the folder."""
    runs = {name: fresh(method, where) for name in fresh(method, where).names}
    for run in runs.values() if budgets else ():
        # No budget covers what others know the seeds of.
        run.rng_for = SecureStreams(run.rng_for)  # type: ignore[assignment]
    accounts = {name: Account(folder / name / FILE, party=name, budget=(budgets or {}).get(name)) for name in runs}
    try:
        return threads(protocol(method, where[0]), runs, connected(tuple(runs)), account=accounts)
    finally:
        for account in accounts.values():
            account.close()


def fresh(method: str, where: tuple[str, str] = (STUDY, CASE)) -> Run:
    return execution(planned(where[0]), where[1], method, generated(*where))


def protocol(method: str, study: str = STUDY) -> Any:
    return planned(study).methods[method].protocol.fit


def rows(folder: Path, name: str):
    return opened_account(folder / name / FILE).rows


def mu(folder: Path, name: str) -> float:
    return math.hypot(*(event.profile.mu for _, event in paid_events(rows(folder, name))))


@pytest.mark.parametrize("method", METHODS)
def test_the_union_of_accounts_is_the_simulation_and_every_party_pays_the_whole_of_shared_noise(tmp_path, method):
    plain = fresh(method)
    simulate(protocol(method), plain)
    found = apart(method, tmp_path)
    assert all(isinstance(outcome, Outcome) for outcome in found.values()), found
    (run,) = {one for name in plain.names for one in runs_of(rows(tmp_path, name))}
    whole = union(plain.names, [message for name in plain.names for message in messages_of(rows(tmp_path, name), run)])
    assert whole.ledger.digest == plain.channel.ledger.digest
    assert whole.transcript() == plain.channel.transcript()
    ledger = [row for row in plain.channel.ledger.rows if row.mechanism not in (POST_PROCESSING, "budget", "cipher")]
    own = {party.name: [row for row in ledger if row.owner == party.name] for party in plain.parties}
    shared = [row for row in ledger if row.owner in (UNNAMED, SEVERAL)]
    for name, drawn in own.items():
        paid = {event.release_id for _, event in paid_events(rows(tmp_path, name))}
        assert {row.release_id for row in drawn} <= paid <= {row.release_id for row in (*drawn, *shared)}
    active = plain.parties[0].name
    assert mu(tmp_path, active) == pytest.approx(math.hypot(*(row.profile.mu for row in (*own[active], *shared))))


@pytest.mark.parametrize("method", METHODS[:3])
def test_a_party_whose_budget_is_too_small_gives_nothing_away_and_nothing_is_released(tmp_path, method):
    plain = fresh(method)
    poor = plain.parties[-1].name
    found = apart(method, tmp_path, {poor: AccountBudget(0.1, 1e-6, "row")})
    assert isinstance(found[poor], BudgetExceeded)
    assert all(isinstance(outcome, PartyError) for name, outcome in found.items() if name != poor), found
    assert not paid_events(rows(tmp_path, poor))
    data = {row.fields["name"] for row in rows(tmp_path, poor) if row.kind == "sent"}
    assert not any("columns" in name for name in data), "its columns stay, closed or not"
    released = [row for name in plain.names for row in rows(tmp_path, name) if row.kind == "sent"]
    assert not any(row.fields["payload"]["kind"] == "Release" for row in released)
    if "aggregator" in plain.names:
        # A dealer's noise waits for nobody; that of a functionality is drawn when all is there.
        assert not paid_events(rows(tmp_path, "aggregator"))
    assert rows(tmp_path, poor)[-1].kind != "ended"


def test_masks_of_ciphertexts_need_a_reserve_in_a_budget(tmp_path):
    """What a profile does not cover is a probability of its own: no budget pays for it unasked."""
    fit = "vertical_trees", "generated", "certified_tables"
    found = apart(fit[2], tmp_path / "without", {"passive 1": AccountBudget(5.0, 1e-5, "features")}, fit[:2])
    refusal = found["passive 1"]
    assert isinstance(refusal, BudgetExceeded)
    stated = re.search(r"larger budget with numeric_reserve = (\S+) or more\.", str(refusal))
    assert stated, refusal
    # The remedy of the sentence is enough.
    budget = AccountBudget(5.0, 1e-5, "features", numeric_reserve=float(stated[1]))
    found = apart(fit[2], tmp_path / "with", {"passive 1": budget}, fit[:2])
    assert all(isinstance(outcome, Outcome) for outcome in found.values()), found
    (paid,) = [event for _, event in paid_events(rows(tmp_path / "with", "passive 1")) if event.mechanism != "none"]
    assert 0 < paid.delta_numeric <= budget.numeric_reserve < 1e-12


@pytest.mark.parametrize("change", [{"delta_numeric": 1e-9}, {"mu": 2.0}, {"release_id": "another"}, {}], ids=str)
def test_a_draw_with_other_terms_than_the_announced_ones_is_refused(change):
    """Name, profile and delta are what its owners paid for; one announcement serves one draw."""
    event = Event("sum", "aggregator", "gaussian", "row", frozenset({"label", "features"}), mu=1.0)
    paid, placed = [], SimpleNamespace(announced=[event])
    payer = PrepaidCosts(SimpleNamespace(charge=lambda *events: paid.extend(events)), placed)
    if change:
        with pytest.raises(CertificationError, match="was not announced"):
            payer.charge(replace(event, **change))
        assert placed.announced == [event] and not paid
    payer.charge(event)
    assert paid == [event]
    with pytest.raises(CertificationError, match="was not announced"):
        payer.charge(event)


def test_noise_on_data_of_others_that_nobody_was_told_of_is_not_drawn(tmp_path, monkeypatch):
    """A method of somebody's own that forgets to announce: the functionality refuses, silence is no consent."""
    monkeypatch.setattr(PlacedRun, "charge", lambda *_: None)
    found = apart(METHODS[0], tmp_path)
    assert isinstance(found["aggregator"], CertificationError)
    assert re.search(r"'second moments' was not announced.*run\.charge", str(found["aggregator"]))
    assert all(isinstance(one, PartyError) for name, one in found.items() if name != "aggregator"), found
    assert not paid_events(rows(tmp_path, "aggregator"))


def test_a_budget_for_two_runs_lets_two_through_and_no_third(tmp_path):
    method = METHODS[1]
    first = apart(method, tmp_path / "free")
    names = tuple(first)
    parties = [party.name for party in fresh(method).parties]
    cost = mu(tmp_path / "free", parties[0])
    enough = AccountBudget(float(gaussian_epsilon(1.001 * math.sqrt(2) * cost, 1e-6)), 1e-6, "row")
    for number in range(3):
        found = apart(method, tmp_path, dict.fromkeys(parties, enough))
        done = [isinstance(outcome, Outcome) for outcome in found.values()]
        assert all(done) if number < 2 else not any(done)
    assert any(isinstance(found[name], BudgetExceeded) for name in parties)
    for name in names:
        assert read_chain(tmp_path / name / FILE).rows
    for name in parties:
        assert mu(tmp_path, name) <= 1.001 * math.sqrt(2) * cost
