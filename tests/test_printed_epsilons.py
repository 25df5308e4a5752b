"""Proved epsilons that people read are rounded upward to four digits, by one function."""

from __future__ import annotations

import ast
import re
from fractions import Fraction

import numpy as np
import pytest

from invented import invented_columns
from partywise.experiment.plans import plans, read_configuration
from partywise.experiment.study import available
from partywise.experiment.tables.page import summary_wide
from partywise.experiment.tables.screen import findings
from partywise.experiment.tables.summary import is_certified, summary_rows
from partywise.experiment.tables.summary_text import summary_text
from partywise.privacy.rounding import downward, upward
from pipeline import ROOT

SOURCES = [path for folder in ("lib/partywise", "workflow") for path in sorted((ROOT / folder).rglob("*.py"))]
# What is proved or spent, as expressions call it; a target or a claim is printed as it is stated.
PROVED = re.compile(
    r"epsilon_(certified|spent|public|any|of_fits|of_choice)\b|\b(spent|total|cost)\.epsilon\b|\['epsilon_\w+'\]"
)
PRINTED = re.compile(r"(?:ε|claims|finite:) (\d+\.\d+)")
PLANTED, SHOWN = 1.23412, "1.235"


def unrounded(source: str) -> list[str]:
    """Parts of f-strings that print a proved epsilon without rounding it upward."""
    inserts = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FormattedValue)]
    texts = [ast.unparse(node.value) for node in inserts]
    return [text for text in texts if PROVED.search(text) and "upward(" not in text]


def significant(number: str) -> int:
    return len(number.replace(".", "").strip("0"))


def test_no_sentence_prints_a_proved_epsilon_in_another_way():
    assert unrounded("f'epsilon {spent.epsilon_certified:.6g} at'") == ["spent.epsilon_certified"]
    assert not unrounded("f'epsilon {upward(spent.epsilon_certified)} of {self.epsilon:g}'")
    read = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in SOURCES}
    left = {name: unrounded(source) for name, source in read.items() if PROVED.search(source)}
    assert not {name: texts for name, texts in left.items() if texts}


@pytest.mark.parametrize(
    "value", [3.999999999998649, 1.23412, 1.2341, 4.0, 519.698, 1e-12, 123456.0, 0.1, 7e22, 4.00001]
)
def test_what_is_printed_covers_the_value_and_is_the_least_of_four_digits(value):
    printed = Fraction(upward(value))
    # An epsilon is computed to a relative accuracy of 1e-12.
    assert Fraction(repr(value)) * (1 - Fraction(1, 10**12)) <= printed < Fraction(repr(value)) * Fraction(1001, 1000)
    assert significant(upward(value).split("e")[0]) <= 4
    assert Fraction(downward(value)) <= Fraction(repr(value)) < Fraction(downward(value)) * Fraction(1002, 1000)


@pytest.mark.parametrize(("value", "printed"), [(4.000000000002649, "4"), (4.00000000001, "4.001"), (1 + 7e-13, "1")])
def test_what_floats_lose_is_no_excess_over_a_target(value, printed):
    assert upward(value) == printed


@pytest.mark.parametrize("name", available())
def test_screen_summary_and_page_of_a_study_round_upward(name):
    made, columns = invented_columns(plans(read_configuration(ROOT / "config" / "smoke.yaml"))[name], 1)
    proved = [variable for variable in columns.names() if is_certified(variable)]
    assert proved
    for variable in proved:
        values = columns.number(variable)
        values[~np.isnan(values)] = PLANTED
    page = summary_wide(made, list(summary_rows(made, columns)))
    cells = [str(value) for row in page for value in row.values()]
    text = "\n".join([findings(made, columns).text(), summary_text(made, columns), *cells])
    assert SHOWN in text and "1.234" not in text
    assert not [number for number in PRINTED.findall(text) if significant(number) > 4]
