"""Records that clients hold, with features on public scales: what the loaders for horizontal splits return."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .curves import Scale, require


@dataclass(frozen=True)
class ClientTable:
    """N records of K clients.

    Attributes
    ----------
    X : (N, p) float32
        Features on the public ``scales``, so that almost all lie in [-1, 1]; nothing is clipped.
    y : (N,) float
        A number, or the position of the class in ``classes``.
    client : (N,) int
        Position of the record's client in ``clients``.
    names, clients, classes : tuple of str
        Features; clients; classes, empty where y is a number.
    scales : tuple of p Scale
    sha256 : dict
        File name -> SHA-256 of the file that was read.
    notes : tuple of str
        What a reader of a figure has to know.
    """

    X: np.ndarray
    y: np.ndarray
    client: np.ndarray
    names: np.ndarray
    clients: tuple[str, ...]
    classes: tuple[str, ...]
    scales: tuple[Scale, ...]
    sha256: dict[str, str]
    notes: tuple[str, ...]

    def __post_init__(self) -> None:
        n, p = self.X.shape
        require(self.y.shape == (n,) and self.client.shape == (n,), f"y or client has not {n} entries")
        require(len(self.names) == p and len(self.scales) == p, f"{p} features have {len(self.names)} names")
        require(bool(np.isfinite(self.X).all() and np.isfinite(self.y).all()), "a value is not finite")
        require(set(np.unique(self.client)) == set(range(len(self.clients))), "a client has no record")
