"""The case of a person's own tables: files to a replicate, by the settings alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from ...alignment.identifiers import prepare_identifiers
from ...alignment.options import IdentifierRules
from ...core.errors import DataMissing
from ...core.randomness import Rng
from ...data.division import fold_order
from ...data.own.csv import TextTable
from ...data.own.records import (
    FileRecords,
    OwnRows,
    check_common,
    common,
    match_records,
    merge_records,
    read_files,
    reader_of_files,
)
from ...data.own.settings import FileHolder
from ...methods.glm.follow_up import follow_up_of
from ...methods.glm.options import COX
from ...models.families import FAMILIES
from ...models.family_facts import FACTS
from .data import Constants, GlmData
from .own_settings import GlmTableSettings


def draw(settings: GlmTableSettings, spec: object, rng_for: Rng, resources: Path) -> dict[str, np.ndarray]:
    """Draw what replicates differ in: the order in which folds divide the records."""
    read = _read(settings)
    return {"order": fold_order(len(read.X), read.person, rng_for("folds"))}


def table(settings: GlmTableSettings, drawn: Mapping[str, np.ndarray]) -> GlmData:
    """Own tables, read from their files."""
    read = _read(settings)
    return GlmData(
        X=read.X,
        y=read.labels["y"],
        status=read.labels.get("status"),
        strata=read.labels.get("strata"),
        weights=read.labels.get("weights"),
        offset=read.labels.get("offset"),
        order=drawn["order"],
        names=np.array(settings.column_names),
        family=settings.family,
        constants=None if settings.family == COX or settings.lacking_constants else constants(settings),
        identifiers=None if settings.aligned else read.ids,
        files=None if settings.aligned else read.files,
        ids=read.ids,
    )


@reader_of_files
def _read(settings: GlmTableSettings, texts: Mapping[str, bytes]) -> OwnRows:
    """Return the data that all replicates share: the records of all files, or of any where a protocol aligns them."""
    files = read_files(settings, texts, None if settings.aligned else partial(_identify, settings))
    _check_labels(settings, files[settings.response_holder])
    if settings.aligned:
        return match_records(settings, files)
    ids = [file.ids for file in files]
    n_common = len(common(ids))
    check_common(n_common, settings, f", write ids alike in all files{_hint(ids, n_common)}")
    return merge_records(list(dict.fromkeys(name for names in ids for name in names)), files, {})


def _check_labels(settings: GlmTableSettings, active: FileRecords) -> None:
    """DataMissing for a response that the family does not have, for a weight below 0, or if none is above."""
    file, weights = active.holder.file, active.labels.get("weights")
    try:
        if settings.family == COX:
            follow_up_of(active.labels, np.arange(len(active.lines)), "efron", active.holder.party)
        else:
            FAMILIES[settings.family].check(active.labels["y"], f"{file}: {settings.response}")
    except ValueError as error:
        raise DataMissing(f"{file}: {error}" if settings.family == COX else str(error)) from None
    if weights is None:
        return
    name = active.holder.roles["weights"]
    if np.any(wrong := weights < 0):
        row = int(np.argmax(wrong))
        raise DataMissing(
            f"{file}: {name} is {weights[row]:g} in row {active.lines[row]}: a weight is at least 0; correct it, "
            "or give 0 to leave the record out."
        )
    if not np.any(weights):
        raise DataMissing(f"{file}: {name} is 0 in all rows: some weights must be above 0.")


def _hint(ids: Sequence[list[str]], n_common: int) -> str:
    """Return the rule for identifiers that would make more of them agree; empty if none does."""
    folded = [[IdentifierRules(normalise=True).canonical_form(text) for text in names] for names in ids]
    whole = [[str(int(text)) for text in names if text.strip().isdecimal()] for names in ids]
    longest = max(len(text.strip()) for names in ids for text in names)
    if len(common(whole)) > max(n_common, len(common(folded))):
        return f" (identifiers: {{as_text: 0{longest}d}} makes numbers of {longest} digits of them)"
    return " (identifiers: {normalise: true} leaves out blanks and case)" if len(common(folded)) > n_common else ""


def _identify(settings: GlmTableSettings, table: TextTable, holder: FileHolder) -> tuple[list[str], np.ndarray]:
    """Identifiers of the rows as the parties compare them, and which rows have one."""
    rules = settings.identifiers
    written = table.ids(settings.id_of(holder.block) or "", stripped=False)
    texts: Sequence[str | int] = written
    if rules.as_text is not None:
        texts = [int(text) if text.strip().isdecimal() else text for text in written]
    try:
        return prepare_identifiers(texts, rules, holder.party, "under identifiers")
    except ValueError as error:
        raise DataMissing(f"{holder.file}: {error}") from None


def constants(settings: GlmTableSettings) -> Constants:
    """Location and scale of columns that are uniform on their bounds, or on their levels; the middle as a start."""
    moments = list[tuple[float, float]]()
    for column in settings.columns:
        if column.levels is not None:
            share = 1 / len(column.levels)
            moments += [(share, float(np.sqrt(share * (1 - share))))] * column.width
        elif (of_range := column.facts.moments) is not None:
            moments.append(of_range)
    location, scale = map(np.array, zip(*moments, strict=True))
    ends = np.array(settings.response_bounds or (0.0, 1.0))
    statistic = np.log(ends) if FACTS[settings.family].is_positive else ends
    middle = float(np.mean(statistic))
    if settings.eta_start is not None:
        middle = settings.eta_start
    elif settings.family in ("binomial", "poisson"):
        middle = float(FAMILIES[settings.family].link(np.array(middle)))
    radii = {table.party: table.radius for table in settings.tables if table.radius is not None}
    because = "declared in the configuration: bounds, levels and radii of the columns, range of the label"
    kinds = tuple(facts.distribution for facts in settings.column_facts)
    return Constants(location, scale, (statistic[0], statistic[1]), middle, because, radii, kinds)
