"""The audit study: numbers of its table, neighbours, attacks on one mechanism, settings."""

from __future__ import annotations

from itertools import pairwise
from math import inf

import numpy as np
import pytest

from audit_driver import SURE, audit_plan, cell, scalars
from partywise.audits.worlds import AuditData
from partywise.datasets.labelled import FROM_THE_DATA, LabelledTable, Range
from partywise.errors import ConfigError
from partywise.experiment.plan import plan
from partywise.randomness import stream
from partywise.studies.privacy_audit import cases
from partywise.studies.privacy_audit.protocol import MECHANISMS
from partywise.studies.privacy_audit.rows import ROWS
from partywise.studies.privacy_audit.settings import (
    BodyFatSettings,
    CurveSettings,
    ExchangeSettings,
    LabelSettings,
    SliceSettings,
    TreeSettings,
)

SOURCES = {
    "curves": (CurveSettings, cases.curves),
    "slices": (SliceSettings, cases.slices),
    "labels": (LabelSettings, cases.labels),
    "trees": (TreeSettings, cases.trees),
    "exchange": (ExchangeSettings, cases.exchange),
}


def test_every_row_has_words_settings_and_a_mechanism():
    rows = {row for settings, _ in SOURCES.values() for row in settings.rows}
    assert rows == set(ROWS) == set(MECHANISMS)
    for settings, _ in SOURCES.values():
        for row in settings.rows:
            title = settings(row=row).title
            # What a flag of the cube keeps as it is, but for blanks.
            assert title.replace(" ", "").replace("-", "").replace("+", "").replace(".", "").isalnum(), title
    assert {entry.document for entry in ROWS.values()} == {"000", "001", "002", "003", "004"}
    assert {row for row, entry in ROWS.items() if entry.control} == {
        "orthonormal",
        "public_slices",
        "fixed_covariance",
        "public_buckets",
    }


@pytest.mark.parametrize(
    ("source", "row"), [(s, r) for s, (settings, _) in SOURCES.items() for r in settings.rows if r != "tracing"]
)
def test_neighbours_differ_in_one_record(source, row):
    settings, make = SOURCES[source]
    chosen = settings(row=row)
    data = make(chosen, None, lambda *names: stream(7, source, *names), None)
    worst, ordinary = data.changed()
    assert data.x.shape[:2] == (4, chosen.n) and ordinary == 1
    # Row 0 moves; where slices are data-dependent the worst pair moves a record across them, and nothing else.
    assert worst == 1


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
    settings = {"row": "covariance", "n": 10, "n_basis": n_basis, "end": end}
    found = scalars("curves", settings, draws=2000)
    assert found["certified_for_claim"] == pytest.approx(certified, rel=0.004)
    # The worst pair reaches the certificate: nothing is lost in the sensitivity.
    assert found["exact_epsilon"] == pytest.approx(found["certified_for_claim"], rel=1e-6)


@pytest.mark.parametrize(
    ("source", "settings", "epsilon", "certified"),
    [
        ("curves", {"row": "orthonormal"}, 1.0, 0.751),
        ("slices", {"row": "public_slices", "p": 3}, 1.0, 0.62),
        ("slices", {"row": "quantile_slices", "p": 3}, 1.0, 2.18),
        ("slices", {"row": "quantile_slices", "p": 3}, 2.0, 5.21),
        ("slices", {"row": "fixed_covariance", "n": 1000, "truncation": 1.0}, 1.0, 0.637),
        ("labels", {"row": "label_sum"}, 32.0, 49.2),
        ("trees", {"row": "public_buckets"}, 3.0, 3.0),
        ("trees", {"row": "public_buckets"}, 10.0, 10.0),
        ("trees", {"row": "quantile_buckets", "n_buckets": 100}, 10.0, 1000.0),
        ("trees", {"row": "many_features", "n_buckets": 100}, 10.0, 140.0),
        ("trees", {"row": "distance"}, 2.0, 99.0),
    ],
)
def test_numbers_of_the_table(source, settings, epsilon, certified):
    found = scalars(source, settings, epsilon=epsilon, draws=2000)
    assert found["certified_for_claim"] == pytest.approx(certified, rel=0.005)
    assert found["epsilon_claimed"] == epsilon
    # Where the attack knows the pair's law, it meets the certificate up to the accountant's rounding.
    assert found["exact_epsilon"] <= found["certified_for_claim"] * (1 + 1e-9)


def test_an_audit_comes_close_to_the_certificate_and_never_above():
    found = scalars("curves", {"row": "orthonormal"}, draws=200_000)
    assert 0.85 * found["certified_for_claim"] < found["epsilon_mu_lower"] <= found["certified_for_claim"]
    assert 0 < found["audited_lower"] < found["certified_for_claim"]
    assert found["audited_lower_ordinary"] < found["certified_for_claim"]
    assert found["audit_kind"] == "gaussian" and found["audit_confidence"] == SURE


def test_one_run_guesses_every_record_of_the_published_covariance():
    bad, good = (
        scalars("curves", {"row": "covariance", "n": 10}, variant, canaries=2000, canary_confidence=0.95)
        for variant in ("published", "repaired")
    )
    assert bad["one_run_correct"] == 2000 and bad["one_run_lower"] == pytest.approx(6.45, abs=0.005)
    assert good["one_run_lower"] <= 1.0


def test_quantile_slices_move_a_corner_in_every_slice():
    sent = cell("slices", {"row": "quantile_slices", "p": 3}).ledger[0]
    public = cell("slices", {"row": "public_slices", "p": 3}).ledger[0]
    assert sent.sensitivity == pytest.approx(np.sqrt(8) * public.sensitivity)
    found = scalars("slices", {"row": "quantile_slices", "p": 3}, draws=2000)
    assert found["exact_epsilon"] == pytest.approx(found["certified_for_claim"], rel=1e-6), "the bound is reached"


def test_the_tracing_attack_is_described_and_weakens_with_noise():
    settings = {"row": "tracing", "n": 121, "p": 30}
    raw = cell("tracing", settings, trials=60)
    private = cell("tracing", settings, "repaired", 1.0, trials=60)
    # Standard errors are about 0.006: 0.1 is far beyond both.
    assert raw.scalars["tracing_auc"] > private.scalars["tracing_auc"] + 0.05 > 0.5
    assert raw.scalars["members"] == 60 and raw.scalars["certified_for_claim"] == inf
    assert private.scalars["certified_for_claim"] == pytest.approx(1.0)
    false, true = raw.exhibits["roc_false"][1], raw.exhibits["roc_true"][1]
    assert false[0] == 0 and false[-1] == true[-1] == 1
    assert all(a <= b for a, b in pairwise(true))
    area = float(np.sum((true[1:] + true[:-1]) / 2 * np.diff(false)))
    assert area == pytest.approx(raw.scalars["tracing_auc"], abs=0.01)


def test_body_fat_is_whitened_and_traced(monkeypatch):
    rng = stream(7, "table")
    x = rng.random((252, 13))
    ranges = (Range(0.0, 1.0, FROM_THE_DATA),) * 13
    y = np.arange(252) % 2.0
    table = LabelledTable(x, y, np.array([f"v{j}" for j in range(13)]), ranges, np.zeros(252, int), {}, ())
    monkeypatch.setattr(cases.body_fat_table, "load", lambda folder: table)
    data = cases.body_fat(BodyFatSettings(row="tracing", n=252, p=13), None, None, "resources")
    np.testing.assert_allclose(data.x[0].T @ data.x[0] / 252, np.eye(13), atol=1e-9)
    assert data.changed() == (0, 0)
    # Whitening by the data is charged to nobody, so no finite epsilon is certified, whatever the noise.
    found = cell("body_fat", {"row": "tracing", "n": 252, "p": 13}, "repaired")
    assert found.scalars["certified_for_claim"] == inf and not found.scalars["certified"]


def test_what_a_data_set_must_look_like():
    with pytest.raises(ValueError, match=r"x and y have shapes \(2, 3, 1\) and \(2, 3\): they must be"):
        AuditData(np.zeros((2, 3, 1)), np.zeros((2, 3)))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: CurveSettings(row="label_sum"), "row is 'label_sum': it must be one of covariance"),
        (lambda: CurveSettings(row="covariance", n_basis=3), "n_basis is 3: it must be at least 4"),
        (lambda: CurveSettings(row="covariance", start=1.0), "start and end are 1.0 and 1.0"),
        (lambda: CurveSettings(row="radius", radius=0.0), "radius is 0.0: it must be positive"),
        (lambda: CurveSettings(row="radius", delta=0.0), r"delta is 0.0: it must lie in \(0, 1\)"),
        (lambda: CurveSettings(row="radius", n=1), "n is 1: it must be at least 2"),
        (lambda: SliceSettings(row="scale", ratio=1.0), "ratio is 1.0"),
        (lambda: SliceSettings(row="scale", n=20), "n is 20: 8 slices need at least 32 records"),
        (lambda: SliceSettings(row="scale", truncation=0.0), "truncation is 0.0"),
        (lambda: SliceSettings(row="scale", edges="quantile"), "edges is 'quantile': they must be 'classes'"),
        (lambda: SliceSettings(row="scale", lowest=1.0, highest=1.0), "lowest and highest are 1.0 and 1.0"),
        (lambda: LabelSettings(row="label_sum", k=0), "k is 0: it must be at least 1"),
        (lambda: TreeSettings(row="distance", low=5, high=5), "low and high are 5 and 5"),
        (lambda: TreeSettings(row="distance", n=50), "n is 50: 50 buckets need at least 100 records"),
        (lambda: ExchangeSettings(row="hashes", n=30_000), "n is 30000: it must exceed p"),
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
        ({"parties": [2]}, r"parties is \[2\]: only the row budget has more than 1 party"),
    ],
)
def test_contradictions_are_named(changes, sentence):
    grid = {"methods": ["published"], "replicates": 1, "parties": [1], "folds": 1, "epsilon": [1.0]} | changes
    block = {
        "methods": {"published": {"protocol": "audit"}},
        "cases": {"one": {"source": "curves", "settings": {"row": "radius"}, "grid": grid}},
    }
    with pytest.raises(ConfigError, match=sentence):
        plan("privacy_audit", block, 1)


def test_other_contradictions_are_named():
    with pytest.raises(ConfigError, match=r"parties is \[30\]: there are 20 predictors"):
        audit_plan("curves", {"row": "budget"}, "published", 1.0, 30)
    with pytest.raises(ConfigError, match="row 'tracing' goes with source tracing or body_fat"):
        audit_plan("slices", {"row": "tracing"}, "published", 1.0)
    with pytest.raises(ConfigError, match="variant is 'mended': it must be 'published' or 'repaired'"):
        audit_plan("curves", {"row": "radius"}, "mended", 1.0)
