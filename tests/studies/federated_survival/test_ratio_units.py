"""What a log hazard ratio of the figure is per: a stated unit, or a level against the reference."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from partywise.experiment.plan import plan
from partywise.experiment.plans import read_configuration
from partywise.studies.federated_survival.figures.ratios import units_of
from partywise.studies.federated_survival.tables import TABLES
from pipeline import ROOT


def test_a_level_counts_against_its_reference_and_a_number_per_its_unit():
    """A category is -1 or 1 in the fit: its ratio was drawn at half its size."""
    config = read_configuration(ROOT / "config" / "my_survival.example.yaml")
    made = plan("federated_survival", config["studies"]["federated_survival"], config["root_seed"])
    names, factors = units_of(made.cases["my_relapses"].settings, 4)
    assert names == ["age, per 30", "stage: II against I", "stage: III against I", "treated: yes against no"]
    assert factors.tolist() == [1.0, 2.0, 2.0, 2.0]


def test_indicators_of_shipped_tables_count_as_one_and_generated_columns_as_they_are():
    for name, table in TABLES.items():
        names, factors = units_of(SimpleNamespace(dataset=name), len(table.covariates))
        for one, words, factor in zip(table.covariates, names, factors, strict=True):
            if one.is_indicator or words == f"{one.name}, yes/no":
                assert words == f"{one.name}, yes/no" and np.isclose(factor * one.half_width, 1)
            else:
                assert words.startswith(f"{one.name}, per {one.half_width:g}") and factor == 1.0
    assert units_of(SimpleNamespace(), 2)[0] == ["x1", "x2"]
