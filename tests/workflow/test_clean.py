"""`./run clean`: it names what goes and its size, asks, and removes nothing else."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from partywise.federation.account.account import FILE
from place import Place
from verbs.clean import main


@pytest.fixture
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Results of two configurations, one that is older, and a data set."""
    monkeypatch.chdir(tmp_path)
    for name in ("default", "mine", "label_private"):
        (tmp_path / "results" / name).mkdir(parents=True)
    Place("mine", "config/mine.yaml").record(tmp_path)
    (tmp_path / "results/mine/cube").write_bytes(bytes(2_500_000))
    (tmp_path / "results/label_private/cube.nc").write_bytes(bytes(10))
    (tmp_path / "resources").mkdir()
    return tmp_path


def answer(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda asked: said)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "results").iterdir())


def test_all_is_named_and_nothing_goes_without_an_answer(held, capsys, monkeypatch):
    assert main([]) == 2
    said = capsys.readouterr()
    assert said.out.splitlines() == [
        "results/default: 0.0 MB",
        "results/label_private: 0.0 MB, from before 0.7",
        "results/mine: 2.5 MB, of config/mine.yaml",
    ]
    assert said.err == "Nothing was removed: without a terminal use `--yes`.\n"
    answer(monkeypatch, "")
    assert main([]) == 1
    assert names(held) == ["default", "label_private", "mine"]


def test_the_page_that_says_what_results_are_is_no_result(held, capsys):
    (held / "results" / "README.md").write_text("# Results\n")
    assert main(["README.md", "--yes"]) == 2
    assert main(["--yes"]) == 0
    assert names(held) == ["README.md"]
    capsys.readouterr()
    assert main(["--yes"]) == 0 and capsys.readouterr().out == "There are no results.\n"


def test_one_configuration_goes_and_the_others_stay(held, capsys, monkeypatch):
    answer(monkeypatch, "y")
    assert main(["mine"]) == 0
    assert capsys.readouterr().out == "results/mine: 2.5 MB, of config/mine.yaml\n"
    assert names(held) == ["default", "label_private"]


@pytest.mark.parametrize("name", ["absent", "../resources", "."])
def test_a_name_without_results_removes_nothing(held, capsys, name):
    assert main([name, "--yes"]) == 2
    assert f"results/{name} is not there: results holds default, label_private, mine." in capsys.readouterr().out
    assert names(held) == ["default", "label_private", "mine"] and (held / "resources").is_dir()


def test_accounts_of_parties_are_named_before_they_go(held, capsys):
    for name in ("north", "south"):
        (held / "results/mine/parties" / name).mkdir(parents=True)
        (held / "results/mine/parties" / name / FILE).touch()
    assert main(["mine"]) == 2
    told = "2.5 MB, of config/mine.yaml; 2 accounts of parties, without which no party knows what it has paid"
    assert capsys.readouterr().out.splitlines() == [f"results/mine: {told}"]


def test_all_goes_where_words_say_yes(held):
    assert main(["--yes"]) == 0
    assert not (held / "results").exists() and (held / "resources").is_dir()
    assert main(["--yes"]) == 0
