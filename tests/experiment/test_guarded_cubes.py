"""A method that is asked for by the wrong word is an error, and never the whole cube."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import xarray as xr

import partywise as pw
from gathered import gather, make_blocks
from partywise.experiment.results.guard import Cube, CubeVariable
from toy import toy_plan


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder, plan = tmp_path_factory.mktemp("guarded"), toy_plan()
    return gather(plan, make_blocks(plan, folder), folder / "out") / "cube.nc"


@pytest.fixture(scope="module")
def cube(path):
    return pw.open_cube(path)


@pytest.fixture(scope="module")
def label(cube):
    return str(cube["method_label"].values[0])


def measured(cube: xr.Dataset) -> str:
    return next(
        str(name) for name in cube.data_vars if cube[name].dtype.kind == "f" and "method_label" in cube[name].dims
    )


def test_xarray_alone_returns_everything(path, label):
    """Why there is a guard: should xarray refuse it one day, the guard can go."""
    with xr.open_dataset(path, decode_times=False) as bare:
        assert bare.sel(method=label).identical(bare) and bare.sel(method="typo").identical(bare)


@pytest.mark.parametrize("kept", ["whole", "of a case", "mean", "copy", "pickle", "lazy", "variable", "mean of it"])
def test_a_method_by_the_wrong_word_is_refused(cube, path, label, kept):
    name = measured(cube)
    made = {
        "whole": lambda: cube,
        "of a case": lambda: cube.isel(case=[0]),
        "mean": lambda: cube[[name]].mean("replicate"),
        "copy": lambda: copy.deepcopy(cube),
        "pickle": lambda: pickle.loads(pickle.dumps(cube)),
        "lazy": lambda: pw.open_cube(path, load=False),
        "variable": lambda: getattr(cube, name),
        "mean of it": lambda: cube[name].mean("replicate"),
    }[kept]()
    assert isinstance(made, Cube | CubeVariable)
    with pytest.raises(KeyError, match=f"write sel.method_label={label!r}.") as caught:
        made.sel(method=label)
    assert "how xarray looks up labels" in str(caught.value)
    with pytest.raises(KeyError, match=f"no method is called so, the nearest is {label!r}; there are"):
        made.sel(method=f"{label}x")
    with pytest.raises(KeyError, match="selects nothing"):
        made.sel(method="nearest")
    with pytest.raises(KeyError, match="selects nothing"):
        made.sel({}, "nearest")
    assert made.sel(method_label=label).sizes.get("method_label") is None
    made.close()


def test_the_nearest_label_is_told(cube, label):
    case = str(cube["case"].values[0])
    for asked in ({"method_label": f"{label}x"}, {"method_label": [label, f"{label}x"]}):
        with pytest.raises(KeyError, match=f"method_label='{label}x' is not in the cube, the nearest is {label!r}"):
            cube.sel(asked)
    with pytest.raises(KeyError, match=f"case='{case}s' is not in the cube"):
        cube.sel(case=f"{case}s", method_label=label)
    with pytest.raises(KeyError, match="methods"):
        cube.sel(methods=label)


def test_what_xarray_looks_up_stays_its_own(cube, path):
    finite = cube["epsilon"].values[np.isfinite(cube["epsilon"].values)]
    near = cube.isel(epsilon=np.isfinite(cube["epsilon"].values)).sel(epsilon=finite[0] * 1.001, method="nearest")
    assert float(near["epsilon"]) == finite[0]
    with xr.open_dataset(path, decode_times=False) as bare:
        assert cube.identical(bare.load())
