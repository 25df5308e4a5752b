"""The page of tables and the captions of figures."""

from __future__ import annotations

import csv
import json
import re
from html.parser import HTMLParser

import pytest

from captions import caption
from partywise.experiment.plan import replicates_text
from partywise.experiment.plans import plans, read_configuration
from partywise.experiment.study import available, load
from partywise.experiment.tables.findings import Findings, PrivateResult, WorstGuarantee
from partywise.experiment.tables.page import tables_page, totals_rows
from partywise.experiment.tables.rows import write_csv
from partywise.experiment.tables.templates import pipe_table
from partywise.experiment.tables.wire import WIRE, equal_messages, message_row
from pipeline import ROOT
from toy import toy_plan

FIGURES = [(name, figure) for name in available() for figure in load(name).figures]


class Collected(HTMLParser):
    """Ids, cells and the tags that are still open."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.cells: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.ids += [value for key, value in attrs if key == "id"]
        if tag not in ("br", "input", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "td":
            self.cells.append(data)


@pytest.fixture
def page(tmp_path) -> str:
    versions = json.dumps({"python": "3"})
    attributes = dict.fromkeys(("git_commit", "code_sha256", "lock_sha256", "config_sha256"), "x")
    attributes |= {"config_json": '{"spec": {"a": "<b>"}}', "software_versions": versions}
    row = {"case": "one", "method": "noisy", "parties": 2, "epsilon": float("inf"), "variable": "epsilon_certified"}
    rows = [row | {"mean": "inf", "se": "", "units": "1", "replicates": 3}]
    fit = {"name": "one, <noisy>", "setting": "2 parties.", "messages": [{"from": "a & b", "to": "c"}], "totals": "1"}
    totals = [
        {"case": "one", "replicate": i, "epsilon_certified": 1.25, "mu_upper": float("nan"), "other": i}
        for i in range(11)
    ]
    write_csv(tmp_path / "totals.csv", totals)
    wire = {"note": "What crosses", "fits": [fit]}
    row = PrivateResult("<b>", "record", "error, lower", "0.2 +- 0.1", "0.1")
    worst = WorstGuarantee("inf", "2", "as <published>")
    findings = Findings("toy", 3, (), ("a claim",), worst, (row,), ("a warning",))
    return tables_page(toy_plan(), attributes, rows, wire, tmp_path / "totals.csv", findings=findings)


def test_the_page_is_well_formed_and_escapes_what_it_shows(page):
    found = Collected()
    found.feed(page)
    assert found.open == []
    assert len(set(found.ids)) == len(found.ids), "an id that occurs twice breaks links"
    assert {"overview", "summary", "ledger", "configuration"} <= set(found.ids)
    assert found.cells.count("11 x") == 1 and found.cells.count("1.25") == 1
    assert "a & b" in found.cells and "∞" in found.cells and "1.25" in found.cells
    assert (
        "<td>&lt;b&gt;</td>" in page and "0.2 ± 0.1" in page and "none (as &lt;published&gt;, which claims 2)" in page
    )
    assert "<noisy>" not in page and "&lt;noisy&gt;" in page
    assert "<b>" not in page and "&lt;b&gt;" in page


def test_a_ledger_without_a_release_makes_no_row(tmp_path):
    (tmp_path / "totals.csv").touch()
    assert totals_rows(tmp_path / "totals.csv") == []


def test_the_page_needs_no_network(page):
    assert "http" not in page and "src=" not in page


@pytest.mark.parametrize(("study", "figure"), FIGURES)
def test_every_figure_has_a_caption(study, figure):
    text = caption(load(study).figures[figure].address, "3 to 5 replicates")
    assert len(text.split()) >= 5 and text[0].isupper() and text.rstrip().endswith(".")
    assert "{" not in text and "}" not in text


@pytest.mark.parametrize(("study", "figure"), FIGURES)
def test_a_caption_says_which_replicates_are_drawn_and_never_how_many_by_itself(study, figure):
    """A number comes from the configuration in force: it may be another one tomorrow."""
    text = caption(load(study).figures[figure].address, "{replicates}")
    assert not re.search(r"\d+ replicates(?! on)", text)
    assert "replicate" in text


def test_numbers_of_replicates_are_those_of_the_plan():
    block = read_configuration(ROOT / "config.yaml")
    made = plans(block)["label_private"]
    counts = {case.replicates for case in made.cases.values()}
    assert made.replicates == f"{min(counts)} to {max(counts)} replicates" and len(counts) > 1
    assert (replicates_text([4, 4]), replicates_text([1])) == ("4 replicates", "1 replicate")
    text = caption(made.study.figures["utility_by_epsilon"].address, made.replicates)
    assert f"means over {made.replicates}" in text


def test_a_figure_without_a_caption_is_refused():
    with pytest.raises(ValueError, match="no figure of that name with a docstring"):
        caption("partywise.experiment.plotting.style:nothing", "3 replicates")


@pytest.mark.parametrize("text", ["=SUM(A1)", "+a", "-a+b", "@a", "\t=1", "\r=1"])
def test_text_that_a_spreadsheet_takes_for_a_formula_is_quoted(tmp_path, text):
    write_csv(tmp_path / "t.csv", [{"owner": text, "n": -1.5, "mean": "-2.5e-3", "bound": "-inf", "other": "a=b"}])
    with (tmp_path / "t.csv").open(newline="") as handle:
        (row,) = csv.DictReader(handle)
    assert row == {"owner": f"'{text.strip()}", "n": "-1.5", "mean": "-2.5e-3", "bound": "-inf", "other": "a=b"}


def test_an_id_that_a_spreadsheet_takes_for_a_formula_keeps_its_join(tmp_path):
    """One quote taken off every entry gives back the owner's ids: none is a formula, and no two become one."""
    ids = [
        "=cmd|' /C calc'!A0",
        "'=cmd|' /C calc'!A0",
        "@b",
        "-c",
        "'",
        "it's",
        "-5",
        "+1e3",
        "a b",
        "a\u00a0b",
        "a\tb",
    ]
    write_csv(tmp_path / "t.csv", [{"id": name, "predicted": 1.0} for name in ids], join_columns=["id"])
    with (tmp_path / "t.csv").open(newline="") as handle:
        written = [row["id"] for row in csv.DictReader(handle)]
    assert [name.removeprefix("'") for name in written] == ids
    assert {name[:1] for name in written} & {"=", "@"} == set() and written[6] == "-5"


@pytest.mark.parametrize("separator", ["\n", "\r", "\x85", "\u2028", "\u2029", "\x0b"])
def test_a_line_separator_in_a_message_keeps_its_row_together(separator):
    row = {"sender": "a", "receiver": "b", "name": f"sum{separator}of x", "kind": "clear", "argument": "row"}
    shown = [message_row([row | {"shape": "2", "bytes": 8}])]
    assert len(pipe_table(WIRE, shown).splitlines()) == 3


def test_equal_messages_share_a_line():
    """Eleven clients send two values in each of three rounds: two lines of 33 messages, and one answer."""
    base = {"kind": "release", "argument": "gaussian, mu = 0.5", "shape": "2", "bytes": 16, "receiver": "server"}
    rows = [
        base | {"sender": f"client {i}", "name": f"{what} of round {step}"}
        for step in range(3)
        for what in ("means", "second moment")
        for i in range(1, 12)
    ]
    rows.append(base | {"sender": "server", "receiver": "client 1", "name": "means of round 0", "kind": "public"})
    rows[-1]["argument"] = "=n follows from a = b"
    lines = pipe_table(WIRE, map(message_row, equal_messages(rows))).splitlines()
    assert lines[2:] == [
        "| 33 x | client 1 ... client 11 | server | means of round 0 ... means of round 2 | release | gaussian, mu 0.5 "
        "| 2 | 528 |",
        "| 33 x | client 1 ... client 11 | server | second moment of round 0 ... second moment of round 2 | release "
        "| gaussian, mu 0.5 | 2 | 528 |",
        "| 1 x | server | client 1 | means of round 0 | public | '=n follows from a equals b | 2 | 16 |",
    ]


def test_a_pipe_in_a_cell_ends_no_cell():
    assert pipe_table(["a", "b"], [["x|y", 1]]).splitlines() == ["| a | b |", "|---|---|", r"| x\|y | 1 |"]


def test_messages_that_differ_in_mechanism_shape_or_direction_stay_apart():
    base = {"sender": "a 1", "receiver": "b", "name": "x", "kind": "release", "argument": "gaussian, mu = 1"}
    base |= {"shape": "2", "bytes": 16}
    others = [{"argument": "gaussian, mu = 2"}, {"shape": "3"}, {"receiver": "c"}, {"kind": "clear"}, {"name": "y"}]
    assert [len(same) for same in equal_messages([base, *(base | other for other in others)])] == [1] * 6
