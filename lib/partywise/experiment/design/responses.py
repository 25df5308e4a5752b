"""Frequencies by randomised response: every record answers for itself, and intervals of shares are Wilson's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isclose
from typing import cast

import numpy as np

from ...core.checks import CheckedFields
from ...core.randomness import Rng
from ...federation.estimators.precision import MadeUp, Precision, made_up_clients, require_because
from ...federation.parties import Party
from ...federation.run import Run
from ...privacy.mechanisms.randomized_response import RandomizedResponse
from ...privacy.mechanisms.release import Release
from ...privacy.statistics.bounded import Bounded, SensitivityCertificate
from ...privacy.strata import cell_of
from ..study import Lazy, Protocol

SERVER = "server"


@dataclass(frozen=True)
class ResponseOptions(CheckedFields):
    """k-ary randomised response of one category per record; k is the number of declared shares."""

    uses_epsilon = True


@dataclass(frozen=True)
class CategoryModel(CheckedFields):
    """One public category per record.

    shares : by level, the expected share of records; they sum to 1
    because : where the levels are public
    """

    shares: dict[str, float]
    because: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_because(self.because, "the levels are public, such as the form of the survey")
        if len(self.shares) < 2 or not all(isinstance(share, int | float) for share in self.shares.values()):
            raise ValueError(f"shares is {self.shares!r}: give two levels or more, each with its share.")
        if min(self.shares.values()) < 0 or not isclose(sum(self.shares.values()), 1, abs_tol=1e-9):
            raise ValueError(f"shares is {self.shares!r}: give shares of at least 0 that sum to 1.")

    def targets(self, wanted: Sequence[str]) -> tuple[str, ...]:
        """Names of the levels, those that are asked for first; ValueError for one that is not declared."""
        for name in wanted:
            if name not in self.shares:
                raise ValueError(f"{name!r} is not a target: give one of the levels {', '.join(self.shares)}.")
        return tuple(dict.fromkeys([*wanted, *self.shares]))

    def made_up(self, n: int, parties: int, rng: Rng) -> MadeUp:
        """Return ``n`` records of the model, divided among the parties."""
        codes = rng("levels").choice(len(self.shares), size=n, p=list(self.shares.values()))
        return MadeUp(made_up_clients({"codes": codes}, n, parties), tuple(self.shares))

    def expected_precision(
        self, estimate: object, n: int, targets: Sequence[str], *, is_rough: bool = False
    ) -> Precision:
        """Return the precision at the expected counts, by the mechanism of an estimate."""
        respond = cast(Answers, estimate).respond
        shares = np.array(list(self.shares.values()))
        return self._precision(_indices(n * shares @ respond.matrix()), _indices(n * shares), respond, targets)

    def reported_precision(self, estimate: object, targets: Sequence[str]) -> Precision:
        """Return the precision of the released answers."""
        answers = cast(Answers, estimate)
        shares = np.clip(answers.respond.frequencies(answers.indices), 0, 1)
        exact = _indices(len(answers.indices) * shares)
        return self._precision(answers.indices, exact, answers.respond, targets)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions as clauses."""
        return ("records that are drawn independently", "honest answers")

    @property
    def release(self) -> str:
        """Sentence on what leaves the organisations."""
        return "The category of every record leaves them, but another one at random with a stated probability"

    @property
    def measured_in(self) -> str:
        """Shares have no unit."""
        return ""

    def _precision(
        self, answers: np.ndarray, exact: np.ndarray, respond: RandomizedResponse, targets: Sequence[str]
    ) -> Precision:
        """Precision of levels by answers (n,), and by true levels (n,) without noise."""
        places = [list(self.shares).index(name) for name in targets]
        truth = RandomizedResponse(np.inf, respond.k)
        widths = (mechanism.frequency_intervals(codes) for mechanism, codes in ((respond, answers), (truth, exact)))
        half_widths, without_noise = (np.diff(bounds[places])[:, 0] / 2 for bounds in widths)
        return Precision(np.clip(respond.frequencies(answers), 0, 1)[places], half_widths, without_noise)


def _indices(counts: np.ndarray) -> np.ndarray:
    """Indices (n,) of so many records by level (k,), to whole numbers."""
    return np.repeat(np.arange(len(counts)), np.rint(counts).astype(int))


@dataclass(frozen=True, eq=False)
class Answers:
    """Released levels (n,), and the mechanism that released them."""

    indices: np.ndarray
    respond: RandomizedResponse

    @property
    def epsilon_claimed(self) -> float:
        """Target of the mechanism."""
        return self.respond.epsilon


def local_answers(client: Party, respond: RandomizedResponse, rng: Rng) -> Release:
    """The answers of a client's records, each with noise of its own."""
    certificate = SensitivityCertificate(
        1, "hamming", "row", "replace_one", frozenset(("label", "features")), records=1
    )
    codes = Bounded(client.block["codes"], certificate, cell_of("clients", client.name))
    return respond(codes, rng("answers", client.name), owner=client.name, release_id=f"answers of {client.name}")


def server_answers(answers: Sequence[np.ndarray], respond: RandomizedResponse) -> Answers:
    """All answers."""
    return Answers(np.concatenate(answers), respond)


def fit(run: Run) -> Answers:
    """One answer per record."""
    respond = RandomizedResponse(run.epsilon, len(run.spec.public))
    answers = run.gather(run.parties, SERVER, "answers", local_answers, respond, run.rng_for)
    return run.at(SERVER, server_answers, answers, respond)


PROTOCOL = Protocol(
    ResponseOptions, fit=Lazy(f"{__name__}:fit"), extra=(SERVER,), precision=Lazy(f"{__name__}:CategoryModel")
)
