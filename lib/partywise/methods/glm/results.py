"""Results of generalised linear models after a fit: coefficients and their tests, deviances, the summary."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np
from scipy.special import chdtrc, fdtrc

from ...core.arrays import summary_rows
from ...core.errors import ModelError
from ...models.family_facts import FACTS
from ...models.intervals import level_of, noise_line
from .diagnostics import Wald, aic, deviance_r2, deviance_table, wald
from .model import GlmEstimate
from .noisy_statistics.submodels import coefficients
from .options import COX, Choice, Penalty
from .penalised_path import NO_ERRORS, LassoPath, path_of_estimate
from .predictions import Predictions

if TYPE_CHECKING:
    import pandas

# A number, or two, for each coefficient by its name: of pandas where that is installed, else a mapping.
Named: TypeAlias = "pandas.Series | pandas.DataFrame | Mapping[str, float]"


# Arrays of an estimate by how often 1 + p is in their shape.
SHAPES = {"standard_errors": 1, "covariance": 2, "noise_errors": 1}


class Results(Predictions):
    """Attributes and methods of a fit, and the family that they are of."""

    _finite = ("coef_", "intercept_")
    names_: tuple[str, ...]
    n_records_: int
    _model_fields = (
        *("coefficients", "epsilon_claimed", "status", *SHAPES, "intervals", "deviance", "null_deviance", "dispersion"),
        *("log_likelihood", "iterations", "numbers"),
    )
    _model_attributes: ClassVar[Mapping[str, object]] = {"names_": tuple[str, ...], "n_records_": int}

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
        if self.family != COX:
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
        if self.family == COX:
            self.hazard_ratios_, self.concordance_ = np.exp(self.coef_), estimate.numbers["concordance"]
            self.baseline_cumulative_hazard_ = estimate.baseline
        both = None not in (estimate.deviance, estimate.null_deviance)
        self.deviance_r2_ = deviance_r2(estimate.deviance, estimate.null_deviance) if both else None

    def _by_name(self, values: np.ndarray | None) -> Named | None:
        """Values (1 + p,) or pairs (1 + p, 2) by the names of the coefficients; None where there are none."""
        if values is None:
            return None
        if self.family == COX:
            values = values[1:]
        names = self._coefficient_names
        if find_spec("pandas") is None:
            return dict(zip(names, values.tolist(), strict=True))
        import pandas

        return pandas.Series(values, names) if values.ndim == 1 else pandas.DataFrame(values, names)

    @property
    def _coefficient_names(self) -> list[str]:
        """Names of the coefficients; a proportional-hazards model has no intercept."""
        return [*self.names_] if self.family == COX else ["intercept", *self.names_]

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
        counted = len(self._coefficient_names) + self._drawn
        # Of follow-up times the events count, as in R.
        n = self._fitted_estimate().numbers["events"] if self.family == COX else self.n_records_
        return float(-2 * self.llf + np.log(n) * counted)

    @property
    def _drawn(self) -> bool:
        """Whether the dispersion is a parameter of the family."""
        return self.family != COX and FACTS[self.family].estimates_dispersion

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
        return self._drawn or getattr(self._options(), "dispersion", "family") == "pearson"

    @property
    def df_resid(self) -> int:
        """Records of positive weight less coefficients."""
        return self.n_records_ - len(self._coefficient_names)

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
        level = level_of(alpha)
        tests = self._tests(level)
        return self._by_name(self.intervals_.bounds(level) if tests is None else tests.interval)

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

    def _summary_head(self) -> list[str]:
        """Lines on what was fitted, its fit, its privacy and its approximations."""
        estimate: GlmEstimate = self._fitted_estimate()
        absent, options = getattr(self, "n_absent_", 0), self._options()
        left_out = f" ({absent} without weight or trials are left out)" if absent else ""
        steps = "" if estimate.iterations is None else f" after {estimate.iterations} iterations"
        lines = [
            f"{self.family} by {self.protocol}: {self.n_records_} records{left_out}, {len(self._coefficient_names)} "
            f"coefficients, {self.status_}{steps}"
        ]
        if self.deviance_r2_ is not None:
            lines.append(
                f"deviance {_number(self.deviance_)} of {_number(self.null_deviance_)} without columns, "
                f"explained {self.deviance_r2_:.3f}"
            )
        rest = {"dispersion": self.dispersion_, "AIC": self.aic}
        lines.append(", ".join(f"{name} {_number(value)}" for name, value in rest.items() if value is not None))
        lines += super()._summary_head()
        cov_type = getattr(options, "cov_type", "nonrobust")
        if cov_type != "nonrobust" and estimate.standard_errors is not None:
            lines.append(f"standard errors: {cov_type}, from squared scores, with normal tests")
        if estimate.numbers.get("penalised"):
            lines.append("penalised: standard errors leave out the bias of the ridge")
        if self.family == COX:
            lines.append(f"{estimate.numbers['events']} events, concordance {self.concordance_:.4f}")
        if getattr(options, "penalty", None) is not None:
            value = "" if estimate.penalty_lambda is None else f" (lambda {estimate.penalty_lambda:.4g})"
            lines.append(f"no standard errors{value}: {NO_ERRORS}")
        if estimate.numbers.get("approximate"):
            lines.append("approximate: a polynomial or a formula for normal columns stands in for the link")
        if options.uses_epsilon and np.isfinite(estimate.epsilon_claimed):
            lines.append(noise_line(estimate.noise_errors_reason))
        return list(filter(None, lines))

    def _summary_table(self) -> list[str]:
        """Rows of the coefficients, with what is known of their errors and intervals of 95 %."""
        estimate: GlmEstimate = self._fitted_estimate()
        tests = self._tests(0.95)
        columns = {"coef": estimate.coefficients}
        if tests is not None and estimate.standard_errors is not None:
            columns |= {"std err": estimate.standard_errors, "z or t": tests.statistic, "p": tests.p_values}
            bounds: np.ndarray | None = tests.interval
        else:
            if estimate.noise_errors is not None:
                columns["noise sd"] = estimate.noise_errors
            bounds = self.intervals_.bounds()
        if bounds is not None:
            columns |= {"2.5 %": bounds[:, 0], "97.5 %": bounds[:, 1]}
        names = self._coefficient_names
        if self.family == COX:
            columns = {"coef": columns["coef"], "exp(coef)": np.exp(columns["coef"])} | columns
            columns = {title: values[1:] for title, values in columns.items()}
        return summary_rows(columns, names, 1 + max(map(len, names)))

    def path(
        self,
        penalty: Penalty = "lasso",
        *,
        alpha: float | None = None,
        lambdas: Sequence[float] | None = None,
        choose: Choice = "universal",
    ) -> LassoPath:
        """Coefficients along a penalised path, from what the fit released or opened: at no further cost.

        Exact of Gaussian responses; of others an approximation around the unpenalised fit, as ``approximate`` states.

        Parameters
        ----------
        penalty : {"lasso", "ridge", "elastic_net"}
            Of slopes of scaled columns.
        alpha : float, optional
            In (0, 1): share of the lasso in an elastic net.
        lambdas : sequence of float, optional
            By default 40 values, down to a thousandth of the least that leaves no column.
        choose : {"universal", "bic"} or float
            The least lambda above what noise and sampling give a column without an effect, the least BIC (which leaves
            out the noise), or a value.

        Returns
        -------
        LassoPath
            ``choice``, ``columns``, ``lambdas``, ``coefficients``, and a ``summary()`` with the unpenalised fit.

        Raises
        ------
        ValueError
            For a fit without second moments or covariance, with a ridge or a robust covariance, or an unknown choice.

        Examples
        --------
        >>> import partywise as pw
        >>> X = pw.stream(1, "records").normal(size=(500, 4))
        >>> y = X[:, 0] - X[:, 3] + pw.stream(1, "noise").normal(size=500)
        >>> fit = pw.VerticalGLM("gaussian", parties=2, random_state=7).fit(X, y)
        >>> fit.path().columns
        ('x0', 'x3')
        """
        estimate = self._fitted_estimate()
        if estimate.numbers.get("penalised") or getattr(self._options(), "cov_type", "nonrobust") != "nonrobust":
            raise ValueError("a path follows from a fit without a ridge, with cov_type 'nonrobust': fit again.")
        settings = (penalty, alpha, lambdas, choose, self.names_)
        return path_of_estimate(estimate, self.family, self.n_records_, *settings)

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


def _number(value: float) -> str:
    return f"{value:.6g}"
