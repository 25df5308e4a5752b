"""The sequence diagram of every protocol is its transcript, and the committed image is what its run gives."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter

import pytest

import _protocols as page
from _sequence.drawing import draw, lifelines
from _sequence.steps import FIELDS, transcript_rows
from _sequence.wording import lines
from partywise.experiment.study import available, load

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def found():
    """All methods of all studies, run once."""
    return list(page.diagrams())


def test_the_steps_of_every_method_give_back_its_transcript(found):
    assert sum(len(one.transcript) for one in found) > 1000
    for one in found:
        rows = [{key: row[key] for key in FIELDS} for row in one.transcript]
        assert transcript_rows(one.steps) == rows, one.image


def test_every_protocol_of_every_study_has_its_diagram(found):
    shown = {(one.study, one.protocol) for one in page.distinct(found)}
    assert shown == {(study, protocol) for study in available() for protocol in load(study).methods}


def test_what_is_drawn_lies_on_the_lines_of_who_sends_and_who_gets_it(found):
    """From the picture: the dots of an arrow are at its senders, its heads at its receivers, and its words stand."""
    for one in found:
        root = ET.fromstring(draw(one.steps, one.names, one.holders, one.title))
        told = [line for line in lines(one.steps) if line.kind]
        columns = lifelines(one.names, one.holders, told)
        width = float(root.get("width"))
        at = {
            name: round(10 + (width - 20) * (k + 0.5) / len(columns), 1)
            for k, column in enumerate(columns)
            for name in column.names
        }
        dots, heads = Counter(), Counter()
        for dot in root.iter(f"{SVG}circle"):
            dots.update([(float(dot.get("cy")), float(dot.get("cx")))])
        for path in root.iter(f"{SVG}path"):
            if head := re.match(r"M([\d.]+) ([\d.]+)l-?9 ", path.get("d")):
                heads.update([(float(head[2]), float(head[1]))])
        heights = sorted({y for y, _ in dots})[: len(told)]
        for y, line in zip(heights, told, strict=True):
            assert {x for height, x in dots if height == y} == {at[name] for name in line.senders}, one.image
            assert {x for height, x in heads if height == y} == {at[name] for name in line.receivers}, one.image
        texts = " ".join("".join(text.itertext()) for text in root.iter(f"{SVG}text")).replace("\u00a0", " ")
        assert all(f"{line.number}  {line.title}" in texts and line.details in texts for line in told), one.image


def test_the_page_shows_each_diagram_once(found):
    made = page.pages(page.distinct(found))
    images = [name for name in made if name.endswith(".svg")]
    assert len(images) > 60 and re.findall(r"\]\((protocols/[^)]+\.svg)\)", made[f"{page.PAGE}.md"]) == images


def test_the_committed_image_is_what_its_run_gives():
    """Else: ``.venv/bin/python docs/_protocols.py``, and look at what has changed."""
    assert page.EXAMPLE_FILE.read_text(encoding="utf-8") == page.example()
