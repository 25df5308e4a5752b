"""Blocks of the settings of own curves: one file each, and what is done about missing values."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Annotated, Literal, Protocol

from ...checks import CheckedFields, Positive, Range, check_fields, check_name

# Names that the protocols use for themselves on the channel between the parties.
RESERVED = ("active", "analyst", "dealer")
MARKS = ("", "NA", "NaN", "nan", "null")


def increasing(name: str, bounds: tuple[float, float] | None) -> None:
    """Raise a named error for a pair of numbers that is given and is not finite and increasing."""
    if bounds is not None and not (isfinite(bounds[0]) and isfinite(bounds[1]) and bounds[0] < bounds[1]):
        raise ValueError(f"{name} is {list(bounds)}: it must be finite and increasing.")


def check_encoding(encoding: str) -> None:
    """Raise a named error for an encoding that Python does not know."""
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise ValueError(
            f"encoding is {encoding!r}: it must be one that Python knows, such as utf-8 or latin-1."
        ) from None


def check_persons(user: str | None, rows_per_user: int | None) -> None:
    """Raise a named error for a column of persons without a bound on the rows of one, or the other way round."""
    if (user is None) != (rows_per_user is None):
        raise ValueError(
            f"user is {user!r} and rows_per_user is {rows_per_user!r}: give both, the column that names a person and "
            "the public bound on the rows of one, or neither."
        )


def check_apart(files: Mapping[str, str], match: str) -> None:
    """Raise a named error for parties that cannot run apart: two with one file, or records that none knows alone.

    files : of every party, by its name
    """
    holder: dict[str, str] = {}
    for party, file in files.items():
        if holder.setdefault(file, party) != party:
            raise ValueError(
                f"file {file!r} has columns of {holder[file]!r} and of {party!r}: where parties run apart, each reads "
                "its own file alone; give each a file with its columns and the ids."
            )
    if match != "refuse":
        raise ValueError(
            f"match is {match!r}: where parties run apart, none sees the ids of another; bring the same records in all "
            "files and leave it out."
        )


@dataclass(frozen=True, kw_only=True)
class CurveFile:
    """Where one curve of every record stands, and the public constants that bring it to a common scale.

    file : path from the folder in which the run starts
    format : ``long`` (a row a measurement: id, time, value), ``wide`` (a row a record: id, then the values of
        ``columns``) or ``netcdf`` (a variable over the dimensions id and time, which have coordinates)
    id : name of the column or dimension of ids, where it is not that of the case
    time, value : names of columns (long) or of the dimension and the variable (netcdf)
    columns : names or patterns such as ``h*`` (wide), in the order of the header
    times : of the columns (wide): ``middles`` of equal parts of the domain, the number in their ``names``, or a list
    domain : start and end of the curve in the unit of time of this file, where it is not that of the case
    outside : what a measurement outside the domain means, ``refuse`` (an error) or ``ignore`` (another curve's part)
    delimiter, encoding : of CSV text
    unit, range : of the raw values; a value outside the range is an error, the first sign of a wrong unit
    transform : ``none``, ``log``, ``log1p`` or ``sqrt``, before the scale
    centre, scale : public constants; the study sees (transformed value - centre) / scale
    """

    file: str
    format: Literal["long", "wide", "netcdf"] = "long"
    id: str | None = None
    time: str | None = None
    value: str | None = None
    columns: str | tuple[str, ...] | None = None
    times: Literal["middles", "names"] | tuple[float, ...] = "middles"
    domain: tuple[float, float] | None = None
    outside: Literal["refuse", "ignore"] = "refuse"
    delimiter: str = ","
    encoding: str = "utf-8"
    unit: str = ""
    range: tuple[float, float] | None = None
    transform: Literal["none", "log", "log1p", "sqrt"] = "none"
    centre: Annotated[float, Range()] = 0.0
    scale: Positive = 1.0

    def __post_init__(self) -> None:
        check_fields(self)
        self._check_names()
        for name in ("domain", "range"):
            increasing(name, getattr(self, name))
        if len(self.delimiter) != 1:
            raise ValueError(f"delimiter is {self.delimiter!r}: it must be one character, such as ';' or '\\t'.")
        check_encoding(self.encoding)

    def _check_names(self) -> None:
        """The keys of the format are there, and no others."""
        needed = ("columns",) if self.format == "wide" else ("time", "value")
        for name in ("file", *needed):
            if not getattr(self, name):
                raise ValueError(f"{name} is {getattr(self, name)!r}: format {self.format!r} needs it.")
        for name in {"columns", "time", "value"} - set(needed):
            if getattr(self, name) is not None:
                raise ValueError(
                    f"{name} is {getattr(self, name)!r}: format {self.format!r} does not read it; leave it out."
                )
        if self.times != "middles" and self.format != "wide":
            raise ValueError(f"times is {self.times!r}: it belongs to format 'wide', not {self.format!r}.")

    @property
    def patterns(self) -> tuple[str, ...]:
        """Patterns of the columns of a wide file."""
        return (self.columns,) if isinstance(self.columns, str) else self.columns or ()


@dataclass(frozen=True, kw_only=True)
class ResponseFile(CurveFile):
    """The curve to be predicted; ``party`` says who holds it, and no predictor may be theirs."""

    party: str = RESERVED[0]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name("party", self.party)


@dataclass(frozen=True, kw_only=True)
class PredictorFile(CurveFile):
    """A curve to predict with: its name, the party that holds it, and its own radius where it has one."""

    name: str
    party: str
    radius: Positive | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for key in ("name", "party"):
            check_name(key, getattr(self, key))


@dataclass(frozen=True)
class Missing(CheckedFields):
    """What is done about values that were not measured.

    marks : texts of a CSV file that stand for a missing value; not-a-number and fill values of NetCDF count too
    max_gap : longest time between two measured values, or between the domain's end and the nearest one, that smoothing
        may bridge; without it a missing value is an error
    min_points : fewest measured values of a curve
    drop : leave out a record with a longer gap or fewer values (otherwise: an error)
    """

    marks: tuple[str, ...] = MARKS
    max_gap: Positive | None = None
    min_points: Annotated[int, Range(2)] = 4
    drop: bool = True


class CurveTables(Protocol):
    """What the readers ask of a study's settings of own curves; every study adds what it makes of them.

    curves : every curve by its key in the configuration, the response first; files : their files by these keys
    match : ``refuse`` or ``common``, for ids that some files lack
    fold_block : column of the response's file whose entries are held out together; min_records, min_blocks : fewest
    """

    @property
    def id(self) -> str: ...
    @property
    def domain(self) -> tuple[float, float]: ...
    @property
    def response(self) -> ResponseFile: ...
    @property
    def curves(self) -> dict[str, CurveFile]: ...
    @property
    def files(self) -> dict[str, str]: ...
    @property
    def missing(self) -> Missing: ...
    @property
    def match(self) -> str: ...
    @property
    def fold_block(self) -> str | None: ...
    @property
    def min_records(self) -> int: ...
    @property
    def min_blocks(self) -> int: ...
    def id_of(self, curve: CurveFile) -> str: ...
    def domain_of(self, curve: CurveFile) -> tuple[float, float]: ...
