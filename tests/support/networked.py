"""Runs a protocol of a study over a network with TLS: parties forked from a process that never had any data.

Each party reads what is public and its own block, from a file of its own, and nothing else that a party holds; which
files it opened, has open and has mapped at the end of the program is told with what it returned. Run as a program this
is the process that parties are forked from: one line of JSON a run on its standard input.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import every_protocol
from every_protocol import planned
from forked import preload
from network_driver import addresses
from partywise.core.randomness import Streams
from partywise.deployment.outcomes.joint_results import union
from partywise.deployment.session.outcome import Outcome
from partywise.deployment.session.party import Program, run_party
from partywise.deployment.wire import authority
from partywise.deployment.wire.network import Network
from partywise.experiment.study import available
from partywise.federation.account.account import Account
from partywise.federation.account.reading import messages_of, opened_account
from partywise.federation.codec import decode, encode
from partywise.federation.parties import Party
from partywise.federation.run import Run
from pipeline import environment

PATIENCE = 60.0


class Networked:
    """Runs protocols of studies by their names; what parties read and write is below a folder."""

    def __init__(self, folder: Path, names: tuple[str, ...]) -> None:
        self.folder, self.runs = folder, 0
        authority.make(folder / "certificates", names, days=1)
        command = [sys.executable, __file__]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
        )

    def apart(
        self, study: str, case: str, method: str, run: Run, peeping: bool = False
    ) -> tuple[dict[str, Outcome], dict[str, list[str]]]:
        """What every party returned, and the files that it opened; ``run.channel`` is the union of their accounts.

        With ``peeping`` each reads what others hold as well: whoever checks the files must see it.
        """
        self.runs += 1
        folder = self.folder / f"run {self.runs}"
        folder.mkdir()
        (folder / "public.pickle").write_bytes(pickle.dumps(_public(run)))
        for party in run.parties:
            (folder / f"{party.name}.block").write_bytes(encode(dict(party.block)))
        request = {"folder": str(folder), "certificates": str(self.folder / "certificates")}
        request |= {"fit": [study, case, method], "places": addresses(run.names), "peeping": peeping}
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        assert self._process.stdout.readline() == "done\n"
        errors = [path.read_text() for path in sorted(folder.glob("*.error"))]
        assert not errors, "\n".join(errors)
        said = {name: pickle.loads((folder / f"{name}.outcome").read_bytes()) for name in run.names}
        outcomes = {name: outcome for name, (outcome, _) in said.items()}
        rows = []
        for name, outcome in outcomes.items():
            rows += messages_of(opened_account(folder / f"{name}.jsonl").rows, outcome.run)
        run.channel = union(run.names, rows, steps=outcomes[run.names[0]].steps)
        return outcomes, {name: files for name, (_, files) in said.items()}

    def close(self) -> None:
        """End the process that parties are forked from."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        assert self._process.wait(30) == 0


def _public(run: Run) -> dict[str, Any]:
    """What everybody may read of a run: all but the blocks, of which only names, shapes and types."""
    parties = [
        (one.name, one.role, {key: (array.shape, array.dtype) for key, array in one.block.items()}, one.columns)
        for one in run.parties
    ]
    extra = run.names[len(parties) :]
    return {"parties": parties, "epsilon": run.epsilon, "fold": run.fold, "spec": run.spec, "extra": extra}


def _run_of(public: Mapping[str, Any], me: str, own: Mapping[str, np.ndarray], rng_for: Streams) -> Run:
    """The run as one party has it: other blocks hold nothing but NaN or zeros."""
    parties = []
    for name, role, forms, columns in public["parties"]:
        gone = {key: np.full(shape, np.nan if dtype.kind == "f" else 0, dtype) for key, (shape, dtype) in forms.items()}
        parties.append(Party(name, role, own if name == me else gone, columns))
    rest = {name: public[name] for name in ("epsilon", "fold", "spec", "extra")}
    return Run(parties, rng_for=rng_for, **rest)


def _party(me: str, request: Mapping[str, Any]) -> tuple[Outcome, list[str]]:
    """One party's process, from its files to what it holds at the end."""
    opened: set[str] = set()
    sys.addaudithook(lambda event, given: opened.add(str(given[0])) if event == "open" else None)
    folder, (study, case, method) = Path(request["folder"]), request["fit"]
    made = planned(study)
    fit: Callable[[Any], Any] = made.methods[method].protocol.fit
    text = (folder / "public.pickle").read_bytes()
    block = folder / f"{me}.block"
    own = decode(block.read_bytes()) if block.exists() else {}
    if request["peeping"]:
        [path.read_bytes() for path in folder.glob("*.block")]
    rng_for = Streams(made.root_seed, made.study.name, case, "noise", 0)
    run = _run_of(pickle.loads(text), me, own, rng_for)

    def watched(placed: Any) -> Any:
        value = fit(placed)
        opened.update(held_open())
        return value

    places = {name: (host, port) for name, (host, port) in request["places"].items()}
    network = Network(me, places, request["certificates"])
    with Account(folder / f"{me}.jsonl", party=me) as account:
        given = {"configuration": hashlib.sha256(text).hexdigest(), "account": account, "patience": PATIENCE}
        outcome = run_party([Program(fit=watched, run=run)], me, network, **given)
    return outcome, sorted(opened)


def held_open() -> set[str]:
    """Files that this process has open or mapped into its memory."""
    found = set()
    for handle in Path("/proc/self/fd").iterdir():
        try:
            found.add(os.readlink(handle))
        except FileNotFoundError:
            continue  # that of the listing itself
    for line in Path("/proc/self/maps").read_text().splitlines():
        found.add(line.split(maxsplit=5)[5] if len(line.split(maxsplit=5)) > 5 else "")
    return found


def _forked(me: str, request: Mapping[str, Any]) -> int:
    """Start a party; its process writes what it has to say into a file, and ends."""
    child = os.fork()
    if child:
        return child
    folder = Path(request["folder"])
    try:
        (folder / f"{me}.outcome").write_bytes(pickle.dumps(_party(me, request)))
    except BaseException:
        (folder / f"{me}.error").write_text(f"{me}: {traceback.format_exc()}")
    os._exit(0)


def main() -> None:
    """Fork the parties of each run that is asked for, from a process that has imported everything and read no data."""
    preload()
    for study in available():
        planned(study)
    list(every_protocol.fits())
    for line in sys.stdin:
        request = json.loads(line)
        for child in [_forked(me, request) for me in request["places"]]:
            os.waitpid(child, 0)
        print("done", flush=True)


if __name__ == "__main__":
    main()
