"""``pw.plot.privacy_curve``: lines are what the accountant says of each delta, and of every attack."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib import pyplot as plt

import partywise as pw
from partywise.plot import curves
from partywise.privacy.rounding import upward


def release(mu: float, owner: str = "hospital", number: int = 0):
    records = pw.stream(4, "records").normal(size=(50, 2))
    total = pw.record_sum(records, pw.Public(1.0, because="upper limit of the assay"))
    return pw.Gaussian(mu=mu)(total, pw.stream(4, "noise", number), owner=owner, release_id=f"sum {number} of {owner}")


@pytest.fixture(scope="module")
def fitted():
    X = pw.stream(2, "features").uniform(size=(400, 2))
    options = {"sigma": "classic", "noise": "iid", "ridge": "fixed"}
    return pw.LabelPrivateLogisticRegression(epsilon=20.0, **options).fit(X, X[:, 0] > 0.5, rng=7)


def drawn(ax) -> dict[str, np.ndarray]:
    return {line.get_label(): np.array(line.get_xydata(), float) for line in ax.get_lines()}


def test_epsilons_of_a_ledger_are_those_of_its_worst_coalition():
    ledger = pw.Ledger([release(0.3).event, release(0.4, number=1).event])
    (line,) = drawn(pw.plot.privacy_curve(ledger)).values()
    np.testing.assert_allclose(line[:, 1], pw.gaussian_epsilon(0.5, line[:, 0]), rtol=1e-9)
    for delta, epsilon in line[::11]:
        assert epsilon == ledger.worst_total(["hospital", "server"], "row", delta).epsilon_certified


def test_a_fit_stands_at_its_delta_and_its_claim_is_hollow(fitted):
    ax = pw.plot.privacy_curve({"classic": fitted})
    shown, delta = drawn(ax), fitted.delta
    assert fitted.privacy_.epsilon_certified > fitted.epsilon_claimed_ == 20.0
    (claim,) = shown.pop("classic, claimed: no guarantee")
    np.testing.assert_array_equal(claim, [delta, 20.0])
    line = shown.pop("classic")
    ((words, (mark,)),) = shown.items()
    np.testing.assert_array_equal(mark, [delta, fitted.privacy_.epsilon_certified])
    assert words == f"classic, ε = {upward(fitted.privacy_.epsilon_certified)} at δ = 1e-5"
    assert np.isclose(np.interp(np.log(delta), np.log(line[:, 0]), line[:, 1]), mark[1], rtol=1e-3)
    hollow = {one.get_label(): one.get_markerfacecolor() for one in ax.get_lines()}
    assert hollow["classic, claimed: no guarantee"] == "white"
    assert ax.get_ylabel() == "certified ε of a label" and ax.get_xlabel() == "δ" and ax.get_xscale() == "log"


def test_bounds_of_attacks_are_those_of_the_total(fitted):
    total = fitted.privacy_
    ax = pw.plot.privacy_curve(total, kind="roc")
    line = drawn(ax)["certified"]
    for rate, bound in ((0.01, total.tpr_at_1_percent), (0.001, total.tpr_at_0_1_percent)):
        assert np.isclose(np.interp(rate, line[:, 0], line[:, 1]), bound, rtol=0.02)
    assert (line[1:-1, 1] >= line[1:-1, 0]).all() and (line[0] == 0).all() and (line[-1] == 1).all()
    assert ax.get_xlim() == ax.get_ylim() == (0, 1)


def test_what_is_not_proved_has_no_line_and_no_bound():
    X = pw.stream(1, "records").normal(size=(100, 2))
    open_fit = pw.VerticalGLM("gaussian", parties=[[0], [1]]).fit(
        X, X[:, 0] + pw.stream(1, "e").normal(size=100), rng=7
    )
    shown = drawn(pw.plot.privacy_curve({"opened": open_fit, "one": pw.cost(mu=1.0)}))
    assert np.isnan(shown["opened: nothing is certified"][:, 1]).all() and np.isfinite(shown["one"]).all()
    bound = drawn(pw.plot.privacy_curve({"opened": open_fit}, kind="roc"))["opened"]
    assert (bound[:, 1] == 1).all()


def test_epsilons_that_lie_far_apart_have_a_logarithmic_axis():
    near = pw.plot.privacy_curve(pw.cost(epsilon=1.0))
    far = pw.plot.privacy_curve({"one": pw.cost(epsilon=0.01), "other": pw.cost(epsilon=10.0)})
    assert near.get_yscale() == "linear" and near.get_ylim()[0] == 0 and far.get_yscale() == "log"


def test_errors_have_a_remedy(fitted):
    with pytest.raises(ValueError, match=r"kind='delta' .*use one of"):
        pw.plot.privacy_curve(fitted, kind="delta")
    with pytest.raises(TypeError, match="'certified' is of type int, without privacy_: give a ledger"):
        pw.plot.privacy_curve(3)
    with pytest.raises(TypeError, match="an estimator after its fit"):
        pw.plot.privacy_curve(pw.VerticalPCA())
    with pytest.raises(ValueError, match="different units, features, label"):
        pw.plot.privacy_curve({"one": fitted, "other": pw.Ledger([release(1.0).event])})
    with pytest.raises(ValueError, match="unit is missing: the rows of the ledger have none"):
        pw.plot.privacy_curve(pw.Ledger())
    with pytest.raises(AttributeError, match="no attribute 'nonsense': its names"):
        pw.plot.nonsense  # noqa: B018


def test_given_axes_keep_their_title_and_legend_and_a_notebook_its_style(fitted):
    before = dict(plt.rcParams)
    _, ax = plt.subplots()
    assert pw.plot.privacy_curve(fitted, ax=ax) is ax and not ax.get_title() and ax.get_legend() is None
    own = pw.plot.privacy_curve(fitted)
    assert own.figure.legends and own.figure._suptitle.get_text() == "What is certified, at every δ"
    assert dict(plt.rcParams) == before


@pytest.mark.parametrize("backend", ["agg", "svg", "pdf"])
def test_whatever_the_backend_is(backend, fitted, tmp_path):
    before = plt.get_backend()
    plt.switch_backend(backend)
    try:
        pw.plot.privacy_curve(fitted).figure.savefig(tmp_path / "curve.png")
    finally:
        plt.switch_backend(before)
    assert (tmp_path / "curve.png").stat().st_size > 1000


def test_the_figure_of_the_tracing_attack_draws_with_it(monkeypatch):
    from invented import invented
    from partywise.studies.privacy_audit.figures import tracing
    from shipped import shipped_plans

    calls, cube = [], invented(shipped_plans()["privacy_audit"], replicates=2)
    monkeypatch.setattr(tracing, "privacy_curve", lambda *a, **k: calls.append((a, k)) or curves.privacy_curve(*a, **k))
    figure = tracing.tracing_roc(cube)
    assert len(calls) == len(figure.axes) > 0
    for ((bounds,), given), ax in zip(calls, figure.axes, strict=True):
        assert given["ax"] is ax and given["kind"] == "roc"
        mus = {round(one.mu, 9) for one in bounds.values()}
        assert mus == {0.25, 2.0}, "invented: a quarter of the targets 1 and 8"
        thin = [line for line in ax.get_lines() if line.get_linewidth() == 0.8 and line.get_linestyle() != ":"]
        assert len(thin) == 2 and not any(str(line.get_label()) in bounds for line in thin)
