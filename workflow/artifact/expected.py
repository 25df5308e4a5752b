"""The page of expected output: the last screen of a run as it was, and the form that every such screen has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from partywise.core.verdicts import STATUSES
from partywise.experiment.plans import plans, read_configuration

from .measured import screen_file

PAGE = "docs/expected_output.md"
# Configurations whose screen the page shows, with what is said to run them.
SHOWN = {"default": ("config.yaml", "./run"), "smoke": ("config/smoke.yaml", "./run --configfile config/smoke.yaml")}
# A page shows no time of its own.
LAST = "Done in M:SS (minutes:seconds)."
FAULTS = "|".join(status.replace("_", " ") for status in STATUSES if status != "ok")
FIRST = re.compile(rf"(?P<study>\w+): (?P<fits>[\d,]+) fits, (all of them ok|[\d,]+ ({FAULTS}).*)")
SECOND = re.compile(r"  (unit [\w ]+, certified at worst: ε .*|no fit claims an ε)")
END = (
    r"Tables: {top}/<study>/summary\.txt, or \./run summary \[study\]; cube\.nc beside them",
    r"Figures: {top}/figures/<study>/; all on one page: \./run report",
)
AFTER = """
Numbers of a study move with its code and are in docs/numbers_moved.md then; on one version they are the same on every
machine with the same processor features, whatever the number of cores. What differs between two runs is the time in
the last line. `./run compare` and `./run compare --findings` say whether two runs agree, `./run compare --reference`
compares with stored results.

## `./run test`

The last line counts what passed, and nothing failed, in this form:

```
N passed in S s
```

`skipped` are tests of what a machine does not have (its reason is printed above); `deselected` are the long statistical
checks and those on system packages, which are `./run test --long` and `./run test --system`.

This page is written by `./run check --artifact --write`; with `--measure results/default` it takes the screen of a
finished run.
"""


def page(root: Path) -> str:
    """The whole of ``docs/expected_output.md``."""
    lines = ["# Expected output", ""]
    for name, (path, command) in SHOWN.items():
        screen = root / screen_file(name)
        if screen.exists():
            text = screen.read_text(encoding="utf-8").rstrip("\n")
            lines += [f"## `{command}`", "", f"`{path}` ends with this screen, and the time it took:", ""]
            lines += ["```", text, LAST, "```", ""]
    return "\n".join(lines) + AFTER


def screens(text: str) -> dict[str, list[str]]:
    """Return the lines of the screen below each heading of a page, by the command in the heading."""
    matches = re.findall(r"## `(\./run[^`]*)`\n.*?```\n(.*?)\n```", text, re.DOTALL)
    return {command: block.splitlines() for command, block in matches}


def oddities(screen: Sequence[str], configuration: Path, name: str) -> list[str]:
    """Return the differences between a screen and the form that a run of this configuration prints; times are ignored.

    Every study has its line with the number of fits that its plan has, the worst certified epsilon below it and at
    most three rows; two lines name the places of tables and figures.
    """
    planned = plans(read_configuration(configuration))
    odd, seen, rows = [], {}, 0
    body, end = list(screen[: -len(END)]), list(screen[-len(END) :])
    for number, line in enumerate(body):
        if first := FIRST.fullmatch(line):
            seen[first["study"]] = int(first["fits"].replace(",", ""))
            rows = 0
            if number + 1 == len(body) or not SECOND.fullmatch(body[number + 1]):
                odd.append(f"{first['study']} has no line of its worst certified epsilon")
        elif line and not SECOND.fullmatch(line):
            rows += 1
            if not line.startswith("  ") or rows > 3:
                odd.append(f"no row of a study: {line!r}")
        if len(line) > 100:
            odd.append(f"more than 100 characters: {line!r}")
    wanted = {study: plan.n_cells for study, plan in planned.items()}
    odd += [
        f"{key}: {seen.get(key)} fits, {wanted.get(key)} in {configuration.name}"
        for key in sorted({*seen, *wanted})
        if seen.get(key) != wanted.get(key)
    ]
    for line, form in zip(end, END, strict=True):
        if not re.fullmatch(form.format(top=f"results/{name}"), line):
            odd.append(f"other last lines: {line!r}")
    return odd
