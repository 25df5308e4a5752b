"""Collect grows with the cells of a design, not with the product of its axes, and is told how many there are."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from math import prod

import pytest
import yaml

import toy
from growth_driver import design
from partywise.errors import ConfigError
from partywise.experiment.plan import plan
from partywise.experiment.results.columns import Places
from pipeline import ROOT, copy_project, environment, snakemake
from size import COLLECT_BYTES, FIGURE_BYTES, check_sizes, collect_megabytes, figure_megabytes

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


# The page of tables shows ten thousand totals at most: with 20,000 cells it is full.
@pytest.mark.parametrize(("kind", "sizes"), [("dense", (20_000, 60_000)), ("sparse", (2_000, 12_000))])
def test_collect_takes_at_most_the_memory_that_it_asks_for(kind, sizes):
    """Between two sizes, so that what the libraries take on their own does not count: a kilobyte a further cell."""
    (few, low), (many, high) = (memory(kind, size) for size in sizes)
    small, large = (design(kind, size) for size in sizes)
    assert (large.n_cells, small.n_cells) == (many, few)
    product = (large.n_dense - small.n_dense) / len(large.cases) if kind == "sparse" else 0
    assert high - low <= COLLECT_BYTES * (many - few) + FIGURE_BYTES * product


@pytest.mark.parametrize("path", CONFIGURATIONS, ids=lambda path: path.stem)
def test_cells_and_places_are_counted_before_anything_is_made(path):
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
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
        long={**few, "replicates": 10**5, "parties": (1,), "epsilon": (1.0,)},
        wide={**few, "replicates": 1, "parties": tuple(range(1, 1001)), "epsilon": (1.0,)},
    )
    assert plan.n_cells == 101_000 and plan.n_dense == 2 * 10**8
    assert figure_megabytes(plan) > 16_000
    with pytest.raises(ConfigError, match=r"101,000 cells in a cube of 200,000,000 places: to .* takes"):
        check_sizes({"toy": plan}, 8_000)


def test_a_huge_grid_starts_nothing(tmp_path):
    folder = copy_project(tmp_path / "project")
    config = yaml.safe_load((folder / "config" / "tiny.yaml").read_text())
    grid = config["studies"]["functional_boosting"]["cases"]["simulated"]["grid"]
    grid |= {"replicates": 10_000, "folds": 50, "epsilon": [float(e) for e in range(1, 301)]}
    (folder / "huge.yaml").write_text(yaml.safe_dump(config))
    done = snakemake(folder, "-n", "--configfile", "huge.yaml")
    assert done.returncode != 0 and "Traceback" not in done.stderr
    assert "Configuration error: studies.functional_boosting asks for" in done.stderr
    assert not (folder / "results").exists()


def test_the_number_of_cells_does_not_depend_on_batches():
    made = toy.toy_plan()
    assert made.n_cells == replace(made, batch=replace(made.batch, replicates_per_job=1)).n_cells == 35
