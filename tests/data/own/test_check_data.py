"""Tables as they come: what is told of them, all faults at once, and drafts that run once they are answered."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from own_dirty import ANSWERS, CUSTOMERS, FILES, answered, tables, write
from partywise.__main__ import main
from partywise.core.errors import ConfigError
from partywise.data.own.drafts.parts import yaml_lines
from partywise.data.own.drafts.survey import description, survey
from partywise.experiment.cells import run
from partywise.experiment.configuration.text import questions, read_file
from partywise.experiment.data import generate
from partywise.experiment.plans import plans, read_configuration
from pipeline import ROOT, environment

RESPONSE = {
    "functional_boosting": "Pegel",
    "label_private": "Verzug",
    "sliced_inverse_regression": "Umsatz",
    "vertical_glm": "Verzug",
    "vertical_linear": "Verzug",
    "vertical_trees": "Verzug",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    write(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def drafted(*words: str) -> Path:
    into = Path("my_tables.yaml")
    assert main(["check-data", *FILES, *words, "--into", str(into)]) == 0
    return into


@pytest.mark.parametrize("study", RESPONSE)
def test_two_commands_and_one_edited_draft_make_the_data_of_every_study(folder, study, capsys):
    more = ["--party", "Stadt"] if study == "sliced_inverse_regression" else []
    draft = drafted("--study", study, "--response", RESPONSE[study], *more)
    left = questions(draft.read_text())
    assert left and f"Draft of {study}" in capsys.readouterr().out
    with pytest.raises(
        ConfigError, match=rf"^my_tables.yaml has {len(left)} questions left: .* \(line \d+\); put an ans"
    ):
        read_configuration(draft)
    draft.write_text(answered(draft.read_text()))
    made = plans(read_configuration(draft))[study]
    assert isinstance(hash(made.cases["own_files"].source), int)
    data = generate(made, "own_files", [0], "resources")[0]
    n = len(data.ids) if study != "functional_boosting" else len(data.record_names)
    # Rows with k.A. or -9999 are left out, and no other; "<5" is a limit of detection, and curves bridge a gap.
    gaps = {"label_private": 7, "sliced_inverse_regression": 7, "functional_boosting": CUSTOMERS - 40}
    assert n == CUSTOMERS - gaps.get(study, 12)
    case = made.cases["own_files"]
    cell = run(made, "own_files", case.methods[0], case.parties, [0], [0], {0: data})[-1]
    assert cell.scalars["status"] == "ok" and cell.owner_report is not None


def test_a_draft_of_all_studies_asks_for_no_number_that_the_data_have(folder, capsys):
    text = drafted().read_text()
    for study in RESPONSE:
        assert f"\n  {study}:\n" in text
    numbers = {text for rows in tables().values() for row in rows[1:] for text in row if text[:1].isdigit()}
    ends = {f"{end(float(t.replace('.', '').replace(',', '.')) for t in numbers if ',' in t):g}" for end in (min, max)}
    assert "levels: [" not in text, "which levels there are is not public by standing in a file"
    assert "bounds: [" not in text and not any(f" {end}" in text for end in ends)
    assert len(questions(text)) == sum(line.partition("#")[0].rstrip().endswith("?") for line in text.splitlines())


def test_what_is_told_of_dirty_tables():
    rows = {name: "".join(f"{';'.join(row)}\n" for row in own).encode("latin-1") for name, own in tables().items()}
    lines = [line for name, content in rows.items() for line in description(survey(content, name))]
    assert f"kunden.csv: {CUSTOMERS} rows, 5 columns, latin-1, delimiter ';', decimal ',', thousands '.'" in lines
    assert "  Kundennr: unique: may be the id; whole numbers, 330 with zeros before them" in lines
    assert (
        "  Umsatz: numbers; missing: 'k.A.' 7" in lines
        and "  Besuche: numbers; under or above a limit: '<5' 6" in lines
    )
    assert "  Alter: numbers; missing: '-9999' 5" in lines
    assert "  Zeit: time stamps; time_format '%d.%m.%Y %H:%M'" in lines
    assert any(line.startswith("  Stadt: levels; 'Düsseldorf' 110, 'Köln' 110") for line in lines)


FAULTS = """id,a,b,b,city,when,sum,
1,1.5,x,1,Nord,01/02/2024,"1,234",q
2,oops,x,1,nord,03/04/2024,"2,345",q
3,2.5,x,1,Nord,05/06/2024,"3,456",q
3,2.5,x,1,Süd,05/06/2024,"3,456"
5,2.5,x,1,Süd,05/06/2024,"3,456",q
6,3.5,x,1,Süd,07/08/2024,"4,567",q
7,4.5,x,1,Süd,07/08/2024,"4,567",q
8,4.5,x,1,Süd,07/08/2024,"4,567",q
"""


def test_all_faults_of_a_file_are_told_at_once():
    found = "\n".join(survey(FAULTS.encode(), "f.csv").faults)
    for sentence in (
        "f.csv has 7 fields in row 5 where the header names 8 columns: correct them",
        "f.csv has 1 columns without a name: name them, or leave them out.",
        "f.csv has 2 columns called 'b': the draft numbers them (equal_names), b, b 2.",
        "f.csv: a is 'oops' in row 3, and a number elsewhere: correct it, or list it under marks (the draft does).",
        "f.csv: city has the levels 'Nord' and 'nord': write them alike if they are one.",
        "f.csv: when can be read as '%d/%m/%Y' and as '%m/%d/%Y': the draft takes the first; look whether the day",
        "f.csv: b is 'x' wherever it is known: it has no information; the draft leaves it out. Alike in 1 more (b 2).",
    ):
        assert sentence in found, found


PANEL = ["Land;Jahr;BIP;Quote;Krise", ";;Mrd. €;%;0/1"]
PANEL += [f"{land};{2000 + k};1.{k:03d},5;{k},5 %;{k % 2}" for land in ("DE", "FR") for k in range(25)]
PANEL += ["Quelle: Amt;;;;"]


def test_a_panel_of_a_spreadsheet_with_units_and_a_source(tmp_path):
    found = survey("\n".join(PANEL).encode(), "p.csv")
    assert (found.form.decimal, found.form.thousands) == (",", ".")
    assert found.columns[0].levels == {"DE": 25, "FR": 25}
    assert found.marks == [] and not found.incomplete
    assert [one.name for one in found.columns] == ["Land", "Jahr", "BIP Mrd. €", "Quote %", "Krise 0/1"]
    assert (found.form.percent, found.form.header_rows, found.form.lines_below) == ("number", 2, 1)
    assert list(found.faults) == [
        "p.csv has row 53 below the table, such as 'Quelle: Amt': the draft leaves it out (lines_below).",
        "p.csv has 2 rows of names: the draft reads them together (header_rows).",
    ]


@pytest.mark.parametrize(
    ("above", "sentence"),
    [
        (
            "# station 7; of May\n# times in UTC\n",
            "f.csv has 2 rows (1, 2) above the names of its columns, such as '# st",
        ),
        (
            "Readings of May\n",
            "f.csv has row 1 above the names of its columns, such as 'Readings of May': the draft leaves it out (l",
        ),
        ("", ""),
    ],
)
def test_what_stands_above_the_names_and_a_delimiter_at_the_end_hide_no_column(above, sentence):
    rows = "".join(f"{k};{k / 7:.3f};{'ab'[k % 2]};\n" for k in range(40)).replace("39;", "39;7;")
    found = survey(f"{above}id;x;c;\n{rows}".encode(), "f.csv")
    assert [one.name for one in found.columns] == ["id", "x", "c"] and found.n_rows == 39
    line = 41 + above.count("\n")
    assert [fault[: len(sentence)] for fault in found.faults][: bool(sentence)] == [sentence][: bool(sentence)]
    assert found.faults[-1].startswith(f"f.csv has 5 fields in row {line} where the header names 4 columns: ")
    # With ends of rows that the header lacks.
    (told,) = survey(b"id;x\n" + b"".join(b"%d;2.5;\n" % k for k in range(9)), "f.csv").faults[:1]
    assert told == "f.csv has rows that all end in ';': take it off, or end the header with one too."


def test_times_of_several_forms_and_a_category_with_many_gaps(tmp_path, monkeypatch):
    """Dates of birth beside times of admission: each column says how its own are written."""
    monkeypatch.chdir(tmp_path)
    rows = [
        [f"P{k:03d}", f"{1 + k % 28:02d}.03.{1940 + k}", f"03.{1 + k % 12:02d}.2023 10:{k % 60:02d}",
         ("ja", "nein", "unbekannt")[k % 3], str(k % 2)] for k in range(60)
    ]  # fmt: skip
    header = ["Fall", "geboren", "Aufnahme", "Raucher", "Tod"]
    Path("k.csv").write_text("".join(f"{';'.join(row)}\n" for row in [header, *rows]))
    (fault, *rest) = (one for one in survey(Path("k.csv").read_bytes(), "k.csv").faults if "can be read" not in one)
    assert not rest and fault == (
        "k.csv: Raucher is missing in 20 of 60 rows, which are left out whole if missing is drop: take the column out, "
        "or make 'unbekannt' one of its levels and no mark."
    )
    assert main(["check-data", "k.csv", "--response", "Tod", "--study", "label_private", "--into", "k.yaml"]) == 0
    text = Path("k.yaml").read_text()
    for answer in ("drop", "[1900, 2025]", "[2023, 2024]", "[ja, nein]"):
        text = text.replace("?  #", f"{answer}  #", 1)
    Path("k.yaml").write_text(text)
    made = plans(read_configuration(Path("k.yaml")))["label_private"]
    settings = made.cases["own_files"].settings
    assert [one.time_format for one in settings.columns] == ["", "%d.%m.%Y %H:%M", ""]
    assert settings.time_format == "%d.%m.%Y"
    data = generate(made, "own_files", [0], "resources")[0]
    assert len(data.ids) == 40


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "f.csv is empty: export it."),
        (b"PK\x03\x04[Content_Types].xml", "f.csv is an Excel workbook (.xlsx): open it and save it as CSV"),
        (b"a,b\n", "f.csv has a header and no rows: nothing was measured."),
        (
            b"a;b\n1,5;2.5\n2,5;3.5\n3,5;4.5\n",
            "f.csv has two decimal marks ('a' has ',', 'b' has '.'): decimal takes one",
        ),
    ],
)
def test_a_file_that_cannot_be_used_says_why(content, sentence):
    assert any(fault.startswith(sentence) for fault in survey(content, "f.csv").faults)


def test_files_that_suit_nothing_and_words_that_are_wrong(folder, capsys):
    Path("short.csv").write_text("a\n1\n2\n")
    assert main(["check-data", "short.csv", "nowhere.csv"]) == 1
    said = capsys.readouterr().out
    assert "- nowhere.csv cannot be read" in said and said.rstrip().endswith("no study suits these files as they are.")
    for words, sentence in (
        (["--study", "vertical_tree"], "--study is 'vertical_tree': did you mean vertical_trees?"),
        (
            ["--into", "none/a.yaml"],
            "--into is 'none/a.yaml': the folder none does not exist; make it, or name another.",
        ),
        (["--into", "kunden.csv"], "--into is 'kunden.csv': that file is there already; name another, or remove it."),
    ):
        assert main(["check-data", *FILES, *words]) == 2
        assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("buffer", [{}, {"PYTHONUNBUFFERED": "1"}])
def test_a_reader_that_leaves_ends_a_verb_quietly(buffer, folder):
    """As `| head` does; what else breaks a pipe is told."""
    reader, writer = os.pipe()
    os.close(reader)
    words, own = [sys.executable, "-m", "partywise", "check-data", *FILES], environment() | buffer
    done = subprocess.run(words, stdout=writer, stderr=subprocess.PIPE, text=True, env=own)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")
    hung_up = (
        "from partywise.core.project import exit_code\ndef verb(): raise BrokenPipeError('a peer')\nexit_code(verb)"
    )
    done = subprocess.run([sys.executable, "-c", hung_up], capture_output=True, text=True, env=environment())
    assert done.returncode == 1 and done.stderr.endswith("BrokenPipeError: a peer\n")


def test_a_draft_is_the_yaml_that_it_says(tmp_path):
    given = {"a": "no", "b": ["yes", "1"], "c": {"d e": 1e-5, "f": [{"g": "x: y", "h": {}}]}, "i": "Größe", "k": None}
    path = tmp_path / "x.yaml"
    path.write_text("\n".join(yaml_lines(given)))
    assert read_file(path) == given
    keys = {"bounds", "edges", "levels", "response_bounds", "least", "centre", "scale", "party", "parties"}
    assert {key for _, key in ANSWERS} == keys


def test_a_table_a_folder_and_a_misspelt_file_are_no_configurations(folder):
    Path("mine.yaml").write_text("root_seed: 1\n")
    for path, sentence in (
        ("kunden.csv", "kunden.csv is a table and no configuration: ./run check-data kunden.csv drafts one for it."),
        (".", ". is a folder: name a configuration file, such as config/paper.yaml."),
        ("mien.yaml", "mien.yaml is not there: did you mean mine.yaml? name a configuration file, such as config/pa"),
    ):
        with pytest.raises(ConfigError) as told:
            read_file(Path(path))
        assert str(told.value).startswith(sentence)


def test_the_shipped_examples_are_known_for_what_they_are(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT / "config" / "example_data")

    def settings(study: str, response: str, *files: str) -> dict[str, Any]:
        into = tmp_path / f"{study}.yaml"
        assert main(["check-data", *files, "--study", study, "--response", response, "--into", str(into)]) == 0
        into.write_text(re.sub(r": [?]  #", ": [0, 100]  #", into.read_text()))
        found: Any = read_file(into)
        return dict(found["studies"][study]["cases"]["own_files"]["settings"])

    curves = settings("functional_boosting", "level_m", "river.csv", "weather.csv", "gauge.csv")
    assert (curves["id"], curves["response"]["time"], curves["response"]["value"]) == ("day", "hour", "level_m")
    assert [one["name"] for one in curves["predictors"]] == ["rain_mm", "temp_c", "gauge"]
    assert curves["predictors"][2]["columns"] == "h*" and "time_format" not in curves["response"]
    clients = settings("sliced_inverse_regression", "flow", "clinics.csv")
    assert (clients["party"], clients["user"], clients["parties"]) == (
        "clinic",
        "patient",
        ["north", "old town", "river"],
    )
    labels = settings("label_private", "ordered", "visits.csv", "orders.csv")
    assert (labels["response_party"], labels["positive"], labels["user"]) == ("orders", "yes", "person")


# Study, and the words of each party.
PARTS = {
    study: {"bank": ("bank.csv", "--response", "Verzug"), "kunden": ("kunden.csv",)}
    for study in ("label_private", "vertical_glm", "vertical_linear", "vertical_trees")
}
PARTS["functional_boosting"] = {"messung": ("messung.csv",)}
PARTS["sliced_inverse_regression"] = {"kunden": ("kunden.csv", "--response", "Umsatz")}


def settings_of(draft: Path, study: str) -> dict[str, Any]:
    """Settings of a draft whose questions are text."""
    config = yaml.safe_load(re.sub(r": \?  #.*", ': "?"', draft.read_text()))
    assert draft.name == "all.yaml" or config["network"]["parties"] == {draft.stem: {"host": "?", "port": "?"}}
    return dict(config["studies"][study]["cases"]["own_files"]["settings"])


@pytest.mark.parametrize("study", PARTS)
def test_what_each_party_drafts_from_its_own_file_is_its_part_of_the_draft_of_all_files(study, folder, capsys):
    """A part is for all parties: no comment counts rows or lists what a file has."""
    tables, settings = list[dict[str, Any]](), dict[str, Any]()
    for me, words in PARTS[study].items():
        assert main(["check-data", *words, "--me", me, "--study", study, "--into", f"{me}.yaml"]) == 0
        assert f"Part of {me} in {study}: {me}.yaml." in capsys.readouterr().out
        text = Path(f"{me}.yaml").read_text()
        assert not re.search(r"of 330|%:|Köln|Münster|nein|163|<5", text)
        with pytest.raises(ConfigError, match=rf"^{me}.yaml has \d+ questions left"):
            read_configuration(Path(f"{me}.yaml"))
        part = settings_of(Path(f"{me}.yaml"), study)
        listed = part["predictors"] if study == "functional_boosting" else part["tables"]
        tables += [one for one in listed if one["party"] == me]
        assert [one for one in listed if one["party"] == "?"] == listed[-1:]
        settings |= {key: value for key, value in part.items() if value != "?" or key not in settings}
    if len(PARTS[study]) == 1:
        assert len(tables) == (2 if study == "functional_boosting" else 1)
        return
    files = [words[0] for words in PARTS[study].values()]
    assert main(["check-data", *files, "--study", study, "--response", "Verzug", "--into", "all.yaml"]) == 0
    whole = settings_of(Path("all.yaml"), study)
    ordered = sorted(whole.pop("tables"), key=lambda entry: str(entry["party"]))
    assert tables == [{key: value for key, value in entry.items() if key != "id"} for entry in ordered]
    shared = [key for key in whole if key not in ("id", "id_as_text", "match", "marks")]
    assert {key: settings[key] for key in shared} == {key: whole[key] for key in shared}


def test_a_part_is_of_one_file(folder, capsys):
    assert main(["check-data", "bank.csv", "kunden.csv", "--me", "bank"]) == 2
    assert "--me is 'bank': a part is drafted from the file of that party; name one file." in capsys.readouterr().err
