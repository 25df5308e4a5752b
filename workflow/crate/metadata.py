"""``ro-crate-metadata.json`` of a finished run: Provenance Run Crate 0.5 on RO-Crate 1.1, as flat JSON-LD.

Of fits whose parties ran apart there is an action for each run; where their rows lay at clients and the estimate is
published, the crate keeps the Federated Learning RO-Crate Profile 0.1 too, which is of horizontal data alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version

from partywise import __version__
from partywise.data.catalogue import RESOURCES
from place import ROOT

from .entities import Entity, Item, entity, file_entity, refer, value_entity

METADATA, WORKFLOW = "ro-crate-metadata.json", "Snakefile"
CONTEXT = ["https://w3id.org/ro/crate/1.1/context", "https://w3id.org/ro/terms/workflow-run/context"]
SPECIFICATION, WORKFLOW_CRATE = "https://w3id.org/ro/crate/1.1", "https://w3id.org/workflowhub/workflow-ro-crate/1.0"
PROFILES = {
    f"https://w3id.org/ro/wfrun/{kind}/0.5": f"{kind.title()} Run Crate"
    for kind in ("process", "workflow", "provenance")
}
PROFILES |= {WORKFLOW_CRATE: "Workflow RO-Crate"}
# A draft has no permanent link; its page names this one.
FEDERATED = "https://esciencelab.org.uk/federated-learning-ro-crate-profile/federated-learning-profile.html"
LANGUAGE, ENGINE = "https://w3id.org/workflowhub/workflow-ro-crate#snakemake", "https://snakemake.github.io"
BIOSCHEMAS = "https://bioschemas.org/profiles/"
# Of the workflow.
LICENCE = "https://spdx.org/licenses/MIT"
DONE = "http://schema.org/CompletedActionStatus"
# Rules in the order of a run, by the script that is their tool.
RULES = ("generate", "fit", "collect", "figure")


@dataclass(frozen=True)
class Job:
    """A job of the run.

    rule, study, name : of its provenance record; reads : entities that it read; makes : files in the crate
    values : names of values that it was made with; start, end : ISO 8601, empty if unknown
    """

    rule: str
    study: str
    name: str
    reads: Sequence[str]
    makes: Sequence[str]
    values: Sequence[str]
    start: str
    end: str

    @property
    def identity(self) -> str:
        """Its part of the names of actions."""
        return "/".join(part for part in (self.rule, self.study, self.name) if part)


@dataclass(frozen=True)
class Apart:
    """A run whose parties were processes of their own, which is a fit here.

    run : its id; title, guarantee : which fit, and what is certified, in words
    parties, holders : all, and those with data; horizontal : whether the rows lay at clients
    accounts : SHA-256 of the extract of the account of each party, which stays with it
    estimate : path of the published estimate; empty where none was given
    published : paths of the other files that were published with it
    """

    run: str
    title: str
    guarantee: str
    parties: Sequence[str]
    holders: Sequence[str]
    horizontal: bool
    accounts: Mapping[str, str]
    estimate: str
    published: Sequence[str]


@dataclass(frozen=True)
class Crate:
    """Content of the metadata.

    name, description, day, licence : of the crate; authors : entities; agent : who ran it, empty if not stated
    items : files; folders : of studies, path -> title and summary; values : name -> what a cube was made with
    configuration : its path; seed : root of all generators
    """

    name: str
    description: str
    day: str
    licence: str
    authors: Sequence[Entity]
    agent: str
    items: Sequence[Item]
    folders: Mapping[str, tuple[str, str]]
    values: Mapping[str, str]
    configuration: str
    seed: int
    jobs: Sequence[Job]
    apart: Sequence[Apart] = field(default=())

    @property
    def federated(self) -> bool:
        """Whether the federated-learning profile holds: rows at clients, and an output model in the crate."""
        return bool(self.apart) and all(run.horizontal and run.estimate for run in self.apart)

    @property
    def datasets(self) -> list[str]:
        """Data sets that jobs read, by the names of their entities; they are fetched, and not in the crate."""
        return list(dict.fromkeys(name for job in self.jobs for name in job.reads if name.startswith("#data/")))

    @property
    def rules(self) -> list[str]:
        """Rules of which the run had jobs."""
        return [rule for rule in RULES if any(job.rule == rule for job in self.jobs)]


def metadata(crate: Crate) -> bytes:
    """The file; the same crate gives the same bytes."""
    graph = [*_root(crate), *_workflow(crate), *_parameters(crate), *_files(crate), *_actions(crate), *_apart(crate)]
    return (json.dumps({"@context": CONTEXT, "@graph": graph}, indent=1, ensure_ascii=False) + "\n").encode()


def _root(crate: Crate) -> Iterator[Entity]:
    profiles = [*PROFILES, *([FEDERATED] if crate.federated else [])]
    about = {"conformsTo": refer([SPECIFICATION, WORKFLOW_CRATE]), "about": refer(["./"])}
    yield entity(METADATA, "CreativeWork", **about)
    names = [item.path for item in crate.items]
    yield entity(
        "./",
        "Dataset",
        name=crate.name,
        description=crate.description,
        datePublished=crate.day,
        license=refer([crate.licence]),
        author=refer(author["@id"] for author in crate.authors),
        conformsTo=refer(profiles),
        mainEntity=refer([WORKFLOW]),
        hasPart=refer([*names, *crate.folders]),
        mentions=refer(["#run", *(f"#{job.identity}" for job in crate.jobs), *(f"#{run.run}" for run in crate.apart)]),
    )
    for name, (title, summary) in crate.folders.items():
        parts = [path for path in names if path.startswith(name)]
        yield entity(name, "Dataset", name=title, description=summary, hasPart=refer(parts))
    for name in profiles:
        called = PROFILES.get(name, "Federated Learning RO-Crate Profile")
        number = name.rpartition("/")[2] if name in PROFILES else "0.1"
        yield entity(name, "CreativeWork", name=called, version=number)
    for name in dict.fromkeys([crate.licence, LICENCE]):
        yield entity(name, "CreativeWork", name=name.rpartition("/")[2], description="Terms of use")
    yield from crate.authors
    if crate.agent:
        yield entity("#agent", "Person", name=crate.agent)


def _workflow(crate: Crate) -> Iterator[Entity]:
    """The workflow with a step and a tool for each rule, its language and engine, and the library behind all."""
    item = next(item for item in crate.items if item.path == WORKFLOW)
    outputs = dict.fromkeys(item.parameter for item in crate.items if item.parameter)
    yield file_entity(
        item,
        ["File", "SoftwareSourceCode", "ComputationalWorkflow", "HowTo"],
        conformsTo=refer([f"{BIOSCHEMAS}ComputationalWorkflow/1.0-RELEASE"]),
        version=__version__,
        license=refer([LICENCE]),
        programmingLanguage=refer([LANGUAGE]),
        softwareRequirements=refer(["#partywise", ENGINE]),
        input=refer(["#configuration", "#root_seed"]),
        output=refer(f"#{name}" for name in outputs if name != "configuration"),
        hasPart=refer(_tool(rule) for rule in crate.rules),
        step=refer(f"#step/{rule}" for rule in crate.rules),
    )
    rules = (ROOT / "workflow" / "rules" / "study.smk").read_text(encoding="utf-8")
    for position, rule in enumerate(crate.rules, 1):
        match = re.search(rf'^rule {rule}:\n    """(.*)"""$', rules, re.MULTILINE)
        about = {"description": match[1] if match else None, "position": str(position)}
        yield entity(f"#step/{rule}", "HowToStep", name=rule, **about, workExample=refer([_tool(rule)]))
    yield entity(LANGUAGE, "ComputerLanguage", name="Snakemake", url=ENGINE, identifier=refer([ENGINE]))
    yield entity(ENGINE, "SoftwareApplication", name="Snakemake", url=ENGINE, softwareVersion=version("snakemake"))
    about = "The library behind all rules, which is not in the crate: its code is told by git_commit and code_sha256"
    yield entity("#partywise", "SoftwareSourceCode", name="partywise", version=__version__, description=about)


def _tool(rule: str) -> str:
    return f"scripts/{rule}.py"


def _parameters(crate: Crate) -> Iterator[Entity]:
    examples: dict[str, list[str]] = {}
    for item in crate.items:
        if item.parameter:
            examples.setdefault(item.parameter, []).append(item.path)
    kinds = dict.fromkeys(examples, "File") | {"root_seed": "Integer"}
    examples["root_seed"] = ["#root_seed/value"]
    for name, paths in examples.items():
        about = {"name": name, "additionalType": kinds[name], "workExample": refer(paths)}
        yield entity(
            f"#{name}", "FormalParameter", conformsTo=refer([f"{BIOSCHEMAS}FormalParameter/1.0-RELEASE"]), **about
        )
    seed = {"name": "root_seed", "value": crate.seed, "exampleOfWork": refer(["#root_seed"])}
    yield entity("#root_seed/value", "PropertyValue", **seed)
    yield from (value_entity(name, value) for name, value in crate.values.items())
    for name in crate.datasets:
        resource = RESOURCES[name.removeprefix("#data/")]
        about = {
            "description": f"{resource.shape}, in {resource.archive} of {resource.package} {resource.version}",
            "sha256": resource.sha256,
        }
        yield entity(name, "Dataset", name=name.removeprefix("#data/"), license=resource.licence, **about)


def _files(crate: Crate) -> Iterator[Entity]:
    tools = {_tool(rule) for rule in crate.rules}
    for item in crate.items:
        if item.path in tools:
            yield file_entity(item, ["File", "SoftwareSourceCode"], version=__version__)
        elif item.path != WORKFLOW:
            yield file_entity(item, about=refer(["./"]) if item.path == "README.md" else None)


def _actions(crate: Crate) -> Iterator[Entity]:
    """The run, its jobs, and what the engine did: which step ran which job."""
    whole = {"agent": refer(["#agent"]) if crate.agent else None, "actionStatus": DONE}
    ends, starts = [job.end for job in crate.jobs if job.end], [job.start for job in crate.jobs]
    yield entity(
        "#run",
        "CreateAction",
        name=f"Run of {crate.name}",
        description=f"{len(crate.jobs)} jobs of {len(crate.rules)} rules, resumed or not: what is current of each",
        instrument=refer([WORKFLOW]),
        object=refer([crate.configuration, "#root_seed/value", *crate.datasets]),
        result=refer(dict.fromkeys(path for job in crate.jobs for path in job.makes)),
        # Where the start of one job is unknown, so is that of the run.
        startTime=min(starts) if all(starts) else None,
        endTime=max(ends, default=None),
        **whole,
    )
    for job in crate.jobs:
        yield entity(
            f"#{job.identity}",
            "CreateAction",
            name=job.identity,
            description=f"A job of rule {job.rule}",
            instrument=refer([_tool(job.rule)]),
            object=refer([*job.reads, *(f"#{name}" for name in job.values)]),
            result=refer(job.makes),
            startTime=job.start,
            endTime=job.end,
            **whole,
        )
        yield entity(
            f"#control/{job.identity}",
            "ControlAction",
            name=f"{job.rule} as a step",
            instrument=refer([f"#step/{job.rule}"]),
            object=refer([f"#{job.identity}"]),
            actionStatus=DONE,
        )
    yield entity(
        "#engine",
        "OrganizeAction",
        name="Snakemake",
        instrument=refer([ENGINE]),
        object=refer(f"#control/{job.identity}" for job in crate.jobs),
        result=refer(["#run"]),
        **whole,
    )


def _apart(crate: Crate) -> Iterator[Entity]:
    """Yield an action of all parties for each distributed run, and the public facts about their data and accounts."""
    parties = dict.fromkeys(name for run in crate.apart for name in run.parties)
    yield from (entity(f"#party/{name}", "Organization", name=name) for name in parties)
    holders = dict.fromkeys(name for run in crate.apart for name in run.holders)
    for name in holders:
        about = {"name": f"records of {name}", "description": f"They stayed with {name} and are in no crate"}
        yield entity(f"#records/{name}", "Dataset", **about, conditionsOfAccess=f"ask {name}")
    for run in crate.apart:
        accounts = {f"#account/{run.run}/{name}": digest for name, digest in run.accounts.items()}
        for name, digest in accounts.items():
            properties = {"name": f"SHA-256 of run.jsonl of {name.rpartition('/')[2]}", "value": digest}
            yield entity(name, "PropertyValue", **properties, propertyID=CONTEXT[1].replace("/context", "#sha256"))
        yield entity(
            f"#{run.run}",
            "CreateAction",
            name=run.title,
            description=run.guarantee,
            instrument=refer(["#partywise"]),
            agent=refer(f"#party/{name}" for name in run.parties),
            object=refer([*(f"#records/{name}" for name in run.holders), crate.configuration]),
            result=refer([*([run.estimate] if run.estimate else []), *run.published, *accounts]),
            actionStatus=DONE,
        )
