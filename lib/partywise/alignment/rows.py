"""First step of every protocol on vertically split records: the rows of every party that are common records.

Aligned records are the training records of the fold, in the order in which they lie, and no message is sent. Records
that arrive unaligned are matched by the identifiers in the block ``ids`` of every party: text, each once.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import numpy as np

from ..federation.exchanges.psi import psi
from ..federation.parties import Party
from ..federation.places import PerPlace
from ..federation.roles import ANALYST
from ..federation.run import Run
from .digests import keyed_digests, published_digests
from .identifiers import prepare_identifiers
from .options import IdentifierRules, Mode

WAYS = {"psi": psi, "hmac": keyed_digests, "sha256": published_digests}
UNPROTECTED = (
    "alignment='sha256' sends hashes of identifiers, as published: the analyst finds every identifier of a space that "
    "can be listed; 'psi' protects them."
)
logger = logging.getLogger("partywise")


def check_rows(block: Mapping[str, np.ndarray], owner: str, count: int, what: str) -> None:
    """ValueError if an array of a block has another number of rows."""
    for name, values in block.items():
        if len(values) != count:
            remedy = "give all parties the same records" if what == "records" else "give each record its own"
            raise ValueError(f"{name} of {owner!r} has {len(values)} rows for {count} {what}: {remedy}.")


def local_training_rows(party: Party, train: np.ndarray) -> np.ndarray:
    """(n,) positions of the training records, the same at every party; ValueError if its block has more or fewer."""
    check_rows(party.block, party.name, len(train), "records")
    return np.flatnonzero(train)


def local_texts(party: Party) -> list[str]:
    """The party's identifiers; ValueError if some are missing or double, before anything is sent."""
    check_rows(party.block, party.name, len(party.block["ids"]), "identifiers")
    texts, _ = prepare_identifiers(party.block["ids"], IdentifierRules(), party.name)
    return texts


def matched_rows(run: Run, mode: Mode, matcher: str = ANALYST) -> tuple[PerPlace[np.ndarray], int]:
    """Match rows as in `common_rows`, by the identifiers of all parties; ``matcher`` is a place without data."""
    if len(run.parties) < 2:
        raise ValueError(f"parties has {len(run.parties)}: records are aligned between at least two.")
    return WAYS[mode](run, run.each(run.parties, local_texts), matcher)


def common_rows(run: Run) -> tuple[PerPlace[np.ndarray], int]:
    """Positions (n,) of the common training records in every party's own block, in one order; and n, known to all.

    Records that arrive unaligned need a place `federation.roles.ANALYST`. ValueError if they are split into folds, an
    identifier is missing or double, or none is common.
    """
    if run.spec.public.aligned:
        return run.each(run.parties, local_training_rows, run.fold.train), int(run.fold.train.sum())
    if run.fold.n_folds != 1:
        raise ValueError(f"folds={run.fold.n_folds}: records that arrive unaligned have no common folds; use 1.")
    if run.spec.options.alignment == "sha256":
        logger.warning(UNPROTECTED)
    return matched_rows(run, run.spec.options.alignment)


def work(mode: Mode, sizes: Sequence[int]) -> dict[str, int]:
    """Multiplications of points and hashes of identifiers, of all parties together, from the lengths of their lists."""
    return {"exponentiations": len(sizes) * sum(sizes) if mode == "psi" else 0, "hashes": sum(sizes)}


def columns_of(block: Mapping[str, np.ndarray], rows: np.ndarray, names: Sequence[str], party: str) -> np.ndarray:
    """(n, p_k) columns of a party at the used records.

    names : of the party's columns; party : its name, for messages
    """
    X = np.asarray(block["X"])
    if X.ndim != 2 or X.shape[1] != len(names):
        raise ValueError(f"X of {party!r} has shape {X.shape}: give a column for each of its names {tuple(names)}.")
    _check_used(f"X of {party!r}", len(X), rows)
    if X.dtype.kind not in "fiub":
        raise ValueError(f"X of {party!r} holds {X.dtype} values: encode them as numbers, a factor as indicators.")
    columns = np.ascontiguousarray(X[rows], dtype=float)
    wrong = np.argwhere(~np.isfinite(columns))
    if len(wrong):
        row, column = wrong[0]
        raise ValueError(
            f"column {names[column]!r} of {party!r} has the value {columns[row, column]} in record {rows[row]}: fill "
            "or drop incomplete records first."
        )
    return columns


def vector_of(block: Mapping[str, np.ndarray], rows: np.ndarray, name: str, party: str) -> np.ndarray:
    """(n,) numbers that a party has in addition to its columns, such as a response, at the used records."""
    values = np.asarray(block[name])
    if values.ndim != 1 or values.dtype.kind not in "fiub":
        raise ValueError(f"{name} of {party!r} has shape {values.shape} and type {values.dtype}: give (n,) numbers.")
    _check_used(f"{name} of {party!r}", len(values), rows)
    return np.ascontiguousarray(values[rows], dtype=float)


def _check_used(what: str, count: int, rows: np.ndarray) -> None:
    if not len(rows):
        raise ValueError(f"{what}: no record is used, give records to train on.")
    if count <= int(np.max(rows)):
        raise ValueError(
            f"{what} has {count} rows, record {int(np.max(rows))} is used: give all parties the same records, or let "
            "them be aligned by ids."
        )
