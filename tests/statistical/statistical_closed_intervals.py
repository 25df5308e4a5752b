"""Coverage of intervals in closed form: shares by randomised response, quantiles from a noisy histogram, WALR."""

import math

import numpy as np
import pytest
from scipy.special import erfinv

import partywise as pw
from partywise.methods.logistic.noise import released_intervals
from partywise.methods.logistic.planner import fixed_plan, plan_label_dp
from partywise.methods.logistic.release import redraw_dot_products
from partywise.studies.label_private.cases import draw_logistic
from partywise.studies.label_private.settings import LabelGeneratedSettings

pytestmark = pytest.mark.statistical
DRAWS = {"shares": 2000, "quantiles": 400, "labels": 400}


@pytest.mark.parametrize(("n", "epsilon", "k"), [(1000, 1.0, 5), (5000, 0.5, 10)])
def test_intervals_of_shares_cover_the_population(n, epsilon, k, capsys):
    """0.95 within 3 SE on average over levels, and at least 0.95 - 3 SE of draws together; naive ones do not."""
    respond, rng = pw.RandomizedResponse(epsilon, k), pw.stream(11, "shares", k)
    shares = np.arange(k, 0, -1.0) / np.arange(k + 1).sum()
    certificate = pw.SensitivityCertificate(1, "hamming", "row", "replace_one", {"label"}, records=1)
    covers, together, naive, halves = [], [], [], []
    for _ in range(DRAWS["shares"]):
        answers = pw.Bounded(rng.choice(k, size=n, p=shares), certificate)
        told = respond(answers, rng, owner="registry", release_id="answers").value
        ends, wide = respond.frequency_intervals(told), respond.frequency_intervals(told, together=True)
        covers.append((ends[:, 0] <= shares) & (shares <= ends[:, 1]))
        together.append(np.all((wide[:, 0] <= shares) & (shares <= wide[:, 1])))
        halves.append(np.median(ends[:, 1] - ends[:, 0]) / 2)
        frequencies = respond.frequencies(told).clip(0, 1)
        naive.append(abs(frequencies - shares) <= 1.96 * np.sqrt(frequencies * (1 - frequencies) / n))
    mean, se = np.mean(covers), math.sqrt(0.95 * 0.05 / DRAWS["shares"])
    with capsys.disabled():
        least = np.mean(covers, axis=0).min()
        print(f"\nn {n}, epsilon {epsilon}, {k} levels: {mean:.3f} (least level {least:.3f}, SE {se:.3f}), ", end="")
        print(f"together {np.mean(together):.3f}, half-width {np.median(halves):.3f}, naive {np.mean(naive):.3f}")
    assert abs(mean - 0.95) < 3 * se and np.mean(covers, axis=0).min() > 0.95 - 4 * se
    assert np.mean(together) > 0.95 - 3 * se and np.mean(naive) < 0.6


@pytest.mark.parametrize(("n", "epsilon", "size"), [(500, 0.2, 32), (500, 1.0, 64), (5000, 0.2, 64), (5000, 1.0, 32)])
@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_intervals_of_quantiles_cover_the_population(n, epsilon, size, q, capsys):
    """At least 0.95 - 3 SE; without the noise's part fewer where noise weighs."""
    sd = math.sqrt(2) / pw.gdp_mu(epsilon, 1e-5)
    edges, rng = np.linspace(-4, 4, size + 1), pw.stream(12, "quantiles", n, size, str(q))
    mechanism, cells = pw.Gaussian(sigma=sd), pw.Public(size, because="cells of a public range")
    truth = math.sqrt(2) * erfinv(2 * q - 1)
    covers, lengths, blind = [], [], []
    for _ in range(DRAWS["quantiles"]):
        records = rng.normal(size=n)
        counts = pw.counts(np.searchsorted(edges[1:-1], records), cells)
        released = mechanism(counts, rng, owner="clinic", release_id="records").value
        found, noiseless = (pw.histogram_quantile(released, edges, q, n=n, sd=part) for part in (sd, 0.0))
        covers.append(found.lower <= truth <= found.upper)
        blind.append(noiseless.lower <= truth <= noiseless.upper)
        lengths.append((found.upper - found.lower) / (edges[1] - edges[0]))
    se = math.sqrt(0.95 * 0.05 / DRAWS["quantiles"])
    with capsys.disabled():
        print(f"\nn {n}, epsilon {epsilon}, {size} cells, q {q}: {np.mean(covers):.3f} (SE at .95 {se:.3f}), ", end="")
        print(f"half-length {np.median(lengths) / 2:.1f} cells, noise left out {np.mean(blind):.3f}")
    assert np.mean(covers) > 0.95 - 3 * se
    if (n, epsilon) == (500, 0.2):
        assert np.mean(blind) < 0.9


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("n", [1000, 5000, 20000])
@pytest.mark.parametrize("noise", ["classic", "analytic", "planned", "rr"])
def test_intervals_of_label_private_coefficients_cover_what_made_the_labels(n, epsilon, noise, capsys):
    """At least 0.95 - 4 SE of fits with intervals, for the least of 240 numbers in all; a third of fits has some."""
    settings, covers = LabelGeneratedSettings(n=n, k=5), []
    for draw in range(DRAWS["labels"]):
        X, y, truth = draw_logistic(settings, pw.stream(13, "labels", n, str(epsilon), draw))
        if noise == "planned":
            plan = plan_label_dp(X, epsilon, 1e-5, distribution="gaussian")
        elif noise == "rr":
            plan = fixed_plan(X, epsilon, 1e-5, distribution="rr", ridge="fixed")
        else:
            bound = "sqrt_k" if noise == "classic" else "max_norm"
            plan = fixed_plan(X, epsilon, 1e-5, sigma=noise, bound=bound, ridge="fixed")
        rng = pw.stream(14, "noise", noise, n, str(epsilon), draw)
        ends = released_intervals(X, redraw_dot_products(X, y, plan, 1, rng)[0], plan).bounds()
        if ends is not None:
            covers.append((ends[:, 0] <= truth) & (truth <= ends[:, 1]))
    least, se = np.mean(covers, axis=0).min(), math.sqrt(0.95 * 0.05 / len(covers))
    with capsys.disabled():
        print(f"\nn {n}, epsilon {epsilon}, {noise}: least {least:.3f} (SE at .95 {se:.3f}), {len(covers)} fits with")
    assert least > 0.95 - 4 * se and len(covers) > DRAWS["labels"] / 3
