"""The verb ``ledger`` verifies accounts and tells what was paid and what is left."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest

from accounts import event
from partywise.__main__ import main
from partywise.federation.account.account import FILE, Account
from partywise.federation.account.chain import read_chain
from partywise.federation.account.spending import AccountBudget
from partywise.privacy.accounting.calibration import gaussian_epsilon, gdp_mu
from partywise.privacy.ledger.event import SEVERAL
from partywise.privacy.ledger.reach import clear_event
from partywise.privacy.rounding import upward

BUDGET = AccountBudget(2.0, 1e-5, "row")


@pytest.fixture
def folder(tmp_path):
    """Accounts of two parties below one folder; one of them has a budget and two runs, one of which broke off."""
    for party, budget in (("clinic", BUDGET), ("lab", None)):
        (tmp_path / party).mkdir()
        with Account(tmp_path / party, party=party, budget=budget) as account:
            account.began("first", "x")
            account.charge(event("one", 0.1), event("two", 0.2))
            account.record_end("outcome")
            account.began("second", "x")
            account.charge(clear_event("c", "lab", ("label",), "clinic") if budget is None else event("three", 0.2))
            account.record_end()
    return tmp_path


def number(after: str, text: str) -> float:
    return float(re.search(re.escape(after) + r"([-+.e\d]+|inf)", text)[1].rstrip("."))


def test_totals_by_unit_runs_and_the_budget_left(folder, capsys):
    assert main(["network", "ledger", str(folder)]) == 0
    clinic, lab = re.split(r"(?m)^lab: ", capsys.readouterr().out)
    digest = read_chain(folder / "clinic" / FILE).digest
    assert clinic.startswith(f"clinic: 11 rows of 2 runs, chain whole, rows agree, digest {digest}")
    assert "run first: 2 paid, 0 sent, ended; mode release\n" in clinic
    assert "run second: 1 paid, 0 sent, broke off; mode release\n" in clinic
    assert number("mu squared = ", clinic) == pytest.approx(0.09)
    epsilon = float(gaussian_epsilon(0.3, 1e-5))
    assert re.search(rf"unit row: epsilon = {upward(epsilon)} at delta = 1e-05, 2 runs added; mu", clinic)
    left = float(gdp_mu(2.0, 1e-5)) ** 2 - 0.09
    assert f"0.05 in run first, 0.04 in run second. Left for another run: mu squared {left:.6g}.\n" in clinic
    assert re.search(r"unit label: .*epsilon = inf at delta = 1e-06, 1 rows without a proof", lab)
    assert "No budget was stated." in lab


def test_delta_of_the_epsilons_is_chosen(folder, capsys):
    assert main(["network", "ledger", str(folder / "clinic" / FILE), "--delta", "1e-3"]) == 0
    assert f"epsilon = {upward(float(gaussian_epsilon(0.3, 1e-3)))} at delta = 0.001" in capsys.readouterr().out
    assert main(["network", "ledger", str(folder), "--delta", "2"]) == 2
    assert "--delta is 2.0" in capsys.readouterr().err


def test_a_changed_row_is_told_by_number_and_the_file_stays(folder, capsys):
    path = folder / "lab" / FILE
    changed = path.read_bytes().replace(b'"mu":0.2', b'"mu":0.1')
    path.write_bytes(changed)
    assert main(["network", "ledger", str(folder)]) == 2
    told = capsys.readouterr()
    assert re.search(r"^ledger: row 4 of .*lab.* was changed", told.err) and told.out.startswith("clinic: ")
    assert path.read_bytes() == changed


def test_rows_cut_off_at_the_end_are_seen_by_a_digest_that_was_noted(folder, capsys):
    path = folder / "clinic" / FILE
    digest = read_chain(path).digest
    path.write_bytes(path.read_bytes() + b'{"number":')
    assert main(["network", "ledger", str(path), "--digest", digest]) == 0
    assert "10 bytes at the end are of a row that was never finished" in capsys.readouterr().out
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-2]))
    assert main(["network", "ledger", str(path)]) == 0
    assert main(["network", "ledger", str(path), "--digest", digest]) == 2
    assert "rows were cut off" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "not an account\n", '{"a": 1}'])
def test_what_is_no_account_is_refused_in_one_sentence(tmp_path, capsys, text):
    assert main(["network", "ledger", str(tmp_path)]) == 2
    assert "holds no ledger.jsonl" in capsys.readouterr().err
    (tmp_path / FILE).write_text(text)
    assert main(["network", "ledger", str(tmp_path)]) == 2
    assert main(["network", "ledger", str(tmp_path / "absent.jsonl")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_what_a_named_coalition_could_learn_of_noise_in_shares(tmp_path, capsys):
    shares = tuple((name, "1/2") for name in ("north", "river", "hill"))
    terms = {"owner": SEVERAL, "owners": ("north", "river", "hill"), "shares": shares, "tv": 1e-300}
    with Account(tmp_path, party="north") as account:
        account.began("first", "x")
        account.charge(replace(event("sum", float(gdp_mu(2.0, 1e-5))), **terms))
        account.record_end("outcome")
    words = ["network", "ledger", str(tmp_path), "--delta", "1e-5"]
    assert main(words) == 0
    assert number("unit row: epsilon = ", capsys.readouterr().out) == pytest.approx(2.0, rel=1e-3)
    assert main([*words, "--against", "river,hill"]) == 0
    told = capsys.readouterr().out
    assert "  against hill and river:\n" in told
    expected = gaussian_epsilon(math.sqrt(2) * gdp_mu(2.0, 1e-5), 1e-5)
    assert number("unit row: epsilon = ", told) == pytest.approx(float(expected), rel=1e-3)
    assert main([*words, "--against", "north,hill"]) == 2
    assert "--against names north" in capsys.readouterr().err
