"""Job for NVFlare: the shared configuration as it is, the sites that run it, and no code."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ...core.documents import TIME, is_time
from ...core.errors import ConfigError
from ...experiment.plans import FILE, plans, read_file
from ..deployments import Deployment
from ..verbs import deployments_in_file, with_configuration
from ..wire.tls import site_name

APP, FORMAT = "app", 2
SITE = "partywise.deployment.nvflare.site"


def nvflare_job(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    """Write a job for NVFlare."""
    parser.add_argument("config", type=Path, metavar="FILE", help="the configuration that all parties share")
    parser.add_argument("--into", type=Path, required=True, help="a new folder, to be submitted to NVFlare")
    parser.add_argument("--days", type=float, default=7.0, help="after which every site refuses the job (default 7)")
    parser.add_argument("--again", action="store_true", help="a new run, where one of this configuration has ended")
    return with_configuration("nvflare-job", _nvflare_job, parser.parse_args(words))


def _nvflare_job(config: Mapping[str, object], options: argparse.Namespace) -> int:
    if not options.days > 0:
        raise ConfigError(f"--days is {options.days:g}: give the days, above 0, in which the job may run.")
    not_after = (datetime.now(UTC) + timedelta(days=options.days)).strftime(TIME)
    deployment = deployments_in_file(config, plans(config), options.config)[0]
    sites = write_job(deployment, options.config, options.into, not_after=not_after, again=options.again)
    print(
        f"{options.into}: a job for the sites {', '.join(sites.values())}, which refuse it after {not_after}. Submit "
        f"it: nvflare job submit -j {options.into}"
    )
    for name, site in sites.items():
        if name != site:
            print(f"  {name!r} is the site {site}")
    return 0


def lateness(not_after: str, time: str) -> str:
    """Return why a job is refused at a time, as a sentence; empty if it may run."""
    if is_time(not_after) and time <= not_after:
        return ""
    return (
        f"the job may run until {not_after or 'no time that it states'}, and it is {time} here: a job that waited runs "
        "and pays unattended; let its sender write a new one (python -m partywise network nvflare-job)"
    )


def write_job(deployment: Deployment, file: Path, into: Path, *, not_after: str, again: bool = False) -> dict[str, str]:
    """Write a job into a new folder; return the site of every party.

    not_after : time after which every site refuses it
    again : whether a new run is begun where one of this configuration has ended

    ConfigError if the folder is there, or the configuration names files of studies, which a job would not bring.
    """
    studies = read_file(file).get("studies")
    for name, block in studies.items() if isinstance(studies, dict) else ():
        if isinstance(block, str) or FILE in block:
            raise ConfigError(f"studies.{name} of {file} is in a file of its own: a job has one file, so put it in.")
    if into.exists():
        raise ConfigError(f"--into is {into}, which is there already: name a new folder.")
    sites = {name: site_name(name) for name in deployment.names}
    arguments = {"configuration": file.name, "not_after": not_after, "again": again}
    executor = {"path": f"{SITE}.PartyExecutor", "args": arguments}
    config = write_files(into, re.sub(r"[^A-Za-z0-9_-]", "-", file.stem), list(sites.values()), executor)
    (config / file.name).write_bytes(file.read_bytes())
    return sites


def write_files(into: Path, name: str, sites: Sequence[str], executor: Mapping[str, object]) -> Path:
    """Write the files of a job in which all sites run an executor; return the folder of its configuration."""
    meta = {
        "name": name,
        "resource_spec": {},
        "deploy_map": {APP: ["server", *sites]},
        "min_clients": len(sites),
        "mandatory_clients": [*sites],
    }
    controller = {"id": "parties", "path": f"{SITE}.PartyController", "args": {"sites": [*sites]}}
    server = {"format_version": FORMAT, "workflows": [controller], "components": []}
    client = {
        "format_version": FORMAT,
        "executors": [{"tasks": ["party"], "executor": executor}],
        "components": [],
        "task_data_filters": [],
        "task_result_filters": [],
    }
    config = into / APP / "config"
    config.mkdir(parents=True)
    for path, content in (
        (into / "meta.json", meta),
        (config / "config_fed_server.json", server),
        (config / "config_fed_client.json", client),
    ):
        path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return config
