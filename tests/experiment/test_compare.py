"""Two cubes cell by cell: planted differences are found and named, and what is no difference is none."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from partywise.__main__ import main
from partywise.core.errors import CubeError
from partywise.experiment.results.compare import SHOWN, compare_cubes, compare_results
from partywise.experiment.results.cube import DIMS
from pipeline import ROOT, environment

LABELS = {
    "case": ["one", "two"],
    "method_label": ["a", "b", "c"],
    "replicate": [0, 1],
    "parties": [2],
    "fold": [0],
    "epsilon": [1.0, np.inf],
}
SHAPE = tuple(len(labels) for labels in LABELS.values())
UNITS = {"long_name": "a name", "units": "1"}
PLACE = {"case": 1, "method_label": 2, "replicate": 0, "parties": 0, "fold": 0, "epsilon": 1}
NAME = "case two, method c, replicate 0, parties 2, fold 0, epsilon inf"


def cube() -> xr.Dataset:
    """Two cases, of which the first lacks method c; a loss, a word, a digest, and curves of two examples."""
    rng = np.random.default_rng(1)
    status = np.ones(SHAPE, np.int8)
    status[0, 2] = 0
    words = {"flag_values": np.arange(3, dtype=np.int8), "flag_meanings": "not_in_design rows labels"}
    loss = np.where(status > 0, rng.normal(size=SHAPE), np.nan)
    loss[1, 0, 0, 0, 0, 0] = np.nan
    data = {
        "status": (DIMS, status, UNITS | {"flag_values": np.arange(2), "flag_meanings": "not_in_design ok"}),
        "loss": (DIMS, loss, UNITS),
        "unit": (DIMS, (status * rng.integers(1, 3, SHAPE)).astype(np.int8), UNITS | words),
        "digest": (DIMS, np.where(status > 0, "abc", "").astype(object), UNITS),
        "curve": (("example", "time"), rng.normal(size=(2, 5)), UNITS),
        "example_case": ("example", ["one", "two"], UNITS),
        "example_method": ("example", ["a", "a"], UNITS),
    }
    return xr.Dataset(data, LABELS)


def moved(change) -> dict[str, tuple[int, tuple[str, ...]]]:
    """What is found to differ after a change of a copy, in both directions."""
    one, other = cube(), cube()
    other = change(other)
    found, back = compare_cubes(one, other), compare_cubes(other, one)
    assert not found.missing and {k: v[0] for k, v in found.changes.items()} == {
        k: v[0] for k, v in back.changes.items()
    }
    assert not found.equal() and not found.equal(common=True)
    return dict(found.changes)


def put(name: str, value) -> dict[str, tuple[int, tuple[str, ...]]]:
    """What is found after one value was replaced."""

    def change(other: xr.Dataset) -> xr.Dataset:
        other[name][PLACE] = value
        return other

    return moved(change)


def test_a_cube_is_equal_to_itself():
    report = compare_cubes(cube(), cube())
    assert report.equal() and (report.cells, report.changes, report.missing) == (20, {}, ())
    assert report.verdict() == "equal to the last bit; 20 cells and 7 variables in both"


def test_one_bit_is_found_and_named():
    before = float(cube()["loss"][PLACE])
    after = float(np.nextafter(before, 9.0))
    assert put("loss", after) == {"loss": (1, (f"{NAME}: {before!r} -> {after!r}",))}


def test_the_sign_of_zero_and_the_bits_of_nan_count():
    zero, one = cube(), cube()
    zero["loss"][PLACE], one["loss"][PLACE] = 0.0, -0.0
    assert compare_cubes(zero, one).changes == {"loss": (1, (f"{NAME}: 0.0 -> -0.0",))}
    quiet = struct.unpack("<d", struct.pack("<Q", 0x7FF8000000000001))[0]
    zero["loss"].values[tuple(PLACE.values())], one["loss"].values[tuple(PLACE.values())] = np.nan, quiet
    assert compare_cubes(zero, one).changes == {"loss": (1, (f"{NAME}: nan -> nan",))}


def test_another_pattern_of_nan_is_found():
    before = float(cube()["loss"][PLACE])
    assert put("loss", np.nan) == {"loss": (1, (f"{NAME}: {before!r} -> nan",))}


def test_words_and_digests_are_compared_by_what_they_say():
    found = put("unit", 3 - int(cube()["unit"][PLACE]))
    assert list(found) == ["unit"] and set(found["unit"][1][0].split(": ")[1].split(" -> ")) == {"'rows'", "'labels'"}
    assert put("digest", "abd") == {"digest": (1, (f"{NAME}: 'abc' -> 'abd'",))}
    other = cube()
    other["unit"].attrs["flag_meanings"] = "not_in_design labels rows"
    other["unit"].values[...] = np.choose(other["unit"].values, [0, 2, 1])
    assert compare_cubes(cube(), other).equal(), "the numbering of flags is no difference"


def test_the_order_of_labels_is_no_difference():
    other = cube().isel(case=[1, 0], method_label=[2, 0, 1], epsilon=[1, 0], example=[1, 0])
    assert compare_cubes(cube(), other).equal()
    other["loss"][{"case": 0, "method_label": 0, "replicate": 0, "parties": 0, "fold": 0, "epsilon": 0}] += 1.0
    assert compare_cubes(cube(), other).changes["loss"][1][0].startswith(NAME)


def test_what_only_one_holds_is_listed_and_common_leaves_it_out():
    other = cube().isel(replicate=[0])
    other["status"][PLACE] = 0
    other["excess"] = other["loss"] + 1.0
    report = compare_cubes(cube(), other)
    assert report.missing[:2] == ("only in the first: replicate 1", "only in the second: variables excess")
    first = "only in the first: 11 cells, the first of them case one, method a, replicate 1, parties 2, fold 0"
    assert report.missing[2].startswith(first) and NAME in report.missing[2]
    assert report.cells == 9 and report.changes == {}
    assert not report.equal() and report.equal(common=True)
    back = compare_cubes(other, cube())
    assert back.missing[:2] == ("only in the first: variables excess", "only in the second: replicate 1")


def test_cells_outside_the_design_are_not_compared():
    other = cube()
    other["loss"][{"case": 0, "method_label": 2}] = 5.0
    assert compare_cubes(cube(), other).equal()


def test_the_first_ten_are_shown_and_all_are_counted():
    found = moved(lambda other: other.assign(loss=other["loss"] + 1.0))
    assert found["loss"][0] == 19 and len(found["loss"][1]) == SHOWN == 10
    found = moved(lambda other: other.assign(curve=other["curve"] * 2))
    assert found["curve"][0] == 10
    assert found["curve"][1][0].startswith("example ('one', 'a'), time 0: ")


def test_units_types_and_shapes_count():
    assert moved(lambda other: other.assign(loss=other["loss"].assign_attrs(units="m")))["loss"][1] == (
        "units '1' -> 'm'",
    )
    single = cube()["loss"].astype(np.float32)
    assert moved(lambda other: other.assign(loss=single))["loss"][1] == ("type float64 -> float32",)
    short = moved(lambda other: other.isel(time=[0, 1]))["curve"][1]
    assert short == ("shape {'example': 2, 'time': 5} -> {'example': 2, 'time': 2}",)


def test_no_cell_in_common_is_no_equality():
    other = cube().assign_coords(case=["three", "four"])
    report = compare_cubes(cube(), other)
    assert report.cells == 0 and not report.equal() and report.verdict() == "no cell is in both"


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Two folders with the cube of a study in each."""
    for side in ("old", "new"):
        (tmp_path / side / "study").mkdir(parents=True)
        cube().to_netcdf(tmp_path / side / "study" / "cube.nc")
    return tmp_path / "old", tmp_path / "new"


def replace(path: Path, changed: xr.Dataset) -> None:
    path.unlink(missing_ok=True)
    path.parent.mkdir(exist_ok=True)
    changed.to_netcdf(path)


def test_the_verb_tells_by_its_exit_code(folders, capsys):
    old, new = folders
    assert main(["compare", str(old), str(new)]) == 0
    assert capsys.readouterr().out == "study: equal to the last bit; 20 cells and 7 variables in both\n"
    assert main(["compare", str(old / "study" / "cube.nc"), str(new / "study" / "cube.nc")]) == 0
    changed = cube()
    changed["loss"][PLACE] += 1.0
    replace(new / "study" / "cube.nc", changed)
    capsys.readouterr()
    assert main(["compare", str(old), str(new)]) == main(["compare", "--common", str(old), str(new)]) == 1
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "study: 1 values of 1 variables differ, 0 things in one only; 20 cells and 7 variables in both"
    assert told[1:3] == ["    loss: 1 values differ", f"        {told[2].strip()}"] and NAME in told[2]


def test_a_cube_that_only_one_folder_holds_is_named(folders, capsys):
    old, new = folders
    replace(new / "other" / "cube.nc", cube())
    assert [name for name, _ in compare_results(old, new)] == ["other", "study"]
    assert main(["compare", str(old), str(new)]) == 1
    assert "only in the second: the whole cube" in capsys.readouterr().out
    assert main(["compare", "--common", str(old), str(new)]) == 0
    (new / "study" / "cube.nc").unlink()
    assert main(["compare", "--common", str(old), str(new)]) == 1, "nothing was compared"


@pytest.mark.parametrize(
    ("second", "sentence"),
    [
        ("absent.nc", "absent.nc is not there: name two cubes or two folders of results"),
        ("file.nc", "are a file and a folder"),
        ("empty", "holds no cube.nc: name a folder of results"),
    ],
)
def test_what_cannot_be_compared_is_told(folders, second, sentence):
    (folders[0].parent / "empty").mkdir()
    (folders[0].parent / "file.nc").touch()
    with pytest.raises(CubeError, match=sentence):
        list(compare_results(folders[0], folders[0].parent / second))
    done = subprocess.run(
        [sys.executable, "-m", "partywise", "compare", str(folders[0]), str(folders[0].parent / second)],
        env=environment() | {"PYTHONPATH": str(ROOT / "lib")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and sentence in done.stderr and done.stderr.count("\n") == 1
