"""Renamed keys: an old one ends in an error with the new name, nothing reads it, and results bear the new one."""

from __future__ import annotations

from dataclasses import dataclass, fields, make_dataclass
from typing import Any, get_args, get_type_hints

import numpy as np
import pytest
import xarray as xr

from partywise.core.errors import ConfigError
from partywise.experiment.configuration.build import build, choices, convert
from partywise.experiment.configuration.new_names import RENAMED, RENAMED_VALUES, RENAMED_VARIABLES
from partywise.experiment.results.compare import compare_cubes
from partywise.experiment.results.cube import DIMS
from partywise.experiment.study import available, load
from partywise.studies.privacy_audit.study import AuditOptions

VARIANTS = get_type_hints(AuditOptions)["variant"]


@dataclass(frozen=True)
class Without:
    """A block that has no renamed key."""

    kept: int = 0


def known_keys() -> set[str]:
    """Every setting and option of every study."""
    found: set[str] = set()
    for name in available():
        study = load(name)
        blocks: list[Any] = [source.settings for source in study.sources.values()]
        blocks += [method.options for method in study.methods.values()]
        found |= {field.name for block in blocks for field in fields(block)}
    return found


# Keys of a block that is gone: they stand one block up.
MOVED = {old: new for old, new in RENAMED.items() if "." in old}


@pytest.mark.parametrize(("old", "new"), sorted(RENAMED.items() - MOVED.items()))
def test_an_old_key_ends_in_an_error_that_names_the_new_one(old, new):
    kind = make_dataclass("Kind", [(new, int, 0)])
    assert getattr(build(kind, {new: 1}, "block"), new) == 1
    with pytest.raises(ConfigError, match=rf"^block\.{old} is called {new} now: rename the key\.$"):
        build(kind, {old: 1}, "block")
    with pytest.raises(
        ConfigError, match=rf"^block\.{old} is called {new} now, which is not a key of this block: .* kept"
    ):
        build(Without, {old: 1}, "block")


def test_no_setting_or_option_bears_an_old_name_and_each_new_one_is_there():
    keys = known_keys()
    assert not keys & set(RENAMED)
    assert {new.partition(":")[0] for new in RENAMED.values()} <= keys


@pytest.mark.parametrize(("old", "new"), MOVED.items())
def test_a_key_of_a_block_that_is_gone_says_where_it_stands(old, new):
    outer, inner = old.split(".")
    kind = make_dataclass("Kind", [(outer, str, "refuse")])
    with pytest.raises(ConfigError, match=rf"^block\.{outer}\.{inner} is called {new} now and belongs one block up"):
        build(kind, {outer: {inner: 1}}, "block")


def test_an_old_source_ends_in_an_error_that_names_the_new_one():
    values = {source for name in available() for source in load(name).sources} | set(get_args(VARIANTS))
    assert not values & set(RENAMED_VALUES) and set(RENAMED_VALUES.values()) <= values
    renamed = [f"it is called {new} now" for new in RENAMED_VALUES.values()]
    assert [choices(old, values) for old in RENAMED_VALUES] == renamed
    with pytest.raises(ConfigError, match=r"it must be one of published, corrected \(it is called corrected now\)"):
        convert("repaired", VARIANTS, "variant")
    assert choices("public_buckets", ["public"]) == "did you mean public? allowed here: public"


@pytest.mark.parametrize("word", ["case", "method"])
def test_results_of_an_old_name_compare_as_those_of_the_new_one(word):
    dim = {"case": "case", "method": "method_label"}[word]
    old, new = (_cube(f"{word}_{name}", dim, 5.0) for name in ("bucket_num", "n_bins"))
    assert compare_cubes(old, new).equal() and compare_cubes(new, old).equal()
    assert list(compare_cubes(old, _cube(f"{word}_n_bins", dim, 6.0)).changes) == [f"{word}_n_bins"]


@pytest.mark.parametrize(("old", "new"), RENAMED_VARIABLES.items())
def test_variables_of_an_old_name_compare_as_those_of_the_new_one(old, new):
    assert not any(old in study.measures.__dataclass_fields__ for study in map(load, available()))
    assert any(new in study.measures.__dataclass_fields__ for study in map(load, available()))
    plain = _cube("case_n", "case", 5.0)
    first, second, other = (
        plain.assign({name: plain["status"] * value}) for name, value in ((old, 3), (new, 3), (new, 4))
    )
    assert compare_cubes(first, second).equal() and compare_cubes(second, first).equal()
    assert list(compare_cubes(first, other).changes) == [new]


def _cube(name: str, dim: str, value: float) -> xr.Dataset:
    labels: dict[str, Any] = {"case": ["a"], "method_label": ["b"], "replicate": [0]}
    labels |= {"parties": [2], "fold": [0], "epsilon": [1.0]}
    status = xr.Variable(DIMS, np.ones([1] * len(DIMS), np.int8))
    return xr.Dataset({"status": status}, coords=labels | {name: (dim, [value])})
