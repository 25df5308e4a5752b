"""Every figure of every shipped configuration, with its real labels: no text is cut off, covered, tiny or pale."""

from __future__ import annotations

import warnings
from functools import lru_cache

import pytest
from matplotlib import pyplot as plt

from invented import invented
from legible import problems
from shipped import SHIPPED, shipped_plans

# Large configurations, whose figures take a minute, and those that draw what the default draws: `./run test --long`.
LARGE, ALIKE = ("paper", "sliced_inverse_regression"), ("claims", "smoke")
# Figures that are wider than a page or show too much and are being drawn again; each must fail until it is, and is then
# taken out.
MENDING: set[str] = set()


@lru_cache(maxsize=1)
def _cube(path, study):
    return invented(shipped_plans(path)[study])


def _output(path, study, name) -> str:
    return shipped_plans(path)[study].study.figures[name].output


def _entries():
    for path in SHIPPED:
        for study in shipped_plans(path):
            images = [name for name in shipped_plans(path)[study].figures if _output(path, study, name) == "image"]
            for name in images:
                alike = path.stem in ALIKE and study in shipped_plans() and name in shipped_plans()[study].figures
                marks = [pytest.mark.statistical] if path.stem.startswith(LARGE) or alike else []
                yield pytest.param(path, study, name, marks=marks, id=f"{path.stem}-{study}-{name}")


@pytest.fixture(autouse=True)
def closed():
    """Figures of a test are closed after it."""
    yield
    plt.close("all")


@pytest.mark.parametrize(("path", "study", "name"), list(_entries()))
def test_a_figure_can_be_read(path, study, name):
    with warnings.catch_warnings():
        if name in MENDING:
            warnings.simplefilter("ignore")
        found = problems(shipped_plans(path)[study].study.figures[name](_cube(path, study)))
    if name in MENDING:
        assert found or path.stem != "config", f"{name} is mended: take it out of MENDING"
    else:
        assert not found


def test_what_is_being_mended_exists():
    assert {name for path in SHIPPED for study in shipped_plans(path).values() for name in study.figures} >= MENDING
