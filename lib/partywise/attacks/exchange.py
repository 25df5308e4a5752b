"""What a party's messages in seed 004 give away: the data, the identifiers, the column space.

The source sends U_k D_k of X_k = U_k D_k V_k', linear predictors X_k beta_k, and SHA-256 hashes of identifiers. None of
them carries noise. The functions below are attacks by whoever receives these messages; they bound no epsilon, and show
why the ledger books such a message as ``Clear``.
"""

from collections.abc import Iterable
from hashlib import sha256

import numpy as np

__all__ = [
    "candidate_rotations",
    "column_space",
    "dictionary_attack",
    "hash_identifiers",
    "recover_rows",
    "scores_of_block",
]

# 2^k rotations of k x k numbers are held at once: 2^12 of them are 4.7 MB, 2^16 would be 134 MB.
MOST_COLUMNS = 16


def scores_of_block(X) -> np.ndarray:
    """What a party sends: U_k D_k of its block, shape (n, k) (seed 004, "Block SVD", steps 1 and 2)."""
    left, values, _ = np.linalg.svd(np.asarray(X, dtype=float), full_matrices=False)
    return left * values


def recover_rows(message, known, rows, *, law: str = "rotation") -> np.ndarray:
    """All rows of a block from a message that is a linear image of it, and a few rows that the attacker knows.

    Parameters
    ----------
    message : ndarray of shape (n, k)
        U_k D_k, or any basis of the column space of X_k (``column_space``).
    known : ndarray of int of shape (m,)
        Positions of the known rows in the message.
    rows : ndarray of shape (m, p)
        Their values.
    law : {"rotation", "linear", "affine"}
        What links message and data: X = message V' with orthogonal V (U_k D_k of the very data); any linear map (a
        basis of the column space); or a linear map and a shift (U_k D_k of data that the party has standardised by its
        own means and scales; needs one more known row).

    Returns
    -------
    ndarray of shape (n, p)

    Raises
    ------
    ValueError
        If ``law`` is unknown, shapes disagree, or the known rows do not determine the map.
    """
    image, values = np.asarray(message, dtype=float), np.asarray(rows, dtype=float)
    if law not in ("rotation", "linear", "affine"):
        raise ValueError(f"law={law!r} must be 'rotation', 'linear' or 'affine'.")
    if image.ndim != 2 or values.ndim != 2 or len(values) != len(np.atleast_1d(known)):
        raise ValueError(f"message of shape {image.shape}, rows of shape {values.shape}: give (n, k) and one row each.")
    if law == "rotation" and values.shape[1] != image.shape[1]:
        raise ValueError(f"a rotation maps {image.shape[1]} columns to as many, but rows have {values.shape[1]}.")
    if law == "affine":
        image = np.column_stack([np.ones(len(image)), image])
    # Columns of like size: the rank of the known rows is then no matter of units.
    scale = np.sqrt(np.mean(image**2, axis=0))
    used = image[np.atleast_1d(known)] / scale
    mapping, _, rank, _ = np.linalg.lstsq(used, values, rcond=1e-12)
    if rank < image.shape[1]:
        raise ValueError(
            f"the known rows span {rank} of {image.shape[1]} directions; give more or more different rows."
        )
    mapping = mapping / scale[:, None]
    return image @ (_nearest_rotation(mapping) if law == "rotation" else mapping)


def _nearest_rotation(mapping: np.ndarray) -> np.ndarray:
    left, _, right = np.linalg.svd(mapping)
    return left @ right


def candidate_rotations(message, gram) -> np.ndarray:
    """The 2^k rotations V' of which one gives X_k = message V' exactly, with no row known.

    The receiver of U_k D_k knows X_k'X_k as soon as the result of the analysis is published: for standardised data it
    is (n - 1) times the correlation matrix. Its eigenvectors are V_k up to the sign of each column. A single known
    value, the skewness of a column or the sign of one coefficient tells the candidates apart. (The source computes its
    correlations from the messages alone; those are correlations of the rotated columns. With the V_k that the true ones
    need, no pattern is left to guess.)

    Parameters
    ----------
    message : ndarray of shape (n, k)
        U_k D_k.
    gram : ndarray of shape (k, k)
        X_k'X_k.

    Returns
    -------
    ndarray of shape (2^k, k, k)
        ``message @ rotations[s]`` is a candidate for X_k.

    Raises
    ------
    ValueError
        If the shapes disagree, k > 16, ``gram`` is not that of the message up to a rotation, or two of its eigenvalues
        agree (then any rotation within their plane fits).
    """
    image, product = np.asarray(message, dtype=float), np.asarray(gram, dtype=float)
    k = image.shape[-1]
    if image.ndim != 2 or product.shape != (k, k):
        raise ValueError(f"message of shape {image.shape} and gram of shape {product.shape}: give (n, k) and (k, k).")
    if k > MOST_COLUMNS:
        raise ValueError(f"{k} columns have 2^{k} sign patterns; at most {MOST_COLUMNS} columns are enumerated.")
    values, vectors = np.linalg.eigh((product + product.T) / 2)
    if np.any(np.diff(values) <= 1e-9 * values[-1]):
        raise ValueError(
            "gram has equal eigenvalues: its eigenvectors, and with them the candidates, are not determined."
        )
    sizes, axes = np.linalg.eigh(image.T @ image)
    if not np.allclose(sizes, values, rtol=1e-6, atol=1e-9 * values[-1]):
        raise ValueError("gram is not X'X of the block behind this message: their eigenvalues differ.")
    patterns = 1.0 - 2.0 * (np.arange(2**k)[:, None] >> np.arange(k) & 1)
    return np.einsum("ij,sj,lj->sil", axes, patterns, vectors)


def column_space(messages, *, tolerance: float = 1e-10) -> np.ndarray:
    """Orthonormal basis of what repeated linear predictors eta_k = X_k beta_k of one party span.

    Every iteration of block coordinate descent sends one more vector of the column space of X_k (seed 004, "The BCD
    algorithm", step 3). Once they span all of it, the receiver can regress on X_k as its owner could, and k known
    rows give all others (``recover_rows`` with ``law="linear"``).

    Parameters
    ----------
    messages : ndarray of shape (n, t)
        One column per iteration.
    tolerance : float
        Directions smaller than this, relative to the largest, count as rounding errors.

    Returns
    -------
    ndarray of shape (n, r)
        r = dimension reached, at most k.

    Raises
    ------
    ValueError
        If ``messages`` is no matrix, is not finite, or all of it is zero.
    """
    sent = np.asarray(messages, dtype=float)
    if sent.ndim != 2 or not np.all(np.isfinite(sent)) or not np.any(sent):
        raise ValueError(
            f"messages of shape {sent.shape}: give a finite matrix, not all zero, one column per iteration."
        )
    # Iterations converge, so the vectors are nearly equal: their differences have the same span, better conditioned.
    steps = np.column_stack([sent[:, 0], np.diff(sent, axis=1)])
    left, values, _ = np.linalg.svd(steps, full_matrices=False)
    return left[:, values > tolerance * values[0]]


def hash_identifiers(identifiers: Iterable[str]) -> list[str]:
    """SHA-256 of identifiers in hexadecimal, as the source aligns records (seed 004, "The hashing approach")."""
    return [sha256(name.encode()).hexdigest() for name in identifiers]


def dictionary_attack(hashes: Iterable[str], candidates: Iterable[str]) -> dict[str, str]:
    """Identifiers behind unsalted hashes, by hashing every identifier of the scheme in use.

    Parameters
    ----------
    hashes : iterable of str
        SHA-256 digests in hexadecimal, as received.
    candidates : iterable of str
        The identifier space, for example all of ``PATIENT_00000`` to ``PATIENT_99999``; it is hashed until all hashes
        are found or it ends.

    Returns
    -------
    dict of str to str
        Identifier by hash, for the hashes that were found.
    """
    wanted = {digest.lower() for digest in hashes}
    found: dict[str, str] = {}
    for name in candidates:
        if len(found) == len(wanted):
            break
        digest = sha256(name.encode()).hexdigest()
        if digest in wanted:
            found[digest] = name
    return found
