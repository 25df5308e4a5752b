"""Three tables as programs export them, none of which a person has edited: `own_exports.py FOLDER` writes them.

``klinik.csv`` has lines above and below the table, two rows of names, percentages, values under a limit of detection
and two columns of one name; ``besuche.csv`` has dates of two forms, time stamps of which some name a zone and a column
with many gaps; ``pegel.csv`` has the date and the time of a measurement in two columns.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from partywise.core.randomness import stream

PATIENTS, VISITS, DAYS = 360, 300, 30
# Rows of besuche.csv without an income.
WITHOUT_INCOME = 72


def comma(value: float, digits: int) -> str:
    """A number with a decimal comma."""
    return f"{value:.{digits}f}".replace(".", ",")


def clinic() -> str:
    """Follow-up at three hospitals."""
    rng = stream(21, "own", "exports", "clinic")
    lines = ["Export der Studie, Stand 5/2024", "", "erzeugt von: Register"]
    lines += ["Fallnr;Krankenhaus;Einwilligung;Alter;Dauer;Ausgang;lab_crp;lab_hb;lab_leuko;Belegung;Notiz;Notiz"]
    lines += [";;;Jahre;Monate;;mg/l;g/dl;G/l;%;;"]
    for k in range(PATIENTS):
        age, crp = 62 + 11 * rng.normal(), 4 * np.exp(rng.normal())
        time = rng.exponential(40 * np.exp(-0.03 * (age - 62)))
        died = time < 36
        row = [f"F{k:04d}", ("Nord", "Süd", "West")[k % 3], ("ja", "nein")[k % 7 == 0], f"{age:.0f}"]
        row += [comma(min(time, 36), 1), "verstorben" if died else "zensiert"]
        row += ["<1,5" if crp < 1.5 else comma(crp, 1), comma(13 + rng.normal(), 1), comma(7 + 1.5 * rng.normal(), 1)]
        row += [f"{comma(75 + 8 * rng.normal(), 1)} %", "", ""]
        lines.append(";".join(row))
    return "\r\n".join([*lines, "Quelle: Register der Klinik;;;;;;;;;;;", ";;;;;;;;;;;", ""])


def visits() -> str:
    """Visits to a shop, of which some ended in an order."""
    rng = stream(22, "own", "exports", "visits")
    lines = ["besuch,kunde,exportiert,erster_kauf,gemessen,minuten,einkommen,stadt,bestellt"]
    for k in range(VISITS):
        minutes, income, day = rng.gamma(2, 10), 30 + 9 * rng.normal(), 1 + k % 28
        first = f"{day:02d}.03.2023" if k % 2 else f"2023-04-{day:02d}"
        seen = f"2024-05-{day:02d}T10:{k % 60:02d}:00" + ("+01:00" if k % 2 else "")
        ordered = minutes / 20 + income / 30 + rng.normal() > 2
        row = [f"B{k:03d}", f"K{k // 2:03d}", f"2024-06-0{1 + k % 2}", first, seen, f"{minutes:.1f}"]
        row += ["" if k < WITHOUT_INCOME else f"{income:.1f}", ("Ulm", "Köln")[k % 2], ("no", "yes")[bool(ordered)]]
        lines.append(",".join(row))
    return "\n".join([*lines, ""])


def river() -> str:
    """Level of a river and rain, every three hours."""
    rng = stream(23, "own", "exports", "river")
    lines = ["Messstelle 7", "Datum;Uhrzeit;Pegel;Regen"]
    for day in range(DAYS):
        wet = rng.gamma(2.0, 0.5)
        for hour in range(0, 24, 3):
            rain = wet * (1 + np.sin(hour / 4)) + 0.1 * rng.random()
            level = 1.5 + 0.4 * wet * np.sin(hour / 6) + 0.02 * rng.normal()
            lines.append(f"{1 + day:02d}.05.2024;{hour:02d}:00;{comma(level, 3)};{comma(rain, 2)}")
    return "\n".join([*lines, "Alle Zeiten in MEZ;;;", ""])


FILES = {"klinik.csv": (clinic, "latin-1"), "besuche.csv": (visits, "utf-8"), "pegel.csv": (river, "utf-8")}
# Of each file: the study that reads it, the words of a person, and the answers to the questions of the draft in order.
CASES: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "klinik.csv": (
        "federated_survival",
        ("--response", "Dauer Monate", "--event", "Ausgang"),
        ("[verstorben]", "[zensiert]", "36", "plan of the study", '["ja", "nein"]', "[18, 100]", "[0, 40]", "[0, 100]"),
    ),
    "besuche.csv": (
        "label_private",
        ("--response", "bestellt", "--person", "kunde"),
        ("'+01:00'", "drop", "[2024, 2025]", "[2023, 2024]", "[2024, 2025]", "[0, 100]", "[0, 80]", "[Ulm, Köln]", "2"),
    ),
    "pegel.csv": ("functional_boosting", ("--response", "Pegel"), ("1.5", "0.7", "1.0", "1.5")),
}


def write(folder: Path) -> None:
    """Write the files."""
    for name, (text, encoding) in FILES.items():
        (folder / name).write_bytes(text().encode(encoding))


def answered(draft: str, answers: tuple[str, ...]) -> str:
    """A draft with every question answered, in order; ValueError where there are more or fewer of them."""
    if draft.count(": ?  #") != len(answers):
        raise ValueError("\n".join(line for line in draft.splitlines() if ": ?  #" in line))
    for answer in answers:
        draft = draft.replace(": ?  #", f": {answer}  #", 1)
    return draft


if __name__ == "__main__":
    write(Path(sys.argv[1]))
