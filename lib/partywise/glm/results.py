"""What an estimator of generalised linear models has after a fit: coefficients and tests, deviances, predictions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..federation.column_estimator import COLUMNS
from ..federation.estimator import Estimator, numbers, vector
from ..models.families import FAMILIES, Family
from .diagnostics import Wald, aic, deviance_r2, deviance_table, wald
from .model import Estimate
from .noisy_statistics.submodels import coefficients
from .records import Response, response_of
from .summary import summary_of


class Results(Estimator):
    """Attributes and methods of a fit, and the family that they are of."""

    family: str

    def _family(self) -> Family:
        if self.family not in FAMILIES:
            raise ValueError(f"family={self.family!r} is unknown; use one of {tuple(FAMILIES)}.")
        return FAMILIES[self.family]

    def _keep(self, found: Estimate, names: tuple[str, ...], response: Response) -> None:
        """Attributes of a fit."""
        self.names_, self.n_features_in_, self.n_records_ = names, len(names), response.n_observations
        self.intercept_, self.coef_ = float(found.coefficients[0]), found.coefficients[1:]
        self.status_, self.n_iter_, self.rows_ = found.status, found.iterations, found.rows
        self.deviance_, self.null_deviance_ = found.deviance, found.null_deviance
        self.dispersion_, self.bse_ = found.dispersion, found.standard_errors
        self.noise_errors_, self.intervals_ = found.noise_errors, found.intervals
        both = None not in (found.deviance, found.null_deviance)
        self.deviance_r2_ = deviance_r2(found.deviance, found.null_deviance) if both else None  # type: ignore[arg-type]
        likelihood = found.log_likelihood
        self.aic_ = None if likelihood is None else aic(likelihood, 1 + len(names), self.family)
        tests = self._tests(0.95)
        self.pvalues_ = None if tests is None else tests.p_values
        self.conf_int_ = found.intervals.bounds() if tests is None else tests.interval

    def _tests(self, level: float) -> Wald | None:
        """Wald tests; None without standard errors."""
        if self.bse_ is None:
            return None
        df = self._df_residual if self._estimates_dispersion else None
        return wald(self._fitted_estimate().coefficients, self.bse_, df, level)

    @property
    def _estimates_dispersion(self) -> bool:
        """Whether the dispersion is estimated."""
        drawn = FAMILIES[self.family].estimates_dispersion
        return drawn or getattr(self._options(), "dispersion", "family") == "pearson"

    @property
    def _df_residual(self) -> int:
        return self.n_records_ - 1 - self.n_features_in_

    def deviance_table(self) -> list[dict[str, float | str | None]] | None:
        """Rows of the analysis of deviance, as of `partywise.glm.diagnostics.deviance_table`.

        None where the protocol does not report both deviances.
        """
        self._fitted_estimate()
        if self.deviance_ is None or self.null_deviance_ is None:
            return None
        fit = self.deviance_, self.null_deviance_, self.dispersion_
        return deviance_table(*fit, self._df_residual, self.n_features_in_, self._estimates_dispersion)

    def conf_int(self, level: float = 0.95) -> np.ndarray | None:
        """Intervals (1 + p, 2) of the coefficients, of the intercept first; None where ``intervals_`` says why."""
        tests = self._tests(level)
        return self._fitted_estimate().intervals.bounds(level) if tests is None else tests.interval

    def summary(self) -> str:
        """Table of the coefficients with their tests, and a line each of what was fitted, its fit and its privacy."""
        return summary_of(self, self._fitted_estimate(), self._tests(0.95))

    def submodel(self, columns: Sequence[int | str]) -> np.ndarray:
        """Coefficients (1 + p,) of the model on some of the columns, from what was released: at no further cost.

        The intercept comes first, and columns that are left out have 0. ValueError unless the protocol is ``moments``,
        which alone releases what other models need.
        """
        released = self._fitted_estimate().moments
        if released is None:
            raise ValueError(f"protocol={self.protocol!r} releases no second moments: use protocol='moments'.")
        unknown = [name for name in columns if isinstance(name, str) and name not in self.names_]
        if unknown:
            raise ValueError(f"columns name {unknown}, which the model does not have: it has {list(self.names_)}.")
        chosen = [self.names_.index(name) if isinstance(name, str) else int(name) for name in columns]
        return coefficients(released, self.family, chosen)  # type: ignore[arg-type]

    def linear_predictor(self, X: np.ndarray, offset: np.ndarray | None = None) -> np.ndarray:
        """Linear predictors, shape (n,), of records (n, p) with all columns."""
        estimate = self._fitted_estimate()
        array = self._records(X, 2, COLUMNS)
        shift = None if offset is None else numbers("offset", offset, 1, f"({len(array)},): one a record")
        if shift is not None and len(shift) != len(array):
            raise ValueError(f"offset has {len(shift)} entries for {len(array)} rows of X.")
        return estimate.predictor(array, shift)

    def predict(self, X: np.ndarray, offset: np.ndarray | None = None) -> np.ndarray:
        """Means of the response, shape (n,)."""
        return self._family().mean(self.linear_predictor(X, offset))

    def score(
        self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None, offset: np.ndarray | None = None
    ) -> float:
        """Share of the null deviance of these records that the fit explains."""
        eta = self.linear_predictor(X, offset)
        given = {"y": vector("y", y, len(eta)), "weights": sample_weight, "offset": offset}
        block = {name: np.asarray(value) for name, value in given.items() if value is not None}
        response = response_of(block, np.arange(len(eta)), self.family, "caller")
        return deviance_r2(response.deviance(eta), response.null()[1])
