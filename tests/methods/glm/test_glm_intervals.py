"""Intervals of a Gaussian model from noisy moments: coverage, no signal, other families, units of the columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import partywise as pw
from glm_driver import start
from noisy_driver import noise_row
from partywise.core.randomness import stream
from partywise.federation.run import simulate
from partywise.methods.glm.noisy_statistics.clip_counts import NoisyCounts
from partywise.methods.glm.noisy_statistics.intervals import intervals_of
from partywise.methods.glm.noisy_statistics.moments import MomentScale, NoisyMoments
from partywise.methods.glm.noisy_statistics.scaling import default_radius
from partywise.methods.glm.options import GlmMomentsOptions
from partywise.methods.glm.protocols import moments
from partywise.models.intervals import Intervals
from partywise.models.kinds import Kind
from partywise.models.simulation.base import noise_variances
from partywise.privacy.accounted_values import Public
from partywise.privacy.accounting.calibration import gdp_mu
from partywise.privacy.secure.fixed_point import whole_records
from partywise.privacy.statistics.isometry import to_vector

SLOPES, N, HALF_WIDTH, DRAWS = np.array([0.5, -0.3, 0.2, 0.4, -0.1]), 2000, 5.0, 400


def records(n: int, rng: np.random.Generator, slopes: np.ndarray = SLOPES, dependence: float = 0.2):
    """Normal columns of unit variance, and a response in its range."""
    p = len(slopes)
    covariance = dependence ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    X = rng.standard_normal((n, p)) @ np.linalg.cholesky(covariance).T
    return X, np.clip(1 + X @ slopes + 0.7 * rng.standard_normal(n), 1 - HALF_WIDTH, 1 + HALF_WIDTH)


def released(
    seed: int, epsilon: float = 2.0, n: int = N, slopes: np.ndarray = SLOPES, radii: Sequence[float] = (), **more: float
) -> tuple[NoisyMoments, NoisyCounts]:
    """Moments and counts of records with the noise of a target; as many parties as radii, by default one."""
    p, rng = len(slopes), stream(seed, "moments")
    sizes = np.array_split(np.arange(p), max(len(radii), 1))
    blocks = [
        (tuple(map(int, block)), radius) for block, radius in zip(sizes, radii or [default_radius(p)], strict=True)
    ]
    public = MomentScale(
        float(np.linalg.norm([radius for _, radius in blocks])), p, 1.0, HALF_WIDTH, blocks=tuple(blocks)
    )
    X, y = records(n, rng, slopes, **more)
    radii = np.array([[radius, max(1.25 * radius, default_radius(len(block)))] for block, radius in blocks])
    lengths = np.column_stack([np.linalg.norm(X[:, block], axis=1) for block, _ in blocks])
    far = np.count_nonzero(lengths[:, :, None] > radii, axis=0).ravel()
    for block, radius in blocks:
        X[:, block] *= np.minimum(1, radius / np.linalg.norm(X[:, block], axis=1))[:, None]
    v = np.column_stack([X, public.weight * (y - public.center)])
    exact = np.concatenate([to_vector(v.T @ v / n), np.sqrt(2) * public.constant * v.mean(axis=0)])
    sd = float(np.sqrt(2) * public.length**2 / n / gdp_mu(epsilon, 1e-5))
    zeros, ones = np.zeros(p), np.ones(p)
    moments = NoisyMoments.of(
        exact + sd * rng.standard_normal(len(exact)), n, noise_row(sd), np.ones((p + 1,) * 2), public, zeros, ones
    )
    # A share of 0.04 of the squared budget, of its own here.
    noise = float(np.sqrt(len(far) + 1) / (0.2 * gdp_mu(epsilon, 1e-5)))
    return moments, NoisyCounts(
        np.append(far, 0) + noise * rng.standard_normal(len(far) + 1), (noise_row(noise),), radii, n
    )


def declared(moments: NoisyMoments) -> NoisyMoments:
    """Return moments of columns that are declared as normal."""
    return replace(moments, public=replace(moments.public, kinds=(Kind(),) * moments.public.columns))


def asked(moments: NoisyMoments, counts: NoisyCounts | None, family: str = "gaussian") -> Intervals:
    """Return the intervals of five columns that were released at a delta of 1e-5."""
    return intervals_of(moments, counts, family, tuple("abcde"), 1e-5)


def test_the_clip_of_the_law_is_that_of_the_release():
    """The same records through the steps of a release and in floats: entries differ by one step of a record at most."""
    rng = stream(5, "clip")
    public = MomentScale(3.0, 3, 1.0, HALF_WIDTH, step=2.0**-15, blocks=(((0, 1), 2.0), ((2,), 5**0.5)))
    z, t = 2 * rng.standard_normal((500, 3)), 1 + 4 * rng.standard_normal(500)
    floats = public.of_model(z, public.weight * (t - public.center))
    steps = [whole_records(z[:, list(block)], radius, public.step)[0] for block, radius in public.clips]
    response = whole_records(public.weight * (t - public.center)[:, None], public.radius / 2, public.step)[0]
    v = np.column_stack([*steps, response]) * public.step
    assert np.mean(public.beyond(z)[:, 0]) > 0.3
    for row, record in zip(floats, v, strict=True):
        root = np.sqrt(2) * public.constant
        expected = np.concatenate([to_vector(np.outer(record, record)), root * record])
        np.testing.assert_allclose(row, expected, rtol=0, atol=2 * public.length * public.step)


def test_slopes_of_records_before_the_clip_are_held_where_today_s_radius_moves_them_by_many_errors():
    """20 draws at n = 20,000 and epsilon 8: the slopes among clipped records are .06 away, ten standard errors."""
    truth, held, widths = np.array([1.0, 0.5, -0.3]), [], []
    given = {"epsilon": 8.0, "n": 20_000, "slopes": truth[1:], "dependence": 0.0}
    for seed in range(20):
        moments, counts = released(seed, radii=(1.4, 1.4), **given)
        bounds = asked(declared(moments), counts).bounds()
        held.append((bounds[:, 0] <= truth) & (truth <= bounds[:, 1]))
        widths.append(np.diff(bounds[1:], axis=1)[:, 0] / 2)
    # 20 draws know 0.95 to 0.05: least of three coefficients within three of these.
    assert np.mean(held, axis=0).min() >= 0.8
    assert np.median(widths, axis=0) == pytest.approx(0.0125, rel=0.25)


def test_light_clipping_needs_no_kinds_and_heavy_clipping_asks_for_them():
    """Radii of 2.97 clip 0.3 % of normal records, radii of 1.4 clip 16 %."""
    slopes = np.array([0.5, -0.5])
    given = {"epsilon": 8.0, "n": 2000, "slopes": slopes, "dependence": 0.0}
    wide = asked(*released(1, radii=(default_radius(1),) * 2, **given))
    assert not wide.models_clipping and wide.diagnostics["clipped"] < 0.01
    assert np.all(np.abs(wide.centre[1:] - slopes) < 4 * wide.standard_errors[1:])
    tight, counts = released(1, radii=(1.4, 1.4), **given)
    assert re.search("undeclared kinds: 1[5-7] % .*`kinds`", asked(tight, counts).reason)
    heavy = asked(declared(tight), counts)
    assert heavy.models_clipping and "declared model beyond the radius" not in wide.estimand
    assert re.search("; 1[5-7] % of records were clipped: the intervals rest on the declared model", heavy.estimand)


def test_counts_are_what_tells_whether_columns_are_normal():
    """Without counts only declared columns have intervals; counts of other shapes refuse them, of their own do not."""
    given = {"epsilon": 8.0, "n": 2000, "slopes": np.array([0.5, -0.5]), "dependence": 0.0}
    moments, counts = released(1, radii=(default_radius(1),) * 2, **given)
    assert re.search("undeclared kinds: .*`count_clipped`", asked(moments, None).reason)
    untested, tested = (asked(declared(moments), rows) for rows in (None, counts))
    assert untested.diagnostics["shape_test"] == "none" and tested.diagnostics["degrees"] == 5
    assert tested.diagnostics["shape_test"] > 0.01
    np.testing.assert_allclose(tested.standard_errors, untested.standard_errors, rtol=0.02)
    heavy = replace(counts, value=counts.value + (4 * counts.sd + 40) * np.eye(5)[1])
    assert re.search("shapes: the normal shapes .*p = ", asked(moments, heavy).reason)


def test_counted_records_are_those_of_the_release():
    """Each bound of `NoisyCounts.of_model` on the same records, summed, is the count of the release without noise."""
    moments, counts = released(2, epsilon=np.inf, radii=(1.0, 1.7), slopes=SLOPES[:3])
    X, y = records(N, stream(2, "moments"), SLOPES[:3])
    response = moments.public.weight * (np.append(y[:-1], 9.0) - moments.public.center)
    counted = counts.of_model(X, response, moments.public).sum(axis=0)
    assert counts.sd == 0 and counted[-1] == 1 and counted.min() > 0
    np.testing.assert_allclose(counted[:-1], counts.value[:-1])


@pytest.mark.parametrize("high", range(1, 40))
def test_a_response_at_an_end_of_its_range_is_inside(high):
    """Half of Poisson responses may be 0: of a range from 0 to 12 rounding put all of these outside."""
    public = MomentScale(float(np.hypot(1.4, 1.4)), 1, high / 2, high / 2)
    counts = NoisyCounts(np.zeros(3), 1.0, np.ones((1, 2)), 4)
    response = public.weight * (np.array([0.0, high, -1e-6, high + 1e-6]) - public.center)
    assert counts.of_model(np.zeros((4, 1)), response, public)[:, -1].tolist() == [0.0, 0.0, 1.0, 1.0]


def test_the_default_radius_is_the_quantile_of_a_normal_length():
    assert [round(default_radius(p), 2) for p in (1, 2, 5, 10)] == [2.97, 3.41, 4.24, 5.16]


def test_they_are_in_the_units_of_the_columns():
    moments, counts = released(3)
    other = NoisyMoments.of(
        moments.vector, N, moments.event, moments.copies, moments.public, np.full(5, 2.0), np.full(5, 10.0)
    )
    bounds, moved = (asked(released_moments, counts) for released_moments in (moments, other))
    np.testing.assert_allclose(moved.centre[1:], bounds.centre[1:] / 10)
    np.testing.assert_allclose(moved.standard_errors[1:], bounds.standard_errors[1:] / 10)
    assert moved.centre[0] == pytest.approx(bounds.centre[0] - 2 * moved.centre[1:].sum())


def test_there_are_none_where_noise_hides_the_columns_or_a_family_has_no_law():
    assert "not identified: noise hides how column" in asked(*released(3, epsilon=0.3)).reason
    assert "'inverse_gaussian'" in asked(*released(3), "inverse_gaussian").reason


@pytest.mark.parametrize("dealer", [{"cipher": "sized"}, {"dealer": "dealer"}])
def test_the_noise_of_the_law_is_that_of_the_ledger(dealer):
    """Three parties: from rows of the ledger alone the same covariances to the bit, and noise that has them."""
    X, y = records(N, stream(4, "fit"))
    given = {"epsilon": 2.0, "location": 0.0, "scale": 1.0, "statistic": (-4.0, 6.0), **dealer}
    standardised = []
    for seed in range(20):
        fits = [
            pw.VerticalGLM("gaussian", "moments", **given | {"epsilon": epsilon}, intervals="none").fit(
                X, y, parties=3, rng=seed
            )
            for epsilon in (2.0, np.inf)
        ]
        moments, exact = (fit.estimate_.moments for fit in fits)
        noise = moments.sum(products_of_records).covariance
        standardised.append((moments.vector - exact.vector) / np.sqrt(noise))
    rows = {row.release_id: row for row in fits[0].ledger_.rows}
    of_ledger = replace(moments, event=rows["second moments"])
    np.testing.assert_array_equal(of_ledger.sum(products_of_records).covariance, noise)
    counts = fits[0].estimate_.clip_counts
    assert {event.release_id for event in counts.events} == {"clipped records", "clipped responses"}
    for name, row in rows.items():
        if name.startswith("clipped"):
            assert noise_variances(row, 0.0) == pytest.approx(counts.sd**2, rel=1e-12)
    # 27 numbers of 20 draws: their mean square is known to 0.061.
    assert np.mean(np.square(standardised)) == pytest.approx(1.0, abs=0.18)


def products_of_records(sample):
    """Stand for a statistic whose noise is asked for."""
    raise AssertionError(sample)


@pytest.mark.parametrize(("rows_per_user", "reason"), [(3, "dependent records"), (1, "")])
def test_several_records_of_one_person_have_none(rows_per_user, reason):
    """The bound is a setting of the case; persons with one record each are independent."""
    X, y = records(N, stream(4, "fit"))
    facts = {"statistic": Public(np.array([-4.0, 6.0]), because="of a test")}
    options = GlmMomentsOptions(cipher="sized")
    run = start(X, y, [[0, 1], [2, 3, 4]], options, epsilon=8.0, facts=facts)
    run.spec.settings = SimpleNamespace(rows_per_user=rows_per_user)
    assert simulate(moments.fit, run).intervals.reason.partition(":")[0] == reason


def test_the_estimator_has_them_and_says_why_others_have_none():
    X, y = records(N, stream(4, "fit"))
    given = {"epsilon": 4.0, "location": 0.0, "scale": 1.0, "statistic": (-4.0, 6.0)}
    fit = pw.VerticalGLM("gaussian", "moments", **given).fit(X, y, rng=1)
    bounds = fit.conf_int().to_numpy()
    assert isinstance(fit.intervals_, Intervals) and bounds.shape == (6, 2) and fit.bse is None
    assert f"{bounds[1, 0]:.4g}" in fit.summary() and np.all(np.diff(fit.conf_int(0.5).to_numpy()) < np.diff(bounds))
    assert "rest on normal columns" in fit.summary() and not fit.intervals_.models_clipping
    kinds = {f"x{j}": "normal" for j in range(5)}
    declared = pw.VerticalGLM("gaussian", "moments", kinds=kinds, **given).fit(X, y, rng=1)
    np.testing.assert_array_equal(declared.conf_int().to_numpy(), bounds)
    assert "the declared kinds" in declared.summary() and declared.intervals_.models_clipping
    without = pw.VerticalGLM("gaussian", "moments", intervals="none", **given).fit(X, y, rng=1)
    assert without.conf_int() is None and "not asked for" in without.intervals_.reason
    other = pw.VerticalGLM("gaussian", "noisy_gradient", eta_start=1.0, **given).fit(X, y, rng=1)
    assert other.conf_int() is None and f"no intervals: {other.intervals_.reason}" in other.summary()


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        ({"x0": "normal"}, "give one of each column"),
        ({"x0": "normal", "x1": "count"}, "'count'"),
        ({"x0": "normal", "x1": ("uniform", 1.0)}, r"\('uniform', low, high\)"),
        ({"x0": "normal", "x1": ("binary", 1.0, 0.0)}, "the smaller first"),
        ({"x0": "normal", "x1": "bell"}, "use one of normal"),
        ({"x0": "normal", "x1": {"binary": [0, 2]}}, r"\{'binary': \[0, 2\]\} for column 'x1': give 'normal'"),
        ({"x0": "normal", "x1": ("lognormal", "0")}, r"\('lognormal', '0'\) for column 'x1': give 'normal'"),
        ({"x0": "normal", "x1": None}, "None for column 'x1': give 'normal'"),
        (["normal", "normal"], r"kinds is \['normal', 'normal'\]: give one of each column by name"),
    ],
)
def test_kinds_that_are_none_are_refused(kinds, words):
    X, y = stream(4, "kinds").standard_normal((2, 50, 2))
    given = {"epsilon": 4.0, "location": 0.0, "scale": 1.0, "statistic": (-4.0, 6.0)}
    with pytest.raises(ValueError, match=words):
        pw.VerticalGLM("gaussian", "moments", kinds=kinds, **given).fit(X, y[:, 0], rng=1)
    with pytest.raises(ValueError, match="protocol='moments' and 'noisy_newton' only"):
        pw.VerticalGLM("gaussian", kinds=kinds).fit(X, y[:, 0], rng=1)
