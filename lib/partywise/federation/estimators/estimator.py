"""Common parts of the estimators of all methods: one simulated run, its cost, its verdict.

An estimator is a protocol with arrays in front of it: ``Estimator(...).fit(X, y, parties=..., rng=...)`` simulates all
parties in one process and keeps the estimate, the ledger, the transcript and the total of the worst coalition. What a
person with data of one party only runs is the protocol itself.
"""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import fields, replace
from numbers import Real
from pathlib import Path

# Any: options of a method that is known by its name only, and the user's data frames.
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ...core.checks import check_numbers
from ...core.errors import ModelError
from ...core.randomness import Streams
from ...core.verdicts import (
    OK,
    REFUSED,
    Verdict,
    bounds_verdict,
    estimate_verdict,
    finite_verdict,
    first_fault,
    intervals_verdict,
)
from ...models.intervals import Intervals, interval_reason, reason_of, summary_lines
from ...privacy.rounding import upward
from ..folds import Fold, Spec
from ..parties import Party, clip_shares, largest_clip_shares, split_rows
from ..payloads import Transcript
from ..run import Run, simulate
from ..secure_streams import Randomness, addresses_of, floating_point, fresh_streams
from .fit_budget import Budget
from .inputs import column_labels, groups_of, numbers, vector
from .parameters import NotFittedError, Parameters, TransformerMixin, short_text
from .saved_model import save

# Largest number of an argument: floats hold sixth powers of it.
LARGEST = 1e50


class Estimator(Parameters):
    """Parameters, a simulated run and its privacy; a method package adds what its arrays mean.

    It is an estimator of scikit-learn where that is installed, and works in its pipelines and searches.

    Parameters
    ----------
    protocol : str
        One of ``methods``.
    epsilon : float, optional
        Target of calibrated noise, inf for none. Required where the options calibrate noise to it, refused elsewhere.
    delta : float
        Of every epsilon.
    parties : object, optional
        Who holds what, as of ``fit``, where a value of its own comes before this one.
    random_state : int, numpy.random.Generator, Streams or SecureStreams, optional
        As ``rng`` of ``fit``, where a value of its own comes before this one. An integer gives every fit the same
        draws, except for fits that share a budget. None, here and in ``fit``, draws every fit from fresh entropy of the
        operating system (`SecureStreams`), and ``privacy_`` states "seed: none"; noise in floating point, which has no
        such source, is refused.
    shared_budget : Budget, optional
        What this fit and all others that share it may cost together; clones share it.
    clipped : {"refuse", "allow"}
        Of estimators whose protocols clip: whether a fit is refused where more than half of the entries (of boxes) or
        records (of balls) lie beyond their public bounds. From 5 % on, and with ``"allow"``, it warns. Methods as
        published warn in either case. A fit has no intervals where more than 1 % of a party's own lie beyond.
    **options
        Fields of the protocol's dataclass of options.

    Attributes
    ----------
    status_ : str
        ``"ok"``, or why the estimate is not to be used, or not yet: one of `partywise.core.verdicts.STATUSES`.
    status_reason_ : str
        The sentence that the fit warned with, which names an argument or column, a value and the remedy; else empty.
        It may come from the records: a saved model has none of it.
    estimate_ : object
        What the protocol returned.
    ledger_ : Ledger
        Every release with its cost.
    transcript_ : list of dict
        Every message, in order; ``to_frame()`` makes a table of it, as of ``ledger_`` and ``privacy_``.
    n_features_in_ : int
        Columns of the fit.
    feature_names_in_ : ndarray of str
        Their names, of a data frame or as given; later records with other names or another order are refused.
    privacy_ : Total
        What the worst coalition learnt: epsilon at ``delta``, mu, the best attack's true-positive rates. Where fits
        share a budget, also how many there are, what they cost together, and what a choice among them costs.
    """

    n_features_in_: int
    classes_: np.ndarray
    status_: str
    status_reason_: str
    clipped = "refuse"
    unit: ClassVar[str] = "row"
    # What a saved model has: fields of the estimate, and attributes that do not follow from these, with their types.
    _estimate: ClassVar[type]
    _model_fields: ClassVar[tuple[str, ...]] = ()
    _model_attributes: ClassVar[Mapping[str, Any]] = {}
    _without_holder: ClassVar[str] = "every party keeps its part"
    # Attributes that are finite unless the fit failed.
    _finite: ClassVar[tuple[str, ...]] = ()
    _clip_verdict: Verdict
    _intervals_verdict: Verdict
    # Name, role and columns of every party, and the names of places without data.
    _places: tuple[tuple[str, str, tuple[int, ...]], ...]

    def _target(self, options: Any) -> float:
        """Epsilon of the run; a missing one is never read as no noise."""
        if not options.uses_epsilon:
            if self.epsilon is not None:
                raise ValueError(
                    f"epsilon={self.epsilon!r} is not read by protocol={self.protocol!r} with these options, whose "
                    "noise is not calibrated to a target; leave it out."
                )
            return math.inf
        if self.epsilon is None:
            raise ValueError(f"epsilon is missing: protocol={self.protocol!r} calibrates its noise to it (inf: none).")
        if not self.epsilon > 0:
            raise ValueError(f"epsilon={self.epsilon!r} must be positive.")
        return float(self.epsilon)

    def _simulate(
        self, parties: Sequence[Party], n: int, rng: Randomness | None, *, public: object, settings: object
    ) -> Any:
        """Run the protocol on all ``n`` records and keep what it left behind."""
        check_numbers(epsilon=self.epsilon, delta=self.delta)
        if self.delta is None or not 0 < self.delta < 1:
            raise ValueError(f"delta={self.delta!r} must lie in (0, 1), well below 1/n.")
        if self.clipped not in ("refuse", "allow"):
            raise ValueError(f"clipped={self.clipped!r}: use 'refuse' or 'allow'.")
        options = self._options()
        self._require_moderate_numbers(options)
        spec, fold = Spec(options, settings, settings, public), Fold(np.zeros(n, dtype=int), 0, 1)
        epsilon, randomness = self._target(options), self.random_state if rng is None else rng
        rng_for: Callable[..., Any] = (
            fresh_streams()
            if randomness is None
            else addresses_of(randomness, "random_state" if rng is None else "rng")
        )
        if self.shared_budget is not None and not isinstance(self.shared_budget, Budget):
            raise TypeError(f"shared_budget={self.shared_budget!r}: give a pw.Budget(epsilon, delta) for several fits.")
        with nullcontext() if self.shared_budget is None else self.shared_budget.fit(self.unit) as payer:
            if self.shared_budget is not None and isinstance(rng_for, Streams):
                rng_for = Streams(int(rng_for("fit", self.shared_budget.fits).integers(2**63)), "estimator")
            extra = (*self._method.extra, *getattr(options, "places", ()))
            run = Run(parties, epsilon=epsilon, fold=fold, rng_for=rng_for, spec=spec, extra=extra)
            if payer is not None:
                run.charge_to(payer)
            try:
                estimate = simulate(self._method.fit, run)
            except (AttributeError, TypeError) as error:
                if randomness is None and (why := floating_point(error)) is not None:
                    raise ValueError(
                        f"random_state=None draws from the operating system, and protocol={self.protocol!r} {why}: its "
                        "noise is for experiments; give a seed, random_state=1."
                    ) from error
                raise
        self._clip_verdict = self._judge_clips(clip_shares(parties))
        self._intervals_verdict = intervals_verdict(self._by_values(largest_clip_shares(parties)))
        self.estimate_ = estimate
        self.ledger_, self.transcript_ = run.channel.ledger, Transcript(run.channel.transcript())
        holdings = {party.name: (party.role, tuple(party.columns)) for party in parties}
        self._places = tuple((name, *holdings.get(name, ("", ()))) for name in run.names)
        total = self.ledger_.worst_total(run.names, self.unit, self.delta)
        self.privacy_ = replace(total, seed="none" if randomness is None else "given", **self._search_cost())
        self.epsilon_claimed_ = float(self.estimate_.epsilon_claimed)
        least = min((len(value) for party in parties for value in party.block.values() if np.ndim(value)), default=n)
        if self.delta >= 1 / least and math.isfinite(self.privacy_.epsilon_certified):
            warnings.warn(
                f"delta={self.delta:.3g} is not below 1/n = {1 / least:.3g}: publishing a random record meets it.",
                UserWarning,
                stacklevel=3,
            )
        return self.estimate_

    def _require_moderate_numbers(self, options: Any) -> None:
        """ValueError for an argument with a number whose powers, as noise and grids have them, floats do not hold.

        It is asked of every argument but those that all estimators have, so that a new public bound is in no list.
        """
        common = inspect.signature(Estimator.__init__).parameters
        arguments = {name: getattr(self, name) for name in self._parameter_names() if name not in common}
        for name, value in (
            {entry.name: getattr(options, entry.name) for entry in fields(options)} | arguments
        ).items():
            beyond = [number for number in _numbers_in(value) if LARGEST < abs(number) < math.inf]
            if beyond:
                raise ValueError(
                    f"{name}={short_text(value)} has {beyond[0]:g}: its numbers must be at most {LARGEST:g} in size; "
                    "declare a value that suits the data, in other units if need be."
                )

    def _search_cost(self) -> dict[str, Any]:
        """Return what the fits of a shared budget cost together, by the field of a total; nothing for its only fit."""
        budget = self.shared_budget
        if budget is None or budget.fits < 2:
            return {}
        # Whoever chooses among them compares scores, which no noise protects.
        return {"fits": budget.fits, "epsilon_of_fits": budget.epsilon_spent, "epsilon_of_choice": math.inf}

    def _judge_clips(self, shares: Mapping[str, float]) -> Verdict:
        """Judge what was clipped; ValueError where that is more than half, unless the caller allows it."""
        verdict = bounds_verdict(self._by_values(shares))
        if max(shares.values(), default=0) > REFUSED and self.clipped == "refuse" and not self._method.published:
            raise ValueError(f"{verdict.reason}, or give clipped='allow'.")
        return verdict

    def _by_values(self, shares: Mapping[str, float]) -> dict[str, float]:
        """Shares by the arguments that declare their bounds, with the values of these."""
        options = self._options()
        return {self._with_values(bound, options): share for bound, share in shares.items()}

    def _with_values(self, bound: str, options: object) -> str:
        """Arguments that declare a bound, with their values."""
        values = {name: getattr(self, name, getattr(options, name, None)) for name in bound.split(", ")}
        return ", ".join(f"{name}={short_text(value)}" for name, value in values.items())

    def _judge_intervals(self) -> Verdict:
        """Return whether too many records are clipped for the intervals of a fit to hold."""
        verdict, intervals = self._intervals_verdict, getattr(self, "intervals_", None)
        return OK if intervals is None or not intervals.needs_little_clipping else verdict

    def _withhold_intervals(self, withheld: Intervals) -> None:
        """Set what follows from intervals, of which there are none."""
        self.intervals_ = withheld

    def _judge(self, *verdicts: Verdict) -> None:
        """Set the status of a fit whose attributes are set, and warn once unless it is ``ok``.

        verdicts : of the method, on its records and on what it predicts for them
        """
        arrays = {name: getattr(self, name) for name in self._finite}
        withheld = self._judge_intervals()
        clips = self._clip_verdict, withheld
        self._state(first_fault((estimate_verdict(self.estimate_), *verdicts, finite_verdict(arrays), *clips)))
        if withheld.status != "ok":
            self._withhold_intervals(Intervals(reason=reason_of(withheld.status, withheld.reason)))
        del self._clip_verdict, self._intervals_verdict
        if self.status_ != "ok":
            warnings.warn(f"the fit is {self.status_}: {self.status_reason_}.", UserWarning, stacklevel=3)

    def _state(self, verdict: Verdict) -> None:
        self.status_, self.status_reason_ = verdict.status, verdict.reason
        # What the estimate has none of gets its reason here; what was withheld has one.
        if reason := interval_reason(self.estimate_, self._options()):
            self.intervals_ = Intervals(reason=reason)

    def save(self, path: Path | str) -> None:
        """Write the fitted model as a JSON file, from which `partywise.scoring.load` makes it again, to the last bit.

        The file is of the place that has the whole model when the protocol has ended (``held_by``): what predicts, with
        the settings, the ledger and what the fit cost, and no record. Where that place has data of its own, these are
        in the file unprotected (key ``unprotected_units``): a reader of it has what the model reveals of them.

        Parameters
        ----------
        path : Path or str
            Where to write.

        Raises
        ------
        ModelError
            If no place has the whole model, or a setting has no JSON form; nothing is written.

        Examples
        --------
        >>> import json
        >>> import tempfile
        >>> from pathlib import Path
        >>> import partywise as pw
        >>> X = pw.stream(1, "records").uniform(size=(500, 2))
        >>> model = pw.LabelPrivateLogisticRegression(epsilon=1.0, random_state=7).fit(X, X[:, 0] > 0.5)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(Path(folder, "model.json"))
        ...     found = json.loads(Path(folder, "model.json").read_text())
        >>> found["held_by"], found["privacy"]["unprotected_units"], round(found["privacy"]["epsilon_certified"], 2)
        ('trainer', ['features of trainer'], 1.0)
        """
        save(self, Path(path))

    def _holder(self) -> str:
        """The place that has the whole model; ModelError where none has."""
        if not self._method.holder:
            raise ModelError(
                f"with protocol={self.protocol!r} no place has the whole {type(self).__name__}: {self._without_holder}."
            )
        return self._method.holder

    def _check_model(self) -> None:
        """ValueError for an estimate of a file that no fit leaves."""

    def _derive(self) -> None:
        """Set the attributes that follow from the estimate."""

    def _keep_names(self, X: ArrayLike, names: Sequence[str] | None = None) -> None:
        """Keep the names of the columns of a fit: as given, else those of a data frame, else none."""
        self.__dict__.pop("feature_names_in_", None)
        labels = column_labels(X) if names is None else tuple(map(str, names))
        if labels is not None:
            self.feature_names_in_ = np.array(labels, dtype=object)

    def _records(self, X: ArrayLike, ndim: int, like: str) -> np.ndarray:
        """Records with the columns of the fit; ValueError for other names, another order or another number of them."""
        self._fitted_estimate()
        labels, names = column_labels(X), getattr(self, "feature_names_in_", None)
        if labels is not None and names is not None and labels != tuple(names):
            raise ValueError(
                f"X has the columns {list(labels)}: the fit was made with {names.tolist()}; give these in this order, "
                "X[list(model.feature_names_in_)], or an array where other names mean the same."
            )
        array = numbers("X", X, ndim, like, missing=self._may_miss)
        if array.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {array.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input: give the columns of the fit."
            )
        return array

    def _division(self, parties: Any) -> Any:
        """Division of the data among parties: as given to the fit, else to the estimator."""
        division = self.parties if parties is None else parties
        if division is None:
            raise ValueError("parties is missing: give who holds what, in the estimator or in its fit.")
        return division

    def _clients(self, parties: Any, arrays: Mapping[str, np.ndarray], **constants: np.ndarray) -> list[Party]:
        """Clients that hold the rows of arrays, as given to the fit, else to the estimator, and constants each."""
        n = len(next(iter(arrays.values())))
        groups = [list(rows) for rows in groups_of(self._division(parties), n, split_rows)]
        blocks = ({name: array[rows] for name, array in arrays.items()} for rows in groups)
        return [Party(f"client {k}", "client", block | constants) for k, block in enumerate(blocks, 1)]

    def summary(self) -> str:
        """Table of the estimate: above it what the fit cost, below it what intervals are of, or why there are none.

        Returns
        -------
        str

        Raises
        ------
        NotFittedError
            Before the fit.

        Examples
        --------
        >>> import partywise as pw
        >>> X = pw.stream(1, "records").uniform(size=(2000, 2))
        >>> y = pw.stream(1, "labels").uniform(size=2000) < X[:, 0]
        >>> print(pw.LabelPrivateLogisticRegression(epsilon=1.0, random_state=7).fit(X, y).summary())
        epsilon 1 at delta 1e-05, for one label
        noisy: 'noise sd' is what the noise of privacy alone gives a coefficient, to first order
        <BLANKLINE>
                          coef    noise sd       2.5 %      97.5 %
        intercept       -2.894      0.1035      -3.306      -2.514
        x0               5.306      0.1546       4.762       5.909
        x1              0.4721      0.1028     0.04974      0.9013
        <BLANKLINE>
        intervals: of the coefficients that made the labels, over labels and noise, without the ridge
        """
        self._fitted_estimate()
        return "\n".join([*self._summary_head(), *self._summary_table(), *self._interval_lines()])

    def _summary_head(self) -> list[str]:
        """Lines above the table of a summary."""
        return [self._cost()]

    def _summary_table(self) -> list[str]:
        """Rows of the table of a summary, as of `summary_rows`; none where an estimate is not a table."""
        return []

    def _interval_lines(self) -> list[str]:
        """Lines below the table of a summary."""
        intervals = getattr(self, "intervals_", None)
        return [] if intervals is None else summary_lines(intervals)

    def _cost(self) -> str:
        """Cost of the fit, the first line of a summary."""
        spent = self.privacy_
        if spent.fits:
            return f"{self._own_cost()}; {spent.search}"
        return self._own_cost()

    def _own_cost(self) -> str:
        spent = self.privacy_
        note = "" if spent.verified else ", not verified"
        return f"epsilon {upward(spent.epsilon_certified)} at delta {spent.delta:g}, for one {spent.unit}{note}"

    def _shown_class(self, places: np.ndarray) -> np.ndarray:
        """Labels as they were given, by their places among the classes."""
        labels: np.ndarray = self.classes_[places.astype(int)]
        return labels

    def _accuracy(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> float:
        """Share of labels that are predicted right."""
        right = self.predict(X) == vector("y", y, len(X))  # type: ignore[attr-defined, arg-type]
        weights = np.ones(len(right)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        return float(np.average(right, weights=weights))

    def _fitted_estimate(self) -> Any:
        if not hasattr(self, "estimate_"):
            raise NotFittedError(
                f"this {type(self).__name__} is not fitted yet: call its fit first, as in model.fit(X, y)."
            )
        return self.estimate_


def _numbers_in(value: object) -> list[float]:
    """Return the numbers of an argument: a number, or nested sequences of these; others have none."""
    if isinstance(value, str):
        return []
    if isinstance(value, Iterable):
        return [number for part in value for number in _numbers_in(part)]
    return [float(value)] if isinstance(value, Real) else []


class Transformer(TransformerMixin, Estimator):
    """An estimator whose `transform` makes columns, one for each row of ``components_``."""

    components_: np.ndarray
    _column: ClassVar[str] = "component"

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        """Names of the columns that `transform` returns, such as component1, component2, ...

        Parameters
        ----------
        input_features : object, optional
            Not read: no column comes from one of the input alone.

        Returns
        -------
        ndarray of str

        Examples
        --------
        >>> import partywise as pw
        >>> X = pw.stream(1, "records").normal(size=(200, 4))
        >>> model = pw.VerticalPCA(parties=[[0, 1], [2, 3]], random_state=7).fit(X)
        >>> print(*model.get_feature_names_out())
        component1 component2 component3 component4
        """
        self._fitted_estimate()
        return np.array([f"{self._column}{place + 1}" for place in range(len(self.components_))], dtype=object)
