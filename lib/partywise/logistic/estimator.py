"""Label-private logistic regression, as an estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import ClassVar

import numpy as np

from ..checks import positive
from ..federation.account.fit_budget import Budget
from ..federation.column_estimator import Predictor, check_classes, check_coefficients
from ..federation.estimator import Method, labels_of, numbers, party, summary_rows
from ..federation.secure_streams import Randomness
from ..models.links import Link
from .model import Estimate, PublicFacts
from .options import LabelSgdOptions, ObjectiveOptions, ReferenceOptions, RoundsOptions, WalrOptions
from .protocols import one_release, private_rows, reference, rounds

# Of the options of the study these ask an evaluator, who is not part of a fit.
EVALUATOR = ("noise_draws", "bounded_draws", "audit_draws", "trace_steps")

LIKE = "(N, p): examples, features without the intercept"


class LabelPrivateLogisticRegression(Predictor):
    """Logistic regression whose labels stay private: one noisy dot-product is released (seed 002), or a comparator.

    Parameters
    ----------
    protocol : {"walr", "noisy_gradient", "label_sgd", "objective_perturbation", "non_private"}
        One release, noise in every step, in every step on samples, objective perturbation (which protects rows), or
        no privacy.
    epsilon : float, optional
        Target (inf: no noise); refused without privacy.
    delta : float
    tau : float
        Standard deviation of the logits that the planner of noise and ridge assumes.
    from_the_data : int
        Number of features whose range was read from the table: objective perturbation then promises labels only.
    parties, random_state, shared_budget
        As in `Estimator`; ``parties`` and ``rng`` of a fit come before those given here.
    **options
        Fields of the protocol's dataclass in `partywise.logistic.options`.

    Attributes
    ----------
    coef_ : ndarray of shape (p,)
    intercept_ : float
    noise_errors_ : ndarray of shape (1 + p,), or None
        Standard deviation that the noise of privacy alone gives each coefficient, the intercept first; None where it
        is not computed: where steps do not settle, and where features are private (``"objective_perturbation"``).
    intervals_ : partywise.models.intervals.Intervals
        Of the coefficients that made the labels, the intercept first, over labels and noise; or why there are none.
    conf_int_ : ndarray of shape (1 + p, 2), or None
        Its 95 % intervals. They are not about ``coef_``: what a ridge takes is added back, to first order.
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
        "noisy_gradient": Method(RoundsOptions, rounds.fit),
        "label_sgd": Method(LabelSgdOptions, rounds.fit),
        "objective_perturbation": Method(ObjectiveOptions, private_rows.fit),
        "non_private": Method(ReferenceOptions, reference.fit),
    }
    _estimate = Estimate
    _model_fields = ("theta", "epsilon_claimed", "noise_errors", "intervals")
    _model_attributes: ClassVar[Mapping[str, object]] = {"classes_": np.ndarray}

    def __init__(
        self,
        protocol: str = "walr",
        *,
        epsilon: float | None = None,
        delta: float = 1e-5,
        tau: float = 2.0,
        from_the_data: int = 0,
        parties: Sequence[str] = ("trainer", "measurer"),
        random_state: Randomness | None = None,
        shared_budget: Budget | None = None,
        **options: object,
    ) -> None:
        self.tau, self.from_the_data = tau, from_the_data
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
            Features in [0, 1], without a column for the intercept.
        y : ndarray of shape (N,)
            Labels 0 and 1, or any two others; which two there are counts as public.
        parties : two names
            Who holds the features and fits, and who holds the labels.
        rng : int, numpy.random.Generator or Streams
            Source of all noise.

        Raises
        ------
        ValueError
            If shapes disagree, values are not finite, there are other than two labels, or there are not two parties.
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
        features = with_intercept(numbers("X", X, 2, LIKE))
        labels, classes = labels_of(y, len(features), both=False)
        parties = self._division(parties)
        if isinstance(parties, str) or not isinstance(parties, Sequence) or len(parties) != 2:
            raise ValueError(f"parties={parties!r}: give two names, of who holds the features and who the labels.")
        positive(tau=self.tau)
        n, k = features.shape
        for name in EVALUATOR:
            if self._given.get(name):
                raise ValueError(
                    f"{name}={self._given[name]!r} asks the evaluator of a study, not a fit: leave it out."
                )
        held = [
            party(parties[0], "passive", range(k), X=features),
            party(parties[1], "active", y=labels),
        ]
        names = ("intercept", *(f"x{j}" for j in range(k - 1)))
        public, settings = PublicFacts(n, k, names, self.from_the_data), SimpleNamespace(tau=self.tau, delta=self.delta)
        self._simulate(held, n, rng, public=public, settings=settings)
        self.classes_, self.n_features_in_ = classes, k - 1
        self._keep_names(X)
        self._derive()
        return self

    def _derive(self) -> None:
        found = self._fitted_estimate()
        self.intercept_, self.coef_ = float(found.theta[0]), found.theta[1:]
        self.noise_errors_ = found.noise_errors
        self.intervals_, self.conf_int_ = found.intervals, found.intervals.bounds()

    def _holder(self) -> str:
        return next(name for name, role, _ in self._places if role == "passive")

    def _check_model(self) -> None:
        check_coefficients("theta", self._fitted_estimate().theta, self.n_features_in_)
        check_classes(self)

    def summary(self) -> str:
        """The coefficients with what the noise of privacy gives each of them, and what the fit costs.

        Examples
        --------
        >>> import partywise as pw
        >>> X = pw.stream(1, "records").uniform(size=(2000, 2))
        >>> y = pw.stream(1, "labels").uniform(size=2000) < X[:, 0]
        >>> print(pw.LabelPrivateLogisticRegression(epsilon=1.0, random_state=7).fit(X, y).summary())
        epsilon 1 at delta 1e-05, for one label
        noisy: 'noise sd' is what the noise of privacy alone gives a coefficient, to first order
        intervals: over labels and noise, ridge taken off
        <BLANKLINE>
                          coef    noise sd       2.5 %      97.5 %
        intercept       -2.894      0.1035      -3.293      -2.527
        x0               5.306      0.1546       4.784       5.887
        x1              0.4721      0.1028     0.05251      0.8985
        """
        theta, errors = self._fitted_estimate().theta, self.noise_errors_
        given = {"coef": theta}
        if errors is not None:
            given["noise sd"] = errors
        if self.conf_int_ is not None:
            given |= {"2.5 %": self.conf_int_[:, 0], "97.5 %": self.conf_int_[:, 1]}
        rows = [self._cost()]
        if errors is not None:
            rows.append("noisy: 'noise sd' is what the noise of privacy alone gives a coefficient, to first order")
        elif self._options().uses_epsilon:
            rows.append("noisy: the standard deviation of its noise is not computed for this fit")
        reason = self.intervals_.reason
        rows.append(f"no intervals: {reason}" if reason else "intervals: over labels and noise, ridge taken off")
        names = ["intercept", *(f"x{place}" for place in range(len(theta) - 1))]
        return "\n".join([*rows, *summary_rows(given, names, 10)])

    @property
    def _link(self) -> Link:
        link: Link = self._fitted_estimate().link
        return link

    def _scores(self, X: np.ndarray) -> np.ndarray:
        found: np.ndarray = with_intercept(self._records(X, 2, LIKE)) @ self._fitted_estimate().theta
        return found


def with_intercept(X: np.ndarray) -> np.ndarray:
    """Features (N, p + 1) with a constant in column 0."""
    return np.column_stack([np.ones(len(X)), X])
