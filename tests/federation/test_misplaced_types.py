"""A program with a value of a wrong type is refused by the type checker, before any run."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap

import pytest

PROGRAM = """
from __future__ import annotations

from collections.abc import Sequence

from partywise.federation.cipher import Cipher
from partywise.federation.parties import Party
from partywise.federation.places import per_place
from partywise.federation.run import Run
from partywise.privacy.accounted_values import Public


def local_size(party: Party, factor: float) -> Public:
    return Public(factor * len(party.name), because="names are public")


def local_bare(party: Party, factor: float) -> float:
    return factor * len(party.name)


def local_two(party: Party, factor: float) -> tuple[Public, Cipher]:
    return local_size(party, factor), Cipher(factor, key_holder="server")


def server_size(factor: float) -> Public:
    return Public(factor, because="a setting")


def server_mean(sizes: Sequence[float], weights: Sequence[int]) -> float:
    return sum(sizes) / sum(weights)


def fit(run: Run) -> float:
    clients, client = run.parties, run.parties[0]
    plan = run.everywhere(float, "2")
    scale = run.each(clients, local_bare, plan)
    sizes = run.gather(clients, "server", "size", local_size, scale)
    both = run.gather(clients, "server", ("size", "cipher"), local_two, scale)
    run.send(client, "server", "size", local_size, 1.0)
    run.broadcast("server", clients, "size", server_size, plan)
    run.broadcast("server", clients, "ready", Public(True, because="it is always sent"))
    run.at(client, local_bare, per_place({client.name: 1.0}))
    return run.at("server", server_mean, sizes, [1] * len(both))


def mistakes(run: Run) -> None:
    clients, client, scale = run.parties, run.parties[0], run.each(run.parties, local_bare, 2.0)
    given: tuple[float, str] = (1.0, "2")
"""

# What is wrong, and a line that is.
MISTAKES = {
    "a bare value leaves": 'run.send(client, "server", "size", local_bare, 1.0)',
    "a bare value is gathered": 'run.gather(clients, "server", "size", local_bare, 1.0)',
    "a bare value is broadcast": 'run.broadcast(client, clients, "size", local_bare, 1.0)',
    "a number for a payload": 'run.send(client, "server", "size", 1.0)',
    "one payload for several names": 'run.gather(clients, "server", ("a", "b"), local_size, 1.0)',
    "several payloads for one name": 'run.gather(clients, "server", "a", local_two, 1.0)',
    "an argument of a wrong type": 'run.at(client, local_size, "1")',
    "each, of a wrong type": 'run.each(clients, local_size, "1")',
    "everywhere, of a wrong type": 'run.everywhere(server_mean, [1.0], "1")',
    "own values of a wrong type": 'run.at(client, local_size, per_place({client.name: "1"}))',
    "swapped arguments": 'run.at("server", server_mean, scale, [1])',
    "an argument too few": "run.at(client, local_size)",
    "an argument too many": "run.at(client, local_size, 1.0, 2.0)",
    "arguments too many, in a tuple": "run.at(client, local_size, *given)",
    "a party for a name": "run.at(client, server_mean, [1.0], [1])",
    "a name for a party": "run.at(client.name, local_size, 1.0)",
    "a list of names for parties": 'run.gather(run.names, "server", "size", local_size, 1.0)',
    "a result of a wrong type": "sizes: str = run.at(client, local_bare, 1.0)",
    "an attribute of what each has": "scale.values",
    "a place of no kind": "run.at(1, local_size, 1.0)",
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory) -> dict[int, str]:
    """What the checker says of each line: numpy's own files are not read, which would take most of its time."""
    folder = tmp_path_factory.mktemp("types")
    (folder / "program.py").write_text(PROGRAM + textwrap.indent("\n".join(MISTAKES.values()), "    ") + "\n")
    skipped = "".join(f"[mypy-{name}.*]\nfollow_imports = skip\n" for name in ("numpy", "scipy"))
    (folder / "mypy.ini").write_text(f"[mypy]\nmypy_path = lib\n{skipped}")
    given = ["--config-file", folder / "mypy.ini", "--cache-dir", folder / "cache", "--follow-imports", "silent"]
    # In a process of its own: a type checker keeps 150 MB.
    command = [sys.executable, "-m", "mypy", *given, folder / "program.py"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert not done.stderr
    found: dict[int, str] = {}
    for number, message in re.findall(r"program\.py:(\d+): error: (.*)", done.stdout):
        found[int(number)] = found.get(int(number), "") + message
    return found


def test_a_program_without_a_mistake_is_accepted(reports):
    lines = PROGRAM.count("\n")
    assert {number: text for number, text in reports.items() if number <= lines} == {}


def test_every_misplaced_type_is_reported_before_a_run(reports):
    start = PROGRAM.count("\n") + 1
    missed = [name for place, name in enumerate(MISTAKES) if start + place not in reports]
    assert missed == []
