"""Public facts before clients train together, and the result of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class FilterFacts:
    """Public facts of the data: coefficients D, and rows of each client, in the order of the sites that hold them.

    spans : of the columns of statistics, first edge, width and end of what bins tile
    """

    features: int
    client_rows: tuple[int, ...]
    spans: tuple[tuple[str, tuple[float, float, float]], ...] = ()

    def sites(self, count: int) -> tuple[tuple[int, int], ...]:
        """Clients and rows of each client at each of so many sites.

        Raises
        ------
        ValueError
            If the clients cannot be dealt evenly, or those of one site differ in rows.
        """
        clients, rest = divmod(len(self.client_rows), count)
        if rest:
            raise ValueError(f"n_parties is {count}: it must divide the {len(self.client_rows)} clients evenly.")
        blocks = [self.client_rows[site * clients : (site + 1) * clients] for site in range(count)]
        if any(len(set(block)) > 1 for block in blocks):
            raise ValueError(f"n_parties is {count}: clients of one site must have as many rows each; give more sites.")
        return tuple((clients, block[0]) for block in blocks)


@dataclass(frozen=True, eq=False)
class FilterEstimate:
    """Result of a run; fields that a protocol lacks are empty.

    epsilon_claimed : by the source's own formula, of a round where nothing is composed; nan where it claims nothing
    coefficients : (D,), the intercept last
    clips : (T,) clips of the rounds, where these change; norms : (T,) median length of an update, likewise
    extremes : of each site (jobs, columns, 2); histograms : of each site the counts by column
    words : (1 + D,) integers of the first client under the mask of the pair alone
    """

    epsilon_claimed: float = float("nan")
    coefficients: np.ndarray = field(default_factory=lambda: np.zeros(0))
    clips: np.ndarray = field(default_factory=lambda: np.zeros(0))
    norms: np.ndarray = field(default_factory=lambda: np.zeros(0))
    extremes: tuple[np.ndarray, ...] = ()
    histograms: tuple[Mapping[str, np.ndarray], ...] = ()
    words: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
