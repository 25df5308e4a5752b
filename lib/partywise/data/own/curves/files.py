"""Blocks of the settings of own curves: one file each, and what is done about missing values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, Protocol

from ....core.checks import Positive, Range, check_name
from ..grammar import FileBlock, TextForm, increasing

# Names that the protocols use for themselves on the channel between the parties.
RESERVED = ("active", "analyst", "dealer")


@dataclass(frozen=True, kw_only=True)
class CurveFile(FileBlock):
    """The place of one curve of every record, and the public constants that bring it to a common scale.

    format : ``long`` (a row a measurement: id, time, value), ``wide`` (a row a record: id, then the values of
        ``columns``) or ``netcdf`` (a variable over the dimensions id and time, which have coordinates)
    time, value : names of columns (long) or of the dimension and the variable (netcdf)
    columns : names or patterns such as ``h*`` (wide), in the order of the header
    period : ``hour``, ``day``, ``week``, ``month`` or ``year``, within which a time stamp (``time_format``) is a time:
        in minutes of an hour, hours of a day, else days; where ``id`` and ``time`` are one column, it names the record
    times : of the columns (wide): ``middles`` of equal parts of the domain, the number in their ``names``, or a list
    domain : start and end of the curve in the unit of time of this file, where it is not that of the case
    outside : what a measurement outside the domain means, ``refuse`` (an error) or ``ignore`` (another curve's part)
    unit, range : of the raw values; a value outside the range is an error, the first sign of a wrong unit
    transform : ``none``, ``log``, ``log1p`` or ``sqrt``, before the scale
    centre, scale : public constants; the study sees (transformed value - centre) / scale
    """

    format: Literal["long", "wide", "netcdf"] = "long"
    time: str | None = None
    value: str | None = None
    columns: str | tuple[str, ...] | None = None
    period: Literal["hour", "day", "week", "month", "year"] = "day"
    times: Literal["middles", "names"] | tuple[float, ...] = "middles"
    domain: tuple[float, float] | None = None
    outside: Literal["refuse", "ignore"] = "refuse"
    unit: str = ""
    range: tuple[float, float] | None = None
    transform: Literal["none", "log", "log1p", "sqrt"] = "none"
    centre: Annotated[float, Range()] = 0.0
    scale: Positive = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_names()
        for name in ("domain", "range"):
            increasing(name, getattr(self, name))

    def _check_names(self) -> None:
        """The keys of the format are there, and no others."""
        needed = ("columns",) if self.format == "wide" else ("time", "value")
        for name in needed:
            if not getattr(self, name):
                raise ValueError(f"{name} is {getattr(self, name)!r}: format {self.format!r} needs it.")
        for name in {"columns", "time", "value"} - set(needed):
            if getattr(self, name) is not None:
                raise ValueError(
                    f"{name} is {getattr(self, name)!r}: format {self.format!r} does not read it; leave it out."
                )
        if self.period != "day" and self.format != "long":
            raise ValueError(f"period is {self.period!r}: only files of format 'long' have time stamps; leave it out.")
        if self.times != "middles" and self.format != "wide":
            raise ValueError(f"times is {self.times!r}: it belongs to format 'wide', not {self.format!r}.")

    @property
    def patterns(self) -> tuple[str, ...]:
        """Patterns of the columns of a wide file."""
        return (self.columns,) if isinstance(self.columns, str) else self.columns or ()


@dataclass(frozen=True, kw_only=True)
class ResponseFile(CurveFile):
    """The curve to be predicted; ``party`` is its holder and may not hold a predictor."""

    party: str = RESERVED[0]


@dataclass(frozen=True, kw_only=True)
class PredictorFile(CurveFile):
    """A curve to predict with: its name, the party that holds it, and its own radius where it has one."""

    name: str
    radius: Positive | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name("name", self.name)


class CurveTables(Protocol):
    """The settings of own curves that the readers need; every study adds its own.

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
    def missing(self) -> str: ...
    @property
    def missing_marks(self) -> frozenset[str]: ...
    @property
    def max_gap(self) -> float | None: ...
    @property
    def min_points(self) -> int: ...
    @property
    def match(self) -> str: ...
    @property
    def fold_block(self) -> str | None: ...
    @property
    def min_records(self) -> int: ...
    @property
    def min_blocks(self) -> int: ...
    def id_of(self, curve: CurveFile) -> str: ...
    def text_of(self, curve: CurveFile) -> TextForm: ...
    def domain_of(self, curve: CurveFile) -> tuple[float, float]: ...
