"""The audit study as a whole: its cube, its figures, and audits that do not depend on blocks."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from partywise.experiment.cells import run
from partywise.experiment.data import generate
from partywise.experiment.plan import plan
from partywise.experiment.results.attributes import meanings
from partywise.privacy.rounding import upward
from partywise.studies.privacy_audit.figures.claims import claims, published_lines, worst_claims
from partywise.studies.privacy_audit.figures.tracing import tracing_roc
from partywise.studies.privacy_audit.study import STUDY
from relabel import content, relabelled
from small_cube import computed


def block():
    """Claims of every kind, small enough for seconds."""
    both = {"methods": ["published", "corrected"], "replicates": 2, "parties": [1], "folds": 1, "epsilon": [1.0]}
    claims = {
        "covariance": ({"n": 10}, {}),
        "orthonormal": ({"n": 10}, {}),
        "radius": ({"n": 40}, {}),
        "budget": ({"n": 10, "n_basis": 1}, {"parties": [2, 4]}),
        "messages": ({"n": 10}, {}),
        "near_tie": ({"n": 1000, "truncation": 1.0, "n_slices": 4}, {}),
        "printed_covariance": ({"n": 1000, "truncation": 1.0}, {}),
        "label_sum": ({"n": 20}, {"epsilon": [1.0, 16.0]}),
        "quantile_bins": ({"n": 40, "n_bins": 10}, {}),
        "adjusting": ({"n": 100}, {}),
        "scores": ({"n": 50}, {}),
        "hashes": ({"n": 30, "population": 100}, {}),
        "tracing": ({"n": 41, "p": 5}, {"epsilon": [1.0, 8.0]}),
    }
    few = {"protocol": "audit", "draws": 2000, "trials": 5, "canaries": 50}
    return {
        "methods": {"published": few, "corrected": few | {"variant": "corrected"}},
        "cases": {
            claim: {"source": claim, "settings": settings, "grid": both | grid}
            for claim, (settings, grid) in claims.items()
        },
    }


@pytest.fixture(scope="module")
def cube(tmp_path_factory):
    return computed("privacy_audit", block(), 3, tmp_path_factory.mktemp("audit"))


def test_the_cube_holds_a_row_for_every_mechanism(cube):
    assert set(STUDY.variables) - set(cube.data_vars) <= {"least_variance", "printed_total", "recovery_error"}
    titles = set(np.unique(meanings(cube["title"])))
    assert "noise_times_root_J_-_20_predictors" in titles
    certified = cube["certified_for_claim"].sel(case="covariance", parties=1, fold=0, epsilon=1.0)
    assert float(certified.sel(method_label="published")[0]) > 2000
    assert float(certified.sel(method_label="corrected")[0]) == pytest.approx(1.0)
    cell_ = {"case": "orthonormal", "method_label": "corrected", "parties": 1, "fold": 0, "epsilon": 1.0}
    lower = cube["mu_lower"].sel(cell_)
    assert lower[0] != lower[1], "replicates are independent audits"


def test_the_main_figure_draws_what_the_cube_holds(cube):
    lines = {line.label: line for line in published_lines(cube)}
    assert "noise times root J - 20 predictors, J = 4" in lines
    assert lines["label dot product - classic noise, ε = 16"].epsilon_certified == pytest.approx(18.9, abs=0.01)
    bad = lines["curves with noise covariance s²M - 15 splines on 0 to 1"]
    assert (
        bad.refuted
        and bad.epsilon_claimed == 1
        and bad.epsilon_corrected == pytest.approx(1.0)
        and bad.epsilon_certified > 2000
    )
    free = lines["clip radius at the 95th percentile of the data"]
    assert free.epsilon_claimed == 0 and free.epsilon_certified == inf and free.refuted
    control = lines["curves with white noise on orthonormal coordinates"]
    assert control.control and not control.refuted
    printed = lines["vectorised noise - as printed"]
    assert np.isnan(printed.epsilon_audited) and not printed.refuted and printed.epsilon_certified == inf
    assert not any("tracing" in label for label in lines), "a description is not an audit"
    # Set intersection certifies nothing and hides identifiers all the same: what an attack finds is said beside.
    hashed = lines["SHA-256 of identifiers"]
    assert (
        hashed.recovered_shares == (1, 0)
        and hashed.epsilon_corrected == inf
        and lines["scores U D of a party"].recovered_shares[0] == 1
    )
    table = claims(cube)
    assert [row["mechanism"] for row in table.rows] == [line.label for line in published_lines(cube)]
    rows = {row["mechanism"]: row for row in table.rows}
    assert rows[bad.label]["certified"] == upward(bad.epsilon_certified) and rows[bad.label]["outcome"] == "refuted"
    assert rows[free.label]["claimed"] == "free" and rows[free.label]["certified"] == "∞"
    assert rows[printed.label]["attacked at least"] == "not attacked", "which is not a 0"
    assert rows[hashed.label]["records recovered"] == "100% → 0%"
    assert rows[control.label]["outcome"] == "holds, a control"
    refuted = [line for line in published_lines(cube) if line.refuted]
    assert table.title.startswith(f"{len(refuted)} of ")


def test_the_picture_of_the_worst_claims_has_words_for_outsiders(cube):
    figure = worst_claims(cube)
    (ax,) = figure.axes
    words = [tick.get_text() for tick in ax.get_yticklabels()]
    assert "noisy curves: 15 splines per curve\nsource 000: functional boosting" in words and len(words) <= 6
    worst = max(
        line.factor
        for line in published_lines(cube)
        if line.refuted and line.epsilon_claimed > 0 and line.epsilon_audited < inf
    )
    assert f" {int(worst)} times" in figure.get_suptitle()
    assert ax.get_xlabel() and figure.legends


def test_the_second_figure_shows_areas_of_the_cube(cube):
    figure = tracing_roc(cube)
    (ax,) = figure.axes
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    areas = cube["tracing_auc"].sel(case="tracing", parties=1, fold=0)
    assert [label.split(":")[0] for label in labels] == ["without noise", "ε = 8", "ε = 1"]
    private = float(areas.sel(method_label="corrected", epsilon=8.0).mean("replicate"))
    assert labels[1].startswith(f"ε = 8: {private:.3f}")


def test_figures_say_when_there_is_nothing_to_show(cube):
    nothing = cube.drop_vars("roc_true")
    assert "No tracing attack" in tracing_roc(nothing).axes[0].texts[0].get_text()
    corrected = cube.isel(method_label=np.flatnonzero(cube["method_variant"].values == "corrected"))
    assert "No published mechanism" in claims(corrected).notes[0]
    assert "No refuted claim" in worst_claims(corrected).axes[0].texts[0].get_text()


def test_audits_do_not_depend_on_blocks(tmp_path):
    made = plan("privacy_audit", block(), 3)
    data = generate(made, "orthonormal", range(2), tmp_path)
    together = run(made, "orthonormal", "published", 1, [0, 1], [0], data)
    apart = [c for r in (0, 1) for c in run(made, "orthonormal", "published", 1, [r], [0], data)]
    assert [repr(c.scalars) for c in together] == [repr(c.scalars) for c in apart]
    assert [c.ledger for c in together] == [c.ledger for c in apart]


@pytest.mark.parametrize("name", sorted(STUDY.figures))
def test_a_figure_does_not_know_labels(cube, name):
    """Other labels of cases and methods, the same picture."""
    drawn = content(STUDY.figures[name](cube))
    assert content(STUDY.figures[name](relabelled(cube))) == drawn
