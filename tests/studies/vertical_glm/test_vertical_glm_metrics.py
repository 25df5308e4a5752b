"""Metrics of the study against statsmodels, constructed fits, and what the recorded views of a run hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import chi
from test_vertical_glm_study import cell, drawn, planned

from every_protocol import generated
from every_protocol import planned as planned_study
from partywise.core.randomness import Streams, stream
from partywise.experiment.cells import _Fits
from partywise.experiment.data import generate
from partywise.experiment.study import MethodSpec
from partywise.experiment.trial import execution
from partywise.federation.run import simulate
from partywise.methods.glm.model import GlmEstimate
from partywise.methods.glm.options import BcdOptions, GlmReferenceOptions
from partywise.privacy.statistics.bounded import clip_curves
from partywise.studies.vertical_glm.data import split
from partywise.studies.vertical_glm.evaluation import persons
from partywise.studies.vertical_glm.evaluation.persons import alignment_measures
from partywise.studies.vertical_glm.evaluation.reconstruction import MESSAGES, known_rows
from partywise.studies.vertical_glm.examples import KEPT, example_fits
from partywise.studies.vertical_glm.metrics import metrics, rank, rises
from partywise.studies.vertical_glm.settings import GlmGeneratedSettings
from partywise.studies.vertical_glm.study import STUDY
from pipeline import ROOT

PCA = ({"protocol": "block_svd"}, {"protocol": "correlation"})
LOG = sm.families.links.Log()
MODELS = {
    "gaussian": sm.families.Gaussian(),
    "binomial": sm.families.Binomial(),
    "poisson": sm.families.Poisson(),
    "gamma": sm.families.Gamma(LOG),
    "inverse_gaussian": sm.families.InverseGaussian(LOG),
}


def judged(coefficients, family="poisson", options=None, train=None, **fields):
    data, settings = drawn(family=family, n=300, p=4)
    spec = MethodSpec(options or GlmReferenceOptions(), None, settings, data.public(), None, 2)
    train = np.ones(300, dtype=bool) if train is None else train
    return metrics(GlmEstimate(np.array(coefficients), **fields), data, train, spec).as_dict(), data


def fit_of(data, family):
    return sm.GLM(data.y, sm.add_constant(data.X), family=MODELS[family]).fit(tol=1e-12, maxiter=200)


@pytest.mark.parametrize("family", MODELS)
def test_a_fit_is_measured_against_the_pooled_one(family):
    _, data = judged(np.zeros(5), family)
    exact = fit_of(data, family)
    shift = np.array([0.1, 0.02, -0.03, 0.01, 0.02])
    found, _ = judged(exact.params + shift, family)
    sds = data.X.std(axis=0)
    standard = np.concatenate([[exact.params[0] + data.X.mean(axis=0) @ exact.params[1:]], exact.params[1:] * sds])
    moved = np.concatenate([[shift[0] + data.X.mean(axis=0) @ shift[1:]], shift[1:] * sds])
    assert found["coefficient_error"] == pytest.approx(np.max(np.abs(moved)) / np.max(np.abs(standard)), rel=1e-6)
    assert found["se_units"] == pytest.approx(np.max(np.abs(shift) / exact.bse), rel=1e-5)
    mu = MODELS[family].link.inverse(sm.add_constant(data.X) @ (exact.params + shift))
    deviance = MODELS[family].deviance(data.y, mu)
    assert found["deviance"] == pytest.approx(deviance, rel=1e-9)
    share = (deviance - exact.deviance) / (exact.null_deviance - exact.deviance)
    assert found["excess_deviance"] == pytest.approx(share, rel=1e-6)
    assert found["deviance_r2"] == pytest.approx(1 - deviance / exact.null_deviance, rel=1e-9)
    assert found["aic_published"] == pytest.approx(deviance + 10, rel=1e-9)
    scale = deviance / 300 if family in ("gaussian", "gamma", "inverse_gaussian") else 1.0
    likelihood = MODELS[family].loglike(data.y, mu, scale=scale)
    assert found["aic"] == pytest.approx(-2 * likelihood + 10 + 2 * (scale != 1.0), rel=1e-8)
    assert found["rank"] == 5 and "status" not in found and found["n_train"] == 300


def test_ends_of_the_scale():
    """The pooled fit has no excess, on held-out records either; the null model 1; what is not a number is undefined."""
    _, data = judged(np.zeros(5))
    train = np.arange(300) < 200
    exact = sm.GLM(data.y[train], sm.add_constant(data.X[train]), family=MODELS["poisson"]).fit(tol=1e-12)
    found, _ = judged(exact.params, train=train)
    assert found["excess_deviance"] == pytest.approx(0, abs=1e-12)
    assert found["excess_deviance_test"] == pytest.approx(0, abs=1e-6) and found["n_train"] == 200
    null, _ = judged([np.log(data.y[train].mean()), 0, 0, 0, 0], train=train)
    assert null["excess_deviance"] == pytest.approx(1) and null["excess_deviance_test"] == pytest.approx(1)
    assert judged([np.nan, 0, 0, 0, 0])[0]["status"] == "diverged"
    assert "excess_deviance" not in judged([np.inf, 0, 0, 0, 0])[0]
    assert judged([2000.0, 0, 0, 0, 0], "inverse_gaussian")[0]["coefficient_error"] > 100


def test_what_the_protocol_reports_stands_before_what_its_coefficients_give():
    reported = {"deviance": 7.0, "null_deviance": 14.0, "dispersion": 3.0, "log_likelihood": -5.0, "iterations": 4}
    found, _ = judged(np.zeros(5), **reported, numbers={"record_openings": 2, "aic": None})
    assert (found["deviance"], found["deviance_r2"], found["dispersion"], found["iterations"]) == (7.0, 0.5, 3.0, 4)
    assert found["aic"] is None and found["record_openings"] == 2


def test_standard_errors_are_compared_with_the_pooled_ones_of_the_same_dispersion():
    _, data = judged(np.zeros(5))
    exact = fit_of(data, "poisson")
    quasi = exact.bse * np.sqrt(exact.pearson_chi2 / exact.df_resid)
    for options, errors in ((GlmReferenceOptions(), exact.bse), (GlmReferenceOptions(dispersion="pearson"), quasi)):
        found, _ = judged(exact.params, options=options, standard_errors=errors * 1.01)
        assert found["se_error"] == pytest.approx(0.01, rel=1e-4)


def test_a_ridge_is_that_of_the_fit_it_approaches():
    """The published method's is none on standardised columns; the corrected one leads to the penalised fit."""
    for options, error in ((BcdOptions(variant="corrected", ridge=50.0), 1e-6), (BcdOptions(ridge=50.0), None)):
        method = {"protocol": "bcd", "ridge": 50.0, "variant": options.variant}
        found, _ = cell(settings={"n": 200, "p": 4}, method=method)
        assert (found.scalars["coefficient_error"] < 1e-6) == (error is not None)


def test_rises_of_an_objective():
    assert rises(np.empty(0)) is None and rises(np.array([3.0])) == 0
    assert rises(np.array([3.0, 2.0, 2.0 + 1e-13, 2.5, 2.4, np.nan])) == 2


def test_rank_is_that_of_the_columns_with_an_intercept():
    X = np.arange(12.0).reshape(6, 2) ** 2
    assert rank(X) == 3 and rank(np.column_stack([X, X[:, :1] * 1e-3 + 4])) == 3
    assert rank(np.column_stack([X, np.full(6, 7.0)])) == 3 and rank(X * [1e-9, 1e9]) == 3


@pytest.mark.parametrize("mode", ["psi", "hmac", "sha256"])
def test_records_in_common_and_identifiers_that_a_dictionary_finds(mode, monkeypatch):
    words = {
        "settings": {"n": 100, "p": 4, "records": "unaligned"},
        "method": {"protocol": "reference", "alignment": mode},
    }
    found, data = cell(**words)
    assert found.scalars["common_records"] == found.scalars["n_train"] == 80
    assert found.scalars["attack_ids"] == (1.0 if mode == "sha256" else 0.0)
    # It is an attack that finds nothing, no constant: on a list without key or exponent it succeeds.
    monkeypatch.setattr(
        persons, "received_identifiers", lambda names, mode: persons.local_published(persons.OWNER, names).value
    )
    assert persons.found_by_dictionary(replace(data), 2, mode) == 1.0
    # K^2 n multiplications of n records at each of K parties.
    assert found.scalars["exponentiations"] == (2 * (90 + 90) if mode == "psi" else 0)
    common = np.isin(data.identifiers, np.intersect1d(*(data.identifiers[rows] for rows in data.persons_of_parties(2))))
    exact = sm.OLS(data.y[common], sm.add_constant(data.X[common])).fit()
    assert found.scalars["deviance"] == pytest.approx(exact.ssr) and found.scalars["epsilon_certified"] == np.inf


def test_persons_that_parties_match_wrongly_are_counted():
    data, settings = drawn(n=50, p=4, records="unaligned")
    spec = MethodSpec(GlmReferenceOptions(), None, settings, data.public(), None, 2)
    one, two = data.persons_of_parties(2)
    common = np.intersect1d(one, two)
    rows = {"active": np.argsort(one)[np.searchsorted(np.sort(one), common)]}
    rows["passive 1"] = np.argsort(two)[np.searchsorted(np.sort(two), common)]
    estimate = GlmEstimate(np.zeros(5), rows=rows)
    assert alignment_measures(estimate, data, spec).common_records == 40
    wrong = rows | {"passive 1": np.roll(rows["passive 1"], 1)}
    assert alignment_measures(replace(estimate, rows=wrong), data, spec).common_records == 0


def arrays(value):
    """All arrays of numbers in a value that crossed, those in fixed point among them."""
    if isinstance(value, list | tuple):
        return [one for part in value for one in arrays(part)]
    return [value] if isinstance(value, np.ndarray) and value.dtype in (np.float64, np.uint64) else []


def vectors(run, viewer, n):
    """Values that a participant can read, one a record, of another party."""
    read = [one for message, value in run.channel.view(viewer) if message.kind in READ for one in arrays(value)]
    return sum(values[0].size for values in read if values.shape[:1] == (n,))


READ = ("clear", "release")
SHARED = {"protocol": "joint", "solver": "lbfgs", "link": "shared"}
NOISY = ("noisy_newton", "noisy_gradient", "noisy_predictor")
PRIVATE = [{"protocol": "moments", "cipher": "sized"}, *({"protocol": name} for name in NOISY)]


@pytest.mark.parametrize(
    "method",
    [{"protocol": "reference"}, {"protocol": "bcd", "max_sweeps": 7}, {"protocol": "joint"}, SHARED, *PCA, *PRIVATE],
    ids=lambda m: "-".join(map(str, m.values())),
)
def test_record_openings_are_what_the_recorded_views_hold(method):
    made = planned(settings={"n": 90, "p": 5}, method=method)
    started = execution(made, "made", "tried", generate(made, "made", [0], ROOT / "resources")[0])
    estimate = simulate(made.methods["tried"].protocol.fit, started)
    assert estimate.numbers["record_openings"] == max(vectors(started, name, 90) for name in started.names)


def test_every_protocol_of_the_study_is_counted():
    tried = {"reference", "bcd", "joint", "block_svd", "correlation", *(method["protocol"] for method in PRIVATE)}
    assert tried == set(STUDY.methods)


def test_known_rows_of_an_attacker_tell_all_columns():
    X = np.zeros((50, 3))
    X[40:, 0], X[45:, 1], X[49, 2] = 1, 1, 1e-6
    rows = known_rows(X)
    assert len(rows) == 4 and np.linalg.matrix_rank(np.column_stack([np.ones(4), X[rows] * [1, 1, 1e6]])) == 4


def test_what_is_shown_of_a_fit_has_fixed_sizes_and_begins_at_the_start():
    data, settings = drawn(family="poisson", n=200, p=4)
    spec = MethodSpec(BcdOptions(), None, settings, data.public(), None, 2)
    path = np.geomspace(500, 100, 1000)
    seen = {"analyst: passive 1": data.X[:, 2:] @ stream(3, "directions").standard_normal((2, 40))}
    shown = example_fits(GlmEstimate(np.zeros(5), objective=path, views=seen), data, np.ones(200, bool), spec).arrays()
    points = shown["path_iteration"][1]
    kept = points[np.isfinite(points)].astype(int)
    assert len(points) == KEPT and (kept[0], kept[-1]) == (0, 999) and np.all(np.diff(kept) > 0)
    exact = fit_of(data, "poisson")
    expected = (path[kept] - exact.deviance) / (exact.null_deviance - exact.deviance)
    np.testing.assert_allclose(shown["path_excess"][1][: len(kept)], expected, rtol=1e-6)
    share = shown["leaked_share"][1]
    assert len(share) == MESSAGES and 0 < share[0] < 0.9 and share[1] == pytest.approx(1) == pytest.approx(share[-1])
    assert np.isnan(shown["coefficient_errors"][1]).all()
    np.testing.assert_allclose(shown["pooled_errors"][1], exact.bse, rtol=1e-6)


def test_a_matrix_that_noise_has_made_indefinite_is_told():
    grid = {"epsilon": [0.05]}
    noisy, _ = cell(
        settings={"n": 60, "p": 5, "rho": 0.9}, method={"protocol": "moments", "cipher": "sized"}, grid=grid
    )
    plain, _ = cell(
        settings={"n": 60, "p": 5, "rho": 0.9},
        method={"protocol": "moments", "cipher": "sized"},
        grid={"epsilon": [np.inf]},
    )
    assert noisy.scalars["projected"] and not plain.scalars["projected"]
    assert plain.scalars["noise_sd"] == 0 < noisy.scalars["noise_sd"]


def test_what_was_seen_of_the_smallest_party_counts_as_well():
    """One sweep: a party of one column has sent it, the first passive one half of its space."""
    words = {"settings": {"n": 100, "p": 5, "family": "binomial"}, "method": {"protocol": "bcd", "max_sweeps": 1}}
    found, data = cell(parties=3, **words)
    assert [party.columns for party in split(data, 3, None, GlmGeneratedSettings(n=100, p=5))] == [(0,), (1, 2), (3, 4)]
    assert found.scalars["attack_space"] == pytest.approx(1.0)


def test_generalised_models_against_the_intercept_alone():
    zero, _ = judged(np.zeros(5))
    assert zero["worse_than_null"] and zero["in_sample"]
    fitted = cell(method={"protocol": "reference"})[0].scalars
    assert not fitted["worse_than_null"] and fitted["in_sample"] and "record_clip_share" not in fitted
    held_out = cell(method={"protocol": "reference"}, grid={"folds": 4})[0].scalars
    assert not held_out["in_sample"] and held_out["worse_than_null"] == (held_out["excess_deviance_test"] > 1)


def test_records_that_a_private_fit_clips_are_counted():
    found, data = cell(
        method={"protocol": "moments", "cipher": "sized"}, settings={"family": "gaussian", "n": 400, "p": 6}
    )
    location, scale = data.constants.location, data.constants.scale
    z = (data.X - location) / scale
    own = [clip_curves(part, None, chi(3).ppf(0.997))[0] != part for part in (z[:, :3], z[:, 3:])]
    expected = np.mean(np.any(np.hstack(own), axis=1))
    assert 0 < expected < 1 and found.scalars["record_clip_share"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("declared", "size", "status", "interval"),
    [
        (False, 1.0, "ok", "known"),
        (False, 3.9, "clipped", "clipped"),
        (False, 5.0, "clipped", "clipped"),
        (True, 3.9, "ok", "known"),
        (True, 5.0, "ok", "shapes"),
    ],
)
def test_a_cell_whose_intervals_do_not_hold_is_clipped(declared, size, status, interval):
    """In a simulation who judges the cell has the records: 8 of 480 beyond the radii, or none, on two parties.

    The law of the released moments has less than 1 % of its records there. Of the released counts noise hides those 8
    that are near, so that the release alone gives intervals; where they are far it shows another shape. With declared
    kinds clipping is part of the law, and does not withhold intervals.
    """
    data = generated("vertical_glm", "aligned")
    X = np.tile(np.clip(data.X, -1, 1), (6, 1))
    X[::60, 0] = data.constants.location[0] + size * data.constants.scale[0]
    constants = data.constants if declared else replace(data.constants, kinds=())
    some = replace(data, X=X, y=np.tile(data.y, 6), order=np.arange(len(X)), constants=constants)
    fits_of = _Fits(planned_study("vertical_glm"), "aligned", "private_moments_dealer", 2, 0, some, Streams(1))
    for _ in range(2):
        found = fits_of.cell(0, 20.0).scalars
        assert (found["status"], found["interval"]) == (status, interval)
