"""The report of config/tiny.yaml, as its plugin makes it: one file, everything on it, nothing from elsewhere."""

from __future__ import annotations

import re
import sys
from base64 import b64decode
from html import escape
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote, unquote_to_bytes
from zipfile import ZipFile

import jinja2
import pytest
import yaml
from PIL import Image

from captions import caption, case_titles
from invented import invented_columns
from partywise.experiment.plans import plans, read_configuration
from partywise.experiment.results.provenance import global_attributes
from partywise.experiment.tables.dictionary import dictionary_rows
from partywise.experiment.tables.findings import Findings, PrivateResult, WorstGuarantee
from partywise.experiment.tables.page import shown_names, tables_page
from partywise.experiment.tables.screen import findings
from partywise.experiment.tables.summary import summary_rows
from partywise.experiment.tables.templates import TypesetTable, save_table
from partywise.experiment.tables.wire import Wire
from pipeline import RESULTS, ROOT, STUDY, TINY, copy_run, edit, python, snakemake
from shipped import SHIPPED, shipped_plans
from snakemake_report_plugin_partywise.content import FIRST, LARGE_DATA, Figure, TooOld, run_of
from snakemake_report_plugin_partywise.page import MOST_ROWS, ROOM, page, room_for_each, shortened

# What the rules are given of a run.
RULES = {
    "ROOT": ROOT,
    "workflow": SimpleNamespace(configfiles=[]),
    "PLACE": SimpleNamespace(folder="results/none"),
}
FIGURES = ("error_by_parties", "error_by_epsilon")
VOID = {"meta", "link", "input", "img", "br", "col"}
# Attributes that a browser fetches.
FETCHED = {"src", "href", "srcset", "data", "action", "poster", "background"}


class Page(HTMLParser):
    """A page taken apart: elements in order with their attributes, texts by the elements around them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[tuple[tuple[str, ...], str]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, {key: value or "" for key, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"{tag} closes nothing"

    def handle_data(self, data):
        self.texts.append((tuple(self.open), data))

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def within(self, tag: str) -> str:
        return " ".join("".join(text for above, text in self.texts if tag in above).split())


@pytest.fixture(scope="module")
def text(finished, tmp_path_factory) -> str:
    """What ``./run report`` writes after the run of the tiny configuration."""
    folder = copy_run(finished, tmp_path_factory.mktemp("report") / "project")
    done = python(folder, "workflow/verbs/report.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"Report of config/tiny.yaml: {RESULTS}/report.html"
    return (folder / RESULTS / "report.html").read_text(encoding="utf-8")


def test_snakemake_makes_its_own_report_as_the_catalogue_is_told(finished, tmp_path):
    catalogue = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text(encoding="utf-8"))["usage"]
    assert catalogue["software-stack-deployment"]["report"] is True and catalogue["mandatory-flags"]["flags"] == ""
    folder = copy_run(finished, tmp_path / "project")
    done = snakemake(folder, "--snakefile", "workflow/Snakefile", *TINY, "--report", "report.zip")
    assert done.returncode == 0, done.stderr
    names = ZipFile(folder / "report.zip").namelist()
    assert any(name.endswith("report.html") for name in names), names
    assert {f"{name}.svg" for name in FIGURES} <= {Path(name).name for name in names}


def test_a_cube_of_another_text_is_refused_by_name(finished, tmp_path):
    """Without words, as after an edit of the configuration of the last run: nothing is written."""
    folder = copy_run(finished, tmp_path / "project")
    edit(folder / "config" / "tiny.yaml", "snr: 10.0", "snr: 11.0")
    done = python(folder, "workflow/verbs/report.py")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        f"{RESULTS}/{STUDY}/cube.nc is of another text of config/tiny.yaml than the one in force: run it (`./run` with "
        "the same words) and ask for the report then."
    ]
    assert not (folder / RESULTS / "report.html").exists()


@pytest.fixture(scope="module")
def read(text) -> Page:
    return Page(text)


def record(path: Path, order: str, caption: str = "<p>What it shows. And more.</p>") -> SimpleNamespace:
    """A file as Snakemake hands it over."""
    return SimpleNamespace(path=path, labels={"order": order}, caption=caption)


def section(key: str, rows: int) -> str:
    """A section of a page of tables."""
    row = '<tr><td class="number">1.5</td><td>a &amp; b</td></tr>\n'
    table = f"<table><thead><tr><th>fits</th></tr></thead><tbody>\n{row * rows}</tbody></table>"
    return f'<section id="{key}">\n<h2>{key.title()}</h2>\n<div class="wide">{table}</div>\n</section>\n'


def invented(folder: Path, studies: int, rows: int = 1, audit: bool = False, results: int = 1) -> list[SimpleNamespace]:
    """Files of a run of many studies, with one figure each."""
    found = []
    for i in range(studies):
        tables = folder / "mine" / f"study_{i:02d}" / "tables.html"
        drawing = folder / "mine" / "figures" / f"study_{i:02d}" / "a_figure.svg"
        for path in (tables, drawing):
            path.parent.mkdir(parents=True)
        sections = [section("overview", 1), section("summary", rows), section("configuration", rows)]
        tables.write_text(f"<h1>Study {i}</h1>{''.join(sections)}")
        result = PrivateResult(f"case {i}", "record", "test log-loss, lower", "0.335 +- 0.003", "not run")
        worst = WorstGuarantee("8", "8", "noisy moments")
        stored = Findings(tables.parent.name, 7, (), (), worst, (result,) * results, (), f"Is {i} & <more> enough?")
        tables.with_name("findings.json").write_text(stored.text(), encoding="utf-8")
        drawing.write_text('<svg width="504pt">\n <title>What it &lt; shows</title></svg>')
        drawing.with_suffix(".csv").write_text('panel,series\n1,"a, 50% & ""b"""\n')
        opens = audit and i == studies - 1
        found += [record(tables, f"{i:03d}"), record(drawing, FIRST if opens else f"{i:03d}.000")]
    return found


def test_the_page_is_well_formed_and_its_links_lead_somewhere(read):
    assert read.open == []
    ids = [attributes["id"] for _, attributes in read.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [one["href"] for one in read.all("a")]
    assert len(links) >= 10 and all(link[1:] in ids or link.startswith("data:text/csv") for link in links)


def test_nothing_comes_from_elsewhere(read, text):
    for tag, attributes in read.elements:
        for name in FETCHED & set(attributes):
            assert attributes[name].startswith(("#", "data:")), (tag, name, attributes[name][:60])
    assert not re.search(r"url\(|@import|https?:", read.within("style") + read.within("script"))
    assert not [one for one in read.all("script") if "src" in one]


def test_every_figure_is_there_with_its_caption_in_view(read):
    made = plans(read_configuration(ROOT / "config/tiny.yaml"))[STUDY]
    assert made.figures == FIGURES
    figures = [one["id"] for one in read.all("figure")]
    assert figures == [f"{STUDY}-{name}" for name in FIGURES], "in the order of the configuration"
    shown = read.within("figcaption")
    for name, image in zip(FIGURES, read.all("img"), strict=True):
        words = caption(made.study.figures[name].address, made.replicates)
        assert " ".join(words.replace("``", "").split()) in shown
        assert len(image["alt"]) > 20, "its finding or question"
        kind, _, content = image["src"].partition(";charset=utf-8,")
        assert kind == "data:image/svg+xml" and "<svg" in unquote(content)
    assert not [tag for tag, _ in read.elements if tag == "button"], "nothing has to be pressed to read a caption"
    assert "system-message" not in str(read.elements), "a caption that does not parse"


def test_the_values_of_a_figure_and_its_configuration_are_one_click_away(read, finished):
    """The link holds the CSV file of the results, byte for byte."""
    links = {one.get("download"): one["href"] for one in read.all("a")}
    ids = [attributes["id"] for _, attributes in read.elements if "id" in attributes]
    for name in FIGURES:
        kind, _, content = links[f"{STUDY}-{name}.csv"].partition(",")
        assert kind == "data:text/csv;charset=utf-8"
        kept = finished / RESULTS / "figures" / STUDY / f"{name}.csv"
        assert unquote_to_bytes(content) == kept.read_bytes() and kept.read_text().startswith("panel,")
    assert f"{STUDY}-configuration" in ids
    assert [one["href"] for one in read.all("a")].count(f"#{STUDY}-configuration") == len(FIGURES) + 1


def test_the_table_of_the_screen_comes_first(read, text, finished):
    """Then question and answer, made from the numbers of ``findings.json``, before figures and tables."""
    first = text[text.index("<table") : text.index("</table>")]
    found = Page(first + "</table>")
    heads = [words for above, words in found.texts if above[-2:] == ("tr", "th") and "thead" in above]
    assert heads == ["study", "case", "protects", "measure", "private, ε = 1", "noise-free"]
    cells = [words for above, words in found.texts if above[-1:] in (("td",), ("a",))]
    stored = Findings.of((finished / RESULTS / STUDY / "findings.json").read_text(encoding="utf-8"))
    (result,) = stored.results
    private = f"{result.private.replace('+-', '±')} at ε {result.epsilon}"
    assert cells == ["functional boosting", result.title, "features", result.measure, private, result.noise_free]
    places = [text.index(part) for part in (stored.question, result.private.split()[0], "<figure", 'class="keys"')]
    answer = text.index(f'<p class="answer">{stored.answer}')
    assert places[0] < answer < places[2] < places[3] and places[1] < places[0]
    assert result.private.replace("+-", "±") in stored.answer and result.epsilon in stored.answer


def test_the_summary_begins_with_what_stays_in_view(read, text):
    summary = Page(text[text.index('<table class="keys">') :].partition("</table>")[0] + "</table>")
    heads = [words for above, words in summary.texts if "thead" in above and above[-1] == "th"]
    assert heads[:7] == ["method", "claimed epsilon", "certified epsilon ↓", "case", "parties", "epsilon", "replicates"]
    style = read.within("style")
    assert re.search(r"\.keys :is\(th, td\):nth-child\(-n\+3\) { position: sticky", style)
    folded = [above for above, words in read.texts if words in ("What crosses the wire", "Ledger", "Configuration")]
    assert [above[-1] for above in folded if "nav" not in above and above[-1] != "a"] == ["summary"] * 3


def test_the_report_is_small_and_the_same_on_every_call(text, finished):
    figures = sum(path.stat().st_size for path in (finished / RESULTS / "figures").rglob("*.svg"))
    assert len(text.encode()) <= 3_000_000 + 1.4 * figures
    assert str(finished) not in text and str(ROOT) not in text


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_configuration_has_a_report(path, tmp_path):
    """Of invented numbers, with the titles, captions and sections of the configuration itself."""
    records = []
    (tmp_path / "totals.csv").touch()
    for place, (study, plan) in enumerate(shipped_plans(path).items()):
        made, columns = invented_columns(plan, 2)
        stored = findings(made, columns, ["2 records are left out"])
        tables = tmp_path / "mine" / study / "tables.html"
        tables.parent.mkdir(parents=True)
        attributes = global_attributes(made, code_sha256="0" * 64, root=ROOT)
        rows = summary_rows(made, columns, shown_names(made))
        wire, dictionary = Wire(made).template_fields(), dictionary_rows(columns, ())
        shown = tables_page(made, attributes, rows, wire, tmp_path / "totals.csv", dictionary, stored)
        tables.write_text(shown, encoding="utf-8")
        tables.with_name("findings.json").write_text(stored.text(), encoding="utf-8")
        records.append(record(tables, f"{place:03d}"))
        for number, name in enumerate(plan.figures):
            figure = plan.study.figures[name]
            drawing = tmp_path / "mine" / "figures" / study / f"{name}.{figure.file_type}"
            drawing.parent.mkdir(parents=True, exist_ok=True)
            drawing.write_text(f"<svg><title>{name}</title></svg>", encoding="utf-8")
            words = escape(caption(figure.address, made.replicates))
            records.append(record(drawing, f"{place:03d}.{number:03d}", f"<p>{words}</p>"))
    run = run_of(records, [path], "<p>about</p>")
    text = page(run)
    read = Page(text)
    ids = [attributes["id"] for _, attributes in read.elements if "id" in attributes]
    assert read.open == [] and len(ids) == len(set(ids))
    assert all(one["href"][1:] in ids for one in read.all("a"))
    assert len(text.encode()) <= 3_000_000 and len(read.all("figure")) == len(run.figures)
    for study in run.studies:
        assert study.findings.answer.endswith(".") and "  " not in study.findings.answer
        assert study.findings.question or ":" in str(shipped_plans(path)[study.name].module)


def test_of_many_studies_and_cases_each_study_has_some_rows(tmp_path):
    run = run_of(invented(tmp_path, 14, results=20), [], "<p>about</p>")
    table = Page(page(run).partition("</table>")[0] + "</table>")
    assert len(table.all("tr")) == 1 + 14 * MOST_ROWS
    assert len(Page(page(run)).all("figure")) == 14


def test_what_the_results_lack_is_named_with_its_log(tmp_path):
    """A figure that failed, a study that is not there; what is older than its results or the code is marked."""
    records = invented(tmp_path, 3)
    records[3].labels["state"] = "old"
    records[4].labels["state"] = records[5].labels["state"] = "old"
    run = run_of(records, [], "", missing=["study_00/other_figure", "study_09"])
    read = Page(page(run))
    assert [one["id"] for one in read.all("figure")] == [f"study_0{i}-a_figure" for i in range(3)]
    logs = " ".join("".join(text for above, text in read.texts if "code" in above).split())
    for log in ("study_00/figure/other_figure.log", "logs/study_09"):
        assert log in logs
    assert read.within("p").count("the next run makes them again") == 1, "of results that are old as a whole"
    assert read.within("figure").count("the next run makes it again") == 1, "of a figure alone"
    assert read.within("section").count("missing. Log:") == 2


def test_large_data_are_named_in_place_of_a_link(tmp_path):
    records = invented(tmp_path, 1)
    data = records[1].path.with_suffix(".csv")
    data.write_text("x\n" * LARGE_DATA)
    read = Page(page(run_of(records, [], "")))
    assert not [one for one in read.all("a") if "download" in one] and str(data) in read.within("figure")


def test_the_figure_of_the_claims_follows_the_table_of_studies_and_stands_there_once(tmp_path):
    shown = page(run_of(invented(tmp_path, 3, audit=True), [], "<p>about</p>"))
    assert shown.index('id="studies"') < shown.index('id="study_02-a_figure"') < shown.index('id="study_00-a_figure"')
    assert len(Page(shown).all("figure")) == 3


def test_the_first_figure_of_the_audit_is_what_the_rules_say_comes_first(monkeypatch):
    """All others stand in the order of the configuration."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    config = read_configuration(ROOT / "config/smoke.yaml")
    rules = RULES | {"config": config}
    exec((ROOT / "workflow/rules/common.smk").read_text(encoding="utf-8"), rules)
    names = [(study, figure) for study, plan in rules["PLANS"].items() for figure in plan.figures]
    orders = [rules["figure_labels"](SimpleNamespace(study=s, figure=f))["order"] for s, f in names]
    assert [name for name, order in zip(names, orders, strict=True) if order == FIRST] == [
        ("privacy_audit", "worst_claims")
    ]
    others = [order for order in orders if order != FIRST]
    assert len(others) > 5 and others == sorted(others)


def test_long_tables_end_where_the_page_is_full_and_say_so(tmp_path):
    """Four tables of 1 MB each."""
    shown = page(run_of(invented(tmp_path, 2, rows=20_000), [], "<p>about</p>"))
    assert ROOM * 0.9 < len(shown.encode()) < ROOM + 100_000
    assert Page(shown).open == [] and shown.count("There is more than a page holds") == 4
    assert "all of it is in summary.csv of this study" in shown


def test_small_sections_stay_whole_beside_a_large_one():
    assert room_for_each({"a": 10, "b": 20, "c": 1000}, 100) == 70
    assert room_for_each({"a": 10, "b": 20}, 100) == 20
    assert shortened("<p>é</p>", "summary", 9) == "<p>é</p>"
    cut = shortened("<pre>one\ntwo\nthree</pre>", "configuration", 12)
    assert cut.startswith("<pre>one\n</pre>\n<p>")
    assert "the attributes of cube.nc" in cut


def test_tables_of_an_earlier_version_are_refused_in_one_sentence(tmp_path):
    found = invented(tmp_path, 1)
    found[0].path.with_name("findings.json").unlink()
    with pytest.raises(TooOld, match=r"study_00 has no findings\.json: run the same configuration again"):
        run_of(found, [], "")


def test_a_large_drawing_gives_way_to_its_picture_of_few_colours(tmp_path):
    found = invented(tmp_path, 1)
    drawing = found[1].path
    drawing.write_text("<svg>" + " " * 400_000 + "</svg>")
    assert run_of(found, [], "").figures[0].source().startswith("data:image/svg+xml;charset=utf-8,<svg>")
    drawn = Image.effect_noise((60, 40), 90).convert("RGB")
    drawn.save(drawing.with_suffix(".png"))
    source = run_of(found, [], "").figures[0].source()
    assert source.startswith("data:image/png;base64,")
    with Image.open(BytesIO(b64decode(source.partition(",")[2]))) as shown:
        assert shown.mode == "P" and shown.size == drawn.size


def test_a_drawing_in_the_page_is_the_file(tmp_path):
    drawing = invented(tmp_path, 1)[1].path
    drawing.write_text('<svg width="10pt"><title>ε &lt; 1 &amp; 50 %</title>\n#</svg>')
    found = Figure("study", "figure", "", "caption", drawing).source()
    assert '"' not in found and "#" not in found and "&" not in found
    assert unquote(found.partition(",")[2]) == drawing.read_text()


def test_a_figure_that_is_a_table_stands_there_as_rows(tmp_path):
    """With its caption, folded, and with the filter above its rows."""
    found, path = invented(tmp_path, 1), tmp_path / "mine" / "figures" / "study_00" / "a_table.html"
    save_table(
        TypesetTable("Ours & theirs", [{"ours": 0.51, "verdict": "agrees"}], ["A < b."]), path, path.with_suffix(".csv")
    )
    shown = page(run_of([*found, record(path, "000.001")], [], "<p>about</p>"))
    read = Page(shown)
    assert read.open == [] and [one["id"] for one in read.all("figure")] == ["study_00-a_figure", "study_00-a_table"]
    assert len(read.all("img")) == 1 and "agrees" in read.within("figure") and "A < b." in read.within("figure")
    assert [one for one in read.all("input") if "data-rows" in one] and 'href="#study_00-a_table"' in shown
    assert [one["download"] for one in read.all("a") if "download" in one][-1] == "study_00-a_table.csv"


def test_figures_of_own_records_stay_out_unless_asked_for(tmp_path):
    """A page that "can be sent by mail" held the raw curves of its reader's own records."""
    found, path = invented(tmp_path, 1), tmp_path / "mine" / "figures" / "study_00" / "raw_curves.svg"
    path.write_text(drawn := "<svg>12.75</svg>")
    path.with_suffix(".csv").write_text("x\n12.75\n")
    drawing = record(path, "000.001")
    drawing.labels["records"] = "own"
    shown = page(run_of([*found, drawing], [], "<p>about</p>"))
    assert "study_00-raw_curves" not in shown and drawn not in shown
    assert "12.75" not in shown
    assert "Left out, since they show single records: raw curves" in Page(shown).within("p")
    asked = page(run_of([*found, drawing], [], "<p>about</p>", own_records=True))
    assert "study_00-raw_curves" in asked and drawn in asked and "Left out" not in asked


def test_rules_label_figures_of_own_records(monkeypatch):
    """Of own data alone: a figure of flights shows a public table."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    marked = {}
    for name in ("my_data.example", "my_clients.example", "my_labels.example", "my_survival.example", "smoke"):
        config = read_configuration(ROOT / f"config/{name}.yaml")
        monkeypatch.chdir(ROOT)
        rules = RULES | {"config": config}
        exec((ROOT / "workflow/rules/common.smk").read_text(encoding="utf-8"), rules)
        names = [(study, figure) for study, plan in rules["PLANS"].items() for figure in plan.figures]
        labels = {f: rules["figure_labels"](SimpleNamespace(study=s, figure=f)) for s, f in names}
        marked[name] = {figure for figure, found in labels.items() if found.get("records") == "own"}
    assert marked["my_data.example"] == {"real_curves"} and marked["my_clients.example"] == {"projected_records"}
    # The pooled Kaplan-Meier curve jumps at times of records.
    assert marked["my_survival.example"] == {"survival_curves"}
    assert marked["my_labels.example"] == marked["smoke"] == set()


def test_a_hundred_cases_are_a_count_with_the_first_few():
    template = (ROOT / "workflow/report/figure.rst").read_text(encoding="utf-8")
    plan = SimpleNamespace(cases={f"case_{i}": SimpleNamespace(title=f"Case {i}") for i in range(100)})
    wildcards = SimpleNamespace(study="s", figure="f")
    params = SimpleNamespace(caption="What it shows.", cases=case_titles(plan))
    job = SimpleNamespace(wildcards=wildcards, params=params)
    told = jinja2.Environment(trim_blocks=True, lstrip_blocks=True).from_string(template).render(snakemake=job)
    assert "Cases of this configuration: Case 0, Case 1, Case 2 and 97 more." in told and "Case 3" not in told
