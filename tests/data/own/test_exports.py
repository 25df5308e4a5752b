"""Tables as programs export them: from the files to a fit without a hand edit, and what is left out is reported."""

from __future__ import annotations

import logging
import re
from functools import partial
from pathlib import Path

import pytest

from own_exports import CASES, PATIENTS, VISITS, WITHOUT_INCOME, answered, write
from owner_outputs_driver import OUTPUTS
from partywise.__main__ import main
from partywise.check_data import check_roles
from partywise.core.errors import ConfigError, DataMissing
from partywise.core.notes import NOTE
from partywise.data.own.columns import numbers_of
from partywise.data.own.csv import read_table
from partywise.data.own.drafts.parts import Roles
from partywise.data.own.drafts.survey import description, survey
from partywise.data.own.grammar import ColumnBlock, TextForm, without_patterns
from partywise.experiment.blocks import write_block
from partywise.experiment.cells import compute, run
from partywise.experiment.collect import collect
from partywise.experiment.configuration.text import read_file
from partywise.experiment.data import generate, read_data, write_data
from partywise.experiment.jobs import Timings
from partywise.experiment.plans import plans, read_configuration
from pipeline import copy_project, launch


@pytest.fixture
def folder(tmp_path, monkeypatch):
    write(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def drafted(file: str, *more: str) -> Path:
    """The draft of a file, with its questions answered."""
    study, words, answers = CASES[file]
    into = Path("mine.yaml")
    assert main(["check-data", file, "--study", study, *words, *more, "--into", str(into)]) == 0
    into.write_text(answered(into.read_text(), answers))
    return into


@pytest.mark.parametrize("file", CASES)
def test_an_export_becomes_data_and_a_fit_without_a_hand_edit(file, folder, caplog, capsys):
    study = CASES[file][0]
    made = plans(read_configuration(drafted(file)))[study]
    capsys.readouterr()
    with caplog.at_level(logging.INFO, logger="partywise"):
        data = generate(made, "own_files", [0], "resources")
    case = made.cases["own_files"]
    cell = run(made, "own_files", case.methods[0], case.parties, [0], [0], data)[-1]
    assert cell.scalars["status"] == "ok" and cell.owner_report is not None
    told = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    if file == "besuche.csv":
        assert len(data[0].ids) == VISITS - WITHOUT_INCOME
        assert any(f"{NOTE}{file}: 228 of 300 rows are used and 72 left out, which lack an" in one for one in told)
    elif file == "klinik.csv":
        assert len(data[0].times) == PATIENTS, "a value under a limit of detection is not a missing one"
        assert not any("left out" in one for one in told)


def test_summary_and_page_name_records_that_are_left_out(folder):
    """The sentence travels with data and fits: only the first job reads the file, here a second time in its process."""
    written = read_configuration(drafted("besuche.csv"))
    grid = written["studies"]["label_private"]["cases"]["own_files"]["grid"]
    grid |= {"replicates": 1, "folds": 1, "methods": ["no_privacy"], "epsilon": [1.0]}
    made = plans(written)["label_private"]
    (case,) = made.cases.values()
    share = {"case": case.name, "methods": case.methods, "parties": case.parties, "replicates": [0]}
    share |= {"folds": range(case.folds)}
    generate(made, case.name, [0], "resources")
    write_data("data.npz", made, {case.name: [0]}, "resources")
    write_block("block.npz", compute(made, share, partial(read_data, "data.npz", made), Timings()))
    collect(made, ["block.npz"], OUTPUTS, code_sha256="c" * 64, root=folder)
    sentence = "besuche.csv: 228 of 300 rows are used and 72 left out, which lack an entry (einkommen 72)."
    assert sentence in Path(OUTPUTS["text"]).read_text(encoding="utf-8").splitlines()
    assert f"<p>{sentence}</p>" in Path(OUTPUTS["tables"]).read_text(encoding="utf-8")


def test_a_draft_asks_where_more_than_one_row_in_twenty_lacks_an_entry(folder):
    assert (
        main(["check-data", "besuche.csv", "--study", "label_private", "--response", "bestellt", "--into", "a.yaml"])
        == 0
    )
    (line,) = [line for line in Path("a.yaml").read_text().splitlines() if "missing:" in line]
    begun = (
        "missing: ?  # drop leaves out what lacks an entry; or refuse, without the columns with gaps: besuche.csv: 72 "
    )
    assert line.strip().startswith(begun)
    found = description(survey(Path("besuche.csv").read_bytes(), "besuche.csv"))
    assert "  rows that lack an entry: 72 of 300 rows (24.0%: einkommen 72); the other rows are complete" in found


def rows(*lines: str) -> bytes:
    return "\n".join([*lines, ""]).encode()


def form(**keys: object) -> TextForm:
    return TextForm(**keys)  # type: ignore[arg-type]


def test_lines_around_a_table_and_two_rows_of_names(tmp_path):
    content = rows("Report", "", "a,,b,b", "x,y,,mg", "1,2,3,4", "5,6,7,8", "source,,,")
    table = read_table(content, "f.csv", form(lines_above=2, lines_below=1, header_rows=2))
    assert table.header == ("a x", "a y", "b", "b mg") and table.lines == [5, 6]
    assert table.column("a y") == ["2", "6"]


def test_equal_names_are_numbered_where_the_configuration_says_so():
    content = rows("a,b,a,a", "1,2,3,4")
    with pytest.raises(DataMissing, match=r"several columns called 'a': give each its own name, or set equal_names"):
        read_table(content, "f.csv", form())
    assert read_table(content, "f.csv", form(equal_names="number")).header == ("a", "b", "a 2", "a 3")


@pytest.mark.parametrize(
    ("keys", "text", "value"),
    [
        ({"below": "half"}, "<5", 2.5),
        ({"below": "limit"}, "< 0,5", 0.5),
        ({"below": "zero"}, "<=5", 0.0),
        ({"below": "half"}, ">90", 90.0),
        ({"percent": "number"}, "12,5 %", 12.5),
        ({"percent": "share"}, "12%", 0.12),
    ],
)
def test_limits_and_percentages_are_numbers_by_their_keys(keys, text, value):
    read = {"decimal": ",", "delimiter": ";"}
    assert numbers_of(read_table(rows("a;b", f"{text};1"), "f.csv", form(**read, **keys)), "a").tolist() == [value]
    with pytest.raises(DataMissing, match=r"f\.csv: a is '.*set (below|percent)|which is a (limit|percentage)"):
        numbers_of(read_table(rows("a;b", f"{text};1"), "f.csv", form(**read)), "a")


def test_a_date_and_a_time_in_two_columns_are_one_time_stamp():
    content = rows("d,t,x", "01.05.2024,10:30,1", "02.05.2024,,2")
    table = read_table(content, "f.csv", form(time_format="%d.%m.%Y %H:%M"))
    assert table.column("d + t") == ["01.05.2024 10:30", ""]


STAMPS = [f"2024-03-{day:02d}T10:00:00{'+01:00' * (day % 2)}" for day in range(1, 25)]


def test_zones_of_time_stamps_are_stated_or_the_same():
    """The clocks of two zones are not compared: an hour of October stood twice, and shifts went unseen."""
    content = rows("when,x", *(f"{stamp},{k}" for k, stamp in enumerate(STAMPS)))
    found = survey(content, "f.csv")
    assert any("f.csv: when names a time zone in 12 of 24 time stamps and none in 12" in one for one in found.faults)
    with pytest.raises(DataMissing, match=r"f\.csv: when names a time zone in 12 of 24 time stamps: write all in one"):
        numbers_of(read_table(content, "f.csv", form(time_format="iso")), "when")
    years = numbers_of(read_table(content, "f.csv", form(time_format="iso", time_zone="UTC")), "when")
    # The first stamp is 9:00 in UTC: 60 days and 9 hours after the beginning of a leap year.
    assert years[0] == pytest.approx(2024 + (60 + 9 / 24) / 366, abs=1e-12)
    assert years[1] == pytest.approx(2024 + (61 + 10 / 24) / 366, abs=1e-12)
    october = rows("when,x", "2024-10-27T02:30:00+02:00,1", "2024-10-27T02:30:00+01:00,2")
    with pytest.raises(DataMissing, match=r"in 2 of 2 time stamps \(2 different ones\)"):
        numbers_of(read_table(october, "f.csv", form(time_format="iso")), "when")
    hours = numbers_of(read_table(october, "f.csv", form(time_format="iso", time_zone="+01:00")), "when")
    assert (hours[1] - hours[0]) * 366 * 24 == pytest.approx(1.0, abs=1e-6)
    with pytest.raises(ValueError, match=r"time_zone is 'Europe/Berlin': it must be UTC or an offset"):
        form(time_zone="Europe/Berlin")


def test_a_block_with_a_star_declares_what_columns_have_in_common():
    blocks = [ColumnBlock(name="lab_*", bounds=(0.0, 9.0)), ColumnBlock(name="lab_a")]
    blocks += [ColumnBlock(name="lab_b", bounds=(1.0, 2.0)), ColumnBlock(name="sex", levels=("f", "m"))]
    found = without_patterns(tuple(blocks))
    assert [(one.name, one.bounds) for one in found] == [("lab_a", (0.0, 9.0)), ("lab_b", (1.0, 2.0)), ("sex", None)]
    assert without_patterns(found) == found
    with pytest.raises(ValueError, match=r"columns has 'x_\*': it fits no other column of the list"):
        without_patterns((ColumnBlock(name="x_*", bounds=(0.0, 1.0)),))


GUESSES = rows(
    "consent,outcome,exported,score,arm,value",
    *(
        f"{'yes' if k % 3 else 'no'},{'abc'[k % 3]},2024-0{1 + k % 2}-01,{k % 7 + 0.5},{k % 2},{k}.25"
        for k in range(60)
    ),
)


def test_what_no_name_supports_is_a_question(folder):
    """A consent was the hospital, an outcome the client, a date the label."""
    Path("g.csv").write_bytes(GUESSES)
    assert main(["check-data", "g.csv", "--into", "g.yaml"]) == 0
    text = Path("g.yaml").read_text()
    assert re.search(r"party: \?  # the column that names the client of a row", text)
    assert re.search(r"parties: \?  #", text) and re.search(r"response: \?  # what is explained", text)
    assert not re.search(r"(party|response|user|event): \"?(consent|outcome|exported|arm|score)", text)
    Path("h.yaml").unlink(missing_ok=True)
    study = ["--study", "sliced_inverse_regression"]
    words = ["--party", "consent", "--response", "value", "--into", "h.yaml"]
    assert main(["check-data", "g.csv", *study, *words]) == 0
    settings = read_file_of("h.yaml", "sliced_inverse_regression")
    assert (settings["party"], settings["parties"], settings["response"]) == ("consent", ["no", "yes"], "value")


def read_file_of(path: str, study: str) -> dict[str, object]:
    text = re.sub(r": [?]  #", ": [0, 100]  #", Path(path).read_text())
    Path(path).write_text(text)
    found = read_file(Path(path))
    return dict(found["studies"][study]["cases"]["own_files"]["settings"])  # type: ignore[index,call-overload]


def test_a_role_that_no_file_has_and_a_file_named_twice_are_refused(folder, capsys):
    assert main(["check-data", "besuche.csv", "--event", "bestelt"]) == 2
    assert "--event is 'bestelt': no file has that column; did you mean 'bestellt'?" in capsys.readouterr().err
    assert main(["check-data", "besuche.csv", "./besuche.csv"]) == 2
    assert "check-data names ./besuche.csv twice: name each file once." in capsys.readouterr().err


def test_many_columns_with_one_fault_are_one_line():
    """Sixty columns had 57 lines, and of equal texts the rows of the first alone were counted."""
    names = [f"c{k}" for k in range(60)]
    lines = [",".join(f"{(7 * j + k) % 31 + 1} kg" for k in range(60)) for j in range(40)]
    found = survey(rows(",".join(names), *lines), "f.csv").faults
    assert len(found) == 1
    assert found[0].startswith("f.csv: c0 is '1 kg' and alike in 40 rows (2, 3, 4, ...), which has a unit")
    assert found[0].endswith("Alike in 59 more (c1, c2, c3, ...).")


@pytest.mark.runs
@pytest.mark.parametrize("file", CASES)
def test_from_the_file_to_the_figure_without_a_hand_edit(file, tmp_path, monkeypatch):
    project = copy_project(tmp_path / "project")
    monkeypatch.chdir(project)
    write(project)
    done = launch(project, "--configfile", str(drafted(file)))
    assert done.returncode == 0, done.stderr
    drawn = list((project / "results" / "mine" / "figures" / CASES[file][0]).glob("*.svg"))
    assert drawn
    if file == "besuche.csv":
        sentence = "besuche.csv: 228 of 300 rows are used and 72 left out"
        assert f"own data: {sentence}" in done.stderr
        assert sentence in (project / "results" / "mine" / CASES[file][0] / "summary.txt").read_text(encoding="utf-8")


def test_an_unknown_role_is_an_error(folder):
    with pytest.raises(ConfigError, match="--party is 'Klinik': no file has that column"):
        check_roles(Roles(party="Klinik"), [survey(Path("besuche.csv").read_bytes(), "besuche.csv")])
