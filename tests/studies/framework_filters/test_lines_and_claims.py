"""The lines of the page: every number of the specification's table, their outcomes, and the claims of the audit."""

from __future__ import annotations

from math import inf, isnan, nan

import pytest

from audit_driver import scalars
from partywise.experiment.claims import all_claims
from partywise.studies.framework_filters.claims import CLAIMS
from partywise.studies.framework_filters.lines import LINES, judgements

# Said, held, held by zero-out; section 3 of the specification.
EXPECTED = {
    "local_2c": (1, 0.750977, 0.352572),
    "local_2c_10": (10, 10.3939, 4.5401),
    "local_c": (1, 1.61032, 0.750977),
    "local_c_10": (10, 25.4426, 10.3939),
    "local_rounds": (1, 5.04843, 2.28649),
    "flip_defaults": (10, 8.5225e8, 2.1311e8),
    "fixed_equal": (37.6225, 105.876, 37.6225),
    "fixed_weights": (37.6225, 237.890, 78.0724),
    "adaptive": (4.37718, 11.3713, 5.0260),
    "svt_14": (0.1, 0.72954, nan),
    "svt_7m": (0.1, 70332.9, nan),
    "percentile": (nan, inf, inf),
    "statistics": (nan, inf, inf),
    "biomed_central": (nan, inf, inf),
    "float_noise": (1, inf, inf),
    "pfl_gaussian": (1, 1, 1),
}


def near(value):
    return pytest.approx(value, rel=3e-5, nan_ok=True)


def test_every_line_has_its_numbers_and_no_outcome_contradicts_them():
    found = dict(zip((line.key for line in LINES), judgements(1e-5), strict=True))
    assert {key: found[key] for key in EXPECTED} == {key: near(values) for key, values in EXPECTED.items()}
    assert found["biomed_local"][1] == pytest.approx(69.6, rel=1e-3)
    for line in LINES:
        said, held, zero_out = found[line.key]
        if line.status == "keeps":
            assert held <= said * (1 + 1e-6)
        elif line.status == "zero-out only":
            assert zero_out <= said * (1 + 1e-6) < held
        elif line.status == "no claim":
            assert isnan(said)
        else:
            assert max(held if not isnan(held) else 0, zero_out if not isnan(zero_out) else 0) > said
    controls = {line.key for line in LINES if line.status in ("keeps", "zero-out only")}
    assert controls == {"local_2c", "pfl_gaussian", "fixed_equal"}


def test_claims_are_of_the_audit_and_say_nothing_that_breaks_a_text():
    assert {claim.name for claim in CLAIMS} <= set(all_claims())
    assert [claim.name for claim in CLAIMS if claim.control] == ["cohort_sum"]


@pytest.mark.parametrize(
    ("name", "settings", "epsilon", "held", "refuted"),
    [
        ("local_noise", {}, 1.0, 0.750977, False),
        ("local_noise", {"sensitivity": 1.0}, 10.0, 25.4426, True),
        ("fixed_clip", {}, 4.37718, 9.99726, True),
        ("fixed_clip", {"heaviest": 1.643243}, 4.37718, 18.7788, True),
        ("adaptive_clip", {}, 4.37718, 11.3713, True),
        ("cohort_sum", {}, 1.0, 1.0, False),
        ("sparse_vector", {"entries": 4}, 0.1, 0.0390, False),
    ],
)
def test_an_audit_refutes_what_does_not_hold_and_nothing_else(name, settings, epsilon, held, refuted):
    found = scalars(name, settings, epsilon=epsilon)
    assert found["exact_epsilon"] == pytest.approx(held, rel=2e-3 if name == "sparse_vector" else 3e-5)
    assert bool(found["claim_refuted"]) == refuted
    corrected = scalars(name, settings, "corrected", epsilon=epsilon)
    assert corrected["certified_for_claim"] <= epsilon and not corrected["claim_refuted"]
