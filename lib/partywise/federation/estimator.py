"""What the estimators of all methods share: parameters in scikit-learn's way, one simulated run, what it cost.

An estimator is a protocol with arrays in front of it: ``Estimator(...).fit(X, y, parties=..., rng=...)`` simulates all
parties in one process and keeps the estimate, the ledger, the transcript and the total of the worst coalition. What a
person with data of one party only runs is the protocol itself.
"""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from numbers import Real
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from .folds import Fold, Spec
from .parties import Party
from .run import Run, simulate
from .secure_streams import Randomness, addresses_of


class Claim(Protocol):
    """An estimate, of which the estimator reads what its source claims."""

    @property
    def epsilon_claimed(self) -> float: ...


@dataclass(frozen=True)
class Method:
    """A protocol that an estimator may run: its options, its program, the places without data, but for their own."""

    options: type
    fit: Callable[[Run], Claim]
    extra: tuple[str, ...] = ()


class Estimator:
    """Parameters, a simulated run and its privacy; a method package adds what its arrays mean.

    Parameters
    ----------
    protocol : str
        One of ``methods``.
    epsilon : float, optional
        Target of calibrated noise, inf for none. Required where the options calibrate noise to it, refused elsewhere.
    delta : float
        Of every epsilon.
    **options
        Fields of the protocol's dataclass of options.

    Attributes
    ----------
    estimate_ : object
        What the protocol returned.
    ledger_ : Ledger
        Every release with its cost.
    transcript_ : list of dict
        Every message, in order.
    n_features_in_ : int
        Columns of the fit.
    feature_names_in_ : ndarray of str
        Their names, of a data frame or as given; later records with other names or another order are refused.
    privacy_ : Total
        What the worst coalition learnt: epsilon at ``delta``, mu, the best attack's true-positive rates.
    """

    methods: ClassVar[Mapping[str, Method]] = {}
    n_features_in_: int
    unit: ClassVar[str] = "row"

    def __init__(self, protocol: str, epsilon: float | None, delta: float, options: Mapping[str, object]) -> None:
        self.protocol, self.epsilon, self.delta = protocol, epsilon, delta
        if protocol in self.methods:
            self._check(options)
        self._given = dict(options)

    @property
    def _method(self) -> Method:
        if self.protocol not in self.methods:
            raise ValueError(
                f"protocol={self.protocol!r} of {type(self).__name__} is unknown; use one of {tuple(self.methods)}."
            )
        return self.methods[self.protocol]

    def _own(self) -> list[str]:
        """Parameters that are no options of the protocol."""
        found = inspect.signature(type(self).__init__).parameters.values()
        return [one.name for one in found if one.kind is not one.VAR_KEYWORD and one.name != "self"]

    def _check(self, names: Iterable[str]) -> None:
        known = [*self._own(), *(one.name for one in fields(self._method.options))]
        for name in names:
            if name not in known:
                raise TypeError(
                    f"{name!r} is not a parameter of {type(self).__name__} with protocol={self.protocol!r}; "
                    f"it has {', '.join(known)}."
                )

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """All parameters, the defaults of the options included."""
        found = {name: getattr(self, name) for name in self._own()}
        for one in fields(self._method.options):
            if one.default is MISSING:
                raise TypeError(f"option {one.name!r} of protocol {self.protocol!r} has no default.")
            found[one.name] = self._given.get(one.name, one.default)
        return found

    def set_params(self, **parameters: Any) -> Estimator:
        """Change parameters; TypeError for one that the protocol does not have."""
        if "protocol" in parameters:
            self.protocol = parameters["protocol"]
        self._check(parameters)
        for name, value in parameters.items():
            if name in self._own():
                setattr(self, name, value)
            else:
                self._given[name] = value
        return self

    def __repr__(self) -> str:
        shown = {name: getattr(self, name) for name in self._own()} | self._given
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

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

    def _simulate(self, parties: Sequence[Party], n: int, rng: Randomness, *, public: object, settings: object) -> Any:
        """Run the protocol on all ``n`` records and keep what it left behind."""
        for name in ("epsilon", "delta"):
            value = getattr(self, name)
            if not isinstance(value, Real) and (value is not None or name == "delta"):
                raise TypeError(
                    f"{name}={value!r} must be a number, not {type(value).__name__}: write it without quotes."
                )
        if not 0 < self.delta < 1:
            raise ValueError(f"delta={self.delta!r} must lie in (0, 1), well below 1/n.")
        options = self._options()
        spec, fold = Spec(options, settings, settings, public), Fold(np.zeros(n, dtype=int), 0, 1)
        run = Run(
            parties,
            epsilon=self._target(options),
            fold=fold,
            rng_for=addresses_of(rng),
            spec=spec,
            extra=(*self._method.extra, *getattr(options, "places", ())),
        )
        self.estimate_ = simulate(self._method.fit, run)
        self.ledger_, self.transcript_ = run.channel.ledger, run.channel.transcript()
        self.privacy_ = self.ledger_.worst_total(run.names, self.unit, self.delta)
        self.epsilon_claimed_ = float(self.estimate_.epsilon_claimed)
        least = min((len(value) for party in parties for value in party.block.values() if np.ndim(value)), default=n)
        if self.delta >= 1 / least and math.isfinite(self.privacy_.epsilon_certified):
            warnings.warn(
                f"delta={self.delta:.3g} is not below 1/n = {1 / least:.3g}: publishing a random record meets it.",
                UserWarning,
                stacklevel=3,
            )
        return self.estimate_

    def _keep_names(self, X: ArrayLike, names: Sequence[str] | None = None) -> None:
        """Keep the names of the columns of a fit: as given, else those of a data frame, else none."""
        self.__dict__.pop("feature_names_in_", None)
        labels = column_labels(X) if names is None else tuple(map(str, names))
        if labels is not None:
            self.feature_names_in_ = np.array(labels, dtype=object)

    def _records(self, X: ArrayLike, ndim: int, like: str) -> np.ndarray:
        """Records with the columns of the fit; ValueError for other names, another order or another number of them."""
        self._fitted_estimate()
        given, names = column_labels(X), getattr(self, "feature_names_in_", None)
        if given is not None and names is not None and given != tuple(names):
            raise ValueError(
                f"X has the columns {list(given)}: the fit was made with {names.tolist()}; give these in this order, "
                "X[list(model.feature_names_in_)], or an array where other names mean the same."
            )
        array = numbers("X", X, ndim, like)
        if array.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {array.shape[1]} columns: the fit was made with {self.n_features_in_}.")
        return array

    def _fitted_estimate(self) -> Any:
        if not hasattr(self, "estimate_"):
            raise ValueError(
                f"this {type(self).__name__} is not fitted yet; call fit(X, y, parties=..., rng=...) first."
            )
        return self.estimate_


def numbers(name: str, value: ArrayLike, ndim: int, like: str) -> np.ndarray:
    """A finite float array of so many dimensions; ValueError that names it otherwise."""
    try:
        array = np.ascontiguousarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} holds values that are no numbers ({error}): encode them, a factor as indicators."
        ) from None
    if array.ndim != ndim or not array.size:
        raise ValueError(f"{name} has shape {np.shape(value)}: give {like}.")
    if not np.all(np.isfinite(array)):
        place = np.argwhere(~np.isfinite(array))[0].tolist()
        labels = getattr(value, "columns", None) if ndim == 2 else None
        column = "" if labels is None else f", column {str(labels[place[1]])!r}"
        raise ValueError(
            f"{name} holds values that are not finite, such as {array[tuple(place)]} at {place}{column}: fill or drop "
            "incomplete records first."
        )
    return array


def column_labels(X: Any) -> tuple[str, ...] | None:
    """Names of the columns of a data frame, or of one a party; None where there are none."""
    frames = X if isinstance(X, list | tuple) and X else [X]
    if not all(hasattr(one, "columns") for one in frames):
        return None
    return tuple(str(name) for one in frames for name in one.columns)


def groups_of(
    parties: int | Sequence[Sequence[int]], count: int, split: Callable[[int, int], Iterable[Sequence[int]]]
) -> list[tuple[int, ...]]:
    """Columns or rows of each party: as given, a partition of ``0 .. count - 1``, or ``split(count, parties)``."""
    if isinstance(parties, int | np.integer):
        return [tuple(part) for part in split(count, int(parties))]
    groups = [tuple(int(index) for index in part) for part in parties]
    if not all(groups) or sorted(index for part in groups for index in part) != list(range(count)):
        raise ValueError(
            f"parties={groups if count < 20 else '...'} is not a partition of 0..{count - 1}: every number must be in "
            "exactly one group and no group may be empty."
        )
    return groups


def party(name: str, role: str, columns: Sequence[int] = (), **block: np.ndarray) -> Party:
    """A holder of arrays."""
    return Party(name, role, block, columns=tuple(columns))
