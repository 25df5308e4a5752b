"""Every figure of every shipped configuration, with its real labels: no text is cut off, covered, tiny or pale."""

from __future__ import annotations

from functools import lru_cache

import pytest

from invented import invented
from legible import problems
from shipped import SHIPPED, shipped_plans

# Large configurations, whose figures take a minute, and those that draw what the default draws: `./run test --long`.
LARGE, ALIKE = ("paper", "sliced_inverse_regression"), ("claims", "smoke")


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


@pytest.mark.parametrize(("path", "study", "name"), list(_entries()))
def test_a_figure_can_be_read(path, study, name):
    assert not problems(shipped_plans(path)[study].study.figures[name](_cube(path, study)))
