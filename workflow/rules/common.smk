"""Shared by all rules: the checked plans of the configuration, the axes of jobs, fingerprints of code.

Inputs: the configuration in force.  Steps: plans, which check all of it; then names of blocks and files.  Outputs: PLANS and the functions that rules call.
"""

import os
import sys
from pathlib import Path

ROOT = Path(workflow.basedir)
# The library of this folder, here and in scripts, in whatever environment they run.
LIBRARY = str(ROOT / "lib")
sys.path[:0] = [str(ROOT / "workflow"), LIBRARY]
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, [LIBRARY, os.environ.get("PYTHONPATH")])
)

from captions import caption
from config_check import check_files
from fingerprint import fingerprint, script_roots
from partywise.datasets.catalogue import pin
from partywise.errors import ConfigError
from partywise.experiment.plan import plans as checked_plans
from size import check_sizes, collect_megabytes, figure_megabytes, machine_megabytes


def plans():
    """One plan for each study; a bad configuration ends here, in one sentence on standard error, before any job."""
    try:
        made = checked_plans(config)
        check_files(made, Path.cwd())
        check_sizes(made, machine_megabytes())
        return made
    except ConfigError as error:
        sys.exit(f"Configuration error: {error}")


PLANS = plans()


def blocks(total, size):
    """Blocks of at most ``size`` numbers, aligned to its multiples, as (first, last)."""
    return [(first, min(first + size, total) - 1) for first in range(0, total, size)]


def party_spans(counts, size):
    """Blocks of at most ``size`` numbers of parties: the number itself, or first-last of several."""
    counts = sorted(counts)
    parts = [counts[i : i + size] for i in range(0, len(counts), size)]
    return ["-".join(map(str, sorted({part[0], part[-1]}))) for part in parts]


def members(span):
    """All numbers of a block such as 0000-0009."""
    first, last = span.split("-")
    return list(range(int(first), int(last) + 1))


def corners(wildcards):
    """Files of all fit jobs of a study."""
    made = PLANS[wildcards.study]
    return [
        f"results/{wildcards.study}/corners/{name}/{method}/k{k}_r{r[0]:04d}-{r[1]:04d}_f{f[0]:02d}-{f[1]:02d}.npz"
        for name, case in made.cases.items()
        for method in case.methods
        for k in party_spans(case.parties, made.batch.parties_per_job)
        for r in blocks(case.replicates, made.batch.replicates_per_job)
        for f in blocks(case.folds, made.batch.folds_per_job)
    ]


def cubes():
    """Cubes of all studies."""
    return [f"results/{study}/cube.nc" for study in PLANS]


def figures():
    """Figures of all studies."""
    return [
        f"results/figures/{study}/{name}.svg"
        for study, made in PLANS.items()
        for name in made.figures
    ]


def dataset_name(wildcards):
    """The data set of a job."""
    return wildcards.dataset


def dataset_pin(wildcards):
    """What the catalogue pins for a data set: a new pin fetches it anew."""
    return pin(wildcards.dataset)


def case_name(wildcards):
    """The case of a job."""
    return wildcards.case


def method_name(wildcards):
    """The method of a job."""
    return wildcards.method


def party_counts(wildcards):
    """The numbers of parties of a job."""
    span = [int(k) for k in wildcards.parties.split("-")]
    counts = sorted(PLANS[wildcards.study].cases[wildcards.case].parties)
    return [k for k in counts if span[0] <= k <= span[-1]]


def replicate_numbers(wildcards):
    """The replicates of a job."""
    return members(wildcards.reps)


def fold_numbers(wildcards):
    """The folds of a job."""
    return members(wildcards.folds)


def resource_files(wildcards):
    """What the source of a case needs from resources/, and the user's own files that its settings name."""
    case = PLANS[wildcards.study].cases[wildcards.case]
    own = dict.fromkeys(getattr(case.settings, "files", {}).values())
    return [f"resources/{name}/provenance.json" for name in case.source.resources] + [
        *own
    ]


def case_part(wildcards):
    """What a data file may depend on."""
    return PLANS[wildcards.study].part(wildcards.case)


def method_part(wildcards):
    """What a fit may depend on."""
    return PLANS[wildcards.study].part(wildcards.case, wildcards.method)


def whole_plan(wildcards):
    """What a cube may depend on: everything but how cells are batched and which figures are drawn."""
    return PLANS[wildcards.study].whole()


def collect_memory(wildcards):
    """Memory in MB of the job that gathers all cells of a study."""
    return max(2000, collect_megabytes(PLANS[wildcards.study]))


def figure_memory(wildcards):
    """Memory in MB of a job that draws from the whole cube of a study."""
    return max(1000, figure_megabytes(PLANS[wildcards.study]))


def figure_address(wildcards):
    """The function that draws a figure."""
    return PLANS[wildcards.study].study.figures[wildcards.figure].address


def figure_caption(wildcards):
    """What a figure shows and how to read it, for the report."""
    return caption(figure_address(wildcards))


def script_modules(rule_name):
    """Library modules that the script of a rule imports."""
    return script_roots(ROOT / "scripts" / f"{rule_name}.py")


def data_roots(study, case):
    """Modules behind a data file."""
    made, chosen = PLANS[study], PLANS[study].cases[case]
    lazy = (chosen.source.generate, made.study.data)
    return {
        made.home,
        chosen.home or made.home,
        *made.study.reads,
        *script_modules("generate"),
        *(item.module for item in lazy),
    }


def fit_roots(study, case, method):
    """Modules behind the cells of a method in a case."""
    made, chosen = PLANS[study].study, PLANS[study].methods[method]
    data = PLANS[study].cases[case]
    lazy = (
        made.data,
        made.split,
        made.folds,
        made.metrics,
        made.ledger,
        made.exhibits,
        chosen.protocol.fit,
        *data.source.fits,
    )
    return {
        PLANS[study].home,
        chosen.home or PLANS[study].home,
        data.home or PLANS[study].home,
        *made.reads,
        *script_modules("fit"),
        *(item.module for item in lazy if item is not None),
    }


def data_code(wildcards):
    """Fingerprint of the code behind a data file."""
    return fingerprint(data_roots(wildcards.study, wildcards.case))


def fit_code(wildcards):
    """Fingerprint of the code behind a corner."""
    return fingerprint(fit_roots(wildcards.study, wildcards.case, wildcards.method))


def cube_code(wildcards):
    """Fingerprint of all code behind a cube."""
    study, cases = wildcards.study, PLANS[wildcards.study].cases
    roots = {PLANS[study].home, *script_modules("collect")}
    for name, case in cases.items():
        roots |= data_roots(study, name).union(
            *(fit_roots(study, name, method) for method in case.methods)
        )
    return fingerprint(roots)


def figure_code(wildcards):
    """Fingerprint of the code behind a figure."""
    return fingerprint(
        {figure_address(wildcards).partition(":")[0], *script_modules("figure")}
    )
