"""The job that NVFlare runs: who runs what, the configuration as it is, and no code; what keeps one from being made."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from deployment_cases import Apart
from partywise.__main__ import main
from partywise.core.documents import TIME
from partywise.core.errors import ConfigError
from partywise.deployment.nvflare.job import SITE, lateness
from partywise.deployment.settings import NetworkSettings
from partywise.deployment.start import connect
from partywise.deployment.wire.tls import check_names, host_name, site_name
from pipeline import ROOT


@pytest.fixture
def case(tmp_path, monkeypatch):
    """A case whose parties have no addresses, in the working folder."""
    made = Apart("sliced_inverse_regression")
    made.network["parties"] = dict.fromkeys(made.network["parties"])
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(yaml.safe_dump(made.config, sort_keys=False))
    return made


def test_a_job_holds_the_configuration_and_names_every_site(case, capsys):
    assert main(("network", "nvflare-job", "mine.yaml", "--into", "job")) == 0
    names = [*case.network["parties"]]
    sites = [site_name(name) for name in names]
    assert "server" in names and "x--server" in sites and "server" not in sites
    printed = capsys.readouterr().out
    assert "'server' is the site x--server" in printed and "nvflare job submit -j job" in printed
    found = {str(path.relative_to("job")) for path in Path("job").rglob("*") if path.is_file()}
    server, client = "app/config/config_fed_server.json", "app/config/config_fed_client.json"
    assert found == {"meta.json", server, client, "app/config/mine.yaml"}
    assert Path("job/app/config/mine.yaml").read_bytes() == Path("mine.yaml").read_bytes()
    meta, at_server, at_client = (
        json.loads((Path("job") / name).read_text()) for name in ("meta.json", server, client)
    )
    assert meta["min_clients"] == len(sites) and sorted(meta["mandatory_clients"]) == sorted(sites)
    assert sorted(meta["deploy_map"]["app"]) == sorted(["server", *sites])
    assert sorted(at_server["workflows"][0]["args"]["sites"]) == sorted(sites)
    told = at_client["executors"][0]["executor"]["args"]
    until = datetime.strptime(told["not_after"], TIME).replace(tzinfo=UTC) - datetime.now(UTC)
    assert timedelta(days=6.9) < until <= timedelta(days=7)
    assert told == {"configuration": "mine.yaml", "not_after": told["not_after"], "again": False}
    assert f"which refuse it after {told['not_after']}" in printed


def test_a_job_that_waited_is_refused():
    """A site that was away comes back to a queue of jobs, which would run and pay unattended."""
    until = "2026-11-30T12:00:00Z"
    assert lateness(until, "2026-11-30T12:00:00Z") == ""
    assert f"may run until {until}, and it is 2026-11-30T12:00:01Z here" in lateness(until, "2026-11-30T12:00:01Z")
    assert all("runs and pays unattended" in lateness(other, "2026-11-30T12:00:00Z") for other in ("", "for ever"))


def test_what_keeps_a_job_from_being_made_is_one_sentence(case, capsys):
    Path("job").mkdir()
    assert main(("network", "nvflare-job", "mine.yaml", "--into", "job")) == 1
    assert "--into is job, which is there already: name a new folder." in capsys.readouterr().err
    (name,) = case.config["studies"]
    Path("study.yaml").write_text(yaml.safe_dump(case.config["studies"][name]))
    Path("parts.yaml").write_text(yaml.safe_dump({**case.config, "studies": {name: "study.yaml"}}))
    assert main(("network", "nvflare-job", "parts.yaml", "--into", "other")) == 1
    assert f"studies.{name} of parts.yaml is in a file of its own: a job has one file" in capsys.readouterr().err
    assert not Path("other").exists()


def test_parties_that_connect_to_each_other_need_addresses(case):
    network = NetworkSettings(study="a", case="b", method="c", mode="experiment", parties={"north": None})
    with pytest.raises(ConfigError, match=r"network\.parties\.north has no host and port: add them, or let NVFlare"):
        connect(network, "north", Path())


def test_every_name_has_a_site_of_its_own():
    names = ("north", "server", "server_parent", "old town", "Server", "klinik süd", "x--server", "server-")
    assert len({site_name(name) for name in names}) == len(names)
    assert (site_name("north"), site_name("old town"), site_name("server")) == ("north", "x--old-20town", "x--server")
    assert host_name("server") == "server"
    with pytest.raises(ValueError, match="name='x--server' of a party is how that of 'server' is written"):
        check_names(("server", "x--server"))


def test_the_guide_names_the_sites_and_classes_of_its_example():
    """`docs/network.md`: what is written there into a project and into the kits of its sites."""
    page = (ROOT / "docs" / "network.md").read_text(encoding="utf-8")
    blocks = {kind: re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL) for kind in ("yaml", "json")}
    (project,) = (found for found in map(yaml.safe_load, blocks["yaml"]) if "participants" in found)
    file = ROOT / "config" / "network_clients.example.yaml"
    names = yaml.safe_load(file.read_text(encoding="utf-8"))["network"]["parties"]
    clients = [one["name"] for one in project["participants"] if one["type"] == "client"]
    assert clients == [site_name(name) for name in names]
    (resources,) = (json.loads(f"{{{block}}}") for block in blocks["json"])
    assert resources == {"class_allow_list": [f"{SITE}.PartyExecutor"], "allow_log_streaming": False}
    source = (ROOT / "lib" / f"{SITE.replace('.', '/')}.py").read_text(encoding="utf-8")
    assert "class PartyExecutor(" in source and "class PartyController(" in source
    settings = source.partition("class SiteSettings:")[2].partition("def ")[0]
    (local,) = (found for found in map(yaml.safe_load, blocks["yaml"]) if "data" in found)
    assert {f"{key}: str" for key in local} == set(re.findall(r"^    (\w+: str)", settings, re.MULTILINE))
