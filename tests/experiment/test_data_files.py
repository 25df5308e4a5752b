"""The file of a generate job: what comes back is what was drawn, to the last bit and in the same order of memory."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import every_protocol
import own_columns
import own_rows
import toy
from partywise.core.errors import CubeError
from partywise.experiment.batches import DATA_SHARE, blocks, data_blocks
from partywise.experiment.data import draw, generate, in_order, read_data, write_data
from partywise.experiment.plan import plan
from partywise.experiment.study import Lazy, available, load


def same(one: Any, other: Any, where: str) -> None:
    """Equal values of equal types, arrays with equal bytes and equal order of axes."""
    if is_dataclass(one):
        assert type(one) is type(other), where
        for entry in fields(one):
            same(getattr(one, entry.name), getattr(other, entry.name), f"{where}.{entry.name}")
    elif isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape), where
        # Axes of length 1 have no order.
        long = [axis for axis, length in enumerate(one.shape) if length > 1]
        if in_order(one)[0].base is one or in_order(one)[0] is one:
            assert [one.strides[axis] for axis in long] == [other.strides[axis] for axis in long], where
        assert one.tobytes() == other.tobytes(), where
    elif isinstance(one, tuple):
        assert type(other) is tuple and len(one) == len(other), where
        for number, (left, right) in enumerate(zip(one, other, strict=True)):
            same(left, right, f"{where}[{number}]")
    else:
        assert type(one) is type(other) and repr(one) == repr(other), where


@pytest.mark.parametrize("name", available())
def test_data_of_every_study_come_back_as_they_were_drawn(name, tmp_path):
    made = plan(name, every_protocol.block(name), every_protocol.ROOT_SEED)
    resources = every_protocol.ROOT / "resources"
    write_data(tmp_path / "data.npz", made, {case: [0, 1] for case in made.cases}, resources)
    for case in made.cases:
        for replicate, data in generate(made, case, [1, 0], resources).items():
            same(data, read_data(tmp_path / "data.npz", made, case, replicate), f"{case}, {replicate}")


def test_the_same_replicates_are_the_same_bytes_however_they_are_batched(tmp_path):
    made = toy.toy_plan(toy.varied(), one=toy_grid(), two=toy_grid())
    for name in ("once", "again"):
        write_data(tmp_path / name, made, {"one": [0, 1], "two": [0]}, tmp_path)
    assert (tmp_path / "once").read_bytes() == (tmp_path / "again").read_bytes()
    write_data(tmp_path / "alone", made, {"one": [1]}, tmp_path)
    same(read_data(tmp_path / "once", made, "one", 1), read_data(tmp_path / "alone", made, "one", 1), "one")


def toy_grid() -> dict[str, Any]:
    return {"methods": ("noisy",), "replicates": 2, "parties": (1,), "folds": 2, "epsilon": (1.0,)}


def test_what_replicates_share_is_in_the_file_once(tmp_path):
    """A table of which replicates differ in their split alone."""
    made = plan("vertical_trees", every_protocol.block("vertical_trees"), 1)
    case = next(iter(made.cases.values()))
    rows = 4000
    data = replace(draw(made, case.name, 0, tmp_path), X=np.ones((rows, 50)), ids=None)
    source = replace(case.source, generate=lambda settings, spec, rng_for, folder: data)
    made = replace(made, cases={case.name: replace(case, source=source)})
    write_data(tmp_path / "one", made, {case.name: [0]}, tmp_path)
    write_data(tmp_path / "ten", made, {case.name: range(10)}, tmp_path)
    assert (tmp_path / "ten").stat().st_size < 1.1 * (tmp_path / "one").stat().st_size


@dataclass(frozen=True)
class Odd:
    """Data with a field that no file can keep."""

    x: list[int]


def test_a_field_that_cannot_be_kept_is_named_with_its_case(tmp_path):
    made = toy.toy_plan()
    case = made.cases["one"]
    odd = replace(case, source=replace(case.source, generate=lambda *_: Odd([1])))
    with pytest.raises(RuntimeError, match=r"data \(study toy, case one, replicate 0\) failed: .*data hold a list"):
        write_data(tmp_path / "data.npz", replace(made, cases={"one": odd}), {"one": [0]}, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut"])
def test_a_broken_file_and_one_without_the_replicate_say_what_to_do(tmp_path, content):
    made = toy.toy_plan()
    (tmp_path / "data.npz").write_bytes(content)
    with pytest.raises(CubeError, match="delete it and run again"):
        read_data(tmp_path / "data.npz", made, "one", 0)
    write_data(tmp_path / "other.npz", made, {"one": [0]}, tmp_path)
    with pytest.raises(CubeError, match="delete it and run again"):
        read_data(tmp_path / "other.npz", made, "one", 1)


def test_every_source_of_own_data_leaves_the_records_in_their_files():
    for name in available():
        for source in load(name).sources.values():
            assert (source.owner_outputs is None) or isinstance(source.complete, Lazy), name


@pytest.mark.parametrize("study", own_columns.STUDIES)
def test_no_file_holds_a_record_of_own_columns(study, tmp_path, monkeypatch):
    """Neither a measured value nor an id: arrays of a file are of whole numbers, and every one a place or a mark."""
    monkeypatch.chdir(tmp_path)
    own = own_columns.Columns(tmp_path, study)
    own.write()
    check_division(own.plan(), "own", tmp_path)


@pytest.mark.parametrize("study", ["label_private", "sliced_inverse_regression"])
def test_no_file_holds_a_record_of_own_rows(study, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own = own_rows.OwnRows(study, tmp_path)
    own.write()
    check_division(own.plan(), "own", tmp_path)


def check_division(made: Any, case: str, folder: Path) -> None:
    """The file keeps the split and nothing from the files; the data come back whole."""
    write_data(folder / "data.npz", made, {case: [0]}, folder)
    with np.load(folder / "data.npz") as stored:
        kinds = {stored[name].dtype.kind for name in stored.files}
    assert kinds <= set("biu"), kinds
    same(generate(made, case, [0], folder)[0], read_data(folder / "data.npz", made, case, 0), case)


@pytest.mark.parametrize("replicates", [1, 7, 40])
def test_every_fit_reads_the_one_file_that_has_its_replicates(replicates):
    cases = {f"size_{i}": {"source": "simulated"} for i in range(30)}
    cases |= {"real": {"source": "dataset", "settings": {"dataset": "beijing"}}}
    grid = {"methods": ["m"], "replicates": replicates, "parties": [3], "folds": 1, "epsilon": [1.0]}
    block = {
        "methods": {"m": {"protocol": "moments", "cipher": "sized"}},
        "cases": {name: case | {"grid": grid} for name, case in cases.items()},
        "batch": {"cases_per_job": 2, "replicates_per_job": 3},
    }
    made = plan("functional_boosting", block, 1)
    drawn, fits = data_blocks(made), blocks(made).values()
    assert {one.data for one in fits} == set(drawn)
    for one in fits:
        for share in one.shares:
            assert set(share.replicates) <= set(drawn[one.data][share.case])
    pairs = [(case, number) for part in drawn.values() for case, numbers in part.items() for number in numbers]
    assert len(pairs) == len(set(pairs)) == len(cases) * replicates
    assert all(len(numbers) <= 3 * DATA_SHARE for part in drawn.values() for numbers in part.values())
    assert len(drawn) < len(fits) or replicates == 1
