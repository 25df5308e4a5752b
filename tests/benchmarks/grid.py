"""The published grid of 200 fits (10 replicates x 5 party counts x 4 folds) with certified options, through Snakemake.

Prints wall and CPU seconds of the whole run on two cores, and the CPU seconds of the fits alone (the same cells run
in this process), so that the share of the workflow is seen.  Fails above two minutes of wall time.
"""

from __future__ import annotations

from _timing import ROOT

# isort: split

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

from partywise.experiment.cells import run
from partywise.experiment.data import generate
from partywise.experiment.plan import plan

LIMIT_SECONDS = 120.0
BLOCK = {
    "spec": {"delta": 1.0e-5, "unit": "features"},
    "methods": {"certified_fine": {"protocol": "boosting", "s": 0.2}},
    "cases": {
        "published": {
            "source": "simulated",
            "settings": {"n": 1000, "p": 20, "n_basis_x": 20, "n_basis_y": 20, "domain": [0.0, 100.0]},
            "grid": {
                "methods": ["certified_fine"],
                "replicates": 10,
                "parties": [2, 4, 6, 8, 10],
                "folds": 4,
                "epsilon": [float("inf")],
            },
        }
    },
    "batch": {"replicates_per_job": 10, "folds_per_job": 4},
    "figures": ["error_by_parties"],
}


def children_cpu() -> float:
    """CPU seconds of all finished child processes."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> int:
    """Run the grid twice, through the pipeline and in this process, and print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "grid.yaml"
        config.write_text(yaml.safe_dump({"root_seed": 1, "studies": {"functional_boosting": BLOCK}}))
        command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--cores", "2"]
        command += ["--configfile", str(config), "--directory", folder, "--quiet", "all"]
        begun, spent = time.perf_counter(), children_cpu()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wall, cpu = time.perf_counter() - begun, children_cpu() - spent
        made = plan("functional_boosting", BLOCK, 1)
        data = generate(made, "published", range(10), folder)
        begun_cpu = time.process_time()
        cells = [
            c for k in (2, 4, 6, 8, 10) for c in run(made, "published", "certified_fine", k, range(10), range(4), data)
        ]
        fits = time.process_time() - begun_cpu
    print(f"{len(cells)} fits through the pipeline on 2 cores: {wall:.1f} s wall, {cpu:.1f} CPU s")
    each = 1000 * fits / len(cells)
    print(f"the same cells in one process: {fits:.1f} CPU s, {each:.0f} ms each; ratio {cpu / fits:.2f}")
    print(f"limit {LIMIT_SECONDS:.0f} s wall: {'met' if wall <= LIMIT_SECONDS else 'MISSED'}")
    return int(wall > LIMIT_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
