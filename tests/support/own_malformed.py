"""Files that are not as described: what is done to the valid files and settings, and the sentence that follows."""

from __future__ import annotations

import netCDF4
import numpy as np

from own_mistakes import HOURS, Change, Own, cell, every, first, many, netcdf, raw, response, second, setting, without


def no_coordinate(own: Own) -> None:
    with netCDF4.Dataset(own.folder / "heat.nc", "w") as data:
        data.createDimension("day", 24)
        data.createDimension("time", 6)
        data.createVariable("heat", "f8", ("day", "time"))[:] = own.heat


def third_dimension(own: Own) -> None:
    with netCDF4.Dataset(own.folder / "heat.nc", "w") as data:
        for name, size in (("day", 24), ("time", 6), ("station", 2)):
            data.createDimension(name, size)
        data.createVariable("heat", "f8", ("day", "time", "station"))[:] = 1.0


def text_variable(own: Own) -> None:
    with netCDF4.Dataset(own.folder / "heat.nc", "a") as data:
        data.createVariable("word", str, ("day", "time"))[:] = np.full((24, 6), "warm", dtype=object)


def cf_time(own: Own) -> None:
    netcdf(time=[45000.0 + hour for hour in HOURS])(own)
    with netCDF4.Dataset(own.folder / "heat.nc", "a") as data:
        data.variables["time"].units = "days since 1900-01-01"


def cut(own: Own) -> None:
    content = (own.folder / "heat.nc").read_bytes()
    own.text["heat.nc"] = content[: len(content) // 2]


NAN = np.where(np.arange(144).reshape(24, 6) == 30, np.nan, 1.0 + np.arange(144).reshape(24, 6) / 100)
R, A, B = "response (level.csv)", "rain (rain.csv)", "heat (heat.nc)"
MARKS = "or list it under marks if it stands for a missing value."
COLUMNS = "its columns are day, week, hour, level."
# What is done to the valid files and settings, and the sentence that follows.
MALFORMED: dict[str, tuple[Change, str]] = {
    "missing file": (
        first(file="rian.csv"),
        "rian.csv cannot be read (No such file or directory): did you mean rain.csv? paths begin in",
    ),
    "a folder": (
        first(file="."),
        ". is a folder: name a file in it.",
    ),
    "empty file": (raw("level.csv", b""), "level.csv is empty: its first row must name the columns."),
    "blank file": (raw("level.csv", b"\n\n"), "level.csv is empty: its first row must name the columns."),
    "header only": (raw("level.csv", b"day,week,hour,level\n"), "level.csv has a header and no rows: nothing was "),
    "wrong delimiter": (
        raw("level.csv", b"day;week;hour;level\nd00;w0;1;2\n"),
        "level.csv has the one column 'day;week;hour;level' when it is split at ',': set delimiter to ';', which",
    ),
    "tabs": (raw("rain.csv", b"day\th1\nd00\t1\n"), "rain.csv has the one column 'day\\th1' when it is split at ',': "),
    "latin-1": (
        raw("level.csv", "day,week,hour,level\nMärz,w0,1,2\n".encode("latin-1")),
        "level.csv is not utf-8 text (byte 0xe4 in row 2): save it as UTF-8 or give its encoding, such as latin-1",
    ),
    "zero bytes": (
        raw("level.csv", b"day,week\x00\n"),
        "level.csv contains zero bytes and is not CSV text: save it as CSV",
    ),
    "a spreadsheet": (
        raw("level.csv", b"PK\x03\x04\xff\xfe\x80 xl/workbook.xml"),
        "level.csv is an Excel workbook (.xlsx): open it and save it as CSV in UTF-8, one sheet a file.",
    ),
    "ragged row": (
        cell(3, 3, "1,2"),
        "level.csv has 5 fields in row 4 where the header names 4 columns: correct the row (a quote or a delimiter",
    ),
    "open quote": (
        cell(3, 3, '"1'),
        "level.csv has an entry that begins in row 4 and ends in row 145: close its quote, ",
    ),
    "column name twice": (
        cell(0, 1, "day"),
        "level.csv has several columns called 'day': give each its own name, or set equal_names to number.",
    ),
    "no id column": (cell(0, 0, "dya"), "level.csv has no column 'day': did you mean 'dya'? its columns are dya, "),
    "no value column": (response(value="levle"), f"level.csv has no column 'levle': did you mean 'level'? {COLUMNS}"),
    "no time column": (response(time="minute"), f"level.csv has no column 'minute': {COLUMNS}"),
    "no column like": (first(columns="x*"), "rain.csv has no column like 'x*': its columns are day, h1, h5, h9, "),
    "no group column": (setting(fold_block="month"), f"level.csv has no column 'month': {COLUMNS}"),
    "word for a value": (
        cell(3, 3, "high"),
        f"{R}: level is 'high' in row 4, which is not a number: correct it, {MARKS}",
    ),
    "decimal comma": (
        many(cell(3, 3, '"0,5"')),
        f"{R}: level is '0,5' in row 4, which is not a number: write it with a decimal point, "
        f"or set decimal to ',', {MARKS}",
    ),
    "word in a wide file": (cell(2, 3, "dry", "rain"), f"{A} is 'dry' in row 3, column h9, which is not a number: "),
    "infinite value": (cell(3, 3, "inf"), f"{R}: level is 'inf' in row 4, which is infinite: correct it, {MARKS}"),
    "infinite in NetCDF": (
        lambda own: netcdf(heat=np.where(NAN > 2, np.inf, 1.0))(own),
        f"{B} in record 17 (d16), time 21 is inf: correct it, or mark it as missing",
    ),
    "sentinel": (cell(3, 3, "-999"), f"{R} in row 4 is -999 m, outside its range [-10, 10]: is it in another unit?"),
    "word for a time": (
        cell(3, 2, "09:00"),
        f"{R}: time hour is '09:00' in row 4, which is a date or a time of day: write ",
    ),
    "no time": (cell(3, 2, ""), f"{R}: time hour is '' in row 4, an empty entry: fill it in or leave the row out."),
    "no id": (cell(3, 0, " "), f"{R} in row 4 has no day: every row needs the id of its record."),
    "missing value": (
        many(cell(3, 3, "NA"), cell(9, 3, ""), cell(10, 3, "NaN")),
        f"{R} has missing values (3 in 2 of the records, the first in row 4): fill them in, set missing to drop",
    ),
    "missing in NetCDF": (
        lambda own: netcdf(heat=NAN)(own),
        f"{B} has missing values (1 in 1 of the records, the first in record 6 (d05), time 1): fill them in,",
    ),
    "twice at one time": (
        cell(3, 2, "5"),
        f"{R} has two values for day 'd00' at time 5, in row 3 and row 4: keep one.",
    ),
    "id twice in a wide file": (
        cell(4, 0, "d01", "rain"),
        f"{A} has two values for day 'd01' at time 1, in row 3, column h1 and row 5, column h1 (6 such pairs): keep ",
    ),
    "minutes for hours": (
        cell(3, 2, "540"),
        f"{R} in row 4 has the time 540, outside the domain [0, 24]: is the time in another unit? correct domain,",
    ),
    "wrong unit": (
        lambda own: [row.__setitem__(3, f"{100 * float(row[3]) + 500:g}") for row in own.response[1:]],
        f"{R} in row 2 is 500 m, outside its range [-10, 10]: is it in another unit? correct it, or the range",
    ),
    "sentinel, no range": (
        many(first(range=None), cell(3, 1, "-9999", "rain")),
        "rain (rain.csv) in row 4, column h1 is -9999, more than 20 times its scale 2 from its centre 0: does it st",
    ),
    "wrong unit, no range": (
        many(first(range=None), lambda own: [row.__setitem__(1, "273.1") for row in own.rain[1:]], first(scale=20.0)),
        f"{A}: the root mean square of every scaled curve is beyond predictors[0].radius 2 (the smallest is ",
    ),
    "logarithm": (response(transform="log"), f"{R} in row 2 is 0 m, which has no log: correct it, or choose "),
    "root": (
        response(transform="sqrt"),
        f"{R} in row 13 is -0.251 m, which has no sqrt: correct it, or choose another",
    ),
    "few values": (
        without("response", lambda row: row[0] != "d03" or row[2] == "9"),
        f"{R} has 1 of the 4 values that min_points asks for in record 'd03': set missing to drop",
    ),
    "a long gap": (
        many(
            setting(max_gap=5),
            without("response", lambda row: row[0] != "d03" or row[2] != "9"),
        ),
        f"{R} has no value for 8 in record 'd03' where max_gap is 5: set missing to drop to leave",
    ),
    "gaps everywhere": (
        setting(max_gap=3, missing="drop"),
        "24 records are in all files, 24 of them dropped for gaps, where min_records is 20: bring more records,",
    ),
    "ids that differ": (
        many(cell(3, 0, "x", "rain"), without("rain", lambda row: row[0] != "d07")),
        f"{A} and {R} have different ids: 1 (x) only in the former, 2 (d02, d07) only in the latter; correct them, or "
        "set match to common to use the 22 that all files share.",
    ),
    "other ids": (
        lambda own: [row.__setitem__(0, row[0].upper()) for row in own.rain[1:]],
        f"no day is in all files ({R} has d00, d01; {A} has D00, D01; {B} has d00, d01): write the ids in the same way",
    ),
    "few common ids": (
        many(setting(match="common"), without("rain", lambda row: row[0] < "d10")),
        "10 records are in all files where min_records is 20: bring more records, allow longer gaps",
    ),
    "two groups of one record": (
        cell(3, 1, "w9"),
        "level.csv: week (fold_block) of day 'd00' is 'w0' and 'w9': a record belongs to one group, which has a name.",
    ),
    "record without a group": (cell(25, 1, ""), "level.csv: week (fold_block) of day 'd04' is '' and '': a record "),
    "few groups": (
        setting(min_blocks=7),
        "level.csv: week (fold_block) makes 6 groups of the 24 records where min_blocks is 7: take a finer column",
    ),
    "constant response": (every(3, "1.5"), f"{R} has the same value in every row that is used: a constant predicts "),
    "constant predictor": (
        lambda own: [row.__setitem__(slice(1, None), ["0"] * 6) for row in own.rain[1:]],
        f"{A} has the same value in every row that is used: a constant predicts nothing and cannot be predicted; take",
    ),
    "one curve for all records": (
        lambda own: [row.__setitem__(slice(1, None), list("123456")) for row in own.rain[1:]],
        f"{A} is the same curve in all 24 records: it predicts nothing and cannot be predicted; take it out or check",
    ),
    "too little to smooth": (
        setting(smoothing=0.0, n_basis_x=8),
        f"{A} has 6 values in record 'd00', which do not determine 8 basis functions at smoothing 0: use fewer basis",
    ),
    "names without numbers": (
        many(cell(0, 3, "hx", "rain")),
        f"{A}: column 'hx' has no number in its name: list the times instead.",
    ),
    "times for other columns": (
        first(times=[1, 2, 3]),
        f"{A}: times lists 3 times for 6 columns (h1 to h21): give one for each.",
    ),
    "response inside a wide predictor": (
        many(
            response(file="rain.csv", format="wide", columns=["h1", "h5", "h9", "h13"], times="names"),
            lambda own: [own.settings["response"].pop(key) for key in ("time", "value")],
        ),
        "rain.csv: column 'h1' is part of the response and of predictors[0]: the response cannot predict itself;",
    ),
    "corrupt NetCDF": (cut, "heat.nc cannot be read as NetCDF ("),
    "CSV for NetCDF": (second(file="rain.csv"), "rain.csv cannot be read as NetCDF ("),
    "NetCDF for CSV": (first(file="heat.nc"), "heat.nc is a NetCDF or HDF5 file: own curves read it with format "),
    "no NetCDF variable": (
        second(value="haet"),
        "heat.nc has no variable 'haet': did you mean 'heat'? its variables are day, time, heat.",
    ),
    "no NetCDF dimension": (
        second(time="hour"),
        "heat.nc: variable 'heat' has the dimensions (day, time): it must have 'day' (the key id) and 'hour' (the key",
    ),
    "a third NetCDF dimension": (third_dimension, "heat.nc: variable 'heat' has the dimensions (day, time, station): "),
    "no NetCDF coordinate": (no_coordinate, "heat.nc: dimension 'day' has no coordinate: add a variable day(day)."),
    "NetCDF text": (many(text_variable, second(value="word")), "heat.nc: variable 'word' holds text: it must hold "),
    "NetCDF time that is missing": (
        lambda own: netcdf(time=[1.0, 5.0, float("nan"), 13.0, 17.0, 21.0])(own),
        f"{B} in record 1 (d00), time nan has the time nan: times must be finite numbers (24 such values).",
    ),
    "gzip": (
        raw("level.csv", b"\x1f\x8b\x08\x00"),
        "level.csv is compressed by gzip: unpack it and name what is inside.",
    ),
    "UTF-16": (
        raw("level.csv", "day,week,hour,level\n".encode("utf-16")),
        "level.csv is UTF-16 text, as Windows writes it: set encoding to utf-16, or save it as UTF-8.",
    ),
    "row names of R": (
        cell(0, 0, ""),
        "level.csv has no column 'day': its columns are , week, hour, level; the first ",
    ),
    "a timestamp": (cell(3, 2, "2023-03-06 09:00"), f"{R}: time hour is '2023-03-06 09:00' in row 4, which is a date "),
    "thousands": (cell(3, 3, '"1,000.5"'), f"{R}: level is '1,000.5' in row 4, which has separators between thousands"),
    "CF time": (cf_time, f"{B} in record 1 (d00), time 45001 (days since 1900-01-01) has the time 45001, outside the "),
}
