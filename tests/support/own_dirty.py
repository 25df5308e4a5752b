"""Three tables as an office hands them on, of all that makes them hard to read: `own_dirty.py FOLDER` writes them.

Semicolons, decimal commas, points between thousands, umlauts in latin-1, time stamps, "k.A.", "<5", -9999, and ids that
are 000100 in one file and 100 in another.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from partywise.core.randomness import stream

CUSTOMERS, DAYS = 330, 40
CITIES = ("Düsseldorf", "Köln", "Münster")
FILES = ("kunden.csv", "bank.csv", "messung.csv")


def comma(value: float, digits: int) -> str:
    """A number as it is written in German: 1.234,5."""
    return f"{value:,.{digits}f}".replace(",", " ").replace(".", ",").replace(" ", ".")


def tables() -> dict[str, list[list[str]]]:
    """Header and rows of each file."""
    rng = stream(9, "own", "dirty")
    shop = [["Kundennr", "Stadt", "Umsatz", "Besuche", "Größe"]]
    bank = [["Kunde", "Alter", "Einkommen", "Verzug"]]
    for k in range(CUSTOMERS):
        spent, visits, size = 1200 + 400 * rng.normal(), 6 + 2 * rng.normal(), rng.integers(1, 5)
        age, income = 45 + 12 * rng.normal(), 38 + 9 * rng.normal()
        late = (spent - 1200) / 400 - (income - 38) / 9 + rng.normal() > 0
        seldom = "<5" if k % 60 == 7 else comma(visits, 1)
        shop.append([f"{100 + k:06d}", CITIES[k % 3], "k.A." if k % 50 == 3 else comma(spent, 2), seldom, str(size)])
        bank.append(
            [str(100 + k), "-9999" if k % 70 == 5 else f"{age:.0f}", comma(income, 1), "ja" if late else "nein"]
        )
    bank[1:] = [bank[1 + k] for k in rng.permutation(CUSTOMERS)]
    river = [["Zeit", "Pegel", "Regen"]]
    for day in range(DAYS):
        wet = rng.gamma(2.0, 0.5)
        for hour in range(0, 24, 3):
            rain = wet * (1 + np.sin(hour / 4)) + 0.1 * rng.random()
            level = 1.5 + 0.4 * wet * np.sin(hour / 6) + 0.02 * rng.normal()
            date = f"{1 + day % 28:02d}.{3 + day // 28:02d}.2024 {hour:02d}:00"
            river.append([date, comma(level, 3), "k.A." if (day, hour) in ((3, 6), (9, 12)) else comma(rain, 2)])
    return dict(zip(FILES, (shop, bank, river), strict=True))


def write(folder: Path) -> list[str]:
    """Write the files; their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in tables().items():
        (folder / name).write_bytes("".join(f"{';'.join(row)}\r\n" for row in rows).encode("latin-1"))
    return [str(folder / name) for name in FILES]


# Answers of a person to the questions of a draft, by the name that a question belongs to and its key.
ANSWERS = {
    ("Stadt", "levels"): "[Düsseldorf, Köln, Münster]",
    ("Umsatz", "bounds"): "[0, 2500]",
    ("Umsatz", "edges"): "[500, 1000, 1500, 2000]",
    ("Besuche", "bounds"): "[0, 12]",
    ("Besuche", "edges"): "[3, 6, 9]",
    ("Größe", "bounds"): "[1, 4]",
    ("Größe", "edges"): "[1.5, 2.5, 3.5]",
    ("Alter", "bounds"): "[18, 90]",
    ("Einkommen", "bounds"): "[0, 80]",
    ("", "party"): "Stadt",
    ("", "parties"): "[Düsseldorf, Köln, Münster]",
    ("", "response_bounds"): "[0, 2500]",
    ("", "least"): "80",
    ("response", "centre"): "1.5",
    ("response", "scale"): "0.7",
    ("Regen", "centre"): "1.0",
    ("Regen", "scale"): "1.5",
}


def answered(draft: str) -> str:
    """A draft with every question answered."""
    lines, name = list[str](), ""
    for line in draft.splitlines():
        bare = line.strip().removeprefix("- ")
        if bare.startswith(("name:", "response:")):
            name = bare.partition(":")[2].strip().strip('"') or "response"
        key, _, rest = bare.partition(":")
        if rest.strip().startswith("?"):
            answer = ANSWERS.get((name, key)) or ANSWERS["", key]
            line = line.replace("?", answer, 1)
        lines.append(line)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(*write(Path(sys.argv[1])))
