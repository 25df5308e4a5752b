"""Logistic regression of clients that train together, as an estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import ClassVar

import numpy as np

from ...federation.estimators.column_estimator import Predictor, check_classes, check_coefficients
from ...federation.estimators.fit_budget import Budget
from ...federation.estimators.inputs import labels_of, numbers
from ...federation.estimators.parameters import Method
from ...federation.secure_streams import Randomness
from .model import FilterEstimate, FilterFacts
from .options import FedavgOptions, RowGradientsOptions
from .protocols import fedavg, row_gradients

LIKE = "(N, p): records, features without the intercept"


class FederatedLogistic(Predictor):
    """Logistic regression whose rows lie at different clients: certified, or as frameworks ship it.

    Parameters
    ----------
    protocol : {"row_gradients", "fedavg"}
        Sums of gradients, each of one record, clipped and released with exact integer noise; or federated averaging
        under a privacy ``layer`` of a framework.
    epsilon : float, optional
        Target (inf: no noise); of ``fedavg`` refused unless ``layer`` is ``"certified"`` or ``"local_dp"``, for which
        it is that of each round.
    delta : float
    parties, random_state, shared_budget
        As in `Estimator`; ``parties`` and ``rng`` of a fit come before those given here.
    **options
        Fields of the protocol's dataclass in `partywise.methods.filters.options`.

    Attributes
    ----------
    coef_ : ndarray of shape (p,)
    intercept_ : float
    classes_ : ndarray of shape (2,)
        The labels, in order.
    estimate_, ledger_, transcript_, privacy_, epsilon_claimed_
        As in `Estimator`; the unit of ``privacy_`` is ``row``.

    Notes
    -----
    Formal guarantee: ``privacy_.epsilon_certified`` at ``delta`` for replacing one record, against the server and all
    other clients; the numbers of records are public. Under ``fedavg`` a client costs as much as one of its records.

    Examples
    --------
    >>> import partywise as pw
    >>> X = pw.stream(1, "records").uniform(-1, 1, size=(3000, 2))
    >>> y = X[:, 0] > 0
    >>> model = pw.FederatedLogistic(epsilon=1.0, parties=3, random_state=7).fit(X, y)
    >>> model.score(X, y) > 0.9, round(model.privacy_.epsilon_certified, 2)
    (True, 1.0)
    >>> model.predict_proba([[-1.0, 0.0], [1.0, 0.0]])[:, 1] > 0.9
    array([False,  True])
    """

    unit = "row"
    _kind = "classifier"
    methods: ClassVar[Mapping[str, Method]] = {
        "row_gradients": Method(RowGradientsOptions, row_gradients.fit, ("server",), "server"),
        "fedavg": Method(FedavgOptions, fedavg.fit, ("server",), "server"),
    }
    _estimate = FilterEstimate
    _model_fields = ("epsilon_claimed", "coefficients")
    _finite = ("coef_", "intercept_")
    _model_attributes: ClassVar[Mapping[str, object]] = {"classes_": np.ndarray}

    def __init__(
        self,
        protocol: str = "row_gradients",
        *,
        epsilon: float | None = None,
        delta: float = 1e-5,
        parties: int | Sequence[Sequence[int]] | None = None,
        random_state: Randomness | None = None,
        shared_budget: Budget | None = None,
        **options: object,
    ) -> None:
        super().__init__(protocol, epsilon, delta, parties, random_state, shared_budget, options)

    def fit(
        self,
        X: np.ndarray,
        y: np.ndarray,
        *,
        parties: int | Sequence[Sequence[int]] | None = None,
        rng: Randomness | None = None,
    ) -> FederatedLogistic:
        """Simulate the protocol.

        Parameters
        ----------
        X : ndarray of shape (N, p)
            Features without a column for the intercept; scale them by public ranges, gradients are clipped.
        y : ndarray of shape (N,)
            Labels 0 and 1, or any two others; which two there are counts as public.
        parties : int or sequence of sequences of int
            How many clients hold the rows in contiguous runs, or the rows of each.
        rng : int, numpy.random.Generator or Streams
            Source of all noise.

        Raises
        ------
        ValueError
            If shapes disagree, values are not finite, the labels are not two, or the groups are not a partition.
        TypeError
            For an ``rng`` of another kind, or an unknown option.

        Examples
        --------
        >>> import partywise as pw
        >>> X = pw.stream(1, "records").uniform(-1, 1, size=(3000, 2))
        >>> y = ["yes" if one > 0 else "no" for one in X[:, 0]]
        >>> model = pw.FederatedLogistic("fedavg", layer="local_dp", sensitivity=1e-4, epsilon=10.0)
        >>> spent = model.fit(X, y, parties=3, rng=7).privacy_  # said: 10 a round
        >>> spent.epsilon_certified > 1e9
        True
        """
        features = _with_intercept(numbers("X", X, 2, LIKE))
        labels, classes = labels_of(y, len(features), both=False)
        n, k = features.shape
        clients = self._clients(parties, {"X": features, "y": labels}, clients=np.array(1))
        public = FilterFacts(k, tuple(len(client.block["y"]) for client in clients))
        self._simulate(clients, n, rng, public=public, settings=SimpleNamespace(delta=self.delta))
        self.classes_, self.n_features_in_ = classes, k - 1
        self._keep_names(X)
        self._derive()
        self._judge_records(features[:, :-1], labels)
        return self

    def _derive(self) -> None:
        coefficients = self._fitted_estimate().coefficients
        self.coef_, self.intercept_ = coefficients[:-1], float(coefficients[-1])

    def _check_model(self) -> None:
        check_coefficients("coefficients", self._fitted_estimate().coefficients, self.n_features_in_)
        check_classes(self)

    def _scores(self, X: np.ndarray) -> np.ndarray:
        scores: np.ndarray = _with_intercept(self._records(X, 2, LIKE)) @ self._fitted_estimate().coefficients
        return scores


def _with_intercept(X: np.ndarray) -> np.ndarray:
    """Features (N, p + 1) with a constant in the last column."""
    return np.column_stack([X, np.ones(len(X))])
