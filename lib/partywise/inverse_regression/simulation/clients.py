"""The records of simulated clients by their address, with null columns that are drawn only where they are asked for.

Null columns enter screening through slice means alone (`null_columns`), or through signs (`sign_columns`).  Slice means
are drawn for the common refinement of the client's own slices and the public ones, so that methods with either kind of
slices see the same records.  The two samplers draw null columns of one law, not the same columns: a method reads one
of them throughout.  True columns and responses are the same in both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ...randomness import stream
from .. import models
from ..contrasts import sign_sums
from ..moments import Moments, client_moments
from ..screening import mean_differences, slice_profile
from ..slices import Slices, case_edges, case_radius, equal_frequency, public_slices
from .null_columns import NullColumns, draw_null
from .sign_columns import SignedColumns, signed_columns

# Clients of one replicate whose slice means, or moments of some columns, are kept for the next epsilon.
REMEMBERED = 256

if TYPE_CHECKING:
    from ...studies.sliced_inverse_regression.settings import SimulatedSettings


@dataclass(frozen=True)
class Client:
    """One simulated client: what its records are a function of.

    address : root of its randomness and its number; beta : (s, d) true basis on the true support; edges : of the
    public slices; settings : of the case
    """

    address: tuple[int, int]
    beta: tuple[tuple[float, ...], ...]
    edges: tuple[float, ...]
    settings: SimulatedSettings

    @cached_property
    def drawn(self) -> tuple[np.ndarray, np.ndarray]:
        """Columns of the true support (n, s) and responses (n,)."""
        settings, rng = self.settings, stream(self.address[0], "client", self.address[1])
        X, y, _ = models.draw(settings.model, settings.n, len(self.beta), rng, beta=np.array(self.beta))
        return X, y

    @cached_property
    def fixed(self) -> Slices:
        """The public slices."""
        return public_slices(case_edges(self.edges))

    @cached_property
    def own(self) -> Slices:
        """The client's own quantile slices; two classes are public."""
        return own_slices(self.drawn[1], self.fixed)

    @cached_property
    def refined(self) -> Slices:
        """Slices at the edges of both kinds."""
        edges = np.union1d(self.own.edges, self.fixed.edges)
        return Slices(len(edges) + 1, edges, "quantile")

    @property
    def null(self) -> NullColumns:
        """The columns after the true support, for screening by slice means."""
        return client_null(self)

    @property
    def signed(self) -> SignedColumns:
        """The columns after the true support, for screening by signs."""
        return signed_columns(*self.address, self.settings.n, self.nulls, self.before)

    @property
    def nulls(self) -> int:
        """Number of columns after the true support."""
        return self.settings.p - len(self.beta)

    @property
    def before(self) -> np.ndarray | None:
        """The last true column where columns are AR(1/2); None where they are independent."""
        return self.drawn[0][:, -1] if models.settings(self.settings.model).autoregressive else None

    def profile(self, slices: Slices) -> tuple[np.ndarray, np.ndarray]:
        """Unclipped means (p, H) of every slice and its counts (H,), for the own slices or the public ones."""
        means, counts = slice_profile(*self.drawn, slices)
        # A slice of the refinement lies inside one slice: that of its upper edge.
        upper = np.append(self.refined.edges, np.inf)
        inside = np.searchsorted(slices.edges, upper, side="left")[:, None] == np.arange(slices.n_slices)
        null = self.null
        sums = (null.means * null.counts) @ inside
        return np.concatenate([means, sums / np.maximum(counts, 1)]), counts

    def columns(self, chosen: np.ndarray) -> np.ndarray:
        """Records (n, len(chosen)) of some columns, in increasing order, after screening by slice means.

        One call is one draw of the residuals.
        """
        X, s = self.drawn[0], self.drawn[0].shape[1]
        true = chosen[chosen < s]
        if len(true) == len(chosen):
            return X[:, true]
        rng = stream(self.address[0], "residual", self.address[1])
        return np.concatenate([X[:, true], self.null.materialise(chosen[chosen >= s] - s, rng)], axis=1)

    def sign_sums(self) -> np.ndarray:
        """Sums (H, p) of the signs of all columns over the public slices."""
        (X, y), H = self.drawn, self.fixed.n_slices
        codes = self.fixed.codes(y)
        return np.concatenate([sign_sums(X, codes, H), self.signed.sums(codes, H)], axis=1)

    def signed_records(self, chosen: np.ndarray) -> np.ndarray:
        """Records (n, len(chosen)) of some columns, in increasing order, after screening by signs."""
        X, s = self.drawn[0], len(self.beta)
        return np.concatenate([X[:, chosen[chosen < s]], self.signed.records(chosen[chosen >= s] - s)], axis=1)


def client_at(key: int, number: int, beta: np.ndarray, edges: np.ndarray, settings: SimulatedSettings) -> Client:
    """The client at an address."""
    s = settings.p if settings.active is None else settings.active
    return Client((key, number), tuple(map(tuple, beta[:s].tolist())), tuple(edges.tolist()), settings)


@lru_cache(maxsize=REMEMBERED // 2)
def client_null(client: Client) -> NullColumns:
    """Slice means of the null columns: they are drawn for screening and needed again for what it selects."""
    rng = stream(client.address[0], "null", client.address[1])
    codes = client.refined.codes(client.drawn[1])
    return draw_null(codes, client.refined.n_slices, client.nulls, rng, before=client.before)


@lru_cache(maxsize=REMEMBERED)
def client_differences(client: Client, own: bool) -> np.ndarray:
    """(p, H) distances of the slice means of unclipped records from their mean."""
    client = replace(client)  # what is drawn here is not remembered
    return mean_differences(*client.profile(client.own if own else client.fixed))


@lru_cache(maxsize=REMEMBERED)
def client_restricted(client: Client, own: bool, columns: tuple[int, ...], radius: float | None) -> Moments:
    """Moments of some columns of the client's records."""
    client = replace(client)
    X = client.columns(np.array(columns, dtype=int))
    return client_moments(X, client.drawn[1], client.own if own else client.fixed, radius=case_radius(radius))


@lru_cache(maxsize=REMEMBERED)
def client_sign_sums(client: Client) -> np.ndarray:
    """(H, p) sums of signs over the public slices; whole numbers below 2^24."""
    return replace(client).sign_sums().astype(np.float32)


@lru_cache(maxsize=REMEMBERED)
def client_signed(client: Client, columns: tuple[int, ...], radius: float) -> Moments:
    """Moments of some columns, in the public slices, of the records whose signs were screened."""
    client = replace(client)
    X = client.signed_records(np.array(columns, dtype=int))
    return client_moments(X, client.drawn[1], client.fixed, radius=case_radius(radius))


def own_slices(y: np.ndarray, fixed: Slices) -> Slices:
    """Slices of nearly equal frequency, as many as the public ones; classes are what they are."""
    return fixed if fixed.n_slices == 2 or fixed.kind == "labels" else equal_frequency(y, fixed.n_slices)
