"""The plan of a design: all that its figure, its paragraph and its files are made from."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

# Any: numbers and texts of a file, a figure of matplotlib, and keys that belong to the method.
from typing import Any

import numpy as np

from ...core.errors import ConfigError
from ..study import Lazy
from .block import DesignBlock, checked_block
from .check import compare_fits
from .evaluate import LEAST_EPSILON, Evaluator, detectable, half_width_for, power_of
from .text import paragraph

# The figure is drawn in a room above this one.
DRAW = Lazy("partywise.plot.design:precision_figure")
# Epsilons of a line of the figure: how many, and the factors of the first and the last.
POINTS, REACH = 13, 8.0
# Epsilons at which the figure states what an attack reaches.
TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
PERCENT = 100.0


@dataclass(frozen=True)
class PrecisionPlan:
    """Precision of a study before its data, as `design` makes it.

    Parameters
    ----------
    name, method : str
    answers : str
        What followed from the rest: epsilon, n or precision.
    n, parties : int
        Records of all organisations together, and organisations.
    epsilon, delta : float
    unit : str
        Of the targets, empty without one.
    privacy : mapping
        What the release costs: ``unit``, ``relation``, ``mu``, ``trust``, ``true_positive_percent``, the most that an
        attack reaches at ``false_positive_percent``, also by epsilon (``attacks``).
    table : sequence of mappings
        Per target: expected value, half-width of the 95 % interval, that without noise, their ratio, what was wanted,
        effect, power, and the smallest difference that is detected with a power of 80 %.
    curve : sequence of mappings
        Half-widths over epsilon at n/2, n and 2 n.
    release : str
        Sentence on what leaves the organisations.
    assumptions : sequence of str
    block : mapping
        The keys of the design.
    """

    name: str
    method: str
    answers: str
    n: int
    parties: int
    epsilon: float
    delta: float
    unit: str
    privacy: Mapping[str, Any]
    table: Sequence[Mapping[str, Any]]
    curve: Sequence[Mapping[str, Any]]
    release: str
    assumptions: Sequence[str]
    block: Mapping[str, Any]

    @property
    def half_widths(self) -> dict[str, float]:
        """Half-width of the 95 % interval by target."""
        return {row["target"]: row["half_width"] for row in self.table}

    @property
    def power(self) -> dict[str, float]:
        """Power by target, of those with an effect."""
        return {row["target"]: row["power"] for row in self.table if row["power"] is not None}

    @property
    def detectable(self) -> dict[str, float]:
        """Smallest difference that is seen with a power of 80 %, by target."""
        return {row["target"]: row["detectable"] for row in self.table}

    def to_json(self) -> str:
        """Text of ``design.json``, which `from_json` reads."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> PrecisionPlan:
        """The plan of a file."""
        return cls(**json.loads(text))

    def figure(self) -> Any:
        """Draw half-widths over epsilon, as a figure of matplotlib; needs the extra ``figures``."""
        return DRAW(self)

    def paragraph(self) -> str:
        """Return at most 150 words for an ethics board."""
        return paragraph(self)

    def check(self, replicates: int = 100) -> list[dict[str, Any]]:
        """Fit made-up records of the declared model and compare.

        Parameters
        ----------
        replicates : int
            Number of fits.

        Returns
        -------
        list of dict
            Per target: the planned half-width, the median of the fits, its ratio to the plan with its standard error,
            the share of intervals that contain the expected value with its standard error, and the share of fits
            without an interval.
        """
        evaluator = Evaluator(checked_block(self.block, self.name), self.name)
        return compare_fits(evaluator, self.epsilon, self.n, list(self.half_widths.values()), replicates)


def design(
    method: str,
    *,
    parties: int,
    model: Mapping[str, object],
    n: int | None = None,
    epsilon: float | None = None,
    half_width: Mapping[str, float] | None = None,
    power: float | None = None,
    effect: Mapping[str, float] | None = None,
    delta: float = 1e-5,
    largest_epsilon: float = 32.0,
    **options: object,
) -> PrecisionPlan:
    """Compute the epsilon, number of records or precision of a study before its data.

    Parameters
    ----------
    method : str
        Study and protocol, such as ``'federated_survival.table'``, or ``'randomized_response'``.
    parties : int
        Organisations that take part.
    model : mapping
        What is declared of the records to come, by the keys of the method, with ``because``.
    n : int, optional
        Records of all parties together. With n one of ``epsilon``, ``half_width`` and ``power`` is given; without it
        ``epsilon`` and one of the others.
    epsilon : float, optional
        Of the release, for one record.
    half_width : mapping of str to float, optional
        Wanted half-widths of 95 % intervals, by target.
    power : float, optional
        Of the two-sided test at 5 % against every ``effect``, in (0.05, 1).
    effect : mapping of str to float, optional
        Differences that are to be seen, by target.
    delta : float
        Of every epsilon.
    largest_epsilon : float
        Beyond which none is proposed.
    **options
        Of the method.

    Returns
    -------
    PrecisionPlan
        ``epsilon``, ``n``, ``half_widths``, ``power``, ``detectable``, ``table``, ``figure()``, ``paragraph()`` and
        ``check(replicates)``.

    Raises
    ------
    ConfigError
        For keys that contradict each other, a method without a design, or a precision that is out of reach; the
        message names the key, the value and the remedy.

    Notes
    -----
    Half-widths count records and noise. The noise is that of the protocol on made-up records; no data are read.

    Examples
    --------
    >>> import partywise as pw
    >>> survey = {"shares": {"smoker": 0.2, "other": 0.8}, "because": "the form has two boxes"}
    >>> plan = pw.design("randomized_response", n=5000, parties=2, model=survey, half_width={"smoker": 0.03})
    >>> plan.epsilon, round(plan.half_widths["smoker"], 3)
    (0.957, 0.03)
    """
    block: dict[str, object] = {"method": method, "parties": parties, "model": dict(model)}
    block |= {"n": n, "epsilon": epsilon, "half_width": dict(half_width or {}), "power": power}
    block |= {"effect": dict(effect or {}), "delta": delta, "largest_epsilon": largest_epsilon, "options": options}
    return plan_of(block, "design")


def plan_of(written: Mapping[str, object], where: str) -> PrecisionPlan:
    """The plan of a block, whose place in a configuration errors name."""
    block = checked_block(written, where)
    evaluator = Evaluator(block, where)
    wanted = _wanted_widths(block)
    n, epsilon = block.n, block.epsilon
    if epsilon is None:
        assert n is not None
        epsilon = evaluator.epsilon_for(wanted, n)
    if n is None:
        n = evaluator.n_for(wanted, epsilon)
    if not evaluator.precision(epsilon, n).is_identified:
        raise ConfigError(
            f"{where}.epsilon is {epsilon:g}: at n = {n} what is released does not stand out of its noise; give a "
            "larger epsilon or more records."
        )
    total = evaluator.total(epsilon, n)
    return PrecisionPlan(
        name=where.rpartition(".")[2],
        method=block.method,
        answers=block.answers,
        n=n,
        parties=block.parties,
        epsilon=epsilon,
        delta=block.delta,
        unit=evaluator.model.measured_in,
        privacy={
            "unit": total.unit,
            "relation": total.relation,
            "epsilon_certified": total.epsilon_certified,
            "mu": total.mu_total if math.isfinite(total.mu_total) else None,
            "trust": total.trust,
            "true_positive_percent": PERCENT * total.tpr_at_1_percent,
            "false_positive_percent": 1,
            "attacks": [
                {"epsilon": tick, "true_positive_percent": PERCENT * evaluator.total(tick, n).tpr_at_1_percent}
                for tick in TICKS
                if epsilon / REACH <= tick <= min(REACH * epsilon, max(block.largest_epsilon, epsilon))
            ],
        },
        table=_table(evaluator, block, wanted, epsilon, n),
        curve=_curve(evaluator, list(wanted) or [evaluator.targets[0]], epsilon, n),
        release=evaluator.model.release,
        assumptions=list(evaluator.model.assumptions),
        block={key: value for key, value in written.items() if value not in (None, {})},
    )


def _wanted_widths(block: DesignBlock) -> dict[str, float]:
    """Wanted half-widths by target, those that a power asks for included."""
    if block.power is not None:
        return {name: half_width_for(float(size), block.power) for name, size in _numbers(block.effect).items()}
    return _numbers(block.half_width)


def _numbers(values: Mapping[str, object]) -> dict[str, float]:
    return {name: float(value) for name, value in values.items() if isinstance(value, int | float)}


def _table(
    evaluator: Evaluator, block: DesignBlock, wanted: Mapping[str, float], epsilon: float, n: int
) -> list[dict[str, Any]]:
    precision, rows = evaluator.precision(epsilon, n), list[dict[str, Any]]()
    effects = _numbers(block.effect)
    columns = (precision.values, precision.half_widths, precision.without_noise)
    for target, value, half_width, without_noise in zip(
        evaluator.targets, *map(np.ndarray.tolist, columns), strict=True
    ):
        effect = effects.get(target)
        rows.append(
            {
                "target": target,
                "value": value,
                "half_width": half_width,
                "half_width_without_noise": without_noise,
                "ratio": half_width / without_noise if without_noise > 0 else None,
                "wanted": wanted.get(target),
                "effect": effect,
                "power": None if effect is None else power_of(effect, half_width),
                "detectable": detectable(half_width),
            }
        )
    return rows


def _curve(evaluator: Evaluator, targets: Sequence[str], epsilon: float, n: int) -> list[dict[str, Any]]:
    """Half-widths of targets over epsilon at n/2, n and 2 n."""
    last = min(REACH * epsilon, max(evaluator.block.largest_epsilon, epsilon))
    points = np.geomspace(max(epsilon / REACH, LEAST_EPSILON), last, POINTS).tolist()
    epsilons = sorted([epsilon, *(point for point in points if not math.isclose(point, epsilon, rel_tol=1e-3))])
    places = {target: evaluator.targets.index(target) for target in targets}
    return [
        {
            "n": records,
            "epsilon": point,
            "target": target,
            "half_width": float(precision.half_widths[place]),
            "half_width_without_noise": float(precision.without_noise[place]),
            "is_identified": precision.is_identified,
        }
        for records in (max(n // 2, 1), n, 2 * n)
        for point, precision in zip(epsilons, evaluator.line(epsilons, records, epsilon), strict=True)
        for target, place in places.items()
    ]
