"""The records of simulated clients by their address, with null columns that are drawn only where they are asked for.

Null columns enter screening through slice means alone (`null_columns`), or through signs (`sign_columns`).  Slice means
are drawn for the common refinement of the client's own slices and the public ones, so that methods with either kind of
slices see the same records.  The two samplers draw null columns of one distribution, not the same columns: a method
reads one of them throughout.  True columns and responses are the same in both.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ....core.randomness import stream
from ....methods.inverse_regression import models
from ....methods.inverse_regression.records import ArrayRecords
from ....methods.inverse_regression.screening import mean_differences, sign_sums, slice_profile
from ....methods.inverse_regression.slices import Slices
from ..settings import SimulatedSlicingSettings
from .null_columns import NullColumns, draw_null
from .sign_columns import SignedColumns, signed_columns

# So many entries of true columns, and of null columns by signs, a client keeps between draws, and all clients together;
# the others are drawn again.
REMEMBERED, TOGETHER = 1 << 16, 1 << 23


class SimulatedRecords(ArrayRecords):
    """Records that are a function of the block's ``address`` (root of the randomness, number of the client).

    Its ``beta`` (p, d) is the true basis. Both are data: no other place has them.
    """

    settings: SimulatedSlicingSettings

    @property
    def support_records(self) -> tuple[np.ndarray, np.ndarray]:
        """Columns of the true support (n, s) and responses (n,)."""
        return self._kept_true if self.settings.n * len(self.beta) <= self.room else self._true

    @property
    def responses(self) -> np.ndarray:
        """Responses (n,)."""
        return self.support_records[1]

    @property
    def room(self) -> int:
        """Entries that the client may keep."""
        return int(min(REMEMBERED, TOGETHER // self.settings.clients))

    @property
    def _true(self) -> tuple[np.ndarray, np.ndarray]:
        return true_records(self.settings, *self.address, self.beta)

    @cached_property
    def _kept_true(self) -> tuple[np.ndarray, np.ndarray]:
        return self._true

    @cached_property
    def address(self) -> tuple[int, int]:
        """Root of the randomness, and number of the client."""
        key, number = map(int, self.block["address"])
        return key, number

    @cached_property
    def beta(self) -> np.ndarray:
        """True basis (s, d) on the true support."""
        return np.array(self.block["beta"][: self.settings.active])

    @cached_property
    def quantile_slices(self) -> Slices:
        """The client's own quantile slices; two classes are public."""
        return self.slices(self.support_records[1], quantile=True)

    @cached_property
    def refined_slices(self) -> Slices:
        """Slices at the edges of both kinds."""
        edges = np.union1d(self.quantile_slices.edges, self.facts.public_slices.edges)
        return Slices(len(edges) + 1, edges, "quantile")

    @cached_property
    def null(self) -> NullColumns:
        """The columns after the true support, for screening by slice means."""
        rng = stream(self.address[0], "null", self.address[1])
        codes = self.refined_slices.codes(self.support_records[1])
        return draw_null(codes, self.refined_slices.n_slices, self.nulls, rng, before=self.before)

    @property
    def sign_columns(self) -> SignedColumns:
        """The columns after the true support, for screening by signs."""
        return signed_columns(*self.address, self.settings.n, self.nulls, self.before)

    @property
    def nulls(self) -> int:
        """Number of columns after the true support."""
        return int(self.settings.p - len(self.beta))

    @property
    def before(self) -> np.ndarray | None:
        """The last true column where columns are AR(1/2); None where they are independent."""
        return self.support_records[0][:, -1] if models.settings(self.settings.model).autoregressive else None

    def records(self, columns: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return columns and responses; null columns are drawn on demand, after slice means in one draw per call."""
        X, y = self.support_records
        if columns is None:
            if not self.nulls:
                return X, y
            columns = np.arange(self.settings.p)
        s = len(self.beta)
        true, null = columns[columns < s], columns[columns >= s] - s
        if self.screening == "signs":
            return np.concatenate([X[:, true], self._signed_records(null)], axis=1), y
        if not len(null):
            return X[:, true], y
        rng = stream(self.address[0], "residual", self.address[1])
        return np.concatenate([X[:, true], self.null.materialise(null, rng)], axis=1), y

    @cached_property
    def _columns(self) -> dict[int, np.ndarray]:
        return {}

    def _signed_records(self, null: np.ndarray) -> np.ndarray:
        """Null columns (n, q) after screening by signs: functions of their number, which may be kept one by one."""
        cache = self._columns
        missing = np.array([j for j in null.tolist() if j not in cache], dtype=int)
        if not len(null) or self.settings.n * (len(cache) + len(missing)) > self.room:
            return self.sign_columns.records(null)
        cache |= zip(missing.tolist(), np.array(self.sign_columns.records(missing).T), strict=True)
        return np.stack([cache[j] for j in null.tolist()]).T

    def differences(self, *, quantile: bool) -> np.ndarray:
        """Distances (p, H) of the slice means of unclipped records from their mean."""
        return mean_differences(*self.profile(self.quantile_slices if quantile else self.facts.public_slices))

    def profile(self, slices: Slices) -> tuple[np.ndarray, np.ndarray]:
        """Unclipped means (p, H) of every slice and its counts (H,), for the own slices or the public ones."""
        means, counts = slice_profile(*self.support_records, slices)
        # A slice of the refinement lies inside one slice: that of its upper edge.
        upper = np.append(self.refined_slices.edges, np.inf)
        inside = np.searchsorted(slices.edges, upper, side="left")[:, None] == np.arange(slices.n_slices)
        sums = (self.null.means * self.null.counts) @ inside
        return np.concatenate([means, sums / np.maximum(counts, 1)]), counts

    def sign_sums(self) -> np.ndarray:
        """Sums (H, p) of the signs of all columns over the public slices, as whole numbers."""
        (X, y), H = self.support_records, self.facts.n_slices
        codes = self.facts.public_slices.codes(y)
        return np.concatenate([sign_sums(X, codes, H), self.sign_columns.sums(codes, H)], axis=1).astype(np.float32)


def true_records(
    settings: SimulatedSlicingSettings, key: int, number: int, beta: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Columns of the true support (n, s) and responses (n,) of the client at an address."""
    X, y, _ = models.draw(settings.model, settings.n, len(beta), stream(key, "client", number), beta=beta)
    return X, y
