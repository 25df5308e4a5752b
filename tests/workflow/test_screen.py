"""The screen at the end of a run: one table on at most forty lines of a hundred columns, whatever is configured."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from artifact.expected import FIRST, oddities
from invented import invented_columns
from launching.ending import report
from partywise.experiment.tables.findings import Findings, PrivateResult, WorstGuarantee
from partywise.experiment.tables.screen import findings
from place import Place
from screen import HEAD, LINES, WIDTH, next_steps, screen, write_screen
from shipped import SHIPPED, shipped_plans

# To invent the cells of large ones takes as long as for all others together: `./run test --long`.
SCREENS = [
    pytest.param(path, marks=[pytest.mark.statistical] if path.stem.startswith("paper") else [], id=path.stem)
    for path in SHIPPED
]


def shown(folder: Path, studies: dict[str, Findings]) -> list[str]:
    """The lines of the screen of some studies, and of nothing else."""
    for name, study in studies.items():
        (folder / "results" / "mine" / name).mkdir(parents=True, exist_ok=True)
        (folder / "results" / "mine" / name / "findings.json").write_text(study.text(), encoding="utf-8")
    lines = screen(folder, "results/mine", list(studies)).splitlines()
    assert len(lines) <= LINES == 40 and max(map(len, lines)) <= WIDTH == 100
    return lines


@pytest.mark.parametrize("path", SCREENS)
def test_every_shipped_configuration_ends_with_one_screen(path, tmp_path):
    studies = {study: findings(*invented_columns(plan, 2)) for study, plan in shipped_plans(path).items()}
    lines = shown(tmp_path, studies)
    text = " ".join(" ".join(lines).split())
    assert "…" not in text and "..." not in text, "nothing is cut off"
    for study in studies.values():
        for result in study.results[:1]:
            assert all(word in text for word in result.title.split()), "the first result of each study has its row"
    assert [line for line in oddities(lines, path, "mine") if not line.startswith("fits: ")] == []


def study(rows: int, **changes) -> Findings:
    result = PrivateResult("a case", "record", "test log-loss, lower", "0.335 +- 0.003", "0.323")
    stored = {
        "study": "name",
        "fits": 7,
        "verdicts": (),
        "claims": (),
        "worst": WorstGuarantee("8", "8", "noisy moments"),
        "results": (result,) * rows,
        "warnings": (),
    }
    return Findings(**stored | changes)


def test_the_screen_is_one_table_of_all_studies(tmp_path):
    other = PrivateResult("day curves", "features", "excess risk, lower", "0.0727 +- 0.001", "not run", "2801")
    claims = ("claims refuted by an attack: 48 of 59 published, none of 49 corrected",)
    faults = ("4 fits did not converge (published blocks)",)
    lines = shown(
        tmp_path, {"one": study(1, claims=claims), "other": study(0, study="other", results=(other,), verdicts=faults)}
    )
    assert lines == [
        "Run mine: 2 studies, 14 fits",
        "",
        "Claims refuted by an attack: 48 of 59 published, none of 49 corrected",
        "",
        "Certified methods at epsilon = 1  protects  measure               private          noise-free",
        "  a case                          record    test log-loss, lower  0.335 +- 0.003   0.323",
        "  day curves                      features  excess risk, lower    0.0727 +- 0.001  not run",
        "                                                                  at epsilon 2801",
        "Weakest guarantee: epsilon 8 (name, noisy moments, which claims 8)",
        "",
        "Warnings",
        "  other: 4 fits did not converge (published blocks)",
        "",
        "Next:  ./run report  all figures on one page      ./run summary STUDY  tables",
        "       results/mine  files                        docs/tutorial.md  your own data",
    ]


def test_texts_are_wrapped_and_never_cut(tmp_path):
    title = "a title of a case that is as long as the words of the person who wrote it, which are many"
    result = PrivateResult(title, "record", "test log-loss, lower", "0.335 +- 0.003", "0.323")
    text = " ".join(shown(tmp_path, {"one": study(0, results=(result,))}))
    assert all(word in text for word in title.split())


@pytest.mark.parametrize(("count", "rows"), [(1, 5), (4, 20), (6, 25), (9, 25), (18, 25)])
def test_the_table_has_as_many_rows_of_many_studies_as_there_is_room_for(tmp_path, count, rows):
    lines = shown(tmp_path, {f"study_{i:03d}": study(5) for i in range(count)})
    assert sum(line.startswith("  a case") for line in lines) == rows
    assert lines[-2:] == next_steps("results/mine")


def test_every_study_has_a_row_before_any_has_a_second_and_private_results_come_first(tmp_path):
    """With ten studies each had one row, of which one was of a case without a private method."""
    names = [f"case {number}" for number in range(20)]
    results = [PrivateResult(name, "record", "loss, lower", "0.3", "0.2") for name in names]
    without = [PrivateResult(f"public {name}", "-", "loss, lower", "none", "0.2") for name in names]
    pairs = {f"study_{i:02d}": study(0, results=(results[i], without[i], results[i])) for i in range(10)}
    lines = shown(tmp_path, pairs)
    assert all(any(line.startswith(f"  {name} ") for line in lines) for name in names[:10])
    first = [line for line in lines if line.startswith(("  case 0 ", "  public case 0 "))]
    assert len(first) == 3 and sum(line.startswith("  public") for line in lines) == 5


def test_a_study_without_results_has_no_table(tmp_path):
    lines = shown(tmp_path, {"one": study(0)})
    assert not any("epsilon = 1" in line for line in lines) and lines[-2:] == next_steps("results/mine")


def test_too_many_studies_are_counted(tmp_path):
    lines = shown(tmp_path, {f"study_{i:03d}": study(5) for i in range(60)})
    rows = sum(line.startswith("  a case") for line in lines)
    assert rows > 20 and f"  and {60 - rows} more studies: ./run summary" in lines


def test_too_many_warnings_are_counted(tmp_path):
    lines = shown(tmp_path, {"one": study(1, warnings=tuple(f"warning {i}" for i in range(9)))})
    assert "  name: warning 5" in lines and "  and 3 more: ./run summary" in lines


def test_an_infinite_guarantee_is_said_in_words(tmp_path):
    nothing = study(1, worst=WorstGuarantee("inf", "2", "as published"))
    lines = shown(tmp_path, {"one": nothing, "two": study(1), "three": study(1, worst=None)})
    assert "Weakest published guarantee: none (epsilon infinite) in 1 of 3 studies; see ./run summary" in lines
    assert "No fit claims a guarantee." in shown(tmp_path, {"three": study(1, worst=None)})


def test_the_screen_is_kept_without_the_time_and_a_study_without_findings_is_left_out(tmp_path):
    lines = shown(tmp_path, {"one": study(1)})
    text = write_screen(tmp_path, "results/mine", ["one", "other"], "2:13")
    assert (tmp_path / "results/mine/screen.txt").read_text(encoding="utf-8").splitlines() == lines
    assert text.splitlines() == ["Run mine: 1 study, 7 fits in 2:13", *lines[1:]] and FIRST.fullmatch(lines[0])


@pytest.mark.parametrize("names", [["one"], []], ids=["all that is asked for", "a part"])
def test_a_run_with_nothing_to_do_prints_the_screen_of_what_is_there(tmp_path, monkeypatch, capsys, names):
    """Its sentence named a file that held another run's epsilon, or none. Of a call for a part none is printed."""
    monkeypatch.chdir(tmp_path)
    lines = shown(tmp_path, {"one": study(1)})
    kept = tmp_path / "results/mine/screen.txt"
    kept.write_text("certified at worst: ε 466.9\n", encoding="utf-8")
    report(0, time.monotonic(), time.time(), Path(), Place("mine", "mine.yaml"), names)
    nothing = "Nothing to be done: results/mine is up to date with mine.yaml."
    assert capsys.readouterr().out.splitlines() == [*(lines if names else []), nothing]
    assert kept.read_text(encoding="utf-8").splitlines() == (lines if names else ["certified at worst: ε 466.9"])


def test_the_head_of_the_table_names_the_usual_epsilon():
    assert HEAD[0] == "Certified methods at epsilon = 1"
