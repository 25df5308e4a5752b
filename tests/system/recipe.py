"""The conda recipe, rendered and built by rattler-build from the package index, in an environment of its own.

Run by ``./run test --system``.  It is built where conda-forge can be reached, which has Python and the build tools.
"""

from __future__ import annotations

import urllib.error
import urllib.request
from pathlib import Path

import pytest
from wheel import checked, python_of

from partywise import __version__
from pipeline import ROOT

pytestmark = pytest.mark.system

CHANNEL = "https://conda.anaconda.org/conda-forge/noarch/repodata.json.zst"
RENDERED = f"""
from rattler_build import Stage0Recipe
(only,) = Stage0Recipe.from_file({str(ROOT / "packaging" / "recipe.yaml")!r}).render()
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    return python_of(tmp_path_factory.mktemp("recipe") / "tools", "py-rattler-build")


def test_the_recipe_renders_to_one_package(python, tmp_path):
    show = "made = only.recipe; print(made.package.name, made.package.version, *made.requirements.host, sep='; ')"
    assert checked([python, "-c", RENDERED + show], tmp_path) == (
        f"partywise; {__version__}; python 3.11.*; pip; setuptools >=77\n"
    )


def test_the_recipe_builds_and_its_own_tests_pass(python, tmp_path):
    request = urllib.request.Request(CHANNEL, method="HEAD")
    try:
        urllib.request.urlopen(request, timeout=10).close()
    except (urllib.error.URLError, TimeoutError) as error:
        pytest.skip(f"conda-forge cannot be reached, from where a build has its Python: {error}")
    build = f"print(only.run_build(output_dir={str(tmp_path)!r}).packages[0])"
    package = Path(checked([python, "-c", RENDERED + build], tmp_path).splitlines()[-1])
    assert package.name.startswith(f"partywise-{__version__}-") and package.is_file()
