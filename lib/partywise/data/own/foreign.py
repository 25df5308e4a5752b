"""Files that are not CSV text, recognised by their first bytes: what they are, and what to do."""

from __future__ import annotations

from pathlib import PurePath

CSV = "save it as CSV in UTF-8"
SHEET = f"open it and {CSV}, one sheet a file"
IN_R = "in R write it with write.csv(x, file, row.names = FALSE)"
UNPACK = "unpack it and name what is inside"
NETCDF = "own curves read it with format netcdf; otherwise write its columns as CSV"
# First bytes, what begins so, and the remedy; longer ones before those that they begin with.
KINDS: tuple[tuple[bytes, str, str], ...] = (
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook (.xls) or another Office file", SHEET),
    (b"PAR1", "a Parquet file", "give it a name that ends in .parquet"),
    (b"ARROW1", "a Feather or Arrow file", "give it a name that ends in .arrow"),
    (b"FEA1", "a Feather or Arrow file", "give it a name that ends in .arrow"),
    (b"$FL", "an SPSS file (.sav)", f"in SPSS {CSV}, or read it with haven::read_sav in R"),
    (b"<stata_dta>", "a Stata file (.dta)", "in Stata write it with export delimited"),
    (b"\x00" * 12 + b"\xc2\xea\x81\x60", "a SAS file (.sas7bdat)", "in SAS write it with proc export, dbms=csv"),
    (b"RDX", "a file of R (.RData)", IN_R),
    (b"RDA", "a file of R (.RData)", IN_R),
    (b"X\n\x00", "a file of R (.rds)", IN_R),
    (b"\x1f\x8b", "compressed by gzip", UNPACK),
    (b"BZh", "compressed by bzip2", UNPACK),
    (b"\xfd7zXZ\x00", "compressed by xz", UNPACK),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd", UNPACK),
    (b"7z\xbc\xaf", "a 7z archive", UNPACK),
    (b"\x89HDF", "a NetCDF or HDF5 file", NETCDF),
    (b"CDF\x01", "a NetCDF file", NETCDF),
    (b"CDF\x02", "a NetCDF file", NETCDF),
    (b"\x93NUMPY", "an array of NumPy (.npy)", "write it with numpy.savetxt, with a header and a column of ids"),
    (b"\x80\x04", "a pickle of Python", "write its table with to_csv(file, index=False)"),
    (b"\x80\x05", "a pickle of Python", "write its table with to_csv(file, index=False)"),
    (b"SQLite format 3", "a database of SQLite", "export the table as CSV"),
    (b"%PDF", "a PDF", "copy its table into a CSV file"),
    (b"{", "JSON", "write a row a record as CSV"),
    (b"[{", "JSON", "write a row a record as CSV"),
    (b"<!doctype html", "a web page", "download the table itself, not the page that shows it"),
    (b"<html", "a web page", "download the table itself, not the page that shows it"),
    (b"<?xml", "XML", "write a row a record as CSV"),
)
# R compresses what it writes.
OF_R = (".rds", ".rdata", ".rda")


def foreign(content: bytes, file: str, encoding: str) -> str:
    """Describe a file that is not text and the remedy, as the end of a sentence with its name; empty for text.

    encoding : that the file is to be read in
    """
    head, suffix = content[:512], PurePath(file).suffix.lower()
    if head.startswith(b"PK\x03\x04"):
        return _archive_format(content, suffix)
    if head.startswith(b"\x1f\x8b") and suffix in OF_R:
        return f"a file of R ({suffix}): {IN_R}"
    for start, what, remedy in KINDS:
        if head.lstrip().lower().startswith(start) if start[:1] in b"<{[" else head.startswith(start):
            return f"{what}: {remedy}"
    wide = head.startswith((b"\xff\xfe", b"\xfe\xff"))
    if wide and not encoding.lower().replace("_", "-").startswith(("utf-16", "utf16", "utf-32", "utf32")):
        return "UTF-16 text, as Windows writes it: set encoding to utf-16, or save it as UTF-8"
    return ""


def _archive_format(content: bytes, suffix: str) -> str:
    """The format of an archive, by its first entries: current spreadsheets are archives."""
    if b"opendocument.spreadsheet" in content[:512] or suffix == ".ods":
        return f"an OpenDocument spreadsheet (.ods): {SHEET}"
    if b"[Content_Types].xml" in content[:4096] or b"xl/" in content[:4096] or suffix in (".xlsx", ".xlsm"):
        return f"an Excel workbook (.xlsx): {SHEET}"
    return f"a zip archive: {UNPACK}"
