"""The audit study: numbers of its table, neighbours, attacks on one mechanism, settings."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import inf

import numpy as np
import pytest

import toy_claim
from audit_driver import SURE, audit_plan, cell, scalars
from partywise.audits.worlds import AuditData
from partywise.core.errors import ConfigError
from partywise.core.randomness import stream
from partywise.data.column_facts import ColumnFacts
from partywise.data.tables import Table
from partywise.experiment.claims import all_claims
from partywise.experiment.plan import plan
from partywise.studies.functional_boosting.claims import BudgetSettings, CurveClaim, SplineSettings
from partywise.studies.label_private.claims import SumSettings
from partywise.studies.sliced_inverse_regression import neighbours
from partywise.studies.sliced_inverse_regression.claims import (
    BodyFatSettings,
    RecordSettings,
    ScaleSettings,
    SliceSettings,
)
from partywise.studies.vertical_glm.claims import ExchangeSettings
from partywise.studies.vertical_trees.claims import BinSettings, DomainSettings, FeatureSettings

CLAIMS = all_claims()
# All worlds of the descriptive attack are one data set, and one of its two data sets is downloaded.
DESCRIPTIVE = {"tracing", "body_fat"}


def test_every_claim_has_words_that_the_cube_keeps():
    for claim in CLAIMS.values():
        title = claim.title_for(claim.settings())
        # What a flag of the cube keeps as it is, but for blanks.
        assert title.replace(" ", "").replace("-", "").replace("+", "").replace(".", "").isalnum(), title
    assert {name for name, claim in CLAIMS.items() if claim.control} == {
        "orthonormal",
        "public_slices",
        "fixed_covariance",
        "public_bins",
        # Of the privacy layers: one whose noise is for the sum that it releases.
        "cohort_sum",
        # And one whose account counts a client that leaves.
        "fixed_clip",
        # Of systems of tables: one whose noise is for a table of its own.
        "dsvert_epsilon",
    }


@pytest.mark.parametrize("name", sorted(set(CLAIMS) - DESCRIPTIVE))
def test_neighbours_differ_in_one_record(name):
    claim = CLAIMS[name]
    settings = claim.settings()
    data = claim.generate(settings, None, lambda *names: stream(7, name, *names), None)
    assert data.x.shape[:2] == (4, settings.n)
    # Where slices are data-dependent the worst pair moves a record across them, and nothing else.
    assert data.n_changed() == (1, 1)


@pytest.mark.parametrize(
    ("n_basis", "end", "certified"),
    [
        (7, 1.0, 581),
        (10, 1.0, 1096),
        (15, 1.0, 2581),
        (20, 1.0, 4869),
        (30, 1.0, 11830),
        (15, 24.0, 15.4),
        (15, 365.0, 0.67),
    ],
)
def test_certified_epsilon_of_the_published_covariance(n_basis, end, certified):
    settings = {"n": 10, "n_basis": n_basis, "end": end}
    found = scalars("covariance", settings, draws=2000)
    assert found["certified_for_claim"] == pytest.approx(certified, rel=0.004)
    # The worst pair reaches the certificate: nothing is lost in the sensitivity.
    assert found["exact_epsilon"] == pytest.approx(found["certified_for_claim"], rel=1e-6)


@pytest.mark.parametrize(
    ("source", "settings", "epsilon", "certified"),
    [
        ("orthonormal", {}, 1.0, 0.751),
        ("public_slices", {"p": 3}, 1.0, 0.62),
        ("quantile_slices", {"p": 3}, 1.0, 2.18),
        ("quantile_slices", {"p": 3}, 2.0, 5.21),
        ("fixed_covariance", {"n": 1000, "truncation": 1.0}, 1.0, 0.637),
        ("label_sum", {}, 32.0, 49.2),
        ("public_bins", {}, 3.0, 3.0),
        ("public_bins", {}, 10.0, 10.0),
        ("quantile_bins", {"n_bins": 100}, 10.0, 1000.0),
        ("many_features", {"n_bins": 100}, 10.0, 140.0),
        ("distance", {}, 2.0, 99.0),
    ],
)
def test_numbers_of_the_table(source, settings, epsilon, certified):
    found = scalars(source, settings, epsilon=epsilon, draws=2000)
    assert found["certified_for_claim"] == pytest.approx(certified, rel=0.005)
    assert found["epsilon_claimed"] == epsilon
    # Where the attack knows the pair's distribution, it meets the certificate up to the accountant's rounding.
    assert found["exact_epsilon"] <= found["certified_for_claim"] * (1 + 1e-9)


def test_an_audit_comes_close_to_the_certificate_and_never_above():
    found = scalars("orthonormal", {}, draws=200_000)
    assert 0.85 * found["certified_for_claim"] < found["epsilon_mu_lower"] <= found["certified_for_claim"]
    assert 0 < found["audited_lower"] < found["certified_for_claim"]
    assert found["audited_lower_ordinary"] < found["certified_for_claim"]
    assert found["audit_kind"] == "gaussian" and found["audit_confidence"] == SURE


def test_one_run_guesses_every_record_of_the_published_covariance():
    bad, good = (
        scalars("covariance", {"n": 10}, variant, canaries=2000, canary_confidence=0.95)
        for variant in ("published", "corrected")
    )
    assert bad["one_run_correct"] == 2000 and bad["one_run_lower"] == pytest.approx(6.45, abs=0.005)
    assert good["one_run_lower"] <= 1.0


def test_quantile_slices_move_a_corner_in_every_slice():
    sent = cell("quantile_slices", {"p": 3}).ledger[0]
    public = cell("public_slices", {"p": 3}).ledger[0]
    assert sent.sensitivity == pytest.approx(np.sqrt(8) * public.sensitivity)
    found = scalars("quantile_slices", {"p": 3}, draws=2000)
    assert found["exact_epsilon"] == pytest.approx(found["certified_for_claim"], rel=1e-6), "the bound is reached"


def test_the_tracing_attack_is_described_and_weakens_with_noise():
    settings = {"n": 121, "p": 30}
    raw = cell("tracing", settings, trials=60)
    private = cell("tracing", settings, "corrected", 1.0, trials=60)
    # Standard errors are about 0.006: 0.1 is far beyond both.
    assert raw.scalars["tracing_auc"] > private.scalars["tracing_auc"] + 0.05 > 0.5
    assert raw.scalars["members"] == 60 and raw.scalars["certified_for_claim"] == inf
    assert private.scalars["certified_for_claim"] == pytest.approx(1.0)
    false, true = raw.example_fits["roc_false"][1], raw.example_fits["roc_true"][1]
    assert false[0] == 0 and false[-1] == true[-1] == 1
    assert all(a <= b for a, b in pairwise(true))
    area = float(np.sum((true[1:] + true[:-1]) / 2 * np.diff(false)))
    assert area == pytest.approx(raw.scalars["tracing_auc"], abs=0.01)


def test_body_fat_is_whitened_and_traced(monkeypatch):
    rng = stream(7, "table")
    x = rng.random((252, 13))
    facts = (ColumnFacts(None, (0.0, 1.0), "a test"),) * 13
    y = np.arange(252) % 2.0
    table = Table(x, y, np.array([f"v{j}" for j in range(13)]), facts)
    monkeypatch.setattr(neighbours, "read_table", lambda *named: table)
    data = neighbours.body_fat(BodyFatSettings(n=252, p=13), None, None, "resources")
    np.testing.assert_allclose(data.x[0].T @ data.x[0] / 252, np.eye(13), atol=1e-9)
    assert data.n_changed() == (0, 0)
    # Whitening by the data is charged to nobody, so no finite epsilon is certified, whatever the noise.
    found = cell("body_fat", {"n": 252, "p": 13}, "corrected")
    assert found.scalars["certified_for_claim"] == inf and not found.scalars["certified"]


def test_what_a_data_set_must_look_like():
    with pytest.raises(ValueError, match=r"x and y have shapes \(2, 3, 1\) and \(2, 3\): they must be"):
        AuditData(np.zeros((2, 3, 1)), np.zeros((2, 3)))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: SplineSettings(n_basis=3), "n_basis is 3: it must be at least 4"),
        (lambda: SplineSettings(start=1.0), "start and end are 1.0 and 1.0"),
        (lambda: CurveClaim(radius=0.0), "radius is 0.0: it must be a positive"),
        (lambda: CurveClaim(delta=0.0), r"delta is 0.0: it must lie in \(0, 1\)"),
        (lambda: CurveClaim(n=1), "n is 1: it must be at least 2"),
        (lambda: BudgetSettings(n_predictors=0), "n_predictors is 0: it must be at least 1"),
        (lambda: RecordSettings(p=1), "p is 1: it must be at least 2"),
        (lambda: ScaleSettings(ratio=1.0), "ratio is 1.0"),
        (lambda: SliceSettings(n=20), "n is 20: 8 slices need at least 32 records"),
        (lambda: SliceSettings(truncation=0.0), "truncation is 0.0"),
        (lambda: SliceSettings(edges="quantile"), "edges is 'quantile': it must be one of classes, equal"),
        (lambda: SliceSettings(lowest=1.0, highest=1.0), "lowest and highest are 1.0 and 1.0"),
        (lambda: SumSettings(k=0), "k is 0: it must be at least 1"),
        (lambda: FeatureSettings(n_features=0), "n_features is 0: it must be at least 1"),
        (lambda: DomainSettings(low=5, high=5), "low and high are 5 and 5"),
        (lambda: BinSettings(n=50), "n is 50: 50 bins need at least 100 records"),
        (lambda: ExchangeSettings(n=30_000), "n is 30000: it must exceed p"),
    ],
)
def test_settings_say_what_is_wrong(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"folds": 2}, "folds is 2: an audit holds nothing out"),
        ({"epsilon": [inf]}, "epsilon has inf: give the epsilon that is claimed"),
        ({"parties": [2]}, r"parties is \[2\]: each owner sends a message, and this mechanism sends 1"),
    ],
)
def test_contradictions_are_named(changes, sentence):
    grid = {"methods": ["published"], "replicates": 1, "parties": [1], "folds": 1, "epsilon": [1.0]} | changes
    block = {
        "methods": {"published": {"protocol": "audit"}},
        "cases": {"one": {"source": "radius", "grid": grid}},
    }
    with pytest.raises(ConfigError, match=sentence):
        plan("privacy_audit", block, 1)


def test_other_contradictions_are_named(monkeypatch):
    monkeypatch.setattr(toy_claim, "UNREPAIRED", replace(toy_claim.CLAIM, correction=None), raising=False)
    with pytest.raises(ConfigError, match=r"parties is \[30\]: each owner sends a message, .* sends 20"):
        audit_plan("budget", {}, "published", 1.0, 30)
    with pytest.raises(
        ConfigError, match="methods lists corrected, whose variant is 'corrected': no mechanism corrects"
    ):
        audit_plan("toy_claim:UNREPAIRED", {}, "corrected", 1.0)
    with pytest.raises(ConfigError, match=r"source is 'row_sum': .*allowed here: adaptive_clip, adjusting, affine"):
        audit_plan("row_sum", {}, "published", 1.0)
    with pytest.raises(ConfigError, match="variant is 'mended': it must be one of published, corrected"):
        audit_plan("radius", {}, "mended", 1.0)
