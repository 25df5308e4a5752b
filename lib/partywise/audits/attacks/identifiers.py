"""Disclosure by unkeyed hashes of identifiers: the identifiers, to any reader who can list them.

The source sends SHA-256 digests of identifiers and calls them irreversible (seed 004, "The Hashing Approach").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256

Digest = str | bytes


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
