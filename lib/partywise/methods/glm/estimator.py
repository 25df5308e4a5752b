"""Vertical generalised linear models, as an estimator."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from ...alignment.identifiers import prepare_identifiers
from ...alignment.options import IdentifierRules
from ...core.verdicts import response_verdict
from ...federation.estimators.column_estimator import blocks_of, holders
from ...federation.estimators.fit_budget import Budget
from ...federation.estimators.inputs import check_index, vector
from ...federation.estimators.parameters import Method
from ...federation.exchanges.secure_sum import AGGREGATOR
from ...federation.exchanges.sharing import DEALER
from ...federation.roles import ANALYST
from ...federation.secure_streams import Randomness
from ...models.kinds import Kind
from ...privacy.accounted_values import AccountedValue, Public
from .formulas import Design
from .model import GlmFacts
from .options import (
    COX,
    BcdOptions,
    GlmMomentsOptions,
    GlmNoisyGradientOptions,
    GlmReferenceOptions,
    JointOptions,
    NoisyNewtonOptions,
    NoisyPredictorOptions,
)
from .protocols import bcd, joint, moments, noisy_gradient, noisy_newton, noisy_predictor, reference
from .records import response_of
from .results import Results

DECLARED = "declared by the caller of the estimator"
RULES = IdentifierRules()
# Public facts that private protocols scale records by.
CONSTANTS = ("location", "scale", "radii", "statistic", "eta_start")
# True of every such fit, whatever its records are: a property of the method, not a verdict on the fit.
POISSON = (
    "family='poisson' of protocol='moments': the coefficients are approximate, and no epsilon removes their bias, as "
    "second moments do not tell how skewed columns are; compare with 'noisy_newton', whose aggregator sees records."
)


class VerticalGLM(Results):
    """A generalised linear model of columns that several parties hold (document 004).

    Parameters
    ----------
    family : {"gaussian", "binomial", "poisson", "gamma", "inverse_gaussian", "cox"}
        Of the response, with identity, logit or log link; or proportional hazards of follow-up times, of ``joint`` with
        ``solver="lbfgs"`` and of ``reference``.
    protocol : {"joint", "bcd", "reference", "moments", "noisy_newton", "noisy_gradient", "noisy_predictor"}
        All blocks together from secure sums; block coordinate descent, as published or corrected; all columns in one
        place; and four whose releases keep ``epsilon``.
    epsilon : float, optional
        Target of the four private protocols, required there and refused elsewhere.
    delta : float
    location, scale : float or array_like of shape (p,), optional
        Centre and typical deviation of every column by its meaning. These and the following are for the private
        protocols, must come from public things, never from the data, and are refused elsewhere.
    radii : sequence of K floats, optional
        Length to which each party clips its records of scaled columns; by default what 0.3 % of normal records exceed
        (2.97, 3.41, 4.24, 5.16 of 1, 2, 5, 10 columns).
    statistic : pair of floats, optional
        Range of y; of its logarithm for Gamma and inverse Gaussian; 0 and 1 of binomial responses.
    eta_start : float, optional
        Linear predictor at which the steps of the three noisy protocols start.
    kinds : mapping of str to str or sequence, optional
        How each column is distributed by its meaning, for intervals of ``moments`` and ``noisy_newton``: ``"normal"``,
        ``("uniform", low, high)``, ``("binary", low, high)`` or ``("lognormal", shift)``. Without them columns count as
        normal, and intervals are withheld where more than 1 % of records are clipped.
    formula : str, optional
        Right-hand side for the columns of a data frame, such as ``"age * smoker + C(region)"`` (extra ``formula``).
        Every term is of one party's columns; levels become names that all see. Refused in private protocols, for which
        levels and constants would have to be public before the records are seen.
    parties, random_state, shared_budget, clipped
        As in `Estimator`; ``parties`` and ``rng`` of a fit come before those given here.
    **options
        Fields of the protocol's dataclass in `partywise.methods.glm.options`.

    Attributes
    ----------
    coef_ : ndarray of shape (p,)
    intercept_ : float
    params, bse, tvalues, pvalues, conf_int(), llf, aic, bic, df_resid
        In statsmodels' words, by the names of the coefficients, ``intercept`` first. None where the protocol has none
        (private fits, except intervals) or the fit has not reached its optimum.
    noise_errors_ : ndarray of shape (1 + p,), or None
        Standard deviation that the noise of privacy alone gives each coefficient, to first order; of ``moments``.
    noise_errors_reason_ : str
        Why ``noise_errors_`` of a noisy fit is None; else empty.
    intervals_ : partywise.models.intervals.Intervals
        Of ``moments`` and ``noisy_newton``, over records and noise, of the coefficients of records before clipping; or
        why there are none.
    deviance_, null_deviance_, deviance_r2_, dispersion_ : float, or None
        As the protocol reports them; ``dispersion_`` is ``scale`` of statsmodels, which is an argument here.
    status_ : str
    n_iter_ : int, or None
    rows_ : dict of str to ndarray, or None
        Positions of the common records at each party, where they arrived unaligned.
    estimate_, ledger_, transcript_, privacy_, epsilon_claimed_
        As in `Estimator`; the unit of ``privacy_`` is ``row``, one record at all parties together.

    Notes
    -----
    Formal guarantee: of the private protocols ``privacy_.epsilon_certified`` at ``delta``, against the view and under
    the trust model named there; infinite elsewhere, where ``estimate_.numbers["record_openings"]`` counts the n-vectors
    of another party's data that a participant sees. Standard errors leave out the noise of privacy.

    Examples
    --------
    >>> import partywise as pw
    >>> X = pw.stream(1, "records").normal(size=(200, 2))
    >>> y = 1 + X[:, 1] + pw.stream(1, "noise").normal(size=200)
    >>> fit = pw.VerticalGLM("gaussian", parties=2, random_state=7).fit(X, y, names=["age", "dose"])
    >>> for name in fit.params.keys():
    ...     numbers = [table[name] for table in (fit.params, fit.bse, fit.tvalues, fit.pvalues)]
    ...     print(f"{name:9}", *(f"{number:8.3f}" for number in numbers))
    intercept    1.052    0.073   14.328    0.000
    age          0.103    0.073    1.412    0.160
    dose         0.978    0.074   13.277    0.000
    >>> fit.df_resid, round(fit.llf, 1), round(fit.aic, 1), round(fit.bic, 1)
    (197, -289.4, 586.9, 600.1)
    """

    unit = "row"
    methods: ClassVar[Mapping[str, Method]] = {
        "joint": Method(JointOptions, joint.fit, (ANALYST, DEALER), ANALYST),
        "bcd": Method(BcdOptions, bcd.fit, (ANALYST,), ANALYST),
        "reference": Method(GlmReferenceOptions, reference.fit, (ANALYST,), "active"),
        "moments": Method(GlmMomentsOptions, moments.fit, (ANALYST,), ANALYST),
        "noisy_newton": Method(NoisyNewtonOptions, noisy_newton.fit, (ANALYST, AGGREGATOR), ANALYST),
        "noisy_gradient": Method(GlmNoisyGradientOptions, noisy_gradient.fit, (ANALYST, AGGREGATOR), ANALYST),
        "noisy_predictor": Method(NoisyPredictorOptions, noisy_predictor.fit, (ANALYST,), ANALYST),
    }

    def __init__(
        self,
        family: str = "gaussian",
        protocol: str = "joint",
        *,
        epsilon: float | None = None,
        delta: float = 1e-5,
        location: ArrayLike | None = None,
        scale: ArrayLike | None = None,
        radii: Sequence[float] | None = None,
        statistic: Sequence[float] | None = None,
        eta_start: float | None = None,
        kinds: Mapping[str, str | Sequence[str | float]] | None = None,
        formula: str | None = None,
        parties: int | Sequence[Sequence[int | str]] = 2,
        random_state: Randomness | None = None,
        shared_budget: Budget | None = None,
        clipped: Literal["refuse", "allow"] = "refuse",
        **options: object,
    ) -> None:
        self.family = family
        self.clipped: Literal["refuse", "allow"] = clipped
        self.location, self.scale, self.radii = location, scale, radii
        self.statistic, self.eta_start, self.kinds, self.formula = statistic, eta_start, kinds, formula
        super().__init__(protocol, epsilon, delta, parties, random_state, shared_budget, options)

    def fit(
        self,
        X: ArrayLike,
        y: np.ndarray,
        *,
        parties: int | Sequence[Sequence[int | str]] | None = None,
        sample_weight: np.ndarray | None = None,
        offset: np.ndarray | None = None,
        trials: np.ndarray | None = None,
        status: np.ndarray | None = None,
        strata: np.ndarray | None = None,
        ids: Sequence[Sequence[str]] | None = None,
        names: Sequence[str] | None = None,
        rng: Randomness | None = None,
    ) -> VerticalGLM:
        """Simulate the protocol.

        Parameters
        ----------
        X : ndarray of shape (n, p), or sequence of K arrays of shape (n_k, p_k)
            Columns, without one for the intercept. Of records that arrive unaligned (``ids``), one array per party.
        y : ndarray of shape (n,)
            Responses, of the first party.
        parties : int or sequence of sequences of int or str
            How many share the columns, in runs, or the columns of each, by number or name; not read with ``ids``. The
            first may have none, ``[[], ...]``, and hold the response alone, except in private protocols.
        sample_weight : ndarray of shape (n,), optional
            Prior weights of at least 0: ``var_weights`` of statsmodels, ``weights`` of R.
        offset : ndarray of shape (n,), optional
            Added to the linear predictor.
        trials : ndarray of shape (n,), optional
            Of a binomial family: y are successes among so many.
        status : ndarray of shape (n,), optional
            Of family ``cox``, where y are times: 1 where an event ended the follow-up, else 0.
        strata : ndarray of shape (n,), optional
            Of family ``cox``: groups with a baseline hazard each.
        ids : sequence of K sequences of str, optional
            Identifiers of each party's records, which are aligned first, as the option ``alignment`` states.
        names : sequence of p str, optional
            Of the columns, for messages and the summary; by default those of data frames, else x0, x1, ...
        rng : int, numpy.random.Generator, Streams or SecureStreams
            Source of masks, shares and noise. All but `SecureStreams` repeat what they draw: for experiments.

        Raises
        ------
        ValueError
            If shapes disagree, values are not finite, a response is outside the family's domain, ``parties`` is not a
            partition of the columns into two or more groups, records are no more than coefficients without a ridge, a
            constant of a private protocol is missing, or one is given that nothing reads.
        LinAlgError
            With the pooled rank, if columns depend on each other and no ridge is given.
        TypeError
            For an ``rng`` of another kind, or an unknown option.
        ImportError
            Without PyNaCl, where ``ids`` are intersected.

        Examples
        --------
        >>> import numpy as np
        >>> import partywise as pw
        >>> X = pw.stream(1, "records").normal(size=(500, 3))
        >>> visits = pw.stream(1, "visits").poisson(np.exp(0.5 * X[:, 2]))
        >>> model, names = pw.VerticalGLM("poisson"), ["age", "dose", "smoker"]
        >>> model.fit(X, visits, parties=[["age", "dose"], ["smoker"]], names=names, rng=7).coef_.round(1) + 0.0
        array([0. , 0. , 0.5])
        >>> model.estimate_.numbers["record_openings"]  # in every step the first party sees the other's predictor
        5
        """
        self._check_family(status, strata)
        arrays = {"y": y, "sample_weight": sample_weight, "offset": offset, "trials": trials}
        check_index(X, arrays | {"status": status, "strata": strata})
        records, held_by = X, self._division(parties)
        if self.formula is not None and self._options().uses_epsilon:
            raise ValueError(
                f"formula={self.formula!r} with protocol={self.protocol!r}: its levels and constants come from the "
                "records, and a private fit takes public ones; give columns that are coded by public levels."
            )
        self._design = None if self.formula is None else Design(self.formula, X, held_by)
        if self._design is not None:
            if ids is not None or names is not None:
                raise ValueError("formula names the columns of one frame: leave ids and names out.")
            X, held_by, names = self._design.columns(X), self._design.groups, self._design.names
        blocks, groups, column_names = blocks_of(X, held_by, ids, names, bare=not self._options().uses_epsilon)
        # As they were given: an array would make text of the numbers among them.
        owners = ["active", *(f"passive {place}" for place in range(1, len(groups)))]
        texts = (
            None
            if ids is None
            else [prepare_identifiers(*arguments)[0] for arguments in zip(ids, [RULES] * len(ids), owners, strict=True)]
        )
        vectors = {"y": vector("y", y, len(blocks[0])), "weights": sample_weight, "offset": offset, "trials": trials}
        vectors |= {"status": status, "strata": strata}
        participants = holders(blocks, groups, vectors, texts)
        public = self._public(column_names, owners, ids is None)
        settings = SimpleNamespace(delta=self.delta, unit=self.unit)
        estimate = self._simulate(participants, len(participants[0].block["y"]), rng, public=public, settings=settings)
        self._keep_names(X, names)
        first = participants[0]
        rows = np.arange(len(first.block["y"])) if estimate.rows is None else estimate.rows[first.name]
        private, self.n_records_, self.n_absent_ = self._options().uses_epsilon, len(rows), 0
        self.names_, self.n_features_in_ = column_names, len(column_names)
        if self.family != COX:
            response = response_of(first.block, rows, self.family, first.name, nearest=private)
            # Not saved: they are of the records.
            self.n_records_, self.n_absent_ = response.n_observations, len(response.absent)
        self._derive()
        if offset is not None:
            known = None if ids is not None else self._digest(self.linear_predictor(records))  # type: ignore[arg-type]
            self._offset_of_fit = known, np.array(offset, dtype=float)
        elif hasattr(self, "_offset_of_fit"):
            del self._offset_of_fit
        self._judge(response_verdict("y", np.asarray(vectors["y"])))
        if (self.protocol, self.family) == ("moments", "poisson"):
            warnings.warn(POISSON, UserWarning, stacklevel=2)
        return self

    def _check_family(self, status: np.ndarray | None, strata: np.ndarray | None) -> None:
        """ValueError for an unknown family, for one that the protocol does not fit, and for arrays that it lacks."""
        if self.family != COX:
            self._family()
            for name, value in (("status", status), ("strata", strata)):
                if value is not None:
                    raise ValueError(f"{name} is given with family={self.family!r}: it is read with 'cox' only.")
        elif self.protocol not in ("joint", "reference"):
            raise ValueError(
                f"family='cox' with protocol={self.protocol!r}: use 'joint' with solver='lbfgs', or 'reference'."
            )
        elif status is None:
            raise ValueError("status is missing: family='cox' needs 1 for records whose time is an event, else 0.")

    def _public(self, names: tuple[str, ...], parties: Sequence[str], aligned: bool) -> GlmFacts:
        """Return the public facts; constants that nothing reads are refused."""
        values = {name: getattr(self, name) for name in CONSTANTS}
        if not self._options().uses_epsilon:
            for name, value in values.items():
                if value is not None:
                    raise ValueError(f"{name}={value!r} is read by private protocols only: leave it out.")
        radii = [] if self.radii is None else list(self.radii)
        if radii and len(radii) != len(parties):
            raise ValueError(f"radii={self.radii!r}: give {len(parties)} numbers, one a party.")
        noisy = self.protocol.startswith("noisy_")
        if self.eta_start is not None and not noisy:
            raise ValueError(f"eta_start={self.eta_start!r} is read by the noisy protocols only: leave it out.")
        if self.eta_start is None and noisy:
            raise ValueError(
                f"eta_start is missing: protocol={self.protocol!r} starts its steps at a public linear predictor, such "
                "as the link of a response that is typical by its meaning."
            )
        constants: dict[str, AccountedValue] = {}
        for name in CONSTANTS:
            if values[name] is None or name == "radii":
                continue
            value = np.asarray(values[name], dtype=float)
            if name in ("location", "scale") and not value.shape:
                value = np.full(len(names), float(value))
            constants[name] = Public(value if value.shape else float(value), because=DECLARED)
        if self.family == "binomial" and self.protocol == "moments":
            constants.setdefault("statistic", Public(np.array([0.0, 1.0]), because="labels are 0 and 1"))
        return GlmFacts(
            self.family,
            names,
            aligned,
            radii={name: Public(float(c), because=DECLARED) for name, c in zip(parties, radii, strict=False)},
            location=constants.get("location"),
            scale=constants.get("scale"),
            statistic=constants.get("statistic"),
            eta_start=constants.get("eta_start"),
            kinds=self._kinds(names),
        )

    def _kinds(self, names: Sequence[str]) -> tuple[Kind, ...]:
        """Return the declared kinds of all columns; ValueError for names that are not all columns."""
        if self.kinds is None:
            return ()
        if not hasattr(self._options(), "intervals"):
            raise ValueError(
                f"kinds={self.kinds!r} is read by protocol='moments' and 'noisy_newton' only: leave it out."
            )
        if not isinstance(self.kinds, Mapping) or set(self.kinds) != set(names):
            raise ValueError(f"kinds is {self.kinds!r}: give one of each column by name, {sorted(names)}.")
        return tuple(Kind.of_text(name, self.kinds[name], DECLARED) for name in names)
