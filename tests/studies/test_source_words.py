"""Own data are called alike in every study, and the words of before are told the ones of now."""

from __future__ import annotations

import pytest

from partywise.core.errors import ConfigError
from partywise.experiment.plan import plan
from partywise.experiment.plans import read_configuration
from partywise.experiment.study import load
from pipeline import ROOT

COLUMNS = ("vertical_glm", "vertical_linear", "vertical_trees")
OWN = ("functional_boosting", *COLUMNS)


@pytest.mark.parametrize("study", OWN)
def test_own_data_are_a_table(study):
    sources = load(study).sources
    assert hasattr(sources["table"].settings, "files") and not {"tables", "own_table"} & set(sources)


@pytest.mark.parametrize(("study", "old"), [(study, "tables") for study in OWN] + [("vertical_glm", "own_table")])
def test_an_old_word_is_told_the_new_one(study, old):
    block = read_configuration(ROOT / "config" / EXAMPLE[study])["studies"][study]
    (case,) = block["cases"].values()
    plan(study, block, 1)
    case["source"] = old
    with pytest.raises(ConfigError, match=rf"source is '{old}': did you mean table\?"):
        plan(study, block, 1)


EXAMPLE = {study: "my_tables.example.yaml" for study in COLUMNS} | {"functional_boosting": "my_data.example.yaml"}


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("table", "settings.table is called dataset now, which is not a key of this block: allowed here: "),
        ("dataset", "settings.table is called dataset now: rename the key"),
    ],
)
def test_a_table_by_its_name_is_a_data_set(source, says):
    block = read_configuration(ROOT / "config.yaml")["studies"]["vertical_glm"]
    block["cases"] = {"injury": block["cases"]["injury_private"] | {"source": source, "settings": {"table": "injury"}}}
    with pytest.raises(ConfigError, match=says):
        plan("vertical_glm", block | {"figures": []}, 1)
