"""Which jobs an edit of a claim, of its mechanism, or of a library mechanism runs again: jobs of the audit only."""

from __future__ import annotations

import pytest
from test_code_closure import asked, rules

from fingerprint import closure


@pytest.fixture(scope="module")
def jobs(tmp_path_factory) -> list[tuple[str, set[str]]]:
    """Name and modules of every job of all studies."""
    return [(name, set(closure(roots))) for name, roots, _ in asked(tmp_path_factory.mktemp("jobs"), rules(whole=True))]


def users(jobs, module: str) -> set[str]:
    return {name for name, modules in jobs if f"partywise.{module}" in modules}


def test_an_edit_of_a_claim_reruns_jobs_of_the_audit_only(jobs):
    audit = {name for name, _ in jobs if name.startswith("privacy_audit/")}
    assert users(jobs, "studies.functional_boosting.claims") == audit


@pytest.mark.parametrize(
    ("module", "case"),
    [
        ("studies.vertical_trees.leaks.ranks", "bucket_rr_public"),
        ("privacy.mechanisms.distances.adjustment", "bucket_rr_public"),
        ("studies.vertical_glm.leaks.records", "scores_u_d"),
        ("studies.vertical_glm.leaks.identifiers", "hashed_identifiers"),
        ("studies.sliced_inverse_regression.tracing", "tracing"),
        ("studies.functional_boosting.leaks", "fb_sqrt_j"),
    ],
)
def test_an_edit_of_a_mechanism_reruns_the_cases_that_use_it(jobs, module, case):
    found = users(jobs, module)
    audited = {name for name in found if name.startswith("privacy_audit/")}
    assert audited and {name.split("/")[1] for name in audited} <= {case, "collect"}
    # A mechanism may serve the protocols of a study as well; how it is attacked serves the audit alone.
    assert found == audited or module.startswith("privacy.")
