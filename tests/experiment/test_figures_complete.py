"""No figure over epsilon or parties loses a method, and a method without an epsilon is a horizontal line."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import pytest
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from invented import invented
from partywise.experiment.plotting.layout import Panels, axes_of
from partywise.experiment.plotting.lines import Lines
from partywise.experiment.plotting.select import title
from partywise.experiment.plotting.series import methods_of, series
from shipped import shipped_plans

# Over epsilon and no `Lines`: at what is certified, which is no target.
BY_HAND = {"vertical_trees": ["loss_by_epsilon"]}
# Methods that a figure leaves out, by their coordinates, and why.
LEFT_OUT = {
    "error_by_epsilon": {"method_kind": "oracle"},  # the truth is no method
    "error_by_parties": {"method_kind": "oracle"},
    # Variants of one release besides the published one and the planner's choice.
    "utility_by_epsilon": {"method_ridge": "fixed", "method_noise": ("shaped", "rr")},
}


@lru_cache(maxsize=1)
def cube_of(study: str) -> xr.Dataset:
    return invented(shipped_plans()[study], replicates=2)


def entries() -> Iterator[tuple[str, str]]:
    for study in shipped_plans():
        for name in shipped_plans()[study].figures:
            declared = shipped_plans()[study].study.figures[name].target
            if (isinstance(declared, Lines) and declared.x in ("epsilon", "parties")) or name in BY_HAND.get(study, ()):
                yield study, name


def wanted(cube: xr.Dataset, case: str, measure: str, name: str) -> dict[str, bool]:
    """Methods of a case with a measure, and whether they have a target of epsilon."""
    gone = {
        str(m)
        for key, value in LEFT_OUT.get(name, {}).items()
        for m in cube["method_label"].values[np.isin(cube[key].values, value)]
    }
    lines = {m: series(cube, measure, case, m, "epsilon") for m in methods_of(cube, case) if m not in gone}
    return {method: bool(np.isfinite(line.x).any()) for method, line in lines.items() if line}


def drawn(axes: list[Axes]) -> dict[str, list[tuple[float, ...]]]:
    """Places of each labelled line of some panels."""
    found: dict[str, list[tuple[float, ...]]] = {}
    for ax in axes:
        for line in ax.get_lines():
            found.setdefault(str(line.get_label()), []).append(tuple(np.asarray(line.get_xdata(), float)))
    return found


def measures_of(declared: Lines | Panels, cube: xr.Dataset, case: str) -> list[str]:
    """What is shown of a case: one measure for each row of panels."""
    if isinstance(declared, Panels):
        return [next(name for name in declared.measures if cube[name].sel(case=case).notnull().any())]
    names = (axis.measure_of(cube, case) for axis in axes_of(declared.y))
    return [name for name in names if name is not None]


def chosen(declared: Lines | Panels, cube: xr.Dataset, case: str) -> set[str]:
    """Methods that a declaration names for a case: all unless it chooses at most six of them."""
    if isinstance(declared, Panels):
        return set(methods_of(cube, case))
    return {method for group in declared.groups(cube, case).values() for method in group}


def test_a_choice_of_methods_is_made_only_where_there_are_too_many():
    """A figure with fewer than six methods that have its measure draws all but exact ones, whose error is 0."""
    cube = cube_of("federated_survival")
    declared = shipped_plans()["federated_survival"].study.figures["hazard_ratio_error"].target
    for case in map(str, cube["case"].values):
        methods = set(methods_of(cube, case))
        left = methods - chosen(declared, cube, case) - {"reference", "risk_sets"}
        assert not left or len(methods) - 2 >= 6, case


@pytest.mark.parametrize(("study", "name"), sorted(entries()))
def test_every_method_with_the_measure_is_drawn(study, name):
    cube, declared = cube_of(study), shipped_plans()[study].study.figures[name].target
    shown, over_epsilon = 0, isinstance(declared, Panels) or declared.x == "epsilon"
    for case in map(str, cube["case"].values):
        plt.close("all")
        axes = [ax for ax in declared(cube.sel(case=[case])).axes if ax.axison]
        if not axes:
            continue
        shown += 1
        rows = measures_of(declared, cube, case)
        per_row = len(axes) // len(rows)
        for row, measure in enumerate(rows):
            lines = drawn(axes[row * per_row : (row + 1) * per_row])
            for method, private in wanted(cube, case, measure, name).items():
                if method not in chosen(declared, cube, case):
                    continue
                own = [x for label, x in lines.items() if label.startswith(title(cube, "method", method))]
                assert own, f"{name} loses {method} in {case}"
                if over_epsilon and not private:
                    assert [0.0, 1.0] in [list(x) for places in own for x in places], f"{method} is not horizontal"
    assert shown


def test_panels_with_one_axis_show_all_their_values():
    """The first panel of a row set the ends of the axis, and lines of the others were cut off."""
    cube = cube_of("vertical_trees")
    declared = Lines("Scores", x="epsilon", y="auc", share=True)
    low = cube.assign(auc=cube["auc"].where(cube["case"] == cube["case"][0], cube["auc"] - 5))
    (panel, *others) = [ax for ax in declared(low).axes if ax.axison]
    assert others and all(ax.get_ylim() == panel.get_ylim() for ax in others)
    for ax in others:
        values = np.concatenate([np.asarray(line.get_ydata(), float) for line in ax.get_lines()])
        assert panel.get_ylim()[0] <= values.min() and values.max() <= panel.get_ylim()[1]
