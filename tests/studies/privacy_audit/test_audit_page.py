"""Numbers of docs/privacy_audit.md are those of the default run that is stored as the reference."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from partywise.experiment.differences.verb import unpack
from partywise.experiment.results.cube import open_cube
from pipeline import ROOT

REFERENCE = ROOT / "docs" / "reference" / "default.tar.xz"
# Beginnings of rows of the table of results, with their cases in the order of the numbers.
ROWS = {
    "000: N(0, s^2 M)": ("fb_coefficients_q7", "fb_coefficients_q15", "fb_coefficients_q30"),
    "000: the same, 15 splines": ("fb_coefficients_hours", "fb_coefficients_days"),
    "000: noise times sqrt(J)": ("fb_sqrt_j",),
    "001: slice means": ("sir_slice_means_quantile",),
    "001: vectorised mechanism": ("sir_vectorised_charitable",),
    "001: covariance of Lemma 1": ("sir_covariance",),
    "001: scaling by the longest": ("sir_scale_1_1", "sir_scale_1_5"),
    "002: classic Gaussian noise": ("walr_classic",),
    "003: bin response": ("bucket_rr_quantile",),
    "003: 100 quantile bins": ("bucket_rr_quantile_b100",),
    "003: 14 features": ("bucket_rr_features", "bucket_rr_adult"),
    "003: OpBoost global": ("opboost_global",),
}


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> xr.Dataset:
    """The published mechanisms of the stored default run."""
    folder = tmp_path_factory.mktemp("reference")
    unpack(REFERENCE, folder)
    return open_cube(Path(folder) / "privacy_audit" / "cube.nc").sel(method_label="published").load()


def fits(cube: xr.Dataset, case: str) -> xr.Dataset:
    """The fits of a case, by number of parties and claim."""
    stacked = cube.sel(case=case).squeeze(drop=True).stack(fit=("parties", "epsilon"))
    return stacked.isel(fit=(stacked.status > 0).values)


def same(cell: str, values: np.ndarray) -> bool:
    """Whether values round to the numbers of a cell, without what is in brackets; one number is that of all values."""
    printed = re.findall(r"\d+(?:\.(\d+))?", re.sub(r"\([^)]*\)", "", cell))
    texts = re.findall(r"\d+(?:\.\d+)?", re.sub(r"\([^)]*\)", "", cell))
    rounded = [(float(text), 0.51 * 10.0 ** -len(decimals)) for text, decimals in zip(texts, printed, strict=True)]
    rounded *= len(values) if len(rounded) == 1 else 1
    return all(abs(value - number) <= half for value, (number, half) in zip(values, rounded, strict=True))


@pytest.mark.parametrize("begin", list(ROWS))
def test_a_row_of_the_page_is_that_of_the_default_run(published, begin):
    page = (ROOT / "docs" / "privacy_audit.md").read_text(encoding="utf-8")
    [line] = [line for line in page.splitlines() if line.startswith(f"| {begin}")]
    _, certified, audited = (cell.strip() for cell in line.strip("|").split("|")[1:4])
    found = [fits(published, case) for case in ROWS[begin]]
    proved = np.concatenate([part.certified_for_claim.values for part in found])
    lower = [np.fmax(np.fmax(part.audited_lower, part.epsilon_mu_lower), part.one_run_lower).values for part in found]
    assert same(certified, proved) if np.isfinite(proved).all() else certified.startswith("inf")
    assert audited == "exact" or same(audited, np.concatenate(lower))


def test_the_areas_of_the_tracing_attack_are_those_of_the_default_run(published):
    page = (ROOT / "docs" / "privacy_audit.md").read_text(encoding="utf-8")
    [told] = re.findall(r"the AUC is ([\d.]+) without noise", page)
    assert float(told) == pytest.approx(float(np.nanmax(fits(published, "body_fat").tracing_auc)), abs=5e-4)


def test_a_number_that_moved_is_seen():
    assert same("581 / 2.69 (3 pure)", np.array([580.7, 2.6884])) and same("62.5, the limit", np.array([62.49, 62.51]))
    assert not same("582 / 2.69", np.array([580.7, 2.6884])) and not same("62.5", np.array([62.49, 62.4]))
