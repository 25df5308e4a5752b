"""Error of methods against epsilon: at the epsilon that is certified and at the one that is claimed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from ..core.errors import CubeError
from ..experiment.plotting.layout import label_of, ticks_at
from ..experiment.plotting.select import plan_behind, title
from ..experiment.plotting.series import cases_of, methods_of, over_with_bands, series
from ..experiment.plotting.style import GREY, PROTECTED, Look, Marks, compact, look, one_panel

# Cases that an error names.
SHOWN = 6


@dataclass(frozen=True)
class ErrorByEpsilon:
    """An error by epsilon: as claimed and as certified for the fit, with the standard error of the error."""

    epsilon_claimed: np.ndarray
    epsilon_certified: np.ndarray
    error: np.ndarray
    se: np.ndarray

    @property
    def private(self) -> bool:
        """Whether an epsilon above 0 is claimed or certified anywhere."""
        return any(
            ((epsilon > 0) & np.isfinite(epsilon)).any() for epsilon in (self.epsilon_claimed, self.epsilon_certified)
        )

    @property
    def noise_free(self) -> np.ndarray:
        """Mask of the errors at the target infinity, of the shape of ``error``."""
        return np.asarray(np.isinf(self.epsilon_claimed) & np.isinf(self.epsilon_certified))

    @property
    def apart(self) -> bool:
        """Whether the claim is another number than the certificate."""
        return not np.allclose(self.epsilon_claimed, self.epsilon_certified, rtol=1e-6, equal_nan=True)

    @property
    def lines(self) -> int:
        """Entries of a legend: of certificates and of claims that are other numbers, or one horizontal line."""
        proved = np.isfinite(self.epsilon_certified).any()
        claimed = np.isfinite(self.epsilon_claimed).any() and self.apart
        return int(proved) + int(claimed) if self.private else 1


def cost(cube: xr.Dataset, case: str, method: str, variable: str) -> ErrorByEpsilon:
    """Error of a method at its fewest parties, over its slots of epsilon."""
    cell = cube[variable].sel(case=case, method_label=method)
    few = int(np.flatnonzero(cell.notnull().any(["replicate", "fold", "epsilon"]).values)[0])
    there = cube.isel(parties=[few])
    line = series(there, variable, case, method, "epsilon")
    mask = np.isin(there["epsilon"].values, line.x)
    claimed, certified = (
        there[name].sel(case=case, method_label=method).max([d for d in ("replicate", "parties", "fold")]).values
        for name in ("epsilon_claimed", plan_behind(cube).study.certified)
    )
    return ErrorByEpsilon(claimed[mask], certified[mask], line.mean, line.band)


def costs_of(cube: xr.Dataset, case: str, variable: str) -> dict[str, ErrorByEpsilon]:
    """The error of every method of a case that has it."""
    values = cube[variable].sel(case=case)
    known = [method for method in methods_of(cube, case) if bool(values.sel(method_label=method).notnull().any())]
    return {method: cost(cube, case, method, variable) for method in known}


def notes_of(cube: xr.Dataset, case: str, variable: str) -> list[str]:
    """Return the notes below the title of a panel: on hollow marks and on thin dotted lines."""
    curves = costs_of(cube, case, variable).values()
    notes = ["hollow: at the claim, no guarantee"] * any(curve.apart for curve in curves)
    free = any(curve.noise_free.any() for curve in curves if curve.private)
    return notes + ["thin dotted: the same method without noise"] * free


def epsilon_against_error(
    cube: xr.Dataset,
    variable: str | None = None,
    *,
    case: str | None = None,
    claim: Callable[[xr.Dataset, str], str] | None = None,
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
        (cube, method) -> text of the legend on its claims, by default "at its claim".
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
        If the variable or case does not exist; the message lists those that do.
    CubeError
        If no method of the case has a finite epsilon above 0, or several cases have one and none is named.

    Notes
    -----
    Lines are means over replicates (folds first) at the fewest parties of a method, bands are one standard error. A
    method whose claim is another number is at its claim too, hollow, joined to the certificate of the same fit: no
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
        epsilons = list[float]()
        for method, curve in costs_of(cube, case, variable).items():
            style = look(cube, method)
            if curve.private:
                _points(panel, curve, style, "at its claim" if claim is None else claim(cube, method))
                epsilons += [*curve.epsilon_certified, *curve.epsilon_claimed]
            else:
                panel.axhline(curve.error[-1], color=GREY, linestyle=style.line, linewidth=1.2, label=style.label)
        plan = plan_behind(cube)
        whom = PROTECTED.get(plan.spec.unit, plan.spec.unit)
        panel.set(
            xlabel=f"certified ε of {whom}, δ = {compact(plan.delta(case), 3)}",
            ylabel=label_of(cube, variable),
        )
        ticks_at(panel, epsilons)
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
    private_cases = {
        name: [
            candidate
            for candidate in cases_of(cube, name)
            if case in (None, candidate) and any(each.private for each in costs_of(cube, candidate, name).values())
        ]
        for name in names
        if name in measured
    }
    name = next((name for name, labels in private_cases.items() if labels), "")
    if not name:
        where = "no case" if case is None else f"case={case!r}: no method"
        raise CubeError(f"{where} has {' or '.join(names)} at a finite epsilon above 0; name another variable or case.")
    if len(private_cases[name]) > 1:
        named = ", ".join(private_cases[name][:SHOWN]) + " and more" * (len(private_cases[name]) > SHOWN)
        raise CubeError(f"case is missing: methods of {named} have {name} at a finite epsilon; name one.")
    return name, private_cases[name][0]


def _points(ax: Axes, curve: ErrorByEpsilon, style: Look, claim: str) -> None:
    """The certified line with its band; the claims hollow, joined to what is certified of the same fit."""
    proved = np.isfinite(curve.epsilon_certified)
    if proved.any():
        order = np.flatnonzero(proved)[np.argsort(curve.epsilon_certified[proved])]
        x, y, se = curve.epsilon_certified[order], curve.error[order], curve.se[order]
        ax.plot(x, y, **style.marks)
        if np.isfinite(se).any():
            ax.fill_between(x, y - se, y + se, color=style.color, alpha=0.2, linewidth=0)
    for error in curve.error[curve.noise_free]:
        ax.axhline(error, color=style.color, linestyle=":", linewidth=0.9)
    claimed = np.isfinite(curve.epsilon_claimed)
    if claimed.any() and curve.apart:
        hollow: Marks = {"label": f"{style.label}, {claim}", "markerfacecolor": "none", "linestyle": ":"}
        ax.plot(curve.epsilon_claimed, curve.error, **style.marks | hollow)
        for x, end, y in zip(curve.epsilon_claimed, curve.epsilon_certified, curve.error, strict=True):
            if np.isfinite(end):
                ax.plot((x, end), (y, y), color=GREY, linewidth=0.6, zorder=0)
