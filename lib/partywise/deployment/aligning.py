"""Verb ``network align``: each party's file of the records that all parties have, in one order.

What crosses is private set intersection (`partywise.federation.exchanges.psi`), with exponents of the operating system
in either mode. Every party learns which of its records are common, so that the account states an infinite epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import closing, nullcontext
from pathlib import Path
from typing import cast

import numpy as np

from ..core.errors import ConfigError
from ..core.files import replacing
from ..experiment.study import Lazy
from ..federation.folds import Fold
from ..federation.place_checks import LocatedValue
from ..federation.places import PerPlace, by_place
from ..federation.run import Run
from ..federation.secure_streams import SecureStreams
from .deployments import Deployment
from .running import offer_end, open_account, start_words
from .session.outcome import Outcome
from .session.party import Program, run_party
from .settings import KEY
from .start import PartyStart
from .wire.journal import Journal

NAME = "align"
# How tables with ids are read and written, and the program: the pipeline knows neither.
HAS_TABLES, FILE_OF, OWN_RECORDS, PARTIES_WITH, COMMON_ROWS = (
    Lazy(f"partywise.alignment.own_tables:{name}")
    for name in ("has_tables", "file_of", "own_records", "parties_with", "common_rows_at")
)


def check_places(deployment: Deployment) -> None:
    """Raise ConfigError unless columns are split over files, and a place without data can compare blinded lists."""
    network = deployment.network
    if not HAS_TABLES(deployment.plan.cases[network.case].settings):
        raise ConfigError(
            f"{KEY}.case is {network.case!r}, which has no table at each party: records are aligned where columns "
            "are split over own tables; name such a case."
        )
    if not deployment.places:
        raise ConfigError(
            f"{KEY}.method is {network.method!r}, which has no place without data: one compares the blinded lists. "
            "Align by a configuration whose method has one, such as moments of vertical_glm."
        )


def align(start: PartyStart) -> list[str]:
    """Align the records, and return lines for the party's screen."""
    if offer_end(start) is not None:
        return [f"{start.me}: this alignment has ended, nothing was sent; --again begins a new one."]
    deployment, me, network, policy = start.deployment, start.me, start.deployment.network, start.policy
    settings = deployment.plan.cases[network.case].settings
    file, records, written = FILE_OF(settings, me), None, list[str]()
    if file is not None:
        _check_target(start, file)
        with nullcontext() if policy is None else policy.reading():
            records = OWN_RECORDS(settings, me, start.data)

    def keep(outcome: Outcome) -> None:
        if records is not None:
            rows = by_place(cast("PerPlace[LocatedValue]", outcome.value))[me].of(me, NAME)
            path = start.into / Path(file).name
            with replacing(path) as new:
                records.write(new, rows)
            common = f"{len(cast(np.ndarray, rows))} of {len(records.ids)}"
            written.append(f"{me}: {common} own records are common to all; written to {path}")

    start.journal.parent.mkdir(0o700, parents=True, exist_ok=True)
    run = Run(
        PARTIES_WITH(settings, me, () if records is None else records.ids),
        epsilon=math.inf,
        fold=Fold(np.zeros(0, dtype=int), 0, 1),
        rng_for=cast("Callable[..., np.random.Generator]", SecureStreams(0)),
        spec=None,
        extra=deployment.places,
        real=True,
        trusted=frozenset(network.trusted),
    )
    matcher = deployment.places[0]
    program = Program(fit=lambda run: COMMON_ROWS(run, matcher), run=run, label=NAME, study=network.study, keep=keep)
    with open_account(start) as account, closing(Journal(start.journal, start_words(start))) as journal:
        run_party(
            [program],
            me,
            start.connect(network, me, start.certificates, journal),
            configuration=start.configuration,
            account=account,
            patience=network.patience,
            same_platform=network.same_platform,
            fingerprints=network.certificates,
            journal=journal,
            deadline=network.deadline or math.inf,
            ended=start.last_frames,
        )
        journal.discard()
    return [
        *(written or [f"{me}: the blinded lists were compared here; the common records are at the data holders."]),
        "disclosed: every data holder learns which of its records are common and how many records the others have; "
        "no epsilon bounds that",
        f"account of the alignment: {start.ledger}",
    ]


def _check_target(start: PartyStart, file: str) -> None:
    """Raise ConfigError if the new file would replace the party's own one."""
    target = start.into / Path(file).name
    if target.resolve() == (start.data / file).resolve():
        raise ConfigError(f"--into is {start.into}: {target.name} there is the file that is aligned; name another.")
