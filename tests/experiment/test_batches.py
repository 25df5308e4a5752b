"""How cells are dealt to jobs: every cell once, and a grid that grows leaves finished blocks alone."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import every_protocol
import toy
from gathered import data_of
from partywise.experiment.batches import JobBlock, blocks, most_blocks, runs
from partywise.experiment.blocks import read_entries, write_block
from partywise.experiment.cells import compute
from partywise.experiment.jobs import Timings, gather
from partywise.experiment.plan import Plan, plan
from partywise.experiment.study import available

NAMES = [f"size_{i}" for i in range(40)]
GRID = {"methods": ("noisy", "clear"), "replicates": 3, "parties": (1, 2), "folds": 2, "epsilon": (1.0, 4.0)}


def study(batch: dict[str, int], names: list[str], methods: list[str], **grid: Any) -> Plan:
    """A plan of the boosting study, of which nothing is computed."""
    whole = {"methods": methods, "replicates": 12, "parties": [2, 4, 6], "folds": 3, "epsilon": [1.0]} | grid
    block = {
        "methods": {label: {"protocol": "moments", "max_steps": 1 + i} for i, label in enumerate(methods)},
        "cases": {name: {"source": "simulated", "grid": whole} for name in names},
        "batch": batch,
    }
    return plan("functional_boosting", block, 1)


def cells(block: JobBlock) -> list[tuple[Any, ...]]:
    """Coordinates of all cells of a block."""
    return [
        (share.case, *rest)
        for share in block.shares
        for rest in product(share.methods, share.parties, share.replicates, share.folds)
    ]


@pytest.mark.parametrize("sizes", [(1, 1, 1, 1, 1), (10, 10, 10, 10, 10), (3, 2, 5, 2, 2), (1000, 1000, 1, 1, 1)])
def test_every_cell_is_in_one_block(sizes):
    keys = ("cases_per_job", "methods_per_job", "replicates_per_job", "folds_per_job", "parties_per_job")
    made = study(dict(zip(keys, sizes, strict=True)), NAMES, ["a", "b", "c", "d"])
    assert most_blocks(made) == len(blocks(made))
    ragged = dict(made.cases)
    few = {"methods": ["c"], "replicates": 2, "parties": [3], "folds": 1, "epsilon": [1.0]}
    ragged["size_7"] = plan(
        "functional_boosting",
        {"methods": {"c": {"protocol": "moments"}}, "cases": {"size_7": {"source": "simulated", "grid": few}}},
        1,
    ).cases["size_7"]
    made = Plan(**{**vars(made), "cases": ragged})
    found = [cell for block in blocks(made).values() for cell in cells(block)]
    wanted = {
        (name, *rest)
        for name, case in ragged.items()
        for rest in product(case.methods, case.parties, range(case.replicates), range(case.folds))
    }
    assert len(found) == len(set(found)) and set(found) == wanted
    assert all(name == block.name for name, block in blocks(made).items())
    assert most_blocks(made) >= len(blocks(made))


@pytest.mark.parametrize("key", ["replicates_per_job", "folds_per_job", "parties_per_job"])
def test_a_job_holds_as_many_of_each_axis_as_the_key_says(key):
    """12 replicates, 3 folds and 3 numbers of parties, each key at 2 beside keys that cut nothing."""
    batch = {name: 1000 for name in ("cases_per_job", "methods_per_job", "replicates_per_job", "parties_per_job")}
    made = blocks(study({**batch, "folds_per_job": 100, key: 2}, NAMES[:3], ["a"])).values()
    axis, whole = key.removesuffix("_per_job"), {"replicates": 12, "folds": 3, "parties": 3}
    for name, count in whole.items():
        sizes = {len(getattr(share, name)) for block in made for share in block.shares}
        assert sizes == ({count} if name != axis else {2} | ({1} if count % 2 else set())), name


def test_cases_that_need_different_files_share_no_job():
    grid = {"methods": ["m"], "replicates": 1, "parties": [3], "folds": 1, "epsilon": [1.0]}
    sources = {"one": "simulated", "two": "dataset", "three": "simulated"}
    block = {
        "methods": {"m": {"protocol": "moments"}},
        "cases": {
            name: {"source": source, "grid": grid} | ({"settings": {"dataset": "beijing"}} if name == "two" else {})
            for name, source in sources.items()
        },
        "batch": {"cases_per_job": 1000},
    }
    found = {frozenset(block.methods) for block in blocks(plan("functional_boosting", block, 1)).values()}
    assert found == {frozenset({"one", "three"}), frozenset({"two"})}


def changed(before: dict[str, JobBlock], after: dict[str, JobBlock]) -> tuple[set[str], int]:
    """Blocks that are new or hold other cells, and how many cells of those before they hold."""
    old = {name: block.plain() for name, block in before.items()}
    new = {name: block for name, block in after.items() if old.get(name) != block.plain()}
    known = {cell for block in before.values() for cell in cells(block)}
    return set(new), sum(cell in known for block in new.values() for cell in cells(block))


# The first, the last and every sixth place here, all in `./run test --long`.
@pytest.mark.parametrize(
    "at",
    [pytest.param(n, marks=pytest.mark.statistical if n % 6 and n + 1 < len(NAMES) else ()) for n in range(len(NAMES))],
)
def test_a_new_case_changes_the_block_that_it_joins_and_no_other(at):
    batch = {"cases_per_job": 4, "replicates_per_job": 100, "folds_per_job": 100, "parties_per_job": 100}
    before = blocks(study(batch, NAMES, ["a"]))
    sizes, old = [len(block.shares) for block in before.values()], {frozenset(one.methods) for one in before.values()}
    for new in ("new", "other", "third"):
        after = blocks(study(batch, [*NAMES[:at], new, *NAMES[at:]], ["a"]))
        _, again = changed(before, after)
        assert again <= max(sizes) * 12 * 3 * 3
        # One block at most: the cases that are computed again stood side by side in one job.
        touched = {case for block in after.values() if frozenset(block.methods) not in old for case in block.methods}
        assert any(touched - {new} <= block for block in old)


@pytest.mark.parametrize("at", range(9))
def test_a_new_method_changes_the_block_that_it_joins_and_no_other(at):
    methods, batch = [f"m{i}" for i in range(8)], {"cases_per_job": 1000, "methods_per_job": 3}
    before = blocks(study(batch, NAMES[:3], methods))
    after = blocks(study(batch, NAMES[:3], [*methods[:at], "new", *methods[at:]]))
    old = {frozenset(label for labels in block.methods.values() for label in labels) for block in before.values()}
    new = {frozenset(label for labels in block.methods.values() for label in labels) for block in after.values()}
    assert len(old) > 2
    touched = frozenset().union(*(new - old)) - {"new"}
    assert any(touched <= block for block in old)


def test_more_replicates_are_more_blocks():
    batch = {"cases_per_job": 1000, "methods_per_job": 1000, "replicates_per_job": 6}
    before, after = (study(batch, NAMES[:5], ["a", "b"], replicates=n) for n in (12, 18))
    _, again = changed(blocks(before), blocks(after))
    assert again == 0
    assert [made.part(block.methods) for made in (before, after) for block in list(blocks(made).values())[:1]] == [
        before.part(next(iter(blocks(before).values())).methods)
    ] * 2


def test_runs_are_about_as_long_as_asked():
    names = [f"n{i}" for i in range(2000)]
    assert [name for run in runs(names, 7) for name in run] == names
    assert 2000 / len(runs(names, 7)) == pytest.approx(7, rel=0.2)
    assert runs(names[:3], 1) == [["n0"], ["n1"], ["n2"]]


def test_no_result_depends_on_the_cases_and_methods_of_a_job(tmp_path):
    """Three cases and two methods in one job, in other orders, and each cell in a job of its own: the same bytes."""
    made = toy.toy_plan(toy.varied(), **{name: GRID for name in ("one", "two", "three")})
    shares = [
        {"case": case, "methods": ["noisy", "clear"], "parties": [1, 2], "replicates": [0, 1, 2], "folds": [0, 1]}
        for case in ("one", "two", "three")
    ]
    alone = [
        {"case": share["case"], "methods": [m], "parties": [k], "replicates": [r], "folds": [f]}
        for share in shares
        for m, k, r, f in product(share["methods"], share["parties"], share["replicates"], share["folds"])
    ]
    kept = {}
    for name, jobs in {"together": [shares], "turned": [shares[::-1]], "alone": [[share] for share in alone]}.items():
        found = [c for job in jobs for share in job for c in compute(made, share, data_of(made, tmp_path), Timings())]
        kept[name] = {
            tuple(c.coords.values()): (repr(c.scalars), c.ledger, c.wire, sorted(c.example_fits)) for c in found
        }
    assert kept["together"] == kept["turned"] == kept["alone"]
    assert len(kept["alone"]) == 3 * (2 + 1) * 2 * 3 * 2


def test_a_file_of_several_cases_and_methods_gives_each_part_back(tmp_path):
    made = toy.toy_plan(toy.varied(), one=GRID, two=GRID)
    shares = [
        {"case": case, "methods": ["noisy", "clear"], "parties": [1, 2], "replicates": [0, 1], "folds": [0, 1]}
        for case in ("one", "two")
    ]
    timings = Timings()
    found = [cell for share in shares for cell in compute(made, share, data_of(made, tmp_path), timings)]
    write_block(tmp_path / "all.npz", found)
    entries = read_entries(tmp_path / "all.npz")
    assert sorted((e.case, e.method, e.parties) for e in entries) == sorted(
        product(("one", "two"), ("noisy", "clear"), (1, 2))
    )
    at = {tuple(cell.coords.values()): cell for cell in found}
    for entry in entries:
        part = entry.read()
        for (r, replicate), (f, fold), (e, epsilon) in product(
            enumerate(part.replicates), enumerate(part.folds), enumerate(part.epsilon)
        ):
            cell = at[part.case, part.method, replicate, part.parties, fold, epsilon]
            for name, values in part.numbers.items():
                value = cell.scalars.get(name)
                assert values[r, f, e] == value or (value is None and np.isnan(values[r, f, e])), name


def test_what_methods_cost_is_added_over_jobs(tmp_path):
    made = toy.toy_plan(toy.varied(), one=GRID)
    for job in (0, 1):
        timings = Timings()
        share = {"case": "one", "methods": ["noisy", "clear"], "parties": [1, 2], "replicates": [job], "folds": [0, 1]}
        compute(made, share, data_of(made, tmp_path), timings)
        timings.write(tmp_path / f"{job}.csv")
    whole = gather([tmp_path / "0.csv", tmp_path / "1.csv"]).costs
    parts = [gather([tmp_path / f"{job}.csv"]).costs for job in (0, 1)]
    # noisy has two targets and clear none; two replicates, two numbers of parties, two folds.
    assert {key: cost.cells for key, cost in whole.items()} == {("one", "noisy"): 16, ("one", "clear"): 8}
    for key, cost in whole.items():
        assert cost.cpu_seconds == pytest.approx(sum(part[key].cpu_seconds for part in parts))
        assert cost.peak_megabytes == max(part[key].peak_megabytes for part in parts) > 10


@pytest.mark.filterwarnings("ignore:.* is at a total delta:UserWarning")
@pytest.mark.parametrize("turned", [False, pytest.param(True, marks=pytest.mark.statistical)])
@pytest.mark.parametrize("name", available())
def test_methods_of_a_job_share_what_they_draw_and_no_result(name, turned, tmp_path):
    """All protocols of every study, on the same replicate: together in one job, in order or turned, and alone."""
    made = plan(name, every_protocol.block(name), every_protocol.ROOT_SEED)
    for case in made.cases.values():
        share = {"case": case.name, "parties": list(case.parties), "replicates": [0], "folds": [0]}
        kept = []
        together = case.methods[::-1] if turned else case.methods
        for jobs in ([together], [(label,) for label in case.methods]):
            parts = [{**share, "methods": methods} for methods in jobs]
            found = [c for part in parts for c in compute(made, part, data_of(made, tmp_path), Timings())]
            kept.append({tuple(c.coords.values()): (repr(c.scalars), c.ledger, c.wire) for c in found})
        assert kept[0] == kept[1]
