"""Replicate of the vertical GLM study: its division among parties, the order of records, and the rows that test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from ...data.columns.replicate import split_columns
from ...data.division import cut
from ...federation.parties import Party
from ...methods.glm.follow_up import follow_up_of
from ...methods.glm.model import GlmFacts
from ...methods.glm.options import COX, GlmFamily
from ...models.families import FAMILIES
from ...models.kinds import Kind
from ...privacy.accounted_values import Public
from .settings import GlmCaseSettings

if TYPE_CHECKING:
    from ...alignment.options import Mode
    from ...models.follow_up.partial_likelihood import Ties
    from .evaluation.exact_fits import ExactFit


@dataclass(frozen=True)
class Constants:
    """Public facts of the columns and the response by their meaning; `GlmFacts` states what each is.

    kinds : of the columns, each with its own reason; None of a column without one
    because : where all others come from
    """

    location: np.ndarray
    scale: np.ndarray
    statistic: tuple[float, float]
    eta_start: float
    because: str
    radii: Mapping[str, float] = field(default_factory=dict)
    kinds: tuple[Kind | None, ...] = ()


@dataclass
class Memo:
    """Results that an evaluator computes once for all cells of a replicate.

    exact_fits : by the persons, the ridge and how ties are counted
    nested_fits : deviances and likelihoods, likewise without a ridge
    dictionary_shares : of identifiers that are found, by the number of parties and how they align records
    """

    exact_fits: dict[tuple[bytes, float, Ties], ExactFit] = field(default_factory=dict)
    nested_fits: dict[tuple[bytes, Ties], tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    dictionary_shares: dict[tuple[int, Mode], float] = field(default_factory=dict)


@dataclass(frozen=True)
class GlmData:
    """One replicate: N persons of whom every party holds all, or some in an order of its own.

    y : (N,) responses; X : (N, p) columns of all parties; entries of persons whom a party does not hold are not read
    status, strata : (N,) of the active party where y are follow-up times: 1 for an event, numbers of groups
    order : (N,) int, a random permutation that is cut into folds; records of a person share a place
    names : (p,) str; family : of the response
    weights, offset : (N,) of the active party, where there are any
    constants : what private fits rest on, where it was declared
    truth : (1 + p,) coefficients that made the responses, the intercept first, where they are known
    identifiers : (N,) str of the persons, where records arrive unaligned
    draws : (N, 1 + p) uniform, by which persons are missing and records are shuffled for any number of parties
    overlap : share of the persons whom all parties have
    files : of own tables that arrive unaligned, the persons of each party in its order
    scheme, population : format and number of the identifiers that there might be, where an attacker could list them
    ids : (N,) str, names of the records, of own tables
    """

    y: np.ndarray
    X: np.ndarray
    order: np.ndarray
    names: np.ndarray
    family: GlmFamily
    status: np.ndarray | None = None
    strata: np.ndarray | None = None
    weights: np.ndarray | None = None
    offset: np.ndarray | None = None
    constants: Constants | None = None
    truth: np.ndarray | None = None
    identifiers: np.ndarray | None = None
    draws: np.ndarray | None = None
    overlap: float = 1.0
    files: tuple[np.ndarray, ...] | None = None
    scheme: str = ""
    population: int = 0
    ids: np.ndarray | None = None

    def __post_init__(self) -> None:
        p = self.X.shape[1]
        if len(self.names) != p:
            raise ValueError(f"names has {len(self.names)} entries: X has {p} columns.")
        if self.files is None:
            if self.family == COX:
                follow_up_of(self.labels, np.arange(len(self.y)), "efron", "the active party")
            else:
                FAMILIES[self.family].check(self.y)
            for name, values in (("X", self.X), ("weights", self.weights), ("offset", self.offset)):
                if values is not None and not np.isfinite(values).all():
                    raise ValueError(f"{name} has a value that is not finite: complete the record or leave it out.")

    @property
    def labels(self) -> dict[str, np.ndarray]:
        """Responses, and what else the active party has of each record."""
        names = ("y", "status", "strata", "weights", "offset")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    @cached_property
    def memo(self) -> Memo:
        """Results that the evaluator has computed already for this replicate."""
        return Memo()

    @property
    def aligned(self) -> bool:
        """Whether row i is the same person at all parties."""
        return self.identifiers is None

    def persons_of_parties(self, n_parties: int) -> tuple[np.ndarray, ...]:
        """Persons of each party in the order of its records."""
        if self.files is not None:
            return self.files
        if self.draws is None:
            return (np.arange(len(self.y)),) * n_parties
        missing = absent(self.draws[:, 0], self.overlap, n_parties)
        return tuple(
            rows[np.argsort(self.draws[rows, 1 + party])]
            for party, rows in enumerate(np.flatnonzero(missing != party) for party in range(n_parties))
        )

    def public(self) -> GlmFacts:
        """Family, names and declared constants."""
        known, names = self.constants, tuple(map(str, self.names))
        if known is None:
            return GlmFacts(self.family, names, self.aligned)
        public = partial(Public, because=known.because)
        return GlmFacts(
            self.family,
            names,
            self.aligned,
            location=public(known.location),
            scale=public(known.scale),
            radii={name: public(value) for name, value in known.radii.items()},
            statistic=public(np.array(known.statistic)),
            eta_start=public(known.eta_start),
            kinds=known.kinds,
        )


def absent(draws: np.ndarray, overlap: float, n_parties: int) -> np.ndarray:
    """(N,) number of the party that lacks each person; -1 for the share of the persons whom all have.

    draws : (N,) uniform
    """
    rank = np.empty(len(draws), dtype=int)
    rank[np.argsort(draws)] = np.arange(len(draws))
    common = round(overlap * len(draws))
    return np.where(rank < common, -1, (rank - common) % n_parties)


def split(data: GlmData, n_parties: int, spec: object, settings: GlmCaseSettings) -> list[Party]:
    """The parties in the order of their columns; the active one has y and what comes with it."""
    parties = split_columns(data.X, data.labels, n_parties, settings)
    if data.identifiers is None:
        return parties
    pairs = zip(parties, data.persons_of_parties(n_parties), strict=True)
    return [
        replace(party, block={key: values[rows] for key, values in {**party.block, "ids": data.identifiers}.items()})
        for party, rows in pairs
    ]


def folds(data: GlmData, n_folds: int, settings: object) -> np.ndarray:
    """Fold of every person: of one, all train and test; several cut the permutation."""
    return cut(data.order, n_folds)
