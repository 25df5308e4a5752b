"""Jobs of several cases and methods: what a grown grid or an edit makes run again, and that their bytes stay."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from partywise.experiment.batches import blocks as blocks_of
from partywise.experiment.plans import plans
from pipeline import ROOT, Planned, add_comment, copy_project, copy_run, planned_after, results, snakemake
from shipped import shipped, shipped_plans

SIZES = [60, 70, 80, 90]
METHODS = {f"steps_{i}": {"protocol": "moments", "cipher": "sized", "max_steps": i} for i in (2, 3, 4)}
BATCH = {"cases_per_job": 2, "methods_per_job": 2, "replicates_per_job": 2, "folds_per_job": 10, "parties_per_job": 10}
GRID = {"replicates": 2, "parties": [2], "folds": 1, "epsilon": [8.0]}
WORDS = ("--configfile", "several.yaml", "--cores", "2")


def configuration() -> dict[str, Any]:
    """Three studies, one of them swept, at their smallest."""
    settings = {"p": 2, "n_basis_x": 6, "n_basis_y": 6, "active": [0]}
    swept = {"source": "simulated", "settings": settings, "sweep": {"n": list(SIZES)}, "name": "size_{n}"}
    claim = {"source": "adjusting", "grid": {"epsilon": [2.0]}}
    generated = {"source": "generated", "settings": {"n": 200, "k": 3}}
    return {
        "root_seed": 5,
        "studies": {
            "functional_boosting": {
                "methods": copy.deepcopy(METHODS),
                "grid": GRID | {"methods": list(METHODS)},
                "cases": {"size": swept},
                "batch": dict(BATCH),
                "figures": ["error_by_parties", "operators"],
            },
            "privacy_audit": {
                "methods": {"published": {"protocol": "audit", "draws": 2000}},
                "grid": GRID | {"replicates": 1, "parties": [1], "methods": ["published"]},
                "cases": {"opboost_adjusting": claim},
                "figures": ["claims"],
            },
            "label_private": {
                "methods": {"rr": {"protocol": "walr", "noise": "rr", "ridge": "fixed"}},
                "grid": GRID | {"methods": ["rr"]},
                "cases": {"generated": generated},
                "figures": [],
            },
        },
    }


def write(folder: Path, config: dict[str, Any]) -> None:
    (folder / "several.yaml").write_text(yaml.safe_dump(config, sort_keys=False))


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run of three studies; never written to."""
    folder = copy_project(tmp_path_factory.mktemp("several") / "project")
    write(folder, configuration())
    done = snakemake(folder, *WORDS)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def grown(several: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of it whose files change for one plan each."""
    return copy_run(several, tmp_path_factory.mktemp("grown") / "copy")


def blocks(found: Planned) -> list[str]:
    """Names of the blocks that would be computed."""
    names = [name.removesuffix(".npz") for name in found.outputs if name.endswith(".npz")]
    return [name.partition("/blocks/")[2] for name in names if "/blocks/" in name]


def studies(found: Planned) -> set[str]:
    """Studies of which cells would be computed."""
    return {name.split("/")[2] for name in found.outputs if "/blocks/" in name}


def done_blocks(folder: Path) -> list[str]:
    place = folder / "results" / "several" / "functional_boosting" / "blocks"
    return sorted(str(path.relative_to(place)) for path in place.rglob("*.npz"))


def swept_blocks(config: dict[str, Any]) -> dict[str, Any]:
    """The blocks of the swept study, with what they compute."""
    return {block: shares for (study, block), shares in all_blocks(config).items() if study == "functional_boosting"}


def changed_blocks(after: dict[str, Any], before: dict[str, Any]) -> list[str]:
    """Names of the blocks of the swept study that hold what they did not hold before."""
    had = swept_blocks(before)
    return sorted(name for name, block in swept_blocks(after).items() if had.get(name) != block)


@pytest.mark.runs
def test_blocks_that_changed_are_planned_and_no_others(grown):
    """Of another swept value and more replicates; which these are is `tests/experiment/test_batches.py`."""
    config = configuration()
    study = config["studies"]["functional_boosting"]
    study["cases"]["size"]["sweep"]["n"].insert(2, 75)
    study["grid"]["replicates"] = 4
    found = planned_after(grown, ["several.yaml"], lambda path: write(path.parent, config), *WORDS)
    assert sorted(blocks(found)) == changed_blocks(config, configuration())
    assert studies(found) == {"functional_boosting"}


@pytest.mark.runs
def test_one_figure_reruns_that_figure(grown):
    figures = "lib/partywise/studies/functional_boosting/figures/curves.py"
    found = planned_after(grown, [figures], add_comment, *WORDS)
    assert found.jobs == {"figure": 1} and found.figures() == {"operators"}


@pytest.mark.runs
def test_a_cell_a_job_gives_the_same_bytes(several, tmp_path):
    """Every case, method and replicate in a job of its own."""
    grown = copy_run(several, tmp_path / "copy")
    config = configuration()
    for study in config["studies"].values():
        study["batch"] = dict.fromkeys(BATCH, 1)
    write(grown, config)
    done = snakemake(grown, *WORDS, "--forceall")
    assert done.returncode == 0, done.stderr
    assert len(done_blocks(grown)) >= len(SIZES) * len(METHODS) * 2
    assert results(grown) == results(several)


def all_blocks(config: dict[str, Any]) -> dict[tuple[str, str], Any]:
    """All blocks of a configuration, with what they compute."""
    return {
        (name, block): held.plain() for name, made in plans(config).items() for block, held in blocks_of(made).items()
    }


def grown_by(config: dict[str, Any], study: str, replicates: int | None = None) -> dict[str, Any]:
    """One replicate more in every case of a study, or so many in all of them."""
    grown = copy.deepcopy(config)
    block = grown["studies"][study]
    for part in (block, *filter(None, block["cases"].values())):
        if "replicates" in part.get("grid", {}):
            part["grid"]["replicates"] = replicates or part["grid"]["replicates"] + 1
    return grown


DEFAULT = shipped()


def test_the_default_has_at_most_sixty_blocks():
    assert len(all_blocks(DEFAULT)) <= 60


@pytest.mark.parametrize("study", DEFAULT["studies"])
def test_a_replicate_more_of_the_default_computes_what_is_new_and_the_blocks_that_it_joins(study):
    """Of a configuration in which all cases grow; a block without a new replicate is what it was."""
    before, after = all_blocks(DEFAULT), all_blocks(grown_by(DEFAULT, study))
    had = {name: case.replicates for name, case in shipped_plans()[study].cases.items()}
    joined = {
        key
        for key, block in after.items()
        if key[0] == study and any(max(share["replicates"]) >= had[share["case"]] for share in block)
    }
    kept = {key: block for key, block in after.items() if key not in joined}
    assert joined and kept == {key: before.get(key) for key in kept}


def replicates_of(after: dict[tuple[str, str], Any], before: dict[tuple[str, str], Any]) -> set[tuple[int, ...]]:
    """What blocks that were not there before hold of replicates."""
    return {tuple(share["replicates"]) for key in after.keys() - before.keys() for share in after[key]}


@pytest.mark.parametrize("study", DEFAULT["studies"])
def test_a_replicate_more_computes_no_block_again_that_was_full(study):
    """Two jobs of replicates in every case, with as many in a job as the default has; then one more, and another."""
    size = shipped_plans()[study].batch.replicates_per_job
    full, more, last = (all_blocks(grown_by(DEFAULT, study, 2 * size + k)) for k in (0, 1, 2))
    assert {key: more.get(key) for key in full} == full
    assert replicates_of(more, full) == {(2 * size,)}
    assert {key: last.get(key) for key in full} == full
    # Jobs of one replicate have nothing that another one could join.
    both = (2 * size, 2 * size + 1)
    assert replicates_of(last, full) == ({both} if size > 1 else {both[:1], both[1:]})


def test_studies_are_computed_one_after_the_other_and_cubes_and_figures_at_once(tmp_path):
    """By the priorities of a dry run: every fit of a study before any of the next, whatever its size."""
    write(tmp_path, configuration())
    done = snakemake(tmp_path, "--snakefile", str(ROOT / "Snakefile"), "-n", *WORDS)
    assert done.returncode == 0, done.stderr
    jobs = re.findall(r"^rule (generate|fit|collect|figure):\n((?:    .*\n)+)", done.stdout + done.stderr, re.M)
    fits: dict[str, list[int]] = {}
    soon = []
    for rule, text in jobs:
        priority = int(re.findall(r"^    priority: (\d+)$", text, re.M)[0])
        if rule == "fit":
            fits.setdefault(re.findall(r"results/several/(\w+)/blocks", text)[0], []).append(priority)
        else:
            soon.append(priority)
    first, second, third = (fits[study] for study in configuration()["studies"])
    assert min(first) > max(second) and min(second) > max(third) and min(soon) > max(first)
    assert len(set(first)) > 1
