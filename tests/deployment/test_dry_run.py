"""A dry run says what would cross and be paid, meets nobody, and leaves nothing behind."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest
import yaml

from deployment_cases import Apart
from partywise.__main__ import main
from partywise.deployment import verbs
from partywise.federation.account.account import Account
from partywise.federation.account.spending import AccountBudget
from partywise.privacy.ledger.event import Event
from site_files import site_of, write_site

CLIENTS, TREES = "sliced_inverse_regression", "vertical_trees"


def dry_run(case: Apart, me: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """The verb, where no connection can be made."""
    case.write(folder)
    monkeypatch.chdir(folder)
    Path("mine.yaml").write_text(yaml.safe_dump(case.config, sort_keys=False))
    for name in ("socket", "create_connection", "create_server"):
        monkeypatch.setattr(socket, name, lambda *_, **__: pytest.fail("a dry run connects"))
    Path(me).mkdir(exist_ok=True)
    before = sorted(folder.rglob("*"))
    code = main(["network", "party", "--config", "mine.yaml", "--me", me, "--data", me, "--into", "out", "--dry-run"])
    assert sorted(folder.rglob("*")) == before
    return code


def test_who_takes_part_what_crosses_and_what_is_paid(tmp_path, monkeypatch, capsys):
    case = Apart(CLIENTS)
    case.network["mode"] = "release"
    assert dry_run(case, "north", tmp_path, monkeypatch) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("mode release; dry run: no party was contacted, nothing is paid")
    assert lines[1:3] == ["places: north, south; without data server", "estimate: all of it to server"]
    # Own messages first.
    assert [line.partition(":")[0] for line in lines[3:5]] == ["north to server", "south to server"]
    assert lines[3].endswith("slice means (release), second moment (release)")
    assert lines[5].startswith("north would pay: row ") and ", user 2, user_label 2 (epsilon at delta" in lines[5]
    assert lines[6] == "budget: none was stated (network.budget)"
    assert dry_run(case, "server", tmp_path, monkeypatch) == 0
    assert "server would pay: nothing" in capsys.readouterr().out


def test_what_is_left_of_budget_and_caps_and_whether_the_run_fits(tmp_path, monkeypatch, capsys):
    """Randomised response at epsilon 2 after a release of epsilon 2: it fits into 5, and into a cap of 3 not."""
    case = Apart(TREES)
    case.network |= {"mode": "release", "budget": {"epsilon": 5.0, "delta": 1e-5, "unit": "features"}}
    write_site(tmp_path / "shop", site_of(case, "shop", epsilon=[{"unit": "features", "epsilon": 3.0, "delta": 1e-5}]))
    with Account(
        tmp_path / "shop" / "ledger.jsonl", party="shop", budget=AccountBudget(5.0, 1e-5, "features")
    ) as account:
        account.began("a", "c" * 64)
        owns = frozenset({"features"})
        account.charge(Event("r", "shop", "randomized_response", "features", owns, epsilon=2.0, certificate="exact"))
        account.record_end("done")
    assert dry_run(case, "shop", tmp_path, monkeypatch) == 1
    told = capsys.readouterr().out
    assert "network.budget (epsilon = 5, delta = 1e-05 of unit features by rule gdp) has room for this run: " in told
    assert (
        "shop/site.yaml epsilon[0] (epsilon = 3, delta = 1e-05 of unit features by rule gdp) REFUSES this run" in told
    )
    assert "or epsilon 3 of pure profiles is left before it" in told and "or epsilon 1 of pure profiles is left" in told


def test_what_a_site_forbids_is_said_to_nobody_else(tmp_path, monkeypatch, capsys):
    """Who may not receive a message is known before anything is paid for it."""
    case = Apart(CLIENTS)
    for changed, words in (({"receivers": []}, "'server' would receive a release"), ({"min_cell": 36}, "smoker of")):
        write_site(tmp_path / "north", site_of(case, "north", **changed))
        assert dry_run(case, "north", tmp_path, monkeypatch) == 1
        assert words in capsys.readouterr().err


def test_an_account_of_another_party_is_refused_as_in_the_run(tmp_path, monkeypatch, capsys):
    with Account(tmp_path / "north" / "ledger.jsonl", party="clinic") as account:
        account.began("a", "c" * 64)
    case = Apart(CLIENTS)
    assert dry_run(case, "north", tmp_path, monkeypatch) == 1
    assert "party='north': north/ledger.jsonl is the account of 'clinic'" in capsys.readouterr().err


def test_what_is_refused_changes_no_budget_of_the_account(tmp_path, monkeypatch, capsys):
    """Randomised response at epsilon 2 does not fit into 1: the account still has the budget of 5 that was stated."""
    case = Apart(TREES)
    case.network |= {"mode": "release", "budget": {"epsilon": 1.0, "delta": 1e-5, "unit": "features"}, "patience": 1.0}
    with Account(
        tmp_path / "shop" / "ledger.jsonl", party="shop", budget=AccountBudget(5.0, 1e-5, "features")
    ) as account:
        account.began("a", "c" * 64)
        account.record_end("done")
    assert dry_run(case, "shop", tmp_path, monkeypatch) == 1
    assert "REFUSES this run" in capsys.readouterr().out
    monkeypatch.setattr(verbs, "tell_others", lambda *_: None)
    before = (tmp_path / "shop" / "ledger.jsonl").read_bytes()
    assert main(["network", "party", "--config", "mine.yaml", "--me", "shop", "--data", "shop", "--into", "out"]) == 1
    assert "REFUSES this run" in capsys.readouterr().err
    assert (tmp_path / "shop" / "ledger.jsonl").read_bytes() == before and not Path("out").exists()


@pytest.mark.parametrize("site", [False, True])
def test_where_masks_need_a_part_of_delta_the_sentence_names_the_key_and_a_value(tmp_path, monkeypatch, capsys, site):
    """No larger budget helps against the tails of masked ciphertexts; with the value that is named the run fits."""
    case = Apart(TREES)
    case.method = {"protocol": "tables", "cipher": "paillier"}
    case.network["mode"] = "release"
    limit = {"epsilon": 5.0, "delta": 1e-5, "unit": "features"}

    def tried(reserve: dict[str, float]) -> str:
        if site:
            write_site(tmp_path / "shop", site_of(case, "shop", epsilon=[limit | reserve]))
        else:
            case.network["budget"] = limit | reserve
        code = dry_run(case, "shop", tmp_path, monkeypatch)
        said = capsys.readouterr()
        assert code == (0 if reserve else 1), said
        return said.out + said.err

    told = tried({})
    where = "shop/site.yaml epsilon[0]" if site else "network.budget"
    found = re.search(rf"set numeric_reserve of {re.escape(where)} to (\S+) or more \(it is 0\)", told)
    assert found and "the first 0 would fit" not in told, told
    assert "has room for this run" in tried({"numeric_reserve": float(found[1])})


def test_an_experiment_costs_without_limit(tmp_path, monkeypatch, capsys):
    assert dry_run(Apart(CLIENTS), "north", tmp_path, monkeypatch) == 0
    assert "north would pay: row without limit" in capsys.readouterr().out
