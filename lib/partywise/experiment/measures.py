"""Measures of a study: each is declared once, as a field of a dataclass, with its meaning, unit, heading and direction.

`measures.py` of a study declares `Measures` (numbers of every fit) and `ExampleFits` (arrays that figures show). The
functions that compute them return instances, so that a name that is not declared is an error of types. Variables of the
cube, dictionary, headings, summary and headline are read from the fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from math import isfinite

# Any: a call that declares a field has the type of the field.
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar

from ..core.checks import Scalar, check_fields

if TYPE_CHECKING:
    import numpy as np


Better = Literal["lower", "higher", "neither"]
# An array of the example fits with its dims.
Arrays = dict[str, tuple[tuple[str, ...], "np.ndarray"]]
Value = TypeVar("Value")


class Absent(Enum):
    """Value of a field that a fit does not report; a reported value that is undefined is None."""

    ABSENT = "absent"


ABSENT = Absent.ABSENT


@dataclass(frozen=True)
class Heading:
    """Public name and direction of a variable of the summary.

    words : its public name, over its column
    better : which values are better, the ``lower`` or the ``higher`` ones; ``neither`` where it is not judged
    """

    words: str
    better: Better

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class Quantity:
    """Meaning of a number, the same in every study that reports it.

    meaning, unit : ``long_name`` and ``units`` of its variable; the unit is 1 where it has none
    heading : what readers call it in a summary
    better : which values are better, the ``lower`` or the ``higher`` ones; ``neither`` where it is not judged
    noise_free : its value for the fit of the same model without noise, where it is a distance from that fit
    """

    meaning: str
    unit: str = "1"
    heading: str = ""
    better: Better = "neither"
    noise_free: float | None = None

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def entry(self) -> tuple[str, str]:
        """Meaning and unit."""
        return self.meaning, self.unit

    @property
    def known_as(self) -> Heading:
        """Heading and direction."""
        return Heading(self.heading, self.better)


@dataclass(frozen=True)
class Measure:
    """A quantity as one study reports it.

    summary : whether it is in the printed summary, in the order of the fields
    headline : its place, from 1, among the variables of the screen at the end of a run; 0 where it has none
    certified : whether it is the certified epsilon of a fit, of a study whose claims have units of their own
    dims : of an array of the example fits
    """

    quantity: Quantity
    summary: bool = False
    headline: int = 0
    certified: bool = False
    dims: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.summary or self.headline or self.certified) and not self.quantity.heading:
            raise ValueError(f"heading is '': what is in a summary needs one, give it to {self.quantity.meaning!r}.")


def measure(
    what: str | Quantity,
    unit: str = "1",
    *,
    heading: str = "",
    better: Better = "neither",
    summary: bool = False,
    headline: int = 0,
    certified: bool = False,
    noise_free: float | None = None,
) -> Any:
    """Declare a measure: a field of a dataclass of `Measures`; one that is in a summary needs a heading.

    ``what`` is its meaning, or a `Quantity` that several studies share, which then has unit, heading and direction.
    """
    quantity = what if isinstance(what, Quantity) else Quantity(what, unit, heading, better, noise_free)
    return field(default=ABSENT, metadata={"measure": Measure(quantity, summary, headline, certified)})


def example(meaning: str, *dims: str, unit: str = "1") -> Any:
    """Declare an array of the example fits over ``dims``: a field of a dataclass of `ExampleFits`."""
    return field(default=ABSENT, metadata={"measure": Measure(Quantity(meaning, unit), dims=dims)})


def finite(value: float | None) -> float | None:
    """The number, or None, which is undefined, where it is not finite."""
    return None if value is None or not isfinite(value) else float(value)


def measures_of(cls: type) -> dict[str, Measure]:
    """Measures of a dataclass by their names, in the order of its fields."""
    return {entry.name: entry.metadata["measure"] for entry in fields(cls)}


class MeasureValues(Generic[Value]):
    """Methods of a dataclass of measures on the values that a fit reports."""

    @classmethod
    def of(cls, values: Mapping[str, Value]) -> Self:
        """Values by name, as an estimate carries them; ValueError for a name that is not declared."""
        known = measures_of(cls)
        for name in values:
            if name not in known:
                raise ValueError(
                    f"{name} is reported and not among the measures of {cls.__name__}: declare it in {cls.__module__}."
                )
        return cls(**values)

    def as_dict(self) -> dict[str, Value]:
        """The values that are reported, by name."""
        return {name: value for name, value in vars(self).items() if value is not ABSENT}

    def __or__(self, other: Self) -> Self:
        """Both together; of a name that both report, the second."""
        return type(self)(**self.as_dict() | other.as_dict())


# Quantities of several studies, and those of every fit.
EPSILON_CLAIMED = Quantity("epsilon by the source's own formula", heading="claimed epsilon")
DELTA_CLAIMED = Quantity("delta of epsilon_claimed; where the source adds one for each release, their sum")
N_PROTECTED = Quantity("records of the largest party that releases (in a vertical split, of all)")
DELTA_EXCEEDS = Quantity("1 if a finite epsilon stands at a delta of 1/n_protected or more: it says nothing")
IN_SAMPLE = Quantity(
    "1 if the errors are measured on records that trained the fit: nothing was held out", heading="in-sample"
)
BYTES_MEASURED = Quantity("bytes of all messages as serialised", "byte", "MiB sent", "lower")
LEDGER_SHA256 = Quantity("end of the hash chain of the ledger of this cell")
RUN_APART = Quantity("id of the run whose parties were processes of their own; none where one process simulated all")
RUN_MODE = Quantity("mode of that run: of an experiment all parties know the seeds of the noise, which protects nobody")
LOG_LOSS = Quantity("logarithmic loss on the test rows, nats", "1", "test log-loss", "lower")
AUC = Quantity("area under the ROC curve on the test rows", "1", "test AUC", "higher")
ACCURACY = Quantity("share of test rows whose label is predicted right", "1", "test accuracy", "higher")
MSE = Quantity("mean squared error on the test rows, in the units of the source", "1", "test MSE", "lower")
WORSE_THAN_MEAN = Quantity(
    "1 if the held-out loss exceeds that of the training mean for everybody", "1", "worse than mean", "lower"
)
NOISE_SD = Quantity("standard deviation of the noise on an entry of a release, root mean square where they differ")
PROJECTED = Quantity("1 if a noisy moment matrix was projected on the positive semi-definite ones")
DIVERGED = Quantity("1 if the fit is not finite")
STEPS = Quantity("steps of the returned fit")
N_TRAIN = Quantity("records that train")
N_FEATURES = Quantity("features of all parties, without the intercept")
INTERVAL_COVERAGE = Quantity(
    "share of the 95 % intervals that hold the numbers by which generated data were made",
    heading="coverage of intervals",
)
COVERAGE_WITHOUT_NOISE = Quantity("share held by intervals at the same centres that leave the noise of privacy out")
HALF_WIDTH = Quantity("half the length of the 95 % intervals, their mean", heading="half-width of intervals")
HALF_WIDTH_WITHOUT_NOISE = Quantity(
    "half the length of the same intervals with the noise of privacy left out, their mean"
)
IDENTIFIED = Quantity("1 if there are intervals, 0 if noise hides the numbers that they would be of")
SHAPE_TEST = Quantity("p-value of the declared shapes of columns by released counts of clipped records")
RECORDS_READ = Quantity(
    "share of records of which somebody can compute covariates, the exact time or the cell from what crosses; 0 of "
    "noisy sums by their certificate, without an attack",
    "1",
    "records read",
    "lower",
)
RECOVERED_SHARE = Quantity("share of secret values that an attack recovers exactly", "1", "values recovered", "lower")
ENCRYPTIONS = Quantity("numbers that were encrypted in training")
DECRYPTIONS = Quantity("ciphertexts that were decrypted in training")


@dataclass(frozen=True, kw_only=True)
class Measures(MeasureValues[Scalar]):
    """Numbers of a fit that any study may report; its own are fields of a dataclass that inherits from this one.

    status : one of `partywise.core.verdicts.STATUSES`; by default that of the estimate, or ``diverged`` where that is
        ``ok`` and a study reports a fit that is not finite
    """

    status: str | None = measure("what became of the cell")
    delta_claimed: float | None = measure(DELTA_CLAIMED)
    n_protected: int | None = measure(N_PROTECTED)
    in_sample: bool | None = measure(IN_SAMPLE)


@dataclass(frozen=True, kw_only=True)
class ExampleFits(MeasureValues["np.ndarray"]):
    """Arrays that figures show of the first fit of every cell; a study's own are fields of a dataclass of its own."""

    @classmethod
    def with_dims(cls, arrays: Mapping[str, tuple[tuple[str, ...], np.ndarray]]) -> Self:
        """Arrays of an estimate that carries their dims, which must be the declared ones."""
        instance = cls.of({name: values for name, (_, values) in arrays.items()})
        for name, (dims, _) in instance.arrays().items():
            if tuple(arrays[name][0]) != dims:
                raise ValueError(f"{name} has dims {tuple(arrays[name][0])}: {cls.__name__} declares {dims}.")
        return instance

    def arrays(self) -> Arrays:
        """Dims and values of the arrays that are reported, by name."""
        dims = {name: entry.dims for name, entry in measures_of(type(self)).items()}
        return {name: (dims[name], values) for name, values in self.as_dict().items()}
