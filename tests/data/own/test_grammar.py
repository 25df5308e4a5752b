"""The keys of own files have one name, one place, one default and one sentence in every study."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from partywise.core.errors import ConfigError
from partywise.data.own.curves.settings import PredictorFile, ResponseFile
from partywise.data.own.grammar import FileBlock, OwnFiles
from partywise.data.own.records import read_own_table
from partywise.experiment.configuration.build import build
from partywise.studies.functional_boosting.own_settings import CurveTableSettings
from partywise.studies.label_private.own_settings import OwnLabelSettings
from partywise.studies.sliced_inverse_regression.own_settings import OwnSlicingSettings
from partywise.studies.vertical_glm.own_settings import GlmFile, GlmTableSettings
from partywise.studies.vertical_linear.own_settings import LinearTableSettings
from partywise.studies.vertical_trees.own_settings import TreeTableSettings

COLUMN = {"name": "a", "bounds": [0, 9]}
TABLES = [
    {"party": "shop", "file": "shop.csv", "columns": [COLUMN]},
    {"party": "bank", "file": "bank.csv", "columns": [COLUMN | {"name": "b"}]},
]
LATE = {"response": "late", "response_party": "bank"}
CURVE = {"file": "y.csv", "time": "t", "value": "v"}
GOOD = {
    TreeTableSettings: {"id": "n", "tables": TABLES} | LATE,
    LinearTableSettings: {"id": "n", "tables": TABLES} | LATE,
    GlmTableSettings: {"id": "n", "tables": TABLES, "family": "binomial", "records": "aligned"} | LATE,
    OwnLabelSettings: {"file": "all.csv", "response": "late", "columns": [COLUMN]},
    OwnSlicingSettings: {
        "file": "all.csv",
        "party": "p",
        "parties": ["x", "y"],
        "columns": [COLUMN],
        "response": "r",
        "edges": [1, 2],
    }
    | {"least": 100},
    CurveTableSettings: {
        "id": "n",
        "domain": [0, 1],
        "response": CURVE,
        "predictors": [CURVE | {"name": "x", "party": "p", "value": "w"}],
    }
    | {"radius": 1, "response_radius": 1},
}
WRONG = {
    "delimiter": (";;", r"delimiter is ';;': it must be one character, such as ';' or '\t'."),
    "encoding": ("klingon", "encoding is 'klingon': it must be one that Python knows, such as utf-8 or latin-1."),
    "missing": ("ignore", "missing is 'ignore': it must be one of refuse, drop (here that is drop)."),
    "marks": ([-9], "marks[0] is -9: it must be text (put quotes around it)."),
    "min_records": (1, "min_records is 1: it must be at least 2."),
}


@pytest.mark.parametrize("kind", GOOD, ids=lambda kind: kind.__module__.split(".")[2])
def test_every_study_has_the_same_keys(kind):
    made = build(kind, GOOD[kind], "settings")
    assert isinstance(made, OwnFiles)
    for entry in fields(OwnFiles):
        if entry.name != "id":
            assert getattr(made, entry.name) == entry.default
    assert build(kind, GOOD[kind] | {"delimiter": ";", "marks": ["-9"]}, "settings").missing_marks >= {"-9", "", "NA"}
    for key, (value, sentence) in WRONG.items():
        with pytest.raises(ConfigError) as found:
            build(kind, GOOD[kind] | {key: value}, "settings")
        assert str(found.value) == f"settings.{sentence}"


@pytest.mark.parametrize("kind", [FileBlock, GlmFile, PredictorFile, ResponseFile])
def test_every_block_of_a_file_says_the_same_of_its_text(kind):
    assert issubclass(kind, FileBlock)
    given = {"party": "shop", "file": "a.csv", "delimiter": ";;"}
    given |= {"columns": [COLUMN]} if kind is GlmFile else {}
    given |= {"time": "t", "value": "v"} if kind in (PredictorFile, ResponseFile) else {}
    with pytest.raises(ConfigError, match=r"block.delimiter is ';;': it must be one character"):
        build(kind, given | ({"name": "x"} if kind is PredictorFile else {}), "block")


def test_columns_at_parties_know_words_for_labels_and_leave_out_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shop = [f"{k};{k % 7 if k != 3 else '-9'}" for k in range(30)]
    bank = [f"{k}|{k % 5 if k != 8 else 'NA'}|{'yes' if k % 3 else 'no'}" for k in range(30)]
    (tmp_path / "shop.csv").write_text("\n".join(["n;a", *shop]))
    (tmp_path / "bank.csv").write_text("\n".join(["key|b|late", *bank]))
    tables = [TABLES[0], TABLES[1] | {"id": "key", "delimiter": "|"}]
    given = LATE | {"id": "n", "tables": tables, "delimiter": ";", "marks": ["-9"]}
    given |= {"missing": "drop", "positive": "yes"}
    settings = build(TreeTableSettings, given, "settings")
    records = read_own_table(settings)
    kept = [k for k in range(30) if k not in (3, 8)]
    assert records.ids.tolist() == [str(k) for k in kept]
    np.testing.assert_array_equal(records.y, [float(k % 3 > 0) for k in kept])
    np.testing.assert_array_equal(records.X, [[k % 7, k % 5] for k in kept])
    with pytest.raises(ConfigError, match="positive is 'yes': it names a class, and the response is a number"):
        build(TreeTableSettings, given | {"loss": "RegressionMSELoss"}, "settings")
