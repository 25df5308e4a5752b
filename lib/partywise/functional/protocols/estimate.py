"""Bytes by formula, to stand beside the bytes measured on the channel."""

from __future__ import annotations

MIB = 2.0**20


def published_mib(n_train: int, party_sizes: list[int], n_basis: int) -> float:
    """MiB by the source's formula, sum over parties of 8 (N m_g Q + (m_g Q)^2) (seed 000, Communication Cost)."""
    return sum(8 * (n_train * m * n_basis + (m * n_basis) ** 2) for m in party_sizes) / MIB


def release_bytes(n: int, party_sizes: list[int], n_basis: int) -> int:
    """Bytes that the release needs: 8 N m_g Qx, summed over the parties; the receiver has Z, no Gram part."""
    return sum(8 * n * m * n_basis for m in party_sizes)


def moments_bytes(n_coordinates: int, n_response: int, n_chunks: int) -> int:
    """Bytes of released sums: the triangle of S_zz, S_zy and the mean, for each disjoint chunk."""
    size = n_coordinates * (n_coordinates + 1) // 2 + n_coordinates * n_response + n_coordinates
    return 8 * n_chunks * size


def formula_bytes(
    party_sizes: list[int], n_train: int, n: int, n_basis: int, n_response: int, n_chunks: int
) -> dict[str, float]:
    """The three formulas of one fit, as scalars for the cube."""
    return {
        "published_mib": published_mib(n_train, party_sizes, n_basis),
        "release_bytes": release_bytes(n, party_sizes, n_basis),
        "moments_bytes": moments_bytes(sum(party_sizes) * n_basis, n_response, n_chunks),
    }
