"""The constants of each study: a key that is accepted is read, one that nothing reads is refused by its name."""

from __future__ import annotations

from dataclasses import fields
from math import isfinite
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

import every_protocol
from partywise.core.errors import ConfigError
from partywise.data.fetch import fetch
from partywise.experiment.cells import Cell, run
from partywise.experiment.data import generate
from partywise.experiment.plan import plan
from partywise.experiment.study import available, load
from pipeline import ROOT

# Source, settings, number of parties, and the protocol with its options, small enough for a second; of a study that is
# not here the first small case of `every_protocol`, with its first protocol.
SMALLEST: dict[str, tuple[str, dict[str, Any], int, dict[str, Any]]] = {
    "federated_epidemiology": ("generated", {"n": 100, "rows_per_user": 2}, 2, {"protocol": "tables"}),
    "federated_survival": ("dataset", {"dataset": "colon_persons", "covariates": False}, 3, {"protocol": "table"}),
    # Natural clients, which attacks look at.
    "framework_filters": ("heart", {}, 4, {"protocol": "fedavg", "layer": "percentile", "steps": 1, "rounds": 2}),
    "functional_boosting": (
        "simulated",
        {"n": 40, "p": 3, "n_basis_x": 5, "n_basis_y": 5, "active": [0]},
        2,
        {"protocol": "boosting", "s_mode": "calibrated", "max_steps": 2},
    ),
    "label_private": ("generated", {"n": 200, "k": 4}, 2, {"protocol": "walr", "noise": "iid", "ridge": "fixed"}),
    "privacy_audit": ("orthonormal", {"n": 10}, 1, {"protocol": "audit", "draws": 2000}),
    "sliced_inverse_regression": (
        "simulated",
        {"model": "III", "n": 100, "p": 4, "clients": 2},
        2,
        {"protocol": "certified"},
    ),
    "vertical_glm": ("generated", {"n": 80, "p": 4}, 2, {"protocol": "noisy_newton"}),
    "vertical_linear": ("generated", {"n": 60, "d": 4}, 2, {"protocol": "published", "total_round_num": 2}),
    "vertical_trees": ("generated", {"n": 120, "d": 4}, 2, {"protocol": "feature_gathering", "protect": "dp"}),
}


def smallest(study: str) -> tuple[str, dict[str, Any], int, dict[str, Any]]:
    """Source, settings, number of parties and protocol of a study's smallest fit."""
    if study in SMALLEST:
        return SMALLEST[study]
    source, settings, parties, _ = next(iter(every_protocol.small_cases(study).values()))
    return source, settings, parties[0], {"protocol": next(iter(load(study).methods))}


# Arrays of the first fits.
EXAMPLES = "example fits"
KEYS = [(name, entry.name) for name in available() for entry in fields(load(name).spec)]


def block(study: str, spec: dict[str, Any]) -> dict[str, Any]:
    """A study with one case and one method."""
    source, settings, parties, method = smallest(study)
    grid = {"methods": ["one"], "replicates": 1, "parties": [parties], "folds": 1, "epsilon": [4.0]}
    case = {"source": source, "settings": settings, "grid": grid}
    return {"spec": spec, "methods": {"one": method}, "cases": {"one": case}, "figures": []}


def cell(study: str, spec: dict[str, Any], folder: Path) -> Cell:
    """The first cell."""
    made = plan(study, block(study, spec), 7)
    for name in made.cases["one"].resources:
        fetch(name, ROOT / "resources" / name)
        folder = ROOT / "resources"
    data = generate(made, "one", [0], folder)
    return run(made, "one", "one", smallest(study)[2], [0], [0], data)[0]


@pytest.mark.parametrize(("study", "key"), KEYS)
def test_every_key_is_read(study, key, tmp_path):
    units = get_args(get_type_hints(load(study).spec)["unit"])
    values = {"delta": (1e-5, 1e-4), "unit": (units[0], units[1] if "user" in units[:2] else "label")}
    values |= {"targets": (1, 3), "example_targets": (1, 3)}
    values = values[key]
    cells = [cell(study, {key: value}, tmp_path) for value in values]
    first, second = (one.scalars for one in cells)
    moved = {name for name in first if repr(first[name]) != repr(second[name])}
    shown = [repr(one.example_fits) for one in cells]
    moved |= {EXAMPLES} if shown[0] != shown[1] else set()
    # With delta moves the noise of a target, or what is proved of it; where nothing is proved, the delta it has.
    # With the unit moves what is asked; whether an epsilon moves with it depends on what the releases read.
    proved = {"mu_total", "epsilon_certified"} if isfinite(first["epsilon_certified"]) else {"delta"}
    # With the number of unknown patients moves who is identified: in the first replicate an array.
    attacked = {"identified_share", "candidates_left"}
    assert moved & {"delta": proved, "unit": {"unit"}, "targets": attacked, "example_targets": {EXAMPLES}}[key], moved


@pytest.mark.parametrize("study", available())
def test_delta_is_a_key_where_some_source_has_none_of_its_own(study):
    found = load(study)
    always = [isinstance(getattr(source.settings, "delta", None), property) for source in found.sources.values()]
    assert ("delta" in {entry.name for entry in fields(found.spec)}) is not all(always)


@pytest.mark.parametrize("study", available())
def test_what_cannot_be_read_is_refused_in_the_same_words(study):
    keys = [entry.name for entry in fields(load(study).spec)]
    where = f"studies.{study}.spec"
    said = {"epsilon": f"{where}.epsilon is unknown: allowed here: {', '.join(keys)}."}
    units = ", ".join(get_args(get_type_hints(load(study).spec)["unit"]))
    word = " (here that is user)" if "user" in units.split(", ") else ""
    said["unit"] = f"{where}.unit is 'person': it must be one of {units}{word}."
    for delta in (0.0, 1.0, -1e-5, float("nan")):
        outside = f"{where}.delta is {delta}: it must lie in (0, 1), well below 1 / n."
        said["delta"] = outside if "delta" in keys else f"{where}.delta is unknown: allowed here: unit."
        for key, value in (("epsilon", 1.0), ("unit", "person"), ("delta", delta)):
            with pytest.raises(ConfigError) as told:
                plan(study, block(study, {key: value}), 7)
            assert str(told.value) == said[key]
