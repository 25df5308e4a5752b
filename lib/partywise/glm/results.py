"""What an estimator of generalised linear models has after a fit: coefficients and tests, deviances, predictions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.special import chdtrc, fdtrc

from ..federation.column_estimator import COLUMNS
from ..federation.estimator import Estimator, numbers, vector
from ..models.families import FAMILIES, Family
from .diagnostics import Wald, aic, deviance_r2, deviance_table, wald
from .formulas import Design
from .model import Estimate
from .noisy_statistics.submodels import coefficients
from .records import Response, response_of
from .summary import summary_of

if TYPE_CHECKING:
    import pandas

# A number, or two, for each coefficient by its name: of pandas where that is installed, else a mapping.
Named: TypeAlias = "pandas.Series | pandas.DataFrame | Mapping[str, float]"


class Results(Estimator):
    """Attributes and methods of a fit, and the family that they are of."""

    family: str
    _design: Design | None = None

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
        self.dispersion_ = found.dispersion
        self.noise_errors_, self.intervals_ = found.noise_errors, found.intervals
        both = None not in (found.deviance, found.null_deviance)
        self.deviance_r2_ = deviance_r2(found.deviance, found.null_deviance) if both else None  # type: ignore[arg-type]

    def _by_name(self, values: np.ndarray | None) -> Named | None:
        """Values (1 + p,) or pairs (1 + p, 2) by the names of the coefficients; None where there are none."""
        if values is None:
            return None
        names = ["intercept", *self.names_]
        if find_spec("pandas") is None:
            return dict(zip(names, values.tolist(), strict=True))
        import pandas

        return pandas.Series(values, names) if values.ndim == 1 else pandas.DataFrame(values, names)

    @property
    def params(self) -> Named:
        """Coefficients (1 + p,), the intercept first, by name: a pandas Series, or a dict where pandas is missing."""
        return self._by_name(self._fitted_estimate().coefficients)

    @property
    def bse(self) -> Named | None:
        """Standard errors (1 + p,), like ``params``; None where nobody opened them, as in private fits."""
        return self._by_name(self._fitted_estimate().standard_errors)

    @property
    def tvalues(self) -> Named | None:
        """Coefficients over their standard errors, likewise."""
        tests = self._tests(0.95)
        return None if tests is None else self._by_name(tests.statistic)

    @property
    def pvalues(self) -> Named | None:
        """Two-sided, of Student's t where the dispersion is estimated, else normal; likewise."""
        tests = self._tests(0.95)
        return None if tests is None else self._by_name(tests.p_values)

    @property
    def llf(self) -> float | None:
        """Log-likelihood, of families that estimate their dispersion at deviance / n (R's); None like ``aic``."""
        found: float | None = self._fitted_estimate().log_likelihood
        return found

    @property
    def aic(self) -> float | None:
        """R's, which counts an estimated dispersion; None of private fits, of quasi-likelihoods and of bad fits."""
        return None if self.llf is None else aic(self.llf, 1 + len(self.names_), self.family)

    @property
    def bic(self) -> float | None:
        """R's, likewise, of ``n_records_`` records."""
        if self.llf is None:
            return None
        counted = 1 + len(self.names_) + FAMILIES[self.family].estimates_dispersion
        return float(-2 * self.llf + np.log(self.n_records_) * counted)

    def _tests(self, level: float) -> Wald | None:
        """Wald tests; None without standard errors."""
        found = self._fitted_estimate()
        if found.standard_errors is None:
            return None
        robust = getattr(self._options(), "cov_type", "nonrobust") != "nonrobust"
        df = self.df_resid if self._estimates_dispersion and not robust else None
        return wald(found.coefficients, found.standard_errors, df, level)

    @property
    def _estimates_dispersion(self) -> bool:
        """Whether the dispersion is estimated."""
        drawn = FAMILIES[self.family].estimates_dispersion
        return drawn or getattr(self._options(), "dispersion", "family") == "pearson"

    @property
    def df_resid(self) -> int:
        """Records of positive weight less coefficients."""
        return self.n_records_ - 1 - self.n_features_in_

    def deviance_table(self) -> list[dict[str, float | str | None]] | None:
        """Rows of the analysis of deviance, as of `partywise.glm.diagnostics.deviance_table`.

        None where the protocol does not report both deviances.
        """
        self._fitted_estimate()
        if self.deviance_ is None or self.null_deviance_ is None:
            return None
        fit = self.deviance_, self.null_deviance_, self.dispersion_
        return deviance_table(*fit, self.df_resid, self.n_features_in_, self._estimates_dispersion)

    def conf_int(self, alpha: float = 0.05) -> Named | None:
        """Intervals of level ``1 - alpha`` by name, columns 0 and 1; None where ``intervals_.reason`` says why.

        Wald's where there are standard errors; of a private fit those of ``intervals_``, over records and noise.
        """
        tests = self._tests(1 - alpha)
        return self._by_name(self._fitted_estimate().intervals.bounds(1 - alpha) if tests is None else tests.interval)

    def compare_lr_test(self, restricted: Results) -> tuple[float, float, int]:
        """Likelihood ratio, its p-value and degrees of freedom, against the same model with fewer columns.

        ValueError unless that is a fit of the same records by some of the columns, and both report a likelihood.
        """
        df = self._columns_less(restricted)
        ratio = 2 * (self._require("llf") - restricted._require("llf"))
        return ratio, float(chdtrc(df, max(ratio, 0.0))), df

    def compare_f_test(self, restricted: Results) -> tuple[float, float, int]:
        """F statistic at this fit's dispersion, its p-value and numerator degrees of freedom; otherwise likewise."""
        df = self._columns_less(restricted)
        gained = restricted._require("deviance_") - self._require("deviance_")
        ratio = gained / df / self._require("dispersion_")
        return ratio, float(fdtrc(df, self.df_resid, max(ratio, 0.0))), df

    def _require(self, name: str) -> float:
        """A number of the fit; ValueError where it reports none."""
        found: float | None = getattr(self, name)
        if found is None:
            raise ValueError(
                f"the fit by protocol={self.protocol!r} reports no {name}: private fits, quasi-likelihoods and fits "
                "short of their optimum have no such test."
            )
        return found

    def _columns_less(self, restricted: Results) -> int:
        """How many columns the other fit has less."""
        same = (self.family, self.n_records_) == (restricted.family, restricted.n_records_)
        if not same or not math.isclose(
            self._require("null_deviance_"), restricted._require("null_deviance_"), rel_tol=1e-9
        ):
            raise ValueError("restricted is no fit of the same family to the same records, weights and offset.")
        more = set(restricted.names_) - set(self.names_)
        if more or len(restricted.names_) == len(self.names_):
            raise ValueError(
                f"restricted has the columns {list(restricted.names_)}: give a fit by some of {list(self.names_)}."
            )
        if any(one._fitted_estimate().numbers.get("penalised") for one in (self, restricted)):
            raise ValueError("a ridge shrinks these coefficients: the tests are of fits without one.")
        return len(self.names_) - len(restricted.names_)

    def _residuals(
        self,
        X: np.ndarray,
        y: np.ndarray,
        sample_weight: np.ndarray | None,
        offset: np.ndarray | None,
        trials: np.ndarray | None = None,
    ) -> tuple[Response, np.ndarray]:
        """The response of records and their linear predictors."""
        eta = self.linear_predictor(X, offset)
        given = {"y": vector("y", y, len(eta)), "weights": sample_weight, "offset": offset, "trials": trials}
        block = {name: np.asarray(value, dtype=float) for name, value in given.items() if value is not None}
        return response_of(block, np.arange(len(eta)), self.family, "caller"), eta

    def resid_response(self, X: np.ndarray, y: np.ndarray, offset: np.ndarray | None = None) -> np.ndarray:
        """Responses less their means, shape (n,), of records that are given again: a fit keeps none."""
        response, eta = self._residuals(X, y, None, offset)
        return response.y - self._family().mean(eta)

    def resid_working(self, X: np.ndarray, y: np.ndarray, offset: np.ndarray | None = None) -> np.ndarray:
        """Residuals of the last working response, likewise."""
        response, eta = self._residuals(X, y, None, offset)
        return self._family().working(response.y, eta)

    def resid_pearson(
        self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None, offset: np.ndarray | None = None
    ) -> np.ndarray:
        """Residuals over the root of the variance function, times that of the weights, likewise."""
        response, eta = self._residuals(X, y, sample_weight, offset)
        family = self._family()
        return np.sqrt(response.weigh(family.weight(eta))) * family.working(response.y, eta)

    def resid_deviance(
        self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None, offset: np.ndarray | None = None
    ) -> np.ndarray:
        """Roots of what the records add to the deviance, with the sign of the residual, likewise."""
        response, eta = self._residuals(X, y, sample_weight, offset)
        family = self._family()
        parts = np.sqrt(np.maximum(response.weigh(family.unit_deviance(response.y, eta)), 0))
        return np.sign(response.y - family.mean(eta)) * parts

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
        framed = self._design is not None and hasattr(X, "columns")
        array = self._records(self._design.columns(X) if framed else X, 2, COLUMNS)  # type: ignore[union-attr]
        shift = None if offset is None else numbers("offset", offset, 1, f"({len(array)},): one a record")
        if shift is not None and len(shift) != len(array):
            raise ValueError(f"offset has {len(shift)} entries for {len(array)} rows of X.")
        return estimate.predictor(array, shift)

    def predict(self, X: np.ndarray, offset: np.ndarray | None = None) -> np.ndarray:
        """Means of the response, shape (n,)."""
        return self._family().mean(self.linear_predictor(X, offset))

    def score(
        self,
        X: np.ndarray,
        y: np.ndarray,
        sample_weight: np.ndarray | None = None,
        offset: np.ndarray | None = None,
        trials: np.ndarray | None = None,
    ) -> float:
        """Share of the null deviance of these records that the fit explains."""
        response, eta = self._residuals(X, y, sample_weight, offset, trials)
        return deviance_r2(response.deviance(eta), response.null()[1])
