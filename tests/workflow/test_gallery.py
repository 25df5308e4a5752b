"""The scripts of the gallery: each draws one figure that can be read, in the look of all others, in seconds."""

from __future__ import annotations

import ast
import runpy
import time

import matplotlib.pyplot as plt
import pytest

from _gallery import set_look
from legible import problems
from pipeline import ROOT

SCRIPTS = sorted((ROOT / "docs" / "gallery").glob("plot_*.py"))
# CPU seconds of one script; `./run docs` may take a minute for all.
LIMIT = 60 / 12


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_draws_one_figure_that_can_be_read(path, monkeypatch):
    monkeypatch.setattr(plt, "show", lambda: None)
    with plt.rc_context():
        set_look()
        before, begun = set(plt.get_fignums()), time.process_time()
        runpy.run_path(str(path), run_name="__main__")
        used = time.process_time() - begun
        (number,) = set(plt.get_fignums()) - before
        figure = plt.figure(number)
        try:
            assert problems(figure) == []
        finally:
            plt.close(figure)
    assert used < LIMIT


def test_the_gallery_has_thirteen_scripts_that_name_what_they_show():
    titles = [ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))).splitlines() for path in SCRIPTS]
    assert len(titles) == 13 and all(set(lines[1]) == {"="} and len(lines[1]) == len(lines[0]) for lines in titles)
