"""The `site.yaml` of a party of a case: all that its case reads and no more, changed at will."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from deployment_cases import Apart
from partywise.deployment.site.policy import SitePolicy

KINDS = ["release", "cipher", "public", "clear"]


def site_of(case: Apart, me: str, **changed: Any) -> dict[str, Any]:
    """Keys that allow a case, some of them changed."""
    files = [{"file": file, "columns": list(header)} for file, (header, _) in case.files.get(me, {}).items()]
    keys: dict[str, Any] = {
        "files": files,
        "methods": [{"study": case.study, "protocols": [case.method["protocol"]]}],
        "modes": [case.network["mode"]],
        "receivers": [{"party": name, "kinds": KINDS} for name in case.names if name != me],
        "min_records": 16,
        "largest_p_over_n": 0.7,
    }
    return keys | changed


def write_site(folder: Path, keys: dict[str, Any]) -> Path:
    """The file in a folder."""
    folder.mkdir(exist_ok=True)
    path = folder / "site.yaml"
    path.write_text(yaml.safe_dump(keys, sort_keys=False))
    return path


def policy(folder: Path, keys: dict[str, Any]) -> SitePolicy:
    """The policy of a folder."""
    return SitePolicy(write_site(folder, keys))
