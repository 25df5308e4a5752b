"""Which results are current: what lies there, by its origins, against what the jobs would make now.

Inputs: the plans and the code of common.smk, the origins in <results>/origins/.
Steps: a digest of all that each job is told; a fingerprint of it and of the jobs before it; a job whose results have
another origin gets one more input, a file that is younger than they are.  Inputs of all others are ancient: no time counts.
Outputs: functions for params and inputs of the rules in study.smk.
"""

import hashlib
import json
from collections import namedtuple
from types import SimpleNamespace

from partywise.datasets.catalogue import RESOURCES
from partywise.datasets.fetch import contents, is_pinned
from partywise.experiment.results.origin import fingerprint_of, is_current, sha256
from young import set_back, there, young_file

# A job that leaves an origin: its rule, its study, and its block or figure.
Job = namedtuple("Job", "rule study name", defaults=[""])


def job_of(rule_name, wildcards):
    """The job of a rule."""
    name = wildcards.get({"fit": "block", "figure": "figure"}.get(rule_name), "")
    return Job(rule_name, wildcards.study, name)


def no_jobs(job):
    """Jobs before a block."""
    return []


def blocks_of(job):
    """Jobs before a cube, in the order of its inputs."""
    return [Job("fit", job.study, name) for name in BLOCKS[job.study]]


def cube_of(job):
    """Jobs before a figure."""
    return [Job("collect", job.study)]


BEFORE = {"fit": no_jobs, "collect": blocks_of, "figure": cube_of}


def path_of(pattern, job):
    """A file of a job, by its pattern in the rule."""
    return str(pattern).format(study=job.study, block=job.name, figure=job.name)


def rule_of(job):
    """The rule of a job, since a figure is an image or a table."""
    if job.rule != "figure":
        return getattr(rules, job.rule)
    output = PLANS[job.study].study.figures[job.name].output
    return rules.table if output == "table" else rules.figure


def outputs_of(job):
    """The origin of a job, and its other outputs."""
    patterns = rule_of(job).output
    origin = path_of(patterns.origin, job)
    paths = [path_of(pattern, job) for pattern in patterns]
    return origin, [path for path in paths if path != origin]


@cache
def worker(rule_name):
    """Who carries out a rule: its script, and the packages that are pinned for it."""
    files = ROOT / "scripts" / f"{rule_name}.py", ROOT / "envs" / f"{rule_name}.yaml"
    return [sha256(file) for file in files]


@cache
def content(path):
    """A file from outside that a block reads, by its content; a data set that is not here yet, by its pins."""
    folder = Path(path).parent
    if path == f"resources/{folder.name}/provenance.json":
        return contents(folder.name, folder)
    return sha256(path)


def told(rule_name, *parts):
    """SHA-256 of all that a job is told, as plain data."""
    text = json.dumps([worker(rule_name), *parts])
    return hashlib.sha256(text.encode()).hexdigest()


def fit_told(wildcards):
    """What decides what a block holds."""
    files = [content(path) for path in resource_files(wildcards)]
    part, shares = block_part(wildcards), block_shares(wildcards)
    return told("fit", fit_code(wildcards), part, shares, files)


def collect_told(wildcards):
    """What decides what a cube holds, beside its blocks."""
    return told("collect", cube_code(wildcards), whole_plan(wildcards))


def figure_told(wildcards):
    """What decides what a figure shows, beside its cube."""
    return told("figure", figure_code(wildcards), figure_address(wildcards))


TOLD = {"fit": fit_told, "collect": collect_told, "figure": figure_told}


@cache
def fingerprint_now(job):
    """Fingerprint of a job as it would run now."""
    names = SimpleNamespace(study=job.study, block=job.name, figure=job.name)
    return fingerprint_of(
        TOLD[job.rule](names),
        [fingerprint_now(before) for before in BEFORE[job.rule](job)],
    )


@cache
def is_stale(job):
    """Whether what is there is not what the job would make now: it or one before it lacks outputs, or has another origin.

    A block that is not there is none of these: its cube needs it no more once that is there.
    """
    origin, outputs = outputs_of(job)
    found = there(outputs)
    # How long something took is another number each time, and nothing is made of it.
    lasting = [path for path in found if not path.endswith("timings.csv")]
    return (
        (job.rule in ("collect", "figure") and found != outputs)
        or any(is_stale(before) for before in BEFORE[job.rule](job))
        or not (lasting == [] or is_current(origin, fingerprint_now(job), lasting))
    )


@cache
def is_asked(job):
    """Whether words of the call ask for a job, or for one before it."""
    settings = workflow.dag_settings
    words = map(str, settings.forcerun if settings else ())
    origin, outputs = outputs_of(job)
    return not {rule_of(job).rule.name, origin, *outputs}.isdisjoint(words) or any(
        is_asked(before) for before in BEFORE[job.rule](job)
    )


def runs(job):
    """Whether a job runs: it is stale or asked for, or a block that a cube needs and that is not there."""
    cube = Job("collect", job.study)
    needed = is_stale(cube) or is_asked(cube)
    outputs = outputs_of(job)[1]
    return is_stale(job) or is_asked(job) or (needed and there(outputs) != outputs)


def changed(rule_name):
    """For the inputs of a rule: nothing where its results are current, else the young file."""

    def of_job(wildcards):
        # A job that is started itself asks no more.
        again = workflow.is_main_process and is_stale(job_of(rule_name, wildcards))
        return [young_file()] if again else []

    return of_job


def untimed(rule_name, files):
    """Files as inputs of a rule: ancient, so that their times do not count, unless the job runs.

    Snakemake would leave that out, were all its inputs ancient and there and one of them made anew.
    """

    def of_job(wildcards):
        paths = files(wildcards)
        again = workflow.is_main_process and runs(job_of(rule_name, wildcards))
        return paths if again else ancient(paths)

    return of_job


def fetch_changed(wildcards):
    """The same as `changed` for a data set: the catalogue pins another content than was fetched."""
    folder = Path("resources") / wildcards.dataset
    again = workflow.is_main_process and not is_pinned(wildcards.dataset, folder)
    return [young_file()] if again else []


def set_back_stale():
    """Make what is stale older than the young file, before Snakemake looks at times, which it does once.

    To it a benchmark is an output.
    """
    for study, made in PLANS.items():
        cube = Job("collect", study)
        figures = [Job("figure", study, name) for name in made.figures]
        for job in (*blocks_of(cube), cube, *figures):
            if is_stale(job):
                origin, outputs = outputs_of(job)
                benchmark = path_of(rule_of(job).benchmark, job)
                set_back([origin, *outputs, benchmark])
    for name in RESOURCES:
        if not is_pinned(name, f"resources/{name}"):
            record = f"resources/{name}/provenance.json"
            set_back([record, str(rules.fetch.benchmark).format(dataset=name)])
