"""Alignment of the records of several parties on its own, for a notebook."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

import numpy as np

from ..federation.folds import Fold
from ..federation.parties import Party
from ..federation.payloads import Transcript
from ..federation.places import by_place
from ..federation.roles import ANALYST
from ..federation.run import Run, simulate
from ..federation.secure_streams import Randomness, addresses_of
from ..privacy.ledger.ledger import Ledger
from .identifiers import prepare_identifiers
from .options import IdentifierRules, Mode
from .rows import UNPROTECTED, matched_rows, work


@dataclass(frozen=True)
class Alignment:
    """Result of `align`.

    rows : (n,) int64 by party: positions of the common records among its identifiers, in one order for all
    n : number of common records
    transcript : every message, in order
    ledger : the cost of each of them; the row of an aligned record is disclosed (epsilon = inf)
    received_bytes : bytes that reached each participant, the analyst included
    exponentiations, hashes : multiplications of points, and identifiers hashed, by all parties together
    """

    rows: Mapping[str, np.ndarray]
    n: int
    transcript: Transcript
    ledger: Ledger
    received_bytes: Mapping[str, int]
    exponentiations: int
    hashes: int

    def __repr__(self) -> str:
        return f"Alignment of {self.n} records of {', '.join(self.rows)}: {self.ledger!r}; {self.transcript!r}"


def align(
    identifiers: Mapping[str, object],
    mode: Mode = "psi",
    *,
    as_text: str | None = None,
    normalise: bool = False,
    duplicates: str = "error",
    missing: str = "error",
    rng: Randomness,
) -> Alignment:
    """Simulate the alignment of records that several parties hold in orders of their own.

    Parameters
    ----------
    identifiers : mapping of str to sequence of str
        By party, at least two: one identifier a record, as a list, an array or a column of a table.
    mode : {"psi", "hmac", "sha256"}
        Set intersection on edwards25519; HMAC-SHA-256 under a key that the parties have and the analyst has not; or, as
        published, SHA-256, which protects no identifier that can be guessed and warns.
    as_text : str, optional
        Format of whole numbers as text, such as ``"06d"``; without it they are refused.
    normalise : bool
        Whether blanks around identifiers and the case of letters count for nothing. Unicode's form NFC always holds.
    duplicates : {"error", "first", "drop"}
        Of the records of a party with one identifier none may be, the first is, or none is used.
    missing : {"error", "drop"}
        What becomes of records whose identifier is None, NaN or empty.
    rng : int, numpy.random.Generator, Streams or SecureStreams
        Source of exponents, keys and orders. All but `SecureStreams` repeat what they draw: for experiments.

    Returns
    -------
    Alignment

    Raises
    ------
    ValueError
        If an option is unknown, there are fewer than two parties, identifiers are not as demanded (the message counts
        them and shows none), or none is common to all.
    ImportError
        If PyNaCl is missing (``"psi"``).
    TypeError
        For an ``rng`` of another kind, or identifiers that are not a mapping.

    Notes
    -----
    Formal guarantee: none in epsilon. Who takes part is disclosed: every party learns which of its records are common,
    and how many records the others have; the analyst learns which entries of the lists agree. With ``"psi"`` parties
    that follow the protocol and do not collude learn no more (`partywise.federation.exchanges.psi`).

    References
    ----------
    Seed 004, section "Privacy-Preserving Record Alignment".

    Examples
    --------
    >>> # Needs the extra `alignment`.
    >>> import partywise as pw
    >>> held = {"hospital": ["P-0007", "P-0042", "P-0815"], "insurer": ["P-0815", "P-0042", "P-0999"]}
    >>> met = pw.align(held, rng=7)
    >>> sorted(zip(*(rows.tolist() for rows in met.rows.values())))  # of each person the row at either party
    [(1, 1), (2, 0)]
    >>> met.n, met.ledger.total("insurer", "row", 1e-5).epsilon_certified  # who takes part is disclosed
    (2, inf)
    """
    if mode not in get_args(Mode):
        raise ValueError(f"mode={mode!r} of an alignment is unknown; use one of {get_args(Mode)}.")
    if not isinstance(identifiers, Mapping):
        raise TypeError(
            f"identifiers is a {type(identifiers).__name__}: give a dict, the identifiers of each party by its name."
        )
    if len(identifiers) < 2:
        raise ValueError(f"identifiers has {len(identifiers)} parties: records are aligned between at least two.")
    rules = IdentifierRules(as_text, normalise, duplicates, missing)  # type: ignore[arg-type]
    prepared = {name: prepare_identifiers(values, rules, name) for name, values in identifiers.items()}
    if mode == "sha256":
        warnings.warn(UNPROTECTED, UserWarning, stacklevel=2)
    roles = ("active", *["passive"] * (len(prepared) - 1))
    parties = [
        Party(name, role, {"ids": np.array(texts)})
        for (name, (texts, _)), role in zip(prepared.items(), roles, strict=True)
    ]
    run = Run(
        parties,
        epsilon=math.inf,
        fold=Fold(np.zeros(0, dtype=int), 0, 1),
        rng_for=addresses_of(rng),
        spec=None,
        extra=(ANALYST,),
    )
    matches, n = simulate(lambda run: matched_rows(run, mode), run)
    rows = {name: positions[by_place(matches)[name]] for name, (_, positions) in prepared.items()}
    transcript = Transcript(run.channel.transcript())
    received = {name: sum(row["bytes"] for row in transcript if row["receiver"] == name) for name in run.names}
    done = work(mode, [len(positions) for _, positions in prepared.values()])
    return Alignment(rows, n, transcript, run.channel.ledger, received, **done)
