"""Function-on-function regression by boosting over parties, as an estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from ...core.arrays import summary_rows
from ...core.verdicts import OK, Verdict, growth_verdict, response_verdict
from ...federation.estimators.estimator import Estimator
from ...federation.estimators.fit_budget import Budget
from ...federation.estimators.inputs import groups_of, numbers, party
from ...federation.estimators.parameters import Method
from ...federation.parties import split_columns
from ...federation.secure_streams import Randomness
from ...models.intervals import noise_line
from ...privacy.accounted_values import Public
from .model import BasisSpec, CurveEstimate, CurveFacts
from .options import (
    BaselineOptions,
    CentralOptions,
    CurveMomentsOptions,
    CurvePublishedOptions,
    LocalOptions,
    RoundwiseOptions,
)
from .paths import SOLVE_RIDGE
from .protocols import baselines, curves, moments, rounds

UNUSED = "nothing is clipped to it: no noise is added, or the radius is taken from the data"


class FunctionalBoosting(Estimator):
    """Federated function-on-function regression under differential privacy (document 000).

    Parameters
    ----------
    protocol : {"boosting", "published", "moments", "roundwise", "central", "baseline"}
        Released curves (certified, or as published), released second moments, curves released anew in every round, one
        joint operator, or a reference without privacy.
    epsilon : float, optional
        Target of calibrated noise (inf: none); options with noise of their own refuse it.
    delta : float
        Of every epsilon.
    basis : {"fourier", "bspline"}
        Of all curves; with ``domain_x`` and ``domain_y``, public.
    domain_x, domain_y : tuple of float
        Ends of the domains of the predictors and of the response.
    parties, random_state, shared_budget, clipped
        As in `Estimator`; ``parties`` and ``rng`` of a fit come before those given here.
    **options
        Fields of the protocol's dataclass in `partywise.methods.functional.options`, such as ``s``, ``radius_value``,
        ``max_steps``.

    Attributes
    ----------
    coef_ : ndarray of shape (p, Qx, Qy)
        Operators in orthonormal coordinates.
    intercept_ : ndarray of shape (Qy,)
        Fitted curve where all predictors are zero.
    selected_ : ndarray of bool of shape (p,)
    noise_errors_ : None
        The standard deviation that the noise gives an operator is not computed.
    noise_errors_reason_ : str
        Why a noisy fit has none: noisy values choose the operators along a path, which a formula to first order does
        not follow; else empty.
    estimate_, ledger_, transcript_, privacy_, epsilon_claimed_
        As in `Estimator`; the unit of ``privacy_`` is ``features``: one record's curves at one party.

    Notes
    -----
    Formal guarantee: ``privacy_.epsilon_certified`` at ``delta`` for replacing one record's curves, against the view
    named there. The response is not protected unless ``sy`` is set.

    Examples
    --------
    >>> import partywise as pw
    >>> X = pw.stream(1, "curves").normal(size=(200, 2, 3)) / 5
    >>> model = pw.FunctionalBoosting(s=0.1, radius_value=1.0, parties=2, random_state=7)
    >>> model.fit(X, X[:, 0]).selected_.tolist()
    [True, False]
    """

    unit = "features"
    _axes = 3
    methods: ClassVar[Mapping[str, Method]] = {
        "boosting": Method(LocalOptions, curves.fit, holder="active"),
        "published": Method(CurvePublishedOptions, curves.fit, holder="active"),
        "moments": Method(CurveMomentsOptions, moments.fit, ("analyst",), "active"),
        "roundwise": Method(RoundwiseOptions, rounds.fit, holder="active"),
        "central": Method(CentralOptions, curves.fit, holder="active"),
        "baseline": Method(BaselineOptions, baselines.fit, holder="active"),
    }
    _estimate = CurveEstimate
    _model_fields = ("operators", "mean_x", "mean_y", "selected_predictors", "epsilon_claimed", "basis_x")
    _finite = ("coef_", "intercept_")

    def __init__(
        self,
        protocol: str = "boosting",
        *,
        epsilon: float | None = None,
        delta: float = 1e-5,
        basis: str = "fourier",
        domain_x: tuple[float, float] = (0.0, 1.0),
        domain_y: tuple[float, float] = (0.0, 1.0),
        parties: int | Sequence[Sequence[int]] | None = None,
        random_state: Randomness | None = None,
        shared_budget: Budget | None = None,
        clipped: Literal["refuse", "allow"] = "refuse",
        **options: object,
    ) -> None:
        self.basis, self.domain_x, self.domain_y = basis, domain_x, domain_y
        self.clipped: Literal["refuse", "allow"] = clipped
        super().__init__(protocol, epsilon, delta, parties, random_state, shared_budget, options)

    def fit(
        self,
        X: np.ndarray,
        y: np.ndarray,
        *,
        parties: int | Sequence[Sequence[int]] | None = None,
        rng: Randomness | None = None,
    ) -> FunctionalBoosting:
        """Simulate the protocol.

        Parameters
        ----------
        X : ndarray of shape (N, p, Qx)
            Predictor curves in orthonormal coordinates of the basis.
        y : ndarray of shape (N, Qy)
            Response curves, held by a party of their own.
        parties : int or sequence of sequences of int
            How many owners share the predictors in turn, or the predictors of each.
        rng : int, numpy.random.Generator or Streams
            Source of all noise.

        Raises
        ------
        ValueError
            If shapes disagree, values are not finite, the groups are not a partition, or a public radius is missing.
        TypeError
            For an ``rng`` of another kind, or an unknown option.

        Examples
        --------
        >>> import partywise as pw
        >>> X = pw.stream(1, "curves").normal(size=(200, 4, 3)) / 5  # four predictors, three coordinates each
        >>> model = pw.FunctionalBoosting(s=0.1, radius_value=1.0)
        >>> selected = model.fit(X, X[:, 0] - X[:, 3], parties=[[0, 1], [2, 3]], rng=7).selected_
        >>> selected.tolist(), f"epsilon {model.privacy_.epsilon_certified:.0f}"  # noise of 0.1 protects no record
        ([True, False, False, True], 'epsilon 970')
        """
        frame = X
        X, Y = numbers("X", X, 3, "(N, p, Q): records, predictors, coordinates"), numbers("y", y, 2, "(N, Q)")
        n, p, q = X.shape
        if len(Y) != n:
            raise ValueError(f"y has {len(Y)} records and X {n}: give one response curve a record.")
        groups = groups_of(self._division(parties), p, split_columns)
        owners = [
            party(f"party {g + 1}", "passive", columns, X=np.ascontiguousarray(X[:, list(columns)]))
            for g, columns in enumerate(groups)
        ]
        names = tuple(f"x{j}" for j in range(p))
        self._require_radii()
        unused = Public(1.0, because=UNUSED)
        bases = BasisSpec(self.basis, self.domain_x, q), BasisSpec(self.basis, self.domain_y, Y.shape[1])
        public = CurveFacts(*bases, (unused,) * p, unused, names)
        self._simulate([party("active", "active", Y=Y), *owners], n, rng, public=public, settings=self)
        self.n_features_in_ = p
        self._keep_names(frame)
        self._derive()
        with np.errstate(over="ignore", invalid="ignore"):
            errors, start = (float(np.mean(np.sum(curves**2, axis=1))) for curves in (Y - self.predict(X), Y))
        self._judge(
            response_verdict("y", Y),
            growth_verdict(errors, start, "declare a larger radius, or give more noise-free records"),
            self._judge_sizes(X, names),
        )
        return self

    def _judge_sizes(self, X: np.ndarray, names: Sequence[str]) -> Verdict:
        """Judge whether the equations of a joint fit, whose ridge is a share of the mean variance, have all predictors.

        A variance of 100 ridges is shrunk by 1 %; predictors that do not vary have no operator in any case.
        """
        if getattr(self._options(), "kind", "") != "least_squares":
            return OK
        variances = np.var(X, axis=0).mean(axis=1)
        least = 100 * SOLVE_RIDGE * variances.mean()
        small = [name for name, variance in zip(names, variances, strict=True) if 0 < variance < least]
        if not small:
            return OK
        return Verdict(
            "singular",
            f"the curves of {', '.join(small)} are less than a thousandth of the size of the others, which hides them: "
            "scale the curves of all predictors to about the same size",
        )

    def _derive(self) -> None:
        estimate = self._fitted_estimate()
        self.coef_, self.selected_, self.noise_errors_ = estimate.operators, estimate.selected_predictors, None
        path = hasattr(self._options(), "max_steps")
        why = "noisy values choose the operators along a path" if path else "no formula is known of this protocol"
        self.noise_errors_reason_ = why if np.isfinite(self.epsilon_claimed_) else ""
        self.intercept_ = estimate.mean_y - estimate.mean_x.ravel() @ estimate.operators.reshape(
            -1, len(estimate.mean_y)
        )

    def _check_model(self) -> None:
        estimate, p = self._fitted_estimate(), self.n_features_in_
        arrays = estimate.operators, estimate.mean_x, estimate.mean_y
        shapes = (
            (*estimate.mean_x.shape, *estimate.mean_y.shape),
            (p, *estimate.mean_x.shape[1:]),
            estimate.mean_y.shape,
        )
        if tuple(array.shape for array in arrays) != shapes or estimate.selected_predictors.shape != (p,):
            raise ValueError(f"operators and means have shapes {[array.shape for array in arrays]} for {p} predictors")
        if not all(np.all(np.isfinite(array)) for array in arrays):
            raise ValueError("operators and means must be finite")

    def _require_radii(self) -> None:
        """ValueError where curves are clipped to a public radius that is missing."""
        options, needed = self._options(), list[str]()
        if isinstance(options, CurveMomentsOptions):
            needed = ["radius_value", "response_radius"]
        elif getattr(options, "radius", "") == "public" and getattr(options, "noise", "local") == "local":
            needed = ["radius_value"]
        for name in needed:
            if getattr(options, name) is None:
                raise ValueError(
                    f"{name} is missing: protocol={self.protocol!r} clips every curve to a public norm, fixed before "
                    "the data are seen."
                )

    def _summary_head(self) -> list[str]:
        noise = [noise_line(self.noise_errors_reason_)] if np.isfinite(self.epsilon_claimed_) else []
        return [*super()._summary_head(), *noise]

    def _summary_table(self) -> list[str]:
        """Norm of the operator of each predictor."""
        norms = np.sqrt(np.sum(self._fitted_estimate().operators ** 2, axis=(1, 2)))
        return summary_rows({"norm": norms}, [f"x{k}" for k in range(len(norms))], 6)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Fitted curves of predictors; later queries are not in the account.

        Parameters
        ----------
        X : ndarray of shape (N, p, Qx)
            Predictor curves in the coordinates of the fit.

        Returns
        -------
        ndarray of shape (N, Qy)

        Examples
        --------
        >>> import partywise as pw
        >>> X = pw.stream(1, "curves").normal(size=(200, 2, 3)) / 5
        >>> model = pw.FunctionalBoosting(s=0.1, radius_value=1.0, parties=2, random_state=7).fit(X, X[:, 0])
        >>> model.predict(X[:2]).round(1) + 0.0
        array([[ 0.1, -0.2,  0. ],
               [ 0.4,  0.3, -0.1]])
        >>> X[:2, 0].round(1)  # the truth
        array([[ 0.1, -0.3, -0. ],
               [ 0.4,  0.4, -0.1]])
        """
        return self._fitted_estimate().predict(self._records(X, 3, "(N, p, Q)"))

    def score(self, X: np.ndarray, y: np.ndarray, sample_weight: ArrayLike | None = None) -> float:
        """One minus the integrated squared error over that of the mean curve of ``y``.

        Parameters
        ----------
        X : ndarray of shape (N, p, Qx)
            Predictor curves in the coordinates of the fit.
        y : ndarray of shape (N, Qy)
            Their response curves.
        sample_weight : ndarray of shape (N,), optional

        Examples
        --------
        >>> import partywise as pw
        >>> X = pw.stream(1, "curves").normal(size=(400, 2, 3)) / 5
        >>> y = X[:, 0] + 0.1 * pw.stream(1, "noise").normal(size=(400, 3))
        >>> model = pw.FunctionalBoosting(s=0.1, radius_value=1.0, parties=2, random_state=7).fit(X[:200], y[:200])
        >>> round(model.score(X[200:], y[200:]), 2)  # the noise of the curves leaves .8 to explain
        0.76
        """
        Y = numbers("y", y, 2, "(N, Q)")
        weights = np.ones(len(Y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        errors, deviations = Y - self.predict(X), Y - np.average(Y, axis=0, weights=weights)
        return float(1 - weights @ np.sum(errors**2, axis=1) / (weights @ np.sum(deviations**2, axis=1)))
