"""Verbs ``network status`` and ``network give-up``: runs that have not ended, what they paid, how to end them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from ...core.errors import AccountError
from ...federation.account.account import DELTA, FILE, Account
from ...federation.account.chain import Chain, Row
from ...federation.account.reading import opened_account, paid_events, party_of, runs_of
from ...federation.account.spending import AccountBudget, costs_in_words, spent_of
from ..ledger import about
from ..session.last_frames import run_id
from ..wire.journal import Journal

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
