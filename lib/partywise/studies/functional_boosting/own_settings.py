"""Settings of the source ``table``: a person's own curves in CSV or NetCDF files, described by keys alone.

Standard library only, checked before any job starts; the files themselves are read by the jobs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import Annotated, Literal

from ...core.checks import Positive, Range
from ...data.curves.settings import CurveSettings
from ...data.own.curves.files import RESERVED, CurveFile, PredictorFile, ResponseFile
from ...data.own.grammar import FileBlock, OwnFiles, check_apart, increasing


@dataclass(frozen=True, kw_only=True)
class CurveTableSettings(OwnFiles, CurveSettings):
    """Own data: files of curves whose records carry ids, smoothed into a basis.

    domain : start and end of the curves, in the unit of time of the files; predictors whose block gives another
        domain are mapped onto this one
    radius, response_radius : public bounds of the root mean square of a scaled curve; the clipping radii are these
        times the square root of the domain's length
    smoothing : weight w of the roughness penalty, a public constant: minimised is the mean squared distance to the
        measured values plus w times the integral of the squared second derivative, with time rescaled to [0, 1]; a
        sine of k periods over the domain keeps 1 / (1 + w (2 pi k)^4) of its height
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
    smoothing: Annotated[float, Range(0, 1, advice="where 1 leaves straight lines")] = 1e-6
    max_gap: Positive | None = None
    min_points: Annotated[int, Range(2)] = 4
    match: Literal["refuse", "common"] = "refuse"
    min_blocks: Annotated[int, Range(2)] = 5
    fold_block: str | None = None

    n_active = None
    fold_rule = "balanced"

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
    def response_axis(self) -> tuple[tuple[float, float], str, None]:
        """Start and end of a response, and its name with the unit; ticks are chosen by the figure."""
        response, transform = self.response, self.response.transform
        label = f"{response.value or 'response'}{f' ({response.unit})' if response.unit else ''}"
        return self.domain_of(response), label if transform == "none" else f"{transform} of {label}", None

    @property
    def response_time(self) -> str:
        """Name of the time of the response."""
        response = self.response
        if response.format == "long" and (self.text_of(response).time_format or self.id_of(response) == response.time):
            return {"hour": "minute of the hour", "day": "hour of the day"}.get(
                response.period, f"day of the {response.period}"
            )
        return response.time or "time"

    @property
    def n_predictors(self) -> int:
        """p."""
        return len(self.predictors)

    @property
    def n_blocks(self) -> int:
        """Number of units that folds can count on before the files are read."""
        return self.min_records if self.fold_block is None else self.min_blocks

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
