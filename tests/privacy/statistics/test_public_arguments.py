"""What a certificate takes for public does not depend on the data: every certified mechanism, recorded and replayed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import every_protocol
from partywise.audits.contract import UNITS, Subject, changed_records, check_neighbours, contract_violations
from partywise.audits.worlds import AuditData
from partywise.core.randomness import stream
from partywise.experiment.plan import Plan, plan
from partywise.experiment.study import MethodSpec, available
from partywise.experiment.trial import subject as contract_subject
from partywise.experiment.trial import trials
from partywise.federation.run import Run
from partywise.studies.privacy_audit.data import split
from partywise.studies.privacy_audit.protocol import SERVER, expose
from shipped import shipped

ROOT = Path(__file__).parents[3]
# Every way to change a record once per data set, nine ways in all; `./run check-method` asks twenty pairs.
PAIRS = 9
# Data sets: one of each method here, three in `./run test --long`.
SEEDS = [1, pytest.param(3, marks=pytest.mark.statistical)]

# What the default audit certifies nothing for: an infinite epsilon is kept by every neighbour.
UNPROVED = {
    (case, "published")
    for case in (
        "fb_radius",
        "fb_messages",
        "sir_vectorised_printed",
        "sir_vectorised_charitable",
        "sir_scale_1_1",
        "sir_scale_1_5",
        "sir_screening",
        "opboost_adjusting",
        "affine_map",
        "abstract_paillier",
        "split_indicators",
        "row_gradients",
        "constant_zero",
        "pair_lane",
        "scores_u_d",
        "linear_predictors",
        "response_everywhere",
        "hashed_identifiers",
        "tracing",
        "propensity_noise",
        "risk_set_sums",
        "event_times",
        "published_curve",
        "histogram_sum",
        "seeded_times",
        "percentile",
        "parameters",
        "local_floats",
        "adaptive",
        "extremes",
        "threshold",
        "suppressed_margin",
        "nearest_rounding",
        "midpoint_rounding",
        "random_rounding",
        "sticky_rounding",
        "seeded_noise",
    )
}
# Set intersection discloses who takes part, as every alignment.
UNPROVED.add(("hashed_identifiers", "corrected"))

# Rows whose labels are 0 or 1.
CLASSES = ("label_sum", "tracing", "response")


@cache
def audit_plan() -> Plan:
    return plan("privacy_audit", shipped()["studies"]["privacy_audit"], 7)


def audit_cells() -> Iterator[Any]:
    """Every cell of the default audit: case, method, parties, epsilon (generated data only); all but the first of a
    case and a method are part of `./run test --long`.
    """
    for name, case in audit_plan().cases.items():
        for method in case.grid.methods if name != "body_fat" else ():
            cells = [(name, method, k, epsilon) for k in case.grid.parties for epsilon in case.grid.epsilon]
            yield cells[0]
            yield from (pytest.param(*cell, marks=pytest.mark.statistical) for cell in cells[1:])


def audited(case: str, method: str, parties: int, epsilon: float) -> Subject:
    """A cell of the audit for the contract: what its owners send, without the attack on it."""
    made = audit_plan()
    claim, settings, spec = made.cases[case].source, made.cases[case].settings, made.spec
    drawn = claim.generate(settings, spec, lambda *names: stream(7, case, *names), ROOT)

    def data(seed: int) -> AuditData:
        """The worst and the ordinary data set; and responses that are all classes, which made edges look public."""
        x, y = drawn.x[min(2 * seed, 2)], drawn.y[min(2 * seed, 2)]
        return AuditData(np.stack([x] * 4), np.stack([np.arange(len(y)) % settings.n_slices if seed == 2 else y] * 4))

    def start(data: AuditData, seed: int) -> Run:
        options = {"epsilon": epsilon, "fold": None, "rng_for": lambda *names: stream(seed, "replay", *names)}
        method_spec = MethodSpec(made.methods[method].options, spec, settings, None, claim)
        return Run(split(data, parties, spec, settings), spec=method_spec, extra=(SERVER,), record=True, **options)

    def changed(data: AuditData, unit: str, count: int, seed: int) -> Iterator[tuple[str, AuditData]]:
        given = data.x[0], data.y[0] * 1.0, unit, count, stream(seed, "neighbours")
        for name, x, y in changed_records(*given, binary=claim.name in CLASSES):
            yield name, AuditData(np.stack([x] * 4), np.stack([y] * 4))

    return Subject(expose, data, start, changed, claim.delta(settings, spec.delta))


@pytest.mark.parametrize(("case", "method", "parties", "epsilon"), list(audit_cells()))
def test_certificates_of_the_audit_hold_for_every_neighbour(case, method, parties, epsilon):
    subject, chosen = audited(case, method, parties, epsilon), audit_plan().cases[case]
    sliced = hasattr(chosen.settings, "n_slices") and chosen.source.name not in CLASSES
    totals = check_neighbours(subject, [chosen.source.unit], PAIRS, 3 if sliced else 2)
    assert isfinite(totals[chosen.source.unit]) == ((case, method) not in UNPROVED), totals


# Certified protocols that the default configuration has no method of, besides those of `every_protocol`.
MORE: dict[str, dict[str, Any]] = {
    "label_private": {"one_step": {"protocol": "config.own_method:PROTOCOL"}},
    "functional_boosting": {
        "public_rounds": {"protocol": "roundwise", "radius": "public", "max_steps": 6},
        "private_radius": {"protocol": "boosting", "radius": "dp_quantile", "s_mode": "calibrated"},
        "noisy_response": {"protocol": "boosting", "s_mode": "calibrated", "sy": 0.5, "y_radius": 2.0},
        "raw": {"protocol": "boosting", "s_mode": "calibrated", "coordinates": "raw"},
    },
    "vertical_trees": {
        "declared_dp": {"protocol": "feature_gathering", "protect": "dp"},
        "tied_dp": {"protocol": "feature_gathering", "protect": "dp", "edges": "quantile", "n_bins": 10},
        "each_tree": {"protocol": "feature_gathering", "protect": "dp", "redraw": "tree", "num_of_trees": 3},
        "adjusting": {"protocol": "feature_gathering", "protect": "op_boost", "variant": "adjusting"},
        "adjusting_claim": {
            "protocol": "feature_gathering",
            "protect": "op_boost",
            "variant": "adjusting",
            "budget": "feature",
            "n_bins": 20,
        },
        "extremes": {"protocol": "feature_gathering", "protect": "op_boost", "extremes": "sample"},
        "shuffled": {"protocol": "feature_gathering", "protect": "dp", "randomise": False},
        "quarter": {"protocol": "tables", "cipher": "sized", "algo": "gbdt"},
        "unmasked": {"protocol": "tables", "cipher": "sized", "masked": False},
    },
    "vertical_glm": {
        "exact_own": {"protocol": "noisy_predictor", "own": "exact", "cipher": "sized"},
        "by_record": {"protocol": "noisy_gradient", "steps": 3, "clip": "record", "iterate": "mean"},
    },
    "sliced_inverse_regression": {
        "votes": {"protocol": "certified", "screening": "votes"},
        "whitened_votes": {"protocol": "whitened", "screening": "votes"},
        "mirrored": {"protocol": "certified", "second": "mirrored"},
    },
}


ORDERS = {
    "published_dp",
    "record_dp",
    "record_op",
    "declared_dp",
    "tied_dp",
    "each_tree",
    "adjusting",
    "adjusting_claim",
}
TABLES = {"certified_tables", "certified_rr", "quarter"}

PRIVATE = {
    "private_moments",
    "private_moments_dealer",
    "private_predictor",
    "private_newton",
    "private_gradient",
    "exact_own",
    "by_record",
}

# What is certified of these cases, by unit, of which methods; an infinite epsilon is kept by every neighbour.
# A study that is not here keeps what it certifies for any unit.
CERTIFIED = {
    "vertical_trees": {
        "features": {"active_only", *ORDERS, *TABLES},
        "label": {"active_only", "pooled", "plain", "extremes", "shuffled", "unmasked", *ORDERS, *TABLES},
    },
    "functional_boosting": {
        "features": {
            *(
                "predictor_fixed",
                "predictor_sqrt_j",
                "predictor_rho",
                "party_fixed",
                "party_sqrt_j",
                "party_rho",
                "local",
            ),
            *("moments", "moments_dealer", "published_noise", "corrected_noise", "roundwise", "central", "mean_curve"),
            *("public_rounds", "private_radius", "noisy_response", "raw"),
        },
        "label": {"noisy_response", "mean_curve", "least_squares", "oracle"},
        "row": {"noisy_response", "mean_curve"},
    },
    "label_private": {
        "label": {
            *("published_hybrid", "published_newton", "analytic", "planned", "rr", "rr_planned", "auto", "noisy_gd"),
            *("label_sgd", "objective_perturbation", "classic", "no_ridge", "one_step", "buckets"),
            *("shared_planned", "shared_buckets"),
        },
    },
    "sliced_inverse_regression": {
        "row": {
            *("cert", "cert_whiten", "iid_equal", "cert_equal", "whiten_equal", "mirrored", "votes", "whitened_votes"),
            *("cert_shared", "whiten_shared"),
        },
    },
    "vertical_glm": {
        "row": {*PRIVATE},
        "features": {*PRIVATE},
        # Rotations and correlations are of columns alone.
        "label": {"published_svd", "opened_correlation", *PRIVATE},
    },
}


def study_plan(study: str) -> Plan:
    """The small cases of `every_protocol` with all its methods and those above."""
    block = every_protocol.block(study)
    block["methods"] |= MORE.get(study, {})
    for name, entry in list(block["methods"].items()):
        if entry["protocol"] == "tables" and entry.get("cipher") == "paillier":
            # A minute of encryption: `tests/methods/trees/test_tables.py` replays it under a short key.
            del block["methods"][name]
    # Records that are matched disclose who is among them: nothing finite is certified for any unit.
    block["cases"].pop("unaligned", None)
    for name, case in block["cases"].items():
        # Votes are for many columns.
        case["grid"]["methods"] = [
            m
            for m in every_protocol.methods_on(name, block["methods"])
            if name == "many_columns" or not m.endswith("votes")
        ]
    return plan(study, block, every_protocol.ROOT_SEED)


PLANS = {study: study_plan(study) for study in available() if study != "privacy_audit"}
FITS = [(s, name, m) for s, made in PLANS.items() for name, case in made.cases.items() for m in case.grid.methods]


def subject(study: str, case: str, method: str) -> Subject:
    """A method of a small case for the contract."""
    trial = next(iter(trials(study).values()))
    return contract_subject(PLANS[study], case, method, trial)


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize(("study", "case", "method"), FITS)
def test_what_a_protocol_certifies_holds_for_every_neighbour(study, case, method, seeds):
    finite = CERTIFIED.get(study, {})
    totals = check_neighbours(subject(study, case, method), tuple(finite) or UNITS, PAIRS, seeds)
    for unit, methods in finite.items():
        assert isfinite(totals[unit]) == (method in methods), unit


def test_the_example_of_a_method_of_ones_own_keeps_the_contract():
    assert contract_violations(subject("label_private", "generated", "one_step")) == {}
