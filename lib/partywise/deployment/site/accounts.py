"""Verbs on an account: whether its chain is whole and what was paid, which runs have not ended, how to end them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from ...core.errors import AccountError
from ...federation.account.account import DELTA, EXTRACT, FILE, Account
from ...federation.account.chain import Chain, Row
from ...federation.account.interface import EXPERIMENT
from ...federation.account.reading import mode_of, opened_account, opened_extract, paid_events, party_of, runs_of
from ...federation.account.spending import AccountBudget, Spending, costs_in_words, spent_of
from ...privacy.rounding import upward
from ..session.last_frames import run_id
from ..wire.journal import Journal

EPILOG = """exit code: 0 the chain is whole and its rows agree, 2 a row was changed or is missing, or there is none

What was sent must have been paid with the very same terms.  Rows that were cut off at the end of a file, and a file
that was written anew as a whole, are seen by nothing inside of it: the other parties of a run keep the digest in which
it ended (python -m partywise network union compares them); or note the digest that this verb prints and give it with
--digest, which must be among the digests of the rows."""
# Signs of an id that are shown, fewest that name a run, and runs of a session that are looked through.
SHORT, LEAST, MOST_RUNS = 12, 4, 10_000


def status(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    """Print every run of an account, which of them is to go on, what it paid, and how to end it."""
    _add_folder(parser)
    arguments = parser.parse_args(words)
    path = _account_file(arguments.folder)
    chain, session = opened_account(path), _session(path)
    print(f"{party_of(chain.rows)}: {len(runs_of(chain.rows))} runs in {path}")
    for run in runs_of(chain.rows):
        print(f"  {_summary(chain, run)}")
    print("\n".join(_ways_on(chain, path, session)))
    return 0


def give_up(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    """Give up a run that has not ended: print what it paid, which stays paid, and remove its journal."""
    parser.add_argument("run", metavar="RUN", help="id of the run, or its first digits")
    _add_folder(parser)
    arguments = parser.parse_args(words)
    path = _account_file(arguments.folder)
    chain, session = opened_account(path), _session(path)
    run = _find_run(arguments.run, chain, path, session)
    party, budget = party_of(chain.rows), _budget(chain)
    # It holds the lock: no process of this party goes on with the run meanwhile.
    with Account(path, party=party, budget=budget) as account:
        paid = _payments(chain, run) if run else "nothing"
        if run:
            account.give_up(run)
        _journal(path).unlink(missing_ok=True)
    name = run[:SHORT] if run else f"of session {session[:SHORT]}"
    print(
        f"{party}: run {name} is given up; it paid {paid}, which stays paid. Every other party that has not ended it "
        "gives it up too; a new run has a new id, draws anew and pays anew."
    )
    return 0


def _add_folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, nargs="?", default=Path(), help="with the account (default: here)")


def _account_file(folder: Path) -> Path:
    path = folder / FILE if folder.is_dir() else folder
    if not path.exists():
        raise AccountError(f"{path} is not there: name the folder of an account (--data, or --into without data).")
    return path


def _journal(path: Path) -> Path:
    return path.with_suffix(".journal")


def _session(path: Path) -> str:
    """Return the id of the session in the journal next to an account; empty if none is to go on."""
    with closing(Journal.view(_journal(path))) as journal:
        return journal.choice("session") if journal.is_agreed else ""


def _open_run(chain: Chain) -> str:
    """Return the run that began last, if it has not ended; empty otherwise."""
    last = next((row for row in reversed(chain.rows) if row.kind in ("began", "ended")), None)
    return last.run if last is not None and last.kind == "began" else ""


def _is_of(run: str, session: str) -> bool:
    """Whether a run is one of a session."""
    return bool(session) and any(run == run_id(session, number) for number in range(MOST_RUNS))


def _summary(chain: Chain, run: str) -> str:
    return f"{about(run, _rows(chain, run))}; paid {_payments(chain, run)}"


def _rows(chain: Chain, run: str) -> Sequence[Row]:
    return [row for row in chain.rows if row.run == run]


def _budget(chain: Chain) -> AccountBudget | None:
    stated = next((row.fields["budget"] for row in reversed(chain.rows) if row.kind == "budget"), None)
    return None if stated is None else AccountBudget(**stated)


def _payments(chain: Chain, run: str) -> str:
    """Describe what a run paid, by unit."""
    budget = _budget(chain)
    delta, group = (DELTA, None) if budget is None else (budget.delta, budget.rows_per_user)
    paid = [(name, event) for name, event in paid_events(chain.rows) if name == run]
    return costs_in_words(spent_of(paid, delta, group, party=party_of(chain.rows)), delta)


def _ways_on(chain: Chain, path: Path, session: str) -> Iterator[str]:
    """Yield what can be done about a run that has not ended."""
    run = _open_run(chain)
    give = f"python -m partywise network give-up {(run or run_id(session, 0))[:SHORT]} {path.parent}"
    if not run and not session:
        yield "no run is to go on: the next start begins one, or reports that its run has ended"
    elif session and (not run or _is_of(run, session)):
        yield f"run {(run or run_id(session, 0))[:SHORT]} is to go on: start all parties again with the same command"
        yield f"to give it up, at every party: {give}"
    else:
        yield f"run {run[:SHORT]} cannot go on here: its journal, {_journal(path)}, is missing or of another run"
        yield f"put the journal back and start all parties again; or give the run up, at every party: {give}"


def _find_run(name: str, chain: Chain, path: Path, session: str) -> str:
    """Return the run of the account that a person names; empty for a session that has begun no run in it."""
    run = _open_run(chain)
    if len(name) >= LEAST and run and (run.startswith(name) or (_is_of(run, session) and session.startswith(name))):
        return run
    first = run_id(session, 0)
    if len(name) >= LEAST and session and not run and (first.startswith(name) or session.startswith(name)):
        return ""
    if len(name) >= LEAST and session and run and not _is_of(run, session) and first.startswith(name):
        return ""
    ended = [candidate for candidate in runs_of(chain.rows) if candidate.startswith(name)]
    if ended:
        raise AccountError(f"run {ended[0][:SHORT]} of {path} has ended: only a run that has not can be given up.")
    open_runs = ", ".join(candidate[:SHORT] for candidate in dict.fromkeys((run, session and first)) if candidate)
    raise AccountError(f"RUN is {name!r}: {path} has {f'the run {open_runs}' if open_runs else 'no run'} to give up.")


def ledger(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    """Verify accounts and print what they hold; AccountError names the file and the row that was changed."""
    parser.add_argument(
        "folder",
        type=Path,
        nargs="+",
        help="the file of an account, a folder with ledger.jsonl in it, or that of a run",
    )
    parser.add_argument("--delta", type=float, help="of the epsilons (default: that of the budget, or 1e-6)")
    parser.add_argument("--against", help="names of parties that join what they know, such as river,hill")
    parser.add_argument("--digest", help="a digest that was noted before: the file must still hold its row")
    parser.epilog = EPILOG
    options = parser.parse_args(words)
    if options.delta is not None and not 0 <= options.delta < 1:
        raise AccountError(f"--delta is {options.delta}: it must lie in [0, 1).")
    for path in [path for folder in options.folder for path in files_in(folder)]:
        chain = (opened_extract if path.name == EXTRACT else opened_account)(path)
        print("\n".join(summary(path, chain, options.delta, options.digest, options.against)))
    return 0


def files_in(folder: Path) -> list[Path]:
    """List the accounts in a folder and the folders inside, or else the rows of single runs; a file is one."""
    accounts = (sorted(folder.rglob(FILE)) or sorted(folder.rglob(EXTRACT))) if folder.is_dir() else [folder]
    if not accounts:
        raise AccountError(f"{folder} holds no {FILE} and no {EXTRACT}: name the folder of a party, or of a run.")
    return accounts


def summary(path: Path, chain: Chain, delta: float | None, digest: str | None, against: str | None) -> Iterator[str]:
    """Yield lines about one account."""
    rows = chain.rows
    if digest is not None and digest not in (row.digest for row in rows):
        raise AccountError(
            f"{path} does not hold the row of digest {digest[:16]}...: rows were cut off at its end, or it is another "
            "account; put back a copy of the file."
        )
    stated = next((row.fields["budget"] for row in reversed(rows) if row.kind == "budget"), None)
    budget, paid = None if stated is None else AccountBudget(**stated), paid_events(rows)
    at = delta if delta is not None else DELTA if budget is None else budget.delta
    count = f"{len(rows)} rows of {len(runs_of(rows))} runs"
    yield f"{party_of(rows)}: {count}, chain whole, rows agree, digest {chain.digest} ({path})"
    if chain.torn_bytes:
        yield f"  {chain.torn_bytes} bytes at the end are of a row that was never finished: it paid for nothing."
    for run in runs_of(rows):
        yield f"  {about(run, [row for row in rows if row.run == run])}"
    group, party = None if budget is None else budget.rows_per_user, party_of(rows)
    counted: str | frozenset[str] = "declared" if budget is None else budget.against
    if against is not None:
        counted = frozenset(filter(None, map(str.strip, against.split(","))))
        if party in counted:
            raise AccountError(f"--against names {party}: it is the records of {party} that {path} is about.")
        yield f"  against {' and '.join(sorted(counted)) or 'what is published alone'}:"
    for unit, spent in spent_of(paid, at, group, party=party, against=counted).items():
        without = f", {spent.n_unproved} rows without a proof" if spent.n_unproved else f", {spent.rule}"
        yield (
            f"  spent of unit {unit}: epsilon = {upward(spent.epsilon)} at delta = {spent.delta:g}{without}; "
            f"{spent.currency} = {spent.amount:.6g}"
        )
    spending = Spending(budget, paid, party=party)
    yield f"  {spending.summary}" + ("" if budget is None else f" Left for another run: {spending.room}.")


def about(run: str, rows: Sequence[Row]) -> str:
    """Describe a run in one line."""
    kinds, mode = [row.kind for row in rows], mode_of(rows[0])
    last = next((row for row in rows if row.kind == "ended"), None)
    end = "never ended" if last is None else "ended" if last.fields["outcome"] else "broke off"
    open_seeds = ": others know its seeds, so that nothing of it is proved" * (mode == EXPERIMENT)
    return f"run {run}: {kinds.count('paid')} paid, {kinds.count('sent')} sent, {end}; mode {mode}{open_seeds}"
