"""The fingerprint of a job covers every library file that the job really uses: an edit of any of them is seen.

What a job uses is not read from import statements but from the process that ran it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import every_protocol
import fingerprint
from partywise.experiment.results.provenance_record import fingerprint_of
from partywise.experiment.study import available, load
from pipeline import ROOT, environment

DRIVER = ROOT / "tests" / "support" / "module_driver.py"
SEED = every_protocol.ROOT_SEED
TOLD = "0" * 64
# What `./run test` looks at; `./run test --system` looks at all methods of all studies.
FEW = ("functional_boosting", "vertical_linear")
KINDS = {"image": ("svg", "pdf", "png", "csv"), "table": ("html", "csv")}


@dataclass(frozen=True)
class Job:
    """One job: what it is called, the roots of its fingerprint, and what it was seen to use."""

    name: str
    roots: frozenset[str]
    loaded: tuple[str, ...]
    error: str


def small(study: str, whole: bool) -> dict[str, Any]:
    """The small configuration of a study, with one method of every protocol or all."""
    block = every_protocol.block(study)
    first = {entry["protocol"]: name for name, entry in reversed(block["methods"].items())}
    kept = [name for name in block["methods"] if whole or name in first.values()]
    block["methods"] = {name: block["methods"][name] for name in kept}
    for name, case in block["cases"].items():
        case["grid"]["methods"] = every_protocol.methods_on(name, block["methods"])
    return block


def rules(whole: bool) -> dict[str, Any]:
    """The functions of workflow/rules/common.smk, on the small configuration of every study."""
    config = {"root_seed": SEED, "studies": {study: small(study, whole) for study in (available() if whole else FEW)}}
    functions: dict[str, Any] = {"ROOT": ROOT, "workflow": SimpleNamespace(configfiles=[]), "config": config}
    functions["PLACE"] = SimpleNamespace(folder="results/none")
    before = dict(os.environ), list(sys.path)
    source = ROOT / "workflow" / "rules" / "common.smk"
    exec(compile(source.read_text(encoding="utf-8"), source, "exec"), functions)
    os.environ.clear()
    os.environ.update(before[0])
    sys.path[:] = before[1]
    return functions


def asked(folder: Path, smk: dict[str, Any]) -> list[tuple[str, set[str], dict[str, Any]]]:
    """Name, roots of the fingerprint, and the job itself: data, fits, cube and figures of every study, in order."""
    jobs = []
    for study, plan in smk["PLANS"].items():
        files: dict[str, list[str]] = {"blocks": [], "timings": [], "provenance": []}
        for case, made in plan.cases.items():
            drawn = {"data": str(folder / study / f"{case}.npz"), "provenance": str(folder / study / f"{case}.json")}
            params = {"job": plan.data_part([case]), "replicates": {case: [0]}, "resources_folder": "resources"}
            params |= {"files": {}, "sources": {}, "fingerprint": fingerprint_of(TOLD)}
            jobs.append((f"{study}/{case}", smk["data_roots"](study, [case]), job("generate", {}, drawn, params)))
            for method in made.methods:
                names = {"block": "npz", "timings": "csv", "provenance": "json"}
                out = {name: str(folder / study / f"{case}_{method}.{end}") for name, end in names.items()}
                share = {"case": case, "methods": [method], "parties": list(made.parties)}
                params = {"job": plan.part({case: [method]}), "files": {}, "sources": {}}
                params |= {"fingerprint": fingerprint_of(TOLD), "data_fingerprint": fingerprint_of(TOLD)}
                params["shares"] = [share | {"replicates": [0], "folds": [0]}]
                read = {"data": drawn["data"], "data_provenance": drawn["provenance"]}
                executor = smk["EXECUTORS"][0]
                params |= {"executor": executor, "runs": {}}
                roots = smk["fit_roots"](study, {case: [method]}, [executor])
                jobs.append((f"{study}/{case}/{method}", roots, job("fit", read, out, params)))
                for kind, name in (("blocks", "block"), ("timings", "timings"), ("provenance", "provenance")):
                    files[kind].append(out[name])
        methods = {case: made.methods for case, made in plan.cases.items()}
        collected = smk["fit_roots"](study, methods, smk["EXECUTORS"][:1])
        names = ("cube", "tidy", "predictions", "models", "dictionary", "ledger", "totals", "wire", "summary", "text")
        names += ("findings", "tables", "timings", "provenance")
        outputs = {name: str(folder / study / name) for name in names}
        whole = {"job": smk["whole_plan"](SimpleNamespace(study=study)), "code": "0" * 64, "sources": {}}
        fingerprints = [fingerprint_of(TOLD)] * len(files["blocks"])
        whole |= {"inputs_digest": TOLD, "fingerprint": fingerprint_of(TOLD, fingerprints)}
        roots = collected | set(smk["script_modules"]("collect"))
        jobs.append((f"{study}/collect", roots, job("collect", files, outputs, whole)))
        for figure, drawn in load(study).figures.items():
            files = {kind: str(folder / study / f"{figure}.{kind}") for kind in (*KINDS[drawn.output], "provenance")}
            roots = smk["figure_roots"](study, figure)
            params = {"address": drawn.address, "caption": "", "sources": {}, "inputs_digest": TOLD}
            params |= {"fingerprint": fingerprint_of(TOLD, [whole["fingerprint"]])}
            read = {name: [outputs[name]] for name in ("cube", "provenance")}
            jobs.append((f"{study}/figure {figure}", roots, job("figure", read, files, params)))
    return jobs


def job(script: str, files: dict[str, Any], outputs: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    """A job as the driver reads it."""
    return {"script": script, "input": files, "output": outputs, "params": params}


@pytest.fixture(scope="module", params=["some", pytest.param("all", marks=pytest.mark.runs)])
def done(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> list[Job]:
    """All jobs of all studies, each in a process that had loaded nothing of the library but what its closure holds."""
    smk = rules(request.param == "all")
    jobs = asked(tmp_path_factory.mktemp("jobs"), smk)
    closures = [{"study": name.partition("/")[0], "closure": [*fingerprint.closure(roots)]} for name, roots, _ in jobs]
    given = [work | closure for (_, _, work), closure in zip(jobs, closures, strict=True)]
    command, text = [sys.executable, str(DRIVER)], json.dumps(given)
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg"}
    ran = subprocess.run(command, input=text, capture_output=True, text=True, cwd=ROOT, env=environment() | threads)
    assert ran.returncode == 0, ran.stderr
    return [
        Job(name, frozenset(roots), tuple(seen["loaded"]), seen["error"])
        for (name, roots, _), seen in zip(jobs, json.loads(ran.stdout), strict=True)
    ]


def test_every_job_ran(done):
    assert [(one.name, one.error) for one in done if one.error] == []
    assert {one.name.partition("/")[0] for one in done} in (set(FEW), set(available()))


def test_the_closure_of_every_job_contains_every_module_that_it_loaded(done):
    missing = {one.name: sorted(set(one.loaded) - set(fingerprint.closure(one.roots))) for one in done}
    assert {name: modules for name, modules in missing.items() if modules} == {}


def test_an_edit_of_any_module_that_a_job_loaded_moves_its_fingerprint(done, tmp_path):
    """Every module is another file at once: what a fingerprint is made of tells of each, and it is made of all."""
    lib = tmp_path / "lib"
    shutil.copytree(fingerprint.LIB, lib, ignore=shutil.ignore_patterns("__pycache__"))
    roots = {one.roots for one in done}
    before = {one: fingerprint.sources(one, lib) for one in roots}
    for file in lib.rglob("*.py"):
        file.write_bytes(file.read_bytes() + b"# edited\n")
    fingerprint._digest.cache_clear()
    after = {one: fingerprint.sources(one, lib) for one in roots}
    fingerprint._digest.cache_clear()
    unseen = {m for job in done for m in job.loaded if before[job.roots].get(m) == after[job.roots].get(m)}
    assert sorted(unseen) == []
    for one in roots:
        moved = [before[one] | {m: digest} for m, digest in after[one].items() if digest != before[one][m]]
        assert len({fingerprint.digest_of(sources) for sources in (before[one], *moved)}) == 1 + len(moved)


def test_an_edit_of_a_template_moves_the_fingerprint_of_what_shows_tables_and_of_no_fit(done, tmp_path):
    lib = tmp_path / "lib"
    shutil.copytree(fingerprint.LIB, lib, ignore=shutil.ignore_patterns("__pycache__"))
    before = {one.name: fingerprint.fingerprint(one.roots, lib) for one in done}
    template = lib / "partywise" / "experiment" / "tables" / "table.html.jinja"
    template.write_bytes(template.read_bytes() + b"{# edited #}")
    fingerprint._digest.cache_clear()
    moved = {one.name for one in done if fingerprint.fingerprint(one.roots, lib) != before[one.name]}
    fingerprint._digest.cache_clear()
    kinds = {name.split("/")[1].split()[0] for name in moved}
    studies = {one.name.partition("/")[0] for one in done}
    assert kinds == {"collect", "figure"} and {f"{study}/collect" for study in studies} <= moved
