"""Total of one view about one unit: profiles by stratum in, an epsilon with what is proved of it out.

A record lies in one cell of every partition: cells compose in parallel, partitions add up. Which cells of two
partitions have records in common is not asked: a record may lie in any one of each.

Sampling gains nothing where nothing is proved, which is reported, because the difference is a factor of hundreds.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

# Any: a call that declares a field has the type of the field.
from typing import Any, TypeVar

import numpy as np

from ...core.checks import Scalar
from ..accountants import Accountant, accountants
from ..accountants.exact import Exact
from ..accounting.calibration import rho_from_mu
from ..accounting.compose import Composition, arrange, compose
from ..accounting.privacy_profile import PrivacyProfile
from ..accounting.tradeoff import mu_upper, power
from ..rounding import upward
from ..strata import EVERYBODY, partition_of
from .chain import Frame, frame_of
from .event import Event

T = TypeVar("T")
# Choices of one cell a partition that are composed one by one; beyond, cells of a partition have a common bound.
CHOICES = 1024
REMEDY = {
    "replace_one": "state relation='add_remove' or 'label_flip' where one of two neighbours contributes nothing to the "
    "sampled sum, and ask partywise.privacy.ledger.compose.epsilon",
    "add_remove": "a total is about the replacement of a record, a group of two; for a record added or removed ask "
    "partywise.privacy.ledger.compose.epsilon",
}
# Accountants whose epsilon every total holds.
REPORTED = {name: accountant for name, accountant in accountants().items() if accountant.variable}


def _number(meaning: str, **more: Any) -> Any:
    """A field of a total, with what it means."""
    return field(metadata={"meaning": meaning}, **more)


@dataclass(frozen=True)
class Total:
    """Total of what one view has learnt about one unit: an epsilon by each accountant, and the numbers next to it.

    `MEANINGS` gives what each number means, by its name in cubes and tables. Where a row that counts is not proved they
    are infinite, and the true-positive rates 1. ``epsilon_public`` and ``epsilon_any`` belong to the total of a worst
    coalition; they are NaN in that of a view that was named.

    epsilons : from the name of an accountant to its epsilon at ``delta``, of which ``epsilons["exact"]`` is certified,
        and infinite where an accountant has no rule for a profile
    compositions : what was composed, one for each choice of cells of the partitions
    seed : of an estimator's fit, ``"given"``, or ``"none"`` where the operating system drew everything
    fits, epsilon_of_fits, epsilon_of_choice : of a fit that shares a budget with earlier ones, how many there are with
        it, the epsilon of all of them at the delta of the budget, and that of a choice among them by scores of records,
        which is infinite
    verified : False where the rows are taken from a file without a signature
    """

    epsilons: Mapping[str, float]
    epsilon_certified_part: float = _number("epsilon of the certified rows alone, for the worst coalition")
    mu_total: float = _number("composed Gaussian-DP parameter of the worst coalition")
    mu_upper: float = _number("Gaussian-DP parameter that bounds all releases of the worst coalition")
    tpr_at_1_percent: float = _number(
        "largest true-positive rate of the worst coalition's attack at 1 % false positives"
    )
    tpr_at_0_1_percent: float = _number(
        "largest true-positive rate of the worst coalition's attack at 0.1 % false positives"
    )
    rho_total: float = _number("composed zCDP parameter of the worst coalition")
    delta: float = _number("delta of every certified epsilon")
    n_releases: int = _number("releases that count for the worst coalition")
    certified: bool = _number("1 if every release that counts is proved")
    view_worst: str = _number("coalition that learns most of all that keep the assumption; 'any coalition' bounds them")
    unit: str = _number("what changes between neighbouring data sets")
    relation: str = _number("neighbouring relation")
    trust_model: str = _number("who is trusted with raw values, over the releases that count")
    sampler: str = _number("random source of the noise")
    trust: str = _number(
        "who must not join what they know, and what must stay closed, for it to hold", default="nobody"
    )
    colluders: int = _number("parties with data that may join what they know: against these it is certified", default=0)
    epsilon_public: float = _number("epsilon against those who see what is published alone", default=math.nan)
    epsilon_any: float = _number(
        "epsilon against any parties but the record's own holder, whoever joins", default=math.nan
    )
    compositions: tuple[Composition, ...] = field(default=(), repr=False)
    seed: str = ""
    fits: int = 0
    epsilon_of_fits: float = math.nan
    epsilon_of_choice: float = math.nan
    verified: bool = field(default=True, compare=False)

    @property
    def epsilon_certified(self) -> float:
        """Proved epsilon at ``delta``, by the exact accountant."""
        return self.epsilons[Exact.name]

    def epsilon_by(self, accountant: type[Accountant]) -> float:
        """Epsilon at ``delta`` by an accountant, also by one that enters no total by itself (``"rdp"``)."""
        return _largest(self.compositions, self.delta, accountant) if self.certified else math.inf

    def to_row(self) -> dict[str, Scalar]:
        """Every number by its name in cubes and tables, in the order of `MEANINGS`."""
        values = {REPORTED[name].variable: epsilon for name, epsilon in self.epsilons.items()} | vars(self)
        return {name: values[name] for name in MEANINGS}

    def to_frame(self) -> Frame:
        """One row, of the adversary ``view_worst``: the columns of `to_row`. ImportError without pandas."""
        return frame_of([self.to_row()], list(MEANINGS))

    def __repr__(self) -> str:
        spent = (
            f"epsilon {upward(self.epsilon_certified)} at delta {self.delta:.4g} for one {self.unit} ({self.relation})"
        )
        seen = f"{self.n_releases} release{'s' * (self.n_releases != 1)} seen by {self.view_worst}"
        proved = ("" if self.certified else ", not all proved") + ("" if self.verified else ", not verified")
        more = "; seed: none" * (self.seed == "none") + (f"; {self.search}" if self.fits else "")
        return f"{spent}, mu {self.mu_upper:.4g}: {seen}{proved}; trust: {self.trust}{more}"

    @property
    def search(self) -> str:
        """Cost of the fits of a shared budget together, as a part of a sentence."""
        together = f"the {self.fits} fits of its budget cost epsilon {upward(self.epsilon_of_fits)} together"
        return f"{together}, and a choice among them by exact scores epsilon {upward(self.epsilon_of_choice)}"


# Fields of a total that grow with what was learnt.
_NUMBERS = (
    "epsilon_certified_part",
    "mu_total",
    "mu_upper",
    "tpr_at_1_percent",
    "tpr_at_0_1_percent",
    "rho_total",
    "epsilon_public",
    "epsilon_any",
)


def _meanings() -> dict[str, str]:
    """The exact epsilon and its part, those of other accountants, and the rest."""
    by_accountants = {accountant.variable: accountant.meaning for accountant in REPORTED.values()}
    part, *rest = ((each.name, each.metadata["meaning"]) for each in fields(Total) if each.metadata)
    return {Exact.variable: Exact.meaning, **dict([part]), **by_accountants, **dict(rest)}


# What the numbers of a total mean, by their names in cubes and tables.
MEANINGS = _meanings()


@dataclass(frozen=True)
class ViewSum:
    """Sum of what one view has learnt of a record, before it is an epsilon: one `Composition` per choice of cells."""

    strata: tuple[Composition, ...]
    certified: bool
    counted_rows: tuple[Event, ...]

    @property
    def gaussian(self) -> bool:
        """Whether mu alone states the whole profile."""
        return all(stratum.gaussian for stratum in self.strata)

    @property
    def mu(self) -> float:
        """Gaussian-DP parameter of the largest stratum; nan if there are other profiles."""
        if any(s.rho or s.finite or s.picks or s.sampled_gaussians for s in self.strata):
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

    def epsilon(self, delta: float, accountant: type[Accountant] = Exact) -> float:
        """Epsilon of the proved rows: that of the largest stratum; inf where the accountant has no rule for one."""
        return _largest(self.strata, delta, accountant)


def _largest(strata: Sequence[Composition], delta: float, accountant: type[Accountant]) -> float:
    """The largest epsilon of some compositions; of Gaussians alone that of the largest mu."""
    if all(stratum.gaussian for stratum in strata):
        strata = [max(strata, key=lambda stratum: stratum.mu_squared)]
    if not all(map(accountant.supports, strata)):
        return math.inf
    return max(accountant(stratum).epsilon(delta) for stratum in strata)


def sum_view(rows: Iterable[tuple[Event, PrivacyProfile | float | None]]) -> ViewSum:
    """Compose the rows that a view counts, each with its cost for the unit that is asked about.

    A record lies in one cell of every partition, so the rows of one cell a partition and those of ``"*"`` make one
    composition, and the largest counts (`joint_cells`).
    """
    profiles: dict[str, list[PrivacyProfile]] = {"*": []}
    numeric: dict[str, list[float]] = {}
    distances: dict[str, list[float]] = {}
    counted, certified = [], True
    for event, cost in rows:
        if cost is None:
            certified = False
        elif isinstance(cost, PrivacyProfile):
            profiles.setdefault(event.stratum, []).append(cost)
            for terms, part in zip((numeric, distances), event.delta_terms, strict=True):
                if part:
                    terms.setdefault(event.stratum, []).append(part)
        else:
            continue
        counted.append(event)
    parts = {
        name: compose(stratum_profiles, math.fsum(numeric.get(name, ())), math.fsum(distances.get(name, ())))
        for name, stratum_profiles in profiles.items()
    }
    everywhere = parts["*"]
    joint = joint_cells(cells.values() for cells in by_partition(parts).values())
    strata = {everywhere.merge(part) for part in joint}
    return ViewSum(tuple(sorted(strata, key=repr)), certified, tuple(counted))


def total_of(name: str, view_sum: ViewSum, unit: str, delta: float) -> Total:
    """The `Total` of a view."""
    part, proved = view_sum.epsilon(delta), view_sum.certified
    others = {name: accountant for name, accountant in REPORTED.items() if accountant is not Exact}
    epsilons = {Exact.name: part, **{name: view_sum.epsilon(delta, accountant) for name, accountant in others.items()}}
    return Total(
        epsilons=epsilons if proved else dict.fromkeys(epsilons, math.inf),
        epsilon_certified_part=part,
        mu_total=view_sum.mu if proved else math.inf,
        mu_upper=view_sum.mu_upper if proved else math.inf,
        tpr_at_1_percent=view_sum.power(0.01) if proved else 1.0,
        tpr_at_0_1_percent=view_sum.power(0.001) if proved else 1.0,
        rho_total=view_sum.rho if proved else math.inf,
        delta=float(delta),
        n_releases=len(view_sum.counted_rows),
        certified=proved,
        view_worst=name,
        unit=unit,
        relation="label_flip" if unit in ("label", "user_label") else "replace_one",
        trust_model=";".join(sorted({event.trust_model for event in view_sum.counted_rows})) or "none",
        sampler=";".join(sorted({event.sampler for event in view_sum.counted_rows})) or "none",
        compositions=view_sum.strata,
    )


def largest_total(totals: Sequence[Total]) -> Total:
    """The `Total` of the record that has paid most, each of its numbers the largest of all records."""
    worst = max(totals, key=lambda total: (not total.certified, total.epsilon_certified))
    if len(totals) == 1:
        return worst
    numbers: dict[str, Any] = {name: float(np.max([getattr(total, name) for total in totals])) for name in _NUMBERS}
    return replace(
        worst,
        epsilons={name: max(total.epsilons[name] for total in totals) for name in worst.epsilons},
        colluders=min(total.colluders for total in totals),
        compositions=tuple(dict.fromkeys(part for total in totals for part in total.compositions)),
        **numbers,
    )


def warn_of_sampling(rows: Iterable[tuple[Event, PrivacyProfile | float | None]]) -> None:
    """Warn of the first release that is charged as if every record were included, though it was sampled.

    For questions about one record: a question about persons states groups, for which no gain by sampling is proved.
    """
    for event, cost in rows:
        if event.rate < 1 and isinstance(cost, PrivacyProfile) and cost.rate == 1 and not cost.free:
            warnings.warn(
                f"sampling at rate={event.rate:g} of release {event.release_id!r} is not credited under "
                f"relation={event.relation!r}: its profile is charged as if every record were included; "
                f"{REMEDY[event.relation]}.",
                stacklevel=4,
            )
            return


def by_partition(strata: Mapping[str, T]) -> dict[str, dict[str, T]]:
    """Strata but ``"*"`` by the partition that they are cells of."""
    partitions = defaultdict[str, dict[str, T]](dict)
    for name, part in strata.items():
        if name != EVERYBODY:
            partitions[partition_of(name)][name] = part
    return dict(partitions)


def joint_cells(partitions: Iterable[Collection[Composition]]) -> frozenset[Composition]:
    """Compositions of one cell a partition, of which one is at least what any record has cost."""
    cells = [frozenset(part) for part in partitions if part]
    if len(cells) <= 1:
        return cells[0] if cells else frozenset([Composition()])
    joint = frozenset([Composition()])
    for part in cells:
        largest = _largest_cells(part)
        if len(joint) * len(largest) > CHOICES:
            largest = frozenset([_dominating(largest)])
        joint = frozenset(composition.merge(other) for composition in joint for other in largest)
    return joint


def _largest_cells(cells: frozenset[Composition]) -> frozenset[Composition]:
    """Return the largest of the cells with Gaussians alone, and all other cells."""
    gaussians = [cell for cell in cells if cell.gaussian]
    largest = {max(gaussians, key=lambda cell: cell.mu_squared)} if gaussians else set[Composition]()
    return frozenset(largest | (cells - frozenset(gaussians)))


def _dominating(cells: Iterable[Composition]) -> Composition:
    """One that has as much of every profile as any of them."""
    finite: Counter[tuple[float, int | None]] = Counter()
    sampled: Counter[tuple[float, float]] = Counter()
    picks: Counter[float] = Counter()
    cells = list(cells)
    for cell in cells:
        finite |= Counter({(epsilon, k): count for epsilon, k, count in cell.finite})
        sampled |= Counter({(mu, rate): count for mu, rate, count in cell.sampled_gaussians})
        picks |= Counter(dict(cell.picks))
    squares, rho, numeric, tv = (
        max(getattr(cell, name) for cell in cells) for name in ("mu_squared", "rho", "delta_numeric", "tv")
    )
    return arrange(squares, rho, finite, sampled, numeric, tv, picks)
