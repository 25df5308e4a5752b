"""Shared by all rules: the checked plans of the configuration, the blocks of jobs, fingerprints of code.

Inputs: the configuration in force and its PLACE.  Steps: plans, which check all of it; then blocks of data, of cells and files.  Outputs: PLANS and the functions that rules call.
"""

import sys
from functools import cache
from pathlib import Path

from captions import caption, case_titles
from config_check import check_files, check_network
from fingerprint import digest_of, script_roots, sources
from partywise.core.errors import ConfigError
from partywise.experiment.batches import blocks, data_blocks
from partywise.experiment.claims import Claim
from partywise.experiment.plans import plans as checked_plans
from partywise.experiment.results.folder import KEPT
from size import (
    check_jobs,
    check_sizes,
    collect_megabytes,
    figure_megabytes,
    machine_megabytes,
)


def plans():
    """One plan for each study; a bad configuration ends here, in one sentence on standard error, before any job."""
    try:
        study_plans = checked_plans(
            config, [Path(path) for path in workflow.configfiles]
        )
        runs_by_study = runs_apart(study_plans)
        elsewhere = {
            (study, run.coords["case"])
            for study, runs in runs_by_study.items()
            for run in runs
        }
        check_files(study_plans, Path.cwd(), elsewhere)
        check_network(config, study_plans)
        check_sizes(study_plans, machine_megabytes())
        if (
            many := check_jobs(study_plans, machine_megabytes())
        ) and workflow.is_main_process:
            print(many, file=sys.stderr)
        return study_plans, runs_by_study
    except ConfigError as error:
        sys.exit(f"Configuration error: {error}")


def runs_apart(study_plans):
    """Finished runs of parties apart that are kept with the results, by study: none of their cases is fitted here."""
    if not Path(PLACE.folder, KEPT).is_dir():
        return {study: [] for study in study_plans}
    from partywise.deployment.outcomes.kept_runs import kept_runs
    from partywise.deployment.settings import digest
    from partywise.experiment.plans import read_configuration

    if len(workflow.configfiles) != 1 or workflow.config_settings.config:
        raise ConfigError(
            f"{PLACE.folder}/{KEPT} holds fits of parties that ran apart: give the one file that they shared, without "
            "another one or --config, or remove that folder."
        )
    shared = read_configuration(Path(workflow.configfiles[0]))
    return kept_runs(Path(PLACE.folder), study_plans, digest(shared))


PLANS, APART = plans()


def runs_of(study, block):
    """The runs that hold a block in place of a fit; None of a block that is fitted here."""
    cases = {share.case for share in block.shares}
    if cases.isdisjoint(run.coords["case"] for run in APART[study]):
        return None
    return [
        run
        for run in APART[study]
        if any(share.holds(run.coords) for share in block.shares)
    ]


BLOCKS = {
    study: {
        name: block
        for name, block in blocks(made).items()
        if runs_of(study, block) != []
    }
    for study, made in PLANS.items()
}
DATA = {study: data_blocks(made) for study, made in PLANS.items()}


def block_files(output):
    """Files of all fit jobs of a study: the paths are those of the rule."""

    def of_study(wildcards):
        pattern = getattr(rules.fit.output, output)
        return expand(pattern, study=wildcards.study, block=BLOCKS[wildcards.study])

    return of_study


def data_file(output):
    """File of the job that draws the data of a block: the path is that of the rule."""

    def of_block(wildcards):
        if block_runs(wildcards):
            return []
        pattern = getattr(rules.generate.output, output)
        data = block(wildcards).data
        return expand(pattern, study=wildcards.study, data=data)[0]

    return of_block


def cube_file(output):
    """File of the job that gathers a study: the path is that of the rule."""

    def of_study(wildcards):
        pattern = getattr(rules.collect.output, output)
        return expand(pattern, study=wildcards.study)

    return of_study


def cubes():
    """Cubes of all studies."""
    return [f"{PLACE.folder}/{study}/cube.nc" for study in PLANS]


# What makes the cells of a block: a simulation of all parties, or the replay of what parties apart wrote down.
EXECUTORS = (
    "partywise.experiment.cells:compute",
    "partywise.deployment.outcomes.kept_runs:compute",
)


def figures():
    """Figures of all studies."""
    return [
        f"{PLACE.folder}/figures/{study}/{name}.{made.study.figures[name].file_type}"
        for study, made in PLANS.items()
        for name in made.figures
    ]


def dataset_name(wildcards):
    """The data set of a job."""
    return wildcards.dataset


def block(wildcards):
    """The block of a job."""
    return BLOCKS[wildcards.study][wildcards.block]


def block_runs(wildcards):
    """The runs apart that a job takes in place of fits; none of a job that fits, or draws data."""
    if hasattr(wildcards, "data"):
        return []
    return runs_of(wildcards.study, block(wildcards)) or []


def block_folders(wildcards):
    """The folders of the parties of these runs by their ids, as plain data."""
    runs = block_runs(wildcards)
    return dict((run.record.run, list(map(str, run.folders))) for run in runs)


def block_executor(wildcards):
    """Address of what makes the cells of a job."""
    return EXECUTORS[bool(block_runs(wildcards))]


def block_shares(wildcards):
    """The cells of a job, case by case, as plain data."""
    return block(wildcards).plain()


def block_part(wildcards):
    """What the cells of a job may depend on."""
    return PLANS[wildcards.study].part(block(wildcards).methods)


def drawn_replicates(wildcards):
    """The replicates that a job draws, case by case."""
    return DATA[wildcards.study][wildcards.data]


def drawn_part(wildcards):
    """What the data of a job may depend on."""
    return PLANS[wildcards.study].data_part(drawn_replicates(wildcards))


def block_cases(wildcards):
    """The plans of the cases of a block of cells or of data."""
    is_data = hasattr(wildcards, "data")
    names = drawn_replicates(wildcards) if is_data else block(wildcards).methods
    return [PLANS[wildcards.study].cases[case] for case in names]


def datasets(wildcards):
    """The data sets that the sources of a block need."""
    return list(
        dict.fromkeys(
            name for case in block_cases(wildcards) for name in case.resources
        )
    )


def own_files(wildcards):
    """The user's own files that the settings of a block name; of parties that ran apart what they wrote down."""
    if runs := block_runs(wildcards):
        return [file for run in runs for file in run.files]
    settings = [case.settings for case in block_cases(wildcards)]
    return list(
        dict.fromkeys(
            file for one in settings for file in getattr(one, "files", {}).values()
        )
    )


def dataset_records(wildcards):
    """Records of the data sets of a block."""
    return [f"resources/{name}/provenance.json" for name in datasets(wildcards)]


def fit_priority(wildcards):
    """One study after the other, so that the first figures come soon; within a study the larger block first."""
    before = list(PLANS).index(wildcards.study)
    cells = [
        len(share.methods)
        * len(share.parties)
        * len(share.replicates)
        * len(share.folds)
        for share in block(wildcards).shares
    ]
    return (len(PLANS) - before) * 10**6 + min(sum(cells), 10**6 - 1)


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
    return caption(figure_address(wildcards), PLANS[wildcards.study].replicates)


def figure_cases(wildcards):
    """The cases of the study of a figure, for the report."""
    return case_titles(PLANS[wildcards.study])


def tables_labels(wildcards):
    """What the tables of a study are, and where they stand in the report: as in the configuration."""
    order = f"{list(PLANS).index(wildcards.study):03d}"
    return {"content": "tables: summary, wire, ledger, configuration", "order": order}


def shows_own_records(plan, name):
    """Whether a figure shows single records of a person's own data."""
    own = any(case.source.owner_outputs is not None for case in plan.cases.values())
    return own and plan.study.figures[name].records


def figure_labels(wildcards):
    """The same of a figure; the first one of a study that audits claims comes before all others."""
    plan = PLANS[wildcards.study]
    order = f"{tables_labels(wildcards)['order']}.{plan.figures.index(wildcards.figure):03d}"
    audits = all(isinstance(case.source, Claim) for case in plan.cases.values())
    opens = audits and wildcards.figure == plan.figures[0]
    labels = {"content": wildcards.figure, "order": "first" if opens else order}
    return labels | (
        {"records": "own"} if shows_own_records(plan, wildcards.figure) else {}
    )


def script_modules(rule_name):
    """Library modules that the script of a rule imports."""
    return script_roots(ROOT / "scripts" / f"{rule_name}.py")


def data_roots(study, names):
    """Modules behind the data of some cases."""
    plan, cases = PLANS[study], [PLANS[study].cases[name] for name in names]
    lazy = [plan.study.data, *(case.source.generate for case in cases)]
    return frozenset(
        {
            plan.module,
            *(case.module for case in cases if case.module),
            *plan.study.reads,
            *script_modules("generate"),
            *(item.module for item in lazy),
        }
    )


def fit_roots(study, methods, executors):
    """Modules behind a block of cells: its data, all its methods (case -> labels), and what makes its cells."""
    plan, parts = PLANS[study], PLANS[study].study
    chosen = [plan.methods[label] for labels in methods.values() for label in labels]
    lazy = [parts.split, parts.folds, parts.metrics, parts.ledger, parts.example_fits]
    lazy += [method.protocol.fit for method in chosen]
    lazy += [item for case in methods for item in plan.cases[case].source.fits]
    return data_roots(study, methods) | {
        *(method.module for method in chosen if method.module),
        *script_modules("fit"),
        *(address.partition(":")[0] for address in executors),
        *(item.module for item in lazy if item is not None),
    }


@cache
def sources_of(roots):
    """Sources behind a job, and the fingerprint of them; many jobs have the same roots."""
    files = sources(roots)
    return files, digest_of(files)


def data_sources(wildcards):
    """Sources behind data, and their fingerprint."""
    return sources_of(data_roots(wildcards.study, drawn_replicates(wildcards)))


def fit_sources(wildcards):
    """Sources behind a block, and their fingerprint."""
    methods, executor = block(wildcards).methods, block_executor(wildcards)
    return sources_of(fit_roots(wildcards.study, methods, [executor]))


def cube_sources(wildcards):
    """Sources behind a cube, and their fingerprint."""
    study = wildcards.study
    methods = {name: case.methods for name, case in PLANS[study].cases.items()}
    executors = sorted(
        {EXECUTORS[bool(runs_of(study, block))] for block in BLOCKS[study].values()}
    )
    roots = fit_roots(study, methods, executors)
    return sources_of(roots | frozenset(script_modules("collect")))


def cube_code(wildcards):
    """Fingerprint of all code behind a cube."""
    return cube_sources(wildcards)[1]


def figure_roots(study, figure):
    """Modules behind a figure; it reads the plan of its cube."""
    plan = PLANS[study]
    parts = (*plan.methods.values(), *plan.cases.values())
    return {
        plan.module,
        *(item.module for item in parts if item.module is not None),
        *plan.study.reads,
        plan.study.figures[figure].module,
        *script_modules("figure"),
    }


def figure_sources(wildcards):
    """Sources behind a figure, and their fingerprint."""
    return sources_of(frozenset(figure_roots(wildcards.study, wildcards.figure)))
