"""The site of these pages: ``./run docs``.  No network: no foreign scripts, fonts, inventories or images."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from partywise import __version__ as release

# What estimators have of their own is shown, and not what scikit-learn gives them where it is installed.
sys.modules["sklearn"] = None  # type: ignore[assignment]
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

project = "partywise"
version = release
author = project_copyright = "The partywise authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
extensions += ["sphinx_gallery.gen_gallery"]
exclude_patterns = ["_build", "changelog.d", "decisions", "gallery", "paper"]
html_theme = "furo"
html_title = f"partywise {release}"
html_show_sphinx = html_show_copyright = html_copy_source = False
# Headings are addresses, as where these pages are read without a site.
myst_heading_anchors = 3
default_role = "code"
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
napoleon_custom_sections = [("Formal guarantee", "notes_style")]
napoleon_numpy_docstring, napoleon_google_docstring = True, False
# Attributes of a class as a list: some are properties, which stand among the members as well.
napoleon_use_ivar = True
# The scripts of gallery/, with their figures in the look of all others; a script that fails fails the site.
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "_generated/gallery",
    "reset_modules": ("matplotlib", "_gallery.set_look"),
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "write_computation_times": False,
    "show_memory": False,
    "min_reported_time": 60,
}
suppress_warnings = ["misc.highlighting_failure"]


def setup(app: Any) -> None:
    """Write the pages that come from the code before any page is read."""
    app.connect("builder-inited", lambda _: import_module("_generate").write(HERE / "_generated"))
    app.connect("autodoc-process-docstring", plain_bars)


def plain_bars(*event: Any) -> None:
    """Escape absolute values, |k|, which are not substitutions of reStructuredText."""
    lines = event[-1]
    lines[:] = [re.sub(r"(?<![`|])\|(\w+)\|", r"\\|\1\\|", line) for line in lines]
