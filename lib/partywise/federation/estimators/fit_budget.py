"""Budget of several fits on the same records: one account for a whole search over settings and folds."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import RLock
from typing import NoReturn

from ...core.errors import BudgetExceeded, CertificationError
from ...privacy.accounting.calibration import gaussian_epsilon, zcdp_epsilon
from ...privacy.ledger.budget import PrivacyFilter
from ...privacy.ledger.event import Event
from ...privacy.payer import Payer
from ...privacy.rounding import upward
from ...privacy.strata import EVERYBODY, partition_of


class Budget:
    """Budget of all fits that share it; clones of an estimator share the budget of the original.

    Parameters
    ----------
    epsilon, delta : float
        Of everything that is released by all fits together.
    unit : str, optional
        What it protects; by default the unit of the first estimator that is fitted with it.
    rule : {"gdp", "zcdp", "pure"}
        How costs add, as of `PrivacyFilter`.
    numeric_reserve : float
        Part of ``delta`` for what profiles do not cover, likewise.

    Raises
    ------
    ValueError
        If an argument is out of range, or an estimator has another unit.
    BudgetExceeded
        In a fit, before the noise of a release is drawn that does not fit. What the fit released before stays charged.
    TypeError
        If it is copied into another process, which would count on its own: with ``n_jobs`` above 1.

    Notes
    -----
    A fold has most of the records of any other, so the costs of fits add up, as those of releases that are chosen
    after earlier ones were seen (`PrivacyFilter`). Within a fit clients hold different persons, so that the dearest
    client counts. A fit is charged for all draws, for any observer. Each fit has noise of its own, also from one
    seed: two fits with the same noise would show records by their difference.

    Examples
    --------
    >>> import partywise as pw
    >>> budget = pw.Budget(epsilon=2.0, delta=1e-5)
    >>> model = pw.LabelPrivateLogisticRegression(epsilon=1.0, random_state=1, shared_budget=budget)
    >>> X = pw.stream(1, "features").uniform(size=(500, 2))
    >>> for _ in range(2):
    ...     fitted = model.fit(X, X[:, 0] > 0.5)
    >>> print(budget)
    epsilon 1.466 of 2 at delta 1e-05 spent by 2 fits, for one label
    >>> budget.fits, round(budget.epsilon_spent, 2)
    (2, 1.47)
    >>> round(budget.filter.amount_spent, 3), round(budget.remaining, 3)  # in mu squared, which adds up
    (0.144, 0.108)
    """

    def __init__(
        self,
        epsilon: float,
        delta: float,
        *,
        unit: str | None = None,
        rule: str = "gdp",
        numeric_reserve: float = 0.0,
    ) -> None:
        self._filter = PrivacyFilter(epsilon, delta, unit=unit, rule=rule, numeric_reserve=numeric_reserve)
        self._fits, self._lock, self._process = 0, RLock(), os.getpid()

    @property
    def fits(self) -> int:
        """Fits that have begun."""
        return self._fits

    @property
    def epsilon_spent(self) -> float:
        """Epsilon of all fits so far, at the budget's delta."""
        spent, rule, delta = self._filter.amount_spent, self._filter.rule, self._filter.delta
        if not spent or rule == "pure":
            return spent
        left = delta - self._filter.numeric_reserve
        return float(gaussian_epsilon(math.sqrt(spent), left) if rule == "gdp" else zcdp_epsilon(spent, left))

    @property
    def remaining(self) -> float:
        """Remainder of the budget, in the currency of the rule: mu squared, rho or epsilon."""
        return self._filter.remaining

    def __repr__(self) -> str:
        spent = (
            f"epsilon {upward(self.epsilon_spent)} of {self._filter.epsilon:g} at delta {self._filter.delta:g} spent by"
        )
        unit = f", for one {self._filter.unit}" if self._filter.unit else ""
        return f"{spent} {self._fits} fit{'s' * (self._fits != 1)}{unit}"

    @contextmanager
    def fit(self, unit: str) -> Iterator[Payer]:
        """The payer of one fit by an estimator of this unit; other fits wait until it has ended.

        Parameters
        ----------
        unit : {"row", "label", "features", "user"}
            Of the estimator.

        Raises
        ------
        TypeError
            In another process than the one that made the budget.
        ValueError
            If the budget protects another unit.

        Examples
        --------
        >>> import partywise as pw
        >>> budget = pw.Budget(epsilon=2.0, delta=1e-5)
        >>> total = pw.record_sum([[0.3, 0.4]], pw.Public(1.0, because="upper limit of the assay"), unit="row")
        >>> release = pw.Gaussian(mu=0.2)(total, pw.stream(4, "noise"), owner="hospital", release_id="sum")
        >>> with budget.fit("row") as payer:  # as an estimator does; its generators ask the payer before they draw
        ...     payer.charge(release.event)
        >>> print(budget)
        epsilon 0.7256 of 2 at delta 1e-05 spent by 1 fit, for one row
        """
        if os.getpid() != self._process:
            self._refuse()
        with self._lock:
            known = self._filter
            if known.unit is None:
                terms = {"unit": unit, "rule": known.rule, "numeric_reserve": known.numeric_reserve}
                self._filter = PrivacyFilter(known.epsilon, known.delta, **terms)  # type: ignore[arg-type]
            elif known.unit != unit:
                raise ValueError(
                    f"unit={known.unit!r} of the budget: this estimator protects one {unit}, whose costs do not add to "
                    "those of another unit; give it a budget of its own."
                )
            self._fits += 1
            yield _FitPayer(self)

    def charge(self, before: PrivacyFilter, events: Sequence[Event]) -> None:
        """Count what a fit has released so far, after what the others had spent before it.

        Parameters
        ----------
        before : PrivacyFilter
            What was charged when the fit began.
        events : sequence of Event
            Everything that the fit has released, and now releases.

        Raises
        ------
        BudgetExceeded
            If they do not fit; the budget stays as it was.
        ValueError
            If less would be spent than there is: an amount never falls.

        Examples
        --------
        >>> import partywise as pw
        >>> budget = pw.Budget(epsilon=2.0, delta=1e-5, unit="row")
        >>> total = pw.record_sum([[0.3, 0.4]], pw.Public(1.0, because="upper limit of the assay"), unit="row")
        >>> release = pw.Gaussian(mu=0.2)(total, pw.stream(4, "noise"), owner="hospital", release_id="sum")
        >>> budget.charge(budget.filter, [release.event])
        >>> round(budget.epsilon_spent, 2)
        0.73
        """
        trial = copy.copy(before)
        try:
            for event in _largest_cells(events, before):
                trial.spend(event)
        except CertificationError as error:
            raise BudgetExceeded(f"{str(error).rstrip('.')}. Of the budget of these fits: {self!r}.") from None
        if trial.amount_spent < self._filter.amount_spent:
            raise ValueError(
                f"before has spent {before.amount_spent:.6g}, with these events {trial.amount_spent:.6g}, and the "
                f"budget {self._filter.amount_spent:.6g}: an amount never falls; give the filter of the budget."
            )
        self._filter = trial

    @property
    def filter(self) -> PrivacyFilter:
        """Filter with everything that was charged so far."""
        return self._filter

    def __copy__(self) -> Budget:
        return self

    def __deepcopy__(self, memo: object) -> Budget:
        return self

    def __sklearn_clone__(self) -> Budget:
        return self

    def __reduce__(self) -> NoReturn:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise TypeError(
            "a budget is one account in one process, and a copy would count on its own: fit with n_jobs=1 or in "
            "threads, and save a fitted model after model.set_params(shared_budget=None)."
        )


class _FitPayer:
    """Asked before noise is drawn or a value leaves in the clear; holds all releases of one fit."""

    def __init__(self, budget: Budget) -> None:
        self._budget, self._before, self._events = budget, budget.filter, tuple[Event, ...]()

    def charge(self, *events: Event) -> None:
        """Charge events of the fit, as a `partywise.privacy.payer.Payer` does."""
        self._budget.charge(self._before, together := (*self._events, *events))
        self._events = together


def _largest_cells(events: Sequence[Event], like: PrivacyFilter) -> list[Event]:
    """Releases about all records, and of every partition those about the cell that costs most."""
    releases, cells = list[Event](), dict[str, dict[str, list[Event]]]()
    for event in events:
        # What is not compared by one number counts in whatever cell.
        if event.stratum == EVERYBODY or event.shares or any(event.delta_terms):
            releases.append(event)
        else:
            cells.setdefault(partition_of(event.stratum), {}).setdefault(event.stratum, []).append(event)

    def amount(rows: Sequence[Event]) -> float:
        tally = PrivacyFilter(math.inf, 0.0, unit=like.unit, rule=like.rule)
        return math.fsum(tally.carry(event) for event in rows)

    return releases + [event for partition in cells.values() for event in max(partition.values(), key=amount)]
