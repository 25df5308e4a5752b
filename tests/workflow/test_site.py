"""The site of the documents: every page is in its navigation, every key and variable on its generated pages."""

from __future__ import annotations

import dataclasses
import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import partywise
from partywise import __version__
from partywise.experiment.cells import COMMON
from partywise.experiment.study import available, load
from pipeline import ROOT

DOCS = ROOT / "docs"
# Letters of a title that stands on one line of the navigation.
LONGEST = 27
REMOTE = re.compile(r"<(?:script|link|img|iframe|source|object)\b[^>]*\b(?:src|href|data)=\"(?:https?:)?//[^\"]*\"")


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    """The module that writes pages from the code."""
    spec = importlib.util.spec_from_file_location("_generate", DOCS / "_generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def sections(page: str, mark: str) -> dict[str, list[str]]:
    """The names in the first column of the tables of a page, by the headings above them."""
    parts = re.split(rf"^{mark} (.+)$", page, flags=re.MULTILINE)
    return {
        heading: re.findall(r"^\| `(\w+)` \|", text, flags=re.MULTILINE)
        for heading, text in zip(parts[1::2], parts[2::2], strict=True)
    }


def test_every_page_is_in_the_navigation_once(generate, tmp_path, monkeypatch):
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    trees = re.findall(r"```\{toctree\}\n(?::[^\n]*\n)*\n([^`]*)```", index)
    listed = [line for tree in trees for line in tree.split()]
    # The page of all sequence diagrams, with a diagram of nothing: to run all methods is `test_every_sequence.py`.
    monkeypatch.setattr(generate._protocols, "diagrams", list)
    generate.write(tmp_path)
    pages = {path.stem for path in DOCS.glob("*.md")} - {"index"}
    made = {f"_generated/{path.stem}" for path in tmp_path.glob("*.md")}
    assert sorted(listed) == sorted(pages | made | {"_generated/gallery/index"})
    assert listed.index("privacy") < 3


@pytest.fixture(scope="module")
def keys(generate) -> dict[str, dict[str, list[str]]]:
    """The keys on their page, by study and class."""
    return sections(generate.keys_page(), "###")


@pytest.mark.parametrize("name", available())
def test_the_keys_of_a_study_stand_with_their_class_and_a_meaning(name, generate, keys):
    study = load(name)
    expected = {heading: [f.name for f in dataclasses.fields(cls)] for heading, cls in generate.blocks(study)}
    assert {heading: names for heading, names in keys.items() if heading.startswith(f"{name}:")} == expected
    given = [entry.settings for entry in study.sources.values()] + [entry.options for entry in study.methods.values()]
    classes = dict(generate.blocks(study)).values()
    assert {study.spec, *given} <= set(classes)
    silent = [f"{cls.__name__}.{key}" for cls in classes for key, words in generate.meanings(cls).items() if not words]
    assert silent == []


def test_all_variables_stand_on_their_page_and_no_others(generate):
    shown = sections(generate.variables_page(), "##")
    expected = {name: list(load(name).variables) for name in available()} | {"In every study": list(COMMON)}
    assert {heading: names for heading, names in shown.items() if heading != "Dimensions"} == expected


def test_all_names_of_the_face_have_a_place(generate):
    assert re.findall(r"^## (\w+)$", generate.api_page(), flags=re.MULTILINE) == partywise.__all__


def test_a_docstring_gives_the_meaning_of_a_key(generate):
    class Made:
        """Some options.

        first, second : shared by ``both``; third : after a semicolon,
            on two lines
        """

    made = dataclasses.make_dataclass("Options", [(key, int) for key in ("first", "second", "third")], bases=(Made,))
    words = generate.meanings(made)
    assert words == {
        "first": "shared by `both`",
        "second": "shared by `both`",
        "third": "after a semicolon, on two lines",
    }
    assert generate.cell("b_c `d_e` <f>") == r"b\_c `d_e` &lt;f>"


@pytest.mark.runs
def test_the_site_is_built_without_a_warning_and_asks_no_network(tmp_path):
    # tests/workflow/test_gallery.py runs the scripts of the gallery.
    words = ["--fail-on-warning", "--keep-going", "--quiet", "-D", "plot_gallery=0", "-b", "html"]
    words += ["-d", tmp_path / "trees", DOCS]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *words, tmp_path / "html"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    pages = list(Path(tmp_path / "html").rglob("*.html"))
    assert {path.stem for path in DOCS.glob("*.md")} <= {path.stem for path in pages}
    assert [found for path in pages for found in REMOTE.findall(path.read_text(encoding="utf-8"))] == []
    sheets = [path.read_text(encoding="utf-8") for path in (tmp_path / "html").rglob("*.css")]
    assert not any(re.search(r"(?:url\(|@import )[\"']?(?:https?:)?//", sheet) for sheet in sheets)
    assert len(list((tmp_path / "html" / "_generated" / "gallery").glob("plot_*.html"))) == 13
    api = (tmp_path / "html" / "_generated" / "api.html").read_text(encoding="utf-8")
    plots = [f"{one.__module__}.{one.__name__}" for one in map(partywise.plot.__getattr__, dir(partywise.plot))]
    names = [f"partywise.{home}.{name}" for name, home in partywise.public_homes().items() if name != "plot"]
    assert len(plots) > 3 and all(f'id="{name}"' in api for name in [*names, *plots])
    sources = re.findall(r'href="\.\./(_modules/[^"#]+)#', api)
    assert len(sources) > len(partywise.__all__) and all((tmp_path / "html" / source).is_file() for source in sources)
    first = (tmp_path / "html" / "index.html").read_text(encoding="utf-8")
    assert f'<span class="sidebar-brand-text">partywise {__version__}</span>' in first
    entries = re.findall(r'<li class="toctree-l1"><a[^>]*>(.*?)</a>', first)
    assert len(entries) > 30 and [entry for entry in entries if len(re.sub(r"<[^>]+>", "", entry)) > LONGEST] == []


def test_the_readme_is_one_screen_and_defines_its_words_before_its_picture():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 900
    before = text.partition("docs/images/default/privacy_audit/worst_claims.png")[0]
    begins = text.partition("begins like this:\n\n```\n")[2].partition("```")[0]
    assert begins and begins in (DOCS / "artifact_appendix.md").read_text(encoding="utf-8")
    defined = re.findall(r"^\| ([^|]+) \|", before, flags=re.MULTILINE)
    assert defined == ["word", "ε (epsilon)", "unit", "*claimed*", "*certified*"]
    assert before.count("\n") < 20


@pytest.mark.parametrize("name", available())
def test_a_page_of_a_study_begins_with_question_picture_finding_and_a_table(name):
    _, question, picture, finding, table, words, *_ = (DOCS / f"{name}.md").read_text(encoding="utf-8").split("\n\n")
    assert question == f"**{load(name).question}**" and question.endswith("?**")
    shown = re.fullmatch(r"!\[[^\]]+\]\((images/[\w/]+\.png)\)", picture)
    assert shown and (DOCS / shown[1]).is_file()
    assert re.search(r"\]\(#[\w-]+\)\)\.$", finding)
    rows = re.findall(r"^\| ([^|]+?) \|", table, flags=re.MULTILINE)
    assert rows[0] == "question" and rows[-1] == "letters"
    assert table.endswith("in the [glossary](glossary.md#letters) |")
    assert 1 <= len(re.findall(r"[a-z`)]\.(?=\s|$)", words)) <= 3
