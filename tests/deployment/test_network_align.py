"""``network align``: each party writes its own records that all have, in the order that a fit asks for."""

from __future__ import annotations

import csv
import math
import unicodedata
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest
import yaml

from deployment_cases import Apart
from memory_transport import connected
from partywise.__main__ import main
from partywise.core.errors import ConfigError
from partywise.deployment import aligning, verbs
from partywise.federation.account.reading import opened_account, paid_events
from partywise.federation.account.spending import spent_of

pytest.importorskip("nacl")

# Common to all: Bär, Jörg and Łoś; the shop writes letters and marks apart.
IDS = {
    "shop": [unicodedata.normalize("NFD", name) for name in ("Zoé", "Jörg", "Bär", "Łoś", "Ärmel")],
    "bank": ["Łoś", "Öl", "Bär", "Jörg"],
    "clinic": ["Jörg", "Łoś", "Ärmel", "Bär", "Öl", "Zoé"],
}
COMMON = ["Bär", "Jörg", "Łoś"]
COLUMNS = {"shop": "a", "bank": "b", "clinic": "h"}


def three() -> Apart:
    """Three parties with other ids each, and the places of the method."""
    case = Apart("vertical_glm")
    case.files = {
        name: {
            f"{name}.csv": (
                ("id", COLUMNS[name], *(["late"] if name == "bank" else [])),
                [[text, f"{place}.5", *(["1"] if name == "bank" else [])] for place, text in enumerate(ids)],
            )
        }
        for name, ids in IDS.items()
    }
    case.settings["tables"] = [
        {"party": name, "file": f"{name}.csv", "columns": [{"name": COLUMNS[name], "bounds": [0, 9]}]} for name in IDS
    ]
    case.grid["parties"] = [3]
    case.network["parties"] = {name: {"host": "localhost", "port": 1 + k} for k, name in enumerate(case.names)}
    return case


def aligned(case: Apart, folder: Path, patch: pytest.MonkeyPatch) -> dict[str, int]:
    """Exit codes of all parties, as threads of this process."""
    ends, codes = connected(case.names), dict[str, int]()
    patch.setattr(verbs, "connect_directly", lambda *_: lambda network, me, certificates, journal: ends[me])
    (folder / "shared.yaml").write_text(yaml.safe_dump(case.config, allow_unicode=True))

    def run(name: str) -> None:
        words = ["--me", name, "--data", str(folder / name), "--into", str(folder / "new" / name)]
        codes[name] = main(["network", "align", "--config", str(folder / "shared.yaml"), *words])

    workers = [Thread(target=run, args=(name,)) for name in case.names]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return codes


def test_each_party_writes_its_common_records_in_ascending_order_of_ids(tmp_path, monkeypatch, capsys):
    case = three()
    case.write(tmp_path)
    codes = aligned(case, tmp_path, monkeypatch)
    told = capsys.readouterr()
    assert codes == dict.fromkeys(case.names, 0), told.err
    for name, ids in IDS.items():
        with (tmp_path / "new" / name / f"{name}.csv").open(newline="", encoding="utf-8") as handle:
            rows = list(csv.DictReader(handle))
        composed = [unicodedata.normalize("NFC", text) for text in ids]
        assert [row["id"] for row in rows] == COMMON
        assert [row[COLUMNS[name]] for row in rows] == [f"{composed.index(text)}.5" for text in COMMON]
        assert f"{name}: 3 of {len(ids)} own records are common to all" in told.out
        # What the intersection opens is in the account: the row of everybody, without a limit.
        account = opened_account(tmp_path / "new" / name / "account" / "ledger.jsonl")
        assert spent_of(paid_events(account.rows), 1e-5, party=name)["row"].epsilon == math.inf
    assert not list((tmp_path / "new" / "analyst").glob("*.csv"))
    assert aligned(case, tmp_path, monkeypatch) == dict.fromkeys(case.names, 0)
    assert "this alignment has ended, nothing was sent; --again begins a new one" in capsys.readouterr().out


def test_duplicate_ids_are_counted_by_party_and_never_shown(tmp_path, monkeypatch, capsys):
    case = three()
    header, rows = case.files["bank"]["bank.csv"]
    case.files["bank"]["bank.csv"] = header, [*rows, ["Jörg", "2", "0"], ["Öl", "2", "0"]]
    case.network["patience"] = 1.0
    case.write(tmp_path)
    assert aligned(case, tmp_path, monkeypatch) == dict.fromkeys(case.names, 1)
    told = capsys.readouterr()
    assert "2 of the 6 identifiers of 'bank' are used by an earlier record already" in told.err
    assert "'bank' ended with an error of its own" in told.err
    assert not any(text in told.err + told.out for text in ("Jörg", "Öl"))
    assert not list((tmp_path / "new").rglob("*.csv"))


def test_a_site_that_gives_nothing_in_the_clear_does_not_align(tmp_path, monkeypatch, capsys):
    case = three()
    case.network["patience"] = 1.0
    case.write(tmp_path)
    site = {
        "files": [{"file": "bank.csv", "columns": ["id"]}],
        "methods": [{"study": "vertical_glm", "protocols": ["moments"]}],
        "modes": ["experiment"],
        "receivers": [{"party": name, "kinds": ["cipher"]} for name in case.names if name != "bank"],
    }
    (tmp_path / "bank" / "site.yaml").write_text(yaml.safe_dump(site))
    assert aligned(case, tmp_path, monkeypatch) == dict.fromkeys(case.names, 1)
    assert "forbids it: 'analyst' would receive a clear" in capsys.readouterr().err


def test_an_alignment_needs_split_tables_and_a_place_without_data(tmp_path, capsys):
    (tmp_path / "shared.yaml").write_text(yaml.safe_dump(Apart("sliced_inverse_regression").config))
    assert main(["network", "align", "--config", str(tmp_path / "shared.yaml"), "--me", "server"]) == 2
    assert "which has no table at each party" in capsys.readouterr().err
    with pytest.raises(ConfigError, match="has no place without data: one compares the blinded lists"):
        aligning.check_places(replace(three().deployment(), places=()))
