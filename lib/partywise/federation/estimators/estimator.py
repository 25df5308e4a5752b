"""Common parts of the estimators of all methods: parameters in scikit-learn's way, one simulated run, its cost.

An estimator is a protocol with arrays in front of it: ``Estimator(...).fit(X, y, parties=..., rng=...)`` simulates all
parties in one process and keeps the estimate, the ledger, the transcript and the total of the worst coalition. What a
person with data of one party only runs is the protocol itself.
"""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import MISSING, dataclass, fields, replace
from importlib.util import find_spec
from numbers import Real
from pathlib import Path

# Any: options of a method that is known by its name only, and the user's data frames.
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ...core.errors import ModelError
from ...core.randomness import Streams
from ...core.verdicts import (
    OK,
    REFUSED,
    Verdict,
    bounds_verdict,
    estimate_verdict,
    finite_verdict,
    first_fault,
    intervals_verdict,
)
from ...models.intervals import Intervals
from ...privacy.rounding import upward
from ..channel import Transcript
from ..folds import Fold, Spec
from ..parties import Party, clip_shares, largest_clip_shares, split_rows
from ..run import Run, simulate
from ..secure_streams import Randomness, addresses_of, floating_point, fresh_streams
from .fit_budget import Budget
from .saved_model import save

# scikit-learn's bases and errors where it is installed, else of the same names with what is used of them.
if TYPE_CHECKING or find_spec("sklearn") is None:

    class BaseEstimator:
        """An estimator without scikit-learn."""

    class TransformerMixin:
        """A transformer without scikit-learn."""

        def fit_transform(self, X: object, y: object = None, **given: object) -> object:
            """`fit`, then `transform` of the same records: what comes out is not private.

            Parameters
            ----------
            X, y, **given
                Of `fit`.

            Returns
            -------
            ndarray

            Examples
            --------
            >>> import partywise as pw
            >>> X = pw.stream(1, "records").normal(size=(200, 4))
            >>> scores = pw.VerticalPCA(parties=[[0, 1], [2, 3]], random_state=7).fit_transform(X)
            >>> scores.shape, bool(abs(scores.mean(axis=0)).max() < 1e-9)  # centred
            ((200, 4), True)
            """
            return self.fit(X, y, **given).transform(X)  # type: ignore[attr-defined]

    class NotFittedError(ValueError, AttributeError):
        """An estimator was asked before its fit."""

    class DataConversionWarning(UserWarning):
        """An array was taken for another shape than it has."""

else:
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.exceptions import DataConversionWarning, NotFittedError

# Characters of a parameter that is shown as it is.
LONGEST = 60
# Largest number of an argument: floats hold sixth powers of it.
LARGEST = 1e50


class ClaimedEstimate(Protocol):
    """An estimate, of which the estimator reads what its source claims."""

    @property
    def epsilon_claimed(self) -> float: ...


@dataclass(frozen=True)
class Method:
    """A protocol that an estimator may run.

    options, fit : its dataclass and its program; extra : places without data, except those of its options
    holder : place that has the whole model in the end; empty where none has
    published : whether it follows its source formula for formula, which clips without a word: the fit warns
    """

    options: type
    fit: Callable[[Run], ClaimedEstimate]
    extra: tuple[str, ...] = ()
    holder: str = ""
    published: bool = False


class Estimator(BaseEstimator):
    """Parameters, a simulated run and its privacy; a method package adds what its arrays mean.

    It is an estimator of scikit-learn where that is installed, and works in its pipelines and searches.

    Parameters
    ----------
    protocol : str
        One of ``methods``.
    epsilon : float, optional
        Target of calibrated noise, inf for none. Required where the options calibrate noise to it, refused elsewhere.
    delta : float
        Of every epsilon.
    parties : object, optional
        Who holds what, as of ``fit``, where a value of its own comes before this one.
    random_state : int, numpy.random.Generator, Streams or SecureStreams, optional
        As ``rng`` of ``fit``, where a value of its own comes before this one. An integer gives every fit the same
        draws, except for fits that share a budget. None, here and in ``fit``, draws every fit from fresh entropy of the
        operating system (`SecureStreams`), and ``privacy_`` states "seed: none"; noise in floating point, which has no
        such source, is refused.
    shared_budget : Budget, optional
        What this fit and all others that share it may cost together; clones share it.
    clipped : {"refuse", "allow"}
        Of estimators whose protocols clip: whether a fit is refused where more than half of the entries (of boxes) or
        records (of balls) lie beyond their public bounds. From 5 % on, and with ``"allow"``, it warns. Methods as
        published warn in either case. A fit has no intervals where more than 1 % of a party's own lie beyond.
    **options
        Fields of the protocol's dataclass of options.

    Attributes
    ----------
    status_ : str
        ``"ok"``, or why the estimate is not to be used, or not yet: one of `partywise.core.verdicts.STATUSES`.
    status_reason_ : str
        The sentence that the fit warned with, which names an argument or column, a value and the remedy; else empty.
        It may come from the records: a saved model has none of it.
    estimate_ : object
        What the protocol returned.
    ledger_ : Ledger
        Every release with its cost.
    transcript_ : list of dict
        Every message, in order; ``to_frame()`` makes a table of it, as of ``ledger_`` and ``privacy_``.
    n_features_in_ : int
        Columns of the fit.
    feature_names_in_ : ndarray of str
        Their names, of a data frame or as given; later records with other names or another order are refused.
    privacy_ : Total
        What the worst coalition learnt: epsilon at ``delta``, mu, the best attack's true-positive rates. Where fits
        share a budget, also how many there are, what they cost together, and what a choice among them costs.
    """

    methods: ClassVar[Mapping[str, Method]] = {}
    n_features_in_: int
    classes_: np.ndarray
    status_: str
    status_reason_: str
    clipped = "refuse"
    unit: ClassVar[str] = "row"
    _axes: ClassVar[int] = 2
    # What a saved model has: fields of the estimate, and attributes that do not follow from these, with their types.
    _estimate: ClassVar[type]
    _model_fields: ClassVar[tuple[str, ...]] = ()
    _model_attributes: ClassVar[Mapping[str, Any]] = {}
    _without_holder: ClassVar[str] = "every party keeps its part"
    # Attributes that are finite unless the fit failed.
    _finite: ClassVar[tuple[str, ...]] = ()
    _clip_verdict: Verdict
    _intervals_verdict: Verdict
    # Name, role and columns of every party, and the names of places without data.
    _places: tuple[tuple[str, str, tuple[int, ...]], ...]

    def __init__(
        self,
        protocol: str,
        epsilon: float | None,
        delta: float,
        parties: object,
        random_state: Randomness | None,
        shared_budget: Budget | None,
        options: Mapping[str, object],
    ) -> None:
        self.protocol, self.epsilon, self.delta = protocol, epsilon, delta
        self.parties: Any = parties
        self.random_state, self.shared_budget = random_state, shared_budget
        defaults = dict[str, object]()
        if self._has_protocol:
            self._check(options)
            defaults = {option.name: option.default for option in fields(self._method.options)}
        # A clone is made with every default, and may be given another protocol, which has other options.
        self._given = {name: value for name, value in options.items() if value is not defaults.get(name, MISSING)}

    @property
    def _kind(self) -> str:
        """Kind of the estimator for scikit-learn: "classifier", "regressor" or "transformer"."""
        return "transformer" if isinstance(self, Transformer) else "regressor"

    @property
    def _many_classes(self) -> bool:
        """Whether labels may be of more than two classes."""
        return False

    @property
    def _may_miss(self) -> bool:
        """Whether cells of X may be missing (NaN)."""
        return False

    def __sklearn_tags__(self) -> Any:
        """Return the tags that scikit-learn asks for before it fits; it is loaded then."""
        from sklearn.utils import ClassifierTags, RegressorTags, TransformerTags

        tags: Any = super().__sklearn_tags__()  # type: ignore[misc]
        kind_tags: dict[str, Any] = {
            "classifier": lambda: ClassifierTags(multi_class=self._many_classes),
            "regressor": RegressorTags,
            "transformer": lambda: TransformerTags(preserves_dtype=[]),
        }
        setattr(tags, f"{self._kind}_tags", kind_tags[self._kind]())
        tags.estimator_type = None if self._kind == "transformer" else self._kind
        y = inspect.signature(self.fit).parameters["y"]  # type: ignore[attr-defined]
        tags.target_tags.required = y.default is inspect.Parameter.empty
        tags.input_tags.allow_nan = self._may_miss
        tags.input_tags.two_d_array, tags.input_tags.three_d_array = self._axes == 2, self._axes == 3
        return tags

    @property
    def _has_protocol(self) -> bool:
        return isinstance(self.protocol, str) and self.protocol in self.methods

    @property
    def _method(self) -> Method:
        if not self._has_protocol:
            raise ValueError(
                f"protocol={self.protocol!r} of {type(self).__name__} is unknown; use one of {tuple(self.methods)}."
            )
        return self.methods[self.protocol]

    def _own(self) -> list[str]:
        """Parameters that are not options of the protocol."""
        parameters = inspect.signature(type(self).__init__).parameters.values()
        return [
            parameter.name
            for parameter in parameters
            if parameter.kind is not parameter.VAR_KEYWORD and parameter.name != "self"
        ]

    def _check(self, names: Iterable[str]) -> None:
        known = [*self._own(), *(option.name for option in fields(self._method.options))]
        for name in names:
            if name not in known:
                raise TypeError(
                    f"{name!r} is not a parameter of {type(self).__name__} with protocol={self.protocol!r}; "
                    f"it has {', '.join(known)}."
                )

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """All parameters, the defaults of the options included.

        Parameters
        ----------
        deep : bool
            Not read: no parameter is an estimator.

        Returns
        -------
        dict of str to object

        Raises
        ------
        TypeError
            If an option of the protocol has no default.

        Examples
        --------
        >>> import partywise as pw
        >>> model = pw.VerticalLinear("exact", parties=3)
        >>> params = model.get_params()
        >>> params["parties"], params["ridge"]  # a parameter of every estimator, and an option of this protocol
        (3, 0.0)
        """
        params = {name: getattr(self, name) for name in self._own()}
        for option in fields(self._method.options) if self._has_protocol else ():
            if option.default is MISSING:
                raise TypeError(f"option {option.name!r} of protocol {self.protocol!r} has no default.")
            # A parameter of the estimator comes before an option of its name, of which a clone would get the default.
            params.setdefault(option.name, self._given.get(option.name, option.default))
        return params

    def set_params(self, **parameters: Any) -> Estimator:
        """Change parameters, and return the estimator.

        Parameters
        ----------
        **parameters
            Of the estimator, or options of its protocol.

        Raises
        ------
        TypeError
            For one that the protocol does not have.

        Examples
        --------
        >>> import partywise as pw
        >>> model = pw.LabelPrivateLogisticRegression(epsilon=1.0)
        >>> model.set_params(epsilon=0.5, tau=1.0).epsilon
        0.5
        >>> model.set_params(depth=3)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        TypeError: 'depth' is not a parameter of LabelPrivateLogisticRegression with protocol='walr'...
        """
        if "protocol" in parameters:
            self.protocol = parameters["protocol"]
        if self._has_protocol:
            self._check(parameters)
        for name, value in parameters.items():
            if name in self._own():
                setattr(self, name, value)
            else:
                self._given[name] = value
        return self

    def __repr__(self) -> str:
        defaults = {
            parameter.name: parameter.default
            for parameter in inspect.signature(type(self).__init__).parameters.values()
        }
        settings = {name: getattr(self, name) for name in self._own()}
        changed = {name: value for name, value in settings.items() if name == "protocol" or value is not defaults[name]}
        words = ", ".join(f"{name}={_in_short(value)}" for name, value in (changed | self._given).items())
        return f"{type(self).__name__}({words})"

    def _options(self) -> Any:
        self._check(self._given)
        return self._method.options(**self._given)

    def _target(self, options: Any) -> float:
        """Epsilon of the run; a missing one is never read as no noise."""
        if not options.uses_epsilon:
            if self.epsilon is not None:
                raise ValueError(
                    f"epsilon={self.epsilon!r} is not read by protocol={self.protocol!r} with these options, whose "
                    "noise is not calibrated to a target; leave it out."
                )
            return math.inf
        if self.epsilon is None:
            raise ValueError(f"epsilon is missing: protocol={self.protocol!r} calibrates its noise to it (inf: none).")
        if not self.epsilon > 0:
            raise ValueError(f"epsilon={self.epsilon!r} must be positive.")
        return float(self.epsilon)

    def _simulate(
        self, parties: Sequence[Party], n: int, rng: Randomness | None, *, public: object, settings: object
    ) -> Any:
        """Run the protocol on all ``n`` records and keep what it left behind."""
        for name in ("epsilon", "delta"):
            value = getattr(self, name)
            if not isinstance(value, Real) and (value is not None or name == "delta"):
                raise TypeError(
                    f"{name}={value!r} must be a number, not {type(value).__name__}: write it without quotes."
                )
        if not 0 < self.delta < 1:
            raise ValueError(f"delta={self.delta!r} must lie in (0, 1), well below 1/n.")
        if self.clipped not in ("refuse", "allow"):
            raise ValueError(f"clipped={self.clipped!r}: use 'refuse' or 'allow'.")
        options = self._options()
        self._require_moderate_numbers(options)
        spec, fold = Spec(options, settings, settings, public), Fold(np.zeros(n, dtype=int), 0, 1)
        epsilon, randomness = self._target(options), self.random_state if rng is None else rng
        rng_for: Callable[..., Any] = fresh_streams() if randomness is None else addresses_of(randomness)
        with nullcontext() if self.shared_budget is None else self.shared_budget.fit(self.unit) as payer:
            if self.shared_budget is not None and isinstance(rng_for, Streams):
                rng_for = Streams(int(rng_for("fit", self.shared_budget.fits).integers(2**63)), "estimator")
            extra = (*self._method.extra, *getattr(options, "places", ()))
            run = Run(parties, epsilon=epsilon, fold=fold, rng_for=rng_for, spec=spec, extra=extra)
            if payer is not None:
                run.charge_to(payer)
            try:
                estimate = simulate(self._method.fit, run)
            except (AttributeError, TypeError) as error:
                if randomness is None and (why := floating_point(error)) is not None:
                    raise ValueError(
                        f"random_state=None draws from the operating system, and protocol={self.protocol!r} {why}: its "
                        "noise is for experiments; give a seed, random_state=1."
                    ) from error
                raise
        self._clip_verdict = self._judge_clips(clip_shares(parties))
        self._intervals_verdict = intervals_verdict(self._by_values(largest_clip_shares(parties)))
        self.estimate_ = estimate
        self.ledger_, self.transcript_ = run.channel.ledger, Transcript(run.channel.transcript())
        holdings = {party.name: (party.role, tuple(party.columns)) for party in parties}
        self._places = tuple((name, *holdings.get(name, ("", ()))) for name in run.names)
        total = self.ledger_.worst_total(run.names, self.unit, self.delta)
        self.privacy_ = replace(total, seed="none" if randomness is None else "given", **self._search_cost())
        self.epsilon_claimed_ = float(self.estimate_.epsilon_claimed)
        least = min((len(value) for party in parties for value in party.block.values() if np.ndim(value)), default=n)
        if self.delta >= 1 / least and math.isfinite(self.privacy_.epsilon_certified):
            warnings.warn(
                f"delta={self.delta:.3g} is not below 1/n = {1 / least:.3g}: publishing a random record meets it.",
                UserWarning,
                stacklevel=3,
            )
        return self.estimate_

    def _require_moderate_numbers(self, options: Any) -> None:
        """ValueError for an argument with a number whose powers, as noise and grids have them, floats do not hold.

        It is asked of every argument but those that all estimators have, so that a new public bound is in no list.
        """
        common = inspect.signature(Estimator.__init__).parameters
        arguments = {name: getattr(self, name) for name in self._own() if name not in common}
        for name, value in (
            {entry.name: getattr(options, entry.name) for entry in fields(options)} | arguments
        ).items():
            beyond = [number for number in _numbers_in(value) if LARGEST < abs(number) < math.inf]
            if beyond:
                raise ValueError(
                    f"{name}={_in_short(value)} has {beyond[0]:g}: its numbers must be at most {LARGEST:g} in size; "
                    "declare a value that suits the data, in other units if need be."
                )

    def _search_cost(self) -> dict[str, Any]:
        """Return what the fits of a shared budget cost together, by the field of a total; nothing for its only fit."""
        budget = self.shared_budget
        if budget is None or budget.fits < 2:
            return {}
        # Whoever chooses among them compares scores, which no noise protects.
        return {"fits": budget.fits, "epsilon_of_fits": budget.epsilon_spent, "epsilon_of_choice": math.inf}

    def _judge_clips(self, shares: Mapping[str, float]) -> Verdict:
        """Judge what was clipped; ValueError where that is more than half, unless the caller allows it."""
        verdict = bounds_verdict(self._by_values(shares))
        if max(shares.values(), default=0) > REFUSED and self.clipped == "refuse" and not self._method.published:
            raise ValueError(f"{verdict.reason}, or give clipped='allow'.")
        return verdict

    def _by_values(self, shares: Mapping[str, float]) -> dict[str, float]:
        """Shares by the arguments that declare their bounds, with the values of these."""
        options = self._options()
        return {self._with_values(bound, options): share for bound, share in shares.items()}

    def _with_values(self, bound: str, options: object) -> str:
        """Arguments that declare a bound, with their values."""
        values = {name: getattr(self, name, getattr(options, name, None)) for name in bound.split(", ")}
        return ", ".join(f"{name}={_in_short(value)}" for name, value in values.items())

    def _judge_intervals(self) -> Verdict:
        """Withhold the intervals of a fit that has some where too many records are clipped for them to hold."""
        verdict, intervals = self._intervals_verdict, getattr(self, "intervals_", None)
        if verdict.status == "ok" or intervals is None or intervals.centre is None:
            return OK
        self._withhold_intervals(Intervals(reason=verdict.reason))
        return verdict

    def _withhold_intervals(self, withheld: Intervals) -> None:
        """Set what follows from intervals, of which there are none."""
        self.intervals_ = withheld

    def _judge(self, *verdicts: Verdict) -> None:
        """Set the status of a fit whose attributes are set, and warn once unless it is ``ok``.

        verdicts : of the method, on its records and on what it predicts for them
        """
        arrays = {name: getattr(self, name) for name in self._finite}
        clips = self._clip_verdict, self._judge_intervals()
        self._state(first_fault((estimate_verdict(self.estimate_), *verdicts, finite_verdict(arrays), *clips)))
        del self._clip_verdict, self._intervals_verdict
        if self.status_ != "ok":
            warnings.warn(f"the fit is {self.status_}: {self.status_reason_}.", UserWarning, stacklevel=3)

    def _state(self, verdict: Verdict) -> None:
        self.status_, self.status_reason_ = verdict.status, verdict.reason

    def save(self, path: Path | str) -> None:
        """Write the fitted model as a JSON file, from which `partywise.scoring.load` makes it again, to the last bit.

        The file is of the place that has the whole model when the protocol has ended (``held_by``): what predicts, with
        the settings, the ledger and what the fit cost, and no record. Where that place has data of its own, these are
        in the file unprotected (key ``unprotected_units``): a reader of it has what the model reveals of them.

        Parameters
        ----------
        path : Path or str
            Where to write.

        Raises
        ------
        ModelError
            If no place has the whole model, or a setting has no JSON form; nothing is written.

        Examples
        --------
        >>> import json
        >>> import tempfile
        >>> from pathlib import Path
        >>> import partywise as pw
        >>> X = pw.stream(1, "records").uniform(size=(500, 2))
        >>> model = pw.LabelPrivateLogisticRegression(epsilon=1.0, random_state=7).fit(X, X[:, 0] > 0.5)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(Path(folder, "model.json"))
        ...     found = json.loads(Path(folder, "model.json").read_text())
        >>> found["held_by"], found["privacy"]["unprotected_units"], round(found["privacy"]["epsilon_certified"], 2)
        ('trainer', ['features of trainer'], 1.0)
        """
        save(self, Path(path))

    def _holder(self) -> str:
        """The place that has the whole model; ModelError where none has."""
        if not self._method.holder:
            raise ModelError(
                f"with protocol={self.protocol!r} no place has the whole {type(self).__name__}: {self._without_holder}."
            )
        return self._method.holder

    def _check_model(self) -> None:
        """ValueError for an estimate of a file that no fit leaves."""

    def _derive(self) -> None:
        """Set the attributes that follow from the estimate."""

    def _keep_names(self, X: ArrayLike, names: Sequence[str] | None = None) -> None:
        """Keep the names of the columns of a fit: as given, else those of a data frame, else none."""
        self.__dict__.pop("feature_names_in_", None)
        labels = column_labels(X) if names is None else tuple(map(str, names))
        if labels is not None:
            self.feature_names_in_ = np.array(labels, dtype=object)

    def _records(self, X: ArrayLike, ndim: int, like: str) -> np.ndarray:
        """Records with the columns of the fit; ValueError for other names, another order or another number of them."""
        self._fitted_estimate()
        labels, names = column_labels(X), getattr(self, "feature_names_in_", None)
        if labels is not None and names is not None and labels != tuple(names):
            raise ValueError(
                f"X has the columns {list(labels)}: the fit was made with {names.tolist()}; give these in this order, "
                "X[list(model.feature_names_in_)], or an array where other names mean the same."
            )
        array = numbers("X", X, ndim, like, missing=self._may_miss)
        if array.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {array.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input: give the columns of the fit."
            )
        return array

    def _division(self, parties: Any) -> Any:
        """Division of the data among parties: as given to the fit, else to the estimator."""
        division = self.parties if parties is None else parties
        if division is None:
            raise ValueError("parties is missing: give who holds what, in the estimator or in its fit.")
        return division

    def _clients(self, parties: Any, arrays: Mapping[str, np.ndarray], **constants: np.ndarray) -> list[Party]:
        """Clients that hold the rows of arrays, as given to the fit, else to the estimator, and constants each."""
        n = len(next(iter(arrays.values())))
        groups = [list(rows) for rows in groups_of(self._division(parties), n, split_rows)]
        blocks = ({name: array[rows] for name, array in arrays.items()} for rows in groups)
        return [Party(f"client {k}", "client", block | constants) for k, block in enumerate(blocks, 1)]

    def _cost(self) -> str:
        """Cost of the fit, the first line of a summary."""
        spent = self.privacy_
        if spent.fits:
            return f"{self._own_cost()}; {spent.search}"
        return self._own_cost()

    def _own_cost(self) -> str:
        spent = self.privacy_
        note = "" if spent.verified else ", not verified"
        return f"epsilon {upward(spent.epsilon_certified)} at delta {spent.delta:g}, for one {spent.unit}{note}"

    def _shown_class(self, places: np.ndarray) -> np.ndarray:
        """Labels as they were given, by their places among the classes."""
        labels: np.ndarray = self.classes_[places.astype(int)]
        return labels

    def _accuracy(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> float:
        """Share of labels that are predicted right."""
        right = self.predict(X) == vector("y", y, len(X))  # type: ignore[attr-defined, arg-type]
        weights = np.ones(len(right)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        return float(np.average(right, weights=weights))

    def _fitted_estimate(self) -> Any:
        if not hasattr(self, "estimate_"):
            raise NotFittedError(
                f"this {type(self).__name__} is not fitted yet; call fit(X, y, parties=..., rng=...) first."
            )
        return self.estimate_


def _numbers_in(value: object) -> list[float]:
    """Return the numbers of an argument: a number, or nested sequences of these; others have none."""
    if isinstance(value, str):
        return []
    if isinstance(value, Iterable):
        return [number for part in value for number in _numbers_in(part)]
    return [float(value)] if isinstance(value, Real) else []


def _in_short(value: object) -> str:
    """Abbreviate a parameter for display: arrays, and what holds much, by their size."""
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}"
    text = repr(value)
    return text if len(text) <= LONGEST or not hasattr(value, "__len__") else f"{type(value).__name__} of {len(value)}"


class Transformer(TransformerMixin, Estimator):
    """An estimator whose `transform` makes columns, one for each row of ``components_``."""

    components_: np.ndarray
    _column: ClassVar[str] = "component"

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        """Names of the columns that `transform` returns, such as component1, component2, ...

        Parameters
        ----------
        input_features : object, optional
            Not read: no column comes from one of the input alone.

        Returns
        -------
        ndarray of str

        Examples
        --------
        >>> import partywise as pw
        >>> X = pw.stream(1, "records").normal(size=(200, 4))
        >>> model = pw.VerticalPCA(parties=[[0, 1], [2, 3]], random_state=7).fit(X)
        >>> print(*model.get_feature_names_out())
        component1 component2 component3 component4
        """
        self._fitted_estimate()
        return np.array([f"{self._column}{place + 1}" for place in range(len(self.components_))], dtype=object)


def summary_rows(columns: Mapping[str, np.ndarray], names: Sequence[str], width: int) -> list[str]:
    """An empty line, the titles of columns (k,) of numbers, and a row for each of k names, cut off at a width."""
    heads = " ".join(f"{title:>11}" for title in columns)
    rows = zip(names, zip(*columns.values(), strict=True), strict=True)
    lines = (f"{name[:width]:{width}} " + " ".join(f"{value:11.4g}" for value in row) for name, row in rows)
    return ["", f"{'':{width}} {heads}", *lines]


def numbers(name: str, value: ArrayLike, ndim: int, like: str, *, missing: bool = False) -> np.ndarray:
    """A finite float array of so many dimensions; an error that names it otherwise, TypeError for what is not a number.

    missing : whether cells may be NaN
    """
    if hasattr(value, "toarray"):
        raise TypeError(f"{name} is sparse: give a dense array, {name}.toarray().")
    try:
        array = np.asarray(value)
        if np.iscomplexobj(array):
            raise ValueError("Complex data not supported")
        array = np.ascontiguousarray(array, dtype=float)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"{name} contains values that are not numbers ({error}): encode them, a factor as indicators."
        ) from None
    if ndim == 2 and array.ndim == 2 and not array.shape[1]:
        raise ValueError(f"{name} has 0 feature(s) (shape={array.shape}) while a minimum of 1 is required.")
    if array.ndim != ndim or not array.size:
        more = f" Reshape your data: {name}.reshape(-1, 1) is one column, {name}.reshape(1, -1) one record."
        raise ValueError(f"{name} has shape {array.shape}: give {like}.{more if (array.ndim, ndim) == (1, 2) else ''}")
    refused = np.isinf(array) if missing else ~np.isfinite(array)
    if refused.any():
        place = np.argwhere(refused)[0].tolist()
        labels = getattr(value, "columns", None) if ndim == 2 else None
        column = "" if labels is None else f", column {str(labels[place[1]])!r}"
        raise ValueError(
            f"{name} holds values that are not finite, such as {array[tuple(place)]} at {place}{column}: fill or drop "
            "incomplete records (NaN, inf) first."
        )
    return array


def vector(name: str, value: ArrayLike, n: int) -> np.ndarray:
    """One value per record, shape (n,), of any type; a column is taken for one with a warning."""
    if value is None:
        raise ValueError(f"the estimator requires {name} to be passed, but the target {name} is None.")
    array = np.asarray(value)
    if array.ndim == 2 and array.shape[1] == 1:
        warnings.warn(
            f"A column-vector {name} was passed when a 1d array was expected: give {name}.ravel().",
            DataConversionWarning,
            stacklevel=4,
        )
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}: give (n,), one value a record.")
    if len(array) != n:
        raise ValueError(f"{name} has {len(array)} entries for {n} rows of X.")
    return array


def check_index(X: Any, arrays: Mapping[str, Any]) -> None:
    """ValueError where a series has another index than the frame: records would be matched by their places."""
    index = getattr(X, "index", None) if hasattr(X, "iloc") else None
    for name, array in arrays.items():
        if index is not None and hasattr(array, "iloc") and not index.equals(array.index):
            raise ValueError(
                f"{name} has another index than X: records are taken by position. Give {name}.loc[X.index], or arrays."
            )


def labels_of(y: ArrayLike, n: int, *, both: bool = True, many: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Labels (n,) as 0 and 1, and the two classes (2,): numbers 0 and 1, or any two labels, in order.

    Which labels there are counts as public. With ``many`` there may be more, 0 .. k-1. ValueError for more than two
    without, or for one alone; without ``both`` only where it is neither 0 nor 1, since an error would depend on private
    labels.
    """
    labels = vector("y", y, n)
    if labels.dtype.kind in "fcO" and any(value != value for value in labels.tolist()):
        raise ValueError("y holds labels that are not known (NaN): drop these records first.")
    classes = np.unique(labels)
    if set(classes.tolist()) <= {0, 1} and (len(classes) == 2 or not both):
        return labels.astype(float), np.array([False, True] if labels.dtype.kind == "b" else [0, 1])
    if labels.dtype.kind == "f" and np.any(classes != np.round(classes)):
        example = classes[classes != np.round(classes)][0]
        raise ValueError(
            f"Unknown label type: continuous. y holds {float(example)!r}, which is not a label: labels are 0 or 1."
        )
    if len(classes) > 2 and many:
        return np.searchsorted(classes, labels).astype(float), classes
    if len(classes) > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass. "
            f"y holds {classes[:4].tolist()}: give two labels."
        )
    if len(classes) < 2:
        raise ValueError(f"y holds one class alone, {classes.tolist()}: give both labels.")
    return (labels == classes[1]).astype(float), classes


def column_labels(X: Any) -> tuple[str, ...] | None:
    """Names of the columns of a data frame, or of one a party; None where there are none."""
    frames = X if isinstance(X, list | tuple) and X else [X]
    if not all(hasattr(frame, "columns") for frame in frames):
        return None
    return tuple(str(name) for frame in frames for name in frame.columns)


def groups_of(
    parties: int | Sequence[Sequence[int]],
    count: int,
    split: Callable[[int, int], Iterable[Sequence[int]]],
    *,
    bare: int | None = None,
) -> list[tuple[int, ...]]:
    """Columns or rows of each party: as given, a partition of ``0 .. count - 1``, or ``split(count, parties)``.

    bare : place of the group that may be empty, of a party that holds the labels alone
    """
    if isinstance(parties, int | np.integer):
        return [tuple(part) for part in split(count, int(parties))]
    groups = [tuple(int(index) for index in part) for part in parties]
    empty = any(not group for place, group in enumerate(groups) if place != bare)
    if empty or sorted(index for part in groups for index in part) != list(range(count)):
        raise ValueError(
            f"parties={groups if count < 20 else '...'} is not a partition of 0..{count - 1}: every number must be in "
            "exactly one group and no group may be empty."
        )
    return groups


def party(name: str, role: str, columns: Sequence[int] = (), **block: np.ndarray) -> Party:
    """A holder of arrays."""
    return Party(name, role, block, columns=tuple(columns))
