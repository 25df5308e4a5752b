"""Label-private logistic regression, as an estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import ClassVar, Literal

import numpy as np

from ...core.arrays import summary_rows
from ...core.checks import positive
from ...federation.estimators.column_estimator import Predictor, check_classes, check_coefficients, checked_range
from ...federation.estimators.fit_budget import Budget
from ...federation.estimators.inputs import column_labels, labels_of, numbers, party
from ...federation.estimators.parameters import Method
from ...federation.parties import lost_squares
from ...federation.secure_streams import Randomness
from ...models.intervals import Intervals, noise_line
from ...models.links import Link
from .model import LabelEstimate, LabelFacts, label_holders, variables_of
from .options import (
    BucketsOptions,
    LabelReferenceOptions,
    LabelSgdOptions,
    ObjectiveOptions,
    RoundsOptions,
    WalrOptions,
)
from .protocols import buckets, one_release, private_rows, reference, rounds

# Of the options of the study these ask an evaluator, who is not part of a fit.
EVALUATOR = ("noise_draws", "bounded_draws", "audit_draws", "trace_steps")

# Sizes of columns, root mean squares or for Newton's steps standard deviations, that private protocols suit: units in
# [0, 1] and standardised columns. Beyond, fits of 4,000 records at epsilon 2 lose up to all of their accuracy.
LARGEST_COLUMN, SMALLEST_COLUMN = 5.0, 0.05

LIKE = "(N, p): examples, features without the intercept"


class LabelPrivateLogisticRegression(Predictor):
    """Logistic regression whose labels stay private: one noisy dot-product is released (document 002), or a comparator.

    Parameters
    ----------
    protocol : {"walr", "buckets", "noisy_gradient", "label_sgd", "objective_perturbation", "non_private"}
        One release, one release of counts in cells of the features, noise in every step, in every step on samples,
        objective perturbation (which protects rows), or no privacy.
    epsilon : float, optional
        Target (inf: no noise); refused without privacy.
    delta : float
    tau : float
        Standard deviation of the logits that the planner of noise and ridge assumes.
    from_the_data : int
        Number of features whose range was read from the table: objective perturbation then promises labels only.
    public_bounds : sequence of p pairs, optional
        Range of every feature, from its meaning: it is mapped to [0, 1], and values outside count as the nearest end.
        Without it features are taken as they are, and private protocols refuse a column of another size.
    parties, random_state, shared_budget, clipped
        As in `Estimator`; ``parties`` and ``rng`` of a fit come before those given here.
    **options
        Fields of the protocol's dataclass in `partywise.methods.logistic.options`.

    Attributes
    ----------
    coef_ : ndarray of shape (p,)
        Of the features as given, like ``intercept_``; of ``"buckets"`` one per cell (``estimate_.cells``).
    intercept_ : float
    noise_errors_ : ndarray of shape (1 + p,), or None
        Standard deviation that the noise of privacy alone gives each coefficient, the intercept first; None where it
        is not computed: where steps do not settle, and where features are private (``"objective_perturbation"``). That
        of the intercept, and its interval, is nan where ``public_bounds`` begin elsewhere than at 0.
    noise_errors_reason_ : str
        Why ``noise_errors_`` of a noisy fit is None; else empty.
    intervals_ : partywise.models.intervals.Intervals
        Of the coefficients that made the labels, the intercept first, over labels and noise; or why there are none.
    conf_int_ : ndarray of shape (1 + p, 2), or None
        Its 95 % intervals. They are not about ``coef_``: their middle is the fit without a ridge.
    classes_ : ndarray of shape (2,)
        The labels, in order.
    estimate_, ledger_, transcript_, privacy_, epsilon_claimed_
        As in `Estimator`; the unit of ``privacy_`` is ``label``.

    Notes
    -----
    Formal guarantee: ``privacy_.epsilon_certified`` at ``delta`` for flipping one label; the features are public.

    Examples
    --------
    >>> import partywise as pw
    >>> X = pw.stream(1, "records").uniform(size=(2000, 2))
    >>> y = ["yes" if one > 0.5 else "no" for one in X[:, 0]]
    >>> model = pw.LabelPrivateLogisticRegression(epsilon=1.0, random_state=7).fit(X, y)
    >>> model.classes_.tolist(), model.score(X, y) > 0.8, round(model.privacy_.epsilon_certified, 2)
    (['no', 'yes'], True, 1.0)
    """

    unit = "label"
    _kind = "classifier"
    methods: ClassVar[Mapping[str, Method]] = {
        "walr": Method(WalrOptions, one_release.fit),
        "buckets": Method(BucketsOptions, buckets.fit),
        "noisy_gradient": Method(RoundsOptions, rounds.fit),
        "label_sgd": Method(LabelSgdOptions, rounds.fit),
        "objective_perturbation": Method(ObjectiveOptions, private_rows.fit),
        "non_private": Method(LabelReferenceOptions, reference.fit),
    }
    _estimate = LabelEstimate
    _model_fields = ("theta", "epsilon_claimed", "noise_errors", "intervals", "cells")
    _finite = ("coef_", "intercept_")
    _model_attributes: ClassVar[Mapping[str, object]] = {"classes_": np.ndarray}

    def __init__(
        self,
        protocol: str = "walr",
        *,
        epsilon: float | None = None,
        delta: float = 1e-5,
        tau: float = 2.0,
        from_the_data: int = 0,
        public_bounds: Sequence[Sequence[float]] | None = None,
        parties: Sequence[str] = ("trainer", "measurer"),
        random_state: Randomness | None = None,
        shared_budget: Budget | None = None,
        clipped: Literal["refuse", "allow"] = "refuse",
        **options: object,
    ) -> None:
        self.tau, self.from_the_data, self.public_bounds = tau, from_the_data, public_bounds
        self.clipped: Literal["refuse", "allow"] = clipped
        super().__init__(protocol, epsilon, delta, parties, random_state, shared_budget, options)

    def fit(
        self,
        X: np.ndarray,
        y: np.ndarray,
        *,
        parties: Sequence[str] | None = None,
        rng: Randomness | None = None,
    ) -> LabelPrivateLogisticRegression:
        """Simulate the protocol.

        Parameters
        ----------
        X : ndarray of shape (N, p)
            Features in [0, 1] or with ``public_bounds``, without a column for the intercept.
        y : ndarray of shape (N,)
            Labels 0 and 1, or any two others; which two there are counts as public.
        parties : two names, or more with ``holders="rows"``
            Who holds the features and fits, and who holds the labels: of several an equal part each, in order.
        rng : int, numpy.random.Generator or Streams
            Source of all noise.

        Raises
        ------
        ValueError
            If shapes disagree, values are not finite, there are other than two labels, there are not two parties, or
            a column is too large or small for a private protocol.
        TypeError
            For an ``rng`` of another kind, or an unknown option.

        Examples
        --------
        >>> import partywise as pw
        >>> X = pw.stream(1, "records").uniform(size=(2000, 2))
        >>> y = pw.stream(1, "labels").uniform(size=2000) < X[:, 0]
        >>> model = pw.LabelPrivateLogisticRegression(epsilon=1.0).fit(X, y, parties=("clinic", "registry"), rng=7)
        >>> [(row["sender"], row["name"]) for row in model.transcript_]
        [('clinic', 'features'), ('registry', 'noisy dot-product')]
        >>> model.coef_.round(1), model.noise_errors_[1:].round(1)
        (array([5.3, 0.5]), array([0.2, 0.1]))
        >>> model.predict_proba([[0.1, 0.5], [0.9, 0.5]]).round(1)  # the truth of the second label is .1 and .9
        array([[0.9, 0.1],
               [0.1, 0.9]])
        """
        records = numbers("X", X, 2, LIKE)
        units = self._in_units(records)
        scaled = self._clip(units)
        features = with_intercept(scaled)
        labels, classes = labels_of(y, len(features), both=False)
        parties = self._division(parties)
        several = getattr(self._options(), "holders", "one") == "rows"
        if (
            isinstance(parties, str)
            or not isinstance(parties, Sequence)
            or not (len(parties) == 2 or (several and len(parties) > 2))
        ):
            more = "" if several else " (more holders of labels with holders='rows')"
            raise ValueError(
                f"parties={parties!r}: give two names, of who holds the features and who the labels{more}."
            )
        positive(tau=self.tau)
        n, k = features.shape
        for name in EVALUATOR:
            if self._given.get(name):
                raise ValueError(
                    f"{name}={self._given[name]!r} asks the evaluator of a study, not a fit: leave it out."
                )
        blocks = [party(parties[0], "passive", range(k), X=features), *label_holders(labels, parties[1:])]
        names, variables = ("intercept", *(f"x{j}" for j in range(k - 1))), variables_of(scaled)
        public = LabelFacts(n, k, names, self.from_the_data, variables)
        settings = SimpleNamespace(tau=self.tau, delta=self.delta)
        self._require_scale(column_labels(X) or names[1:], scaled)
        if self.public_bounds is not None:
            beyond = int(np.count_nonzero(units != scaled))
            blocks[0].clips.add("public_bounds", beyond, units.size, lost_squares(units, scaled))
        self._simulate(blocks, n, rng, public=public, settings=settings)
        self.classes_, self.n_features_in_ = classes, k - 1
        self._keep_names(X)
        self._derive()
        self._judge_records(records, labels)
        return self

    def _ranges(self, p: int) -> tuple[np.ndarray, np.ndarray]:
        """Lower end and width (p,) of the public range of each feature; 0 and 1 without one."""
        if self.public_bounds is None:
            return np.zeros(p), np.ones(p)
        if len(self.public_bounds) != p:
            raise ValueError(f"public_bounds has {len(self.public_bounds)} entries for {p} columns: give one a column.")
        pairs = [checked_range(f"public_bounds[{j}]", pair) for j, pair in enumerate(self.public_bounds)]
        low, high = np.array(pairs, dtype=float).reshape(p, 2).T
        return low, high - low

    def _in_units(self, X: np.ndarray) -> np.ndarray:
        """Features (N, p) with their public ranges mapped to [0, 1]."""
        if self.public_bounds is None:
            return X
        low, width = self._ranges(X.shape[1])
        units: np.ndarray = (X - low) / width
        return units

    def _clip(self, units: np.ndarray) -> np.ndarray:
        """Features (N, p) as the protocol has them: values outside a public range count as its nearest end."""
        return units if self.public_bounds is None else np.clip(units, 0, 1)

    def _require_scale(self, names: Sequence[str], X: np.ndarray) -> None:
        """ValueError for a column (N,) of a size that noise, ridge and steps of a private protocol do not suit."""
        options = self._options()
        # Objective perturbation and cells have a check of their own.
        if not options.uses_epsilon or isinstance(options, ObjectiveOptions | BucketsOptions):
            return
        # Newton's steps do not depend on where columns lie, descents do.
        newton = getattr(options, "trainer", "") == "newton"
        sizes = X.std(axis=0) if newton else np.sqrt(np.mean(np.square(X), axis=0))
        for name, size, largest in zip(names, sizes, np.abs(X).max(axis=0, initial=0.0), strict=True):
            if size > LARGEST_COLUMN or 0 < largest < SMALLEST_COLUMN:
                raise ValueError(
                    f"X has values up to {largest:.3g} in size in column {name!r}: protocol={self.protocol!r} suits "
                    "columns of about 1; give public_bounds, the public range of each column, or scale the columns."
                )

    def _derive(self) -> None:
        estimate = self._fitted_estimate()
        low, width = np.zeros(len(estimate.theta) - 1), np.ones(len(estimate.theta) - 1)
        if estimate.cells is None:
            low, width = self._ranges(len(width))
        self.coef_ = estimate.theta[1:] / width
        self.intercept_ = float(estimate.theta[0] - self.coef_ @ low)
        # Errors of the intercept of other units need covariances, unless ranges begin at 0.
        units = np.append(np.nan if np.any(low) else 1.0, 1 / width)
        self.noise_errors_ = None if estimate.noise_errors is None else estimate.noise_errors * units
        self.noise_errors_reason_, self.intervals_ = estimate.noise_errors_reason, estimate.intervals.times(units)
        self.conf_int_ = self.intervals_.bounds()

    def _withhold_intervals(self, withheld: Intervals) -> None:
        super()._withhold_intervals(withheld)
        self.conf_int_ = None

    def _holder(self) -> str:
        return next(name for name, role, _ in self._places if role == "passive")

    def _check_model(self) -> None:
        estimate = self._fitted_estimate()
        count = self.n_features_in_ if estimate.cells is None else estimate.cells.count - 1
        check_coefficients("theta", estimate.theta, count)
        check_classes(self)

    def _summary_head(self) -> list[str]:
        noise = [noise_line(self.noise_errors_reason_)] if self._options().uses_epsilon else []
        return [*super()._summary_head(), *noise]

    def _summary_table(self) -> list[str]:
        """Coefficients with what the noise of privacy gives each of them, and their intervals."""
        columns = {"coef": np.append(self.intercept_, self.coef_)}
        if self.noise_errors_ is not None:
            columns["noise sd"] = self.noise_errors_
        if self.conf_int_ is not None:
            columns |= {"2.5 %": self.conf_int_[:, 0], "97.5 %": self.conf_int_[:, 1]}
        return summary_rows(columns, ["intercept", *(f"x{place}" for place in range(len(self.coef_)))], 10)

    @property
    def _link(self) -> Link:
        link: Link = self._fitted_estimate().link
        return link

    def _scores(self, X: np.ndarray) -> np.ndarray:
        features = with_intercept(self._clip(self._in_units(self._records(X, 2, LIKE))))
        estimate = self._fitted_estimate()
        scores: np.ndarray = estimate.design(features) @ estimate.theta
        return scores


def with_intercept(X: np.ndarray) -> np.ndarray:
    """Features (N, p + 1) with a constant in column 0."""
    return np.column_stack([np.ones(len(X)), X])
