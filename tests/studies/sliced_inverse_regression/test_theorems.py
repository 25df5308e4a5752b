"""What the source's conditions, limits and bounds are worth: by derivations of our own, simulation and enumeration."""

from __future__ import annotations

from itertools import product
from math import comb, e, log, sqrt

import numpy as np
import pytest
from scipy.stats import binom

from error_rates import accepts_sigma
from partywise.core.randomness import stream
from partywise.experiment.register.numbers import Cubes
from partywise.experiment.register.printed_source import read
from partywise.experiment.register.register import number_of
from partywise.experiment.register.table import read as read_table
from partywise.methods.inverse_regression import models
from partywise.methods.inverse_regression.moments import client_moments
from partywise.methods.inverse_regression.published import covariance_release, lemma1_sigma
from partywise.methods.inverse_regression.screening import ccmd_select
from partywise.methods.inverse_regression.slices import case_clip, equal_frequency
from partywise.studies.sliced_inverse_regression.register import facts, theorems
from pipeline import ROOT

PAGE = (ROOT / "docs" / "sliced_inverse_regression.md").read_text(encoding="utf-8")


def rng(*names):
    return stream(7, "theorems", *names)


def test_the_mean_is_linear_given_the_true_directions_and_not_given_any():
    assert (theorems.linear_models("any"), theorems.linear_models("true")) == (4, 5)


def test_the_central_curve_of_model_5_has_the_variances_of_y_and_its_square():
    """Var(Y, Y^2) = diag(1, 2), less what slices average away."""
    X, y, _ = models.draw("V", 400_000, 10, rng("V"))
    spectrum = theorems.central_spectrum(X, y)
    assert spectrum[:2] == pytest.approx([2, 1], rel=0.06) and np.all(spectrum[:2] < [2.01, 1.01])
    assert np.all(spectrum[2:] < 0.001)


def test_the_column_with_the_square_has_longer_tails_than_a_normal_one():
    """(E|x|^q)^(1/q) is of the order q where an exponential tail is, and sqrt(q) where a normal one is."""
    assert theorems.moment_growth("I") == pytest.approx(1, abs=0.01) and theorems.moment_growth("I") < 1
    assert theorems.moment_growth("V") == pytest.approx(2, rel=0.05)


@pytest.mark.parametrize("model", ["I", "II", "IV", "V"])
def test_signals_are_the_variances_of_slice_means(model):
    """By slices of the columns themselves, two active ones of five."""
    beta = models.directions(model, 5, theorems.rng_of("directions"), active=2)
    X, y, _ = models.draw(model, 500_000, 5, rng("signals", model), beta=beta)
    codes = equal_frequency(y, theorems.FINE).codes(y)
    counts = np.bincount(codes)
    means = np.stack([np.bincount(codes, column) / counts for column in (X - X.mean(axis=0)).T])
    direct = means**2 @ (counts / len(y)) - len(counts) / len(y)
    assert theorems.signals(model, 5, 2) == pytest.approx(direct, rel=0.08, abs=0.001)


def test_signals_fall_with_the_distance_and_every_column_is_active():
    assert theorems.signal_decades("IV") == pytest.approx(-450 * np.log10(4), rel=1e-6)
    assert theorems.signal_decades("III") == 0
    assert (theorems.active_ratio("II", 1000, 10), theorems.active_ratio("V", 500, 5)) == (100, 1)


def test_the_condition_of_theorem_4_has_no_n_in_it():
    """8 log(1.25/delta) / (sigma_0^2 R^2 H^(2 nu - 1) p^2 log(2/delta)), written out."""
    ratio = [log(1.25 * n**1.1) / log(2 * n**1.1) for n in (5000, 500)]
    assert (
        theorems.theorem_4_growth() == pytest.approx(ratio[0] / ratio[1], rel=1e-12) == pytest.approx(1.02, abs=0.005)
    )


def test_truncated_kernels_by_simulation():
    beta = models.directions("I", 10, theorems.rng_of("directions"))
    X, y, _ = models.draw("I", 2_000_000, 10, rng("kernel"), beta=beta)
    exact, clipped = (rows[y == 1].sum(axis=0) / len(y) for rows in (X, np.clip(X, -1, 1)))
    error = np.linalg.norm(np.outer(clipped, clipped) - np.outer(exact, exact), 2) / (exact @ exact)
    assert theorems.kernel_error(1.0) == pytest.approx(error, abs=0.005)
    values = [theorems.kernel_error(radius) for radius in (1.0, 1.5, 2.0, 3.0)]
    assert values == pytest.approx([0.53, 0.25, 0.09, 0.005], abs=0.005)


def test_the_noise_of_ten_clients_is_the_root_of_ten_times_the_printed_one():
    """By releases of the published program, with the norm 1 for all clients."""
    delta, n, noise = 500**-1.1, 500, []
    for k in range(200):
        X, y, _ = models.draw("III", n, 10, rng("client", k % 10))
        moments = client_moments(X, y, equal_frequency(y, 8), clip=case_clip(1.0))
        sigma = lemma1_sigma(n, 10, 1.0, delta)
        release = covariance_release(moments, sigma, rng("noise", k), owner=f"client {k}", norm=1.0)
        noise.append(release.value - moments.second)
    merged = np.stack(noise).reshape(20, 10, 10, 10).mean(axis=1)[:, *np.triu_indices(10)]
    printed = lemma1_sigma(10 * n, 10, 1.0, delta)
    assert accepts_sigma(merged, theorems.merged_noise(10) * printed) and not accepts_sigma(merged, printed)
    assert [theorems.merged_noise(K) for K in (1, 10, 100)] == pytest.approx([1, sqrt(10), 10], rel=1e-9)


def test_lemma_5_grows_where_its_condition_holds():
    values = [theorems.second_moment_error(n) for n in (100, 400, 1600, 6400, 25_600)]
    assert values == pytest.approx([94, 120, 153, 198, 261], rel=0.01)
    # The norm of symmetric normal noise of deviation 1 is 2 sqrt(p), and c_R^2 bounds the longest of n records.
    A = rng("norm").standard_normal((400, 400))
    assert np.linalg.norm((A + A.T) / sqrt(2), 2) == pytest.approx(2 * sqrt(400), rel=0.05)
    longest = (rng("longest").standard_normal((1600, 40)) ** 2).sum(axis=1).max()
    assert 0.6 < longest / (40 + 2 * sqrt(40 * log(1600)) + 2 * log(1600)) < 1


def test_the_union_bound_holds_where_the_printed_one_is_above_1():
    """An active column is lost if at least half of the clients miss it."""
    for clients, miss in product((2, 10, 50, 100), (0.2, 0.1, 0.01)):
        exact = binom.sf(clients / 2 - 1, clients, miss)
        assert exact <= (4 * miss) ** (clients / 2)
    assert theorems.screening_bound(100, 0.1) == pytest.approx(252, abs=0.5)
    assert theorems.screening_bound(100, 6.4e-4) < 0 < theorems.screening_bound(100, 6.5e-4)
    assert 50 * log(0.4) == pytest.approx(log(1.3e-20), abs=0.03)
    assert binom.sf(49, 100, 0.1) == pytest.approx(5.8e-24, rel=0.05)


def test_a_null_column_by_all_sets_of_votes():
    """Four clients with two slices each, enumerated: the program's rule, its probability, and the bound."""
    clients, slices, chance = 4, 2, 0.05
    kept = 0.0
    for votes in product((0, 1), repeat=clients * slices):
        table = np.reshape(votes, (clients, slices)).sum(axis=1)[:, None]
        if len(ccmd_select(table)):
            kept += chance ** sum(votes) * (1 - chance) ** (clients * slices - sum(votes))
    assert kept == pytest.approx(binom.sf(clients / 2, clients * slices, chance), rel=1e-12)
    any_slice = 1 - (1 - chance) ** slices
    assert kept <= (2 * e * slices * any_slice) ** (clients / (2 * slices))
    for K, H, p2 in product((10, 50, 100), (2, 8), (0.001, 0.01, 0.02)):
        # The worst clients vote in all slices at once.
        assert binom.sf(K // (2 * H), K, p2) <= (2 * e * H * p2) ** (K / (2 * H))
    assert theorems.deciding_clients() == 7 and theorems.deciding_clients(10, 2) == 3
    probabilities = [theorems.null_column_probability(K) for K in (100, 50, 10)]
    assert probabilities == pytest.approx([1.000, 0.995, 0.823], abs=0.0006)
    assert sum(comb(80, k) * 0.1**k * 0.9 ** (80 - k) for k in range(6)) == pytest.approx(1 - probabilities[2])


def test_signal_and_sensitivity_shrink_alike():
    """In equal slices a mean has H times the sensitivity and H times the length of a sum over n."""
    assert facts.kernel_noise() == pytest.approx(1, rel=1e-9)


def test_rounds_are_counted_from_the_transcript():
    assert (facts.rounds(10), facts.rounds(60, 4)) == (1, 2)


def test_the_share_of_better_cells_reads_the_rows_that_it_is_given():
    rows = read_table(ROOT / "docs" / "claims.csv")
    cells = [row for row in rows if row.id.startswith("001-table1-V-5000")]
    assert facts.better_share(cells, "printed") == facts.better_share(cells, "ours") == 1
    swapped = [
        row if "K50" not in row.id else cells[i - 4] if "VGM" in row.id else cells[i + 4] for i, row in enumerate(cells)
    ]
    renamed = [type(row)(**{**vars(row), "id": cell.id}) for row, cell in zip(swapped, cells, strict=True)]
    assert facts.better_share(renamed, "ours") == 0.75


@pytest.mark.parametrize("side", ["printed", "ours"])
def test_almost_all_cells_as_committed(side):
    rows = read_table(ROOT / "docs" / "claims.csv")
    path = ROOT / "lib/partywise/studies/sliced_inverse_regression/register/seed_001.toml"
    entry = next(entry for entry in read(path).entries if entry.id == f"001-almost-all-{side}")
    row = next(row for row in rows if row.id == entry.id)
    assert float(row.reproduction) == pytest.approx(number_of(entry, Cubes(ROOT), rows).value, rel=1e-3)


def test_the_page_has_the_numbers_of_the_register():
    """Sentences of the section on conditions and theorems."""
    values = {row.id: float(row.reproduction) for row in read_table(ROOT / "docs" / "claims.csv") if row.reproduction}

    def numbers(pattern: str, *keys: object) -> list[float]:
        return [values[f"001-{pattern.format(key)}"] for key in keys]

    limits = [100 * error for error in numbers("theorem4-limit-{}", 1.0, 1.5, 2.0, 3.0)]
    assert "In I {:.0f}, {:.0f}, {:.0f} and {:.1f} % away".format(*limits) in PAGE
    assert f"the quantity grows by {100 * (values['001-theorem4-condition'] - 1):.0f} %" in PAGE
    norms = theorems.second_moment_error(100), theorems.second_moment_error(25_600)
    assert "from {:.0f} (n = 100) to {:.0f} (n = 25 600)".format(*norms) in PAGE
    assert "adds a loss of {:.2f} in II and {:.2f} in IV".format(*numbers("theorem6-{}", "II", "IV")) in PAGE
    assert "probability {:.2f}, {:.3f} and {:.3f} for K".format(*numbers("majority-K{}", 10, 50, 100)) in PAGE
    shares = [100 * share for share in numbers("svd-share-{}", 500, 5000)]
    assert "{:.0f} and {:.0f} % of its operations at n = 500 and 5 000".format(*shares) in PAGE
    traces = [[values[f"001-vgm-trace-{model}-{n}"] for model in ("I", "III", "V")] for n in (500, 5000)]
    few, many = ([min(row), max(row)] for row in traces)
    assert "its trace is {:.0f} to {:.0f} times".format(*few) in PAGE
    assert "{:.0f} to {:.0f} times at n = 5 000".format(*(round(ratio, -1) for ratio in many)) in PAGE
    assert values["001-theorem8-ii"] == 7 and "seven of 100 clients decide" in PAGE
