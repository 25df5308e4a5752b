"""`diff`: planted shifts are found by the right test, and what is no difference is none."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from partywise.__main__ import main
from partywise.experiment.differences.difference import MOVED, NO_ERROR, Difference, difference, differing_keys
from partywise.experiment.differences.shifts import ROUNDING, shifts
from partywise.experiment.differences.summary import LINES, text
from partywise.experiment.results.cube import DIMS

REPLICATES = 6
LABELS = {DIMS[0]: ["one", "two"], DIMS[1]: ["a", "b"], DIMS[2]: list(range(REPLICATES))}
LABELS |= {DIMS[3]: [2], DIMS[4]: [0, 1], DIMS[5]: [1.0, np.inf]}
SHAPE = tuple(map(len, LABELS.values()))
NUMBER = {"long_name": "a number", "units": "1"}
WHERE = ("two", "b", 2, 1.0)
PLACE = dict(zip((DIMS[0], DIMS[1], DIMS[3], DIMS[5]), (1, 1, 0, 0), strict=True))


def cube(seed: int = 1, draw: int = 0, **keys: Any) -> xr.Dataset:
    """Two cases and methods; losses with a spread of 1 between replicates, drawn anew for every ``draw``."""
    rng = np.random.default_rng(draw)
    flags = {"flag_values": np.arange(4), "flag_meanings": "not_in_design ok not_converged diverged"}
    data = {
        "status": (DIMS, np.ones(SHAPE, np.int8), NUMBER | flags),
        "loss": (DIMS, rng.normal(size=SHAPE) + 5.0, NUMBER),
        "bytes": (DIMS, np.full(SHAPE, 100.0), NUMBER),
        "epsilon_certified": (DIMS, np.full(SHAPE, 2.0), NUMBER),
    }
    config = {"root_seed": seed, "study": "toy", "methods": {"a": {"ridge": 0.1}, "b": {}}} | keys
    attrs = {"config_json": json.dumps(config), "source": "partywise 0, study toy", "code_sha256": "c" * 64}
    return xr.Dataset(data, LABELS, attrs | {"lock_sha256": "l", "git_commit": "g", "software_versions": "{}"})


def entries(first: xr.Dataset, second: xr.Dataset) -> list[tuple[Any, ...]]:
    found = difference("toy", first, second).entries
    return [(entry.kind, entry.where, entry.variable, entry.first, entry.second) for entry in found]


def shifted(by: np.ndarray | float, draw: int = 0, seed: int = 1) -> xr.Dataset:
    other = cube(seed, draw)
    other["loss"][PLACE] += by
    return other


def test_a_cube_differs_in_nothing_from_itself():
    found = difference("toy", cube(), cube())
    assert found.equal and (found.slots, found.n_tests, found.equal_cases) == (8, 0, ("one", "two"))


def test_a_shift_below_the_spread_of_replicates_is_found_where_they_share_their_numbers_only():
    """Of .3 with a spread of 1: pairs that move by .3 +- .1 tell it, two samples of six do not."""
    wiggle = 0.1 * np.array([-1.0, 1.0, 1.0, -1.0, 1.0, -1.0])[:, None]
    found = difference("toy", cube(), shifted(0.3 + wiggle))
    (entry,) = found.of(MOVED)
    assert found.paired and entry.where == WHERE and entry.replicates == REPLICATES
    assert entry.difference == pytest.approx(0.3) and entry.error == pytest.approx(0.1 * np.sqrt(6 / 5) / np.sqrt(6))
    apart = difference("toy", cube(), shifted(0.3 + wiggle, seed=2))
    assert not apart.paired and not apart.of(MOVED)


def test_two_samples_are_tested_with_the_spread_of_both():
    first, second = cube(), shifted(4.0, draw=9, seed=2)
    (found,) = [one for one in shifts(first, second, ["loss"], paired=False) if one.where == WHERE]
    means = [part["loss"][PLACE].mean(DIMS[4]).values for part in (first, second)]
    error = np.sqrt(sum(part.var(ddof=1) / REPLICATES for part in means))
    assert (found.difference, found.error) == pytest.approx((means[1].mean() - means[0].mean(), error))
    assert found.kind == "moved" and found.z == pytest.approx(found.difference / error)


def test_two_standard_errors_are_the_limit():
    """Pairs of mean d and standard error s: 1.9 s stay, 2.1 s move."""
    spread = np.array([-1.0, 1.0, -1.0, 1.0, -1.0, 1.0])[:, None]
    error = np.sqrt(6 / 5) / np.sqrt(6)
    for times, moved in ((1.9, 0), (2.1, 1)):
        found = difference("toy", cube(), shifted(times * error + spread))
        assert len(found.of(MOVED)) == moved and found.n_tests == 1
        assert found.by_chance == pytest.approx(0.1019, abs=1e-4), "twice the tail of t with 5 degrees of freedom at 2"


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_fall_is_told_as_a_rise_is(paired, sign):
    wiggle = 0.1 * np.array([-1.0, 1.0, 1.0, -1.0, 1.0, -1.0])[:, None]
    found = difference("toy", cube(), shifted(sign * 4.0 + wiggle, seed=1 if paired else 2))
    (entry,) = found.of(MOVED)
    assert found.paired is paired and entry.where == WHERE and sign * entry.z > 2
    assert entry.difference == pytest.approx(sign * 4.0) and f"{entry.second:.4g}" in text([found])


def test_folds_are_averaged_before_replicates_are_compared():
    """A change of +1 in one fold and -1 in the other moves no mean."""
    assert difference("toy", cube(), shifted(np.array([[1.0, -1.0]] * REPLICATES))).equal


def test_a_change_without_spread_moves_and_rounding_does_not():
    assert entries(cube(), shifted(0.5)) == [
        ("moved", WHERE, "loss", *(pytest.approx(float(c["loss"][PLACE].mean())) for c in (cube(), shifted(0.5))))
    ]
    assert difference("toy", cube(), shifted(ROUNDING)).equal


def test_one_replicate_has_no_standard_error():
    first, second = (part.isel({DIMS[2]: [0]}) for part in (cube(), shifted(0.5)))
    (entry,) = difference("toy", first, second).entries
    assert (entry.kind, entry.replicates) == (NO_ERROR, 1) and np.isnan(entry.error)


def test_infinite_and_undefined_means_are_told():
    assert entries(cube(), shifted(np.inf))[0][:3] == ("moved", WHERE, "loss")
    assert difference("toy", shifted(np.inf), shifted(np.inf)).equal
    assert entries(cube(), shifted(np.nan))[0][:3] == ("one_only", WHERE, "loss")


def test_an_epsilon_that_moves_at_all_is_told_with_its_fits():
    other = cube()
    other["epsilon_certified"][{**PLACE, DIMS[2]: 3}] = np.nextafter(2.0, 3.0)
    found = difference("toy", cube(), other)
    (entry,) = found.entries
    assert (entry.kind, entry.where, entry.first, entry.fits) == ("epsilon", WHERE, 2.0, 2) and entry.second > 2.0
    assert "2 -> 2.0000000000000004" in text([found])


def test_fits_that_ended_otherwise_or_stand_in_one_cube_only():
    other = cube().isel({DIMS[0]: [1, 0]})
    other["status"][{DIMS[0]: 0, DIMS[1]: 0, DIMS[2]: 0}] = 3
    other["status"][{DIMS[0]: 1, DIMS[1]: 0, DIMS[2]: 0, DIMS[5]: 0}] = 0
    found = difference("toy", cube(), other)
    assert [(e.where, e.first, e.second, e.fits) for e in found.of("status")] == [
        (("two", "a", 2, 1.0), "ok", "diverged", 2),
        (("two", "a", 2, np.inf), "ok", "diverged", 2),
    ]
    assert [(e.where, e.first, e.second) for e in found.of("cells")] == [(("one", "a", 2, 1.0), 12, 10)]


def test_keys_are_named_by_their_paths():
    one = cube().attrs["config_json"]
    other = cube(2, methods={"a": {"ridge": 0.2}, "b": {}, "c": {"bound": float("inf")}}).attrs["config_json"]
    assert [(key.path, key.first, key.second) for key in differing_keys(one, other)] == [
        ("root_seed", "1", "2"),
        ("studies.toy.methods.a.ridge", "0.1", "0.2"),
        ("studies.toy.methods.c", "(absent)", '{"bound": .inf}'),
    ]
    tables = [json.dumps({"study": "toy", "tables": [{"file": name}, {"file": "same"}]}) for name in ("x", "y")]
    assert [key.path for key in differing_keys(*tables)] == ["studies.toy.tables[0].file"]


def many(cubes: int) -> list[Difference]:
    """Cubes in which everything differs."""
    other = cube(2, draw=3, methods={"a": {}}).assign_attrs(code_sha256="d")
    other["epsilon_certified"][...] = np.inf
    other["status"][{DIMS[0]: 0}] = 3
    other["status"][{DIMS[0]: 1, DIMS[2]: 0}] = 0
    other["bytes"][...] = 7.0
    one = difference("study", cube(), other)
    return [replace(one, name=f"study_{i}") for i in range(cubes)]


@pytest.mark.parametrize("cubes", [1, 6, 60])
def test_the_text_is_a_screen_that_counts_what_it_leaves_off(cubes):
    told = text(many(cubes)).splitlines()
    assert len(told) <= LINES == 40 and told[-1] == f"{cubes} of {cubes} cubes differ."
    assert told[-2].startswith(f"code differs in {cubes} of {cubes}; lock differs in 0")
    assert cubes < 60 or told[-3] == f"and {60 - 37} cubes more"


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    for side, made in (("old", cube()), ("new", shifted(0.5))):
        for study, content in (("equal", cube()), ("toy", made)):
            (tmp_path / side / study).mkdir(parents=True)
            content.to_netcdf(tmp_path / side / study / "cube.nc")
    return tmp_path / "old", tmp_path / "new"


def test_the_verb_exits_as_diff_does(folders, capsys):
    old, new = map(str, folders)
    assert main(["compare", "--findings", old, old]) == 0
    assert main(["compare", "--findings", old, new]) == 1
    told = capsys.readouterr().out
    assert "equal: no difference in 8 cells" in told and "cases without a difference: one" in told
    assert main(["compare", "--findings", old, new, "--only-changed"]) == 1
    told = capsys.readouterr().out
    assert "equal:" not in told and "without a difference" not in told and "1 of 2 cubes differ." in told
    assert main(["compare", "--findings", old, str(folders[0] / "toy" / "cube.nc")]) == 2
    assert "are a file and a folder" in capsys.readouterr().err


def test_the_table_holds_everything(folders, tmp_path, capsys):
    main(["compare", "--findings", *map(str, folders), "--csv", str(tmp_path / "all.csv")])
    with (tmp_path / "all.csv").open(encoding="utf-8") as handle:
        (row,) = csv.DictReader(handle)
    assert (row["cube"], row["kind"], row["case"], row["method"], row["test"]) == ("toy", "moved", "two", "b", "paired")
    assert float(row["difference"]) == pytest.approx(0.5) and float(row["se"]) == pytest.approx(0.0, abs=1e-12)


def test_a_cube_that_only_one_folder_has_is_a_difference(folders, capsys):
    (folders[1] / "toy" / "cube.nc").unlink()
    assert main(["compare", "--findings", *map(str, folders)]) == 1
    assert "toy: only in the first" in capsys.readouterr().out
