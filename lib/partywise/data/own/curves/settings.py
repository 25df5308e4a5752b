"""Settings of own curves in CSV or NetCDF files: one file each, and what is done about missing values."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import Annotated, Literal

from ....core.checks import Positive, Range, check_name
from ...curves.settings import CurveSettings
from ..grammar import FileBlock, OwnFiles, check_apart, increasing

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


@dataclass(frozen=True, kw_only=True)
class OwnCurves(OwnFiles, CurveSettings):
    """Own curves: files of curves whose records carry ids.

    domain : start and end of the curves, in the unit of time of the files; predictors whose block gives another
        domain are mapped onto this one
    radius, response_radius : public bounds of the root mean square of a scaled curve; the clipping radii are these
        times the square root of the domain's length
    match : what ids that some files lack mean, ``refuse`` (an error) or ``common`` (the ids of all files are used)
    max_gap : longest time between two measured values, or between the domain's end and the nearest one, that smoothing
        may bridge; without it every missing value counts as in ``missing``
    min_points : fewest measured values of a curve
    min_blocks : with ``fold_block``, fewest groups of records that folds can count on
    fold_block : column of the response's file; records with the same entry are held out together
    """

    id: str = field()
    domain: tuple[float, float]
    response: ResponseFile
    predictors: tuple[PredictorFile, ...]
    radius: Positive
    response_radius: Positive
    max_gap: Positive | None = None
    min_points: Annotated[int, Range(2)] = 4
    match: Literal["refuse", "common"] = "refuse"
    min_blocks: Annotated[int, Range(2)] = 5
    fold_block: str | None = None

    def __post_init__(self) -> None:
        increasing("domain", self.domain)
        self.check_files(self.curves.values())
        if not self.predictors:
            raise ValueError("predictors is empty: list at least one.")
        super().__post_init__()
        check_holders(self.response, self.predictors)
        for (key, first), (other, second) in combinations(self.curves.items(), 2):
            if self._same(first, second):
                raise ValueError(
                    f"{other} is the same curve as {key} ({first.file}, {_content(first)}): "
                    + ("the response cannot predict itself; take it out." if key == "response" else "list it once.")
                )

    def _same(self, first: CurveFile, second: CurveFile) -> bool:
        """Whether two blocks read the same values of a file over times that overlap."""
        (a, b), (c, d) = self.domain_of(first), self.domain_of(second)
        return (first.file, _content(first)) == (second.file, _content(second)) and max(a, c) < min(b, d)

    def domain_of(self, curve: CurveFile) -> tuple[float, float]:
        """Domain of a curve in the unit of time of its file."""
        return self.domain if curve.domain is None else curve.domain

    def id_of(self, block: FileBlock | None) -> str:
        """Name of the id column of a curve's file."""
        return super().id_of(block) or self.id

    @property
    def curves(self) -> dict[str, CurveFile]:
        """Every curve by its key in the configuration, the response first."""
        return {"response": self.response} | {f"predictors[{j}]": p for j, p in enumerate(self.predictors)}

    @property
    def files(self) -> dict[str, str]:
        """Files that the data are made from, by their keys in the configuration."""
        return {f"{key}.file": curve.file for key, curve in self.curves.items()}

    def by_party(self, n_parties: int) -> dict[str, tuple[str, ...]]:
        """Keys of the files of every party, in a distributed run; ValueError if they cannot be distinguished.

        On the channel, the holder of the response is called ``active``.
        """
        if self.split != "natural":
            raise ValueError(
                f"split is {self.split!r}: in a distributed run, each party holds the curves of its own files; leave "
                "it out."
            )
        names = {"response": RESERVED[0]} | {
            f"predictors[{j}]": predictor.party for j, predictor in enumerate(self.predictors)
        }
        check_apart(self.match)
        if self.missing != "refuse":
            raise ValueError(
                f"missing is {self.missing!r}: in a distributed run, no party knows which records another drops; leave "
                "them out of all files, and missing too."
            )
        parties = dict.fromkeys(names.values())
        return {name: tuple(f"{key}.file" for key in names if names[key] == name) for name in parties}

    @property
    def n_predictors(self) -> int:
        """p."""
        return len(self.predictors)

    @property
    def n_natural(self) -> int:
        """Number of those who hold predictors."""
        return len({predictor.party for predictor in self.predictors})


def check_holders(response: ResponseFile, predictors: tuple[PredictorFile, ...]) -> None:
    """Raise a named error unless every predictor has one holder, who does not hold the response."""
    holder: dict[str, str] = {}
    for j, predictor in enumerate(predictors):
        name, party, key = predictor.name, predictor.party, f"predictors[{j}]"
        if name in holder:
            both = f"parties {holder[name]!r} and {party!r}" if party != holder[name] else f"party {party!r}"
            raise ValueError(f"{key}.name is {name!r} for the second time ({both}): a predictor has one holder.")
        if party == response.party:
            raise ValueError(
                f"{key}.party is {party!r}, who holds the response: the active party brings no predictors; give the "
                "curve another holder or leave it out."
            )
        if party in RESERVED:
            raise ValueError(f"{key}.party is {party!r}: that name belongs to the protocol; choose another.")
        holder[name] = party


def _content(curve: CurveFile) -> str:
    """Return the part of a file that is read, for a message."""
    return f"value {curve.value}" if curve.value is not None else f"columns {' '.join(curve.patterns)}"
