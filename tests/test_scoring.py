"""The verb ``score``: a table of new records and a saved model make one prediction a record, or one sentence."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import partywise as pw
from partywise.__main__ import main

pandas = pytest.importorskip("pandas")
RNG = np.random.default_rng(20240601)
NAMES = ["age", "height (cm)", "region = south", "region = east"]
REGION = RNG.integers(0, 3, size=120)
X = np.column_stack([RNG.uniform(20, 80, 120), RNG.uniform(150, 190, 120), REGION == 1, REGION == 2]).astype(float)
Y = X[:, 0] / 20 + X[:, 2] + RNG.normal(size=120) / 4
FRAME = pandas.DataFrame(X, columns=NAMES)
KEYS = """
delimiter: ";"
decimal: ","
missing: drop
marks: ["-"]
columns:
  - name: region
    levels: [north, south, east]
  - name: height
    unit: cm
    bounds: [140, 210]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Models, keys and a table of the records that they were fitted to."""
    monkeypatch.chdir(tmp_path)
    rows = [
        f"p{k:03d};{one[0]!s};{one[1]!s};{('north', 'south', 'east')[level]};more".replace(".", ",")
        for k, (one, level) in enumerate(zip(X, REGION, strict=True))
    ]
    Path("new.csv").write_text("\n".join(["patient;age;height;region;other", *rows]) + "\n")
    Path("keys.yaml").write_text(KEYS)
    words = np.where(np.median(Y) < Y, "ill", "well")
    models = {
        "trees": pw.VerticalBoosting("active_only", parties=2, random_state=7).fit(FRAME, words),
        "glm": pw.VerticalGLM("gaussian", parties=2, random_state=7).fit(FRAME, Y),
    }
    # Ages vary by 20 and indicators by 1/2 in a ball of radius 200: no epsilon of use resolves all four columns.
    with pytest.warns(UserWarning, match="the fit is singular: 0 of 4 eigenvalues"):
        models["slices"] = pw.SlicedInverseRegression(
            epsilon=2.0, edges=(2.0, 3.0), radius=200.0, n_directions=2, parties=3, random_state=7
        ).fit(FRAME, Y)
    for name, model in models.items():
        model.save(f"{name}.json")
    return models


def score(*words: str) -> int:
    return main(["score", *words])


def written(file: str = "out.csv") -> list[list[str]]:
    with open(file, newline="") as handle:
        return list(csv.reader(handle))


def test_predictions_are_those_of_the_estimator_to_the_last_bit(folder, capsys):
    assert score("trees.json", "new.csv", "--into", "out.csv", "--id", "patient", "--keys", "keys.yaml") == 0
    (*head,), *rows = written()
    assert head == ["id", "predicted", "probability of ill", "probability of well"]
    assert [row[0] for row in rows] == [f"p{k:03d}" for k in range(120)]
    assert [row[1] for row in rows] == folder["trees"].predict(FRAME).tolist()
    shares = np.array([[float(one) for one in row[2:]] for row in rows])
    np.testing.assert_array_equal(shares, folder["trees"].predict_proba(FRAME))
    assert "120 records scored by VerticalBoosting, protocol active_only" in capsys.readouterr().out
    assert score("glm.json", "new.csv", "--into", "glm.csv", "--keys", "keys.yaml") == 0
    head, *rows = written("glm.csv")
    assert head == ["id", "predicted"] and rows[0][0] == "row 2"
    np.testing.assert_array_equal([float(row[1]) for row in rows], folder["glm"].predict(FRAME))
    assert score("slices.json", "new.csv", "--into", "slices.csv", "--keys", "keys.yaml") == 0
    head, *rows = written("slices.csv")
    assert head == ["id", "direction1", "direction2"]
    np.testing.assert_array_equal([[float(one) for one in row[1:]] for row in rows], folder["slices"].transform(FRAME))


def test_columns_are_matched_by_name_and_records_with_gaps_are_left_out(folder):
    """Another order, a single record, and an entry that stands for a missing value."""
    Path("few.csv").write_text("region;height;age;patient\neast;170;50,5;a\nsouth;-;40;b\n")
    assert score("glm.json", "few.csv", "--into", "out.csv", "--id", "patient", "--keys", "keys.yaml") == 0
    _, row = written()
    expected = folder["glm"].predict(pandas.DataFrame([[50.5, 170.0, 0.0, 1.0]], columns=NAMES))
    assert row == ["a", repr(expected.tolist()[0])]


@pytest.mark.parametrize(
    ("table", "change", "words", "sentence"),
    [
        ("new.csv", ("p003;", "p002;"), [], "'p002' in row 4 and row 5"),
        ("new.csv", (";east;", ";est;"), [], "region is 'est' in row"),
        ("new.csv", ("height", "heigth"), [], "has no column 'height': did you mean 'heigth'?"),
        ("new.csv", ("p001;", "p001;x"), [], "age is 'x"),
        ("keys.yaml", ("missing: drop\n", ""), ["few.csv"], "age is missing in 1 of 1 rows"),
        ("keys.yaml", ("[140, 210]", "[1.4, 2.1]"), [], "height is outside its bounds [1.4, 2.1] in 120 of 120 rows"),
        ("keys.yaml", ("north, south, east", "south, north, east"), [], "region = north"),
        ("keys.yaml", ("unit: cm", "unit: mm"), [], "height (mm)"),
        ("keys.yaml", ("decimal", "decimals"), [], "did you mean decimal?"),
        ("keys.yaml", ('","', '"!"'), [], "decimal is '!'"),
        ("trees.json", ("partywise model 1", "partywise model 2"), [], "format is 'partywise model 2'"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_written(folder, table, change, words, sentence, capsys):
    Path("few.csv").write_text("region;height;age;patient\neast;170;;a\n")
    text = Path(table).read_text()
    assert change[0] in text
    Path(table).write_text(text.replace(*change))
    file = words[0] if words else "new.csv"
    assert score("trees.json", file, "--into", "out.csv", "--id", "patient", "--keys", "keys.yaml") == 2
    told = capsys.readouterr()
    assert sentence in told.err and told.err.count("\n") == 1 and not told.out
    assert not Path("out.csv").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["absent.json", "new.csv", "--into", "out.csv"], "absent.json cannot be read"),
        (["trees.json", "absent.csv", "--into", "out.csv"], "absent.csv cannot be read"),
        (["trees.json", "new.csv", "--into", "keys.yaml"], "that file is there already"),
        (["trees.json", "new.csv", "--into", "nowhere/out.csv"], "the folder nowhere does not exist"),
        (["trees.json", "new.csv", "--into", "out.csv", "--keys", "absent.yaml"], "absent.yaml"),
        (["trees.json", "new.csv", "--into", "out.csv"], "set delimiter to ';'"),
        (["bare.json", "new.csv", "--into", "out.csv"], "was fitted without names of columns"),
        (["curves.json", "new.csv", "--into", "out.csv"], "is of curves"),
    ],
)
def test_files_that_cannot_be_used_are_told(folder, words, sentence, capsys):
    pw.VerticalBoosting("active_only", num_of_trees=1).fit(X, np.median(Y) < Y, parties=2, rng=7).save("bare.json")
    curves = RNG.normal(size=(40, 2, 3))
    pw.FunctionalBoosting("baseline").fit(curves, curves[:, 0], parties=2, rng=7).save("curves.json")
    assert score(*words) == 2
    assert sentence in capsys.readouterr().err and not Path("out.csv").exists()
