"""Every key of a configuration is checked before any job: one sentence names the key, its value and what is allowed."""

from __future__ import annotations

import copy
import math
import os
from typing import Any

import pytest
import yaml
from snakemake.common.configfile import load_configfile

from config_check import check_network
from last_run import read
from partywise.core.errors import ConfigError
from partywise.experiment.configuration.text import read_file
from partywise.experiment.plans import plans as checked_plans
from partywise.experiment.plans import read_configuration
from pipeline import ROOT, copy_run, launch, snakemake

INF = math.inf
SHIPPED = sorted([ROOT / "config.yaml", *(ROOT / "config").glob("*.yaml")])
TINY = read_configuration(ROOT / "config" / "tiny.yaml")


def study(config: dict[str, Any]) -> dict[str, Any]:
    return config["studies"]["functional_boosting"]


def case(config: dict[str, Any]) -> dict[str, Any]:
    return study(config)["cases"]["simulated"]


G = "studies.functional_boosting.cases.simulated.grid"


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_shipped_configurations_pass(path):
    config = read_configuration(path)
    plans = checked_plans(config)
    assert plans
    assert all(plan.cases and plan.methods for plan in plans.values())
    check_network(config, plans)


def test_infinity_survives_to_the_plan():
    config = copy.deepcopy(TINY)
    case(config)["grid"]["epsilon"] = [1, INF]
    plan = checked_plans(config)["functional_boosting"]
    assert plan.cases["simulated"].epsilon == (1.0, INF)
    assert plan.epsilons("simulated", "moments") == (1.0, INF)
    assert plan.epsilons("simulated", "predictor_none") == (INF,)


@pytest.mark.parametrize("run", [snakemake, launch])
def test_the_user_sees_the_sentence_and_no_traceback(finished, tmp_path, run):
    broken = tmp_path / "broken.yaml"
    config = copy.deepcopy(TINY)
    case(config)["grid"]["folds"] = 0
    broken.write_text(yaml.safe_dump(config))
    folder = copy_run(finished, tmp_path / "copy")
    done = run(folder, "--configfile", str(broken))
    assert done.returncode == 1
    assert read(folder) == read(finished)
    assert f"Configuration error: {G}.folds is 0: it must lie in [1, 100]." in done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    assert "File " not in done.stderr


def test_a_configuration_on_the_command_line_replaces_the_default(finished):
    """It is not merged into config.yaml: the cases of that file would run too."""
    done = snakemake(finished, "--configfile", "config/tiny.yaml", "-n", "--forceall")
    assert "sweep" not in done.stdout + done.stderr
    assert "predictor_none" in done.stdout + done.stderr


HEAD = "root_seed: 7\nstudies: {functional_boosting: {}}\n"


def test_a_file_that_is_no_text_is_told_in_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr("partywise.experiment.configuration.text.LONGEST", 10)
    (tmp_path / "long.yaml").write_text(HEAD)
    (tmp_path / "latin.yaml").write_bytes(b"a: \xe9")
    os.mkfifo(tmp_path / "pipe.yaml")
    sentences = {
        "": "is a folder: name a configuration file",
        "absent.yaml": "is not there: name a configuration file",
        "long.yaml": f"has {len(HEAD)} bytes: a configuration has at most 10",
        "latin.yaml": "is not text in UTF-8 (byte 3): save it as UTF-8",
        "pipe.yaml": "is not a file: name a configuration file",
    }
    for name, sentence in sentences.items():
        with pytest.raises(ConfigError) as told:
            read_configuration(tmp_path / name)
        assert str(told.value).startswith(f"{tmp_path / name} {sentence}"), told.value


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_shipped_configurations_are_read_as_snakemake_reads_them(path):
    """Their anchors, aliases and merges included."""
    assert read_file(path) == load_configfile(path)


def test_a_key_beside_a_merged_block_has_the_last_word(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("one: &one {a: 1, b: 2}\ntwo: {<<: *one, b: 3}\n")
    assert read_file(path)["two"] == {"a": 1, "b": 3}


@pytest.mark.parametrize("words", [("-n",), (), ("--report", "report.html"), ("--unlock",)], ids=" ".join)
def test_a_program_in_a_configuration_is_refused_and_not_run(finished, tmp_path, words):
    """Also in a second file, and in the default one of another folder; nothing is written, before or after."""
    program = f"__use_yte__: true\n? __import__('pathlib').Path({str(tmp_path / 'made')!r}).touch()\n: 1\n"
    (tmp_path / "config.yaml").write_text(program + HEAD)
    given = str(tmp_path / "config.yaml")
    for place in (("--configfile", "config/tiny.yaml", given), (f"--configfile={given}",), ("-d", str(tmp_path))):
        done = launch(finished, *place, *words)
        assert done.returncode == 2, place
        assert done.stderr.startswith("Configuration error: ") and done.stderr.count("\n") == 1
        assert "has the key __use_yte__" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["config.yaml"]


def test_a_word_that_is_cut_short_does_not_pass_a_configuration_by(finished):
    done = launch(finished, "--configfi", "config/tiny.yaml", "-n")
    assert done.returncode == 2
    assert done.stderr == "--configfi is an abbreviation of an option that is checked: write --configfile.\n"
