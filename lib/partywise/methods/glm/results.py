"""Results of generalised linear models after a fit: coefficients and tests, deviances, predictions."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np
from scipy.special import chdtrc, fdtrc

from ...core.errors import ModelError
from ...federation.estimators.column_estimator import COLUMNS
from ...federation.estimators.estimator import Estimator
from ...federation.estimators.inputs import check_index, numbers, vector
from ...models.families import FAMILIES, Family
from ...models.family_facts import FACTS
from .diagnostics import Wald, aic, deviance_r2, deviance_table, wald
from .formulas import Design
from .model import GlmEstimate
from .noisy_statistics.submodels import coefficients
from .records import WeightedResponse, response_of
from .summary import summary_of

if TYPE_CHECKING:
    import pandas

# A number, or two, for each coefficient by its name: of pandas where that is installed, else a mapping.
Named: TypeAlias = "pandas.Series | pandas.DataFrame | Mapping[str, float]"


# Arrays of an estimate by how often 1 + p is in their shape.
SHAPES = {"standard_errors": 1, "covariance": 2, "noise_errors": 1}


class Results(Estimator):
    """Attributes and methods of a fit, and the family that they are of."""

    family: str
    _finite = ("coef_", "intercept_")
    names_: tuple[str, ...]
    n_records_: int
    _design: Design | None = None
    _estimate = GlmEstimate
    _model_fields = (
        *("coefficients", "epsilon_claimed", "status", *SHAPES, "intervals", "deviance", "null_deviance", "dispersion"),
        *("log_likelihood", "iterations", "numbers"),
    )
    _model_attributes: ClassVar[Mapping[str, object]] = {"names_": tuple[str, ...], "n_records_": int}

    def _family(self) -> Family:
        if self.family not in FAMILIES:
            raise ValueError(f"family={self.family!r} is unknown; use one of {tuple(FAMILIES)}.")
        return FAMILIES[self.family]

    def _holder(self) -> str:
        if self._design is not None:
            raise ModelError(
                "levels and contrasts of a formula have no JSON form: fit with the columns "
                f"{list(self.names_)} themselves."
            )
        if getattr(self._options(), "link", "") == "shared":
            raise ModelError("link='shared': the coefficients stay in shares, no party has them; use link='opened'.")
        return super()._holder()

    def _check_model(self) -> None:
        estimate, p = self._fitted_estimate(), self.n_features_in_
        self._family()
        if estimate.coefficients.shape != (1 + p,) or (
            estimate.status == "ok" and not np.all(np.isfinite(estimate.coefficients))
        ):
            raise ValueError(f"coefficients must be {1 + p} finite numbers")
        for name, shape in SHAPES.items():
            array = getattr(estimate, name)
            if array is not None and array.shape != (1 + p,) * shape:
                raise ValueError(f"{name} has shape {array.shape} for {p} columns")
        if len(self.names_) != p:
            raise ValueError(f"names_ has {len(self.names_)} entries for {p} columns")

    def _derive(self) -> None:
        estimate = self._fitted_estimate()
        self.intercept_, self.coef_ = float(estimate.coefficients[0]), estimate.coefficients[1:]
        self.n_iter_, self.rows_ = estimate.iterations, estimate.rows
        self.deviance_, self.null_deviance_ = estimate.deviance, estimate.null_deviance
        self.dispersion_ = estimate.dispersion
        self.noise_errors_, self.noise_errors_reason_ = estimate.noise_errors, estimate.noise_errors_reason
        self.intervals_ = estimate.intervals
        both = None not in (estimate.deviance, estimate.null_deviance)
        self.deviance_r2_ = deviance_r2(estimate.deviance, estimate.null_deviance) if both else None

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
        """Standard errors (1 + p,), like ``params``; None where no party opened them, as in private fits."""
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
        log_likelihood: float | None = self._fitted_estimate().log_likelihood
        return log_likelihood

    @property
    def aic(self) -> float | None:
        """R's, which counts an estimated dispersion; None of private fits, of quasi-likelihoods and of bad fits."""
        return None if self.llf is None else aic(self.llf, 1 + len(self.names_), self.family)

    @property
    def bic(self) -> float | None:
        """R's, likewise, of ``n_records_`` records."""
        if self.llf is None:
            return None
        counted = 1 + len(self.names_) + FACTS[self.family].estimates_dispersion
        return float(-2 * self.llf + np.log(self.n_records_) * counted)

    def _tests(self, level: float) -> Wald | None:
        """Wald tests; None without standard errors."""
        estimate = self._fitted_estimate()
        if estimate.standard_errors is None:
            return None
        robust = getattr(self._options(), "cov_type", "nonrobust") != "nonrobust"
        df = self.df_resid if self._estimates_dispersion and not robust else None
        return wald(estimate.coefficients, estimate.standard_errors, df, level)

    @property
    def _estimates_dispersion(self) -> bool:
        """Whether the dispersion is estimated."""
        drawn = FACTS[self.family].estimates_dispersion
        return drawn or getattr(self._options(), "dispersion", "family") == "pearson"

    @property
    def df_resid(self) -> int:
        """Records of positive weight less coefficients."""
        return self.n_records_ - 1 - self.n_features_in_

    def deviance_table(self) -> list[dict[str, float | str | None]] | None:
        """Rows of the analysis of deviance, as of `partywise.methods.glm.diagnostics.deviance_table`.

        Returns
        -------
        list of dict, or None
            None where the protocol does not report both deviances.

        Examples
        --------
        >>> import partywise as pw
        >>> X = pw.stream(1, "records").normal(size=(200, 2))
        >>> y = 1 + X[:, 1] + pw.stream(1, "noise").normal(size=200)
        >>> fit = pw.VerticalGLM("gaussian", parties=2, random_state=7).fit(X, y)
        >>> for row in fit.deviance_table():
        ...     print(f"{row['source']:8} {row['df']:4} {row['deviance']:6.1f}")
        null      199  411.1
        columns     2  199.4
        residual  197  211.6
        """
        self._fitted_estimate()
        if self.deviance_ is None or self.null_deviance_ is None:
            return None
        fit = self.deviance_, self.null_deviance_, self.dispersion_
        return deviance_table(*fit, self.df_resid, self.n_features_in_, self._estimates_dispersion)

    def conf_int(self, alpha: float = 0.05) -> Named | None:
        """Intervals by name, columns 0 and 1; None where ``intervals_.reason`` states why.

        Wald's where there are standard errors; of a private fit those of ``intervals_``, over records and noise.

        Parameters
        ----------
        alpha : float
            In (0, 1): one minus the level.

        Returns
        -------
        pandas.DataFrame of shape (1 + p, 2), or mapping without pandas, or None

        Examples
        --------
        >>> # Needs pandas.
        >>> import partywise as pw
        >>> X = pw.stream(1, "records").normal(size=(200, 2))
        >>> y = 1 + X[:, 1] + pw.stream(1, "noise").normal(size=200)
        >>> fit = pw.VerticalGLM("gaussian", parties=2, random_state=7).fit(X, y, names=["age", "dose"])
        >>> fit.conf_int(alpha=0.1).round(2)
                      0     1
        intercept  0.93  1.17
        age       -0.02  0.22
        dose       0.86  1.10
        """
        tests = self._tests(1 - alpha)
        return self._by_name(self.intervals_.bounds(1 - alpha) if tests is None else tests.interval)

    def compare_lr_test(self, restricted: Results) -> tuple[float, float, int]:
        """Likelihood ratio, its p-value and degrees of freedom, against the same model with fewer columns.

        Parameters
        ----------
        restricted : VerticalGLM
            A fit of the same records by some of the columns.

        Returns
        -------
        tuple of float, float and int

        Raises
        ------
        ValueError
            If it is another fit, or one of both reports no likelihood.

        Examples
        --------
        >>> import numpy as np
        >>> import partywise as pw
        >>> X = pw.stream(1, "records").normal(size=(500, 3))
        >>> visits = pw.stream(1, "visits").poisson(np.exp(0.5 * X[:, 2]))
        >>> full = pw.VerticalGLM("poisson", parties=2, random_state=7).fit(X, visits)
        >>> less = pw.VerticalGLM("poisson", parties=2, random_state=7).fit(X[:, 1:], visits, names=["x1", "x2"])
        >>> ratio, p_value, df = full.compare_lr_test(less)
        >>> print(f"{ratio:.2f} on {df} degree of freedom, p {p_value:.2f}: x0 adds nothing")
        0.52 on 1 degree of freedom, p 0.47: x0 adds nothing
        """
        df = self._columns_less(restricted)
        ratio = 2 * (self._require("llf") - restricted._require("llf"))
        return ratio, float(chdtrc(df, max(ratio, 0.0))), df

    def compare_f_test(self, restricted: Results) -> tuple[float, float, int]:
        """F statistic at this fit's dispersion, its p-value and numerator degrees of freedom.

        Parameters
        ----------
        restricted : VerticalGLM
            A fit of the same records by some of the columns.

        Returns
        -------
        tuple of float, float and int

        Raises
        ------
        ValueError
            If it is another fit, or one of both reports no deviance or no dispersion.

        Examples
        --------
        >>> import partywise as pw
        >>> X = pw.stream(1, "records").normal(size=(200, 3))
        >>> y = 1 + X[:, 1] + pw.stream(1, "noise").normal(size=200)
        >>> full = pw.VerticalGLM("gaussian", parties=2, random_state=7).fit(X, y)
        >>> less = pw.VerticalGLM("gaussian", parties=2, random_state=7).fit(X[:, [0, 2]], y, names=["x0", "x2"])
        >>> ratio, p_value, df = full.compare_f_test(less)
        >>> print(f"F {ratio:.0f} on {df} and {full.df_resid} degrees of freedom, p {p_value:.0e}: x1 adds much")
        F 186 on 1 and 196 degrees of freedom, p 3e-30: x1 adds much
        """
        df = self._columns_less(restricted)
        gained = restricted._require("deviance_") - self._require("deviance_")
        ratio = gained / df / self._require("dispersion_")
        return ratio, float(fdtrc(df, self.df_resid, max(ratio, 0.0))), df

    def _require(self, name: str) -> float:
        """A number of the fit; ValueError where it reports none."""
        value: float | None = getattr(self, name)
        if value is None:
            raise ValueError(
                f"the fit by protocol={self.protocol!r} reports no {name}: private fits, quasi-likelihoods and fits "
                "short of their optimum have no such test."
            )
        return value

    def _columns_less(self, restricted: Results) -> int:
        """Return the number of columns that the other fit leaves out; ValueError if fits cannot be compared."""
        same = (self.family, self.n_records_) == (restricted.family, restricted.n_records_)
        if not same or not math.isclose(
            self._require("null_deviance_"), restricted._require("null_deviance_"), rel_tol=1e-9
        ):
            raise ValueError("restricted is not a fit of the same family to the same records, weights and offset.")
        more = set(restricted.names_) - set(self.names_)
        if more or len(restricted.names_) == len(self.names_):
            raise ValueError(
                f"restricted has the columns {list(restricted.names_)}: give a fit by some of {list(self.names_)}."
            )
        if any(fit._fitted_estimate().numbers.get("penalised") for fit in (self, restricted)):
            raise ValueError("a ridge shrinks these coefficients: the tests are of fits without one.")
        return len(self.names_) - len(restricted.names_)

    def _residuals(
        self,
        X: np.ndarray,
        y: np.ndarray,
        sample_weight: np.ndarray | None,
        offset: np.ndarray | None,
        trials: np.ndarray | None = None,
    ) -> tuple[WeightedResponse, np.ndarray]:
        """The response of records and their linear predictors; the records of a fit have its offset."""
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

    def summary(self) -> str:
        """Table of the coefficients with their tests, and a line each of what was fitted, its fit and its privacy.

        Examples
        --------
        >>> import partywise as pw
        >>> X = pw.stream(1, "records").normal(size=(200, 2))
        >>> y = 1 + X[:, 1] + pw.stream(1, "noise").normal(size=200)
        >>> fit = pw.VerticalGLM("gaussian", parties=2, random_state=7).fit(X, y, names=["age", "dose"])
        >>> print(fit.summary())
        gaussian by joint: 200 records, 3 coefficients, ok after 2 iterations
        deviance 211.621 of 411.071 without columns, explained 0.485
        dispersion 1.07422, AIC 586.871
        epsilon inf at delta 1e-05, for one row
        <BLANKLINE>
                          coef     std err      z or t           p       2.5 %      97.5 %
        intercept        1.052      0.0734       14.33   2.262e-32      0.9069       1.196
        age             0.1029     0.07285       1.412      0.1595    -0.04081      0.2465
        dose            0.9784     0.07369       13.28    3.76e-29       0.833       1.124
        """
        return summary_of(self, self._fitted_estimate(), self._tests(0.95))

    def submodel(self, columns: Sequence[int | str]) -> np.ndarray:
        """Coefficients of the model on some of the columns, from what was released: at no further cost.

        Parameters
        ----------
        columns : sequence of int or str
            Numbers or names of the columns that stay.

        Returns
        -------
        ndarray of shape (1 + p,)
            The intercept first; columns that are left out have 0.

        Raises
        ------
        ValueError
            Unless the protocol is ``moments``, which alone releases what other models need; or for an unknown column.

        Examples
        --------
        >>> import partywise as pw
        >>> X = pw.stream(1, "records").uniform(-1, 1, size=(2000, 3))
        >>> y = X[:, 0] + X[:, 2] + 0.5 * pw.stream(1, "noise").normal(size=2000)
        >>> scales = {"location": 0.0, "scale": 0.6, "statistic": (-3, 3)}
        >>> model = pw.VerticalGLM("gaussian", "moments", epsilon=2.0, cipher="sized", random_state=7, **scales)
        >>> model.fit(X, y).coef_.round(1) + 0.0
        array([ 1.1, -0.1,  0.9])
        >>> model.submodel([0])[1:].round(1)  # of x0 alone, from the same release
        array([1.1, 0. , 0. ])
        """
        released = self._fitted_estimate().moments
        if released is None:
            raise ValueError(f"protocol={self.protocol!r} releases no second moments: use protocol='moments'.")
        unknown = [name for name in columns if isinstance(name, str) and name not in self.names_]
        if unknown:
            raise ValueError(f"columns name {unknown}, which the model does not have: it has {list(self.names_)}.")
        chosen = [self.names_.index(name) if isinstance(name, str) else int(name) for name in columns]
        return coefficients(released, self.family, chosen)

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
            raise ValueError(f"offset has {len(shift)} entries for {len(array)} rows of X.")
        return estimate.predictor(array, shift)

    def predict(self, X: np.ndarray, offset: np.ndarray | None = None) -> np.ndarray:
        """Means of the response.

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
        return self._family().mean(self.linear_predictor(X, offset))

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
