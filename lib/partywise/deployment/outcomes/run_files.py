"""Files that a party's run leaves in its folder: values it holds, messages it sent, and the record of the run."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np

from ...core.errors import AccountError
from ...core.files import replacing
from ...experiment.blocks import write_block
from ...experiment.owner_outputs import INTERVALS_OF, plain
from ...federation.account.account import EXTRACT
from ...federation.account.rows import ReceivedMessage, ReservedRow, SentMessage
from ...federation.cipher import Cipher
from ...federation.codec import payload_of
from ...federation.estimators.estimate_rows import table_of
from ...federation.payloads import KINDS, argument_of
from ...privacy.ledger.event import QUESTIONS
from ..session.outcome import Outcome
from ..statement.files import ESTIMATE
from .result import HeldEstimate

# What the run was, what the party holds, what it sent, and the rows of its account that are of this run.
RECORD, OUTCOME, TRANSCRIPT = "run.json", "outcome.json", "transcript.csv"
PREDICTIONS = "predictions.csv"
# A block of one cell: what a cube has of the estimate, without what only the accounts of all parties tell.
CELL = "cell.npz"
# Arrays of more entries have files of their own.
INLINE = 12
# Signs of the id of a run in the name of its folder.
SHORT = 12


def run_folder(into: Path, run: str) -> Path:
    """Return the folder of one run in that of a party, or of a fit: no run replaces the files of another."""
    return into / run[:SHORT]


@dataclass(frozen=True)
class Record:
    """Identity of the run that the files of a folder come from.

    run, configuration : id and digest; party : owner of the folder; names : all, as on the channel; hosts : theirs
    study, case, method, epsilon, fold, mode : of the block ``network``; unit, delta, rows_per_user : of its totals
    n_parties, replicate : position of the fit in the grid of its case
    outcome : salted digest of what the party holds, whose salt stays in ``outcome.json``
    steps : messages and reserved rows of the whole run
    """

    run: str
    configuration: str
    party: str
    names: tuple[str, ...]
    hosts: tuple[str, ...]
    study: str
    case: str
    method: str
    epsilon: float | None
    fold: int
    n_parties: int
    mode: str
    unit: str
    delta: float
    rows_per_user: int | None
    outcome: str
    steps: int
    replicate: int = 0


def write_record(folder: Path, record: Record) -> None:
    """Write ``run.json``, the last of the files of a run, and have all of them on the disk."""
    _write(folder / RECORD, asdict(record))
    _sync(folder, TRANSCRIPT, EXTRACT, RECORD, "", "..")


def fit_folders(folder: Path) -> list[Path]:
    """List a folder with the record of a run, and those inside it, by fit in the order of a grid, then of the runs;
    those of the verb ``network party``.
    """
    folders = [path for path in (folder, *folder.glob("*/"), *folder.glob("*/*/")) if (path / RECORD).is_file()]
    records = {path: read_record(path) for path in folders}

    def place(path: Path) -> tuple[bool, str, int, float, int]:
        record = records[path]
        epsilon = math.inf if record.epsilon is None else record.epsilon
        return path != folder, record.method, record.fold, epsilon, _first_row(path / EXTRACT)

    return sorted(folders, key=place)


def last_run(folder: Path) -> Path:
    """Return the folder of the last run in a party's, or in that of a fit of a session; the folder itself if none."""
    return (fit_folders(folder) or [folder])[-1]


def _first_row(extract: Path) -> int:
    """Return the number of a run's first row in the account of its party, which grows; 0 if none is there."""
    try:
        with extract.open(encoding="utf-8") as handle:
            return int(json.loads(handle.readline())["number"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return 0


def read_record(folder: Path) -> Record:
    """Read the record of a folder; AccountError if there is none."""
    try:
        content = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        record = Record(**content | {key: tuple(content[key]) for key in ("names", "hosts")})
        _check(record)
        return record
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        raise AccountError(
            f"{folder} has no {RECORD} of a run that ended: name the folders that the verb network party wrote."
        ) from None


def _check(record: Record) -> None:
    """Raise ValueError for a record that no run wrote: it comes from others, and its words are printed."""
    texts = [getattr(record, field.name) for field in fields(Record) if field.type == "str"]
    if not all(isinstance(text, str) and text.isprintable() for text in (*texts, *record.names, *record.hosts)):
        raise ValueError("a word that is none")
    if len(record.names) != len(record.hosts):
        raise ValueError("a party without a host")
    counts = [record.steps, record.fold, record.n_parties, record.replicate, record.rows_per_user or 0]
    if not all(type(count) is int and count >= 0 for count in counts):
        raise ValueError("a number that is none")
    if record.unit not in QUESTIONS or not isinstance(record.delta, float) or not 0 <= record.delta < 1:
        raise ValueError("no unit or delta")


def write_extract(folder: Path, rows: bytes) -> None:
    """Write ``run.jsonl``: rows for the verb network union, and nothing of other runs."""
    with replacing(folder / EXTRACT) as temporary:
        temporary.write_bytes(rows)


def write_outcome(folder: Path, outcome: Outcome, mode: str, estimate: HeldEstimate) -> list[str]:
    """Write ``outcome.json``, what there is of an estimate, of predictions and of a cell, and a CSV file for each array
    of some size, to the disk; the names of the last.
    """
    for old in (folder / ESTIMATE, folder / PREDICTIONS, folder / CELL, *folder.glob("outcome_*.csv")):
        old.unlink(missing_ok=True)
    files: list[str] = []
    values = _plain(outcome.plain_values, folder, files)
    facts: dict[str, object] = {"all of it": estimate.whole, "a part": estimate.parts}
    if estimate.reason:
        facts["none"] = estimate.reason
    else:
        facts |= {"status": estimate.status, "model": plain(estimate.model)}
        with replacing(folder / ESTIMATE) as temporary:
            temporary.write_bytes(table_of(estimate.rows))
    if estimate.predictions:
        _write_table(folder / PREDICTIONS, ("id", "held_out", "predicted"), estimate.predictions)
    if estimate.cell is not None:
        write_block(folder / CELL, [estimate.cell])
    if estimate.no_cell:
        facts["no cell"] = estimate.no_cell
    written = {ESTIMATE: not estimate.reason, PREDICTIONS: estimate.predictions, CELL: estimate.cell is not None}
    tables = [name for name, there in written.items() if there]
    _write(
        folder / OUTCOME,
        {"mode": mode, "digest": outcome.commitment, "salt": outcome.salt, "estimate": facts, "holds": values},
    )
    _sync(folder, OUTCOME, *tables, *files, "")
    return files


def _sync(folder: Path, *names: str) -> None:
    """Flush files and the names in folders to the disk."""
    for name in names:
        handle = os.open(folder / name, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)


def estimate_in_words(estimate: HeldEstimate) -> str:
    """Describe what a party has of an estimate, and in which files."""
    if estimate.reason:
        return f"none here: {estimate.reason}"
    marked = "" if estimate.status == "ok" else f" ({estimate.status})"
    n, rows = len(estimate.predictions), len(estimate.rows)
    predicted = f"; {n:,} prediction{'s' * (n != 1)} of own records in {PREDICTIONS}" if n else ""
    return f"{rows:,} number{'s' * (rows != 1)}{marked} in {ESTIMATE}{predicted}"


def read_estimate(folder: Path, record: Record) -> tuple[list[dict[str, str]], list[str]]:
    """Read the rows of ``estimate.csv`` and the sentences of ``outcome.json`` on them; no rows if it gives a reason.

    AccountError if these files are not of the run in the record.
    """
    try:
        outcome = json.loads((folder / OUTCOME).read_text(encoding="utf-8"))
        facts = outcome["estimate"]
        if outcome["digest"] == record.outcome:
            if "none" in facts:
                return [], [f"no estimate here: {facts['none']}"]
            with (folder / ESTIMATE).open(newline="", encoding="utf-8") as handle:
                rows = list(csv.DictReader(handle))
            reasons = dict.fromkeys(row["note"] for row in rows if row["note"])
            estimand = facts.get("model", {}).get(INTERVALS_OF)
            about = [f"status: {facts['status']}", *([f"intervals: {estimand}"] if estimand else [])]
            return rows, [*about, *(f"no interval: {reason}" for reason in reasons)]
    except (OSError, ValueError, TypeError, KeyError):
        pass
    raise AccountError(
        f"{folder} has no {OUTCOME} and {ESTIMATE} of the run in its {RECORD}: "
        "name the folder of the verb network party."
    )


def write_rows(path: Path, messages: Sequence[SentMessage | ReceivedMessage | ReservedRow]) -> None:
    """Write the messages of one party as ``transcript.csv``; the union of all accounts has ledger rows as well."""
    rows = list[Sequence[object]]()
    for sent in messages:
        if isinstance(sent, SentMessage):
            payload, shape = payload_of(sent.payload), "x".join(map(str, sent.shape))
            ends = sent.step, sent.sender, sent.receiver, sent.name
            rows.append((*ends, KINDS[type(payload)], argument_of(payload), shape, sent.size))
    _write_table(path, ("step", "sender", "receiver", "name", "kind", "argument", "shape", "bytes"), rows)


def _write_table(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as handle:
        csv.writer(handle, lineterminator="\n").writerows([header, *rows])


def _plain(value: object, folder: Path, files: list[str]) -> object:
    """Return a plain value for JSON; a cipher is described by its kind alone."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item, folder, files) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, folder, files) for item in value]
    if isinstance(value, Cipher):
        return {"cipher": value.scheme, "key holder": value.key_holder}
    if isinstance(value, np.ndarray):
        if value.size <= INLINE:
            return _plain(value.tolist(), folder, files)
        files.append(f"outcome_{len(files) + 1}.csv")
        _write_array(folder / files[-1], value)
        return {"array": files[-1], "shape": list(value.shape), "dtype": str(value.dtype)}
    if isinstance(value, np.generic):
        return _plain(value.item(), folder, files)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _write_array(path: Path, values: np.ndarray) -> None:
    """Write an array as rows of its last axis, every number to its last bit."""
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as handle:
        csv.writer(handle, lineterminator="\n").writerows(np.atleast_2d(values).reshape(-1, values.shape[-1]).tolist())


def _write(path: Path, content: Mapping[str, object]) -> None:
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
