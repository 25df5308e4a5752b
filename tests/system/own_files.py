"""Three dirty tables as a person brings them: two commands and one edited draft to the first figure of each study."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from own_dirty import FILES, answered, write
from pipeline import ROOT, environment, launch

pytestmark = pytest.mark.system
RESPONSE = {"functional_boosting": "Pegel", "sliced_inverse_regression": "Umsatz"}
STUDIES = ("functional_boosting", "label_private", "sliced_inverse_regression")
STUDIES += ("vertical_glm", "vertical_linear", "vertical_trees")


@pytest.mark.parametrize("study", STUDIES)
def test_a_draft_runs_to_its_figures(study, tmp_path):
    write(tmp_path)
    draft = Path("mine.yaml")
    words = ["check-data", *FILES, "--study", study, "--response", RESPONSE.get(study, "Verzug"), "--into", str(draft)]
    done = subprocess.run(
        [sys.executable, "-m", "partywise", *words], cwd=tmp_path, env=environment(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    path = tmp_path / draft
    path.write_text(answered(path.read_text(encoding="utf-8")), encoding="utf-8")
    ran = launch(ROOT, "--directory", str(tmp_path), "--configfile", str(path), "--cores", "2")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert list((tmp_path / "results" / "mine" / "figures" / study).glob("*.png"))
