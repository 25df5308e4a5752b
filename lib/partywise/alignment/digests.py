"""Identifiers as the source sends them: digests that anybody who can list the identifiers inverts."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

__all__ = ["hash_identifiers"]


def hash_identifiers(identifiers: Iterable[str]) -> list[str]:
    """SHA-256 of identifiers in hexadecimal, as the source aligns records (seed 004, "The Hashing Approach")."""
    return [sha256(name.encode()).hexdigest() for name in identifiers]
