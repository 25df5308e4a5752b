"""What privacy costs: the error of methods at the epsilon that is certified, and at the one that is claimed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from ..core.errors import CubeError
from ..experiment.plotting.layout import label_of
from ..experiment.plotting.replicates import over_with_bands
from ..experiment.plotting.select import plan_behind, title
from ..experiment.plotting.series import cases_of, methods_of, series
from ..experiment.plotting.style import GREY, Look, Marks, compact, look, one_panel
from ..experiment.plotting.ticks import ticks_at
from ..experiment.plotting.words import PROTECTED

# Cases that an error names.
SHOWN = 6


@dataclass(frozen=True)
class Cost:
    """An error by epsilon: as claimed and as certified for the fit, with the standard error of the error."""

    epsilon_claimed: np.ndarray
    epsilon_certified: np.ndarray
    error: np.ndarray
    se: np.ndarray

    @property
    def private(self) -> bool:
        """Whether an epsilon above 0 is claimed or certified anywhere."""
        return any(((given > 0) & np.isfinite(given)).any() for given in (self.epsilon_claimed, self.epsilon_certified))

    @property
    def noise_free(self) -> np.ndarray:
        """Which of the errors are at the target infinity."""
        return np.asarray(np.isinf(self.epsilon_claimed) & np.isinf(self.epsilon_certified))

    @property
    def apart(self) -> bool:
        """Whether the claim is another number than the certificate."""
        return not np.allclose(self.epsilon_claimed, self.epsilon_certified, rtol=1e-6, equal_nan=True)


def cost(cube: xr.Dataset, case: str, method: str, variable: str) -> Cost:
    """Error of a method at its fewest parties, over its slots of epsilon."""
    cell = cube[variable].sel(case=case, method_label=method)
    few = int(np.flatnonzero(cell.notnull().any(["replicate", "fold", "epsilon"]).values)[0])
    there = cube.isel(parties=[few])
    line = series(there, variable, case, method, "epsilon")
    kept = np.isin(there["epsilon"].values, line.x)
    claimed, certified = (
        there[name].sel(case=case, method_label=method).max([d for d in ("replicate", "parties", "fold")]).values
        for name in ("epsilon_claimed", plan_behind(cube).study.certified)
    )
    return Cost(claimed[kept], certified[kept], line.mean, line.se)


def costs_of(cube: xr.Dataset, case: str, variable: str) -> dict[str, Cost]:
    """The error of every method of a case that has it."""
    values = cube[variable].sel(case=case)
    known = [method for method in methods_of(cube, case) if bool(values.sel(method_label=method).notnull().any())]
    return {method: cost(cube, case, method, variable) for method in known}


def notes_of(cube: xr.Dataset, case: str, variable: str) -> list[str]:
    """What is to be said of a panel."""
    found = costs_of(cube, case, variable).values()
    notes = ["hollow: at the claim, no guarantee"] * any(one.apart for one in found)
    free = any(one.noise_free.any() for one in found if one.private)
    return notes + ["thin dotted: the same method without noise"] * free


def at_its_claim(cube: xr.Dataset, method: str) -> str:
    """What the legend says of the claims of a method."""
    return "at its claim"


def epsilon_against_error(
    cube: xr.Dataset,
    variable: str | None = None,
    *,
    case: str | None = None,
    claim: Callable[[xr.Dataset, str], str] = at_its_claim,
    ax: Axes | None = None,
) -> Axes:
    """Draw the error of all methods of a case at their certified epsilon, and hollow at what they claim.

    Parameters
    ----------
    cube : Dataset
        As `open_cube` reads it.
    variable : str, optional
        What is on the axis of errors; by default the first measure that the study prints at the end of a run and the
        case has.
    case : str, optional
        By default the only one in which a method has an epsilon.
    claim : callable, optional
        (cube, method) -> what the legend says of its claims.
    ax : Axes, optional
        Where to draw; its title and legend are then yours. By default a figure of its own.

    Returns
    -------
    Axes
        ``ax.figure`` is the figure.

    Raises
    ------
    TypeError
        If something else than a data set is given, such as its path.
    KeyError
        If there is no such variable or case; the message has those that there are.
    CubeError
        If no method of the case has a finite epsilon above 0, or several cases have one and none is named.

    Notes
    -----
    Lines are means over replicates (folds first) at the fewest parties of a method, bands are one standard error. A
    method whose claim is another number stands at its claim too, hollow, joined to the certificate of the same fit: no
    guarantee. A thin dotted line is the method of its colour without noise; other horizontal lines are methods without
    an epsilon. Where nothing is certified there is the claim alone.

    Examples
    --------
    >>> import partywise as pw
    >>> ax = pw.plot.epsilon_against_error("results/default/vertical_trees/cube.nc", case="adult")
    Traceback (most recent call last):
    TypeError: cube is of type str: give what pw.open_cube(path) reads.
    """
    if not isinstance(cube, xr.Dataset):
        raise TypeError(f"cube is of type {type(cube).__name__}: give what pw.open_cube(path) reads.")
    variable, case = _variable_and_case(cube, variable, case)
    words = "; ".join([over_with_bands(cube, [case]), *notes_of(cube, case, variable)])
    with one_panel(ax, 5.6, 3.4, f"{title(cube, 'case', case)}\n{words}") as panel:
        shown = list[float]()
        for method, one in costs_of(cube, case, variable).items():
            style = look(cube, method)
            if one.private:
                _points(panel, one, style, claim(cube, method))
                shown += [*one.epsilon_certified, *one.epsilon_claimed]
            else:
                panel.axhline(one.error[-1], color=style.color, linestyle=style.rule, linewidth=1.2, label=style.label)
        plan = plan_behind(cube)
        whom = PROTECTED.get(plan.spec.unit, plan.spec.unit)
        panel.set(
            xlabel=f"certified ε of {whom}, δ = {compact(plan.delta(case), 3)}",
            ylabel=label_of(cube, variable),
        )
        ticks_at(panel, shown)
    return panel


def _variable_and_case(cube: xr.Dataset, variable: str | None, case: str | None) -> tuple[str, str]:
    """The variable and the case that are drawn."""
    names = [variable] if variable is not None else list(plan_behind(cube).study.headline)
    measured = [str(name) for name in cube.data_vars if {"case", "epsilon"} <= set(cube[name].dims)]
    cases = [str(label) for label in cube["case"].values]
    if variable is not None and variable not in measured:
        raise KeyError(f"variable={variable!r} is not in the cube, which has {', '.join(sorted(measured))}.")
    if case is not None and case not in cases:
        raise KeyError(f"case={case!r} is not in the cube, which has {', '.join(cases)}.")
    found = {
        name: [
            one
            for one in cases_of(cube, name)
            if case in (None, one) and any(each.private for each in costs_of(cube, one, name).values())
        ]
        for name in names
        if name in measured
    }
    name = next((name for name, own in found.items() if own), "")
    if not name:
        where = "no case" if case is None else f"case={case!r}: no method"
        raise CubeError(f"{where} has {' or '.join(names)} at a finite epsilon above 0; name another variable or case.")
    if len(found[name]) > 1:
        named = ", ".join(found[name][:SHOWN]) + " and more" * (len(found[name]) > SHOWN)
        raise CubeError(f"case is missing: methods of {named} have {name} at a finite epsilon; name one.")
    return name, found[name][0]


def _points(ax: Axes, one: Cost, style: Look, claim: str) -> None:
    """The certified line with its band; the claims hollow, joined to what is certified of the same fit."""
    proved = np.isfinite(one.epsilon_certified)
    if proved.any():
        order = np.flatnonzero(proved)[np.argsort(one.epsilon_certified[proved])]
        x, y, se = one.epsilon_certified[order], one.error[order], one.se[order]
        ax.plot(x, y, **style.marks)
        if np.isfinite(se).any():
            ax.fill_between(x, y - se, y + se, color=style.color, alpha=0.2, linewidth=0)
    for error in one.error[one.noise_free]:
        ax.axhline(error, color=style.color, linestyle=":", linewidth=0.9)
    claimed = np.isfinite(one.epsilon_claimed)
    if claimed.any() and one.apart:
        hollow: Marks = {"label": f"{style.label}, {claim}", "markerfacecolor": "none", "linestyle": ":"}
        ax.plot(one.epsilon_claimed, one.error, **style.marks | hollow)
        for x, end, y in zip(one.epsilon_claimed, one.epsilon_certified, one.error, strict=True):
            if np.isfinite(end):
                ax.plot((x, end), (y, y), color=GREY, linewidth=0.6, zorder=0)
