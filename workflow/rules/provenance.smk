"""Which results are current: what lies there, by its provenance records, against what the jobs would make now.

Inputs: the plans and the code of common.smk, the provenance records in <results>/provenance/.
Steps: a fingerprint of all inputs of each job and of the jobs before it; what has another one joins the jobs that the call forces.
Outputs: functions for params of the rules in study.smk.
"""

import hashlib
import json
import os
from collections import namedtuple
from types import SimpleNamespace

from partywise.data.fetch import contents, is_pinned
from partywise.experiment.results.provenance_record import (
    fingerprint_of,
    is_current,
    sha256,
)
from partywise.experiment.results.sources import SCRIPT

# A job that leaves a provenance record: its rule, its study, and its block or figure.
Job = namedtuple("Job", "rule study name", defaults=[""])


# The wildcard beside the study in the paths of a rule.
NAMED = {"generate": "data", "fit": "block", "figure": "figure"}


def job_of(rule_name, wildcards):
    """The job of a rule."""
    return Job(rule_name, wildcards.study, wildcards.get(NAMED.get(rule_name), ""))


def jobs_before(job):
    """The jobs whose outputs decide what a job makes, in the order of its inputs.

    Of a fit there is none: what decides its data is part of its own inputs, whoever else reads their file.
    """
    if "figure" == job.rule:
        return [Job("collect", job.study)]
    names = BLOCKS[job.study] if job.rule == "collect" else ()
    return [Job("fit", job.study, name) for name in names]


def data_jobs(job):
    """The job that draws the data of a fit; none where its parties ran apart."""
    of = BLOCKS[job.study][job.name]
    return [] if runs_of(job.study, of) else [Job("generate", job.study, of.data)]


def wildcards_of(job):
    """The wildcards of a job."""
    name = {NAMED[job.rule]: job.name} if job.name else {}
    return SimpleNamespace(study=job.study, **name)


def rule_of(job):
    """The rule of a job, since a figure is an image or a table."""
    if "figure" != job.rule:
        return getattr(rules, job.rule)
    output = PLANS[job.study].study.figures[job.name].output
    return rules.table if output == "table" else rules.figure


def outputs_of(job):
    """The provenance record of a job, and its other outputs."""
    names, output = vars(wildcards_of(job)), rule_of(job).output
    record = str(output.provenance).format(**names)
    paths = [str(pattern).format(**names) for pattern in output]
    return record, [path for path in paths if path != record]


@cache
def digest(path):
    """SHA-256 of a file, read once."""
    return sha256(path)


def own_digests(wildcards):
    """SHA-256 of every own file that a block reads."""
    return {path: digest(path) for path in own_files(wildcards)}


def block_digests(wildcards):
    """SHA-256 of every file from outside behind a block; of a data set that is to be fetched, its pins."""
    digests = own_digests(wildcards)
    for name in datasets(wildcards):
        members = contents(name, f"resources/{name}")
        digests |= {f"resources/{name}/{file}": sha for file, sha in members.items()}
    return digests


def worker(rule_name):
    """SHA-256 of the script of a rule, and of the packages pinned for it."""
    script, packages = f"scripts/{rule_name}.py", f"envs/{rule_name}.yaml"
    return [digest(ROOT / script), digest(ROOT / packages)]


def inputs_digest(rule_name, *parts):
    """SHA-256 of all inputs of a job, as plain data: its script, the packages pinned for it, and the parts."""
    return hashlib.sha256(json.dumps([worker(rule_name), *parts]).encode()).hexdigest()


def generate_inputs_digest(wildcards):
    """What decides what data hold."""
    parts = data_sources(wildcards)[1], drawn_part(wildcards)
    return inputs_digest(
        "generate", *parts, drawn_replicates(wildcards), block_digests(wildcards)
    )


def fit_inputs_digest(wildcards):
    """What decides what a block holds, its data included."""
    parts = fit_sources(wildcards)[1], block_part(wildcards), block_shares(wildcards)
    return inputs_digest("fit", worker("generate"), *parts, block_digests(wildcards))


def collect_inputs_digest(wildcards):
    """What decides what a cube holds, beside its blocks."""
    return inputs_digest("collect", cube_code(wildcards), whole_plan(wildcards))


def figure_inputs_digest(wildcards):
    """What decides what a figure shows, beside its cube."""
    return inputs_digest(
        "figure", figure_sources(wildcards)[1], figure_address(wildcards)
    )


@cache
def fingerprint_now(job):
    """Fingerprint of a job as it would run now."""
    tell = {
        "generate": generate_inputs_digest,
        "fit": fit_inputs_digest,
        "collect": collect_inputs_digest,
        "figure": figure_inputs_digest,
    }[job.rule]
    return fingerprint_of(
        tell(wildcards_of(job)), map(fingerprint_now, jobs_before(job))
    )


def fingerprint_of_rule(rule_name):
    """Fingerprint that a job of a rule is planned with."""

    def of_job(wildcards):
        return fingerprint_now(job_of(rule_name, wildcards))

    return of_job


def fingerprint_of_data(wildcards):
    """Fingerprint of the job that draws the data of a block."""
    return "".join(map(fingerprint_now, data_jobs(job_of("fit", wildcards))))


def sources_of_rule(rule_name, sources_behind):
    """SHA-256 of the script and of every source that a job of a rule may load."""

    def of_job(wildcards):
        script = digest(ROOT / "scripts" / f"{rule_name}.py")
        return {SCRIPT: script} | sources_behind(wildcards)[0]

    return of_job


def is_asked(job):
    """Whether the call asks for a job, by its rule or its files."""
    record, outputs = outputs_of(job)
    words = {rule_of(job).rule.name, record, *outputs}
    return not words.isdisjoint(map(str, workflow.dag_settings.forcerun))


@cache
def is_forced(job):
    """Whether the call asks for a job, what is there is not what it would make now, or so it is with one before it.

    Data or a block that is not there is none of these: its cube needs it no more once that is there.
    """
    record, outputs = outputs_of(job)
    there = [path for path in outputs if os.path.exists(path)]
    # How long something took is another number each time, and nothing is made of it.
    lasting = [path for path in there if not path.endswith("timings.csv")]
    return (
        is_asked(job)
        or (job.rule == "fit" and any(map(is_asked, data_jobs(job))))
        or any([is_forced(before) for before in jobs_before(job)])
        or (job.rule not in ("generate", "fit") and there != outputs)
        or not (lasting == [] or is_current(record, fingerprint_now(job), lasting))
    )


def with_state(rule_name, labels):
    """Labels of a report, with the state of an output that a run would make again."""

    def of_job(wildcards):
        state = {"state": "old"} if is_forced(job_of(rule_name, wildcards)) else {}
        return labels(wildcards) | state

    return of_job


def reads_new_data(job):
    """Whether a fit is missing whose data are there and drawn again."""
    missing = job.rule == "fit" and not all(map(os.path.exists, outputs_of(job)[1]))
    return missing and any(map(is_forced, data_jobs(job)))


def needs_no_data(job):
    """Whether a fit is there whose data are not, since more replicates are drawn into another file: it reads none."""
    return (
        job.rule == "fit"
        and not workflow.dag_settings.forceall
        and all(map(os.path.exists, outputs_of(job)[1]))
        and not all(os.path.exists(outputs_of(draw)[1][0]) for draw in data_jobs(job))
        and not is_forced(job)
    )


def force(*paths):
    """Let Snakemake run the jobs of files again, as if the call asked for them: in a dry run too, nothing is written."""
    if workflow.is_main_process:
        workflow.dag.forcefiles.update(paths)


def inputs_of(rule_name, files):
    """Files as inputs of a rule: no time counts.  Of a job that is not current they are what makes it run again."""

    def of_job(wildcards):
        job = job_of(rule_name, wildcards)
        if workflow.is_main_process and needs_no_data(job):
            return []
        if workflow.is_main_process and is_forced(job):
            force(outputs_of(job)[0])
        elif not (workflow.is_main_process and reads_new_data(job)):
            return ancient(files(wildcards))
        # Snakemake leaves out a job all of whose inputs are ancient and made anew.
        return files(wildcards)

    return of_job


def checked_pins(wildcards):
    """No inputs of a data set, which is fetched again where the catalogue pins another content than was fetched."""
    folder = f"resources/{wildcards.dataset}"
    if not is_pinned(wildcards.dataset, folder):
        force(f"{folder}/provenance.json")
    return []


def refuse_folders():
    """End before any job where a folder lies in the place of a file that a job writes."""
    for study, plan in PLANS.items() if workflow.is_main_process else ():
        cube = Job("collect", study)
        figures = [Job("figure", study, name) for name in plan.figures]
        data = [Job("generate", study, name) for name in DATA[study]]
        for job in (cube, *figures, *jobs_before(cube), *data):
            job_rule, names = rule_of(job), vars(wildcards_of(job))
            beside = [
                str(path).format(**names)
                for path in (*job_rule.log, job_rule.benchmark)
            ]
            record, outputs = outputs_of(job)
            for path in filter(os.path.isdir, (record, *outputs, *beside)):
                sys.exit(
                    f"{path} is a folder where a file of the results should be: move it away or remove it."
                )
