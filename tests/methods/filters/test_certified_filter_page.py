"""docs/framework_filters.md: the example that needs no framework; ./run test --frameworks runs the others."""

from __future__ import annotations

import documented
from pipeline import ROOT

PAGE = ROOT / "docs" / "framework_filters.md"


def test_the_example_prints_what_stands_under_it():
    blocks = list(documented.examples(PAGE))
    assert [code.startswith(documented.EXTRA) for code, _ in blocks] == [False, True, True]
    assert all(expected for _, expected in blocks) and documented.run(PAGE, extras=False) == []
