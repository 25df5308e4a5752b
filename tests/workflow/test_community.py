"""What a host of repositories, a catalogue and a journal read of this one: forms, flags, reviews, the paper."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
import tomllib

import yaml

from artifact.bibliography import literature
from partywise.experiment.register import table
from pipeline import ROOT

FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
# Kinds of fields that a form may have, and what each cannot do without.
FIELDS = {"markdown": {"value"}, "input": {"label"}, "textarea": {"label"}, "dropdown": {"label", "options"}}
CATALOGUE = {"mandatory-flags": {"desc", "flags"}, "software-stack-deployment": {"conda", "apptainer"}}
CATALOGUE["software-stack-deployment"] |= {"apptainer+conda", "report"}
# Sections that the Journal of Open Source Software requires, and the length in words that it allows.
SECTIONS = ["Summary", "Statement of need", "State of the field", "Software design", "Research impact statement"]
SECTIONS += ["AI usage disclosure", "Acknowledgements", "References"]
WORDS = (750, 1750)


def test_forms_are_what_the_host_reads():
    assert {path.stem for path in FORMS} == {"bug", "number", "claim", "study", "config"}
    for path in FORMS:
        form = yaml.safe_load(path.read_text(encoding="utf-8"))
        if path.stem == "config":
            assert form == {"blank_issues_enabled": True}
            continue
        assert set(form) == {"name", "description", "labels", "body"}, path.name
        asked = [field for field in form["body"] if field["type"] != "markdown"]
        assert len({field["id"] for field in asked}) == len(asked) >= 3, path.name
        for field in form["body"]:
            assert FIELDS[field["type"]] <= set(field["attributes"]), (path.name, field)
            assert all(isinstance(text, str | list) for text in field["attributes"].values()), (path.name, field)
        assert any(field.get("validations", {}).get("required") for field in asked), path.name


def test_the_catalogue_is_told_what_is_there():
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text(encoding="utf-8"))["usage"]
    assert {key: set(value) for key, value in usage.items()} == CATALOGUE
    assert (ROOT / "workflow" / "Snakefile").is_file() and (ROOT / "config" / "README.md").is_file()
    readme = (ROOT / "README.md").read_text(encoding="utf-8").lower()
    assert "snakemake" in readme and "workflow" in readme
    deployment, rules = usage["software-stack-deployment"], (ROOT / "workflow" / "rules" / "study.smk").read_text()
    environments = re.findall(r'conda:\s+"../../(envs/\w+\.yaml)"', rules)
    assert deployment["conda"] is (len(environments) == rules.count("script:"))
    assert all(yaml.safe_load((ROOT / name).read_text())["dependencies"] for name in environments)
    assert deployment["apptainer"] is deployment["apptainer+conda"] is ("container" in rules)


def test_every_configuration_of_the_folder_has_its_line():
    page = (ROOT / "config" / "README.md").read_text(encoding="utf-8")
    patterns = [re.escape(word).replace(r"\*", r"\w+") for word in re.findall(r"`([\w.*]+\.yaml)`", page)]
    names = [path.name for path in (ROOT / "config").glob("*.yaml")]
    assert [name for name in names if not any(re.fullmatch(pattern, name) for pattern in patterns)] == []


def test_the_review_of_the_repository_passes_and_each_refusal_has_a_reason():
    done = subprocess.run(
        [sys.executable, "-m", "repo_review", ".", "--format", "json"], cwd=ROOT, capture_output=True, text=True
    )
    checks = json.loads(done.stdout)["checks"]
    assert len(checks) > 20 and [name for name, check in checks.items() if check["result"] is False] == []
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    refused = tomllib.loads(text)["tool"]["repo-review"]["ignore"]
    assert [name for name in refused if not re.search(rf'"{name}",  ?# \S.{{15,}}', text)] == []


def paper() -> str:
    """The paper without its comment, on one line."""
    text = (ROOT / "docs" / "paper" / "paper.md").read_text(encoding="utf-8")
    return " ".join(re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL).split())


def test_the_paper_has_the_sections_and_the_length_of_its_journal():
    text = (ROOT / "docs" / "paper" / "paper.md").read_text(encoding="utf-8")
    assert re.findall(r"^# (.+)$", text, flags=re.MULTILINE) == SECTIONS
    head = yaml.safe_load(text.split("---\n")[1])
    assert {"title", "tags", "authors", "affiliations", "date", "bibliography"} == set(head)
    assert head["title"] == yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["title"]
    assert WORDS[0] <= len(text.split("---\n", 2)[2].split()) <= WORDS[1]
    cited = set(re.findall(r"@(\w+)", text.split("---\n", 2)[2]))
    assert cited == {f"doc00{number}" for number in range(5)} | set(literature())


def test_the_numbers_of_the_paper_are_those_of_the_register_and_of_the_measured_run():
    text, rows = paper(), table.read(ROOT / "docs" / table.NAME)
    found = table.counts(rows)
    assert f"Of {len(rows)} printed numbers and sentences of all sources, {found['reproduced']} are" in text
    assert f"{found['refuted']} claims of privacy are refuted, {found['differs']} differ and" in text
    assert f"and {found['not reproducible']} cannot be reproduced" in text
    screen = (ROOT / "docs" / "measured" / "default.screen.txt").read_text(encoding="utf-8")
    refuted, published, wrong, corrected = re.search(
        r"refuted by an attack: (\d+) of (\d+) published, (none|\d+) of (\d+) corrected", screen
    ).groups()
    assert (
        wrong == "none" and f"refute {refuted} of {published} published mechanisms and none of the {corrected}" in text
    )
    with (ROOT / "docs" / "measured" / "requirements.csv").open(encoding="utf-8", newline="") as file:
        measured = [row for row in csv.DictReader(file) if row["configuration"] == "default"]
    fits, jobs, cpu = (sum(float(row[name]) for row in measured) for name in ("fits", "jobs", "cpu_seconds"))
    assert f"{fits:,.0f} cells in {jobs:.0f} jobs and {cpu:.0f} CPU seconds" in text


def test_who_behaves_and_who_decides_is_said_once():
    folder = ROOT / ".github"
    for name in ("CODE_OF_CONDUCT.md", "GOVERNANCE.md"):
        text = (folder / name).read_text(encoding="utf-8")
        assert len(text.split()) < 350 and name in (folder / "CONTRIBUTING.md").read_text(encoding="utf-8")
        assert all((folder / target).is_file() for target in re.findall(r"\]\(([^)#]+)\)", text))


def test_the_root_holds_what_was_asked_for_and_little_else():
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    entries = {line.split("/")[0] for line in done.stdout.splitlines()}
    asked = {"Snakefile", "config.yaml", "README.md", "workflow", "scripts", "lib", "results", "envs"}
    assert asked <= entries and len(entries) <= 25, sorted(entries)
