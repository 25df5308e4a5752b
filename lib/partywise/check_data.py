"""The verb ``check-data``: a survey of tables without a fit, and a configuration drafted for studies that suit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .core.errors import ConfigError, DataMissing
from .core.project import command
from .data.own.csv import nearest, read_bytes
from .data.own.drafts.parts import Ask, Draft, NotSuited, Roles, party_name, without_comments_of_data, yaml_lines
from .data.own.drafts.survey import TableSurvey, description, survey
from .experiment.configuration.build import choices
from .experiment.results.folder import name_of
from .experiment.study import FirstRun, available, load

HEAD = "# yaml-language-server: $schema=schema/configuration.json"


def check_data(files: Sequence[str], roles: Roles, study: str | None, into: Path | None) -> int:
    """Print the contents of the files and every problem, and write the draft; 1 where nothing can be drafted."""
    if study is not None and study not in available():
        raise ConfigError(f"--study is {study!r}: {choices(study, available())}.")
    if into is not None:
        name_of(into)
        if into.exists():
            raise ConfigError(f"--into is '{into}': that file is there already; name another, or remove it.")
        if not into.parent.is_dir():
            raise ConfigError(f"--into is '{into}': the folder {into.parent} does not exist; make it, or name another.")
    if roles.me is not None and len(files) > 1:
        raise ConfigError(f"--me is {roles.me!r}: a part is drafted from the file of that party; name one file.")
    paths = [Path(file).resolve() for file in files]
    for number, file in enumerate(files):
        if paths[number] in paths[:number]:
            raise ConfigError(f"check-data names {file} twice: name each file once.")
    tables, faults = list[TableSurvey](), list[str]()
    for file in files:
        try:
            tables.append(survey(read_bytes(file), file))
            faults += tables[-1].faults
        except DataMissing as error:
            faults.append(str(error))
    lines = [line for table in tables if table.columns for line in description(table)]
    lines += [
        f"To look at ({len(faults)}):" if faults else "Nothing looks wrong.",
        *(f"- {fault}" for fault in faults),
    ]
    usable = [table for table in tables if table.columns and table.n_rows]
    check_roles(roles, usable)
    blocks, refusals = drafts(usable, roles, study) if usable else ({}, [])
    lines += refusals
    if not blocks:
        print("\n".join([*lines, "No draft: no study suits these files as they are."]))
        return 1
    text = "\n".join(
        [
            HEAD,
            f"# Answer every ?, delete what you do not need, and run it with {command()} --configfile."
            if roles.me is None
            else f"# The part of {roles.me}: answer what {roles.me} knows, and join the parts of all parties.",
            *configuration(blocks, roles.me),
        ]
    )
    if into is None:
        print("\n".join(f"# {line}" for line in lines))
        print(text)
        return 0
    into.write_text(f"{text}\n", encoding="utf-8")
    print("\n".join(lines))
    if roles.me is None:
        print(f"Draft of {', '.join(blocks)}: {into}. Answer every ? in it, then run {command()} --configfile {into}")
    else:
        print(f"Part of {roles.me} in {', '.join(blocks)}: {into}. Answer what {roles.me} knows and join the parts.")
    return 0


def check_roles(roles: Roles, tables: Sequence[TableSurvey]) -> None:
    """Raise :class:`ConfigError` for a role whose column no file has; a response may be a curve called by its file."""
    names = [column.name for table in tables for column in table.columns]
    for role, name in roles.columns.items():
        if name not in names and not (role == "response" and name in map(party_name, tables)):
            raise ConfigError(
                f"--{role} is {name!r}: no file has that column; {nearest(name, names, 'the columns are')}."
            )


def drafts(
    tables: Sequence[TableSurvey], roles: Roles, study: str | None
) -> tuple[dict[str, dict[str, object]], list[str]]:
    """The block of each study that the tables suit, and a line for each other one."""
    blocks, refusals = dict[str, dict[str, object]](), list[str]()
    for name in (study,) if study else available():
        for source in load(name).sources.values():
            if source.draft is None:
                continue
            try:
                blocks[name] = block(source.first, source.draft(tables, roles, source.first), roles.me)
            except NotSuited as reason:
                refusals.append(f"Not for {name}: {reason}.")
    return blocks, refusals


def block(first: FirstRun, draft: Draft, me: str | None = None) -> dict[str, object]:
    """The block of a study with one case; in the part of one party, the number of parties is a question."""
    more = first.numeric_options if draft.numeric else {}
    methods = {label: {**keys, **more} for label, keys in first.methods.items()}
    parties = [draft.n_parties] if me is None else Ask("how many parties have data, in brackets")
    grid = {"methods": list(methods), "replicates": first.replicates, "parties": parties}
    grid |= {"folds": first.folds, "epsilon": list(first.epsilon)}
    case = {"source": "table", "settings": draft.settings, "grid": grid}
    spec = {"spec": first.spec} if first.spec else {}
    return {**spec, "methods": methods, "cases": {"own_files": case}, "figures": list(first.figures)}


def configuration(blocks: dict[str, dict[str, object]], me: str | None = None) -> list[str]:
    """Lines of a configuration with these blocks; of the part of one party with its entry of the network."""
    whole: dict[str, object] = {"root_seed": 20240601, "studies": blocks}
    if me is not None:
        whole = {key: without_comments_of_data(value) for key, value in whole.items()}
        entry = {"host": Ask("name or address at which the other parties reach it"), "port": Ask("its open port")}
        whole["network"] = {"parties": {me: entry}}
    return list(yaml_lines(whole))
