"""The register as one HTML file without network: a table that can be searched, and filtered by source and status."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from .register import Row
from .text import sentence
from .verdict import RULE, STATUSES

SHOWN = {
    "source": "source",
    "place": "place",
    "quantity": "quantity",
    "printed": "printed",
    "spread": "bracket",
    "reproduction": "ours",
    "se": "standard error",
    "replicates": "replicates",
    "z": "z",
    "within_5_percent": "within 5 %",
    "certified": "certified epsilon",
    "status": "status",
    "because": "because",
    "command": "command",
    "cpu_minutes": "CPU min",
}
NUMBERS = {"printed", "spread", "reproduction", "se", "replicates", "z", "certified", "cpu_minutes"}
STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 1rem auto; max-width: 110rem; padding: 0 1rem; color: #222; }
h1 { font-size: 1.35rem; } p { max-width: 60rem; } .wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; }
th, td { padding: .2rem .6rem; border-bottom: 1px solid #ddd; vertical-align: top; text-align: left; }
th { background: #f4f4f4; position: sticky; top: 0; }
td.number { text-align: right; white-space: nowrap; }
tr.refuted td, tr.differs td { background: #fdf3f0; } tr.not_reproducible td { background: #f4f4f4; }
input, select { font: inherit; padding: .3rem; } input { width: min(100%, 26rem); }
"""
SCRIPT = """
const box = document.getElementById("words"), source = document.getElementById("source");
const status = document.getElementById("status"), count = document.getElementById("count");
const rows = Array.from(document.querySelectorAll("tbody tr"), row => [row, row.textContent.toLowerCase()]);
const filter = () => {
  const words = box.value.toLowerCase().split(/\\s+/).filter(Boolean);
  let shown = 0;
  for (const [row, text] of rows) {
    row.hidden = (source.value && row.dataset.source !== source.value) ||
      (status.value && row.dataset.status !== status.value) || !words.every(word => text.includes(word));
    shown += !row.hidden;
  }
  count.textContent = `${shown} of ${rows.length} entries`;
};
for (const control of [box, source, status]) control.addEventListener("input", filter);
filter();
"""


def html(rows: Sequence[Row], fitted: Sequence[str] = ()) -> str:
    """The page; ``fitted`` as in `sentence`."""
    sources = dict.fromkeys(row.source for row in rows)
    head = "".join(f"<th>{title}</th>" for title in SHOWN.values())
    body = "\n".join(_line(row) for row in rows)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>Claims register</title><style>{STYLE}</style></head><body><h1>Claims register</h1>\n"
        f"<p>{escape(sentence(rows, fitted))}</p>\n"
        f"<details><summary>The rule</summary><p>{escape(RULE)}</p></details>\n"
        '<p><input id="words" type="search" placeholder="words, such as: table 1 vgm" aria-label="words"> '
        f"{_choice('source', sources)} {_choice('status', STATUSES)} "
        '<span id="count" role="status"></span></p>\n'
        f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>'
        f"<script>{SCRIPT}</script></body></html>\n"
    )


def _choice(name: str, values: Sequence[str] | dict[str, None]) -> str:
    options = "".join(f"<option>{escape(value)}</option>" for value in values)
    return f'<select id="{name}" aria-label="{name}"><option value="">every {name}</option>{options}</select>'


def _line(row: Row) -> str:
    cells = "".join(
        f'<td class="number">{escape(getattr(row, name))}</td>'
        if name in NUMBERS
        else f"<td>{escape(getattr(row, name))}</td>"
        for name in SHOWN
    )
    kind = row.status.replace(" ", "_")
    return f'<tr class="{kind}" data-source="{escape(row.source)}" data-status="{escape(row.status)}">{cells}</tr>'
