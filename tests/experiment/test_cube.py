"""From cells to blocks to a cube without holes: the file, its ledger, and what damages either."""

from __future__ import annotations

import inspect
import json
import os
import re
import signal
from dataclasses import replace
from math import inf
from pathlib import Path

import netCDF4
import numpy as np
import pytest
import xarray as xr

import toy
from gathered import OUTPUTS, gather, make_blocks, read_part, table
from partywise.__main__ import main
from partywise.core.errors import CertificationError, CubeError
from partywise.experiment.blocks import kind_of, write_block
from partywise.experiment.cells import run
from partywise.experiment.data import generate
from partywise.experiment.plan import Plan
from partywise.experiment.results.attributes import check_attributes, meanings
from partywise.experiment.results.columns import Places, axes
from partywise.experiment.results.compare import compare_cubes
from partywise.experiment.results.cube import DIMS, open_cube, write_cube
from partywise.privacy.accounting.calibration import gaussian_epsilon
from partywise.privacy.ledger.ledger import Ledger
from printed_rows import printed_rows
from small_cube import assemble, read_block


@pytest.fixture(scope="module")
def plan() -> Plan:
    return toy.toy_plan()


@pytest.fixture(scope="module")
def blocks(plan, tmp_path_factory) -> list[Path]:
    return make_blocks(plan, tmp_path_factory.mktemp("blocks"))


@pytest.fixture(scope="module")
def gathered(plan, blocks, tmp_path_factory) -> Path:
    return gather(plan, blocks, tmp_path_factory.mktemp("gathered"))


def test_axes_are_the_union_over_cases(plan):
    labels = {name: list(values) for name, values in axes(plan).items()}
    assert tuple(labels) == DIMS
    assert labels["case"] == ["one", "two"]
    assert labels["method_label"] == ["clear", "noisy"]
    assert labels["replicate"] == [0, 1, 2]
    assert labels["parties"] == [1, 2] and labels["fold"] == [0, 1]
    assert labels["epsilon"] == [1.0, 4.0, inf]
    # one: 2 replicates x 2 party counts x 2 folds x (1 slot clear + 3 slots noisy); two: 3 replicates x 1 x 1 x 1.
    assert len(Places(plan).cells) == 2 * 2 * 2 * 4 + 3


def test_every_cell_is_in_its_place(plan, blocks, gathered):
    cube = open_cube(gathered / "cube.nc")
    for path in blocks:
        part = read_part(path)
        for r, replicate in enumerate(part.replicates):
            for f, fold in enumerate(part.folds):
                for e, epsilon in enumerate(part.epsilon):
                    at = dict(zip(DIMS, (part.case, part.method, replicate, part.parties, fold, epsilon), strict=True))
                    assert cube["error"].sel(at).item() == part.numbers["error"][r, f, e]
    assert np.array_equal(np.flatnonzero(cube["status"].values == 1), Places(plan).cells)
    assert np.array_equal(np.flatnonzero(cube["status"].values), Places(plan).cells)
    assert cube["error"].where(cube["status"] == 0).isnull().all()


def test_every_value_of_every_block_is_in_the_cube_to_the_last_bit(plan, blocks, gathered):
    """Each value by itself against the labels of the file, independent of how the cube is put together."""
    cube = open_cube(gathered / "cube.nc")
    seen = 0
    for part in map(read_part, blocks):
        for name, values in part.numbers.items():
            flags = cube[name].attrs.get("flag_meanings", "false true") != "false true"
            stored = meanings(cube[name]) if flags else cube[name]
            stored = stored.sel(case=part.case, method_label=part.method, parties=part.parties)
            for place, value in np.ndenumerate(values):
                labels = (part.replicates[place[0]], part.folds[place[1]], part.epsilon[place[2]])
                found = stored.sel(dict(zip(("replicate", "fold", "epsilon"), labels, strict=True))).item()
                seen += 1
                if values.dtype.kind == "U":
                    assert found == re.sub(r"[^A-Za-z0-9_.@+-]+", "_", value) or found == value, (name, place)
                else:
                    assert np.float64(found) == value or (np.isnan(found) and np.isnan(value)), (name, place)
    asked = Places(plan).cells
    assert seen > 20 * len(asked)
    for name in part.numbers:
        outside = np.delete(cube[name].values.ravel(), asked)
        blank = {"f": np.isnan, "O": lambda v: v == "", "i": lambda v: v == 0}[outside.dtype.kind]
        assert len(outside) and np.all(blank(outside)), name


def test_chunks_that_hold_no_cell_are_never_written_and_read_as_undefined(tmp_path, monkeypatch):
    """Parts of a few values each: the cube is the same as in one part."""
    made = toy.toy_plan()
    paths = make_blocks(made, tmp_path)
    whole = open_cube(gather(made, paths, tmp_path / "whole") / "cube.nc")
    for size in (1, 100, 1000):
        monkeypatch.setattr("partywise.experiment.results.cube.CHUNK_BYTES", size)
        parts = gather(made, paths, tmp_path / f"parts{size}")
        assert open_cube(parts / "cube.nc").identical(whole)
        for name in set(OUTPUTS.values()) - {"cube.nc"}:
            assert (parts / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    with netCDF4.Dataset(tmp_path / "parts1" / "cube.nc") as raw:
        assert raw["error"].chunking() == [1, 1, 1, 1, 1, 1]


def test_kinds_of_variables_survive(gathered):
    cube = open_cube(gathered / "cube.nc")
    with netCDF4.Dataset(gathered / "cube.nc") as raw:
        assert raw["near"].dtype == np.int8 and raw["near"].flag_meanings == "false true"
        assert raw["large"].dtype == np.int64 and raw["status"].dtype == np.int8
        assert raw["error"].dtype == np.float64
        assert raw["error"].filters()["zlib"] and raw["error"].filters()["complevel"] == 4
        assert raw["error"].filters()["shuffle"] and raw["error"].chunking() == list(raw["error"].shape)
    assert cube["large"].max() == 2**40
    assert cube["nothing"].isnull().all()
    assert set(np.unique(meanings(cube["trust_model"]))) == {"not_in_design", "none", "local"}
    assert set(np.unique(meanings(cube["status"]))) == {"not_in_design", "ok"}
    digest = cube["ledger_sha256"].sel(dict(zip(DIMS, ("one", "noisy", 0, 1, 0, 1.0), strict=True))).item()
    assert len(digest) == 64
    assert cube["shown"].dims == ("example_fit", "record")
    shown = list(zip(*(cube[f"example_{dim}"].values for dim in ("case", "method", "parties", "epsilon")), strict=True))
    assert len(shown) == 2 + 6 + 1
    assert shown[0] == ("one", "clear", 1, inf) and shown[-1] == ("two", "noisy", 2, 4.0)
    assert cube["epsilon"].dtype == np.float64 and np.isinf(cube["epsilon"].values[-1])


@pytest.mark.parametrize("size", [1, 2])
def test_batches_and_the_order_of_blocks_leave_no_trace(plan, gathered, tmp_path, size):
    blocks = make_blocks(plan, tmp_path, size)
    again = gather(plan, blocks[::-1], tmp_path / "again")
    for name in OUTPUTS.values():
        assert (again / name).read_bytes() == (gathered / name).read_bytes(), name


def test_a_missing_cell_is_named(plan, blocks):
    kept = [read_part(path) for path in blocks if "noisy_2_" not in path.name or "two" in path.name]
    where = "case one, method noisy, replicate 0, parties 2, fold 0, epsilon 1.0"
    with pytest.raises(CubeError, match=rf"cell \({where}\) is missing from the blocks: run again \(12 such cells"):
        assemble(plan, kept)


def test_a_duplicated_cell_is_named(plan, blocks):
    found = [read_part(path) for path in blocks]
    where = "case one, method clear, replicate 0, parties 1, fold 0, epsilon inf"
    with pytest.raises(CubeError, match=rf"cell \({where}\) is in more than one block: delete"):
        assemble(plan, [*found, found[0]])


def test_an_unexpected_cell_is_named(plan, blocks):
    found = [read_part(path) for path in blocks]
    extra = replace(found[0], case="two")
    where = "case two, method clear, replicate 0, parties 1, fold 0, epsilon inf"
    with pytest.raises(CubeError, match=rf"cell \({where}\) is in a block and not in the configuration"):
        assemble(plan, [*found, extra])
    with pytest.raises(CubeError, match=r"a block has parties 7, which is not in the configuration: delete it"):
        assemble(plan, [*found, replace(found[0], parties=7)])


def test_parts_are_full_blocks(plan, tmp_path):
    data = generate(plan, "one", range(2), tmp_path)
    cells = run(plan, "one", "noisy", 1, range(2), range(2), data)
    other = run(plan, "one", "noisy", 2, range(2), range(2), data)
    with pytest.raises(CubeError, match=r"11 cells are not a full block of \(2, 2, 3\) replicates, folds and epsilons"):
        write_block(tmp_path / "c.npz", cells[1:])
    with pytest.raises(CubeError, match=r"11 cells are not a full block of \(2, 2, 3\) replicates, folds and epsilons"):
        write_block(tmp_path / "c.npz", [*cells, *other[1:]])
    assert not (tmp_path / "c.npz").exists()
    write_block(tmp_path / "c.npz", cells[::-1])
    assert read_part(tmp_path / "c.npz").epsilon == (inf, 4.0, 1.0)


def test_a_job_may_hold_several_numbers_of_parties(plan, tmp_path):
    data = generate(plan, "one", range(2), tmp_path)
    both = run(plan, "one", "noisy", (1, 2), range(2), range(2), data)
    write_block(tmp_path / "both.npz", both)
    for count, part in zip((1, 2), read_block(tmp_path / "both.npz"), strict=True):
        alone = run(plan, "one", "noisy", count, range(2), range(2), data)
        write_block(tmp_path / "alone.npz", alone)
        single = read_part(tmp_path / "alone.npz")
        assert (part.parties, part.releases, part.names) == (count, single.releases, single.names)
        for name, values in single.numbers.items():
            assert np.array_equal(part.numbers[name], values, equal_nan=values.dtype.kind == "f"), name


def test_releases_are_kept_of_as_many_replicates_as_asked(plan, tmp_path):
    data = generate(plan, "one", range(2), tmp_path)
    some = replace(plan, ledger_replicates=1)
    cells = run(some, "one", "noisy", 1, range(2), range(2), data)
    write_block(tmp_path / "c.npz", cells)
    assert {replicate for replicate, _ in read_part(tmp_path / "c.npz").releases} == {0}
    every = run(plan, "one", "noisy", 1, range(2), range(2), data)
    assert [cell.scalars for cell in cells] == [cell.scalars for cell in every]


@pytest.mark.parametrize("content", [b"", b"no zip", None])
def test_a_broken_block_is_named(blocks, tmp_path, content):
    path = tmp_path / "broken.npz"
    path.write_bytes(blocks[0].read_bytes()[:500] if content is None else content)
    with pytest.raises(CubeError, match=r"block .*broken.npz cannot be read .*: delete it and run again."):
        read_part(path)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([True, None], "bool"),
        ([True, 2], "int"),
        ([np.int64(1), 0.5], "float"),
        ([None, None], "none"),
        (["a", "b"], "str"),
        ([np.float32(1)], "float"),
        ([np.bool_(True)], "bool"),
    ],
)
def test_kinds(values, kind):
    assert kind_of(values) == kind


@pytest.mark.parametrize(
    ("values", "what"), [(["a", 1], "text in some cells"), ([[1]], "must be a number"), (["a", None], "text")]
)
def test_scalars_of_no_kind_are_refused(values, what):
    with pytest.raises(CubeError, match=what):
        kind_of(values)


@pytest.mark.parametrize("content", [b"", b"CDF but not really", "half"])
def test_a_broken_cube_is_named(gathered, tmp_path, content):
    path = tmp_path / "study" / "cube.nc"
    path.parent.mkdir()
    whole = (gathered / "cube.nc").read_bytes()
    path.write_bytes(whole[: len(whole) // 2] if content == "half" else content)
    with pytest.raises(CubeError, match=r"cube.nc cannot be read as a cube \(.*\): name the cube.nc of a study in a f"):
        open_cube(path)
    (tmp_path / "provenance").mkdir()
    with pytest.raises(CubeError, match=r"cube.nc cannot be read as a cube \(.*\): delete it and run again\.$"):
        open_cube(path)
    other = path.rename(path.with_name("mine.nc"))
    with pytest.raises(CubeError, match=r"mine.nc cannot be read as a cube \(.*\): name the cube.nc of a study"):
        open_cube(other)


def test_what_is_no_file_of_a_cube_says_what_to_name(tmp_path, capsys):
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "cube.nc").touch()
    with pytest.raises(CubeError, match=r"is a folder: name a cube, .*toy/cube.nc\.$"):
        open_cube(tmp_path)
    with pytest.raises(CubeError, match=r"is not there: name the cube.nc of a study"):
        open_cube(tmp_path / "cube.nc")
    assert main(["compare", str(tmp_path), str(tmp_path / "other")]) == 2
    assert "other is not there: name two cubes or two folders of results." in capsys.readouterr().err


@pytest.mark.parametrize("load", [True, False])
def test_a_cube_whose_reading_does_not_end_is_named_in_bounded_time(tmp_path, monkeypatch, load):
    """A pipe that nobody writes to stands for a file in which the reading library goes round in circles."""
    monkeypatch.setattr("partywise.experiment.results.cube.PATIENCE", 0.3)
    os.mkfifo(tmp_path / "cube.nc")
    with pytest.raises(
        CubeError, match=r"cube.nc cannot be read as a cube \(reading it did not end within 0.3 seconds\): "
    ):
        open_cube(tmp_path / "cube.nc", load=load)


def test_a_cube_that_crashes_its_reader_is_named(gathered, monkeypatch):
    monkeypatch.setattr(
        "partywise.experiment.results.cube._read_all", lambda path, telling: os.kill(os.getpid(), signal.SIGKILL)
    )
    with pytest.raises(CubeError, match=r"cannot be read as a cube \(reading it crashed, SIGKILL\): name the"):
        open_cube(gathered / "cube.nc")


def test_damaged_values_are_named_before_the_cube_is_used(gathered, tmp_path):
    """Bytes of compressed values: also where a figure reads few variables, the damage is told, not drawn."""
    whole = bytearray((gathered / "cube.nc").read_bytes())
    found = 0
    for start in range(len(whole) // 4, len(whole) - 64, len(whole) // 48):
        damaged = whole.copy()
        damaged[start : start + 64] = bytes(64)
        (tmp_path / "cube.nc").write_bytes(damaged)
        try:
            with open_cube(tmp_path / "cube.nc", load=False) as cube:
                cube.load()
        except CubeError as error:
            assert "cannot be read" in str(error) or "it is not a cube of this project" in str(error)
            found += 1
    assert found > 0


@pytest.mark.parametrize("error", [RuntimeError("NetCDF: HDF error"), OSError("no number"), OSError(-101, "HDF error")])
def test_a_disk_that_is_full_is_told_also_where_a_library_hides_it(gathered, tmp_path, monkeypatch, error):
    cube = open_cube(gathered / "cube.nc")

    def hidden(self, path, **options):
        Path(path).write_bytes(b"half")
        raise error

    def full(self):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(cube), "to_netcdf", hidden)
    with pytest.raises(type(error), match=str(error.args[-1])):
        write_cube(tmp_path / "cube.nc", cube)
    monkeypatch.setattr("partywise.core.files.os.fsync", lambda number: full(number))
    with pytest.raises(OSError, match=r"cube.nc cannot be written \(No space left on device\): free space"):
        write_cube(tmp_path / "cube.nc", cube)
    assert list(tmp_path.iterdir()) == []


def test_every_dim_is_selected_by_keyword(gathered):
    """No dim, and no coordinate, is a parameter of the functions that select: it would silently do something else."""
    cube = open_cube(gathered / "cube.nc")
    labels = dict(zip(DIMS, ("one", "noisy", 1, 2, 0, 4.0), strict=True))
    cell = cube["error"].sel(case="one", method_label="noisy", replicate=1, parties=2, fold=0, epsilon=4.0)
    assert cell.ndim == 0 and np.isfinite(cell.item())
    assert [cell[dim].item() for dim in DIMS] == list(labels.values())
    assert cell.item() == cube["error"].values[tuple(cube[d].values.tolist().index(v) for d, v in labels.items())]
    assert cube.sel(**labels)["error"].item() == cell.item()
    for function in (xr.Dataset.sel, xr.Dataset.isel, xr.DataArray.sel, xr.DataArray.isel):
        taken = set(inspect.signature(function).parameters)
        assert "drop" in taken and not taken & {str(name) for name in (*cube.dims, *cube.coords)}
    assert "method" in inspect.signature(xr.Dataset.sel).parameters


def test_a_cube_of_the_earlier_dim_is_refused_with_the_remedy(gathered, tmp_path, capsys):
    cube = open_cube(gathered / "cube.nc")
    cube.rename(method_label="method").to_netcdf(tmp_path / "old.nc")
    words = "old.nc has the dim 'method' of an earlier version, which is called 'method_label' now: run again, or"
    with pytest.raises(CubeError, match=words):
        open_cube(tmp_path / "old.nc")
    old, new = str(tmp_path / "old.nc"), str(gathered / "cube.nc")
    for command in (["compare", old, new], ["compare", new, old], ["compare", "--recompute", old]):
        assert main(command) != 0
        told = capsys.readouterr().err
        assert words in told and "cube.rename(method='method_label')" in told
    with xr.open_dataset(tmp_path / "old.nc") as opened:
        renamed = opened.load().rename(method="method_label")
    assert compare_cubes(cube, renamed).equal()


def test_other_netcdf_files_are_no_cubes(tmp_path):
    with netCDF4.Dataset(tmp_path / "other.nc", "w") as other:
        other.createDimension("case", 2)
        other.createVariable("x", "f8", ("case",))[:] = 0
    with pytest.raises(CubeError, match=r"other.nc has no dim 'method_label': it is not a cube of this project."):
        open_cube(tmp_path / "other.nc")


def test_a_failed_write_leaves_the_old_cube(gathered, tmp_path, monkeypatch):
    cube = open_cube(gathered / "cube.nc")
    write_cube(tmp_path / "cube.nc", cube)
    before = (tmp_path / "cube.nc").read_bytes()
    assert open_cube(tmp_path / "cube.nc").identical(cube)

    def full(self, path, **options):
        Path(path).write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(cube), "to_netcdf", full)
    with pytest.raises(OSError, match=r"cube.nc cannot be written \(No space left on device\): free space"):
        write_cube(tmp_path / "cube.nc", cube)
    assert (tmp_path / "cube.nc").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["cube.nc"]


def test_attributes_describe_the_cube_without_a_machine(plan, gathered, tmp_path):
    cube = open_cube(gathered / "cube.nc")
    assert check_attributes(cube) == []
    assert json.loads(cube.attrs["config_json"])["study"] == "toy"
    assert json.loads(cube.attrs["config_json"])["cases"]["one"]["grid"]["epsilon"][-1] == inf
    assert set(json.loads(cube.attrs["software_versions"])) == {
        "python",
        "partywise",
        "numpy",
        "scipy",
        "xarray",
        "netCDF4",
    }
    assert cube.attrs["git_commit"] == "unknown" and cube.attrs["lock_sha256"] == "unknown"
    assert str(gathered) not in " ".join(map(str, cube.attrs.values()))


def test_the_checker_finds_what_is_wrong(gathered, tmp_path):
    cube = open_cube(gathered / "cube.nc")
    del cube.attrs["title"]
    cube.attrs["date_created"] = "today"
    cube.attrs["flag"] = True
    cube["error"].attrs.pop("units")
    cube["error"].attrs["note"] = None
    cube["near"].attrs["flag_meanings"] = "false false"
    cube["status"][...] = 99
    problems = check_attributes(cube)
    for part in (
        "the global attribute title is missing",
        "the global attribute date_created is not reproducible",
        "the global attribute flag has the unstorable type bool",
        "variable error has no units",
        "attribute note of error has the unstorable type NoneType",
        "variable near: 2 flag values have 1 distinct meanings",
        "variable status: it holds values that are no flag",
    ):
        assert part in problems
    with pytest.raises(CubeError, match=r"the cube lacks metadata: .* \(7 problems in all\)"):
        write_cube(tmp_path / "cube.nc", cube)
    assert not (tmp_path / "cube.nc").exists()


def test_the_ledger_counts_a_release_once_over_folds(plan, gathered):
    rows, totals = table(gathered / "ledger.csv"), table(gathered / "ledger_totals.csv")
    noisy = [row for row in rows if row["case"] == "one" and row["method"] == "noisy"]
    assert len(noisy) == 2 * 2 * 3, "one release for each replicate, party count and target, shared by two folds"
    by_group: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in rows:
        key = tuple(row[k] for k in ("case", "method", "replicate", "parties", "epsilon_target"))
        by_group.setdefault(key, []).append(row)
    assert len(by_group) == len(totals)
    for total in totals:
        group = by_group[tuple(total[k] for k in ("case", "method", "replicate", "parties", "epsilon_target"))]
        ledger = Ledger.from_rows(group)
        ledger.verify(total["ledger_sha256"])
        again = ledger.worst_total(["active", "owner"], "features", 1e-5)
        assert float(total["epsilon_certified"]) == again.epsilon_certified and float(total["delta"]) == 1e-5


GRID = {"replicates": 2, "parties": (2,), "epsilon": (1.0, 4.0)}


@pytest.fixture(scope="module")
def per_fit(tmp_path_factory) -> Path:
    folded = {"methods": ("clear", "noisy", "anew"), "folds": 3, **GRID}
    plan = toy.toy_plan(folded=folded, single={"methods": ("anew",), "folds": 1, **GRID})
    folder = tmp_path_factory.mktemp("per_fit")
    return gather(plan, make_blocks(plan, folder), folder / "out")


def test_a_run_costs_what_a_hand_composition_of_its_fits_says(per_fit):
    cube = open_cube(per_fit / "cube.nc")
    for epsilon in (1.0, 4.0):
        # Sums of records in a ball of radius 1/2 move by 1: mu = 1 / (2 / epsilon), and three releases add mu^2.
        one, three = (float(gaussian_epsilon(epsilon / 2 * k**0.5, 1e-5)) for k in (1, 3))
        drawn = cube.sel(method_label="anew", epsilon=epsilon, parties=2)
        assert drawn["epsilon_certified"].sel(case="folded").values == pytest.approx(np.full((2, 3), one), rel=1e-12)
        found = drawn["epsilon_certified_run"].sel(case="folded").values
        assert found == pytest.approx(np.full((2, 3), three), rel=1e-12) and (found > 1.7 * one).all()
        single = drawn.sel(case="single", fold=0)
        assert (single["epsilon_certified_run"] == single["epsilon_certified"]).all()
        shared = cube.sel(case="folded", method_label="noisy", epsilon=epsilon)
        assert (shared["epsilon_certified_run"] == shared["epsilon_certified"]).all()
    clear = cube["epsilon_certified_run"].sel(case="folded", method_label="clear", epsilon=inf)
    assert np.isinf(clear.values).all()
    assert (cube["epsilon_certified_run"].notnull() == (cube["status"] > 0)).all()


def test_the_cost_of_a_run_stands_beside_that_of_a_fit_where_they_differ(per_fit, gathered):
    text = (per_fit / "summary.txt").read_text()
    assert "certified,\n" in text and "whole run ↓\n" in text
    price = {key: values[-2] for key, values in printed_rows(text).items()}
    three = f"{float(gaussian_epsilon(2 * 3**0.5, 1e-5)):.4g}"
    assert price["folded", "anew", "2", "4"] == three and price["single", "anew", "2", "4"] == "same"
    assert {price["folded", "noisy", "2", "4"], price["folded", "clear", "2", "inf"]} == {"same"}
    assert "whole run: those of all folds of a replicate together." in text
    assert "certified, whole run ↓" in (per_fit / "tables.html").read_text()
    assert "whole run" not in (gathered / "summary.txt").read_text()
    assert "certified, whole run" not in (gathered / "tables.html").read_text()


def test_the_cost_of_a_run_is_undefined_where_its_releases_were_not_kept(tmp_path):
    grid = {"methods": ("anew",), "folds": 2, **GRID}
    plan = replace(toy.toy_plan(folded=grid, single={**grid, "folds": 1}), ledger_replicates=1)
    cube = open_cube(gather(plan, make_blocks(plan, tmp_path), tmp_path / "out") / "cube.nc")
    found = cube["epsilon_certified_run"].sel(method_label="anew", parties=2)
    assert (
        found.sel(case="folded", replicate=0).notnull().all() and found.sel(case="folded", replicate=1).isnull().all()
    )
    assert found.sel(case="single", fold=0).notnull().all()


def test_a_release_that_differs_between_blocks_is_an_error(plan, blocks, tmp_path):
    """The same name for another draw: two costs passed off as one."""
    changed = make_blocks(replace(plan, root_seed=6), tmp_path)
    pick = next(i for i, path in enumerate(blocks) if path.name == "two_noisy_2_0.npz")
    first, other = read_part(blocks[pick]), read_part(changed[pick])
    from partywise.experiment.tables.ledger import ledgers

    with pytest.raises(CertificationError, match=r"'sum' is in the ledger with another value"):
        list(ledgers([first, other]))
