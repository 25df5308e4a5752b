"""Expected output, a part of the artifact appendix: the last screen of a run, and the form of such screens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from partywise.experiment.plans import plans, read_configuration
from screen import HEAD, LINES, WIDTH, next_steps

from .measured import screen_file

PAGE = "docs/artifact_appendix.md"
# Configurations whose screen the page shows, with what is said to run them.
SHOWN = {"default": ("config.yaml", "./run"), "smoke": ("config/smoke.yaml", "./run --configfile config/smoke.yaml")}
FIRST = re.compile(r"Run (?P<name>[\w.-]+): (?P<studies>\d+) stud(y|ies), (?P<fits>[\d,]+) fits?( in [\d:]+)?")
HEADING = "Expected output"
AFTER = """
The time in the first line differs between runs. All else is equal on one version and one kind of processor, with any
number of cores. [Moved numbers](numbers_moved.md) lists changes between versions. `./run compare`
[compares two runs](reading_results.md#verification-and-comparison), and `./run compare --reference` compares with
stored results.

### `./run test`

The last line counts what passed, and nothing failed:

```
N passed in S s
```

`skipped` tests need something that the machine does not have, and print it. `deselected` tests belong to
`./run test --long` and `./run test --system`.
"""


def block(root: Path) -> str:
    """The section of the page: every screen that was kept."""
    lines = [f"## {HEADING}", ""]
    for name, (path, command) in SHOWN.items():
        screen = root / screen_file(name)
        if screen.exists():
            text = screen.read_text(encoding="utf-8").rstrip("\n")
            lines += [f"### `{command}`", "", f"`{path}` ends with this screen; its first line also has the time:", ""]
            lines += ["```", text, "```", ""]
    return "\n".join(lines) + AFTER


def screens(text: str) -> dict[str, list[str]]:
    """Return the lines of the screen below each heading of a page, by the command in the heading."""
    matches = re.findall(r"## `(\./run[^`]*)`\n.*?```\n(.*?)\n```", text, re.DOTALL)
    return {command: block.splitlines() for command, block in matches}


def oddities(lines: Sequence[str], configuration: Path, name: str) -> list[str]:
    """Return the differences between a screen and the form that a run of this configuration prints; times are ignored.

    The first line counts the studies and fits of the plan, a table has a row of each study with a result, and the last
    lines name what to look at next.
    """
    planned = plans(read_configuration(configuration))
    first = FIRST.fullmatch(lines[0]) if lines else None
    if first is None:
        return [f"no first line of a run: {lines[0]!r}" if lines else "no line"]
    odd = [f"more than {WIDTH} characters: {line!r}" for line in lines if len(line) > WIDTH]
    if len(lines) > LINES:
        odd.append(f"{len(lines)} lines, and one screen has {LINES}")
    wanted = {"name": name, "studies": str(len(planned)), "fits": f"{sum(plan.n_cells for plan in planned.values()):,}"}
    odd += [
        f"{key}: {first[key]}, {value} in {configuration.name}" for key, value in wanted.items() if first[key] != value
    ]
    measured = [
        plan
        for plan in planned.values()
        if any(plan.study.headings[name].better != "neither" for name in plan.study.headline)
    ]
    if measured and not any(line.startswith(HEAD[0]) for line in lines):
        odd.append(f"no table: {HEAD[0]}")
    if list(lines[-2:]) != next_steps(f"results/{name}"):
        odd.append(f"other last lines: {lines[-1]!r}")
    return odd
