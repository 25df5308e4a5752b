"""The size of a run: jobs to plan, and memory of the jobs that hold all cells of a study, before any job starts.

Bytes per cell were measured with tests/support/growth_driver.py, and rounded up.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from partywise.core.errors import ConfigError
from partywise.experiment.batches import most_blocks
from partywise.experiment.plan import Plan

# Python, the libraries and the buffers of a job, before its first cell.
BASE = 400
COLLECT_BYTES = 1000
# Parts of the cube on their way to the disk, and ten thousand rows of a page, however many cells there are.
COLLECT_FIXED_BYTES = 60 * 10**6
# A figure reads a few variables over the product of the six dims, 8 bytes a value, and works on copies.
FIGURE_BYTES = 80
LIMIT = Path("/sys/fs/cgroup/memory.max")
# Fit jobs of a run: what Snakemake needs to plan one, from how many on that is told, and how many there may be.
JOB_SECONDS, JOB_BYTES = 0.0015, 26_000
# What each case needs besides: 5,000 cases with a job each were planned in 21 CPU seconds.
CASE_SECONDS = 0.0027
MANY_JOBS, MOST_JOBS = 10_000, 100_000


def collect_megabytes(plan: Plan) -> int:
    """Memory of the job that gathers a study, in MB: by its cells, however large the product of its axes."""
    return BASE + (COLLECT_FIXED_BYTES + plan.n_cells * COLLECT_BYTES) // 10**6


def figure_megabytes(plan: Plan) -> int:
    """Memory of a job that draws a figure of a study, in MB."""
    return BASE + plan.n_dense * FIGURE_BYTES // 10**6


def machine_megabytes() -> int:
    """Memory of this machine, or of the part of it that this process may use, in MB."""
    installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = LIMIT.read_text(encoding="ascii").strip() if LIMIT.exists() else "max"
    return min(installed, int(limit) if limit.isdigit() else installed) // 10**6


def check_sizes(plans: Mapping[str, Plan], available: int) -> None:
    """Raise :class:`ConfigError` for the first study whose cells do not fit into the memory (MB) of the machine."""
    for name, plan in plans.items():
        for what, needed in (("gather", collect_megabytes(plan)), ("draw", figure_megabytes(plan))):
            if needed > available:
                raise ConfigError(
                    f"studies.{name} asks for {plan.n_cells:,} cells in a cube of {plan.n_dense:,} places: to {what} "
                    f"them takes {needed / 1000:,.1f} GB, and this machine has {available / 1000:,.1f} GB; take fewer "
                    "replicates, parties, folds or epsilons, or split the cases into several runs."
                )


def check_jobs(plans: Mapping[str, Plan], available: int) -> str:
    """Return the cost of planning many jobs, as a sentence or empty; :class:`ConfigError` if it is too much (MB)."""
    counts = {name: most_blocks(plan) for name, plan in plans.items()}
    total = sum(counts.values())
    if total < MANY_JOBS:
        return ""
    gigabytes = total * JOB_BYTES / 10**9
    largest = max(counts, key=lambda name: counts[name])
    cases = sum(len(plan.cases) for plan in plans.values())
    minutes = (total * JOB_SECONDS + cases * CASE_SECONDS) / 60
    cost = f"{total:,} fit jobs are about {minutes:,.1f} CPU minutes and {gigabytes:,.1f} GB to plan alone"
    remedy = f"let each compute more, by replicates_per_job, folds_per_job or the others under studies.{largest}.batch."
    if total > MOST_JOBS or gigabytes * 1000 > available:
        raise ConfigError(f"{cost}, and a run has at most {MOST_JOBS:,} that fit into memory: {remedy}")
    return f"{cost}: to plan faster, {remedy}"
