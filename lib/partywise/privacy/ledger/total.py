"""What one view has learnt about one unit: laws by stratum in, an epsilon with what is proved of it out."""

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..accounting.calibration import rho_from_mu, simple_zcdp_epsilon
from ..accounting.compose import Composition, compose
from ..accounting.law import Law
from ..accounting.tradeoff import mu_upper, power
from .event import Event
from .parallel import by_partition, joint_cells

__all__ = ["Total", "ViewSum", "default_views", "sum_view", "total_of"]


@dataclass(frozen=True)
class Total:
    """What one view has learnt about one unit.

    Parameters
    ----------
    epsilon_certified : float
        Proved epsilon at ``delta``; inf if any row is unproved.
    epsilon_certified_part : float
        The same for the proved rows alone.
    eps_simple : float
        rho + 2 sqrt(rho log(1/delta)) with ``rho_total``, for comparison.
    mu_total : float
        Composed Gaussian-DP parameter; nan if a row that counts has another law, inf if any row is unproved.
    mu_upper : float
        A Gaussian-DP parameter of the whole: ``mu_total`` where that is a number; inf where none is proved.
    tpr_at_1_percent, tpr_at_0_1_percent : float
        No attack on the view has a larger true-positive rate at these rates of false positives; 1 if any row is
        unproved.
    rho_total : float
        mu_total^2 / 2, or the summed zCDP of the largest stratum if there are other laws; inf if any row is unproved.
    delta : float
    n_releases : int
        Rows that count.
    certified : bool
        Whether every row that counts is proved.
    view_worst : str
        Name of the view.
    unit, relation : str
        What changes between neighbours, and how.
    trust_model, sampler : str
        Of the rows that count, joined by ``;``; ``"none"`` if there is none.
    assumption : str
        Of the worst coalition: who colludes with nobody, and which key holder with none of those who have what its key
        closes; ``"none"`` if nothing is assumed. The total holds for every coalition that keeps it.
    """

    epsilon_certified: float
    epsilon_certified_part: float
    eps_simple: float
    mu_total: float
    mu_upper: float
    tpr_at_1_percent: float
    tpr_at_0_1_percent: float
    rho_total: float
    delta: float
    n_releases: int
    certified: bool
    view_worst: str
    unit: str
    relation: str
    trust_model: str
    sampler: str
    assumption: str = "none"


@dataclass(frozen=True)
class ViewSum:
    """What one view has learnt of a record before it is turned into an epsilon: one `Composition` a choice of cells."""

    strata: tuple[Composition, ...]
    certified: bool
    counted: tuple[Event, ...]

    @property
    def gaussian(self) -> bool:
        """Whether mu alone says it all."""
        return all(stratum.gaussian for stratum in self.strata)

    @property
    def mu(self) -> float:
        """Gaussian-DP parameter of the largest stratum; nan if there are other laws."""
        if any(stratum.rho or stratum.finite or stratum.sampled for stratum in self.strata):
            return math.nan
        return max(stratum.mu for stratum in self.strata)

    @property
    def mu_upper(self) -> float:
        """Gaussian-DP parameter that every stratum satisfies."""
        return max(mu_upper(stratum) for stratum in self.strata)

    def power(self, fpr: float) -> float:
        """Bound of the true-positive rate of every attack on the proved rows: that of the largest stratum."""
        return max(power(stratum, fpr) for stratum in self.strata)

    @property
    def rho(self) -> float:
        """zCDP parameter of the largest stratum."""
        mu = self.mu
        return max(stratum.zcdp for stratum in self.strata) if math.isnan(mu) else float(rho_from_mu(mu))

    def epsilon(self, delta: float) -> float:
        """Epsilon of the proved rows: that of the largest stratum."""
        strata = self.strata if not self.gaussian else [max(self.strata, key=lambda stratum: stratum.mu_squared)]
        return max(stratum.epsilon(delta) for stratum in strata)


def sum_view(rows: Iterable[tuple[Event, Law | float | None]]) -> ViewSum:
    """Compose the rows that a view counts, each with its cost for the unit that is asked about.

    A record lies in one cell of every partition, so the rows of one cell a partition and those of ``"*"`` make one
    composition, and the largest counts (`joint_cells`).
    """
    laws: dict[str, list[Law]] = {"*": []}
    numeric: dict[str, list[float]] = {}
    counted, certified = [], True
    for event, cost in rows:
        if cost is None:
            certified = False
        elif isinstance(cost, Law):
            laws.setdefault(event.stratum, []).append(cost)
            if event.delta_numeric:
                numeric.setdefault(event.stratum, []).append(event.delta_numeric)
        else:
            continue
        counted.append(event)
    parts = {name: compose(found, math.fsum(numeric.get(name, ()))) for name, found in laws.items()}
    everywhere = parts["*"]
    joint = joint_cells(cells.values() for cells in by_partition(parts).values())
    strata = {everywhere.merge(part) for part in joint}
    return ViewSum(tuple(sorted(strata, key=repr)), certified, tuple(counted))


def total_of(name: str, found: ViewSum, unit: str, delta: float, assumption: str = "none") -> Total:
    """The `Total` of a view."""
    part, simple = found.epsilon(delta), _simple(found.rho, delta)
    proved = found.certified
    return Total(
        epsilon_certified=part if proved else math.inf,
        epsilon_certified_part=part,
        eps_simple=simple if proved else math.inf,
        mu_total=found.mu if proved else math.inf,
        mu_upper=found.mu_upper if proved else math.inf,
        tpr_at_1_percent=found.power(0.01) if proved else 1.0,
        tpr_at_0_1_percent=found.power(0.001) if proved else 1.0,
        rho_total=found.rho if proved else math.inf,
        delta=float(delta),
        n_releases=len(found.counted),
        certified=proved,
        view_worst=name,
        unit=unit,
        relation="label_flip" if unit in ("label", "user_label") else "replace_one",
        trust_model=";".join(sorted({event.trust_model for event in found.counted})) or "none",
        sampler=";".join(sorted({event.sampler for event in found.counted})) or "none",
        assumption=assumption,
    )


def default_views(parties: Sequence[str]) -> dict[str, frozenset[str]]:
    """Adversaries that are listed one by one: each party, all but one for each owner, the public."""
    names = frozenset(parties)
    if len(names) != len(parties):
        raise ValueError(f"parties={tuple(parties)} repeats a name.")
    views = {name: frozenset([name]) for name in parties}
    if len(names) > 2:
        views |= {f"all but {name}": names - {name} for name in parties}
    return views | {"public": frozenset()}


@functools.lru_cache(maxsize=65536)
def _simple(rho: float, delta: float) -> float:
    return float(simple_zcdp_epsilon(rho, delta))
