"""The page on R names columns and fields of a statement that exist; ``./run test --system`` runs it in R."""

from __future__ import annotations

import csv
import re
from dataclasses import fields

from partywise.deployment.statement.statement import Statement
from pipeline import RESULTS, ROOT, STUDY


def test_columns_and_fields_of_the_page_exist(finished):
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    first, dictionary, figure, last = re.findall(r"```r\n(.*?)```", page, re.DOTALL)
    with (finished / RESULTS / STUDY / "tidy.csv").open(encoding="utf-8", newline="") as file:
        columns = set(next(csv.reader(file)))
    named = set(re.findall(r"fits\$(\w+)", first)) | set(re.findall(r'"(\w+)"', first)) - {"ok"}
    assert len(named) > 6 and named - columns == set()
    assert set(re.findall(r"noisy\$(\w+)", figure)) <= columns | {"excess"}
    with (finished / RESULTS / STUDY / "dictionary.csv").open(encoding="utf-8", newline="") as file:
        heads = set(next(csv.reader(file)))
    assert set(re.findall(r"meanings\$(\w+)", dictionary)) <= heads
    told = set(re.findall(r"statement\$(\w+)", last))
    assert len(told) > 6 and told - {field.name for field in fields(Statement)} == set()
