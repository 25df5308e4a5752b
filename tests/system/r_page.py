"""The page on R: its blocks in R of Debian, on a run and on a folder that was published (``./run test --system``)."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess

import pytest

from pasted_page import paste
from pipeline import RESULTS, ROOT, copy_run

pytestmark = pytest.mark.system


def test_every_block_of_the_page_runs(finished, tmp_path):
    folder = tmp_path / "published"
    done = paste((ROOT / "docs" / "publish_a_result.md").read_text(encoding="utf-8"), folder)
    assert done.returncode == 0, done.stderr
    run = copy_run(finished, tmp_path / "project")
    shutil.copytree(run / RESULTS, folder / RESULTS)
    blocks = re.findall(r"```r\n(.*?)```", (ROOT / "docs" / "python.md").read_text(encoding="utf-8"), re.DOTALL)
    assert shutil.which("Rscript"), "no R: tests/system/r.sh install"
    told = subprocess.run(
        ["Rscript", "--vanilla", "-"], input="\n".join(blocks), cwd=folder, capture_output=True, text=True
    )
    assert told.returncode == 0, told.stderr
    assert (folder / "excess_in_r.pdf").read_bytes().startswith(b"%PDF")
    # What R says of the mean curve is what the table says: one excess risk, nothing claimed.
    assert re.search(r"mean curve +2 +Inf +1\.0000 +0\.00000", told.stdout), told.stdout
    with (folder / RESULTS / "functional_boosting" / "tidy.csv").open(encoding="utf-8", newline="") as file:
        claims = [float(row["epsilon_claimed"]) for row in csv.DictReader(file) if row["method"] == "predictor_fixed"]
    assert re.search(rf"local noise s = 0\.5 +{max(claims):.0f} ", told.stdout), told.stdout
    assert "sliced_inverse_regression of 720 records" in told.stdout and "north and river" in told.stdout
