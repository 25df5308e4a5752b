"""``codemeta.json``: the facts about the package in CITATION.cff and pyproject.toml, in the terms of CodeMeta 3.0."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

from crate.entities import author

from . import citation
from .facts import text
from .sources import CITATION

PAGE = "codemeta.json"
# Name and range of a requirement, as in "numpy>=1.23.5".
REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(.*)")


def page(root: Path) -> str:
    """The whole of ``codemeta.json``."""
    cited = citation.read(root / CITATION)
    project = tomllib.loads(text(root, "pyproject.toml"))["project"]
    content = {
        "@context": "https://w3id.org/codemeta/3.0",
        "@type": "SoftwareSourceCode",
        "name": project["name"],
        "description": project["description"],
        "version": cited["version"],
        "dateModified": f"{cited['date-released']}",
        "license": f"https://spdx.org/licenses/{project['license']}",
        "author": [author(entry) for entry in cited["authors"]],
        "programmingLanguage": "Python",
        "runtimePlatform": f"Python {project['requires-python']}",
        "softwareRequirements": [_requirement(words) for words in project["dependencies"]],
        "readme": project["readme"],
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _requirement(words: str) -> dict[str, str]:
    name, versions = REQUIREMENT.fullmatch(words).groups()
    return {"@type": "SoftwareApplication", "name": name, "version": versions}
