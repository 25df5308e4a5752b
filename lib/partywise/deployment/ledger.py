"""Verb ``network ledger``: whether the chain of an account is whole, what was paid, what is left of the budget."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..core.errors import AccountError

if TYPE_CHECKING:
    from ..federation.account.chain import Chain, Row

EPILOG = """exit code: 0 the chain is whole and its rows agree, 2 a row was changed or is missing, or there is none

What was sent must have been paid with the very same terms.  Rows that were cut off at the end of a file, and a file
that was written anew as a whole, are seen by nothing inside of it: the other parties of a run keep the digest in which
it ended (python -m partywise network union compares them); or note the digest that this verb prints and give it with
--digest, which must be among the digests of the rows."""


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
    from ..federation.account.account import EXTRACT
    from ..federation.account.reading import opened_account, opened_extract

    if options.delta is not None and not 0 <= options.delta < 1:
        raise AccountError(f"--delta is {options.delta}: it must lie in [0, 1).")
    for path in [path for folder in options.folder for path in files_in(folder)]:
        chain = (opened_extract if path.name == EXTRACT else opened_account)(path)
        print("\n".join(summary(path, chain, options.delta, options.digest, options.against)))
    return 0


def files_in(folder: Path) -> list[Path]:
    """List the accounts in a folder and the folders inside, or else the rows of single runs; a file is one."""
    from ..federation.account.account import EXTRACT, FILE

    accounts = (sorted(folder.rglob(FILE)) or sorted(folder.rglob(EXTRACT))) if folder.is_dir() else [folder]
    if not accounts:
        raise AccountError(f"{folder} holds no {FILE} and no {EXTRACT}: name the folder of a party, or of a run.")
    return accounts


def summary(path: Path, chain: Chain, delta: float | None, digest: str | None, against: str | None) -> Iterator[str]:
    """Yield lines about one account."""
    from ..federation.account.account import DELTA
    from ..federation.account.reading import paid_events, party_of, runs_of
    from ..federation.account.spending import AccountBudget, Spending, spent_of
    from ..privacy.rounding import upward

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
    from ..federation.account.interface import EXPERIMENT
    from ..federation.account.reading import mode_of

    kinds, mode = [row.kind for row in rows], mode_of(rows[0])
    last = next((row for row in rows if row.kind == "ended"), None)
    end = "never ended" if last is None else "ended" if last.fields["outcome"] else "broke off"
    open_seeds = ": others know its seeds, so that nothing of it is proved" * (mode == EXPERIMENT)
    return f"run {run}: {kinds.count('paid')} paid, {kinds.count('sent')} sent, {end}; mode {mode}{open_seeds}"
