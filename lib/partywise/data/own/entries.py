"""Entries of a file as numbers; what entries that were meant as a number look like, and what to do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from math import inf

import numpy as np

from ...core.errors import DataMissing
from .grammar import EITHER, ISO, TextForm, zone_of

# What looks like a number or a time, and the remedy; the first that fits is told.
LOOKS: tuple[tuple[re.Pattern[str], str, str], ...] = tuple(
    (re.compile(pattern), what, remedy)
    for pattern, what, remedy in (
        (r"[-+]?\d+,\d+(e[-+]?\d+)?$", "which is not a number", "write it with a decimal point, or set decimal to ','"),
        (
            r"[-+]?\d{1,3}([,.' \u00a0\u202f_]\d{3})+([.,]\d+)?$|[-+]?\d+(_\d+)+$",
            "which has separators between thousands",
            "write it without them, with a decimal point, or set thousands (and decimal)",
        ),
        (
            r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{1,2}:\d{2}|\d{4}/\d{1,2}/\d{1,2}",
            "which is a date or a time of day",
            "write a number, such as hours since midnight or days since a public date, or set time_format",
        ),
        (r"=[^\"'\d]", "which is a formula", "write its value"),
        (r"#[A-Z0-9/]+[!?]?$", "which is an error of a spreadsheet", "correct it there"),
        ("[\u2212\u2013]\\d", "which begins with a long dash", "write the minus sign '-'"),
        (r"[\d.]+ ?(-|\u2013|to|bis) ?[\d.]+$", "which is a range", "write one value"),
        (r"\d+ ?/ ?\d+$", "which is a fraction", "write it as a decimal"),
        (r"[-+]?[\d.,]+ ?%$", "which is a percentage", "write the number alone, or set percent"),
        (
            r"[<>]=? ?[-+]?[\d.,]+$",
            "which is a limit and not a value",
            "set below to half, limit or zero, or write a value",
        ),
        (r"""["'=].*[\d.]+["']?$""", "which is a number in quotes", "write it without them"),
        (r"(?i)(true|false|yes|no|y|n|t|f)$", "which is a word for yes or no", "write 1 and 0"),
        (r"[-+]?[\d.,]+(e[-+]?\d+)? ?[^\W\d_]+.*$|[$\u20ac\u00a3].*\d", "which has a unit", "write the number alone"),
    )
)


# A value that is under or above a limit of detection, and one that is a percentage.
LIMIT = re.compile(r"([<>])=? ?([-+]?[\d.,]+)")
PERCENT = re.compile(r"([-+]?[\d.,]+) ?%")
# Share of the limit that counts, by the key ``below``.
SHARES = {"half": 0.5, "limit": 1.0, "zero": 0.0}


def is_number(text: str) -> bool:
    """Whether a text is a number as people and spreadsheets write it: Python would also take 1_000."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def plain_number(text: str, form: TextForm) -> str:
    """A number of a file as Python writes it; what is none in this form stays none."""
    if text[:1] in ("<", ">") and form.below != "refuse" and (limit := LIMIT.fullmatch(text)):
        return _product(text, limit[2], form, SHARES[form.below] if limit[1] == "<" else 1.0)
    if text[-1:] == "%" and form.percent != "refuse" and (share := PERCENT.fullmatch(text)):
        return _product(text, share[1], form, 1.0 if form.percent == "number" else 0.01)
    if form.decimal == "." and not form.thousands:
        return text
    point, between = re.escape(form.decimal), "[ \u00a0\u202f]" if form.thousands == " " else re.escape(form.thousands)
    grouped = rf"\d{{1,3}}(?:{between}\d{{3}})+|" if between else ""
    parts = re.fullmatch(rf"([-+]?)({grouped}\d*)({point}\d*)?([eE][-+]?\d+)?", text)
    if parts is None:
        return f"{text} (point)" if is_number(text) and form.decimal == "," and "." in text else text
    sign, whole, rest, power = parts[1], parts[2], parts[3] or "", parts[4] or ""
    return f"{sign}{re.sub(between, '', whole) if between else whole}{rest.replace(form.decimal, '.')}{power}"


def _product(text: str, digits: str, form: TextForm, factor: float) -> str:
    """A part of an entry as a number times a factor; the whole entry where the part is not a number."""
    number = plain_number(digits, form)
    if not is_number(number):
        return text
    return number if factor == 1.0 else repr(float(Decimal(number) * Decimal(str(factor))))


def split_stamp(text: str, form: TextForm) -> datetime | None:
    """The time that an entry is, by the first form of ``time_format`` that it has; None where it has none."""
    for time_format in form.time_format.split(EITHER):
        try:
            return datetime.fromisoformat(text) if time_format == ISO else datetime.strptime(text, time_format)
        except ValueError:
            continue
    return None


def on_one_clock(stamps: Sequence[datetime | None], form: TextForm, what: str) -> list[datetime | None]:
    """Time stamps as the clock of one zone shows them, without naming it.

    DataMissing if zones differ, or some stamps name none, and ``time_zone`` is not set: the clocks of two zones show
    the same time at different moments.
    """
    known = [stamp for stamp in stamps if stamp is not None]
    zoned = [stamp for stamp in known if stamp.tzinfo is not None]
    zone = zone_of(form.time_zone) if form.time_zone else None
    offsets = {stamp.utcoffset() for stamp in zoned}
    if zone is None and zoned and (len(zoned) < len(known) or len(offsets) > 1):
        several = f" ({len(offsets)} different ones)" if len(offsets) > 1 else ""
        raise DataMissing(
            f"{what} names a time zone in {len(zoned)} of {len(known)} time stamps{several}: write all in one zone, or "
            "set time_zone, such as UTC or '+01:00', into which those are converted and in which the others are."
        )
    return [
        stamp if stamp is None or stamp.tzinfo is None else stamp.astimezone(zone or stamp.tzinfo).replace(tzinfo=None)
        for stamp in stamps
    ]


def stamps_as_numbers(texts: Sequence[str], missing: np.ndarray, form: TextForm, what: str) -> np.ndarray | None:
    """A column of time stamps as years, such as 2024.5, or without a date as hours since midnight; None for others.

    missing : (T,) bool, entries that stand for a missing value, which become NaN; what : file and column, for messages
    """
    if not form.time_format or all(is_number(text) for text in texts):
        return None
    stamps = [None if gap else split_stamp(text, form) for text, gap in zip(texts, missing, strict=True)]
    if any(stamp is None and not gap for stamp, gap in zip(stamps, missing, strict=True)):
        return None
    stamps = on_one_clock(stamps, form, what)
    dated = any(part in form.time_format for part in (ISO, "%Y", "%y", "%d", "%j", "%m", "%b", "%B", "%x", "%c"))
    as_number = year_of if dated else hour_of
    return np.array([np.nan if stamp is None else as_number(stamp) for stamp in stamps])


def hour_of(stamp: datetime) -> float:
    """Hours since midnight."""
    return stamp.hour + (stamp.minute + (stamp.second + stamp.microsecond / 1e6) / 60) / 60


def year_of(stamp: datetime) -> float:
    """The year, and how much of it has passed."""
    start, end = datetime(stamp.year, 1, 1), datetime(stamp.year + 1, 1, 1)
    return stamp.year + (stamp - start) / (end - start)


def trouble(text: str, form: TextForm, may_be_missing: bool) -> str:
    """Describe the fault of an entry that is not a finite number, and the remedy."""
    if text == "":
        return "an empty entry: fill it in or leave the row out"
    word, remedy = "which is not a number", "correct it"
    if is_number(text) and abs(float(text)) == inf:
        word = "which is infinite"
    elif is_number(text):
        word, remedy = (
            f"which has a point where decimal is {form.decimal!r}",
            "write it as the others, or set thousands",
        )
    elif form.time_format and LOOKS[2][0].match(text):
        word, remedy = f"which is no time stamp of the form {form.time_format!r}", "correct it, or time_format"
    else:
        word, remedy = next(((what, do) for look, what, do in LOOKS if look.match(text)), (word, remedy))
    return f"{word}: {remedy}" + (", or list it under marks if it stands for a missing value" if may_be_missing else "")
