"""Own data for the source ``table``: the made example of config/example_data, and two real data sets.

``python tests/support/own_data_sets.py FOLDER`` writes the real ones there as a person would bring them (CSV in long
and wide form, NetCDF) with a configuration beside each; ``python tests/support/own_data_sets.py`` makes the example.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import yaml

from partywise.core.randomness import stream

ROOT = Path(__file__).resolve().parents[2]
METHODS = {
    "mean_curve": {"protocol": "baseline", "kind": "mean"},
    "least_squares": {"protocol": "baseline", "kind": "least_squares"},
    "predictor_none": {"protocol": "boosting", "noise": "none"},
    "local": {"protocol": "boosting", "s_mode": "calibrated"},
    "moments": {"protocol": "moments", "cipher": "sized"},
}


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A CSV file with plain line ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def write_netcdf(path: Path, record: str, ids: Sequence[str], time: Sequence[float], **values: np.ndarray) -> None:
    """Variables over (record, time) with both coordinates; NaN is written as the fill value."""
    with netCDF4.Dataset(path, "w") as data:
        data.createDimension(record, len(ids))
        data.createDimension("time", len(time))
        data.createVariable(record, str, (record,))[:] = np.array(ids, dtype=object)
        data.createVariable("time", "f8", ("time",))[:] = time
        for name, value in values.items():
            variable = data.createVariable(name, "f8", (record, "time"), fill_value=-9999.0)
            variable[:] = np.ma.masked_where(np.isnan(value), value)


def example(folder: Path) -> None:
    """Sixty made days at a river: level (response), rain and temperature, level upstream.  Public domain."""
    rng = stream(2024, "own", "example")
    days = [date(2023, 3, 6) + timedelta(days=i) for i in range(60)]
    fine = np.arange(24) + 0.5
    storm = rng.gamma(0.6, 2.0, (60, 1)) * np.exp(-(((fine - rng.uniform(4, 16, (60, 1))) / 3) ** 2))
    warm = 9 + 4 * np.sin((fine - 9) * np.pi / 12) * rng.uniform(0.5, 1.3, (60, 1)) + rng.normal(0, 2, (60, 1))
    upstream = 1.2 + 0.25 * rng.normal(0, 1, (60, 1)) + 0.1 * rng.normal(0, 1, (60, 1)) * np.cos(fine * np.pi / 12)
    level = 0.4 + upstream + 0.06 * np.cumsum(storm, axis=1) - 0.01 * (warm - 9) + rng.normal(0, 0.03, (60, 24))
    river, weather = [], []
    for i, day in enumerate(days):
        week = f"{day.isocalendar().year}-W{day.isocalendar().week:02d}"
        for hour in sorted(np.round(np.arange(6) * 4 + rng.uniform(0.2, 3.8, 6), 1)):
            lost = rng.uniform() < 0.02
            river.append([day, week, hour, "NA" if lost else f"{np.interp(hour, fine, level[i]):.2f}"])
        for hour in range(2, 24, 4):
            rain, temp = np.interp(hour, fine, storm[i]), np.interp(hour, fine, warm[i])
            weather.append([day, hour, f"{rain:.1f}", f"{temp:.1f}"])
    write_csv(folder / "river.csv", ("day", "week", "hour", "level_m"), river)
    write_csv(folder / "weather.csv", ("day", "hour", "rain_mm", "temp_c"), weather)
    hours = range(1, 24, 4)
    rows = [[day, *(f"{np.interp(h, fine, upstream[i]):.2f}" for h in hours)] for i, day in enumerate(days)]
    write_csv(folder / "gauge.csv", ("day", *(f"h{h:02d}" for h in hours)), rows)


def example_tables(folder: Path) -> None:
    """Four hundred made customers: what a shop knows, and what a bank does, which has the label.  Public domain."""
    rng, n = stream(2024, "own", "tables"), 400
    visits, returns = np.minimum(rng.geometric(0.15, n) - 1, 30), np.minimum(rng.geometric(0.45, n) - 1, 9)
    basket, regions = np.maximum(rng.normal(40, 18, n), 2), rng.choice(["north", "south", "west"], n)
    age, income, cards = rng.integers(19, 79, n), np.maximum(rng.normal(34, 12, n), 8), rng.integers(0, 5, n)
    score = 1.6 * (returns - 1) - 0.18 * (visits - 6) - 0.1 * (income - 34) + 0.7 * (cards - 2) + (regions == "west")
    late = (rng.random(n) < 1 / (1 + np.exp(0.4 - score))).astype(int)
    names = [f"c{1000 + i}" for i in range(n)]
    shop = zip(names, visits, (f"{value:.2f}" for value in basket), returns, regions, strict=True)
    bank = list(zip(names, age, (f"{value:.1f}" for value in income), cards, late, strict=True))
    write_csv(folder / "shop.csv", ("customer", "visits", "basket", "returns", "region"), shop)
    write_csv(
        folder / "bank.csv", ("customer", "age", "income", "cards", "late"), [bank[i] for i in rng.permutation(n)]
    )


def case(settings: dict[str, Any], parties: int, epsilon: Sequence[float], folds: int, replicates: int) -> dict:
    """A whole configuration with one case of own tables."""
    grid = {"methods": list(METHODS), "replicates": replicates, "parties": [parties], "folds": folds}
    block = {
        "methods": METHODS,
        "cases": {"own": {"source": "table", "settings": settings, "grid": {**grid, "epsilon": list(epsilon)}}},
        "figures": ["error_by_epsilon", "real_curves"],
    }
    return {"root_seed": 11, "studies": {"functional_boosting": block}}


def elnino(folder: Path, replicates: int = 5) -> dict[str, Any]:
    """Sea surface temperature off Peru by year (statsmodels), with the carbon dioxide of Mauna Loa by year.

    The response is the temperature of July to December; the ship bureau has that of January to June in a wide file,
    the observatory weekly carbon dioxide in a long one, on its own dates and with missing weeks.
    """
    from statsmodels.datasets import co2, elnino

    sea, air = elnino.load_pandas().data, co2.load_pandas().data["co2"]
    months = list(sea.columns[1:])
    early = [[int(row.YEAR), *(getattr(row, m) for m in months[:6])] for row in sea.itertuples()]
    late = [
        (int(row.YEAR), k + 0.5, getattr(row, m)) for row in sea.itertuples() for k, m in enumerate(months) if k > 5
    ]
    weeks = [
        (when.year, round((when.day_of_year - 0.5) / (366 if when.is_leap_year else 365) * 12, 3), value)
        for when, value in air.items()
    ]
    write_csv(folder / "sea_early.csv", ("year", *months[:6]), early)
    write_csv(folder / "sea_late.csv", ("year", "month", "sst"), late)
    rows = [(year, month, "" if value != value else value) for year, month, value in weeks]
    write_csv(folder / "co2.csv", ("year", "month", "ppm"), rows)
    sst = {"unit": "degrees C", "range": [10, 35], "centre": 23.0, "scale": 3.0}
    settings = {
        "id": "year",
        "domain": [0, 6],
        "response": {
            "file": "sea_late.csv",
            "time": "month",
            "value": "sst",
            "domain": [6, 12],
            "party": "harbour",
            **sst,
        },
        "predictors": [
            {
                "name": "early temperature",
                "party": "ship bureau",
                "file": "sea_early.csv",
                "format": "wide",
                "columns": months[:6],
                **sst,
            },
            {
                "name": "carbon dioxide",
                "party": "observatory",
                "file": "co2.csv",
                "time": "month",
                "value": "ppm",
                "domain": [0, 12],
                "unit": "ppm",
                "range": [250, 450],
                "centre": 340.0,
                "scale": 15.0,
            },
        ],
        "radius": 1.5,
        "response_radius": 1.5,
        "n_basis_x": 5,
        "n_basis_y": 5,
        "smoothing": 1e-5,
        "match": "common",
        "max_gap": 1.0,
        "missing": "drop",
    }
    return case(settings, 2, [100.0, 10000.0], 5, replicates)


def fertility(folder: Path, replicates: int = 5) -> dict[str, Any]:
    """Children per woman by country, 1960 to 2012 (World Bank, in statsmodels): two archives tell of a third.

    The response is 1990 to 2012 (wide CSV); one archive has 1960 to 1974 (NetCDF), another 1975 to 1989 (long CSV).
    """
    from statsmodels.datasets import fertility

    data = fertility.load_pandas().data
    codes = [str(code) for code in data["Country Code"]]

    def values(first: int, last: int) -> np.ndarray:
        return data[[str(year) for year in range(first, last + 1)]].to_numpy(dtype=float)

    def shown(value: float) -> str:
        return "" if value != value else f"{value:g}"

    years = range(1990, 2013)
    rows = [[code, *map(shown, row)] for code, row in zip(codes, values(1990, 2012).tolist(), strict=True)]
    write_csv(folder / "recent.csv", ("country", *map(str, years)), rows)
    write_netcdf(folder / "old.nc", "country", codes, [y + 0.5 for y in range(1960, 1975)], births=values(1960, 1974))
    middle = [
        (code, 1975 + k, shown(value))
        for code, row in zip(codes, values(1975, 1989).tolist(), strict=True)
        for k, value in enumerate(row)
    ]
    write_csv(folder / "middle.csv", ("country", "year", "births"), middle)
    births = {"unit": "children per woman", "range": [0, 10], "centre": 4.0, "scale": 2.0}
    settings = {
        "id": "country",
        "domain": [1960, 1975],
        "response": {
            "file": "recent.csv",
            "format": "wide",
            "columns": ["199?", "20*"],
            "times": "names",
            "domain": [1990, 2013],
            **births,
        },
        "predictors": [
            {
                "name": "births 1960-74",
                "party": "first archive",
                "file": "old.nc",
                "format": "netcdf",
                "time": "time",
                "value": "births",
                **births,
            },
            {
                "name": "births 1975-89",
                "party": "second archive",
                "file": "middle.csv",
                "time": "year",
                "value": "births",
                "domain": [1975, 1990],
                **births,
            },
        ],
        "radius": 1.5,
        "response_radius": 1.5,
        "n_basis_x": 5,
        "n_basis_y": 5,
        "smoothing": 1e-5,
        "max_gap": 3.0,
        "missing": "drop",
    }
    return case(settings, 2, [100.0, 10000.0], 5, replicates)


REAL = {"elnino": elnino, "fertility": fertility}


def write_real(folder: Path) -> None:
    """Files and configuration of each real data set in ``folder``."""
    for name, make in REAL.items():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(make(folder), sort_keys=False), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        write_real(Path(sys.argv[1]))
    else:
        example(ROOT / "config" / "example_data")
        example_tables(ROOT / "config" / "example_data")
