"""The folder of a configuration's results: its name, whose it is, and what is refused."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import fingerprint
import launch as launcher
from last_run import LastRun, old_results, read, restore
from launching.words import Refused, configuration, options, refuse_surprise, with_paths
from partywise import __version__
from partywise.core.errors import ConfigError
from partywise.experiment.results.folder import name_of
from pipeline import ROOT, TINY, copy_project, copy_run, launch, planned, snakemake
from place import RECORD, Place, place, read_record
from verbs import report

STUDIES = {"studies": {"toy": {}}}


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("config.yaml", "default"),
        ("tiny.yaml", "tiny"),
        ("my_data.example.yaml", "my_data"),
        ("My Study (2).yml", "my_study_2"),
        ("pilot.v2.json", "pilot_v2"),
        ("mine", "mine"),
    ],
)
def test_a_file_gives_the_name(file, name):
    assert name_of(Path(file)) == name


@pytest.mark.parametrize("file", ["2024.yaml", ".yaml", "+++.yaml", "x" * 61 + ".yaml"])
def test_a_file_that_gives_no_name_says_so(file):
    with pytest.raises(ConfigError, match=r"gives the folder of its results no name .* as in `name: mine`"):
        name_of(Path(file))


@pytest.mark.parametrize("name", ["Pilot", "2nd", "a/b", "..", "", 3, ["a"], "x" * 61])
def test_a_name_that_is_none_is_refused(tmp_path, name):
    (tmp_path / "a.yaml").write_text("")
    with pytest.raises(ConfigError, match=r"^name is .* a letter first\.$"):
        place({"name": name, **STUDIES}, [tmp_path / "a.yaml"], tmp_path)


def test_studies_in_no_file_need_a_name(tmp_path):
    assert place({"name": "mine", **STUDIES}, [], tmp_path) == Place("mine", "--config")
    with pytest.raises(ConfigError, match="name is missing"):
        place(STUDIES, [], tmp_path)


def test_a_study_may_not_take_the_place_of_the_logs(tmp_path):
    (tmp_path / "a.yaml").write_text("")
    with pytest.raises(ConfigError, match=r"studies\.logs has the name of a folder of results"):
        place({"studies": {"logs": {}}}, [tmp_path / "a.yaml"], tmp_path)


def test_elsewhere_a_shipped_configuration_is_found_by_its_name_and_ones_own_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for words in (["--configfile", "tiny.yaml"], ["--configfile=config/tiny.yaml"]):
        assert with_paths(words, options(words))[-1].endswith(str(ROOT / "config" / "tiny.yaml"))
        found, studies = configuration(words, options(words), tmp_path)
        assert (found.name, found.configuration, studies) == ("tiny", "config/tiny.yaml", ["functional_boosting"])
    found, _ = configuration([], options([]), tmp_path)
    assert (found.name, found.configuration) == ("default", "config.yaml")
    for name in ("tiny.yaml", "config.yaml"):
        (tmp_path / name).write_text("name: own\nstudies: {toy: {}}\n")
    for words in (["--configfile", "tiny.yaml"], []):
        assert with_paths(words, options(words)) == words
        assert configuration(words, options(words), tmp_path)[0].name == "own"


def test_a_file_of_another_program_is_not_taken_for_the_default(tmp_path):
    (tmp_path / "config.yaml").write_text("theme: dark\n")
    with pytest.raises(ConfigError, match=r"config\.yaml has no key studies.* \./run --configfile smoke\.yaml\.$"):
        configuration([], options([]), tmp_path)


def test_an_installed_library_is_shared_without_its_neighbours(tmp_path, monkeypatch):
    """Of site-packages jobs in environments of their own see a link to the library, again where it was moved to."""
    site, folder = tmp_path / "site-packages", tmp_path / "run"
    for other in ("numpy", "partywise"):
        (site / other).mkdir(parents=True)
    (folder / ".snakemake" / "library").mkdir(parents=True)
    (folder / ".snakemake" / "library" / "partywise").symlink_to(tmp_path / "gone")
    monkeypatch.setattr(fingerprint, "IN_CLONE", False)
    monkeypatch.setattr(fingerprint, "LIB", site)
    monkeypatch.setenv("PYTHONPATH", "before")
    monkeypatch.setattr(fingerprint.sys, "path", [])
    for _ in range(2):
        fingerprint.share_library(folder)
    shared = folder / ".snakemake" / "library"
    assert fingerprint.os.environ["PYTHONPATH"].split(":")[-2:] == [str(shared), "before"]
    assert [path.name for path in shared.iterdir()] == ["partywise"]
    assert (shared / "partywise").resolve() == site / "partywise"


def test_the_file_with_studies_gives_the_name(tmp_path):
    files = {"seed.yaml": "root_seed: 3\n", "b.yaml": "studies: {toy: {}}\n"}
    for file, text in files.items():
        (tmp_path / file).write_text(text)
    words = ["--configfile", *(str(tmp_path / file) for file in files)]
    found, studies = configuration(words, options(words), tmp_path)
    assert (found.name, found.configuration, studies) == ("b", "b.yaml", ["toy"])
    words += ["--config", "root_seed=8"]
    assert configuration(words, options(words), tmp_path)[0].name == "b"
    words += ["name=pilot"]
    assert configuration(words, options(words), tmp_path)[0].name == "pilot"


def test_files_that_would_mix_their_studies_and_a_file_named_twice_are_refused(tmp_path):
    for file in ("a.yaml", "b.yaml"):
        (tmp_path / file).write_text("studies: {toy: {}}\n")
    first, second = str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml")
    for paths, sentence in (
        ([first, second], f"--configfile names {first} and {second}, and each of them has studies, which would be"),
        ([first, f"{tmp_path}/./a.yaml"], f"--configfile names {first} twice: name it once."),
    ):
        words = ["--configfile", *paths]
        with pytest.raises(Refused) as told:
            configuration(words, options(words), tmp_path)
        assert str(told.value).startswith(sentence)


def test_a_folder_without_a_configuration_runs_the_shipped_one_when_asked_alone(tmp_path, capsys):
    """All studies and minutes of work began at once, from a command that named nothing."""
    words = ["--directory", str(tmp_path)]
    assert launcher.main(words) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"No configuration is named, and there is no {tmp_path}/config.yaml. ./run --default runs")
    assert "10 studies (functional_boosting, " in told and told.endswith("./run --configfile smoke.yaml.\n")
    assert list(tmp_path.iterdir()) == []
    asked = [*words, "--default"]
    refuse_surprise(asked, options(asked), tmp_path, [])
    assert with_paths(asked, options(asked)) == words, "Snakemake does not know the word"


@pytest.mark.parametrize(
    ("verb", "first"), [(launcher.main, "usage: ./run [--configfile"), (report.main, "usage: ./run report ")]
)
def test_help_and_version_are_ours(verb, first, capsys):
    assert verb(["--help"]) == 0 and capsys.readouterr().out.startswith(first)
    assert launcher.main(["--version"]) == 0 and capsys.readouterr().out == f"partywise {__version__}\n"
    done = subprocess.run(["sh", str(ROOT / "run"), "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"partywise {__version__}\n")


def test_a_file_that_moved_keeps_its_folder_and_another_one_is_refused(tmp_path):
    (tmp_path / "one").mkdir()
    for file in ("a.yaml", "one/a.yaml"):
        (tmp_path / file).write_text("studies: {toy: {}}\n")
    first, second = (place(STUDIES, [tmp_path / file], tmp_path) for file in ("a.yaml", "one/a.yaml"))
    first.record(tmp_path)
    assert read_record(tmp_path / "results" / "a" / RECORD) == first
    second.refuse_other(tmp_path)
    (tmp_path / "one/a.yaml").write_text("studies: {toy: {}}\nroot_seed: 2\n")
    with pytest.raises(ConfigError, match=r"^results/a belongs to a\.yaml, and one/a\.yaml would write there too"):
        place(STUDIES, [tmp_path / "one/a.yaml"], tmp_path).refuse_other(tmp_path)
    # An edit of its own file is no other configuration.
    (tmp_path / "a.yaml").write_text("studies: {toy: {}}\nroot_seed: 2\n")
    place(STUDIES, [tmp_path / "a.yaml"], tmp_path).refuse_other(tmp_path)


@pytest.mark.parametrize(
    "words", [["mine.yaml"], ["-n", "--cores", "1", "a/mine.yml"], ["--configfile", "a.yaml", "--quiet"]]
)
def test_a_configuration_without_its_word_is_told(tmp_path, words):
    (tmp_path / "a.yaml").write_text("studies: {toy: {}}\n")
    (tmp_path / "config.yaml").write_text("studies: {toy: {}}\n")
    words = [str(tmp_path / word) if word == "a.yaml" else word for word in words]
    if "--configfile" in words:
        assert configuration(words, options(words), tmp_path)[0].name == "a"
        return
    with pytest.raises(Refused, match=rf"{words[-1]} is a configuration .*: use \./run --configfile {words[-1]}\.$"):
        configuration(words, options(words), tmp_path)


def test_a_run_that_began_nothing_leaves_no_folder(tmp_path):
    first = LastRun("a", "a.yaml", ())
    first.write(tmp_path)
    restore(None, tmp_path)
    assert list(tmp_path.iterdir()) == []
    LastRun("b", "b.yaml", ()).write(tmp_path)
    restore(first, tmp_path)
    assert read(tmp_path) == first


def test_the_last_run_is_kept_with_its_words(finished, tmp_path):
    # Other tests say other words in this folder.
    assert launch(finished, *TINY).returncode == 0
    assert read(finished) == LastRun("tiny", "config/tiny.yaml", TINY)
    assert read(tmp_path) is None
    held = read_record(finished / "results" / "tiny" / RECORD)
    assert held is not None and (held.name, held.configuration) == ("tiny", "config/tiny.yaml")


def test_plain_snakemake_refuses_the_folder_of_another_file_before_any_job(finished, tmp_path):
    """And finds its own folder by the file, by `name`, and below the names of other runs."""
    folder = copy_run(finished, tmp_path / "copy")
    (folder / "tiny.yaml").write_text((folder / "config/tiny.yaml").read_text().replace("root_seed: 7", "root_seed: 8"))
    words = ("--configfile", "tiny.yaml")
    sentence = "Configuration error: results/tiny belongs to config/tiny.yaml, and tiny.yaml would write there too"
    for run in (snakemake, launch):
        done = run(folder, *words)
        assert done.returncode != 0 and sentence in done.stderr and "Traceback" not in done.stderr
    assert read(folder) == read(finished)
    found = planned(folder, *words, "--config", "name=other")
    assert found.jobs == {"generate": 1, "fit": 10, "collect": 1, "figure": 2}
    assert all(output.startswith("results/other/") for output in found.outputs)
    assert planned(folder, *TINY).jobs == {}


def test_results_of_earlier_versions_are_named_and_stay(tmp_path):
    folder = copy_project(tmp_path / "project")
    old = folder / "results" / "label_private" / "cube.nc"
    old.parent.mkdir(parents=True)
    old.write_text("numbers")
    assert old_results(folder) == [old.parent]
    (folder / "broken.yaml").write_text((ROOT / "config/tiny.yaml").read_text().replace("folds: 2", "folds: 0"))
    done = launch(folder, "--configfile", "broken.yaml")
    assert done.returncode == 1 and "lie in results/label_private: they stay" in done.stderr
    assert old.read_text() == "numbers"
