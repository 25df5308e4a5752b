"""The crate of the run of config/tiny.yaml: what archives' own tools say of it, and that it says what is there."""

from __future__ import annotations

import contextlib
import csv
import json
import math
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from crate.content import crate_of, records_shown
from crate.croissant import FITS
from crate.metadata import METADATA, Crate, metadata
from crate_contexts import issues
from partywise.data.catalogue import RESOURCES
from partywise.experiment.plans import plans, read_configuration
from partywise.experiment.study import available, load
from pipeline import RESULTS, ROOT, STUDY, Planned, copy_project, copy_run, edit, planned
from verbs.crate import main, write

LICENCE = "https://spdx.org/licenses/MIT"
# What is recommended and not there: the address of the project (3.2, 31.2), a publisher (22.3), both of which nobody
# knows yet; 5.1 asks for an address as the name of a class of code, whatever the crate says.
LEFT = {"process-run-crate-0.5_3.2", "process-run-crate-0.5_5.1", "ro-crate-1.1_22.3", "ro-crate-1.1_31.2"}


@pytest.fixture(scope="module")
def made(finished) -> Crate:
    """What the verb writes after it has seen that the results are current."""
    with contextlib.chdir(finished):
        found = plans(read_configuration(Path("config/tiny.yaml")))
        return crate_of(Path(RESULTS), found, Path("config/tiny.yaml"), {}, False, "Ada Lovelace", LICENCE)


@pytest.fixture(scope="module")
def folder(finished, made, tmp_path_factory) -> Path:
    """The crate as a folder."""
    into = tmp_path_factory.mktemp("crate") / "crate"
    with contextlib.chdir(finished):
        write(into, made)
    return into


@pytest.fixture(scope="module")
def entities(folder) -> dict[str, dict[str, Any]]:
    """Entities by their names."""
    graph = json.loads((folder / METADATA).read_text(encoding="utf-8"))["@graph"]
    found = {one["@id"]: one for one in graph}
    assert len(found) == len(graph)
    return found


def named(value: object) -> list[str]:
    """The names that a property refers to."""
    many = value if isinstance(value, list) else [value]
    return [one["@id"] for one in many if isinstance(one, Mapping)]


def of_type(entities: Mapping[str, dict[str, Any]], kind: str) -> Iterator[dict[str, Any]]:
    """Entities of a type."""
    return (one for one in entities.values() if kind in (one["@type"], *one["@type"]))


def test_the_validator_finds_nothing_that_is_required_and_only_four_things_recommended(folder, tmp_path):
    """All three profiles of runs, that of workflows and RO-Crate itself, offline."""
    found = issues(folder, tmp_path, "RECOMMENDED")
    assert [one for one in found if one[0] == "REQUIRED"] == []
    assert {name for _, name, _ in found} == LEFT, found


def test_every_file_is_listed_with_its_size_and_digest_and_every_reference_leads_somewhere(folder, entities):
    there = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    files = {one["@id"]: one for one in of_type(entities, "File")}
    assert there.keys() == {*files, METADATA}
    for name, one in files.items():
        content = there[name].read_bytes()
        assert (one["contentSize"], one["sha256"]) == (str(len(content)), sha256(content).hexdigest()), name
    assert set(named(entities["./"]["hasPart"])) >= set(files)
    dangling = {
        name
        for one in entities.values()
        for value in one.values()
        for name in named(value)
        if name not in entities and not name.startswith("https://")
    }
    assert dangling == set()
    assert not [name for name in there if "/data/" in name or "/blocks/" in name]


def test_every_job_is_an_action_with_its_time_and_what_it_read(finished, entities):
    records = sorted((finished / RESULTS / "provenance").rglob("*.json"))
    scripts = {f"scripts/{rule}.py" for rule in ("generate", "fit", "collect", "figure")}
    jobs = [one for one in of_type(entities, "CreateAction") if named(one["instrument"])[0] in scripts]
    assert len(jobs) == len(records) == 14
    run = entities["#run"]
    assert run["startTime"] == min(one["startTime"] for one in jobs) < run["endTime"] == entities["./"]["datePublished"]
    assert all(one["startTime"] <= one["endTime"] for one in jobs)
    cube = f"{RESULTS}/{STUDY}/cube.nc"
    assert [one["@id"] for one in jobs if cube in named(one["object"])] == [
        f"#figure/{STUDY}/error_by_parties",
        f"#figure/{STUDY}/error_by_epsilon",
    ]
    collect = entities[f"#collect/{STUDY}"]
    fits = [one for one in jobs if one["@id"].startswith("#fit/")]
    assert {
        named(one["result"])[-1] if isinstance(one["result"], list) else one["result"]["@id"] for one in fits
    } < set(named(collect["object"]))
    held = json.loads((finished / RESULTS / "provenance" / STUDY / "collect.json").read_text())["outputs"]
    for name, digest in held.items():
        assert entities[f"{RESULTS}/{STUDY}/{name}"]["sha256"] == digest
    assert len(entities[f"#{STUDY}/code_sha256"]["value"]) == 64


def test_a_data_set_that_a_job_reads_is_named_with_its_pin_and_licence(finished, made):
    first, *rest = made.jobs
    read = replace(made, jobs=[replace(first, reads=[*first.reads, "#data/abalone"]), *rest])
    with contextlib.chdir(finished):
        found = {one["@id"]: one for one in json.loads(metadata(read))["@graph"]}
    about, pinned = found["#data/abalone"], RESOURCES["abalone"]
    assert (about["@type"], about["sha256"], about["license"]) == ("Dataset", pinned.sha256, pinned.licence)
    assert {"@id": "#data/abalone"} in found["#run"]["object"] and made.datasets == []


def test_the_same_run_gives_the_same_bytes(finished, made, tmp_path):
    with contextlib.chdir(finished):
        for name in ("first.zip", "second.zip"):
            write(tmp_path / name, made)
    assert (tmp_path / "first.zip").read_bytes() == (tmp_path / "second.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "first.zip") as archive:
        assert archive.namelist()[0] == METADATA and archive.testzip() is None


@pytest.mark.filterwarnings("ignore")
def test_the_table_is_read_through_its_croissant_metadata(folder):
    """Every column with its meaning from the dictionary; what comes out is what stands in the table."""
    import mlcroissant

    top = folder / RESULTS / STUDY
    about = mlcroissant.Dataset(jsonld=str(top / "croissant.json"))
    assert (about.metadata.issues.errors, about.metadata.issues.warnings) == (set(), set())
    with (top / "tidy.csv").open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    records = list(about.records(FITS))
    assert len(records) == len(rows) == 48
    for record, row in zip(records, rows, strict=True):
        assert {name.removeprefix(f"{FITS}/") for name in record} == set(row)
        for name, text in row.items():
            value = record[f"{FITS}/{name}"]
            if isinstance(value, bytes):
                assert value.decode() == text, name
            elif text == "":
                assert value is None or math.isnan(value), name
            else:
                assert value == float(text), name
    fields = {one.name: one for one in about.metadata.record_sets[0].fields}
    with (top / "dictionary.csv").open(newline="") as handle:
        meant = {row["column"]: row["meaning"] for row in csv.DictReader(handle) if row["table"] == "tidy.csv"}
    assert all(fields[name].description.startswith(meaning) for name, meaning in meant.items())
    types = {name: str(fields[name].data_types[0]).rpartition("/")[2] for name in ("unit", "replicate", "il2")}
    assert types == {"unit": "Text", "replicate": "Integer", "il2": "Float"}


def test_what_shows_records_of_own_data_is_known_by_name():
    """A cube does where a study draws single records from it, and such arrays are in no other.

    They lie along records, but for the exact survival curve, whose steps are times of single patients.
    """
    (curves,) = plans(read_configuration(ROOT / "config" / "my_data.example.yaml")).values()
    assert records_shown(curves) == {"cube.nc", "predictions.csv", "models.json", "real_curves"}
    for plan in plans(read_configuration(ROOT / "config" / "my_tables.example.yaml")).values():
        assert records_shown(plan) == {"predictions.csv", "models.json"}
    (simulated,) = plans(read_configuration(ROOT / "config" / "tiny.yaml")).values()
    assert records_shown(simulated) == set()
    for study in map(load, available()):
        dims = {dim for one in study.own_measures.values() for dim in one.dims}
        held = any(dim.startswith("record") for dim in dims) or "curve_pooled" in study.own_measures
        assert held == any(one.records for one in study.figures.values()), study.name


def test_results_that_are_not_there_are_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main([]) == 2 and "this folder has no last run" in capsys.readouterr().err
    assert main(["results/mine"]) == 2 and "results/mine holds no finished run" in capsys.readouterr().err


@pytest.mark.system
def test_the_results_of_a_crate_are_current_in_another_clone_and_stale_results_are_refused(
    finished, tmp_path, monkeypatch, capsys
):
    run = copy_run(finished, tmp_path / "run")
    monkeypatch.chdir(run)
    assert main(["tiny"]) == 0
    clone = copy_project(tmp_path / "clone")
    shutil.unpack_archive(run / RESULTS / "tiny.crate.zip", tmp_path / "crate")
    shutil.copytree(tmp_path / "crate" / "results", clone / "results")
    assert planned(clone, "--configfile", f"{RESULTS}/configuration.yaml") == Planned({}, ())
    edit(run / "config" / "tiny.yaml", "snr: 10.0", "snr: 11.0")
    assert main([]) == 2
    assert capsys.readouterr().err == (
        f"crate: {RESULTS} is not what its configuration, code and data make now: run ./run --configfile "
        "config/tiny.yaml first.\n"
    )
