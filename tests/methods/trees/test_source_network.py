"""Configurations of the source that run distributed: the printed ones in processes, data and modes by their names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from test_source_config import EXAMPLE, LINEAR, TREES, changed, merged

from deployment_processes import Parties
from own_data_sets import write_csv
from party_tables import folder_of
from partywise.core.errors import ConfigError
from partywise.core.randomness import stream
from partywise.data.descriptions import TABLES
from partywise.deployment.deployments import deployments_of
from partywise.deployment.outcomes.joint_results import join_results
from partywise.deployment.outcomes.run_files import last_run
from partywise.deployment.session.outcome import commitment_to, outcomes
from partywise.experiment.cells import execution
from partywise.experiment.data import generate
from partywise.experiment.plans import plans
from partywise.methods.trees.source.data import table_names
from partywise.methods.trees.source_config import from_source

DISTRIBUTED = {"federate": {"mode": "distributed"}}


@dataclass
class Printed:
    """A translated configuration as `Parties` takes it."""

    config: dict[str, Any]
    study: str = "vertical_trees"
    files: dict[str, Any] = field(default_factory=dict)

    @property
    def network(self) -> dict[str, Any]:
        return self.config["network"]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.network["parties"])


def translated(source: Mapping[str, Any]) -> dict[str, Any]:
    return from_source(merged(source, DISTRIBUTED)).configuration()


def with_hosts(config: dict[str, Any]) -> dict[str, Any]:
    for block in config["network"]["parties"].values():
        block["host"] = "localhost"
    return config


@pytest.mark.parametrize("source", [TREES, EXAMPLE], ids=["trees", "example"])
def test_the_printed_configurations_run_in_processes_of_their_own(source, tmp_path, monkeypatch):
    config = with_hosts(translated(source))
    [deployment] = deployments_of(config, plans(config))
    network = deployment.network
    table = TABLES[deployment.plan.cases[network.case].settings.dataset]
    (tmp_path / "resources").symlink_to(folder_of(table.resource).parent)
    for name in deployment.names:
        (tmp_path / name).mkdir()
    Parties(Printed(config), tmp_path).succeeded()
    monkeypatch.chdir(tmp_path)
    data = generate(deployment.plan, network.case, [0], "resources")[0]
    run = execution(deployment.plan, network.case, network.method, 2, 0, deployment.epsilon, data)
    held = outcomes(deployment.plan.methods[network.method].protocol.fit, run)
    joined = join_results([last_run(tmp_path / "out" / name) for name in deployment.names])
    assert joined.channel.transcript() == run.channel.transcript() and run.channel.messages
    assert joined.channel.ledger.digest == run.channel.ledger.digest
    for name, record in joined.records.items():
        salt = json.loads((last_run(tmp_path / "out" / name) / "outcome.json").read_text())["salt"]
        assert record.outcome == commitment_to(held[name].digest, salt)


def test_the_printed_block_names_its_hosts_and_places():
    config = translated(TREES)
    network = config["network"]
    assert {key: network[key] for key in ("study", "case", "method", "mode")} == {
        "study": "vertical_trees", "case": "abalone", "method": "source", "mode": "experiment",
    }  # fmt: skip
    assert list(network["parties"]) == ["passive 1", "active", "dealer"]
    alone = from_source(TREES).configuration()["studies"]["vertical_trees"]
    assert config["studies"]["vertical_trees"]["cases"] == alone["cases"]
    with pytest.raises(ConfigError) as refused:
        deployments_of(config, plans(config))
    sentences = str(refused.value).split(". ")
    assert len(sentences) == 3
    for name, host in (("passive 1", "PARTY 1"), ("active", "PARTY 2"), ("dealer", "THE DEALER")):
        assert any(f"network.parties.{name}.host is 'HOST OF {host}'" in sentence for sentence in sentences)
    assert "epsilon" not in network and translated(EXAMPLE)["network"]["epsilon"] == 10.0


def test_trees_are_not_chosen_by_rows_that_no_party_has():
    found = from_source(merged(TREES, DISTRIBUTED))
    assert "select_by" not in found.options and from_source(TREES).options["select_by"] == "test_loss"
    assert any("no party has test rows of all" in note for note in found.notes)


def test_ports_and_other_keys_of_a_distributed_run():
    keys = {"use": True, "server_host": "127.0.0.1", "server_port": 6000, "client_port": 7000, "role": "client"}
    found = from_source(merged(TREES, DISTRIBUTED, {"distribute": keys}))
    parties = found.configuration()["network"]["parties"]
    assert {name: block["port"] for name, block in parties.items()} == {
        "passive 1": 7000, "active": 7001, "dealer": 6000,
    }  # fmt: skip
    for key in ("server_host", "role"):
        assert any(note.startswith(f"distribute.{key} has no effect") for note in found.notes)
    assert any("partywise network party" in note for note in found.notes)
    with pytest.raises(ValueError, match=r"distribute.use is False"):
        from_source(merged(TREES, DISTRIBUTED, {"distribute": {"use": False}}))
    with pytest.raises(ValueError, match=r"distribute.client_port is 7000: it is read with federate.mode"):
        from_source(merged(TREES, {"distribute": {"client_port": 7000}}))
    assert all("network" not in from_source(source).configuration() for source in (TREES, EXAMPLE, LINEAR))


def test_a_linear_model_runs_distributed_on_a_table_and_not_on_drawn_records():
    table = merged(LINEAR, DISTRIBUTED, {"data": {"type": "adult"}, "vertical": {"dims": [7, 14]}})
    config = with_hosts(from_source(table).configuration())
    [deployment] = deployments_of(config, plans(config))
    assert deployment.names == ("passive 1", "active", "server")
    with pytest.raises(ValueError, match=r"data.type is 'vertical_fl_data': its records are drawn in one place"):
        from_source(merged(LINEAR, DISTRIBUTED))


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("mode", "release", "network.mode is 'release': case abalone is a shipped table"),
        ("rows", 4177, "network.rows is 4177: case abalone is a shipped table"),
        ("score", {"active": "a.csv", "passive 1": "b.csv"}, "network.score is .*: case abalone is a shipped table"),
    ],
)
def test_what_is_asked_of_own_data_is_refused_where_all_have_one_public_table(key, value, sentence):
    config = with_hosts(translated(TREES))
    config["network"][key] = value
    with pytest.raises(ConfigError, match=sentence):
        deployments_of(config, plans(config))


def test_data_types_by_name(tmp_path):
    credit = merged(EXAMPLE, {"data": {"type": "credit", "splits": [0.8, 0.2]}, "vertical": {"dims": [11, 23]}})
    del credit["vertical"]["data_size_for_debug"], credit["dataloader"]["batch_size"]
    found = from_source(credit)
    assert (found.data.dataset, found.data.settings["test_share"]) == ("credit_default", 0.2)
    assert any("30,000 rows" in note for note in found.notes)
    assert from_source(merged(credit, {"data": {"type": "credit_default"}})).data.dataset == "credit_default"
    assert {"abalone", "adult", "adult_split", "credit", "credit_default", "breast_cancer"} <= set(table_names())
    for name in ("breast_cancer", "adult_split"):
        other = merged(credit, {"data": {"type": name}, "vertical": {"dims": [2, len(TABLES[name].columns)]}})
        made = from_source(other)
        assert plans(made.configuration())["vertical_trees"].n_cells == 1
    assert any("data.splits has no effect" in note for note in made.notes) and "test_share" not in made.data.settings
    # Tables with parties of their own are not divided by dims.
    with pytest.raises(ValueError, match=r"data.type is 'adult_three_parties': it must be"):
        from_source(changed("data.type", "adult_three_parties"))


def test_an_own_table_by_its_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = stream(3, "own table")
    rows = [[str(k), *(f"{value:.3f}" for value in rng.normal(size=3)), str(k % 2)] for k in range(60)]
    write_csv(Path("mine.csv"), ("id", "a", "b", "c", "label"), rows)
    own = {"data": {"type": "table", "root": "mine.csv"}, "vertical": {"dims": [1, 3]}}
    source = merged(TREES, own, {"criterion": {"type": "CrossEntropyLoss"}, "dataloader": {"batch_size": 60}})
    config = from_source(source).configuration()
    made = plans(config)["vertical_trees"]
    assert (made.cases["table"].settings.column_names, made.cases["table"].source_name) == (("a", "b", "c"), "table")
    data = generate(made, "table", [0], "resources")[0]
    run = execution(made, "table", "source", 2, 0, float("inf"), data)
    estimate = made.methods["source"].protocol.fit(run)
    assert [party.columns for party in run.parties] == [(0,), (1, 2)] and len(estimate.ensemble.trees) == 10
    network = with_hosts(from_source(merged(source, DISTRIBUTED)).configuration())
    [deployment] = deployments_of(network, plans(network))
    assert deployment.rows == {"passive 1": 60, "active": 60}
    for dims, root, sentence in (
        ([1, 4], "mine.csv", "it has 5 columns and vertical.dims ends with 4"),
        ([1, 3], "none.csv", "data.root is 'none.csv': data.type 'table' needs a CSV file"),
    ):
        with pytest.raises(ValueError, match=sentence):
            from_source(merged(source, {"data": {"root": root}, "vertical": {"dims": dims}}))


def test_modes_by_their_names():
    gathering = from_source(changed("vertical.mode", "feature_gathering"))
    assert gathering == from_source(TREES) and gathering.protocol == "feature_gathering"
    protect = {"protect_object": "grad_and_hess", "protect_method": "he", "key_size": 2048}
    scattering = [
        from_source(merged(TREES, {"vertical": protect | {"mode": mode, "protect_args": [{"bucket_num": 32}]}}))
        for mode in ("label_based", "label_scattering")
    ]
    assert scattering[0] == scattering[1] and scattering[0].protocol == "label_scattering"
    with pytest.raises(ValueError, match=r"vertical.protect_object is missing: vertical.mode 'label_scattering'"):
        from_source(changed("vertical.mode", "label_scattering"))
    with pytest.raises(ValueError, match=r"with vertical.mode 'feature_gathering' it must be 'feature_order'"):
        from_source(merged(TREES, {"vertical": protect | {"mode": "feature_gathering"}}))
