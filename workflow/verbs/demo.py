"""The verb ``./run demo``: real data of two studies, four processes with TLS, and the same as a simulation."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from demonstration.cases import DemonstrationCase, clients, tables
from demonstration.deployment import deal, differences, run_parties, simulation
from partywise.core.errors import DataMissing, PartyError
from partywise.core.project import exit_code
from partywise.core.verbs import new_parser
from partywise.deployment.outcomes.joint_results import JointResults, join_results
from partywise.deployment.outcomes.run_files import last_run
from partywise.deployment.verbs import certified

CASES = {"clients": clients, "tables": tables}
FOLDER = Path("results") / "demo_network"


def main(words: Sequence[str]) -> int:
    """Run both cases and print what crossed, what was paid and what is equal; 1 if anything is not, 2 without data."""
    parser = new_parser("demo")
    parser.add_argument("case", nargs="*", help=f"which of {', '.join(CASES)}; by default both")
    parser.add_argument("--resources", type=Path, default=Path("resources"), help="where data sets are, or are put")
    parser.add_argument("--folder", type=Path, default=FOLDER, help=f"where all is written (default {FOLDER})")
    arguments = parser.parse_args(words)
    if unknown := [name for name in arguments.case if name not in CASES]:
        print(f"case is {unknown[0]!r}: take {' or '.join(CASES)}.", file=sys.stderr)
        return 2
    try:
        results = [
            print_case(CASES[name](arguments.resources), arguments.folder / name) for name in arguments.case or CASES
        ]
    except (DataMissing, PartyError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2
    return 0 if all(results) else 1


def print_case(demonstration: DemonstrationCase, folder: Path) -> bool:
    """Run one case and print it; return whether all parties ended as the simulation does."""
    case = deal(demonstration, folder)
    print(f"== {demonstration.name}: {demonstration.description}")
    print(f"{len(case.names)} processes with TLS, each in its folder {folder}/NAME: {', '.join(case.names)}")
    processes, seconds = run_parties(case, folder)
    for name, process in processes.items():
        if process.code:
            print(f"{name} ended with {process.code}: {process.err.strip()}")
    if any(process.code for process in processes.values()):
        return False
    runs = {name: last_run(folder / name / "out") for name in case.names}
    results = join_results(list(runs.values()))
    print("\n".join([*traffic(results), *(payment(name, process.out) for name, process in processes.items())]))
    print(f"{certified(results)}; from start to end {seconds:.1f} s")
    print(f"accounts: what each party sent was paid, received and {results.heads}")
    channel, digests = simulation(case, folder)
    salts = {name: json.loads((run / "outcome.json").read_text(encoding="utf-8"))["salt"] for name, run in runs.items()}
    other = list(differences(results, channel, digests, salts))
    verdict = f"NOT equal: {', '.join(other)}" if other else "equal: transcript, ledger, and what each party holds"
    exact = f"ledger {channel.ledger.digest[:12]}, to the last bit, as on one kind of CPU"
    print(f"the simulation of all files: {verdict} ({exact})")
    return not other


def traffic(results: JointResults) -> list[str]:
    """Messages and bytes from whom to whom."""
    counts, sizes = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for message in results.channel.messages:
        counts[message.sender, message.receiver] += 1
        sizes[message.sender, message.receiver] += message.bytes
    return [f"{sender} -> {receiver}: {counts[sender, receiver]} messages, {size:,} bytes"
            for (sender, receiver), size in sizes.items()]  # fmt: skip


def payment(name: str, out: str) -> str:
    """Return the line of a party's last screen on what it paid."""
    return f"{name} " + next(line for line in out.splitlines() if line.startswith("paid:"))


if __name__ == "__main__":
    sys.exit(exit_code(lambda: main(sys.argv[1:])))
