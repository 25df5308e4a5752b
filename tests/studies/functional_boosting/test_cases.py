"""Cases: what a replicate holds, how it is split and folded, and real curves from a table."""

import re
from dataclasses import fields, replace
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from partywise.core.randomness import stream
from partywise.data.curves.descriptions import UnitChange
from partywise.data.curves.tables import CurveTable
from partywise.federation.folds import Fold
from partywise.methods.functional.bases import make_basis
from partywise.methods.functional.options import (
    BaselineOptions,
    CurveMomentsOptions,
    CurvePublishedOptions,
    LocalOptions,
)
from partywise.privacy.accounted_values import Public
from partywise.studies.functional_boosting import cases
from partywise.studies.functional_boosting import data as study_data
from partywise.studies.functional_boosting.data import FunctionalData
from partywise.studies.functional_boosting.metrics import example_fits
from partywise.studies.functional_boosting.settings import CurveDatasetSettings, SimulatedCurveSettings
from partywise.studies.functional_boosting.study import STUDY, CurveConstants
from pipeline import ROOT
from protocol_driver import INF, SMALL, data_rng, make_data, run
from shipped import shipped_plans

COUNTS = (2, 4, 6, 8, 10)
# Functions and settings of the source's program.
NAMES = (
    *("dp_release_coefficients", "form_dp_moments", "solve_penalized_fof", "vfl_dp_foboost", "predict_vfl_dp_foboost"),
    *("dp_fof_fit", "sx_default", "keep_total_privacy", "use_crossfit", "stop_mode", "Omega_x_list", "stabilize"),
)
CHUNKS = CurveMomentsOptions(cipher="sized", max_steps=10)


def test_the_default_run_has_the_published_path_at_the_numbers_of_parties_of_the_source():
    plan = shipped_plans()["functional_boosting"]
    case = plan.cases["published"]
    assert case.parties == COUNTS and (case.replicates, case.folds) == (3, 3)
    assert case.methods == ("published", "published_party", "published_sqrt_j")
    for label in case.methods:
        differing = {"learner", "s_mode"} & set(plan.methods[label].explicit_options)
        assert set(plan.methods[label].explicit_options) <= differing, "everything else is the source's"
        assert plan.methods[label].options.max_steps == 30


def test_the_sanity_run_is_the_printed_one():
    plan = shipped_plans(ROOT / "config" / "sanity_000.yaml")["functional_boosting"]
    (case,) = plan.cases.values()
    assert (case.settings.n, case.parties, case.replicates, case.folds) == (400, (2, 4), 2, 2)
    assert plan.methods["published"].options == CurvePublishedOptions() and "published" in case.methods


def test_the_page_has_the_names_of_the_source():
    text = (ROOT / "docs" / "functional_boosting.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    for name in NAMES:
        (row,) = (line for line in rows if f"`{name}" in line.split("|")[1])
        here = re.findall("`([^`]+)`", row.split("|")[2])
        assert here, name
        for address in (word for word in here if word.startswith("partywise.")):
            module, _, attribute = address.rpartition(".")
            assert hasattr(import_module(module), attribute), address
        options = {entry.name for entry in fields(CurvePublishedOptions)}
        assert {word.partition(":")[0] for word in here if not word.startswith(("partywise.", "pw."))} <= options, name


def test_replicates_share_operators_and_nothing_else():
    first, again, second = make_data(), make_data(), make_data(replicate=1)
    assert np.array_equal(first.X, again.X) and np.array_equal(first.Y, again.Y)
    assert np.array_equal(first.operators, second.operators)
    assert not np.allclose(first.X, second.X) and not np.allclose(first.Y, second.Y)


def radii(public) -> list[float]:
    """Clipping radii, each of which says that it is public."""
    assert all(isinstance(radius, Public) for radius in (*public.radius, public.response_radius))
    return [radius.value for radius in public.radius]


def test_what_is_public_of_a_simulated_case():
    data = make_data()
    public = data.public()
    # The 95 % point of the norm of a white curve with 6 coordinates.
    assert radii(public) == pytest.approx(np.full(4, np.sqrt(chi2.ppf(0.95, 6))), rel=1e-12)
    assert radii(make_data(replace(SMALL, n_basis_x=15)).public())[0] == pytest.approx(5.000, abs=5e-4)
    assert radii(make_data(replace(SMALL, radius=2.5)).public()) == [2.5] * 4
    # 1.4 times the root mean square of the response: sum ||B_j||^2 (1 + 1 / SNR) = 2 * 3 * 1.1.
    assert public.response_radius.value == pytest.approx(1.4 * np.sqrt(6 * 1.1), rel=1e-12)
    assert public.predictor_names == ("x0", "x1", "x2", "x3")
    assert public.basis_x == ("bspline", (0.0, 1.0), 6)
    assert data.active.tolist() == [True, True, False, False] and data.has_truth


def test_the_public_radius_of_a_silent_response_is_that_of_its_noise():
    data = make_data(replace(SMALL, active=()))
    assert not data.operators.any() and data.Y.std() > 0
    # No signal: the noise is that of one predictor of squared norm 3.
    assert data.response_radius == pytest.approx(1.4 * np.sqrt(3 / 10), rel=1e-12)
    assert np.isfinite(
        run(CurveMomentsOptions(cipher="sized", max_steps=3), data=data, epsilon=10.0).estimate.operators
    ).all()


def test_reference_data_are_fresh_and_of_the_same_distribution():
    data = make_data(replace(SMALL, references=3, n=100))
    assert data.reference_X.shape == (3, 100, 4, 6) and data.reference_Y.shape == (3, 100, 6)
    sets = [data.X, *data.reference_X]
    assert all(not np.allclose(a, b) for i, a in enumerate(sets) for b in sets[:i])
    for X, Y in zip(data.reference_X, data.reference_Y, strict=True):
        rest = Y - np.einsum("npq,pqr->nr", X, data.operators)
        assert np.mean(rest**2) < 0.2 * np.mean(Y**2)  # the same operators: noise is 1/11 of the response
    assert len(make_data().reference_X) == 0
    without = make_data(replace(SMALL, n=100))
    assert np.array_equal(without.X, data.X)  # asking for references leaves the study's data alone


def test_incomplete_curves_are_refused():
    data = make_data()
    for name in ("X", "Y"):
        broken = getattr(data, name).copy()
        broken.flat[0] = np.nan
        with pytest.raises(ValueError, match="X or Y holds non-finite coordinates: fill or drop incomplete curves"):
            replace(data, **{name: broken})


@pytest.mark.parametrize(
    ("parties", "change", "columns"),
    [
        (1, {}, [(0, 1, 2, 3)]),
        (3, {}, [(0, 3), (1,), (2,)]),
        (3, {"split": "contiguous"}, [(0,), (1,), (2, 3)]),
        (2, {"split": "explicit", "groups": ((2, 0), (1, 3))}, [(2, 0), (1, 3)]),
    ],
)
def test_parties_hold_their_predictors_and_only_the_active_one_the_response(parties, change, columns):
    settings = replace(SMALL, **change)
    data = make_data(settings)
    active, *owners = study_data.split(data, parties, CurveConstants(), settings)
    assert [party.columns for party in owners] == columns
    assert [party.name for party in owners] == [f"party {g + 1}" for g in range(parties)]
    for party in owners:
        assert set(party.block) == {"X"} and party.role == "passive"
        assert np.array_equal(party.block["X"], data.X[:, list(party.columns)])
    assert active.role == "active" and set(active.block) == {"Y", "operators", "active"}
    assert np.array_equal(active.block["Y"], data.Y)


def test_an_explicit_split_fixes_the_number_of_parties():
    settings = replace(SMALL, split="explicit", groups=((0, 1), (2,), (3,)))
    assert settings.party_counts == (3,) and SMALL.party_counts is None
    with pytest.raises(ValueError, match="groups has 3 groups for n_parties=2"):
        study_data.split(make_data(settings), 2, CurveConstants(), settings)


@given(st.integers(4, 80), st.integers(2, 4))
def test_balanced_folds_test_every_record_once(n, k):
    settings = replace(SMALL, n=n)
    of = study_data.folds(make_data(settings), k, settings)
    assert of.tolist() == [i * k // n for i in range(n)]
    sizes = np.bincount(of, minlength=k)
    assert sizes.max() - sizes.min() <= 1 and of.min() == 0 and of.max() == k - 1


@given(st.integers(4, 80), st.integers(2, 4))
def test_published_folds_leave_the_rest_untested(n, k):
    settings = replace(SMALL, n=n, fold_rule="published")
    of = study_data.folds(make_data(settings), k, settings)
    size = n // k
    assert of.tolist() == [i // size if i < size * k else -1 for i in range(n)]
    assert Fold(of, 0, k).train[of == -1].all()


def test_fresh_records_are_tested_and_nothing_else():
    settings = replace(SMALL, n=50, n_test=30)
    data = make_data(settings)
    of = study_data.folds(data, 1, settings)
    assert data.X.shape == (80, 4, 6) and (of == -1).sum() == 50 and (of == 0).sum() == 30
    fold = Fold(of, 0, 1)
    assert fold.train.sum() == 50 and fold.train[:50].all()
    assert not np.any(fold.half(0) & fold.half(1)) and np.array_equal(fold.half(0) | fold.half(1), fold.train)
    done = run(LocalOptions(noise="none", max_steps=5), settings=settings, folds=1)
    other = replace(data, Y=np.where(np.arange(80)[:, None] < 50, data.Y, 0.0))
    same = run(LocalOptions(noise="none", max_steps=5), settings=settings, data=other, folds=1)
    assert np.array_equal(done.estimate.operators, same.estimate.operators)  # test responses are never read


def test_held_out_responses_are_never_read():
    data = make_data()
    for options in (
        LocalOptions(max_steps=10),
        CHUNKS,
        BaselineOptions(kind="least_squares"),
    ):
        done = run(options, data=data, epsilon=100.0, held_out=1)
        silent = replace(data, Y=np.where(done.fold.train[:, None], data.Y, 100.0))
        again = run(options, data=silent, epsilon=100.0, held_out=1)
        assert np.array_equal(done.estimate.operators, again.estimate.operators)
        assert np.array_equal(done.estimate.mean_y, again.estimate.mean_y)


def small_table(n=42, parties=("wind", "wind", "rain", "heat", "heat", "heat", "heat"), seed=1):
    """A table as the loaders return it: straight lines and squares on public scales, six records a block."""
    rng = stream(seed, "table")
    p = len(parties)
    hours, hours_x = np.arange(6, 18) + 0.5, np.arange(24) + 0.5
    a, b = rng.standard_normal((2, n, p, 1))
    x = a + b * (hours_x - 12) / 12
    y = a[:, 0] - b[:, 1] * ((hours - 12) / 6) ** 2 + 0.01 * rng.standard_normal((n, hours.size))
    scale = UnitChange(name="load", unit="kg", offset=10.0, scale=4.0, because="public")
    return CurveTable(
        hours=hours,
        hours_x=hours_x,
        domain=(6.0, 18.0),
        domain_x=(0.0, 24.0),
        y=y,
        x=x,
        y_scale=scale,
        x_scales=(scale,) * p,
        y_party="embassy",
        predictor_names=np.array([f"curve {j}" for j in range(p)]),
        party_names=np.array(parties),
        block=3 * (np.arange(n) // 6),
        dates=np.array([f"2013-{1 + i // 28:02d}-{1 + i % 28:02d}" for i in range(n)]),
        sha256={},
        notes=(),
    )


@pytest.fixture
def loaded(monkeypatch):
    """Loaders that return the small table and remember what they were asked for."""
    asked = []

    def load(name, response, resources):
        asked.append((name, response, str(resources)))
        return small_table(parties=[f"operator {j % 4}" for j in range(27)]) if name == "nyc" else small_table()

    monkeypatch.setattr(cases, "read_curves", load)
    return asked


def beijing_settings(**given):
    return CurveDatasetSettings(dataset="beijing", **given)


def beijing(settings=None, replicate=0):
    return cases.draw_dataset(settings or beijing_settings(), CurveConstants(), data_rng(replicate), "resources")


def test_a_real_case_smooths_the_table_into_orthonormal_coordinates(loaded):
    settings = beijing_settings(n_basis_x=6, n_basis_y=5, smoothing=0.0)
    data, table = beijing(settings), small_table()
    assert loaded == [("beijing", None, "resources")]
    assert data.X.shape == (42, 7, 6) and data.Y.shape == (42, 5)
    bx, by = make_basis("bspline", (0.0, 24.0), 6), make_basis("bspline", (6.0, 18.0), 5)
    # Lines and squares lie in both spline spaces, so that coordinates give back the curves of the table.
    assert np.allclose(data.X @ (bx.evaluate(table.hours_x) @ bx.inverse_root).T, table.x, atol=1e-9)
    assert np.abs(data.Y @ (by.evaluate(table.hours) @ by.inverse_root).T - table.y).max() < 0.05  # noise of .01
    assert (data.basis_x, data.basis_y) == (("bspline", (0.0, 24.0), 6), ("bspline", (6.0, 18.0), 5))
    public = data.public()
    assert radii(public) == [1.5 * np.sqrt(24.0)] * 7 and public.response_radius.value == 2.0 * np.sqrt(12.0)
    assert (data.y_offset, data.y_scale) == (10.0, 4.0) and not data.has_truth
    assert data.record_names[0] == "2013-01-01"


def test_smoothing_pulls_curves_towards_lines(loaded):
    basis = make_basis("bspline", (6.0, 18.0), 8)
    rough = basis.inverse_root @ basis.penalty @ basis.inverse_root
    energy = []
    for weight in (1e-6, 1.0, 1e4):
        Y = beijing(beijing_settings(smoothing=weight)).Y
        energy.append(np.einsum("na,ab,nb->", Y, rough, Y))
    assert energy[0] > 1.05 * energy[1] > 1.1 * energy[2]


def test_a_replicate_deals_whole_blocks_to_the_folds_anew(loaded):
    settings = beijing_settings()
    first, second = beijing(settings), beijing(settings, replicate=1)
    assert np.array_equal(first.X, second.X) and not np.array_equal(first.block, second.block)
    assert sorted(set(first.block)) == list(range(7))
    for data in (first, second):
        of = study_data.folds(data, 3, settings)
        for block in small_table().block:
            assert len(set(of[small_table().block == block])) == 1
        assert sorted(np.bincount(of) // 6) == [2, 2, 3]
    published = study_data.folds(first, 3, replace(settings, fold_rule="published"))
    assert np.bincount(published + 1).tolist() == [6, 12, 12, 12]


def test_the_natural_split_is_who_measures_the_curves(loaded):
    settings = beijing_settings()
    data = beijing(settings)
    active, *owners = study_data.split(data, 3, CurveConstants(), settings)
    assert [(party.name, party.columns) for party in owners] == [
        ("wind", (0, 1)),
        ("rain", (2,)),
        ("heat", (3, 4, 5, 6)),
    ]
    assert set(active.block) == {"Y"} and settings.party_counts == (3,)
    by_number = replace(settings, split="round_robin")
    assert [p.name for p in study_data.split(data, 2, CurveConstants(), by_number)[1:]] == ["party 1", "party 2"]
    assert by_number.party_counts is None


def test_the_second_real_case_asks_for_its_airport(loaded):
    settings = CurveDatasetSettings(dataset="nyc", response="LGA")
    data = cases.draw_dataset(settings, CurveConstants(), data_rng(), "resources")
    assert loaded == [("nyc", "LGA", "resources")]
    assert data.X.shape[1] == settings.n_predictors == 27
    assert len(study_data.split(data, 4, CurveConstants(), settings)) - 1 == settings.n_natural == 4


def test_a_real_case_runs_end_to_end(loaded):
    settings = beijing_settings()
    data = beijing(settings)
    for options, bound in (
        (LocalOptions(noise="none", max_steps=40), 0.5),
        (CHUNKS, INF),
    ):
        done = run(options, settings=settings, data=data, parties=3, epsilon=1000.0)
        assert done.scalars["relative_error"] < bound and "excess" not in done.scalars
        shown = example_fits(done.estimate, data, done.fold.train, done.spec).arrays()
        assert shown["record_label"][1].min() >= 20130101


def test_the_study_names_every_part_that_exists():
    for source in STUDY.sources.values():
        assert callable(source.generate.target)
    for protocol in STUDY.methods.values():
        assert callable(protocol.fit.target)
        assert isinstance(protocol.options().uses_epsilon, bool)
    assert STUDY.data.target is FunctionalData
    assert [STUDY.split.target, STUDY.folds.target] == [study_data.split, study_data.folds]
    assert callable(STUDY.metrics.target) and callable(STUDY.example_fits.target)
    assert all(callable(figure.target) for figure in STUDY.figures.values())


def test_counts_that_the_pipeline_checks_grids_with():
    assert (
        SimulatedCurveSettings().n_predictors,
        SimulatedCurveSettings().n_blocks,
        SimulatedCurveSettings().n_active,
    ) == (
        20,
        1000,
        5,
    )
    assert [CurveDatasetSettings(dataset=name).n_predictors for name in ("beijing", "nyc")] == [7, 27]
    assert beijing_settings().n_active is None
