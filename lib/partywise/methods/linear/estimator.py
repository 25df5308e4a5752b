"""Vertical linear and logistic regression, as an estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ...core.checks import positive
from ...core.verdicts import size_verdict
from ...federation.estimators.column_estimator import (
    Predictor,
    check_classes,
    check_coefficients,
    held_columns,
    response_of,
)
from ...federation.estimators.fit_budget import Budget
from ...federation.estimators.inputs import groups_of, labels_of, numbers
from ...federation.estimators.parameters import Method
from ...federation.parties import split_columns
from ...federation.secure_streams import Randomness
from ...privacy.accounted_values import Public
from .model import LinearEstimate, LinearFacts
from .options import LinearCertifiedOptions, LinearExactOptions, LinearPooledOptions, LinearPublishedOptions
from .protocols import certified, pooled, published
from .protocols.common import SERVER

DECLARED = "declared by the caller of the estimator"


class VerticalLinear(Predictor):
    """Linear or logistic regression of columns that several parties hold, by gradient steps (document 003).

    Parameters
    ----------
    protocol : {"certified", "published", "pooled", "exact"}
        Masked sums under encryption; the source's rounds, whose key holder sees the direction of every row; the same
        steps, or the exact fit, without protection.
    bounds : float or array_like of shape (d,), optional
        Largest absolute value of the features, from public things. Required by ``certified``, refused elsewhere.
    label_bound : float, optional
        The same of y, for ``certified`` with ``model="linear"``.
    delta : float
        Of what the ledger answers.
    parties, random_state, shared_budget
        As in `Estimator`; ``parties`` and ``rng`` of a fit come before those given here.
    **options
        Fields of the protocol's dataclass in `partywise.methods.linear.options`.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
    intercept_ : float
    classes_ : ndarray of shape (2,)
        The labels in order, of a logistic model.
    estimate_, ledger_, transcript_, privacy_, epsilon_claimed_
        As in `Estimator`; the unit of ``privacy_`` is ``row``.

    Notes
    -----
    Formal guarantee: none in epsilon, which is infinite. With ``certified`` the key holder's view costs nothing
    (``ledger_.total("server", ...)``), and party k learns the gradient sums of its own columns.

    Examples
    --------
    >>> import partywise as pw
    >>> X = pw.stream(1, "records").normal(size=(200, 4))
    >>> model = pw.VerticalLinear("exact", ridge=0.1, parties=[[0, 1], [2, 3]], random_state=7)
    >>> model.fit(X, X[:, 0] + X[:, 3] > 0).score(X, X[:, 0] + X[:, 3] > 0) > 0.95
    True
    >>> model.decision_function(X[:2]).round(1)  # log odds of the second label
    array([ 1.2, -0.2])
    >>> model.predict_proba(X[:2]).round(3)
    array([[0.225, 0.775],
           [0.549, 0.451]])
    >>> model.predict_log_proba(X[:2]).round(1)
    array([[-1.5, -0.3],
           [-0.6, -0.8]])
    """

    unit = "row"
    methods: ClassVar[Mapping[str, Method]] = {
        "certified": Method(LinearCertifiedOptions, certified.fit, (SERVER,)),
        "published": Method(LinearPublishedOptions, published.fit, (SERVER,), SERVER),
        "pooled": Method(LinearPooledOptions, pooled.fit, holder="active"),
        "exact": Method(LinearExactOptions, pooled.fit, holder="active"),
    }
    _has_noise = False
    _estimate = LinearEstimate
    _model_fields = ("coefficients", "epsilon_claimed")
    _finite = ("coef_", "intercept_")
    _model_attributes: ClassVar[Mapping[str, object]] = {"classes_": np.ndarray}
    _without_holder = "every party keeps the coefficients of its columns; take another protocol"

    def __init__(
        self,
        protocol: str = "certified",
        *,
        bounds: ArrayLike | None = None,
        label_bound: float | None = None,
        delta: float = 1e-5,
        parties: int | Sequence[Sequence[int]] = 2,
        random_state: Randomness | None = None,
        shared_budget: Budget | None = None,
        **options: object,
    ) -> None:
        self.bounds, self.label_bound = bounds, label_bound
        super().__init__(protocol, None, delta, parties, random_state, shared_budget, options)

    def fit(
        self,
        X: np.ndarray,
        y: np.ndarray,
        *,
        parties: int | Sequence[Sequence[int]] | None = None,
        rng: Randomness | None = None,
    ) -> VerticalLinear:
        """Simulate the protocol.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Features, without a column for the intercept.
        y : ndarray of shape (n,)
            Labels 0 and 1, or any two others, which count as public; numbers with ``model="linear"``.
        parties : int or sequence of sequences of int
            How many share the columns, in runs, or the columns of each; the last one holds y.
        rng : int, numpy.random.Generator, Streams or SecureStreams
            Source of batches, keys and masks. All but `SecureStreams` repeat what they draw: for experiments.

        Raises
        ------
        ValueError
            If shapes disagree, values are not finite or beyond their bounds, or ``parties`` is not a partition.
        CertificationError
            If ``certified`` gets no bounds.
        OverflowError
            If sums could leave what a ciphertext holds.
        TypeError
            For an ``rng`` of another kind, or an unknown option.

        Examples
        --------
        >>> import numpy as np
        >>> import partywise as pw
        >>> X = pw.stream(1, "records").uniform(-1, 1, size=(200, 4))
        >>> y = X[:, 0] + X[:, 3] > 0
        >>> split = pw.VerticalLinear(bounds=1.0, cipher="sized").fit(X, y, parties=[[0, 1], [2, 3]], rng=7)
        >>> pooled = pw.VerticalLinear("pooled").fit(X, y, rng=7)
        >>> np.allclose(split.coef_, pooled.coef_, atol=1e-9)  # as if all columns were in one place
        True
        >>> split.ledger_.total("server", "row", 1e-5).epsilon_certified  # the key holder learns nothing
        0.0
        """
        features = numbers("X", X, 2, "(n, d): records, features without the intercept")
        response, d = self._response(y, len(features)), features.shape[1]
        groups = groups_of(self._division(parties), d, lambda count, k: split_columns(count, k, "contiguous"))
        owners = held_columns(features, response, groups, len(groups) - 1)
        self._simulate(owners, len(features), rng, public=self._public(d), settings=SimpleNamespace())
        self.n_features_in_ = d
        self._keep_names(X)
        self._derive()
        options = self._options()
        determined = isinstance(options, LinearExactOptions) and not options.ridge
        self._judge_records(features, response, *[size_verdict(len(features), d)] * determined)
        return self

    def _derive(self) -> None:
        estimate = self._fitted_estimate()
        self.intercept_, self.coef_ = float(estimate.coefficients[0]), estimate.coefficients[1:]

    def _check_model(self) -> None:
        check_coefficients("coefficients", self._fitted_estimate().coefficients, self.n_features_in_)
        if self._logistic:
            check_classes(self)

    @property
    def _kind(self) -> str:
        model = self._given.get("model", getattr(self._method.options, "model", "logistic"))
        return "classifier" if model == "logistic" else "regressor"

    @property
    def _logistic(self) -> bool:
        return self._kind == "classifier"

    def _response(self, y: np.ndarray, n: int) -> np.ndarray:
        """Labels as 0 and 1, or numbers (n,)."""
        if not self._logistic:
            return response_of(y, n)
        labels, self.classes_ = labels_of(y, n)
        return labels

    def _public(self, d: int) -> LinearFacts:
        """Names and declared bounds; those that nothing reads are refused."""
        names = tuple(f"x{j}" for j in range(d))
        declared = {"bounds": self.bounds, "label_bound": self.label_bound}
        for name, value in declared.items():
            reads = self.protocol == "certified" and (name == "bounds" or not self._logistic)
            if value is not None and not reads:
                raise ValueError(
                    f"{name}={value!r} is read by protocol='certified'{' with a linear model' * (name != 'bounds')} "
                    "only: leave it out."
                )
        positive(label_bound=self.label_bound)
        bounds: ArrayLike | Public | None = self.bounds
        if bounds is not None:
            bounds = np.asarray(bounds, dtype=float)
            if bounds.shape not in ((), (d,)) or not np.all(np.isfinite(bounds) & (bounds >= 0)):
                raise ValueError(f"bounds={self.bounds!r}: give a number of at least 0, or {d}, one a feature.")
            bounds = Public(np.broadcast_to(bounds, (d,)).copy(), because=DECLARED)
        label_bound = None if self.label_bound is None else Public(float(self.label_bound), because=DECLARED)
        return LinearFacts(names, bounds, label_bound)

    def _scores(self, X: np.ndarray) -> np.ndarray:
        return self._fitted_estimate().scores(self._records(X, 2, "(n, d): records, features"))
