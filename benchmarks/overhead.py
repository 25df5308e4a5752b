"""What the pipeline costs beside the computing: all CPU seconds of a run against those inside its fits.

5,000 fits of the main study (10 methods x 10 party counts x 10 replicates x 5 folds) at the shipped batching, from an
empty folder: planning, data, start-up of every job, collecting and figures count as overhead; the set-up of the
environment does not.
"""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "workflow"), str(ROOT / "lib")]

from pipeline import STUDY, copy_project, environment

LIMIT = 0.15
LEARNERS = ("predictor", "party")
LEVELS = (0.1, 0.2, 0.3, 0.5, 0.7)


def configuration(path: Path) -> int:
    """Write the grid to a file; the number of its fits."""
    methods = {
        f"{learner}_{k}": {"protocol": "boosting", "learner": learner, "s": s, "df": "exact", "stop": "aic"}
        for learner in LEARNERS
        for k, s in enumerate(LEVELS)
    }
    grid = {"methods": list(methods), "replicates": 10, "parties": list(range(1, 11)), "folds": 5}
    case = {"source": "simulated", "settings": {"n": 1000, "p": 20, "n_basis_x": 15, "n_basis_y": 15}}
    study = {
        "methods": methods,
        "cases": {"simulated": case | {"grid": grid | {"epsilon": [float("inf")]}}},
        "batch": {"replicates_per_job": 10, "folds_per_job": 10, "parties_per_job": 5},
    }
    path.write_text(yaml.safe_dump({"root_seed": 1, "studies": {STUDY: study}}))
    return 10 * 10 * 10 * 5


def main() -> int:
    """Run the grid and print the share; 1 when it is above the limit."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = copy_project(Path(scratch) / "project")
        fits = configuration(folder / "grid.yaml")
        command = [sys.executable, "workflow/launch.py", "--configfile", "grid.yaml"]
        subprocess.run(command, cwd=folder, env=environment(), check=True, capture_output=True)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        total = used.ru_utime + used.ru_stime
        logs = list((folder / "results" / "logs" / STUDY / "fit").rglob("*.log"))
        inside = sum(float(re.findall(r"computing: ([\d.]+) CPU s", log.read_text())[-1]) for log in logs)
    share = 1 - inside / total
    print(
        f"{fits} fits in {len(logs)} jobs: {total:.0f} CPU s in all, {inside:.0f} inside the fits, overhead {share:.1%}"
    )
    print(f"required: at most {LIMIT:.0%}")
    print("met" if share <= LIMIT else "missed")
    return int(share > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
