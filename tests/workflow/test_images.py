"""Images of pages are figures of finished runs: their paths name figure and configuration."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest

from artifact.measured import IMAGES, images_of, keep_images
from partywise.experiment.plotting.save import DPI
from partywise.experiment.plotting.style import COLUMN, PAGE
from partywise.experiment.study import load
from pipeline import ROOT
from shipped import shipped_plans

# Configurations of which pages show figures; the second is the tutorial's.
NAMES = ("default", "loans")
SHOWN = [(name, path) for name in NAMES for path in images_of(ROOT, name)]


def test_every_image_of_a_run_is_shown_and_every_image_that_is_shown_is_there():
    kept = {path.relative_to(ROOT / IMAGES) for name in NAMES for path in (ROOT / IMAGES / name).rglob("*.*")}
    assert kept == {Path(name) / path for name, path in SHOWN}


@pytest.mark.parametrize(("name", "path"), SHOWN)
def test_the_path_of_an_image_names_a_figure_and_its_width_is_one_of_two(name, path):
    study, figure = path.parent.name, path.stem
    figures = shipped_plans()[study].figures if name == "default" else load(study).figures
    assert figure in figures
    width, _ = struct.unpack(">II", (ROOT / IMAGES / name / path).read_bytes()[16:24])
    assert width in (round(COLUMN * DPI), round(PAGE * DPI))


def test_images_are_taken_from_a_finished_run_if_it_has_all_of_them(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "one.md").write_text("![a](images/mine/study/one.png) ![b](images/mine/study/two.png)")
    drawn = tmp_path / "results" / "mine" / "figures" / "study"
    drawn.mkdir(parents=True)
    (drawn / "one.png").write_bytes(b"1")
    assert re.search(r"mine has no figure study/two\.png\. Give", keep_images(tmp_path, drawn.parents[1], "mine"))
    assert not (tmp_path / IMAGES).exists()
    (drawn / "two.png").write_bytes(b"2")
    assert keep_images(tmp_path, drawn.parents[1], "mine") == ""
    assert (tmp_path / IMAGES / "mine" / "study" / "two.png").read_bytes() == b"2"
    assert "is not shown by any page" in keep_images(tmp_path, drawn.parents[1], "other")
