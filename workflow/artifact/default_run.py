"""Numbers of the default run on the page of functional boosting, from rows of its summary that are kept."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from partywise.core.files import replacing

from .measured import FOLDER

PAGE = "docs/functional_boosting.md"
STUDY = "functional_boosting"
TABLE = FOLDER / f"{STUDY}.csv"
MARKED = re.compile(r"(<!-- default run: begin -->\n).*?(<!-- default run: end -->)", re.DOTALL)
KEYS = ("case", "method", "parties", "epsilon", "variable")
COLUMNS = (*KEYS, "mean", "se", "replicates")
# Rows of the page: words, and for each number case, method, parties and target; an empty entry is any that there is.
SIMULATED, SWEEP, BEIJING = "simulated", "sweep", "beijing"
Place = tuple[str, str, str, str]
ROWS: tuple[tuple[str, tuple[Place, ...]], ...] = (
    (
        "simulated, one learner per predictor: no noise / s = 0.5",
        ((SIMULATED, "predictor_none", "2", ""), (SIMULATED, "predictor_fixed", "2", "")),
    ),
    (
        "simulated, one learner per party, s = 0.5: J = 2 / J = 10",
        ((SIMULATED, "party_fixed", "2", ""), (SIMULATED, "party_fixed", "10", "")),
    ),
    (
        "simulated, one learner per predictor, s = 0.2 sqrt(J): J = 2 / J = 10",
        ((SIMULATED, "predictor_sqrt_j", "2", ""), (SIMULATED, "predictor_sqrt_j", "10", "")),
    ),
    ("simulated, pooled least squares without privacy", ((SIMULATED, "least_squares", "2", ""),)),
    ("sweep, released curves", tuple((SWEEP, "local", "", e) for e in ("4", "16", "64"))),
    ("sweep, released moments, noise of each party", tuple((SWEEP, "moments", "", e) for e in ("4", "16", "64"))),
    ("sweep, released moments, noise of a dealer", tuple((SWEEP, "moments_dealer", "", e) for e in ("4", "16", "64"))),
    ("Beijing, released curves", tuple((BEIJING, "local", "", e) for e in ("1", "10", "100", "1000"))),
    ("Beijing, released moments", tuple((BEIJING, "moments", "", e) for e in ("1", "10", "100", "1000"))),
    (
        "Beijing, without privacy: boosting / least squares",
        ((BEIJING, "predictor_none", "", ""), (BEIJING, "least_squares", "", "")),
    ),
)
ERROR = {SIMULATED: "excess", SWEEP: "excess", BEIJING: "relative_error"}
# Of the folds of a replicate together, and of a fit where there is one fold.
CERTIFIED = ("epsilon_certified_run", "epsilon_certified")


def keep(root: Path, results: Path) -> None:
    """Keep the rows of a summary that the page shows; nothing where the study was not run."""
    path = results / STUDY / "summary.csv"
    if not path.exists():
        return
    with path.open(encoding="utf-8", newline="") as handle:
        lines = [line for line in csv.DictReader(handle) if wanted(line["case"], line["method"], line["variable"])]
    with replacing(root / TABLE) as temporary, temporary.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, COLUMNS, lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(lines)


def wanted(case: str, method: str, variable: str) -> bool:
    """Whether the page shows a variable of a method in a case."""
    pairs = {place[:2] for _, places in ROWS for place in places}
    return (case, method) in pairs and variable in (ERROR[case], *CERTIFIED)


def read(root: Path) -> list[dict[str, str]]:
    """The rows that are kept."""
    with (root / TABLE).open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def row_of(rows: Sequence[dict[str, str]], place: Place, *variables: str) -> dict[str, str]:
    """The first kept row of a place with the first of these variables; LookupError where there is none."""
    for variable in variables:
        for row in rows:
            entries = (row["case"], row["method"], row["parties"], row["epsilon"])
            same = all(not asked or _same(asked, entry) for asked, entry in zip(place, entries, strict=True))
            if same and row["variable"] == variable:
                return row
    raise LookupError(
        f"{TABLE} has no {variables[0]} of {place}: take the numbers with "
        "./run check --artifact --measure results/default."
    )


def _same(asked: str, entry: str) -> bool:
    return asked == entry or (asked.isdigit() and entry.replace(".", "").isdigit() and float(asked) == float(entry))


def mean(rows: Sequence[dict[str, str]], place: Place) -> float:
    """The mean error of a place."""
    return float(row_of(rows, place, ERROR[place[0]])["mean"])


def block(rows: Sequence[dict[str, str]]) -> str:
    """Return the table of the page and the sentence below it."""
    far = mean(rows, (SIMULATED, "party_fixed", "2", "")) / mean(rows, (SIMULATED, "party_fixed", "10", ""))
    lines = ["| case, method | certified epsilon | excess or relative error |", "|---|---|---|", *_lines(rows)]
    sentence = f"One learner per party errs {far:.1f} times as much at J = 2 as at J = 10, with the same noise."
    return "\n".join([*lines, "", sentence, ""])


def _lines(rows: Sequence[dict[str, str]]) -> Iterator[str]:
    for words, places in ROWS:
        certified = [row_of(rows, place, *CERTIFIED)["mean"] for place in places]
        errors = [_error(row_of(rows, place, ERROR[place[0]])) for place in places]
        yield f"| {words} | {' / '.join(f'{float(epsilon):.4g}' for epsilon in certified)} | {' / '.join(errors)} |"


def _error(row: dict[str, str]) -> str:
    spread = row["se"]
    return f"{float(row['mean']):.4g}" + (f" +- {float(spread):.1g}" if spread not in ("", "nan") else "")


def page(root: Path) -> str:
    """The page, with its table anew."""
    text = (root / PAGE).read_text(encoding="utf-8")
    table = block(read(root))
    return MARKED.sub(lambda marks: f"{marks[1]}{table}{marks[2]}", text)
