"""NVFlare as hospitals use it: a server and three sites as processes, a job, refusals, and a site that was killed.

Run by ``./run test --system``; the packages of ``locks/requirements-nvflare.lock`` come from the index of pip.
"""

from __future__ import annotations

import csv

import pytest

from deployment_cases import Apart
from nvflare_case import CaseProject
from nvflare_project import COMPLETED, SERVER, SITE, with_extra
from partywise.deployment.outcomes.run_files import last_run, read_record
from partywise.experiment.owner_outputs import estimate_rows
from partywise.federation.account.reading import opened_account, runs_of
from site_files import site_of, write_site

pytestmark = pytest.mark.system
REFUSES = "'south' refuses by the policy of its site."


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    return with_extra(tmp_path_factory.mktemp("environment") / "nvflare")


@pytest.fixture(scope="module")
def project(python, tmp_path_factory):
    made = CaseProject(python, tmp_path_factory.mktemp("project"), Apart("sliced_inverse_regression"))
    with made.running():
        yield made


def test_a_job_ends_as_the_simulation_with_results_at_their_sites_alone(project):
    assert project.case.names == ("north", "south", "server")
    assert project.run() == COMPLETED
    project.check_ended()
    expected = [(row.name, repr(row.estimate)) for row in estimate_rows(project.model())]
    with (last_run(project.results("server")) / "estimate.csv").open(newline="", encoding="utf-8") as handle:
        assert [(row["name"], row["estimate"]) for row in csv.DictReader(handle)] == expected
    assert not (last_run(project.results("north")) / "estimate.csv").exists()
    # What the relay has: no name of a message, and nothing of what a party holds.
    digests = [read_record(last_run(project.results(name))).outcome for name in project.case.names]
    for file in (path for path in project.kit(SERVER).rglob("*") if path.is_file()):
        content = file.read_bytes()
        assert b"slice means" not in content and not any(digest.encode() in content for digest in digests), file
    project.said("north").index("sent to server: 2 messages")


def test_a_site_that_refuses_by_its_own_file_is_named_to_the_others(project):
    write_site(project.folder / "south", site_of(project.case, "south", modes=["release"]))
    assert project.run() != COMPLETED
    assert "network.mode is 'experiment', and modes lists release" in project.said("south")
    for name in ("north", "server"):
        assert f"reports: {REFUSES}" in project.said(name).split(" job ")[-1]
        assert "modes lists" not in project.said(name)
    write_site(project.folder / "south", site_of(project.case, "south"))


def test_a_site_that_refuses_by_nvflares_policy_ends_the_job_for_all(project):
    runs = project.said("south").count(" job ")
    project.allow("south")
    assert project.run() != COMPLETED
    assert project.said("south").count(" job ") == runs, "its party was never started"
    for name in ("north", "server"):
        assert "party: NVFlare ended the job" in project.said(name).split(" job ")[-1]
    project.allow("south", f"{SITE}.PartyExecutor")


def test_a_site_without_a_policy_runs_nothing(project):
    policy = project.folder / "south" / "site.yaml"
    kept = policy.read_text()
    policy.unlink()
    assert project.run() != COMPLETED
    assert "site.yaml is missing: write there what this site consents to" in project.said("south").split(" job ")[-1]
    assert f"reports: {REFUSES}" in project.said("north").split(" job ")[-1]
    policy.write_text(kept)


def test_a_site_that_was_killed_goes_on_with_all_fits_when_the_job_is_submitted_again(python, tmp_path):
    """It dies in the second of three fits: what it had sent it makes again, and none of it is paid twice."""
    case = Apart("sliced_inverse_regression")
    case.grid["epsilon"] = [1.0, 2.0, 4.0]
    for name in ("method", "epsilon"):
        del case.network[name]
    case.network["fits"] = "grid"
    made = CaseProject(python, tmp_path, case)
    with made.running():
        made.mortal("south").write_text("1/message/3")
        assert made.run() != COMPLETED
        assert not made.mortal("south").exists() and made.account("south").with_suffix(".journal").exists()
        ended = [row.run for row in opened_account(made.account("south")).rows if row.kind == "ended"]
        assert len(ended) == 1
        assert made.run() == COMPLETED
    made.check_ended()
    assert ended[0] in runs_of(opened_account(made.account("south")).rows)
