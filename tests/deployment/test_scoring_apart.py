"""New records scored by parties apart: each has its part of a model, and what comes out is the simulation's."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deployment_cases import PEOPLE, Apart
from own_data_sets import write_csv
from partywise.__main__ import main
from partywise.core.documents import digest_of, encode_json
from partywise.core.errors import ConfigError, ModelError
from partywise.core.randomness import stream
from partywise.deployment.outcomes.joint_results import join_results
from partywise.deployment.outcomes.run_files import last_run
from partywise.deployment.part import parts, whole
from partywise.deployment.rehearsal import foresee
from partywise.deployment.scoring import MODEL, read_part
from partywise.deployment.session.outcome import commitment_to, outcomes
from partywise.federation.parties import Party
from partywise.federation.run import Run, simulate
from site_files import policy, site_of

NEW = 30


def trees(protocol: str, inference: str = "plain") -> Apart:
    """Certified tables, randomised codes, or ranks, whose inference is that of later records."""
    case = Apart("vertical_trees")
    case.method = {"protocol": protocol, "num_of_trees": 2, "inference": inference}
    if protocol == "tables":
        case.method |= {"cipher": "sized", "key_size": 2048}
    if protocol == "feature_gathering":
        case.method |= {"protect": "dp"}
    if inference == "he":
        case.method |= {"inference_cipher": "sized"}
    if protocol != "feature_gathering":
        case.settings["tables"][1]["columns"][0]["edges"] = [-1.0, 0.0, 1.0]
    return case


def scored(case: Apart, folder: Path) -> Apart:
    """The same case with new records in the place of a fit; their files lie with each party, and no label does."""
    rng = stream(4, "new records")
    ids, kinds = [f"n{k:03d}" for k in range(NEW)], ["xyz"[k] for k in rng.integers(0, 3, NEW)]
    a, b = ([f"{one:.3f}" for one in rng.normal(size=NEW)] for _ in range(2))
    write_csv(folder / "shop" / "new.csv", ("id", "a", "c"), [list(row) for row in zip(ids, a, kinds, strict=True)])
    write_csv(folder / "bank" / "fresh.csv", ("id", "b"), [list(row) for row in zip(ids, b, strict=True)])
    for name in case.files:
        shutil.copy(last_run(folder / "out" / name) / MODEL, folder / name / MODEL)
    case.network |= {"score": {"shop": "new.csv", "bank": "fresh.csv"}, "rows": NEW}
    return case


def together(case: Apart, folder: Path) -> Run:
    """The run of all parties in one process: what each reads of its own."""
    deployment = case.deployment()
    run, _, _ = whole(deployment, "", folder)
    own = {name: parts([deployment], "c", name, folder / name)[0] for name in case.files}
    blocks = {name: next(one for one in part.run.parties if one.name == name) for name, part in own.items()}
    run.parties = tuple(blocks[one.name] for one in run.parties)
    return run


@pytest.mark.parametrize(("protocol", "inference"), [("tables", "he"), ("feature_gathering", "plain")])
def test_parties_apart_score_as_a_simulation_does(protocol, inference, tmp_path, monkeypatch, started):
    case = trees(protocol, inference)
    parties = started(case)
    assert {name: one.code for name, one in parties.all().items()} == dict.fromkeys(case.names, 0)
    parties.configs = dict.fromkeys(case.names, scored(case, tmp_path).config)
    told = parties.all(runs="scores")
    for name, one in told.items():
        assert one.code == 0, f"{name}: {one.err}"
        # No file of those that trained is opened, nor anything of another party.
        others = [str(tmp_path / other) for other in ("whole", *case.names) if other != name]
        assert not [path for path in one.open if path.startswith(tuple(f"{place}/" for place in others))]
        assert not [path for path in one.open if path.endswith(tuple(case.files.get(name, ("(none)",))))]
    run = together(case, tmp_path)
    fit = case.deployment().plan.methods["m"].protocol.fit
    held = outcomes(fit, run)
    found = join_results([last_run(tmp_path / "scores" / name) for name in case.names])
    assert found.records.keys() == held.keys()
    assert found.channel.transcript() == run.channel.transcript() and run.channel.messages
    assert found.channel.ledger.digest == run.channel.ledger.digest
    for name, record in found.records.items():
        own = json.loads((last_run(tmp_path / "scores" / name) / "outcome.json").read_text())
        assert record.outcome == commitment_to(held[name].digest, own["salt"])
    # Whoever has the scores has a prediction for each new record; the others have none.
    with (last_run(tmp_path / "scores" / "bank") / "predictions.csv").open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    predicted = simulate(fit, together(case, tmp_path)).predictions
    assert [row["id"] for row in rows] == [f"n{k:03d}" for k in range(NEW)]
    np.testing.assert_array_equal([float(row["predicted"]) for row in rows], predicted)
    assert np.unique(predicted).size > 2
    assert not list((tmp_path / "scores" / "shop").rglob("predictions.csv"))
    assert "30 new records were scored" in told["bank"].out
    # What that costs is said: nothing protects the records that are scored.
    assert found.total.epsilon_certified == np.inf
    # A rehearsal on made-up parts foresees every message.
    messages, _ = foresee(case.deployment(), "shop", NEW)
    assert [(m.sender, m.name, m.kind) for m in messages] == [(m.sender, m.name, m.kind) for m in run.channel.messages]
    assert not list((tmp_path / "scores" / "bank").rglob("cell.npz"))


def test_a_linear_model_scores_by_the_coefficients_that_each_party_has(tmp_path, started):
    """Apart it is the simulation to the last bit, and the model of whoever has all of it but for rounding."""
    case = Apart("vertical_glm")
    parties = started(case)
    assert {name: one.code for name, one in parties.all().items()} == dict.fromkeys(case.names, 0)
    parties.configs = dict.fromkeys(case.names, scored(case, tmp_path).config)
    told = parties.all(runs="scores")
    assert {name: one.code for name, one in told.items()} == dict.fromkeys(case.names, 0), told["bank"].err
    run = together(case, tmp_path)
    held = outcomes(case.deployment().plan.methods["m"].protocol.fit, run)
    found = join_results([last_run(tmp_path / "scores" / name) for name in case.names])
    assert found.records.keys() == held.keys()
    for name, record in found.records.items():
        own = json.loads((last_run(tmp_path / "scores" / name) / "outcome.json").read_text())
        assert record.outcome == commitment_to(held[name].digest, own["salt"])
    assert [(m.sender, m.receiver, m.kind) for m in found.channel.messages] == [("shop", "bank", "clear")]
    with (last_run(tmp_path / "scores" / "bank") / "predictions.csv").open(newline="") as handle:
        predicted = [float(row["predicted"]) for row in csv.DictReader(handle)]
    with (last_run(tmp_path / "out" / "analyst") / "estimate.csv").open(newline="") as handle:
        estimate = {row["name"]: float(row["estimate"]) for row in csv.DictReader(handle)}
    X = np.column_stack([one.block["X"] for one in sorted(run.parties, key=lambda one: one.columns)])
    eta = np.column_stack([np.ones(NEW), X]) @ [estimate[name] for name in ("intercept", "a", "c = y", "c = z", "b")]
    np.testing.assert_allclose(predicted, 1 / (1 + np.exp(-eta)), rtol=1e-9)


def ensemble_scores(case: Apart, folder: Path) -> np.ndarray:
    """What one who has all parts and all columns would say."""
    run, found = together(case, folder), {}
    for party in run.parties:
        found[party.role] = party.block["part"].item()
    X = np.column_stack([one.block["X"] for one in sorted(run.parties, key=lambda one: one.columns)])
    return found["active"].ensemble.scores(X)


@pytest.fixture
def fitted(tmp_path, started) -> tuple[Apart, Path]:
    """A fit of tables, and new records with a configuration that scores them."""
    case = trees("tables")
    started(case).succeeded()
    return scored(case, tmp_path), tmp_path


def test_scores_are_those_of_the_whole_ensemble_whichever_way_records_are_routed(fitted):
    case, folder = fitted
    for inference in ("plain", "he", "ss"):
        case.method = trees("tables", inference).method
        fit = case.deployment().plan.methods["m"].protocol.fit
        scores = simulate(fit, together(case, folder)).scores
        np.testing.assert_allclose(scores, ensemble_scores(case, folder), atol=1e-9)


def changed(path: Path, key: str, value: object) -> None:
    found: dict[str, Any] = json.loads(path.read_text())
    found[key] = value
    found["digest"] = digest_of(encode_json({name: one for name, one in found.items() if name != "digest"}))
    path.write_bytes(encode_json(found))


def test_a_part_of_another_party_study_or_table_is_refused(fitted):
    case, folder = fitted
    deployment, path = case.deployment(), folder / "shop" / MODEL
    shop = Party("shop", "passive", {}, (0, 1))
    assert read_part(deployment, shop, path)[1]
    with pytest.raises(ModelError, match="party is 'bank', and the configuration has 'shop'"):
        read_part(deployment, shop, folder / "bank" / MODEL)
    good = path.read_bytes()
    for key, value, words in (
        ("study", "vertical_glm", "study is 'vertical_glm'"),
        ("columns", ["a"], "columns is"),
        ("format", "partywise model 1", "format is"),
        ("part", {"ensemble": None, "thresholds": []}, "part cannot be used"),
        ("part", {"ensemble": None, "threshold": []}, "part.threshold is unknown"),
        ("run", 7, "run is '7'"),
    ):
        path.write_bytes(good)
        changed(path, key, value)
        with pytest.raises(ModelError, match=words):
            read_part(deployment, shop, path)
    path.write_bytes(good[: len(good) // 2])
    with pytest.raises(ModelError, match=MODEL):
        read_part(deployment, shop, path)


def test_parties_with_parts_of_two_fits_are_refused_and_so_are_other_records(fitted, started):
    case, folder = fitted
    changed(folder / "shop" / MODEL, "run", "0" * 32)
    told = started(case).all(runs="scores")
    assert {one.code for one in told.values()} == {1} and "model that scores" in told["bank"].err + told["shop"].err


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"mode": "release"}, "name label and features in network.unprotected_units"),
        ({"score": {"shop": "new.csv"}}, "give a file of shop, bank"),
        ({"score": {"shop": "new.csv", "bank": "fresh.csv", "dealer": "x.csv"}}, "give a file of shop, bank"),
        ({"rows": 1}, "network.rows is 1"),
        (
            {
                "mode": "release",
                "unprotected_units": ["label", "features"],
                "budget": {"epsilon": 1.0, "delta": 1e-5, "unit": "features"},
            },
            "no budget covers them",
        ),
        ({"fits": "grid", "method": "", "epsilon": None}, "score is given with fits"),
    ],
)
def test_what_cannot_be_scored_is_told_before_a_file_is_opened(change, words):
    case = trees("tables")
    case.network |= {"score": {"shop": "new.csv", "bank": "fresh.csv"}, "rows": NEW} | change
    with pytest.raises(ConfigError, match=words):
        case.deployment()


def test_methods_that_do_not_score_are_told():
    case = trees("tables", "none")
    case.network |= {"score": {"shop": "new.csv", "bank": "fresh.csv"}, "rows": NEW}
    with pytest.raises(ConfigError, match="has inference: none; state how"):
        case.deployment()
    case.method = {"protocol": "pooled"}
    case.network.pop("epsilon")
    case.network["parties"].pop("dealer")
    with pytest.raises(ConfigError, match=r"in one place, which scores by itself"):
        case.deployment()
    linear = Apart("vertical_linear")
    linear.network |= {"score": {"shop": "new.csv", "bank": "fresh.csv"}, "rows": PEOPLE}
    with pytest.raises(ConfigError, match=r"network\.score is given with method m"):
        linear.deployment()


def test_scores_with_secret_keys_where_all_agree_that_nothing_protects_the_records(
    fitted, started, monkeypatch, capsys
):
    """Mode release: keys and encryptions come from the operating system, and no folder is published."""
    case, folder = fitted
    monkeypatch.chdir(folder)
    expected = simulate(case.deployment().plan.methods["m"].protocol.fit, together(case, folder)).scores
    case.method = trees("tables", "ss").method | {"cipher": "paillier"}
    case.network |= {"mode": "release", "unprotected_units": ["label", "features"]}
    told = started(case).all(runs="scores")
    assert {name: one.code for name, one in told.items()} == dict.fromkeys(case.names, 0), told["bank"].err
    with (last_run(folder / "scores" / "bank") / "predictions.csv").open(newline="") as handle:
        predicted = np.array([float(row["predicted"]) for row in csv.DictReader(handle)])
    np.testing.assert_allclose(np.log(predicted / (1 - predicted)), expected, atol=1e-9)
    assert "nothing here may be published" in told["bank"].out and not list(
        (folder / "scores" / "dealer").rglob("release")
    )
    words = ["network", "party", "--config", "shop.yaml", "--me", "shop", "--data", "shop", "--dry-run"]
    assert main(words) == 0
    told = capsys.readouterr().out
    assert "deployed splits" in told and "left indicators" not in told
    # Where a site has caps, its account stays with its data: new records have a folder, a site and an account apart.
    site = site_of(case, "shop", files=[{"file": "new.csv", "columns": ["id", "a", "c"]}])
    policy(folder / "shop", site | {"epsilon": [{"unit": "features", "epsilon": 50.0, "delta": 1e-5, "days": 30}]})
    assert main([*words, "--account", "other.jsonl"]) != 0
    assert "scored a folder of their own (--data) with its own site.yaml" in capsys.readouterr().err
    for file in ("new.csv", MODEL):
        (folder / "new").mkdir(exist_ok=True)
        shutil.copy(folder / "shop" / file, folder / "new" / file)
    policy(folder / "new", site)
    assert main([*words[:-2], "new", "--dry-run"]) == 0, capsys.readouterr().err
