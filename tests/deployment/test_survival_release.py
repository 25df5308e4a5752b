"""Survival curves and hazard ratios of three hospitals, released by processes with TLS and without a dealer."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from deployment_cases import Apart
from deployment_processes import Parties
from partywise.__main__ import main
from partywise.deployment.outcomes.run_files import last_run
from partywise.deployment.wire.authority import make
from partywise.deployment.wire.credential import Credential

STUDY, EPSILON = "federated_survival", 8.0
WAYS = [(protocol, noise) for protocol in ("table", "scores") for noise in ("shared", "local")]


class FourWays(Apart):
    """Both certified protocols with noise in shares, and with noise of each hospital."""

    @property
    def config(self) -> dict[str, Any]:
        found = super().config
        block = found["studies"][self.study]
        block["methods"] = {f"{protocol}_{noise}": {"protocol": protocol, "noise": noise} for protocol, noise in WAYS}
        block["cases"]["own"]["grid"]["methods"] = list(block["methods"])
        return found


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a session that released all four."""
    folder, case = tmp_path_factory.mktemp("released"), FourWays(STUDY)
    del case.network["method"], case.network["epsilon"]
    case.write(folder)
    make(folder / "certificates", case.names)
    texts = {name: (folder / "certificates" / f"{name}.pem").read_text() for name in case.names}
    prints = {name: Credential.fingerprint(text) for name, text in texts.items()}
    case.network |= {"mode": "release", "certificates": prints, "fits": "grid"}
    Parties(case, folder).succeeded()
    return folder


@pytest.mark.parametrize(("protocol", "noise"), WAYS)
def test_the_folder_has_curves_with_intervals_and_bands_and_is_checked_without_data(released, protocol, noise, capsys):
    """No place has data or noise but the hospitals; the certificate is the target."""
    folder = last_run(released / "out" / "server" / f"{protocol}_{noise}_epsilon{EPSILON}_fold0") / "release"
    assert (
        main(["publish", "check-release", str(folder), "--authority", str(released / "certificates" / "authority.pem")])
        == 0
    )
    capsys.readouterr()
    stated = json.loads((folder / "statement.json").read_text())
    assert stated["epsilon"]["row"] == pytest.approx(EPSILON, rel=1e-9) and stated["delta"] == 1e-4
    assert stated["n_protected"] == 190
    assert stated["intervals"]["kind"] == "over records and noise" and stated["intervals"]["numbers"] >= 10
    with (folder / "estimate.csv").open(newline="") as handle:
        rows = {row["name"]: row for row in csv.DictReader(handle)}
    points = [name for name in rows if name.startswith("all records survival at ") and not name.endswith("band")]
    assert points[-1] == "all records survival at 24"
    for name in points:
        one, band = rows[name], rows[f"{name} within the band"]
        ends = [float(row[end]) for row in (one, band) for end in ("lower", "upper")]
        assert ends[0] <= float(one["estimate"]) <= ends[1] and float(one["noise_sd"]) > 0
        assert 0 <= ends[2] <= float(band["estimate"]) <= ends[3] <= 1
    ratios = {name: row for name, row in rows.items() if name in ("age", "treated = yes")}
    assert len(ratios) == (2 if protocol == "scores" else 0)
    # The noise is secret and another one in every run: some draws leave no intervals, and the row says why.
    for row in ratios.values():
        ends = (row["lower"], row["estimate"], row["upper"])
        assert row["note"] if "" in ends else float(ends[0]) < float(ends[1]) < float(ends[2])
    # Comparisons with a pooled fit are the evaluator's.
    assert not any(word in json.dumps(stated) for word in ("km_error", "clip_share", "stopped_share", "records_read"))
