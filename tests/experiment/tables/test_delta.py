"""Totals of delta against 1/n: where one is as large, an epsilon says nothing; the cell, summary and log say so."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import numpy as np
import pytest

from partywise.experiment.blocks import write_block
from partywise.experiment.cells import delta_scalars, run
from partywise.experiment.claims import ClaimSettings
from partywise.experiment.data import generate
from partywise.experiment.plan import plan
from partywise.experiment.plans import read_configuration
from partywise.experiment.results.columns import CubeColumns
from partywise.experiment.tables.page import summary_wide
from partywise.experiment.tables.run_totals import RunTotals
from partywise.experiment.tables.summary import summary_rows
from partywise.experiment.tables.summary_text import summary_text
from partywise.studies.sliced_inverse_regression.settings import SimulatedSlicingSettings
from printed_rows import printed_rows
from small_cube import assemble, read_block

ROOT = Path(__file__).parents[3]
CONFIGURATIONS = ["config.yaml", *sorted(f"config/{path.name}" for path in (ROOT / "config").glob("*.yaml"))]


@pytest.mark.parametrize(
    ("cell", "flag"),
    [
        ({"delta": 0.01, "n_protected": 100, "epsilon_certified": 1.0, "epsilon_claimed": math.nan}, True),
        ({"delta": 0.0099, "n_protected": 100, "epsilon_certified": 1.0, "epsilon_claimed": 2.0}, False),
        ({"delta": 0.01, "n_protected": 100, "epsilon_certified": math.inf, "epsilon_claimed": 2.0}, True),
        ({"delta": 0.01, "n_protected": 100, "epsilon_certified": math.inf, "epsilon_claimed": math.inf}, False),
        ({"delta": 1e-3, "n_protected": 100, "epsilon_certified": math.inf, "epsilon_claimed": 2.0}, False),
    ],
)
def test_a_finite_epsilon_at_one_over_n_is_flagged_and_warned_of(cell, flag):
    if not flag:
        assert delta_scalars(cell)["delta_exceeds_1_over_n"] is False
        return
    with pytest.warns(UserWarning, match="not below 1/n = 0.01: publishing a random record meets it"):
        assert delta_scalars(cell)["delta_exceeds_1_over_n"] is True


def test_the_sum_that_the_source_claims_counts_and_not_one_release():
    cell = {"delta": 4e-3, "delta_claimed": 0.012, "n_protected": 100, "epsilon_claimed": 3.0}
    with pytest.warns(UserWarning, match="epsilon_claimed is at a total delta of 0.012"):
        found = delta_scalars(cell | {"epsilon_certified": math.inf})
    assert found == {"delta_claimed": 0.012, "delta_exceeds_1_over_n": True}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (
            delta_scalars(cell | {"delta_claimed": 4e-3, "epsilon_certified": 2.0})["delta_exceeds_1_over_n"] is False
        )


@pytest.mark.parametrize("n", [2, 100, 500, 1000, 5000, 60_000])
@pytest.mark.parametrize("screened", [{}, {"p": 20, "active": 5}])
def test_the_total_of_certified_methods_stays_below_one_over_n(n, screened):
    settings = SimulatedSlicingSettings(model="III", n=n, **screened)
    kinds = 3 if screened else 2
    assert kinds * settings.release_delta == pytest.approx(settings.delta) and settings.delta < 1 / n
    assert settings.claimed_delta == pytest.approx(kinds * n**-1.1)
    assert (settings.claimed_delta >= 1 / n) == (n <= (59_049 if screened else 1024))


@pytest.mark.parametrize("path", CONFIGURATIONS)
def test_no_shipped_case_is_certified_at_one_over_n(path):
    """Of simulated cases n is a setting; of real ones the public size, or a bound; of parties apart their rows."""
    checked, content = 0, read_configuration(ROOT / path)
    apart = content.get("network", {}).get("rows")
    for name, block in content["studies"].items():
        made = plan(name, block, 1)
        for case, entry in made.cases.items():
            table = getattr(entry.settings, "table", None)
            n = getattr(entry.settings, "n", None) or getattr(table, "rows_per_user", None)
            n = max(apart.values()) if isinstance(apart, dict) else apart or n
            # The delta of a claim under audit is its document's, be it as it may.
            if n is not None and not (isinstance(entry.settings, ClaimSettings) and entry.settings.delta):
                checked += 1
                assert made.delta(case) < 1 / n, (name, case)
    # Own data have as many records as their files.
    assert checked or path.startswith("config/my_")


def test_cells_summary_and_page_show_it(tmp_path):
    grid = {"methods": ["iid", "cert"], "replicates": 1, "parties": [2], "folds": 1, "epsilon": [1.0]}
    block = {
        "methods": {"iid": {"protocol": "published", "mechanism": "iid"}, "cert": {"protocol": "certified"}},
        "cases": {
            "small": {"source": "simulated", "settings": {"model": "I", "n": 500, "clients": 2}},
            "power": {"source": "simulated", "settings": {"model": "I", "n": 500, "clients": 2, "delta_power": 0.9}},
        },
    }
    for entry in block["cases"].values():
        entry["grid"] = grid
    made, parts = plan("sliced_inverse_regression", block, 3), []
    for case in made.cases:
        data = generate(made, case, [0], tmp_path)
        for method in made.methods:
            vain = (case, method) != ("small", "cert")
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                cells = run(made, case, method, 2, [0], [0], data)
            assert any("total delta" in str(one.message) for one in caught) == vain
            write_block(tmp_path / "block.npz", cells)
            parts += read_block(tmp_path / "block.npz")
    cube = assemble(made, parts)
    flags = cube["delta_exceeds_1_over_n"].squeeze(drop=True).transpose("case", "method_label").values
    assert np.array_equal(flags == 1, [[True, False], [True, True]])
    columns = CubeColumns(made)
    for part in parts:
        columns.add(part)
    RunTotals(made, columns).close()
    lines = {key[:2]: values for key, values in printed_rows(summary_text(made, columns)).items()}
    assert [lines["small", m][-6:-4] for m in ("iid", "cert")] == [["2!", "inf"], ["1", "1"]]
    assert [word[-1] for word in lines["power", "cert"][-6:-4]] == ["!", "!"]
    assert "! the total delta is at least 1/n" in summary_text(made, columns)
    shown = {(row["case"], row["method"]): row["delta"] for row in summary_wide(made, summary_rows(made, columns))}
    assert [bool(shown["small", m]) for m in ("iid", "cert")] == [True, False]
