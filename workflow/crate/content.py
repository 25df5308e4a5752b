"""Content of the crate of a finished run, by its provenance records: no output that shows single records of own data;
in a distributed run, only what the parties published."""

from __future__ import annotations

import json
import os
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import yaml
from netCDF4 import Dataset

from partywise import __version__
from partywise.experiment.batches import blocks, data_blocks
from partywise.experiment.plan import Plan
from partywise.experiment.plans import read_configuration
from partywise.experiment.results.folder import KEPT
from partywise.experiment.results.provenance_record import read_record, sha256
from place import ROOT

from .croissant import croissant
from .entities import Item, author
from .metadata import Apart, Crate, Job

# What a run reads of the project beside the library.
PARTS = ("Snakefile", "workflow/rules/*.smk", "scripts/*.py", "envs/*.yaml", "locks/requirements.lock", "CITATION.cff")
# Outputs of rule collect; the second part shows single records.
ABOUT = {
    "cube.nc": "All numbers of all fits, each with its meaning and unit",
    "tidy.csv": "One row for each fit; croissant.json beside it tells its columns",
    "dictionary.csv": "What every column of the tables means",
    "ledger.csv": "Each release with its mechanism, sensitivity and cost",
    "ledger_totals.csv": "What the releases of a replicate cost together",
    "wire.md": "What crossed between whom",
    "summary.csv": "Means with standard errors",
    "summary.txt": "Means with standard errors, to be read",
    "screen.txt": "The lines that a run ends with",
    "findings.json": "What the screen shows of a study",
    "timings.csv": "Processor time and memory of the fits",
    "tables.html": "All tables as a page",
}
OF_RECORDS = {"predictions.csv": "What was predicted for each record", "models.json": "The fitted models"}
VALUES = ("git_commit", "code_sha256", "config_sha256", "lock_sha256", "software_versions")
READ_ME = """# The run {name} of partywise {version}

`ro-crate-metadata.json` says what every file is, what made it, and when (Workflow Run RO-Crate).
Tables and figures are in `{folder}`; `dictionary.csv` and `croissant.json` beside each `tidy.csv` tell its columns.

With the folder `results` in a clone of partywise, at the revision and lock that the metadata name,
`./run --configfile {configuration}` finds what is here as it is, and makes what is missing where its data are.
"""
# Of what a Snakemake of this folder ran, its own record.
SNAKEMAKE = Path(".snakemake/metadata")


def crate_of(
    folder: Path,
    plans: Mapping[str, Plan],
    file: Path | None,
    release: Mapping[str, bytes],
    records: bool,
    agent: str,
    licence: str,
) -> Crate:
    """Return the content and the metadata of the crate of current results.

    folder, plans, file : of the results, as a path from the folder of the run; plans of their configuration, its file
    release : a published folder that was checked, name -> content
    records : whether to include outputs that show single records of own data
    agent, licence : who ran it, and the address of the terms of the crate
    """
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["authors"]
    authors = [{"@id": f"#author/{k}"} | author(person) for k, person in enumerate(cited, 1)]
    paths = [path for part in PARTS for path in sorted(ROOT.glob(part))]
    items = [Item(path.relative_to(ROOT).as_posix(), path, "Part of the workflow") for path in paths]
    jobs, folders, values, has_own_data = list[Job](), dict[str, tuple[str, str]](), dict[str, str](), False
    configuration, day, stripped = f"{folder}/configuration.yaml", "", dict[str, Sequence[str]]()
    for study, plan in plans.items():
        top = folder / study
        with Dataset(top / "cube.nc") as cube:
            folders[f"{top}/"] = cube.getncattr("title"), cube.getncattr("summary")
            values |= {f"{study}/{name}": cube.getncattr(name) for name in VALUES}
            private = records_shown(plan)
            jobs += (of_study := list(_jobs(folder, study, plan, set() if records else private)))
            stripped |= {job.makes[-1]: job.makes for job in of_study if private and not records}
            day, has_own_data = max(job.end for job in jobs), has_own_data or bool(private)
            table = croissant(top, cube, day, licence, authors)
        items.append(Item(f"{top}/croissant.json", table, "Croissant metadata of tidy.csv"))
    outputs = dict.fromkeys(path for job in jobs for path in job.makes)
    items += [_item(folder, Path(path), stripped.get(path)) for path in outputs]
    again = yaml.safe_dump(_configuration(folder.name, plans), sort_keys=False).encode()
    items.append(Item(configuration, again, "All settings in force, which make the run again", "configuration"))
    report = folder / "report.html"
    # One of own data may have been asked for with records.
    if (
        not has_own_data
        and report.exists()
        and report.stat().st_mtime >= max(Path(path).stat().st_mtime for path in outputs)
    ):
        items.append(Item(str(report), report, "The report, one page"))
    items += [Item(f"release/{name}", content, "Published result of a run apart") for name, content in release.items()]
    read_me = READ_ME.format(name=folder.name, folder=folder, configuration=configuration, version=__version__)
    items.append(Item("README.md", read_me.encode(), "What the crate is, and how its run is made again"))
    return Crate(
        name=f"partywise {folder.name}",
        description="; ".join(summary for _, summary in folders.values()),
        day=day,
        licence=licence,
        authors=authors,
        agent=agent,
        items=items,
        folders=folders,
        values=values,
        configuration=configuration,
        seed=next(iter(plans.values())).root_seed,
        jobs=jobs,
        apart=list(_apart(folder, plans, file, release)) if (folder / KEPT).is_dir() and file else [],
    )


def _configuration(name: str, plans: Mapping[str, Plan]) -> dict[str, object]:
    """Return the configuration in force as one file, without the addresses of a distributed run."""
    studies = {study: {**plan.block, "figures": list(plan.figures)} for study, plan in plans.items()}
    return {"name": name, "root_seed": next(iter(plans.values())).root_seed, "studies": studies}


def records_shown(plan: Plan) -> set[str]:
    """Names of outputs that show single records of own data: a cube does where a figure draws them from it."""
    if all(case.source.owner_outputs is None for case in plan.cases.values()):
        return set()
    drawn = {name for name, figure in plan.study.figures.items() if figure.records}
    return {*OF_RECORDS, *drawn, *(["cube.nc"] if drawn else [])}


def _item(folder: Path, path: Path, packed: Sequence[str] | None = None) -> Item:
    """An output, or the record of a job; of own data with digests of what is ``packed`` alone.

    A fingerprint is a digest of own files and of public facts: a reader who guesses a file could confirm the guess.
    """
    if path.is_relative_to(folder / "provenance"):
        if packed is not None and (record := read_record(path)):
            names = {Path(member).name for member in packed}
            left = {"outputs": {name: digest for name, digest in record.outputs.items() if name in names}}
            return Item(str(path), (json.dumps(left, indent=1) + "\n").encode(), "SHA-256 of what a job wrote")
        return Item(str(path), path, "Fingerprint of all that a job read, and SHA-256 of what it wrote")
    about = (ABOUT | OF_RECORDS).get(path.name)
    figure = f"Figure {path.stem.replace('_', ' ')} of {path.parent.name}"
    return Item(str(path), path, about or figure, path.name if about else "figure")


def _jobs(folder: Path, study: str, plan: Plan, private: set[str]) -> Iterator[Job]:
    """The jobs whose records are there, each after those whose outputs it reads."""
    top, configuration = folder / study, f"{folder}/configuration.yaml"

    def job(rule: str, name: str, reads: list[str], values: list[str] | None = None) -> Iterator[Job]:
        record = Path(f"{folder / 'provenance' / study / rule / name}.json")
        if (content := read_record(record)) is None:
            return
        place = {"collect": top, "figure": folder / "figures" / study}.get(rule)
        # How long something took is another number each time, and in no record.
        wrote = [*content.outputs, *(["timings.csv"] if rule == "collect" else [])]
        outputs = [str(place / output) for output in wrote if place and not {output, Path(output).stem} & private]
        yield Job(rule, study, name, reads, [*outputs, str(record)], values or [], *_times(record))

    drawn = dict[str, list[Job]]()
    for name, cases in data_blocks(plan).items():
        files = dict.fromkeys(f"#data/{resource}" for case in cases for resource in plan.cases[case].resources)
        drawn[name] = list(job("generate", name, [configuration, *files]))
    fits = list[Job]()
    for name, block in blocks(plan).items():
        fits += job("fit", name, [configuration, *(draw.makes[-1] for draw in drawn[block.data])])
    (cube,) = job("collect", "", [fit.makes[-1] for fit in fits], [f"{study}/{name}" for name in VALUES])
    whole = f"{top}/cube.nc"
    yield from (draw for draws in drawn.values() for draw in draws)
    yield from fits
    yield cube
    for name in plan.figures:
        yield from job("figure", name, [whole if whole in cube.makes else cube.makes[-1]])


def _times(record: Path) -> tuple[str, str]:
    """Start and end of a job, by Snakemake; of results from elsewhere the time of its record, and no start."""
    written = record.stat().st_mtime
    most = (os.pathconf(SNAKEMAKE, "PC_NAME_MAX") if SNAKEMAKE.is_dir() else 0) or 255
    name = urlsafe_b64encode(str(record).encode()).decode()
    *before, last = (name[k : k + most - 1] for k in range(0, len(name), most - 1))
    try:
        timing = json.loads(SNAKEMAKE.joinpath(*(f"@{part}" for part in before), last).read_text(encoding="utf-8"))
        if timing["starttime"] - 1 <= written <= timing["endtime"] + 1:
            return _stamp(timing["starttime"]), _stamp(timing["endtime"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return "", _stamp(written)


def _stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _apart(folder: Path, plans: Mapping[str, Plan], file: Path, release: Mapping[str, bytes]) -> Iterator[Apart]:
    """Yield the distributed runs that are fits here, with the guarantee that their accounts prove."""
    from partywise.deployment.deployments import deployments_of
    from partywise.deployment.outcomes.joint_results import join_results
    from partywise.deployment.outcomes.kept_runs import kept_runs
    from partywise.deployment.outcomes.run_files import EXTRACT, read_record
    from partywise.deployment.settings import digest
    from partywise.deployment.verbs import certified

    shared = read_configuration(file)
    holders = {name for deployment in deployments_of(shared, plans) for name in deployment.holders}
    statement = json.loads(release.get("statement.json", b"{}"))
    for study, runs in kept_runs(folder, plans, digest(shared)).items():
        for run in runs:
            record = run.record
            published = sorted(release) if statement.get("run") == record.run else []
            settings = plans[study].cases[record.case].settings
            yield Apart(
                run=record.run,
                title=f"Run of parties apart: {study}, case {record.case}, method {record.method}, mode {record.mode}",
                guarantee=certified(join_results(run.folders)),
                parties=record.names,
                holders=[name for name in record.names if name in holders],
                horizontal=not getattr(settings, "same_records", True),
                accounts={read_record(where).party: sha256(where / EXTRACT) for where in run.folders},
                estimate="release/estimate.csv" if "estimate.csv" in published else "",
                published=[f"release/{name}" for name in published if name != "estimate.csv"],
            )
