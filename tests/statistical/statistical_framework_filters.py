"""Accuracies of the study over 20 splits of four hospitals and deals of 200 clients, beside those of the specification.

Every difference is taken in standard errors of both means: a mean of a specification has that of its own replicates.
"""

from __future__ import annotations

import numpy as np
import pytest

from partywise.data.fetch import fetch_folder
from partywise.experiment.cells import run
from partywise.experiment.data import generate
from partywise.experiment.plan import plan
from pipeline import ROOT
from shipped import shipped

pytestmark = pytest.mark.statistical
RESOURCES = ROOT / "resources"
# Method, epsilon, accuracy and its standard error.
HEART = [
    ("plain_average", np.inf, 0.789, 0.005),
    ("local_twice_c", 1.0, 0.544, 0.02),
    ("local_twice_c", 10.0, 0.684, 0.011),
    ("fixed_clip", np.inf, 0.760, 0.006),
    ("adaptive_shipped", np.inf, 0.752, 0.006),
    ("adaptive_mended", np.inf, 0.775, 0.006),
    ("percentile_filter", np.inf, 0.754, 0.006),
    ("sparse_vector_filter", np.inf, 0.514, 0.02),
    ("certified_rows", 1.0, 0.747, 0.007),
    ("certified_rows", 2.0, 0.768, 0.006),
    ("certified_clients", 1.0, 0.525, 0.02),
    ("certified_clients", 10.0, 0.576, 0.02),
]
ADULT = [
    ("plain_average", np.inf, 0.8214, 0.002),
    ("fixed_clip_half", np.inf, 0.8212, 0.002),
    ("shipped_from_tenth", np.inf, 0.7560, 0.003),
    ("mended_from_tenth", np.inf, 0.8202, 0.002),
    ("certified_clients_half", 8.0, 0.8211, 0.002),
]


# Rows of the table of costs of docs/framework_filters.md, with the fits of their accuracies.
PAGE = {
    "no privacy": [("plain_average", np.inf)],
    "local DP, S = 1e-4": [("local_tiny_s", 10.0)],
    "local DP, S = 2C": [("local_twice_c", 1.0), ("local_twice_c", 10.0)],
    "fixed clip, z = 1, by examples": [("fixed_clip", np.inf)],
    "adaptive clip, as shipped / corrected": [("adaptive_shipped", np.inf), ("adaptive_mended", np.inf)],
    "percentile": [("percentile_filter", np.inf)],
    "sparse vector": [("sparse_vector_filter", np.inf)],
    "**certified, unit record**": [("certified_rows", epsilon) for epsilon in (1.0, 2.0, 4.0)],
    "certified, unit client": [("certified_clients", epsilon) for epsilon in (1.0, 10.0)],
}


def printed(row: str) -> list[float]:
    """The accuracies of a row of the page, its last cell."""
    section = (ROOT / "docs" / "framework_filters.md").read_text(encoding="utf-8").partition("\n## Cost\n")[2]
    [line] = [line for line in section.splitlines() if line.startswith(f"| {row} |")]
    return [float(number) for number in line.strip(" |").rpartition("|")[2].strip(" *").split(" / ")]


def accuracies(case: str, resource: str, replicates: int, parties: int) -> dict[tuple[str, float], np.ndarray]:
    """Accuracy of every replicate, by method and epsilon."""
    fetch_folder(resource, RESOURCES)
    block = shipped()["studies"]["framework_filters"] | {"figures": []}
    made = plan("framework_filters", block, 20240601)
    data, found = generate(made, case, range(replicates), RESOURCES), {}
    for method in made.cases[case].methods:
        for cell in run(made, case, method, parties, range(replicates), [0], data):
            found.setdefault((method, cell.coords["epsilon"]), []).append(cell.scalars["accuracy"])
    return {key: np.array(values) for key, values in found.items()}


def off(own: np.ndarray, mean: float, error: float) -> float:
    """Difference of two means in standard errors."""
    return float((own.mean() - mean) / np.hypot(own.std(ddof=1) / np.sqrt(len(own)), error))


def test_four_hospitals():
    found = accuracies("four_hospitals", "heart", 20, 4)
    differences = {(m, e): off(found[m, e], mean, error) for m, e, mean, error in HEART}
    assert not {key: value for key, value in differences.items() if abs(value) > 3}, differences
    for row, fits in PAGE.items():
        assert printed(row) == pytest.approx([found[fit].mean() for fit in fits], abs=5.1e-4), row


def test_two_hundred_clients():
    """One site of all clients adds the noise once, as a trusted sum does."""
    found = accuracies("adult_200", "adult", 3, 1)
    differences = {(m, e): off(found[m, e], mean, error) for m, e, mean, error in ADULT}
    assert not {key: value for key, value in differences.items() if abs(value) > 3}, differences
