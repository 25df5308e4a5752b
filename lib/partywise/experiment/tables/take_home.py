"""Files for the owner of the data, next to the cube: predictions.csv and models.json."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..blocks import Part
from ..owner_outputs import OwnerReport, plain
from ..plan import Plan

LOG = logging.getLogger("partywise")
# Rows of predictions.csv, and characters of models.json: whole fits are left out beyond them, in the order of the cube.
MOST_ROWS = 1_000_000
MOST_CHARACTERS = 50_000_000
FIXED = ("id", "held_out", "observed", "predicted")
PRIVACY = (
    "Fits of replicate 0. predictions.csv has ids and observed values: it stays with whoever ran the simulation. "
    "epsilon_certified is what the ledger certifies of the messages between the parties. A model costs nothing beyond "
    "it only where it was computed from releases and public values alone, and so does a prediction from such a model "
    "and the record's own features; what a party adds of its own (leaves of trees, its own coefficients) would be a "
    "further release. Where epsilon_certified is inf, nothing is promised."
)
NOTHING = "No case of this configuration has own data (source table), so that there is nothing to take home."


class FitKey(NamedTuple):
    """Labels of a fit, and the epsilon that the ledger certifies for it."""

    case: str
    method: str
    replicate: int
    parties: int
    fold: int
    epsilon: float
    epsilon_certified: float


KEYS = FitKey._fields


class Homes:
    """The fits of own data of a plan, in the order of the cube."""

    def __init__(self, plan: Plan) -> None:
        self._plan, self._fits = plan, list[tuple[FitKey, OwnerReport]]()
        self._notes = set[str]()

    def add(self, part: Part) -> None:
        """The fits of a part, each with the epsilon that the ledger certifies for it."""
        self._notes.update(part.notes)
        certified = part.numbers.get(self._plan.study.certified)
        for (replicate, fold, epsilon), home in part.owner_reports.items():
            at = part.replicates.index(replicate), part.folds.index(fold), part.epsilon.index(epsilon)
            known = float("nan") if certified is None else float(certified[at])
            key = FitKey(part.case, part.method, replicate, part.parties, fold, epsilon, known)
            self._fits.append((key, home))

    def notes(self) -> list[str]:
        """Sentences on records that are left out or clipped, in an order that no job decides."""
        return sorted(self._notes)

    def _in_order(self) -> list[tuple[FitKey, OwnerReport]]:
        cases, methods = list(self._plan.cases), list(self._plan.methods)

        def place(fit: tuple[FitKey, OwnerReport]) -> tuple[float, ...]:
            key = fit[0]
            rest = key.replicate, key.parties, key.fold, key.epsilon
            return cases.index(key.case), methods.index(key.method), *rest

        return sorted(self._fits, key=place)

    def _predicting(self) -> list[tuple[FitKey, OwnerReport]]:
        """The fits that predict anything: a matrix of correlations does not."""
        return [(key, home) for key, home in self._in_order() if home.columns]

    def _fits_in_file(self) -> list[tuple[FitKey, OwnerReport]]:
        """The fits whose rows are all in predictions.csv."""
        rows, fits = 0, []
        for key, home in self._predicting():
            rows += len(home.ids) * (1 if home.times is None else len(home.times))
            if rows > MOST_ROWS:
                break
            fits.append((key, home))
        return fits

    def names(self) -> tuple[str, ...]:
        """Columns of predictions.csv; a time where there are curves, and what else the studies predict."""
        columns = dict.fromkeys((*KEYS, *FIXED))
        if any(home.times is not None for _, home in self._fits):
            columns = dict.fromkeys((*KEYS, "id", "time", *FIXED[1:]))
        columns |= dict.fromkeys(name for _, home in self._in_order() for name in home.columns)
        if self._fits and not any("predicted" in home.columns for _, home in self._fits):
            del columns["predicted"]
        return tuple(columns)

    def rows(self) -> Iterator[dict[str, object]]:
        """One row for a record of a fit, of curves one for each of its points."""
        names = self.names()
        for key, home in self._fits_in_file():
            key_columns = key._asdict()
            for row in _rows(home):
                yield {name: key_columns[name] if name in key_columns else _text(row.get(name, "")) for name in names}

    def text(self) -> str:
        """Content of models.json."""
        fits, untold = self._in_order(), len(self._predicting()) - len(self._fits_in_file())
        entries, length = [], 0
        for key, home in fits:
            entry = json.dumps(plain({**key._asdict(), "model": home.model}), indent=1, ensure_ascii=False)
            length += len(entry)
            if length > MOST_CHARACTERS:
                break
            entries.append(entry)
        cut = [
            *_left_out("predictions.csv", untold, "fits"),
            *_left_out("models.json", len(fits) - len(entries), "fits"),
            *_left_out("predictions.csv", max((home.left_out for _, home in fits), default=0), "records of a fit"),
        ]
        for sentence in cut:
            LOG.warning("%s", sentence)
        head = {"study": self._plan.study.name, "note": PRIVACY if fits else NOTHING, "left_out": cut}
        start = json.dumps(head, indent=1, ensure_ascii=False).removesuffix("\n}")
        return f'{start},\n "models": [' + ",\n".join(["", *entries])[1:] + "]\n}\n"


def _left_out(file: str, count: int, what: str) -> list[str]:
    return [f"{file} leaves out {count} {what}: it would be too large; run fewer methods or epsilons."] * (count > 0)


def _rows(home: OwnerReport) -> Iterator[dict[str, object]]:
    times: Sequence[float | None] = [None] if home.times is None else home.times.tolist()
    columns = {name: np.reshape(values, (len(home.ids), -1)).tolist() for name, values in home.columns.items()}
    for i, (name, held_out) in enumerate(zip(home.ids.tolist(), home.held_out.tolist(), strict=True)):
        for k, time in enumerate(times):
            row = {"id": name, "held_out": int(held_out), **{key: values[i][k] for key, values in columns.items()}}
            yield row if time is None else row | {"time": time}


def _text(value: object) -> object:
    """Return the value; empty text for a number that is undefined."""
    return "" if isinstance(value, float) and np.isnan(value) else value
