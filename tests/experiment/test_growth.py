"""Collect grows with the cells of a design, not with the product of its axes, and is told how many there are."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from dataclasses import replace
from functools import reduce
from math import prod
from operator import add

import numpy as np
import pytest
import yaml

import toy
from growth_driver import design, write_blocks
from partywise.core.errors import ConfigError
from partywise.experiment.blocks import read_entries
from partywise.experiment.configuration.grammar import Batch
from partywise.experiment.plan import plan
from partywise.experiment.plans import read_configuration
from partywise.experiment.results.columns import CubeColumns, Places
from partywise.experiment.tables import summary
from partywise.experiment.tables.summary import averages, summary_rows
from pipeline import ROOT, copy_project, environment, snakemake
from size import COLLECT_BYTES, COLLECT_FIXED_BYTES, check_jobs, check_sizes, collect_megabytes, figure_megabytes

DRIVER = ROOT / "tests" / "support" / "growth_driver.py"
CONFIGURATIONS = sorted((ROOT / "config").glob("*.yaml"))


def memory(kind: str, cells: int) -> tuple[int, float]:
    """Number of cells, and bytes that collect takes for them at its peak."""
    done = subprocess.run(
        [sys.executable, str(DRIVER), kind, str(cells)], capture_output=True, text=True, env=environment(), check=True
    )
    found = re.search(r": (\d+) cells of \d+, ([\d.]+) MiB", done.stdout)
    assert found, done.stdout
    return int(found[1]), float(found[2]) * 2**20


@pytest.mark.runs
def test_a_further_cell_takes_at_most_a_kilobyte():
    """Between two sizes, so that the fixed part does not count: with 20,000 cells the page of tables is full."""
    (few, low), (many, high) = (memory("dense", size) for size in (20_000, 60_000))
    assert (few, many) == (20_000, 60_000)
    assert high - low <= COLLECT_BYTES * (many - few)


@pytest.mark.runs
def test_a_sparse_study_takes_what_its_cells_take_and_not_what_the_product_of_its_axes_takes():
    made = design("sparse", 40_000)
    assert made.n_dense > 1000 * made.n_cells
    cells, taken = memory("sparse", 40_000)
    assert cells == made.n_cells
    assert taken <= COLLECT_BYTES * cells + COLLECT_FIXED_BYTES
    assert COLLECT_BYTES * cells + COLLECT_FIXED_BYTES <= collect_megabytes(made) * 10**6


def test_a_sum_depends_on_the_order_of_its_terms_and_on_nothing_beside_them():
    """Alone or beside other parties and epsilons, few or many: the same bits, those of one addition after another."""
    values = np.exp(np.random.default_rng(5).normal(0.0, 3.0, (40, 3, 12, 4)))
    values[3, :, 5], values[7] = np.nan, np.nan
    whole = averages(values)
    for k, e in np.ndindex(3, 4):
        alone = averages(values[:, k : k + 1, :, e : e + 1].copy())
        assert all(one[k, e] == other[0, 0] for one, other in zip(whole, alone, strict=True))
    each = [[x for x in folds if not math.isnan(x)] for folds in values[:, 1, :, 2].tolist()]
    means = [reduce(add, folds) / len(folds) for folds in each if folds]
    assert whole[2][1, 2] == len(means) == 39
    assert whole[0][1, 2] == reduce(add, means) / len(means)


def test_summaries_do_not_depend_on_how_many_slots_are_averaged_at_a_time(tmp_path, monkeypatch):
    made = design("sparse", 500)
    columns = CubeColumns(made)
    for path in write_blocks(made, tmp_path):
        for entry in read_entries(path):
            columns.add(entry.read())
    columns.check()
    rng = np.random.default_rng(6)
    columns.number("loss")[:] = rng.normal(size=len(columns.status))
    columns.described["loss"] = ("a loss", "1")
    whole = list(summary_rows(made, columns))
    assert {row["case"] for row in whole} == set(made.cases)
    for most in (1, 2, 3):
        monkeypatch.setattr(summary, "MOST_SLOTS", most)
        assert list(summary_rows(made, columns)) == whole
    slot = next(row for row in whole if (row["case"], row["variable"]) == ("wide", "loss"))
    at = columns.places.of(("wide", "noisy", range(2), slot["parties"], range(2), slot["epsilon"]))
    found = columns.number("loss")[np.searchsorted(columns.places.cells, at)]
    assert float(slot["mean"]) == pytest.approx(found.mean(), rel=1e-12) and slot["replicates"] == 2


@pytest.mark.parametrize("path", CONFIGURATIONS, ids=lambda path: path.stem)
def test_cells_and_places_are_counted_before_anything_is_made(path):
    config = read_configuration(path)
    for name, block in config["studies"].items():
        made = plan(name, block, config["root_seed"])
        places = Places(made)
        assert made.n_cells == len(places.cells) and made.n_dense == prod(places.shape)


def test_a_study_beyond_the_memory_of_the_machine_is_refused_in_one_sentence():
    large = design("dense", 10**6)
    needed = collect_megabytes(large)
    assert needed > large.n_cells * COLLECT_BYTES / 10**6
    check_sizes({"toy": large}, needed)
    with pytest.raises(ConfigError) as told:
        check_sizes({"toy": large}, needed - 1)
    assert str(told.value) == (
        f"studies.toy asks for 1,000,000 cells in a cube of 1,000,000 places: to gather them takes "
        f"{needed / 1000:,.1f} GB, and this machine has {(needed - 1) / 1000:,.1f} GB; take fewer replicates, parties, "
        "folds or epsilons, or split the cases into several runs."
    )


def test_a_sparse_study_whose_product_is_too_large_to_read_is_refused():
    few = {"methods": ("noisy",), "folds": 1}
    plan = toy.toy_plan(
        long={**few, "replicates": 10**4, "parties": (1,), "epsilon": (1.0,)},
        wide={**few, "replicates": 1, "parties": tuple(range(1, 10_001)), "epsilon": (1.0,)},
    )
    assert plan.n_cells == 20_000 and plan.n_dense == 2 * 10**8
    assert figure_megabytes(plan) > 16_000
    with pytest.raises(ConfigError, match=r"20,000 cells in a cube of 200,000,000 places: to .* takes"):
        check_sizes({"toy": plan}, 8_000)


def test_more_jobs_than_can_be_planned_are_refused_and_many_are_told():
    """By the numbers that a plan of 100,000 jobs was measured at: 1.5 ms and 26 kB each, and 2.7 ms per case."""
    one = {"methods": ("noisy",), "folds": 1, "epsilon": (1.0,), "parties": (1,)}
    few, many, most = (
        toy.toy_plan(dense={**one, "parties": tuple(range(1, parties + 1)), "replicates": 10_000})
        for parties in (1, 15, 101)
    )
    few, many, most = (replace(made, batch=Batch(replicates_per_job=1)) for made in (few, many, most))
    assert check_jobs({"toy": replace(few, batch=Batch(replicates_per_job=2))}, 16_000) == ""
    remedy = "let each compute more, by replicates_per_job, folds_per_job or the others under studies.toy.batch."
    told = "fit jobs are about {} CPU minutes and {} GB to plan alone"
    assert check_jobs({"toy": few}, 260) == f"10,000 {told.format(0.3, 0.3)}: to plan faster, {remedy}"
    for plans, memory, start in (
        ({"toy": most}, 16_000, f"1,010,000 {told.format(25.3, 26.3)}"),
        ({"few": few, "toy": many}, 16_000, f"160,000 {told.format('4.0', 4.2)}"),
        ({"toy": few}, 259, f"10,000 {told.format(0.3, 0.3)}"),
    ):
        with pytest.raises(ConfigError) as refused:
            check_jobs(plans, memory)
        assert str(refused.value) == f"{start}, and a run has at most 100,000 that fit into memory: {remedy}"


def test_cases_cost_planning_beside_their_jobs():
    """5,000 cases took 21 CPU seconds, of which their jobs alone are 7.5."""
    one = {"methods": ("noisy",), "folds": 1, "epsilon": (1.0,), "parties": (1,)}
    plan = toy.toy_plan(**{f"case_{number}": {**one, "replicates": 20} for number in range(500)})
    told = check_jobs({"toy": replace(plan, batch=Batch(replicates_per_job=1))}, 16_000)
    assert told.startswith(f"10,000 fit jobs are about {(10_000 * 0.0015 + 500 * 0.0027) / 60:.1f} CPU minutes")
    assert "about 0.3 CPU" in told


@pytest.mark.parametrize(
    ("axes", "batch", "sentence"),
    [
        ({"folds": 50, "epsilon": [float(e) for e in range(1, 301)]}, 2, "studies.functional_boosting asks for"),
        ({"folds": 1, "parties": [2, 3, 4]}, 1, "150,000 fit jobs are about 3.8 CPU minutes and 3.9 GB to plan alone"),
    ],
    ids=["cells", "jobs"],
)
def test_a_huge_grid_starts_nothing(tmp_path, axes, batch, sentence):
    folder = copy_project(tmp_path / "project")
    config = read_configuration(folder / "config" / "tiny.yaml")
    study = config["studies"]["functional_boosting"]
    study["cases"]["simulated"]["grid"] |= {"replicates": 10_000} | axes
    study["batch"]["replicates_per_job"] = batch
    (folder / "huge.yaml").write_text(yaml.safe_dump(config))
    done = snakemake(folder, "-n", "--configfile", "huge.yaml")
    assert done.returncode != 0 and "Traceback" not in done.stderr
    assert f"Configuration error: {sentence}" in done.stderr
    assert not (folder / "results").exists()


def test_the_number_of_cells_does_not_depend_on_batches():
    made = toy.toy_plan()
    assert made.n_cells == replace(made, batch=replace(made.batch, replicates_per_job=1)).n_cells == 35
