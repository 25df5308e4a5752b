"""The records of a client, behind what a protocol may ask of them: kept as arrays, or drawn where a study simulates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ...privacy.rounding import bounded_entries
from .moments import SliceMoments, check_records, client_moments
from .screening import mean_differences, sign_sums, slice_profile
from .slices import Slices, case_clip, equal_frequency


class ClientRecords(Protocol):
    """Statistics that a client can compute from its records; ``columns`` None means all of them."""

    def records(self, columns: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Records (n, q) of some columns, in increasing order, and responses (n,)."""

    def moments(self, *, quantile: bool, columns: np.ndarray | None = None, clipped: bool = True) -> SliceMoments:
        """Moments in the client's own quantile slices or the public ones."""

    def differences(self, *, quantile: bool) -> np.ndarray:
        """(p, H) distances of the slice means of unclipped records from their mean."""

    def sign_sums(self) -> np.ndarray:
        """Sums (H, p) of the signs of all columns over the public slices."""

    def counts(self) -> np.ndarray:
        """Records (H,) of the public slices."""


class SliceFacts(Protocol):
    """Public facts that records need: p, H, the bits of an entry and the public slices."""

    @property
    def n_columns(self) -> int: ...
    @property
    def n_slices(self) -> int: ...
    @property
    def bits(self) -> int: ...
    @property
    def public_slices(self) -> Slices: ...


class RadiusSetting(Protocol):
    """Settings with R, beyond which entries are clipped."""

    @property
    def radius(self) -> float: ...


@dataclass(frozen=True, eq=False)
class ArrayRecords:
    """Records as arrays."""

    # ``X`` (n, p) and ``y`` (n,) of the client, and the clipped moments that it may keep of them.
    block: Mapping[str, np.ndarray]
    facts: SliceFacts
    settings: RadiusSetting
    # By which statistic the method screens columns; arrays are the same for all.
    screening: str

    def records(self, columns: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Records (n, q) and responses (n,), as in `ClientRecords`."""
        X = self.block["X"]
        return (X if columns is None else X[:, columns]), self.block["y"]

    def moments(self, *, quantile: bool, columns: np.ndarray | None = None, clipped: bool = True) -> SliceMoments:
        """Moments as in `ClientRecords`; stored ones if the block has them."""
        if clipped and columns is None and "sums_fixed" in self.block:
            return self._stored_moments(quantile)
        X, y = self.records(columns)
        clip, bits = (case_clip(self.settings.radius), self.facts.bits) if clipped else (None, None)
        return client_moments(X, y, self.slices(y, quantile), clip=clip, bits=bits)

    def differences(self, *, quantile: bool) -> np.ndarray:
        """Distances (p, H), as in `ClientRecords`."""
        X, y = map(bounded_entries, self.records())
        return mean_differences(*slice_profile(X, y, self.slices(y, quantile)))

    def sign_sums(self) -> np.ndarray:
        """Sums of signs (H, p), as in `ClientRecords`."""
        X, y = check_records(*map(bounded_entries, self.records()))
        return sign_sums(X, self.facts.public_slices.codes(y), self.facts.n_slices)

    def counts(self) -> np.ndarray:
        """Counts (H,), as in `ClientRecords`."""
        return np.bincount(
            self.facts.public_slices.codes(bounded_entries(self.responses)), minlength=self.facts.n_slices
        )

    @property
    def responses(self) -> np.ndarray:
        """Responses (n,)."""
        return self.block["y"]

    def slices(self, y: np.ndarray, quantile: bool) -> Slices:
        """The client's own slices of its responses, or the public ones."""
        return own_slices(y, self.facts.public_slices) if quantile else self.facts.public_slices

    def _stored_moments(self, quantile: bool) -> SliceMoments:
        block = self.block
        which = "own" if quantile and "sums_own" in block else "fixed"
        return SliceMoments(
            n=int(block[f"counts_{which}"].sum()),
            sums=block[f"sums_{which}"],
            gram=block["gram"],
            counts=block[f"counts_{which}"],
            kind="quantile" if which == "own" else self.facts.public_slices.kind,
            clip=case_clip(self.settings.radius),
            bits=self.facts.bits,
            largest_norm=float(block["norms"]),
            clip_share=float(block["clip_share"]),
        )


def own_slices(y: np.ndarray, public_slices: Slices) -> Slices:
    """Slices of nearly equal frequency, as many as the public ones; classes are what they are."""
    return (
        public_slices
        if public_slices.n_slices == 2 or public_slices.kind == "labels"
        else equal_frequency(y, public_slices.n_slices)
    )
