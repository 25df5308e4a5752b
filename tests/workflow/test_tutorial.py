"""The tutorial is true: its table, its configuration and the numbers that it prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from gathered import data_of
from partywise.experiment.cells import compute
from partywise.experiment.jobs import Timings
from partywise.experiment.owner_outputs import OwnerReport
from partywise.experiment.plan import Plan
from partywise.experiment.plans import plans
from pipeline import ROOT

PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")


def fenced(language: str) -> list[str]:
    """Blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)


@pytest.fixture
def loans(tmp_path, monkeypatch) -> Plan:
    """The plan of the tutorial's configuration, in a folder with its table."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (script,) = fenced("python")
    subprocess.run([sys.executable, "-c", script], check=True)
    (text,) = fenced("yaml")
    return plans(yaml.safe_load(text))["label_private"]


def check_coefficients(home: OwnerReport) -> None:
    """The page prints the coefficients of this fit."""
    (row,) = re.findall(r"^\| estimate at ε = 1 \|(.+)\|$", PAGE, flags=re.MULTILINE)
    found = [one["coefficient"] for one in home.model["coefficients"]]
    printed = row.replace(" ", "").split("|")
    assert [f"{value:.{len(text.partition('.')[2])}f}" for value, text in zip(found, printed, strict=True)] == printed


def test_the_table_of_the_tutorial_begins_as_printed(loans, tmp_path):
    head = (tmp_path / "data" / "loans.csv").read_text().splitlines()[:3]
    assert "\n".join(head) + "\n" in fenced("text")


def test_the_configuration_of_the_tutorial_gives_the_numbers_that_it_prints(loans):
    case = loans.cases["loans"]
    targets = {label: len(case.epsilon) if loans.methods[label].uses_epsilon else 1 for label in case.methods}
    assert f"{sum(targets.values()) * case.replicates} fits in 0:" in PAGE
    for label, epsilon in (("planned_release", 1.0), ("classic_release", 16.0)):
        share = {"case": "loans", "methods": [label], "replicates": range(10), "folds": [0], "parties": [2]}
        cells = compute(loans, share, data_of(loans, Path("resources")), Timings())
        cells = [cell for cell in cells if cell.coords["epsilon"] == epsilon]
        assert len(cells) == 10
        if label == "planned_release":
            check_coefficients(cells[0].owner_report)
        losses = [cell.scalars["log_loss"] for cell in cells]
        certified = max(cell.scalars["epsilon_certified"] for cell in cells)
        (row,) = re.findall(rf"^  {label} +2 +{epsilon:g} .*$", PAGE, flags=re.MULTILINE)
        assert f" {np.mean(losses):.4g} +- {np.std(losses, ddof=1) / 10**0.5:.2g} " in row
        assert row.endswith(f" {certified:.4g}")
