"""Replicate of the study, its public facts, and its division among owners: a prefix of its list of clients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ...federation.parties import Party
from ...methods.inverse_regression.model import SlicingFacts
from ...methods.inverse_regression.records import ArrayRecords
from ...methods.inverse_regression.slices import Slices, case_edges, class_slices, public_slices
from ...models.kinds import Kind
from .simulation.clients import SimulatedRecords

# Moments that a simulated client keeps of its records.
KEPT = ("sums_own", "sums_fixed", "gram", "counts_own", "counts_fixed", "norms", "clip_share")


@dataclass(frozen=True)
class SlicingData:
    """One replicate: of real data the records, of simulated data what each client keeps of its records.

    The records of a simulated client are a function of its address (``key``, its number).  It draws them, keeps
    the moments below, and draws them again where a method asks for more.  All of this stays inside the client: the
    moments are what it would compute for every method, client count and epsilon anew.

    key : root of the addresses of the records
    beta : (p, d) true basis; (p, 0) where it is unknown
    edges : (H - 1,) public slice edges; labels : (H,) public classes, (0,) if y is a number
    sizes : (K,) records of each client
    sums_own, sums_fixed : (K, p, H) slice sums of clipped records, whole steps, in the client's own quantile slices and
        in the public ones; (0, p, H) where they are not kept (``own`` with two classes, screened columns)
    gram : (K, p (p + 1) / 2) diagonal and upper triangle of their second moments, whole squared steps
    counts_own, counts_fixed : (K, H) records of the slices
    norms : (K,) greatest length of a clipped record; clip_share : (K,) share of clipped entries
    X, y : (N, p) and (N,) real records, client after client; (0, p) of simulated data
    names : (p,) str; shown_rows : (m,) rows that figures draw
    client_names : of own data, the clients as the settings call them
    ids : (N,) str, what the records of own data are called, in their order; person : (N,) int, whose each is; both (0,)
        where nothing is known
    kinds : of own data, how each column is distributed within slices, by its name; empty unless all are declared
    """

    key: int
    beta: np.ndarray
    edges: np.ndarray
    labels: np.ndarray
    sizes: np.ndarray
    sums_own: np.ndarray
    sums_fixed: np.ndarray
    gram: np.ndarray
    counts_own: np.ndarray
    counts_fixed: np.ndarray
    norms: np.ndarray
    clip_share: np.ndarray
    X: np.ndarray
    y: np.ndarray
    names: np.ndarray
    shown_rows: np.ndarray
    n_directions: int
    client_names: tuple[str, ...] = ()
    ids: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=str))
    person: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=int))
    kinds: Mapping[str, Kind] = field(default_factory=dict)

    @cached_property
    def public_slices(self) -> Slices:
        """The public slices."""
        return class_slices(case_edges(self.labels)) if len(self.labels) else public_slices(case_edges(self.edges))

    @cached_property
    def facts(self) -> SlicingFacts:
        """Public facts of the data set."""
        names, sizes = tuple(client.name for client in self.clients), tuple(int(size) for size in self.sizes)
        records = ArrayRecords if len(self.X) else SimulatedRecords
        return SlicingFacts(
            names,
            sizes,
            len(self.beta),
            self.public_slices.n_slices,
            self.n_directions,
            self.public_slices,
            records,
            self.kinds,
        )

    @cached_property
    def clients(self) -> tuple[Party, ...]:
        """All clients with what each holds; any number takes part as a prefix."""
        ends = np.concatenate([[0], np.cumsum(self.sizes)])
        parties = []
        for k in range(len(self.sizes)):
            block = {name: getattr(self, name)[k] for name in KEPT if len(getattr(self, name))}
            if len(self.X):
                block |= {"X": self.X[ends[k] : ends[k + 1]], "y": self.y[ends[k] : ends[k + 1]]}
            else:
                block |= {"address": np.array([self.key, k]), "beta": self.beta}
            name = self.client_names[k] if self.client_names else f"client {k + 1}"
            parties.append(Party(name, "client", block))
        return tuple(parties)

    def n_protected(self, unit: str, clients: int, together: bool = False) -> int:
        """Number of protected units at the largest of the first clients, or at all of them: records, or persons."""
        numbers = [int(size) for size in self.sizes[:clients]]
        if unit == "user" and len(self.person):
            parts = np.split(self.person, np.cumsum(self.sizes))[:clients]
            numbers = [len(np.unique(part)) for part in parts]
        return sum(numbers) if together else max(numbers)

    def public(self) -> SlicingFacts:
        """The part of the data set that is public."""
        return self.facts


def split(data: SlicingData, n_parties: int, spec: object, settings: object) -> list[Party]:
    """The first ``n_parties`` clients."""
    if not 1 <= n_parties <= len(data.sizes):
        raise ValueError(f"n_parties is {n_parties}: the case has {len(data.sizes)} clients; it must lie in 1..that.")
    return list(data.clients[:n_parties])


def folds(data: SlicingData, n_folds: int, settings: object) -> np.ndarray:
    """All records train: the loss is against the true basis.  One entry a client."""
    if n_folds != 1:
        raise ValueError(f"n_folds is {n_folds}: nothing is held out, so there is 1 fold.")
    return np.zeros(len(data.sizes), dtype=int)
