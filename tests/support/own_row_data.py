"""Made data for the examples of own rows: ``python tests/support/own_row_data.py`` writes config/example_data.

Public domain.  The seeds are those of `partywise.core.randomness.stream` below.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from own_data_sets import write_csv
from partywise.core.randomness import stream

ROOT = Path(__file__).resolve().parents[2]


def example_labels(folder: Path) -> None:
    """Visits of a web shop, which knows the visits, and whether each ended in an order, which a bank knows."""
    rng, people = stream(20240601, "example", "visits"), 700
    person = np.repeat(np.arange(people), rng.integers(1, 5, people))
    n = len(person)
    taste = rng.normal(size=people)[person]
    minutes = np.round(np.minimum(rng.gamma(2.0, 4.0, n), 60), 1)
    pages = np.clip(rng.poisson(2 + minutes / 4), 1, 30)
    device, returning = rng.choice(["phone", "tablet", "desktop"], n, p=[0.5, 0.15, 0.35]), rng.random(n) < 0.4
    logit = -3.2 + 0.09 * minutes + 0.1 * pages + 0.9 * (device == "desktop") + 0.8 * returning + 0.4 * taste
    ordered = np.where(rng.random(n) < 1 / (1 + np.exp(-logit)), "yes", "no")
    ids = [f"v{1000 + i}" for i in range(n)]
    words = np.where(returning, "returning", "new")
    visits = zip(ids, [f"p{k:03d}" for k in person], minutes, pages, device, words, strict=True)
    write_csv(folder / "visits.csv", ("visit", "person", "minutes", "pages", "device", "kind"), visits)
    orders = list(zip(ids, ordered, strict=True))
    write_csv(folder / "orders.csv", ("visit", "ordered"), [orders[i] for i in rng.permutation(n)])


def example_clients(folder: Path) -> None:
    """Visits to three clinics; a patient belongs to one, and comes once to three times.  The response is peak flow."""
    rng, rows = stream(20240601, "example", "clinics"), []
    for clinic, patients in (("north", 900), ("river", 800), ("old town", 850)):
        for patient in range(patients):
            age, height = float(np.clip(rng.normal(50, 14), 18, 90)), float(np.clip(rng.normal(170, 9), 145, 200))
            smoker = rng.random() < 0.25
            for _ in range(rng.integers(1, 4)):
                weight, steps = float(np.clip(rng.normal(75, 12), 40, 130)), float(np.clip(rng.normal(7, 2.5), 0, 14))
                index = (height - 170) / 9 - (age - 50) / 14 - 0.8 * smoker + 0.3 * (steps - 7) / 2.5
                flow = 480 + 70 * np.tanh(0.8 * index) + rng.normal(0, 15)
                row = [clinic, f"{clinic[0]}{patient:03d}", f"{age:.0f}", f"{height:.0f}", f"{weight:.0f}"]
                rows.append([*row, f"{steps:.1f}", "yes" if smoker else "no", f"{flow:.0f}"])
    header = ("clinic", "patient", "age", "height", "weight", "steps", "smoker", "flow")
    write_csv(folder / "clinics.csv", header, rows)


def example_hospitals(folder: Path) -> None:
    """Months until relapse at three hospitals; follow-up ended with the study after 60 months, or before."""
    rng, rows = stream(20240601, "example", "hospitals"), []
    for hospital, patients, baseline in (("north", 240, 1.0), ("river", 200, 0.8), ("old town", 160, 1.25)):
        for patient in range(patients):
            age, stage = float(np.clip(rng.normal(62, 11), 25, 95)), int(rng.choice(3, p=[0.4, 0.35, 0.25]))
            treated = rng.random() < 0.5
            risk = baseline * np.exp(0.02 * (age - 62) + (0, 0.5, 1.1)[stage] - 0.6 * treated)
            relapse, left = 60 * (rng.exponential() / risk) ** (1 / 1.2), rng.uniform(12, 96)
            months = min(relapse, left, 60.0)
            status = "relapse" if months == relapse else "censored"
            row = [hospital, f"{hospital[0]}{patient:03d}", f"{months:.1f}", status, f"{age:.0f}"]
            rows.append([*row, ("I", "II", "III")[stage], "yes" if treated else "no"])
    header = ("hospital", "patient", "months", "status", "age", "stage", "treated")
    write_csv(folder / "hospitals.csv", header, rows)


def example_wards(folder: Path) -> None:
    """Patients of a trial at three hospitals: who they are, whether they died, and when and why they left."""
    rng, rows = stream(20240601, "example", "wards"), []
    for hospital, patients in (("north", 620), ("river", 540), ("old town", 440)):
        for patient in range(patients):
            drug, sex = rng.random() < 0.5, str(rng.choice(["f", "m"]))
            smoking = str(rng.choice(["never", "past", "now", ""], p=[0.47, 0.3, 0.2, 0.03]))
            age, weight = float(np.clip(rng.normal(63, 11), 31, 89)), float(np.clip(rng.normal(27, 4.5), 16, 44))
            risk = np.exp(0.03 * (age - 63) + 0.4 * (smoking == "now") - 0.5 * drug)
            relapse, death = rng.exponential(9 / risk), rng.exponential(14 / risk)
            years = min(relapse, death, rng.uniform(2, 12), 8.0)
            cause = "relapse" if years == relapse else "death" if years == death else "well"
            index = "" if rng.random() < 0.04 else f"{weight:.1f}"
            row = [hospital, f"{hospital[0]}{patient:03d}", "drug" if drug else "placebo", sex, smoking, f"{age:.0f}"]
            rows.append([*row, index, "yes" if cause == "death" else "no", f"{years:.2f}", cause])
    rows[7][4] = "smoker"
    header = ("hospital", "patient", "arm", "sex", "smoking", "age", "bmi", "died", "years", "cause")
    write_csv(folder / "wards.csv", header, rows)


if __name__ == "__main__":
    for make in (example_labels, example_clients, example_hospitals, example_wards):
        make(ROOT / "config" / "example_data")
