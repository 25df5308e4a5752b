"""Picture and table of the rooms in ``architecture.md``, from ``lib/partywise/rooms.toml``.

``.venv/bin/python docs/_rooms.py`` writes them anew; `tests/test_architecture.py` compares.
"""

from __future__ import annotations

import re
import tomllib
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE, ROOMS = ROOT / "docs" / "architecture.md", ROOT / "lib" / "partywise" / "rooms.toml"
BEGIN, END = "<!-- rooms: written by docs/_rooms.py -->", "<!-- rooms: end -->"
# Names in a line of the picture.
WIDTH = 5


def picture(layers: list[dict[str, Any]]) -> str:
    """Return the layers from the top to the ground as a Mermaid diagram; an arrow is an import."""
    numbered = list(enumerate(layers))[::-1]
    lines = ["flowchart TD"]
    for kind, group in groupby(numbered, key=lambda item: str(item[1]["kind"])):
        lines.append(f'    subgraph {kind.replace(" ", "_")}["{kind}"]')
        for number, layer in group:
            names = [str(name).removeprefix("methods.") for name in layer["rooms"]]
            rows = [", ".join(names[start : start + WIDTH]) for start in range(0, len(names), WIDTH)]
            lines.append(f'        layer{number}["{",<br>".join(rows)}"]')
        lines.append("    end")
    lines += [f"    layer{upper} --> layer{lower}" for (upper, _), (lower, _) in pairwise(numbered)]
    return "\n".join(["```mermaid", *lines, "```"])


def table(rooms: dict[str, dict[str, str]]) -> str:
    """Return the rooms as a Markdown table: folder, purpose, the file to read first."""
    rows = [
        f"| `lib/partywise/{name.replace('.', '/')}` | {room['purpose']} | `{room['start']}` |"
        for name, room in rooms.items()
    ]
    return "\n".join(["| room | purpose | start with |", "|---|---|---|", *rows])


def block() -> str:
    """Return the text between the two marks of the page, marks included."""
    content = tomllib.loads(ROOMS.read_text(encoding="utf-8"))
    return f"{BEGIN}\n\n{picture(content['layer'])}\n\n{table(content['room'])}\n\n{END}"


def filled(page: str) -> str:
    """Return a page with the block in its place."""
    return re.sub(rf"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: block(), page, flags=re.DOTALL)


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
