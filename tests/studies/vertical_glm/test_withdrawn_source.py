"""The page states what became of the source, with the version and the commit of the bibliography."""

from __future__ import annotations

import re
import tomllib

from pipeline import ROOT


def test_version_and_commit_of_the_page_are_those_of_the_bibliography():
    bibliography = (ROOT / "workflow" / "artifact" / "bibliography.toml").read_text(encoding="utf-8")
    assert "dsVertClient" in str(tomllib.loads(bibliography))
    stated = re.search(
        r"Version (\d+\.\d+\.\d+) of the package \(README of ([A-Z]\w+ \d{4}), commit ([0-9a-f]{7})", bibliography
    )
    assert stated is not None
    page = (ROOT / "docs" / "vertical_glm.md").read_text(encoding="utf-8")
    paragraph = page[page.index("dsVertClient") : page.index("## Published and corrected methods")]
    assert all(text in paragraph for text in stated.groups()) and "withdrawn" in paragraph
