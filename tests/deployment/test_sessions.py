"""Many fits in one session: each is the one run alone, a plan that does not fit is refused whole, a kill costs none."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from deployment_cases import Apart
from partywise.__main__ import main
from partywise.core.errors import ConfigError
from partywise.deployment.deployments import Deployment, deployments_of
from partywise.deployment.outcomes.joint_results import join_results
from partywise.deployment.outcomes.kept_runs import compute as kept_cells
from partywise.deployment.outcomes.kept_runs import kept_runs
from partywise.deployment.outcomes.run_files import fit_folders, last_run, read_record
from partywise.deployment.session import session
from partywise.deployment.session.outcome import commitment_to, outcomes
from partywise.deployment.settings import digest
from partywise.experiment.batches import blocks
from partywise.experiment.blocks import read_entries, write_block
from partywise.experiment.cells import compute, execution
from partywise.experiment.data import generate
from partywise.experiment.jobs import Timings
from partywise.experiment.plans import plans
from partywise.experiment.results.columns import CubeColumns
from partywise.federation.account.account import FILE
from partywise.federation.account.reading import opened_account, paid_events, runs_of
from site_files import site_of, write_site

CLIENTS, TREES = "sliced_inverse_regression", "vertical_trees"


def several(study: str = CLIENTS, **keys: Any) -> Apart:
    """A case that is run with three targets, the largest first."""
    case = Apart(study)
    case.grid["epsilon"] = [1.0, 2.0, 4.0]
    for name in ("method", "epsilon"):
        del case.network[name]
    case.network |= {"fits": [{"method": "m", "epsilon": target} for target in (4.0, 1.0, 2.0)], **keys}
    return case


pytestmark = pytest.mark.usefixtures("folder")


def check_kept(case: Apart, results: Path) -> None:
    """The fits of a session are cells of one block; those that are not there are in no design."""
    made = plans(case.config)
    with pytest.raises(ConfigError, match=r"is run .* of configuration .*, and this one is ffff: give the file"):
        kept_runs(results, made, "ffff")
    runs = kept_runs(results, made, digest(case.config))[case.study]
    assert sorted(one.coords["epsilon"] for one in runs) == [1.0, 2.0, 4.0]
    plan, folders = made[case.study], {one.record.run: list(map(str, one.folders)) for one in runs}
    (block,) = blocks(plan).values()
    (share,) = block.plain()
    write_block(results / "block.npz", kept_cells(plan, share, folders, Timings()))
    parts = [entry.read() for entry in read_entries(results / "block.npz")]
    for chosen in (parts, parts[:2], parts[2:]):
        columns = CubeColumns(plan)
        for part in chosen:
            columns.add(part)
        columns.check()
        there = [slot in [part.epsilon[0] for part in chosen] for slot in (1.0, 2.0, 4.0)]
        assert (columns.status > 0).tolist() == there
        assert (np.isfinite(columns.numbers["epsilon_certified"])).tolist() == there
    (results / "apart" / "broken").mkdir()
    with pytest.raises(ConfigError, match=r"broken is not a kept run: .* has no run.json"):
        kept_runs(results, made, digest(case.config))


def check_simulated(case: Apart, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Transcript, ledger and what each place holds of every fit are those of its own simulation."""
    deployments: tuple[Deployment, ...] = case.deployments()
    first = deployments[0]
    with monkeypatch.context() as patched:
        patched.chdir(folder / "whole")
        data = generate(first.plan, first.network.case, [0], "resources")[0]
    for one in deployments:
        network = one.network
        run = execution(one.plan, network.case, network.method, one.n_parties, network.fold, one.epsilon, data)
        held = outcomes(one.plan.methods[network.method].protocol.fit, run)
        found = join_results([last_run(folder / "out" / name / one.label) for name in case.names])
        assert found.channel.transcript() == run.channel.transcript()
        assert found.channel.ledger.digest == run.channel.ledger.digest
        for name, record in found.records.items():
            own = json.loads((last_run(folder / "out" / name / one.label) / "outcome.json").read_text())
            assert record.outcome == commitment_to(held[name].digest, own["salt"])


def accounts(case: Apart, folder: Path) -> dict[str, Any]:
    """Rows of the accounts of all parties."""
    places = {name: folder / name if name in case.files else folder / "out" / name for name in case.names}
    return {name: opened_account(place / FILE).rows for name, place in places.items()}


def test_fits_of_a_session_are_those_of_the_simulation(started, tmp_path, monkeypatch, capsys):
    case = several()
    told = started(case).succeeded()
    check_simulated(case, tmp_path, monkeypatch)
    labels = [f"m_epsilon{target}_fold0" for target in ("1.0", "2.0", "4.0")]
    folders = [tmp_path / "out" / name for name in case.names]
    for name, folder in zip(case.names, folders, strict=True):
        assert [one.parent.name for one in fit_folders(folder)] == labels
        assert all(f"out/{name}/{label}/" in told[name].out for label in labels)
        assert told[name].err.count("all parties are there") == 1 and "fit 3 of 3: m_epsilon2.0" in told[name].err
    assert "sent to server: 6 messages" in told["north"].out
    assert main(["network", "union", *map(str, folders)]) == 0
    assert capsys.readouterr().out.count("certified for the unit user") == 3
    assert main(["network", "union", *(str(folder / labels[0]) for folder in folders)]) == 0
    assert main(["network", "union", "--transcript", "all.csv", *map(str, folders)]) == 1
    assert "--transcript is of one run, and these folders hold 3" in capsys.readouterr().err
    assert main(["network", "ledger", str(folders[0] / labels[1])]) == 0
    assert "rows of 1 runs, chain whole" in capsys.readouterr().out
    assert main(["network", "result", str(folders[-1])]) == 0
    assert capsys.readouterr().out.count("server: sliced_inverse_regression, own, m, epsilon") == 3
    for _ in ("kept", "kept again, in the place of the first"):
        assert main(["network", "union", *map(str, folders), "--results", "kept"]) == 0
    check_kept(case, tmp_path / "kept")
    assert {len(runs_of(rows)) for rows in accounts(case, tmp_path).values()} == {3}


@pytest.mark.parametrize(("moment", "mode"), [("before all are done", "release"), ("after all are done", "experiment")])
def test_a_killed_session_goes_on_with_the_fit_that_had_not_ended(started, tmp_path, moment, mode, monkeypatch):
    """The server dies at the end of the second fit of three."""
    case = several(patience=3.0, mode=mode)
    parties, end = started(case), session.SessionRun.end

    def dying_end(self, *given):
        dies = self.me == "server" and self._prefix == "1/"
        if dies and moment == "before all are done":
            os.kill(os.getpid(), signal.SIGKILL)
        heads = end(self, *given)
        if dies:
            os.kill(os.getpid(), signal.SIGKILL)
        return heads

    with monkeypatch.context() as patched:
        patched.setattr(session.SessionRun, "end", dying_end)
        told = parties.all()
    assert told["server"].code == -signal.SIGKILL and told["north"].code == 1
    first = last_run(tmp_path / "out" / "server" / case.deployments()[0].label)
    before = read_record(first), (first / "run.json").stat().st_mtime_ns
    again = parties.succeeded()
    assert (read_record(first), (first / "run.json").stat().st_mtime_ns) == before
    assert f"{first.relative_to(tmp_path)}: had ended before" in again["server"].out
    if mode == "experiment":
        check_simulated(case, tmp_path, monkeypatch)
    assert main(["network", "union", *(str(tmp_path / "out" / name) for name in case.names)]) == 0
    for rows in accounts(case, tmp_path).values():
        assert len(runs_of(rows)) == 3 and sum(row.kind == "ended" for row in rows) == 3
        paid = [(run, event.release_id) for run, event in paid_events(rows)]
        assert len(paid) == len(set(paid))
    assert not list(tmp_path.rglob("*.journal"))


def test_a_plan_that_does_not_fit_into_the_budget_is_refused_whole(started, tmp_path, capsys):
    budget = {"epsilon": 6.0, "delta": 1e-5, "unit": "features"}
    case = several(TREES, mode="release", budget=budget, patience=5.0)
    parties = started(case)
    told = parties.all()
    assert {one.code for one in told.values()} == {1}
    assert "plan: 3 fits; to pay: row 7" in told["shop"].err
    assert "network.budget (epsilon = 6, delta = 1e-05 of unit features by rule gdp) REFUSES these" in told["shop"].err
    assert "the first 2 would fit; use more noise, run fewer fits, or state a larger budget" in told["shop"].err
    assert "'shop' ended with an error of its own; its output states which" in told["bank"].err
    assert not (tmp_path / "shop" / FILE).exists()
    words = [
        "network",
        "party",
        "--config",
        "shop.yaml",
        "--me",
        "shop",
        "--data",
        "shop",
        "--into",
        "dry",
        "--dry-run",
    ]
    assert main(words) == 1
    said = capsys.readouterr().out
    assert "fits: m_epsilon4.0_fold0, m_epsilon1.0_fold0, m_epsilon2.0_fold0" in said
    assert "REFUSES these 3 fits" in said and "shop would pay: row 7" in said


def test_the_grid_of_a_case_has_the_order_of_the_cells_of_its_jobs(tmp_path, monkeypatch):
    case = several(TREES, fits="grid")
    case.grid |= {"folds": 2, "epsilon": [2.0, 1.0], "methods": ["n", "m"]}
    config = case.config
    config["studies"][TREES]["methods"]["n"] = dict(case.method)
    made = plans(config)
    monkeypatch.chdir(case.write(tmp_path))
    data = generate(made[TREES], "own", [0], "resources")
    shares = [share for block in blocks(made[TREES]).values() for share in block.plain()]
    cells = [cell for share in shares for cell in compute(made[TREES], share, lambda _, k: data[k], Timings())]
    assert len(cells) == 8 and [one.coords for one in deployments_of(config, made)] == [cell.coords for cell in cells]


def test_a_site_is_asked_about_every_fit_before_anybody_is_met(tmp_path, monkeypatch, capsys):
    case = several()
    config = case.config
    config["studies"][CLIENTS]["methods"]["n"] = {"protocol": "published"}
    config["studies"][CLIENTS]["cases"]["own"]["grid"]["methods"] = ["m", "n"]
    case.network["fits"].append({"method": "n", "epsilon": 1.0})
    case.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(yaml.safe_dump(config))
    words = [
        "network",
        "party",
        "--config",
        "mine.yaml",
        "--me",
        "north",
        "--data",
        "north",
        "--into",
        "out",
        "--dry-run",
    ]
    assert main(words) == 0
    write_site(tmp_path / "north", site_of(case, "north"))
    capsys.readouterr()
    assert main(words) == 1
    assert "network.method is 'published' of sliced_inverse_regression, and methods does not" in capsys.readouterr().err
