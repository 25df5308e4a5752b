"""Mistakes of operators with parties, certificates, accounts and published folders: each is one sentence in time.

What only other parties can notice is in tests/deployment/test_ten_mistakes.py, and every key of the block ``network``
in tests/deployment/test_network_block.py.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from deployment_cases import Apart
from mistakes import Mistake, faults
from partywise.__main__ import main
from partywise.deployment import verbs
from partywise.deployment.wire.authority import make

PARTIES = ("north", "south", "server")
Scene = Callable[[], object]


def file(name: str, content: str = "") -> Scene:
    def write() -> None:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).unlink(missing_ok=True)
        Path(name).write_text(content)
        Path(name).chmod(0o600)

    return write


def certificates() -> None:
    make("certificates", PARTIES)


def other_key() -> None:
    shutil.copy("certificates/south.key", "certificates/north.key")


def network(**keys: Any) -> Scene:
    """Another block ``network``; ``host`` and ``port`` are those of north."""

    def change() -> None:
        config = yaml.safe_load(Path("mine.yaml").read_text())
        north = {name: keys.pop(name) for name in ("host", "port") if name in keys}
        config["network"] |= keys
        config["network"]["parties"]["north"] |= north
        Path("mine.yaml").write_text(yaml.safe_dump(config, sort_keys=False))

    return change


def call(*words: str, scene: tuple[Scene, ...] = ()) -> Callable[[], int]:
    """A verb, after something was done in the folder of the configuration."""

    def act() -> int:
        for change in scene:
            change()
        return main(words)

    return act


def party(*scene: Scene, me: str = "north", data: str = "north", more: tuple[str, ...] = ()) -> Callable[[], int]:
    words = ("network", "party", "--config", "mine.yaml", "--me", me, "--data", data, "--into", "out", *more)
    return call(*words, scene=(certificates, *scene))


SIGN = ("network", "certificates", "--config", "mine.yaml", "--sign", "north.csr")
BUDGET = {"epsilon": "1,0", "delta": 1e-5, "unit": "row"}
MISTAKES = {
    "name misspelt": Mistake(party(me="nroth"), "did you mean north?", ("--me is 'nroth'",)),
    "capital letter": Mistake(party(me="North"), "did you mean north?", ("--me is 'North'",)),
    "no certificates": Mistake(
        party(lambda: shutil.rmtree("certificates")), "with the verb network certificates", ("authority.pem",)
    ),
    "a certificate that is none": Mistake(
        party(file("certificates/north.pem", "hello")), "put the file there", ("certificates/north.pem", "certificate")
    ),
    "an empty key": Mistake(
        party(file("certificates/north.key")), "put the file there", ("certificates/north.key", "private key")
    ),
    "an authority that is none": Mistake(
        party(file("certificates/authority.pem", "hello")), "put the file there", ("certificates/authority.pem",)
    ),
    "the key of another": Mistake(party(other_key), "make or ask for them anew", ("north.pem", "north.key")),
    "a key for all to read": Mistake(
        party(lambda: Path("certificates/north.key").chmod(0o644)), "chmod 600 north.key", ("certificates/north.key",)
    ),
    "a file for a folder": Mistake(party(data="north/north.csv"), "name the folder", ("--data is north/north.csv",)),
    "a folder misspelt": Mistake(party(data="nroth"), "name the folder", ("--data is nroth", "not there")),
    "a link for a machine": Mistake(
        party(network(host="https://north.org")),
        "such as hospital.example",
        ("network.parties.north.host", "https://no"),
    ),
    "a port in the host": Mistake(
        party(network(host="north.org:47110")), "its port under port", ("network.parties.north.host", "north.org:47110")
    ),
    "a port with a letter": Mistake(
        party(network(port="47a")), "a whole number", ("network.parties.north.port", "'47a'")
    ),
    "a port too large": Mistake(party(network(port=70000)), "[1, 65535]", ("network.parties.north.port", "70000")),
    "a time in words": Mistake(party(network(patience="1 min")), "must be a number", ("network.patience", "'1 min'")),
    "a budget with a comma": Mistake(
        party(network(budget=BUDGET, mode="release")), "with a decimal point", ("network.budget.epsilon", "'1,0'")
    ),
    "a mode with a capital": Mistake(
        party(network(mode="Release")), "did you mean release?", ("network.mode", "'Release'")
    ),
    "a verb of before": Mistake(call("party", "--me", "north"), "type ./run network party", ("'party'",)),
    "rows of another year": Mistake(
        party(network(rows={"north": 81, "south": 60}), more=("--dry-run",)),
        "bring the file that was meant",
        ("north.csv has 80 records", "81"),
    ),
    "no site": Mistake(party(more=("--site", "nowhere.yaml")), "name the site.yaml", ("--site is nowhere.yaml",)),
    "site misspelt": Mistake(
        party(file("site.yaml", "data: north\nmodes: [release]\nmethds: {}\n"), more=("--site", "site.yaml")),
        "did you mean methods?",
        ("site.yaml", "methds"),
    ),
    "a request that is not there": Mistake(
        call(*SIGN, scene=(certificates,)), "name NAME.csr", ("--sign is north.csr",)
    ),
    "a request that is none": Mistake(
        call(*SIGN, scene=(certificates, file("north.csr", "hello"))), "ask for it again", ("north.csr",)
    ),
    "certificates twice": Mistake(
        call("network", "certificates", "--config", "mine.yaml", scene=(certificates,)),
        "name a new folder, or remove",
        ("into=certificates", "authority.pem"),
    ),
    "a table as an account": Mistake(
        call("network", "ledger", "a.csv", scene=(file("a.csv", "a,b\n1,2\n"),)), "name ledger.jsonl", ("a.csv",)
    ),
    "no account": Mistake(call("network", "status", "out"), "name the folder of an account", ("out is not there",)),
    "no run": Mistake(
        call("network", "union", "out", scene=(file("out/a.txt"),)),
        "the verb network party wrote",
        ("out has no run.json",),
    ),
    "no release": Mistake(call("publish", "check-release", "release"), "name the folder", ("release is not there",)),
    "a file as a release": Mistake(
        call("publish", "check-release", "release", scene=(file("release", "x"),)),
        "name the folder",
        ("release is a file",),
    ),
    "the server registers": Mistake(
        call("publish", "register", "--config", "mine.yaml", "--me", "server"),
        "data holders register, north, south",
        ("--me is 'server'",),
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_answered_with_key_value_and_remedy(name, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(verbs, "tell_others", lambda *_: None)
    monkeypatch.chdir(tmp_path)
    case = Apart("sliced_inverse_regression")
    case.write(tmp_path)
    Path("mine.yaml").write_text(yaml.safe_dump(case.config, sort_keys=False))
    assert MISTAKES[name].make() in (1, 2)
    # The mode, and who has which part of the estimate, are reported first.
    lines = [line for line in capsys.readouterr().err.splitlines() if not line.startswith(("WARNING", "estimate: "))]
    assert faults("\n".join(lines), MISTAKES[name]) == []
    account = Path("north/ledger.jsonl")
    assert not account.exists() or '"paid"' not in account.read_text(), "nothing was paid"
