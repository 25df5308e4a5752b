"""Entities of an RO-Crate as plain data: authors, files, profiles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def author(cited: Mapping[str, str]) -> dict[str, Any]:
    """An author of CITATION.cff in the words of schema.org: a person has two names, an organization one."""
    if "name" in cited:
        return {"@type": "Organization", "name": cited["name"]}
    name = f"{cited['given-names']} {cited['family-names']}"
    given = {"@type": "Person", "name": name, "givenName": cited["given-names"], "familyName": cited["family-names"]}
    return given | ({"@id": cited["orcid"]} if "orcid" in cited else {})
