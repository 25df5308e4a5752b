"""Figures say what was run: every option and setting is changed, and no figure tells an old number."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Iterator
from typing import Any

import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.text import Text

from invented import invented
from partywise.core.errors import ConfigError
from partywise.experiment.plan import plan
from partywise.experiment.tables.templates import TypesetTable
from pipeline import ROOT
from shipped import DEFAULT, shipped

NUMBER = re.compile(r"(?<![\w.])\d{1,3}(?: \d{3})+(?![\d.])|(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?(?![\d\w])")
STUDIES = {path.stem: shipped(path) for path in (DEFAULT, ROOT / "config" / "smoke.yaml")}
ENTRIES = [(stem, study) for stem, made in STUDIES.items() for study in made["studies"]]
# Of the default run where the smoke run has the study as well, with fewer cases and methods: `./run test --long`.
LARGE = [(DEFAULT.stem, study) for stem, study in ENTRIES if stem != DEFAULT.stem]
# Numbers that a figure tells of something else than a changed option, and tells in fact; one that lies is to be mended.
CONSTANTS: dict[tuple[str, str], dict[float, str]] = {
    ("config", "claimed_and_held"): {
        1e-4: "sensitivity that FLIP's defaults have, whatever a method of the run has",
        0.1: "epsilon that the sparse vector has by default",
    },
    ("smoke", "worst_claims"): {10.0: "the largest factor, of the invented numbers"},
    ("config", "columns_by_unit"): {9.0: "columns that are kept, of the cube"},
    ("config", "running_away"): {10000.0: "the last step at which a path is recorded, of the cube"},
}


def numbers(block: Any) -> Iterator[float]:
    """All numbers of a block of the configuration, those in words and names included."""
    if isinstance(block, dict):
        for value in block.values():
            yield from numbers(value)
    elif isinstance(block, list | tuple):
        for value in block:
            yield from numbers(value)
    elif isinstance(block, int | float) and not isinstance(block, bool):
        yield float(block)


def texts_of(figure: Figure | TypesetTable) -> list[str]:
    """What a figure says; of a table its title and notes, since its cells are numbers of the cube."""
    if isinstance(figure, TypesetTable):
        return [figure.title, *figure.notes]
    return [text.get_text().strip() for text in figure.findobj(Text) if text.get_visible()]


def told(figure: Figure | TypesetTable) -> Iterator[tuple[str, float]]:
    """Texts of a figure that hold words, with each number in them."""
    for words in texts_of(figure):
        if re.search(r"[^\W\d_]{2,}|=", words):
            for found in NUMBER.findall(words):
                yield words, float(found.replace(" ", ""))


def changed(study: str, made: dict[str, Any]) -> tuple[dict[str, Any], set[float]]:
    """The block with every number under methods and settings changed that may be, and the old numbers.

    Settings that a sweep lists are changed in it, with the words that stand for them in names.
    """
    block, old = copy.deepcopy(made["studies"][study]), set[float]()
    places = [(entry, key) for entry in block["methods"].values() for key in entry]
    for case in filter(None, block["cases"].values()):
        places += [(case["settings"], key) for key in case.get("settings") or {}]
        for steps in (case.get("sweep") or {}).values():
            listed = list(enumerate(steps)) if isinstance(steps, list) else list(steps.items())
            places += [(steps, key) for key, _ in listed]
            places += [(step, key) for _, step in listed if isinstance(step, dict) for key in step]
    for entry, key in places:
        value = entry[key]
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value == 0:
            continue
        for candidate in (value + 3, value + 1, value - 1) if isinstance(value, int) else (value * 1.17, value * 0.83):
            entry[key] = candidate
            try:
                plan(study, block, made["root_seed"])
            except ConfigError:
                entry[key] = value
            else:
                old.add(float(value))
                break
    return block, old


@pytest.mark.parametrize(
    ("stem", "study"),
    [pytest.param(*one, marks=[pytest.mark.statistical] if one in LARGE else []) for one in ENTRIES],
)
def test_no_figure_tells_the_number_of_another_configuration(stem, study):
    """What is still in the configuration, such as an epsilon or a number of parties, may be told."""
    made = STUDIES[stem]
    block, old = changed(study, made)
    gone = old - set(numbers(block))
    assert gone
    chosen = plan(study, block, made["root_seed"])
    cube = invented(chosen, replicates=2)
    for name in chosen.figures:
        known = set(CONSTANTS.get((stem, name), ()))
        texts = [(words, number) for words, number in told(chosen.study.figures[name](cube)) if number in gone]
        assert {number for _, number in texts} == known, (name, texts)


def words_of(study: str, name: str, block: dict[str, Any]) -> str:
    chosen = plan(study, block, 3)
    figure = chosen.study.figures[name](invented(chosen, replicates=2))
    return "\n".join(text.get_text() for text in figure.findobj(Text))


def test_noise_of_another_level_has_its_own_name():
    """The example of the issue: s = 0.5 stood in the legend of a run with s = 3."""
    block = copy.deepcopy(STUDIES["config"]["studies"]["functional_boosting"])
    for entry in block["methods"].values():
        if entry.get("s") == 0.5:
            entry["s"] = 3.0
    words = words_of("functional_boosting", "error_by_parties", block)
    assert "local noise s = 3\n" in words and "0.5" not in words


def test_rows_and_features_are_those_of_the_run():
    """The example of the issue: 35 000 rows and 20 features stood over 800 and 8."""
    block = copy.deepcopy(STUDIES["smoke"]["studies"]["label_private"])
    words = words_of("label_private", "utility_by_epsilon", block)
    assert "N = 560, k = 8" in words
    block["cases"]["generated"]["settings"] = {"n": 1000, "k": 5}
    words = words_of("label_private", "utility_by_epsilon", block)
    assert "N = 700, k = 5" in words and "560" not in words and "k = 8" not in words


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("generated records, N = 35 000, k = 20", [35000, 20]),
        ("local noise s = 0.5", [0.5]),
        ("mean over 3 replicates", [3]),
        ("δ = 1e-05", [1e-5]),
        ("0.25", []),
        ("x20 and n2", []),
    ],
)
def test_numbers_in_words_are_found(words, found):
    figure = plt.figure()
    figure.text(0.5, 0.5, words)
    assert [number for _, number in told(figure)] == found
