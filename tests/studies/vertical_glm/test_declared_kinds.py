"""Kinds of columns as public facts: of own tables, of shipped tables and of the generator; mistakes in them by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from own_data_sets import write_csv
from partywise.core.errors import ConfigError
from partywise.core.randomness import Streams
from partywise.data.column_facts import check_kind
from partywise.data.descriptions import TABLES
from partywise.experiment.configuration.build import build
from partywise.methods.glm.noisy_statistics.intervals import refusal
from partywise.methods.glm.noisy_statistics.moments import MomentScale
from partywise.models.intervals import reason_name
from partywise.models.kinds import KINDS, Kind
from partywise.studies.vertical_glm import own_cases
from partywise.studies.vertical_glm.cases import GENERATOR, constants
from partywise.studies.vertical_glm.own_settings import GlmTableSettings
from partywise.studies.vertical_glm.settings import GlmGeneratedSettings
from partywise.studies.vertical_trees.own_settings import TreeTableSettings

COLUMNS = [
    {"name": "age", "bounds": [0, 99], "kind": "normal", "because": "as in any ward"},
    {"name": "cost", "bounds": [0, 1000], "kind": "lognormal"},
    {"name": "pain", "bounds": [0, 10], "kind": "uniform"},
    {"name": "smoker", "bounds": [0, 1], "kind": "binary"},
]
OTHERS = [{"name": "sex", "levels": ["f", "m"]}, {"name": "ward", "levels": ["a", "b", "c"]}]


def settings(columns: list[dict[str, Any]] = COLUMNS, others: list[dict[str, Any]] = OTHERS, **more: Any) -> Any:
    keys = {
        "tables": [
            {"party": "clinic", "file": "clinic.csv", "columns": columns},
            {"party": "insurer", "file": "insurer.csv", "columns": others},
        ],
        "id": "person",
        "response": "days",
        "response_party": "insurer",
        "family": "gaussian",
        "response_bounds": [0, 30],
    }
    return keys | more


def changed(place: int, **keys: Any) -> list[dict[str, Any]]:
    return [column | keys if number == place else column for number, column in enumerate(COLUMNS)]


def test_own_tables_declare_how_columns_are_distributed_with_the_reason():
    declared = own_cases.constants(build(GlmTableSettings, settings(), "settings")).kinds
    assert [kind.name for kind in declared] == [*("normal", "lognormal", "uniform"), *("binary",) * 2, *("levels",) * 2]
    assert declared[2].ends == (0.0, 10.0) and declared[4].ends == (0.0, 1.0)
    assert [kind.because for kind in declared[:2]] == ["as in any ward", "declared in the configuration"]
    assert own_cases.constants(build(GlmTableSettings, settings(changed(0, kind=None)), "settings")).kinds[0] is None


def test_the_declared_kinds_are_public_facts_of_a_fit(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [[f"P{i}", i, i + 1, i % 10, i % 2] for i in range(40)]
    write_csv(Path("clinic.csv"), ("person", *(column["name"] for column in COLUMNS)), rows)
    stays = [[f"P{i}", "fm"[i % 2], i % 30] for i in range(40)]
    write_csv(Path("insurer.csv"), ("person", "sex", "days"), stays)
    given = build(GlmTableSettings, settings(others=[{"name": "sex", "levels": ["f", "m"]}]), "settings")
    drawn = own_cases.draw(given, None, Streams(7, "own"), Path())
    public = own_cases.table(given, drawn).public()
    assert [kind.name for kind in public.kinds] == ["normal", "lognormal", "uniform", "binary", "binary"]
    assert all(kind.because for kind in public.kinds)


def test_shipped_tables_and_the_generator_declare_kinds_by_meaning():
    """Indicators of one category have no law; a table whose columns all have one is declared as a whole."""
    by_table = {
        name: [column.facts.distribution for column in table.columns] for name, table in TABLES.items() if table.holders
    }
    assert all(
        kind is None or (kind.name in (*KINDS, "levels") and kind.because) for row in by_table.values() for kind in row
    )
    assert None not in by_table["azpro"] and None not in by_table["abalone_two_parties"]
    assert TABLES["injury"].column("head").facts.kind == "levels"
    assert {kind.because for kind in constants(GlmGeneratedSettings(p=3)).kinds} == {GENERATOR}


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (changed(0, kind="t5"), r"kind is 't5': it must be one of normal, uniform, binary, lognormal"),
        (
            changed(1, bounds=[-5, 10]),
            r"kind is 'lognormal' with bounds \[-5\.0, 10\.0\]: .* above 0; give bounds",
        ),
        (changed(2, bounds=None), "kind is 'uniform' without bounds: .* declare bounds"),
        (changed(3, bounds=None), "kind is 'binary' without bounds: .* declare bounds"),
        (changed(0, bounds=None, levels=["a", "b"]), "kind is 'normal': .* follows from its levels; leave it out"),
        (changed(0, because=" "), "because is ' ': give a name"),
    ],
)
def test_kinds_that_cannot_be_are_named_with_the_remedy(columns, words):
    with pytest.raises(ConfigError, match=words):
        build(GlmTableSettings, settings(columns), "settings")


def test_a_kind_that_nothing_reads_is_refused():
    keys = {key: value for key, value in settings().items() if key != "family"}
    with pytest.raises(ConfigError, match="kind of column 'age' is 'normal': this study reads none; leave it out"):
        build(TreeTableSettings, keys, "settings")
    with pytest.raises(ValueError, match="'lognormal'"):
        check_kind("lognormal", (-1.0, 1.0))


def test_records_of_one_person_and_categories_have_no_intervals():
    scale = MomentScale(3.0, 2, 0.0, 1.0, kinds=(Kind(), Kind("binary")))
    assert refusal(scale, "gaussian", ("a", "b")) == ""
    several = refusal(replace(scale, records_per_person=3), "gaussian", ("a", "b"))
    assert reason_name(several) == "dependent records" and "several records of one person, up to 3" in several
    category = refusal(replace(scale, kinds=(Kind(), Kind("levels"))), "gaussian", ("a", "ward = b"))
    assert reason_name(category) == "later" and "column 'ward = b' is of a category of several levels" in category


def test_a_column_without_a_kind_leaves_the_others_as_they_are_declared():
    scale = MomentScale(3.0, 3, 0.0, 1.0, kinds=(None, Kind("binary"), Kind("uniform")))
    assert not scale.is_declared and [kind.name for kind in scale.shapes] == ["normal", "binary", "uniform"]
    assert replace(scale, kinds=()).shapes == (Kind(),) * 3 and replace(scale, kinds=scale.shapes).is_declared
    np.testing.assert_allclose(scale.shapes[2].in_units(1.0, 2.0).ends, (-0.5, 0.0))
