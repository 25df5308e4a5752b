"""Disclosure by single messages at sight: labels by the signs of gradients, rows by a multiple of them, identifiers.

The source of vertical trees sends gradients of all rows to the owners of columns (document 003, "Label-scattering
tree-based models"); of linear models the messages of a step are multiples of a record, which disclose it up to one
factor.  The source of vertical GLM sends SHA-256 digests of identifiers and calls them irreversible (document 004, "The
Hashing Approach"): any reader who can list the identifiers has them.  The functions below are attacks by the receiver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256

import numpy as np

# Cosines nearer to 1 or -1 are those of one direction, to rounding of the values that crossed.
TOLERANCE = 1e-9
Digest = str | bytes


def labels_from_signs(gradients: np.ndarray) -> np.ndarray:
    """Labels (n,) bool of rows by their gradients p - y of the log loss (n,): negative where the label is 1."""
    return np.asarray(gradients) < 0


def directions_seen(seen: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Whether each row (m, d) is a multiple of a seen vector (s, d); zeros and records of one feature are not."""
    if rows.shape[1] < 2 or not len(seen):
        return np.zeros(len(rows), dtype=bool)
    cosines = np.abs(_directions(rows) @ _directions(seen).T)
    return cosines.max(axis=1) >= 1 - TOLERANCE


def _directions(vectors: np.ndarray) -> np.ndarray:
    """Vectors of length 1; zeros stay."""
    # Masks are longer than what a square holds.
    scaled = vectors / np.maximum(np.abs(vectors).max(axis=1, keepdims=True), np.finfo(float).tiny)
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    return np.divide(scaled, lengths, out=np.zeros_like(scaled), where=lengths > 0)


def sha256_digest(name: str) -> str:
    """SHA-256 of a text in hexadecimal, as any reader computes it."""
    return sha256(name.encode()).hexdigest()


def dictionary_attack(
    hashes: Iterable[Digest], candidates: Iterable[str], digest: Callable[[str], Digest] = sha256_digest
) -> dict[Digest, str]:
    """Identifiers behind hashes that any reader can compute, by hashing every identifier of the scheme in use."""
    wanted, matches = set(hashes), dict[Digest, str]()
    for name in candidates:
        if len(matches) == len(wanted):
            break
        value = digest(name)
        if value in wanted:
            matches[value] = name
    return matches


def attack_ids(
    seen: Sequence[Digest],
    identifiers: Sequence[str],
    candidates: Iterable[str],
    digest: Callable[[str], Digest] = sha256_digest,
) -> float:
    """Share of a party's identifiers that a dictionary finds behind what was seen of them, in any order."""
    matches = set(dictionary_attack(seen, candidates, digest).values())
    return sum(name in matches for name in identifiers) / len(identifiers) if len(identifiers) else 0.0
