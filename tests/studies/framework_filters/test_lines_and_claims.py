"""Claims of the audit and the lines of the page that are of them: every number of the specification's table."""

from __future__ import annotations

from functools import cache
from math import inf, nan

import numpy as np
import pytest
import yaml

from audit_driver import cell, scalars
from partywise.experiment.claims import all_claims
from partywise.experiment.plan import plan
from partywise.studies.framework_filters.claims import CLAIMS, all_lines
from partywise.studies.framework_filters.judgements import judge
from pipeline import ROOT

# Of each claim, line by line: said, held, held by zero-out, and in a word what becomes of it; the specification's
# section 3.
EXPECTED = {
    "local_noise": [
        (1, 0.750977, 0.352572, "keeps"),
        (10, 10.3939, 4.5401, "refuted"),
        (1, 1.61032, 0.750977, "refuted"),
        (10, 25.4426, 10.3939, "refuted"),
    ],
    "local_rounds": [(1, 5.04843, 2.28649, "not composed")],
    "flip_noise": [(10, 8.5225e8, 2.1311e8, "refuted")],
    "float_noise": [(1, inf, inf, "refuted")],
    "fixed_clip": [(37.6225, 105.876, 37.6225, "zero-out only")],
    "fixed_weights": [(37.6225, 237.890, 78.0724, "refuted")],
    "fixed_optimiser": [(4.37718, 165.391, 56.2027, "refuted")],
    "adaptive_clip": [(4.37718, 11.3713, 5.0260, "refuted")],
    "pair_mask": [],
    "sparse_vector": [(0.1, 0.72954, nan, "not proved"), (0.1, 0.96287, nan, "not proved")],
    "percentile_filter": [(nan, inf, inf, "no claim")],
    "excluded_variables": [(nan, inf, inf, "no claim")],
    "noisy_extremes": [(nan, inf, inf, "no claim")],
    "few_bins": [(nan, inf, inf, "no claim")],
    "parameters_with_noise": [(nan, inf, inf, "no claim")],
    "noise_of_small_steps": [(nan, 15.2227, 6.48092, "no claim")],
    "record_noise": [(nan, 7.79771, 7.79771, "no claim"), (nan, 69.5560, 69.5560, "no claim")],
    "cohort_sum": [(1, 1, 1, "keeps")],
}


def test_every_line_has_its_numbers_and_its_outcome_follows_from_them():
    found: dict[str, list[tuple[float, float, float, str]]] = {claim.name: [] for claim in CLAIMS}
    for claim, line in all_lines():
        judgement = judge(claim, line, 1e-5)
        found[claim.name].append((*judgement[:3], judgement.status(claim)))
    assert set(found) == set(EXPECTED)
    for name, lines in EXPECTED.items():
        for mine, expected in zip(found[name], lines, strict=True):
            assert mine[:3] == pytest.approx(expected[:3], rel=3e-5, nan_ok=True), name
            assert mine[3] == expected[3], name


def test_claims_are_of_the_audit():
    assert len(CLAIMS) >= 17 and {claim.name for claim in CLAIMS} <= set(all_claims())
    # The third control is the first line of local noise, whose other lines do not hold.
    assert {claim.name for claim in CLAIMS if claim.control} == {"cohort_sum", "fixed_clip"}


@cache
def audited(configuration: str) -> list[tuple[str, object, tuple[float, ...]]]:
    """Claims of the study that a configuration audits: name, settings and epsilons."""
    block = yaml.safe_load((ROOT / "config" / configuration / "privacy_audit.yaml").read_text(encoding="utf-8"))
    made = plan("privacy_audit", block, 1)
    return [(case.source_name, case.settings, case.epsilon) for case in made.cases.values()]


def test_every_line_is_a_case_of_the_papers_audit_and_most_claims_have_one_in_the_default():
    cases = audited("paper")
    for claim, line in all_lines():
        wanted = claim.name, claim.settings(**line.settings)
        assert any(case[:2] == wanted and (line.epsilon or 1.0) in case[2] for case in cases), wanted
    assert {claim.name for claim in CLAIMS} <= {name for name, _, _ in cases}
    # Of these the default run says nothing: what they show is shown by others, or by the study itself.
    left = {"excluded_variables", "few_bins", "noise_of_small_steps", "pair_mask"}
    assert {claim.name for claim in CLAIMS} - {name for name, _, _ in audited("studies")} == left


@pytest.mark.parametrize(
    ("name", "settings", "epsilon", "held", "refuted"),
    [
        ("local_noise", {}, 1.0, 0.750977, False),
        ("local_noise", {"sensitivity": 1.0}, 10.0, 25.4426, True),
        ("local_rounds", {}, 1.0, 5.04843, None),
        ("flip_noise", {}, 10.0, 8.5225e8, True),
        ("fixed_clip", {"rounds": 1}, 4.37718, 4.37718, False),
        ("fixed_weights", {"rounds": 1}, 4.37718, 7.86805, True),
        ("fixed_optimiser", {}, 4.37718, 165.391, True),
        ("adaptive_clip", {}, 4.37718, 11.3713, True),
        ("percentile_filter", {}, 1.0, inf, None),
        ("excluded_variables", {}, 1.0, inf, None),
        ("noise_of_small_steps", {}, 1.0, 15.2227, None),
        ("record_noise", {}, 1.0, 69.5560, None),
        ("cohort_sum", {}, 1.0, 1.0, False),
    ],
)
def test_an_audit_refutes_what_does_not_hold_and_nothing_else(name, settings, epsilon, held, refuted):
    found = scalars(name, settings, epsilon=epsilon)
    assert found["exact_epsilon"] == pytest.approx(held, rel=3e-5)
    assert found.get("claim_refuted") == refuted
    if found["audited_lower"] is not None and np.isfinite(held):
        assert found["audited_lower"] <= found["exact_epsilon"]
    corrected = scalars(name, settings, "corrected", epsilon=epsilon)
    assert corrected["certified_for_claim"] <= epsilon and not corrected["claim_refuted"]


@pytest.mark.parametrize(("entries", "attacked"), [(4, 0.0390), (10, 0.0431), (14, None)])
def test_the_ledger_certifies_the_sparse_vector_above_its_claim_which_no_attack_refutes(entries, attacked):
    """Where one entry is sent its index is attacked; what it shows is less than the claim."""
    found = scalars("sparse_vector", {"entries": entries}, epsilon=0.1)
    assert found["certified_for_claim"] > 0.1 and not found["claim_refuted"] and found.get("exact_epsilon") is None
    assert found.get("audited_lower") == (None if attacked is None else pytest.approx(attacked, abs=5e-5))
    if entries == 14:
        assert found["certified_for_claim"] == pytest.approx(0.72954, rel=1e-4)


def test_outputs_that_the_other_world_cannot_have_prove_any_epsilon_wrong():
    found = scalars("float_noise", {})
    assert found["audited_lower"] == inf and found["claim_refuted"] and found["audit_kind"] == "counts"
    # Extremes are said to be protected, without an epsilon.
    found = scalars("noisy_extremes", {})
    assert found["audited_lower"] == found["audited_lower_ordinary"] == inf and found.get("claim_refuted") is None
    assert scalars("few_bins", {})["audited_lower"] == inf
    for name in ("noisy_extremes", "few_bins"):
        corrected = scalars(name, {}, "corrected")
        assert corrected["exact_epsilon"] == pytest.approx(corrected["certified_for_claim"]) == pytest.approx(1.0)


def test_a_planted_seed_gives_the_update_away_and_no_epsilon_is_said_of_it():
    found = scalars("pair_mask", {"bits": 12})
    assert (found["recovered_share"], found["audited_lower"]) == (1, inf) and found.get("claim_refuted") is None


def test_noise_on_a_batch_is_certified_for_a_record_that_another_replaces():
    found = cell("record_noise", {})
    assert 69.556 < found.scalars["certified_for_claim"] < inf and found.scalars["claim_unit"] == "row"
