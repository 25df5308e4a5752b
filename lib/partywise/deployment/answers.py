"""Stored answers: the same question to the same data has the same bits and is paid once.

Noise is never derived from the question, since it would be the same when the data have changed.  Instead the opener,
the place that opens what is released, keeps the released values of each question in ``answers.jsonl`` next to its
account, and the account of every owner has the key of the question in the rows that paid for it, without values.
Before a run draws anything, all parties learn what the opener holds and what each owner has paid:

opener holds it, all owners have paid      the stored values are returned: nothing is drawn, sent or paid
opener does not hold it                    the run draws and pays anew: a crash or a lost file never blocks a question
opener holds it, an owner has not paid     the run stops: the account of that owner is an older copy

The key is over the question in canonical form, the protocol with its options, epsilon and delta, who sees the answer,
and the owners with the version of the data that each declares.  Every other question is paid whole.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from ..core.documents import digest_of
from ..core.errors import AccountError, RefusalError
from ..experiment.owner_outputs import CanonicalQuestion
from ..federation.account.chain import Row
from ..federation.identity import join_parts
from ..federation.place_checks import Nobody, PlacedRun
from .deployments import Deployment
from .part import LocalRun
from .publication.release_folder import publisher_of, replay_values
from .session.session import SessionRun
from .statement.measurements import Recorder
from .wire.interface import printable

FILE = "answers.jsonl"
SHORT = 12


def question_of(deployment: Deployment) -> CanonicalQuestion | None:
    """Return the question of a fit whose answer may be stored; None if the owners declare no versions of their data."""
    network = deployment.network
    if not network.data_version:
        return None
    case, method = deployment.plan.cases[network.case], deployment.plan.methods[network.method]
    question: CanonicalQuestion | None = None
    if case.source.question is not None and method.draws_noise:
        question = case.source.question(case.settings, method.options, deployment.holders)
    return question


def answer_key(deployment: Deployment, question: CanonicalQuestion) -> str:
    """SHA-256 of everything by which a question differs from another one."""
    network, plan = deployment.network, deployment.plan
    method = plan.methods[network.method]
    owners = [[name, question.data[name], network.data_version[name]] for name in deployment.holders]
    parts = {
        "question": question.text,
        "protocol": method.protocol.fit.address,
        "options": asdict(method.options),
        "constants": asdict(plan.spec),
        "epsilon": network.epsilon,
        "delta": deployment.delta,
        "owners": sorted([*row, deployment.rows.get(row[0])] for row in owners),
        "audience": [sorted(deployment.names), publisher_of(deployment)],
    }
    return digest_of(join_parts("partywise answer 1", json.dumps(parts, sort_keys=True, default=str)))


def runs_that_paid(rows: Sequence[Row], key: str) -> list[str]:
    """Return the runs of an account that paid for a question, in order."""
    return list(dict.fromkeys(row.run for row in rows if row.kind == "paid" and row.fields.get("answer") == key))


@dataclass
class StoredAnswer:
    """One party's part of asking a question, and of keeping its answer.

    key, question : of the fit; path : of the opener's file; rows : of the party's account as it is now
    recorder : of what is opened or drawn in the run; report : writes to the screen what is reused or paid
    paying_run : run that paid for the answer, once it is known that it is a stored one
    """

    deployment: Deployment
    part: LocalRun
    me: str
    key: str
    question: CanonicalQuestion
    path: Path
    rows: Callable[[], Sequence[Row]]
    recorder: Recorder
    report: Callable[[str], None]
    cost: str = ""
    paying_run: str = field(default="", init=False)

    @property
    def opener(self) -> str:
        """The place that opens what is released."""
        return self.deployment.places[0]

    def agree(self, run: SessionRun) -> bool:
        """Whether the answer is a stored one, as all parties find alike; RefusalError if an owner has not paid."""
        notice = json.loads(run.choose("answer", self._notice))
        notices = {self.me: notice} | run.hear("answer", notice)
        paid_by = printable(notices[self.opener].get("holds", ""), 80)
        for name in self.deployment.holders if paid_by else ():
            if paid_by not in (notices[name].get("paid") or ()):
                raise RefusalError(
                    f"{self.opener!r} has the answer of run {paid_by[:SHORT]} to this question, and the account of "
                    f"{name!r} has no payment for it: it is not the account that paid; put back the newest "
                    f"ledger.jsonl of {name!r}.",
                    name,
                    "answer",
                )
        self.paying_run = paid_by
        if paid_by:
            self.report(f"answer: stored, of run {paid_by[:SHORT]}; nothing is drawn or paid")
        else:
            self.report(f"answer: new; to pay: {self.cost or 'by the owners, what this run draws'}")
        return bool(paid_by)

    def value(self) -> object:
        """Value of the program: at the opener of the stored values, elsewhere without any."""
        if self.me != self.opener:
            fit = self.deployment.plan.methods[self.deployment.network.method].protocol.fit
            return fit(PlacedRun(self.part.run, [""], Nobody(), whole=False))
        run, values = self._last_answer()
        assert run == self.paying_run
        self.recorder.values |= {name: self._own_order(array) for name, array in values.items()}
        return replay_values(self.deployment, self.recorder.values, run, len(self.part.run.fold.of))

    def store(self, run: str) -> None:
        """Keep what the opener has opened, before the run has ended for all."""
        if self.me != self.opener or self._last_answer()[0] == run:
            return
        values = {name: self._canonical(array) for name, array in self.recorder.values.items()}
        row = {"key": self.key, "run": run, "values": {name: array.tolist() for name, array in values.items()}}
        with os.fdopen(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a") as file:
            # The line before it may have been torn by a crash.
            file.write(f"\n{json.dumps(row)}\n")
            file.flush()
            os.fsync(file.fileno())

    def _notice(self) -> str:
        """Notice of this party: of the opener the run whose values it holds, of an owner the runs that paid."""
        if self.me == self.opener:
            return json.dumps({"holds": self._last_answer()[0]})
        return json.dumps({"paid": runs_that_paid(self.rows(), self.key)})

    def _last_answer(self) -> tuple[str, dict[str, np.ndarray]]:
        """Run and values of the last answer to the question; empty without one."""
        answer: tuple[str, dict[str, np.ndarray]] = "", {}
        for line in self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else ():
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if row["key"] == self.key:
                answer = row["run"], {name: np.array(values) for name, values in row["values"].items()}
        return answer

    def _canonical(self, values: np.ndarray) -> np.ndarray:
        flat = np.asarray(values).ravel()
        return flat[self.question.order] if flat.size == self.question.order.size else flat

    def _own_order(self, values: np.ndarray) -> np.ndarray:
        if values.size != self.question.order.size:
            return values
        ordered = np.empty_like(values)
        ordered[self.question.order] = values
        return ordered


def check_data_version(
    record: Callable[[str, str, Callable[[str], str]], bool], deployment: Deployment, me: str, folder: Path
) -> None:
    """State the owner's file behind its version in its account; AccountError for another file under an old version."""
    network = deployment.network
    if me not in deployment.holders or not network.data_version:
        return
    settings, version = deployment.plan.cases[network.case].settings, network.data_version[me]
    names = sorted({holder.file for holder in settings.holders if holder.party == me})

    def digest_with(salt: str) -> str:
        total = hashlib.sha256(join_parts("partywise data 1", salt, version))
        for name in names:
            total.update((folder / name).read_bytes())
        return total.hexdigest()

    if not record(" ".join(names), version, digest_with):
        raise AccountError(
            f"{', '.join(names)} is another file than the one of data_version {version!r} in the account: put that "
            "file back, or declare the next version on your schedule (network.data_version of the shared file)."
        )
