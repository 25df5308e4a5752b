"""Parameters of an estimator in scikit-learn's way: those of all estimators, and the options of its protocol."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from importlib.util import find_spec

# Any: options of a method that is known by its name only.
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np

from ..run import Run
from ..secure_streams import Randomness
from .fit_budget import Budget

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
    from sklearn.exceptions import DataConversionWarning as DataConversionWarning
    from sklearn.exceptions import NotFittedError as NotFittedError

# Characters of a parameter that is shown as it is.
LONGEST = 60


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


class Parameters(BaseEstimator):
    """An estimator as scikit-learn's tools see it before a fit."""

    methods: ClassVar[Mapping[str, Method]] = {}
    _axes: ClassVar[int] = 2

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
        return "transformer" if isinstance(self, TransformerMixin) else "regressor"

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

    def _parameter_names(self) -> list[str]:
        """Parameters that are not options of the protocol."""
        parameters = inspect.signature(type(self).__init__).parameters.values()
        return [
            parameter.name
            for parameter in parameters
            if parameter.kind is not parameter.VAR_KEYWORD and parameter.name != "self"
        ]

    def _check(self, names: Iterable[str]) -> None:
        known = [*self._parameter_names(), *(option.name for option in fields(self._method.options))]
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
        params = {name: getattr(self, name) for name in self._parameter_names()}
        for option in fields(self._method.options) if self._has_protocol else ():
            if option.default is MISSING:
                raise TypeError(f"option {option.name!r} of protocol {self.protocol!r} has no default.")
            # A parameter of the estimator comes before an option of its name, of which a clone would get the default.
            params.setdefault(option.name, self._given.get(option.name, option.default))
        return params

    def set_params(self, **parameters: Any) -> Self:
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
            if name in self._parameter_names():
                setattr(self, name, value)
            else:
                self._given[name] = value
        return self

    def __repr__(self) -> str:
        defaults = {
            parameter.name: parameter.default
            for parameter in inspect.signature(type(self).__init__).parameters.values()
        }
        settings = {name: getattr(self, name) for name in self._parameter_names()}
        changed = {name: value for name, value in settings.items() if name == "protocol" or value is not defaults[name]}
        words = ", ".join(f"{name}={short_text(value)}" for name, value in (changed | self._given).items())
        return f"{type(self).__name__}({words})"

    def _options(self) -> Any:
        self._check(self._given)
        return self._method.options(**self._given)


def short_text(value: object) -> str:
    """Abbreviate a parameter for display: arrays, and what holds much, by their size."""
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}"
    text = repr(value)
    return text if len(text) <= LONGEST or not hasattr(value, "__len__") else f"{type(value).__name__} of {len(value)}"
