"""Predictions of a fitted generalised linear model, and the residuals and explained deviance of records."""

from __future__ import annotations

import hashlib

import numpy as np

from ...federation.estimators.column_estimator import COLUMNS
from ...federation.estimators.estimator import Estimator
from ...federation.estimators.inputs import check_index, numbers, vector
from ...models.families import FAMILIES, Family
from .diagnostics import deviance_r2
from .formulas import Design
from .model import GlmEstimate
from .options import COX
from .records import WeightedResponse, response_of


class Predictions(Estimator):
    """Methods of a fit that take records: none is kept, so that they are given again."""

    family: str
    _design: Design | None = None
    _estimate = GlmEstimate

    def _family(self) -> Family:
        if self.family == COX:
            raise ValueError("family='cox' has no mean, residuals or explained deviance: use predict, concordance_.")
        if self.family not in FAMILIES:
            raise ValueError(f"family={self.family!r} is unknown; use one of {tuple(FAMILIES)}.")
        return FAMILIES[self.family]

    def linear_predictor(self, X: np.ndarray, offset: np.ndarray | None = None) -> np.ndarray:
        """Linear predictors of records.

        Parameters
        ----------
        X : ndarray of shape (n, p)
            Records with the columns of the fit; a frame, where the fit has a formula.
        offset : ndarray of shape (n,), optional
            Added to them.

        Returns
        -------
        ndarray of shape (n,)

        Raises
        ------
        ValueError
            If columns or the length of the offset do not fit.

        Examples
        --------
        >>> import numpy as np
        >>> import partywise as pw
        >>> X = pw.stream(1, "records").normal(size=(500, 2))
        >>> visits = pw.stream(1, "visits").poisson(np.exp(0.5 * X[:, 1]))
        >>> fit = pw.VerticalGLM("poisson", parties=2, random_state=7).fit(X, visits)
        >>> fit.linear_predictor(np.array([[0.0, 0.0], [0.0, 2.0]])).round(1)  # the truth is 0 and 1
        array([0.1, 0.9])
        """
        estimate = self._fitted_estimate()
        framed = self._design is not None and hasattr(X, "columns")
        array = self._records(self._design.columns(X) if framed else X, 2, COLUMNS)  # type: ignore[union-attr]
        shift = None if offset is None else numbers("offset", offset, 1, f"({len(array)},): one a record")
        if shift is not None and len(shift) != len(array):
            raise ValueError(f"offset has {len(shift)} entries for {len(array)} rows of X: give one per row.")
        return estimate.predictor(array, shift)

    def predict(self, X: np.ndarray, offset: np.ndarray | None = None) -> np.ndarray:
        """Means of the response; of family ``cox`` hazards relative to a record at the means of the columns.

        Parameters
        ----------
        X, offset
            As of `linear_predictor`.

        Returns
        -------
        ndarray of shape (n,)

        Examples
        --------
        >>> import numpy as np
        >>> import partywise as pw
        >>> X = pw.stream(1, "records").normal(size=(500, 2))
        >>> visits = pw.stream(1, "visits").poisson(np.exp(0.5 * X[:, 1]))
        >>> fit = pw.VerticalGLM("poisson", parties=2, random_state=7).fit(X, visits)
        >>> new = np.array([[0.0, 1.0]])
        >>> fit.predict(new).round(1), fit.predict(new, offset=np.log([10])).round(1)  # visits in one year, and in ten
        (array([1.7]), array([16.9]))
        """
        eta = self.linear_predictor(X, offset)
        return np.exp(eta) if self.family == COX else self._family().mean(eta)

    def score(
        self,
        X: np.ndarray,
        y: np.ndarray,
        sample_weight: np.ndarray | None = None,
        offset: np.ndarray | None = None,
        trials: np.ndarray | None = None,
    ) -> float:
        """Share of the null deviance of these records that the fit explains.

        Parameters
        ----------
        X : ndarray of shape (n, p)
            Records with the columns of the fit.
        y : ndarray of shape (n,)
            Their responses.
        sample_weight : ndarray of shape (n,), optional
            Prior weights.
        offset : ndarray of shape (n,), optional
            Added to the linear predictor.
        trials : ndarray of shape (n,), optional
            Of a binomial family: y are successes among so many.

        Examples
        --------
        >>> import numpy as np
        >>> import partywise as pw
        >>> X = pw.stream(1, "records").normal(size=(1000, 2))
        >>> visits = pw.stream(1, "visits").poisson(np.exp(0.5 * X[:, 1]))
        >>> fit = pw.VerticalGLM("poisson", parties=2, random_state=7).fit(X[:500], visits[:500])
        >>> round(fit.score(X[500:], visits[500:]), 2)  # of records that it was not fitted to
        0.19
        """
        response, eta = self._residuals(X, y, sample_weight, offset, trials)
        return deviance_r2(response.deviance(eta), response.null()[1])

    def _residuals(
        self,
        X: np.ndarray,
        y: np.ndarray,
        sample_weight: np.ndarray | None,
        offset: np.ndarray | None,
        trials: np.ndarray | None = None,
    ) -> tuple[WeightedResponse, np.ndarray]:
        """The response of records and their linear predictors; the records of a fit have its offset."""
        self._family()
        check_index(X, {"y": y, "sample_weight": sample_weight, "offset": offset, "trials": trials})
        eta = self.linear_predictor(X, offset)
        if offset is None and hasattr(self, "_offset_of_fit"):
            known, offset = self._offset_of_fit
            if self._digest(eta) != known:
                raise ValueError(
                    "the fit has an offset, and these are other records: give their offset, zeros if they have none."
                )
            eta = eta + offset
        vectors = {"y": vector("y", y, len(eta)), "weights": sample_weight, "offset": offset, "trials": trials}
        block = {name: np.asarray(value, dtype=float) for name, value in vectors.items() if value is not None}
        return response_of(block, np.arange(len(eta)), self.family, "caller"), eta

    @staticmethod
    def _digest(eta: np.ndarray) -> str:
        """Return a digest that identifies the records of the fit."""
        return hashlib.sha256(np.ascontiguousarray(eta).tobytes()).hexdigest()

    def resid_response(
        self, X: np.ndarray, y: np.ndarray, offset: np.ndarray | None = None, trials: np.ndarray | None = None
    ) -> np.ndarray:
        """Responses less their means, of records that are given again: a fit keeps none.

        Parameters
        ----------
        X : ndarray of shape (n, p)
            Records with the columns of the fit.
        y : ndarray of shape (n,)
            Their responses.
        offset : ndarray of shape (n,), optional
            Added to the linear predictor; by default that of the fit, whose records these must be if it has one.
        trials : ndarray of shape (n,), optional
            Of a binomial y that counts successes: residuals are of the shares of these, like `predict`.

        Returns
        -------
        ndarray of shape (n,)

        Raises
        ------
        ValueError
            For records other than those of a fit with an offset, if their offset is not given.

        Examples
        --------
        >>> import numpy as np
        >>> import partywise as pw
        >>> X = pw.stream(1, "records").normal(size=(200, 2))
        >>> y = 1 + X[:, 1] + pw.stream(1, "noise").normal(size=200)
        >>> fit = pw.VerticalGLM("gaussian", parties=2, random_state=7).fit(X, y)
        >>> np.allclose(X.T @ fit.resid_response(X, y), 0)  # least squares leaves nothing along a column
        True
        """
        response, eta = self._residuals(X, y, None, offset, trials)
        return response.y - response.family.mean(eta)

    def resid_working(
        self, X: np.ndarray, y: np.ndarray, offset: np.ndarray | None = None, trials: np.ndarray | None = None
    ) -> np.ndarray:
        """Residuals of the last working response.

        Parameters
        ----------
        X, y, offset, trials
            As of `resid_response`.

        Returns
        -------
        ndarray of shape (n,)

        Examples
        --------
        >>> import numpy as np
        >>> import partywise as pw
        >>> X = pw.stream(1, "records").normal(size=(500, 2))
        >>> visits = pw.stream(1, "visits").poisson(np.exp(0.5 * X[:, 1]))
        >>> fit = pw.VerticalGLM("poisson", parties=2, random_state=7).fit(X, visits)
        >>> np.allclose(fit.resid_working(X, visits), visits / fit.predict(X) - 1)  # of the log link
        True
        """
        response, eta = self._residuals(X, y, None, offset, trials)
        return response.family.working(response.y, eta)

    def resid_pearson(
        self,
        X: np.ndarray,
        y: np.ndarray,
        sample_weight: np.ndarray | None = None,
        offset: np.ndarray | None = None,
        trials: np.ndarray | None = None,
    ) -> np.ndarray:
        """Residuals over the root of the variance function, times that of the weights.

        Parameters
        ----------
        X, y, sample_weight, offset, trials
            As of `score`.

        Returns
        -------
        ndarray of shape (n,)

        Examples
        --------
        >>> import numpy as np
        >>> import partywise as pw
        >>> X = pw.stream(1, "records").normal(size=(500, 2))
        >>> visits = pw.stream(1, "visits").poisson(np.exp(0.5 * X[:, 1]))
        >>> fit = pw.VerticalGLM("poisson", parties=2, random_state=7).fit(X, visits)
        >>> chi_square = (fit.resid_pearson(X, visits) ** 2).sum()
        >>> print(f"{chi_square / fit.df_resid:.2f}")  # near 1: no sign of overdispersion
        1.00
        """
        response, eta = self._residuals(X, y, sample_weight, offset, trials)
        family = response.family
        return np.sqrt(response.weigh(family.weight(eta))) * family.working(response.y, eta)

    def resid_deviance(
        self,
        X: np.ndarray,
        y: np.ndarray,
        sample_weight: np.ndarray | None = None,
        offset: np.ndarray | None = None,
        trials: np.ndarray | None = None,
    ) -> np.ndarray:
        """Roots of what the records add to the deviance, with the sign of the residual.

        Parameters
        ----------
        X, y, sample_weight, offset, trials
            As of `score`.

        Returns
        -------
        ndarray of shape (n,)

        Examples
        --------
        >>> import numpy as np
        >>> import partywise as pw
        >>> X = pw.stream(1, "records").normal(size=(500, 2))
        >>> visits = pw.stream(1, "visits").poisson(np.exp(0.5 * X[:, 1]))
        >>> fit = pw.VerticalGLM("poisson", parties=2, random_state=7).fit(X, visits)
        >>> np.allclose((fit.resid_deviance(X, visits) ** 2).sum(), fit.deviance_)
        True
        """
        response, eta = self._residuals(X, y, sample_weight, offset, trials)
        family = response.family
        parts = np.sqrt(np.maximum(response.weigh(family.unit_deviance(response.y, eta)), 0))
        return np.sign(response.y - family.mean(eta)) * parts
