"""The audit study: numbers of its table, exact laws, settings, and the whole chain up to its figures."""

from __future__ import annotations

from itertools import pairwise
from math import inf, nan

import numpy as np
import pytest

from audit_driver import SURE, audit_plan, cell, scalars
from partywise.assembly import assemble
from partywise.attributes import meanings
from partywise.auditing import cases
from partywise.auditing.data import AuditData
from partywise.auditing.exposure import Verdict
from partywise.auditing.laws import finite_epsilon, response_epsilon
from partywise.auditing.pairs import ClearPair, GaussianPair, NoLaw, ResponsePair, canaries
from partywise.auditing.protocol import MECHANISMS, server_bounds
from partywise.auditing.rows import ROWS
from partywise.auditing.settings import (
    BodyFatSettings,
    CurveSettings,
    ExchangeSettings,
    LabelSettings,
    SliceSettings,
    TreeSettings,
)
from partywise.auditing.variables import VARIABLES
from partywise.cells import generate, run, save_data
from partywise.corners import read_corner, write_corner
from partywise.datasets.labelled import FROM_THE_DATA, LabelledTable, Range
from partywise.errors import ConfigError
from partywise.figures.claims import claims, published_lines
from partywise.figures.tracing import tracing_roc
from partywise.plan import plan
from partywise.privacy.mechanisms import DistanceExponential, RandomizedResponse
from partywise.provenance import config_json
from partywise.randomness import stream

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


def test_response_epsilon_agrees_with_enumeration_of_all_outputs():
    law = RandomizedResponse(1.5, 3).matrix()
    for moved in (1, 2, 3):
        first, second = np.ones(1), np.ones(1)
        for _ in range(moved):
            first, second = np.outer(first, law[0]).ravel(), np.outer(second, law[1]).ravel()
        for delta in (0.0, 1e-5, 0.01):
            exact = response_epsilon(1.5, 3, moved, delta)
            assert exact == pytest.approx(finite_epsilon(first, second, delta), rel=1e-9)
    assert response_epsilon(1.5, 3, 0, 1e-5) == 0.0
    assert response_epsilon(3.0, 50, 14, 0.0) == pytest.approx(42)


def test_finite_epsilon_of_known_laws():
    matrix = DistanceExponential(2.0, 1, 100).matrix()
    assert finite_epsilon(matrix[0], matrix[-1], 0.0) == pytest.approx(99.0)
    assert finite_epsilon(matrix[0], matrix[0], 0.0) == 0.0
    one, other = np.array([0.5, 0.5, 0.0]), np.array([0.0, 0.5, 0.5])
    assert finite_epsilon(one, other, 0.1) == inf
    assert finite_epsilon(one, other, 0.5) == 0.0
    # e^eps = (P - delta) / Q where one output decides.
    p, q = np.array([0.8, 0.2]), np.array([0.2, 0.8])
    assert finite_epsilon(p, q, 0.1) == pytest.approx(np.log(0.7 / 0.2))


def test_a_gaussian_pair_scores_by_the_likelihood_ratio():
    rng = stream(7, "scores")
    first, second = np.array([[1.0, 0.0], [0.0, 0.5]]), np.zeros((2, 2))
    shape = np.array([[2.0, 0.5], [0.5, 1.0]])
    pair = GaussianPair(first, second, shape)
    gap = first - second
    assert pair.mu == pytest.approx(np.sqrt(np.einsum("ij,jk,ik->", gap, np.linalg.inv(shape), gap)))
    drawn = [pair.scores(rng, 100_000, world) for world in (0, 1)]
    # Score = d' Sigma^-1 z: its means differ by mu^2 and its sd is mu; 7 standard errors are beyond ALPHA.
    assert drawn[0].mean() - drawn[1].mean() == pytest.approx(pair.mu**2, abs=7 * pair.mu * np.sqrt(2e-5))
    assert drawn[0].std() == pytest.approx(pair.mu, rel=7 / np.sqrt(2e5))
    scores, bits = canaries(pair, rng, 1000)
    assert scores.shape == bits.shape == (1000,) and set(bits) == {0, 1}


def test_a_gaussian_pair_with_two_covariances_scores_both_squares():
    first, second = np.zeros((1, 1)), np.zeros((1, 1))
    pair = GaussianPair(first, second, np.array([[1.0]]), np.array([[4.0]]))
    scores = [pair.scores(stream(7, "two", world), 20_000, world) for world in (0, 1)]
    # (z^2 / 4 - z^2) / 2 has mean -3/8 under sd 1 and -3/2 under sd 2.
    assert scores[0].mean() == pytest.approx(-3 / 8, abs=0.05) and scores[1].mean() == pytest.approx(-1.5, abs=0.15)
    found = pair.audit(stream(7, "audit"), 20_000, 1e-5, SURE)
    assert found.kind == "counts" and found.mu_lower is None and found.exact is None and found.lower > 0.5


def test_response_pairs_without_a_change_tell_nothing():
    same = np.arange(5)
    pair = ResponsePair(same, same, 3.0, 5)
    found = pair.audit(stream(7, "none"), 2000, 1e-5, SURE)
    assert found.lower == 0.0 and found.exact == 0.0 and pair.moved == 0


def test_clear_pairs_and_formulas_without_a_law():
    rng = stream(7, "clear")
    assert ClearPair(np.zeros(2), np.ones(2)).audit(rng, 10, 0.5, 0.9).lower == inf
    assert ClearPair(1.0, 1.0).audit(rng, 10, 0.5, 0.9).lower == 0
    assert NoLaw().audit(rng, 10, 0.5, 0.9) == Verdict(None, "no_law")


def test_a_claim_is_refuted_by_a_bound_above_it_only():
    def refuted(worst: Verdict, claim: float):
        return server_bounds(worst, Verdict(None, "no_law"), claim, 1e-5)["claim_refuted"]

    assert refuted(Verdict(2.0, "counts"), 1.0) is True
    assert refuted(Verdict(1.0 + 1e-12, "exact"), 1.0) is False
    assert refuted(Verdict(0.5, "gaussian", mu_lower=1.0), 1.0) is True
    assert refuted(Verdict(2.0, "counts"), nan) is None and refuted(Verdict(None, "no_law"), 1.0) is None


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


def block():
    """Rows of every kind, small enough for seconds."""
    both = {"methods": ["published", "repaired"], "replicates": 2, "parties": [1], "folds": 1, "epsilon": [1.0]}
    rows = {
        "covariance": ("curves", {"n": 10}, {}),
        "orthonormal": ("curves", {"n": 10}, {}),
        "radius": ("curves", {"n": 40}, {}),
        "budget": ("curves", {"n": 10, "n_basis": 1}, {"parties": [2, 4]}),
        "messages": ("curves", {"n": 10}, {}),
        "near_tie": ("slices", {"n": 1000, "truncation": 1.0, "n_slices": 4}, {}),
        "printed_covariance": ("slices", {"n": 1000, "truncation": 1.0}, {}),
        "label_sum": ("labels", {"n": 20}, {"epsilon": [1.0, 16.0]}),
        "quantile_buckets": ("trees", {"n": 40, "n_buckets": 10}, {}),
        "adjusting": ("trees", {"n": 100}, {}),
        "scores": ("exchange", {"n": 50}, {}),
        "tracing": ("tracing", {"n": 41, "p": 5}, {"epsilon": [1.0, 8.0]}),
    }
    few = {"protocol": "audit", "draws": 2000, "trials": 5, "canaries": 50}
    return {
        "methods": {"published": few, "repaired": few | {"variant": "repaired"}},
        "cases": {
            row: {"source": source, "settings": {"row": row} | settings, "grid": both | grid}
            for row, (source, settings, grid) in rows.items()
        },
    }


@pytest.fixture(scope="module")
def cube(tmp_path_factory):
    folder = tmp_path_factory.mktemp("audit")
    made, corners = plan("privacy_audit", block(), 3), []
    for name, case in made.cases.items():
        save_data(folder / "data.npz", generate(made, name, range(case.replicates), folder))
        for method in case.methods:
            for count in case.parties:
                cells = run(made, name, method, count, range(case.replicates), range(1), folder / "data.npz")
                write_corner(folder / "corner.npz", cells)
                corners.append(read_corner(folder / "corner.npz"))
    return assemble(made, corners).assign_attrs(config_json=config_json(made))


def test_the_cube_holds_a_row_for_every_mechanism(cube):
    assert set(VARIABLES) - set(cube.data_vars) <= {"least_variance", "printed_total", "recovery_error"}
    titles = set(np.unique(meanings(cube["title"])))
    assert "noise_times_root_J_-_20_predictors" in titles
    certified = cube["certified_for_claim"].sel({"case": "covariance", "parties": 1, "fold": 0, "epsilon": 1.0})
    assert float(certified.sel({"method": "published"})[0]) > 2000
    assert float(certified.sel({"method": "repaired"})[0]) == pytest.approx(1.0)
    cell_ = {"case": "orthonormal", "method": "repaired", "parties": 1, "fold": 0, "epsilon": 1.0}
    lower = cube["mu_lower"].sel(cell_)
    assert lower[0] != lower[1], "replicates are independent audits"


def test_the_main_figure_draws_what_the_cube_holds(cube):
    lines = {line.label: line for line in published_lines(cube)}
    assert "noise times root J - 20 predictors, J = 4" in lines
    assert lines["label dot product - classic noise, ε = 16"].certified == pytest.approx(18.9, abs=0.01)
    bad = lines["curves with noise covariance s²M - 15 splines on 0 to 1"]
    assert bad.refuted and bad.claimed == 1 and bad.repaired == pytest.approx(1.0) and bad.certified > 2000
    free = lines["clip radius at the 95th percentile of the data"]
    assert free.claimed == 0 and free.certified == inf and free.refuted
    control = lines["curves with white noise on orthonormal coordinates"]
    assert control.control and not control.refuted
    printed = lines["vectorised noise - as printed"]
    assert np.isnan(printed.audited) and not printed.refuted and printed.certified == inf
    assert not any("tracing" in label for label in lines), "a description is no audit"
    figure = claims(cube)
    (ax,) = figure.axes
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [line.label for line in published_lines(cube)]
    shown = {text.get_text() for text in ax.texts}
    assert {"claimed", "certified", "audited ≥", "001  sliced inverse regression"} <= shown
    certified = f"{bad.certified:,.0f}"
    assert certified in shown and "∞" in shown and "free" in shown
    assert ax.get_xlabel() and figure.legends


def test_the_second_figure_shows_areas_of_the_cube(cube):
    figure = tracing_roc(cube)
    (ax,) = figure.axes
    labels = ax.get_legend_handles_labels()[1]
    areas = cube["tracing_auc"].sel({"case": "tracing", "parties": 1, "fold": 0})
    assert [label.split(":")[0] for label in labels] == ["raw", "ε = 8", "ε = 1"]
    private = float(areas.sel({"method": "repaired", "epsilon": 8.0}).mean("replicate"))
    assert labels[1].startswith(f"ε = 8: {private:.3f}")


def test_figures_say_when_there_is_nothing_to_show(cube):
    nothing = cube.drop_vars("roc_true")
    assert "No tracing attack" in tracing_roc(nothing).axes[0].texts[0].get_text()
    renamed = cube.assign_coords(method=["other", "repaired"])
    assert "No published mechanism" in claims(renamed).axes[0].texts[0].get_text()


def test_audits_do_not_depend_on_blocks(tmp_path):
    made = plan("privacy_audit", block(), 3)
    save_data(tmp_path / "data.npz", generate(made, "orthonormal", range(2), tmp_path))
    together = run(made, "orthonormal", "published", 1, [0, 1], [0], tmp_path / "data.npz")
    apart = [c for r in (0, 1) for c in run(made, "orthonormal", "published", 1, [r], [0], tmp_path / "data.npz")]
    assert [repr(c.scalars) for c in together] == [repr(c.scalars) for c in apart]
    assert [c.ledger for c in together] == [c.ledger for c in apart]
