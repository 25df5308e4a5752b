"""The screen at the end of a run: forty lines of a hundred columns, whatever is configured."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from invented import invented_columns
from launching.ending import report
from partywise.experiment.plan import plan
from partywise.experiment.plans import read_configuration
from partywise.experiment.tables.screen import screen_text
from pipeline import ROOT
from place import Place
from screen import LINES, ROWS, WIDTH, screen, write_screen

SHIPPED = sorted([ROOT / "config.yaml", *(ROOT / "config").glob("*.yaml")])


def told(folder: Path, studies: dict[str, str]) -> list[str]:
    """The lines of the screen of some studies, and of nothing else."""
    for name, text in studies.items():
        (folder / "results" / "mine" / name).mkdir(parents=True, exist_ok=True)
        (folder / "results" / "mine" / name / "screen.txt").write_text(text, encoding="utf-8")
    lines = screen(folder, "results/mine", list(studies)).splitlines()
    assert len(lines) <= LINES == 39 and max(map(len, lines)) <= WIDTH == 100
    return lines


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_configuration_ends_with_one_screen(path, tmp_path):
    config = read_configuration(path)
    texts = {}
    for study, block in config["studies"].items():
        made, columns = invented_columns(plan(study, block, config["root_seed"]), 2)
        texts[study] = screen_text(made, columns)
        assert max(map(len, texts[study].splitlines())) <= WIDTH
    lines = told(tmp_path, texts)
    for study, text in texts.items():
        first = text.splitlines()
        assert first[0].startswith(f"{study}: ") and len(first) > 2, "at least one headline row"
        at = lines.index(first[0])
        assert lines[at : at + 3] == first[:3], "two lines and the first row of every study"


def study(rows: int) -> str:
    return "".join(f"{line}\n" for line in ["name: 7 fits", "  certified at worst: ε 1", *["  row " * 30] * rows])


@pytest.mark.parametrize(("count", "shown"), [(1, 3), (6, 3), (9, 2), (18, 0), (30, 0)])
def test_more_studies_leave_less_room_for_each(tmp_path, count, shown):
    lines = told(tmp_path, {f"study_{i:03d}": study(5) for i in range(count)})
    assert lines.count("name: 7 fits") == count
    assert sum(line.startswith("  row") for line in lines) == count * shown and shown <= ROWS
    assert lines[-1].startswith("Figures: results/mine/figures/")


def test_too_many_studies_are_counted(tmp_path):
    lines = told(tmp_path, {f"study_{i:03d}": study(5) for i in range(60)})
    assert lines[-3] == f"and {60 - 36} more studies" and lines[:36] == ["name: 7 fits"] * 36


def test_the_screen_is_kept_and_a_study_without_one_is_left_out(tmp_path):
    lines = told(tmp_path, {"one": study(1)})
    text = write_screen(tmp_path, "results/mine", ["one", "other"])
    assert text.splitlines() == lines == (tmp_path / "results/mine/screen.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("names", [["one"], []], ids=["all that is asked for", "a part"])
def test_a_run_with_nothing_to_do_prints_the_screen_of_what_is_there(tmp_path, monkeypatch, capsys, names):
    """Its sentence named a file that held another run's epsilon, or none. Of a call for a part none is printed."""
    monkeypatch.chdir(tmp_path)
    shown = told(tmp_path, {"one": study(1)})
    kept = tmp_path / "results/mine/screen.txt"
    kept.write_text("certified at worst: ε 466.9\n", encoding="utf-8")
    report(0, time.monotonic(), time.time(), Path(), Place("mine", "mine.yaml"), names)
    nothing = "Nothing to be done: results/mine is up to date with mine.yaml."
    assert capsys.readouterr().out.splitlines() == [*(shown if names else []), nothing]
    assert kept.read_text(encoding="utf-8").splitlines() == (shown if names else ["certified at worst: ε 466.9"])
