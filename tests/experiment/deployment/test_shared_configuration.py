"""The configuration that parties share is read as Snakemake reads it, but no key may hide another."""

from __future__ import annotations

import pytest
import yaml

from partywise.__main__ import shared_configuration
from partywise.errors import ConfigError
from pipeline import ROOT

FILES = [ROOT / "config.yaml", *sorted((ROOT / "config").glob("*.yaml"))]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_shipped_configuration_is_read_as_yaml_has_it(path):
    assert shared_configuration(path) == yaml.safe_load(path.read_text(encoding="utf-8"))


def test_a_key_beside_a_merged_block_has_the_last_word_and_one_given_twice_is_refused(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("one: &one {a: 1, b: 2}\ntwo: {<<: *one, b: 3}\n")
    assert shared_configuration(path)["two"] == {"a": 1, "b": 3}
    path.write_text("one:\n  a: 1\n  b: 2\n  a: 3\n")
    with pytest.raises(ConfigError, match="line 4 has the key 'a', which is given twice: keep one"):
        shared_configuration(path)
