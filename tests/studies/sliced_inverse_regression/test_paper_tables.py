"""The source's tables as data, and the comparison of our losses with them."""

from __future__ import annotations

import importlib.util
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from partywise.core.errors import DataMissing
from partywise.studies.sliced_inverse_regression import metrics
from partywise.studies.sliced_inverse_regression.figures.marks import FEWEST, VERDICTS, TableMark, counts
from partywise.studies.sliced_inverse_regression.metrics import PrintedEntry, printed_entry, printed_table

TOOL = Path(__file__).parents[2] / "tools" / "paper_tables.py"
MODELS = ("I", "II", "III", "IV", "V")


def transcriber():
    spec = importlib.util.spec_from_file_location("paper_tables_tool", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_cell_of_every_table_is_there_once():
    found = Counter((e.table, e.model, e.column) for e in printed_table().values())
    assert len(printed_table()) == 560
    for table in (1, 2, 3, 4):
        for model in MODELS:
            for column in ("FSIR-IID", "FSIR-VGM"):
                assert found[table, model, column] == (16 if table <= 2 else 12)
    for entry in printed_table().values():
        assert entry.epsilon == (1.0 if entry.table in (1, 3) else 2.0)
        assert entry.row in ((500, 1000, 2500, 5000) if entry.table <= 2 else (500, 1000, 2000))
        assert entry.clients in (1, 10, 50, 100)
        # A loss lies in [0, sqrt(2 d)], the bracket is that of a mean.
        assert 0 < entry.mean <= (2**0.5 if entry.model in ("I", "II") else 2)
        assert 0 < entry.bracket < 0.35


def test_numbers_are_where_the_source_has_them():
    assert printed_entry(1, "I", 500, "FSIR-IID", 1) == PrintedEntry(1, 1.0, "I", 500, "FSIR-IID", 1, 1.306, 0.13)
    assert printed_entry(2, "V", 5000, "FSIR-VGM", 100).mean == 0.034
    assert printed_entry(1, "III", 1000, "FSIR-VGM", 10).mean == 0.754
    assert printed_entry(1, "III", 1000, "FSIR-VGM", 10, high=True).mean == 1.122
    assert printed_entry(2, "IV", 2000, "FSIR-IID", 50, high=True).mean == 0.586
    assert printed_entry(3, "I", 500, "FSIR-IID", 1) is None and printed_entry(1, "I", 1500, "FSIR-IID", 1) is None


def test_another_file_is_refused(monkeypatch, tmp_path):
    changed = tmp_path / "paper_tables.csv"
    changed.write_text(metrics.FILE.read_text().replace("1.306", "1.307"))
    monkeypatch.setattr(metrics, "FILE", changed)
    printed_table.cache_clear()
    with pytest.raises(DataMissing, match=r"paper_tables.csv is not the pinned transcription"):
        printed_table()
    monkeypatch.undo()
    printed_table.cache_clear()
    assert len(printed_table()) == 560


def test_the_transcriber_reads_the_layout_of_the_source():
    """Written out as the source has them, the entries come back, and nothing between the tables is taken for one."""
    tool = transcriber()
    lines, model = ["Some text with 1.306 (0.13) in it."], ""
    entries = list(printed_table().values())
    for place in range(0, len(entries), 8):
        row = entries[place : place + 8]
        if place == 0 or row[0].table != entries[place - 1].table:
            size = "p=10" if row[0].table <= 2 else "n=1000"
            lines += [f"Table {row[0].table}: {size},\\ H=8,\\ \\epsilon={row[0].epsilon:.0f}.", "n FSIR-IID FSIR-VGM"]
            model = ""
        head = f"{row[0].model} " if row[0].model != model else ""
        model = row[0].model
        lines.append(f"{head}{row[0].row} " + " ".join(f"{e.mean:.3f} ({e.bracket:.2f})" for e in row))
    assert tool.as_csv(tool.rows("\n".join(lines))) == metrics.FILE.read_text()


def entry(**change) -> TableMark:
    fields = {"case": "c", "model": "I", "row": 500, "n": 500, "method": "fsir_vgm", "clients": 10}
    fields |= {"mean": 0.5, "se": 0.01, "replicates": FEWEST, "paper": 0.5, "bracket": 0.1}
    return TableMark(**fields | {"epsilon_claimed": 2.0, "epsilon_certified": np.inf} | change)


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "agrees"),
        ({"mean": 0.521}, "agrees"),
        ({"mean": 0.54}, "within 12 %"),
        ({"mean": 0.445}, "within 12 %"),
        ({"mean": 0.43}, "not reproduced"),
        ({"mean": 0.6}, "not reproduced"),
        ({"mean": 1.1, "paper": 1.05}, "saturated"),
        ({"mean": 0.7, "paper": 1.05}, "not reproduced"),
        ({"mean": 1.1, "paper": 1.05, "model": "III"}, "within 12 %"),
        ({"mean": 1.45, "paper": 1.45, "model": "III"}, "saturated"),
        ({"paper": np.nan, "bracket": np.nan}, ""),
        # Few replicates: the bracket stands for our standard deviation, so that b / sqrt(2) is the standard error.
        ({"replicates": 2, "mean": 0.64}, "agrees"),
        ({"replicates": 2, "mean": 0.66}, "not reproduced"),
        ({"replicates": 2, "mean": 2.0}, "not reproduced"),
        ({"replicates": 29, "mean": 0.53}, "agrees"),
        ({"replicates": 29, "mean": 0.7}, "not reproduced"),
        ({"replicates": 2, "mean": 1.1, "paper": 1.05}, "saturated"),
    ],
)
def test_verdicts(change, verdict):
    assert entry(**change).verdict == verdict


def test_z_uses_both_errors():
    # se = 0.01, bracket / sqrt(400) = 0.005, rounding 0.0003.
    assert entry(mean=0.53).z == pytest.approx(0.03 / np.sqrt(0.01**2 + 0.005**2 + 0.0003**2), rel=1e-12)
    found = counts([entry(), entry(mean=0.7), entry(paper=np.nan)])
    assert found == dict(zip(VERDICTS, (1, 0, 0, 1), strict=True))


@pytest.mark.parametrize("replicates", [1, 2, 29])
def test_few_replicates_are_judged_by_the_bracket_of_the_source(replicates):
    """However small our own standard error is: it is a guess.  15 brackets away is a verdict at any number."""
    few = entry(mean=0.65, se=0.0001, replicates=replicates)
    spread = 0.105 / np.sqrt(replicates)
    assert few.error == pytest.approx(np.sqrt(spread**2 + 0.005**2 + 0.0003**2), rel=1e-12)
    assert few.difference == pytest.approx(0.15)
    assert entry(mean=0.5 + 15 * 0.1, replicates=replicates).verdict == "not reproduced"


def test_verdicts_of_few_replicates_are_right_about_the_source_itself():
    """Means of two draws of the source's own distribution disagree in one of twenty, not in more."""
    rng = np.random.default_rng(3)
    draws = rng.normal(0.5, 0.1, (20_000, 2))
    wrong = [entry(mean=float(pair.mean()), se=float(pair.std()), replicates=2).verdict for pair in draws]
    share = wrong.count("not reproduced") / len(wrong)
    assert 0.02 < share < 0.05


def test_thirty_replicates_are_judged_by_their_own_spread():
    assert FEWEST == 30
    many = entry(mean=0.65, se=0.0001, replicates=30)
    assert many.verdict == "not reproduced" and many.error < 0.006
