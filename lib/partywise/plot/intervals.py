"""Coefficients with intervals that count the noise of privacy, of estimators and of statsmodels' results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# Any: keywords of a declaration.
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from ..experiment.plotting.layout import Axis
from ..experiment.plotting.lines import SERIES, Lines
from ..experiment.plotting.select import title
from ..experiment.plotting.series import fit_word, methods_with
from ..experiment.plotting.style import Marks, one_panel
from ..models.intervals import REASONS, Intervals
from .interval_rows import REST, ROW, IntervalRows, draw_rows

if TYPE_CHECKING:
    from ..federation.estimators.estimator import Estimator

# Names of intercepts, which have a scale of their own, in this library and in others.
INTERCEPTS = ("intercept", "Intercept", "const")


class Result(Protocol):
    """Coefficients by name with intervals, as statsmodels has them."""

    @property
    def params(self) -> object: ...

    def conf_int(self, alpha: float = 0.05) -> object: ...


@dataclass(frozen=True, eq=False)
class CoefficientRows:
    """Coefficients that are drawn as they are.

    Parameters
    ----------
    names : sequence of p str
        Of the coefficients.
    values : ndarray of shape (p,)
    reach : ndarray of shape (p,)
        Half the lengths of their intervals; nan or 0 for none.

    Examples
    --------
    >>> import numpy as np
    >>> import partywise as pw
    >>> rows = pw.plot.CoefficientRows(["age", "dose"], np.array([0.4, -0.2]), np.array([0.1, np.nan]))
    >>> [float(x) for x in pw.plot.coefficients(rows).containers[0].lines[0].get_xdata()]
    [0.4, -0.2]
    """

    names: Sequence[str]
    values: np.ndarray
    reach: np.ndarray


Source: TypeAlias = "Result | Estimator | CoefficientRows"


def coefficients(
    of: Source | Mapping[str, Source],
    *,
    level: float = 0.95,
    intercept: bool = False,
    marks: Mapping[str, Marks] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw coefficients with their intervals, a row for each coefficient.

    Parameters
    ----------
    of : fitted estimator, result with ``params`` and ``conf_int``, CoefficientRows, or mapping of str to these
        Several by name are side by side at each coefficient.
    level : float
        Of the intervals, in (0, 1).
    intercept : bool
        Whether the intercept is drawn, whose scale is another.
    marks : mapping, optional
        By name: how a fit is drawn, in matplotlib's words.
    ax : Axes, optional
        Where to draw; its title and legend are then yours. By default a figure of its own.

    Returns
    -------
    Axes
        ``ax.figure`` is the figure.

    Raises
    ------
    ValueError
        If an estimator has no intervals (the message has its reason), or ``level`` is out of range.
    TypeError
        If something has neither intervals nor ``conf_int``.
    NotFittedError
        Before the fit.

    Notes
    -----
    Intervals of a private fit are over records and noise, and about coefficients without what a ridge takes, around
    which they are drawn; those of a fit without noise are Wald's.

    Examples
    --------
    >>> import partywise as pw
    >>> X = pw.stream(1, "records").normal(size=(200, 2))
    >>> model = pw.VerticalGLM("gaussian", parties=[[0], [1]], random_state=7)
    >>> fitted = model.fit(X, X[:, 1] + pw.stream(1, "errors").normal(size=200), names=["age", "dose"])
    >>> ax = pw.plot.coefficients(fitted)
    >>> [tick.get_text() for tick in ax.get_yticklabels()]
    ['age', 'dose']
    """
    if not 0 < level < 1:
        raise ValueError(f"level={level!r} of an interval must lie in (0, 1).")
    sources: Mapping[str, Source] = of if isinstance(of, Mapping) else {type(of).__name__: of}
    rows = {name: _rows_of(name, source, level) for name, source in sources.items()}
    every_name = dict.fromkeys(name for estimates in rows.values() for name in estimates.names)
    names = [name for name in every_name if intercept or name not in INTERCEPTS]
    words = f"Coefficients with {100 * level:.4g} % intervals"
    if any(getattr(getattr(source, "intervals_", None), "centre", None) is not None for source in sources.values()):
        words += "\nthose of private fits count the noise"
    looks = dict(marks or {})
    if not isinstance(of, Mapping):
        looks = {name: {"label": "_"} | looks.get(name, {}) for name in rows}
    with one_panel(ax, 5.0, max(2.4, REST + ROW * len(names)), words) as panel:
        draw_rows(panel, {name: estimates.only(names) for name, estimates in rows.items()}, looks)
        panel.set_yticks(range(len(names)), names, fontsize=7 if len(names) > 12 or ax else 8)
        panel.set(xlabel="coefficient")
    return panel


def missing_intervals(cube: xr.Dataset, case: str, method: str, target: float) -> list[str]:
    """Return a note on why a fit that is drawn without bars has no intervals; none where a cube does not state it."""
    name = fit_word(cube, "interval", case, method, target) if "interval" in cube else ""
    return [f"{title(cube, 'method', method)} has no intervals: {REASONS[name]}"] if name in REASONS else []


def _noisy_methods(cube: xr.Dataset, case: str) -> list[str]:
    """Methods of a case that have intervals at some target of epsilon."""
    name = "half_width" if "half_width" in cube else "interval_coverage"
    known = cube[name].sel(case=case, epsilon=np.isfinite(cube["epsilon"])).notnull()
    private = known.any([dim for dim in known.dims if dim != "method_label"])
    return [method for method in methods_with(cube, case, name) if private.sel(method_label=method)]


def _one_by_one(cube: xr.Dataset, case: str) -> dict[str, list[str]]:
    """Each method with intervals in a group, and so a panel, of its own."""
    return {title(cube, "method", method): [method] for method in _noisy_methods(cube, case)[:SERIES]}


def _cases_of_few_panels(cube: xr.Dataset, cases: Sequence[str]) -> list[str]:
    """Cases of the most methods with intervals, as many as fit."""
    counts = {case: min(len(_noisy_methods(cube, case)), SERIES) for case in cases}
    most = max(counts.values(), default=0)
    order = sorted((case for case in cases if counts[case]), key=lambda case: -counts[case])
    chosen = order[: SERIES // most] if most else []
    return [case for case in cases if case in chosen]


# One panel for each method and case.
BY_METHOD: dict[str, Any] = {
    "groups": _one_by_one,
    "apart": True,
    "size": (3.7, 4.2),
    "select": _cases_of_few_panels,
    "least": 2,
    "none": "No case of generated records has private methods with intervals at several targets of epsilon in this "
    "configuration.",
}
interval_coverage = Lines(
    "How often do 95 % intervals hold the truth?",
    x="epsilon",
    y=Axis(
        {"interval_coverage": "intervals that hold\nthe truth"},
        percent=True,
        bottom=0,
        top=1.04,
        levels={0.95: "95 %"},
        behind={"interval_coverage_without_noise": "noise of privacy left out"},
    ),
    ends="Intervals that hold the truth at ε = {place}",
    caption="Share of 95 % intervals that hold the numbers by which the records were made, or the exact numbers of the "
    "records where intervals are about these; grey: of intervals at the same centres that leave the noise of privacy "
    "out. A panel for each method with intervals, in the cases with the most of them. Means over {replicates}.",
    **BY_METHOD,
)
interval_half_width = Lines(
    "How long are 95 % intervals?",
    x="epsilon",
    y=Axis(
        {"half_width": "half-width of\n95 % intervals"},
        log=True,
        behind={"half_width_without_noise": "noise of privacy left out"},
    ),
    ends="Half-width of 95 % intervals at ε = {place}",
    caption="Half the length of 95 % intervals, their mean over the coefficients of a fit (of survival curves over the "
    "edges), against the target epsilon; grey: of the same intervals with the noise of privacy left out. A panel for "
    "each method with intervals, in the cases with the most of them. Means over {replicates}.",
    **BY_METHOD,
)


def _rows_of(name: str, source: Source, level: float) -> IntervalRows:
    """Coefficients and intervals of a fit; the errors name it."""
    if isinstance(source, CoefficientRows):
        return _around(list(source.names), source.values, source.reach)
    if _is_estimator(source):
        source._fitted_estimate()  # type: ignore[union-attr]
    intervals = getattr(source, "intervals_", None)
    bounds = intervals.bounds(level) if isinstance(intervals, Intervals) else None
    if bounds is not None and intervals is not None:
        return _around(_names_of(source, len(bounds)), intervals.centre, (bounds[:, 1] - bounds[:, 0]) / 2)
    table = source.conf_int(alpha=1 - level) if hasattr(source, "conf_int") else None
    if table is None:
        raise _no_intervals(name, source, intervals)
    values, bounds = _array(getattr(source, "params", None)), _array(table)
    if values.ndim != 1 or bounds.shape != (len(values), 2):
        raise ValueError(
            f"{name!r} has params {values.shape} and intervals {bounds.shape}: give the coefficients of one response."
        )
    return _around(_names_of(source, len(values)), values, (bounds[:, 1] - bounds[:, 0]) / 2)


def _around(names: list[str], values: np.ndarray, reach: np.ndarray) -> IntervalRows:
    return IntervalRows(names, values, values - reach, values + reach)


def _is_estimator(source: object) -> bool:
    """Whether it is an estimator of this library, whose base a figure of the pipeline does not load."""
    return hasattr(source, "_fitted_estimate")


def _no_intervals(name: str, source: object, intervals: Intervals | None) -> Exception:
    """Why there are none, and what there is instead."""
    if intervals is not None:
        return ValueError(
            f"{name!r} has no intervals: {intervals.reason}. Draw its numbers with "
            "CoefficientRows(names, values, reach), reach from noise_errors_, what the noise alone gives, where known."
        )
    if _is_estimator(source):
        return ValueError(
            f"{name!r} is of type {type(source).__name__}, which gives no intervals: draw its numbers with "
            "CoefficientRows(names, values, reach), reach from noise_errors_, what the noise alone gives, where known."
        )
    return TypeError(
        f"{name!r} is of type {type(source).__name__}, without params and conf_int: give a fitted estimator, a result "
        "of statsmodels or CoefficientRows."
    )


def _names_of(source: object, count: int) -> list[str]:
    """Names of so many coefficients: those of params or of the columns, else numbers."""
    params = getattr(source, "params", None)
    if params is not None and hasattr(params, "keys"):
        return list(map(str, params.keys()))
    known = getattr(getattr(source, "model", None), "exog_names", None)
    if known is None:
        columns = [f"x{place}" for place in range(getattr(source, "n_features_in_", count))]
        columns = list(getattr(source, "feature_names_in_", columns))
        # Hazard ratios have no intercept.
        known = columns if len(columns) == count else ["intercept", *columns]
    return list(map(str, known))


def _array(table: object) -> np.ndarray:
    """Numbers of an array, a pandas object or a mapping."""
    return np.asarray(list(table.values()) if isinstance(table, Mapping) else table, dtype=float)
