"""Frequencies by randomised response: every record answers for itself, and intervals of shares are Wilson's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isclose
from typing import cast

import numpy as np

from ...core.checks import CheckedFields
from ...core.randomness import Rng
from ...federation.estimators.precision import NORMAL_95, MadeUp, Precision, made_up_clients
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
        if not self.because.strip():
            raise ValueError("because is missing: state where the levels are public, such as the form of the survey.")
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

    def expected_precision(self, estimate: object, n: int, targets: Sequence[str]) -> Precision:
        """Return the precision at the expected counts, with the distribution of the answers of an estimate."""
        answers = cast(Answers, estimate)
        expected = np.array(list(self.shares.values())) @ answers.matrix
        return self._precision(n * expected, answers.matrix, targets)

    def reported_precision(self, estimate: object, targets: Sequence[str]) -> Precision:
        """Return the precision of the released answers."""
        answers = cast(Answers, estimate)
        return self._precision(answers.counts, answers.matrix, targets)

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

    def _precision(self, counts: np.ndarray, matrix: np.ndarray, targets: Sequence[str]) -> Precision:
        places = [list(self.shares).index(name) for name in targets]
        n, keep, other = float(counts.sum()), float(matrix[0, 0]), float(matrix[0, 1])
        bounds = share_bounds(counts, keep, other)[places]
        shares = np.clip((counts / n - other) / (keep - other), 0, 1)
        exact = share_bounds(n * shares, 1.0, 0.0)[places]
        return Precision(shares[places], np.diff(bounds)[:, 0] / 2, np.diff(exact)[:, 0] / 2)


def share_bounds(counts: np.ndarray, keep: float, other: float) -> np.ndarray:
    """95 % intervals (k, 2) of true shares: Wilson's of the answers, ends mapped back and cut to [0, 1].

    keep, other : probabilities of the true level and of each other one
    """
    n, square = float(np.sum(counts)), NORMAL_95**2
    share = np.asarray(counts) / n
    middle = (share + square / (2 * n)) / (1 + square / n)
    reach = NORMAL_95 * np.sqrt(share * (1 - share) / n + square / (4 * n**2)) / (1 + square / n)
    ends = (np.column_stack([middle - reach, middle + reach]) - other) / (keep - other)
    ends[share == 0, 0] = 0.0
    return np.clip(ends, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Answers:
    """Counts (k,) of the released levels, and the distribution (k, k) of an answer by the true level."""

    counts: np.ndarray
    matrix: np.ndarray
    epsilon_claimed: float


def local_answers(client: Party, respond: RandomizedResponse, rng: Rng) -> Release:
    """The answers of a client's records, each with noise of its own."""
    certificate = SensitivityCertificate(
        1, "hamming", "row", "replace_one", frozenset(("label", "features")), records=1
    )
    codes = Bounded(client.block["codes"], certificate, cell_of("clients", client.name))
    return respond(codes, rng("answers", client.name), owner=client.name, release_id=f"answers of {client.name}")


def server_counts(answers: Sequence[np.ndarray], respond: RandomizedResponse) -> Answers:
    """Counts of all answers."""
    counts = np.bincount(np.concatenate(answers), minlength=respond.k)
    return Answers(counts, respond.matrix(), respond.epsilon)


def fit(run: Run) -> Answers:
    """One answer per record."""
    respond = RandomizedResponse(run.epsilon, len(run.spec.public))
    answers = run.gather(run.parties, SERVER, "answers", local_answers, respond, run.rng_for)
    return run.at(SERVER, server_counts, answers, respond)


PROTOCOL = Protocol(
    ResponseOptions, fit=Lazy(f"{__name__}:fit"), extra=(SERVER,), precision=Lazy(f"{__name__}:CategoryModel")
)
