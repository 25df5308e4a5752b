"""Rows of ledgers, transcripts and totals as data frames, where pandas is installed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import pandas

Frame: TypeAlias = "pandas.DataFrame"


def frame_of(rows: Iterable[Mapping[str, object]], columns: Sequence[str]) -> Frame:
    """A data frame of rows with these columns, which it has without rows too; ImportError without pandas."""
    try:
        import pandas
    except ImportError:
        raise ImportError("to_frame needs the package pandas: pip install 'partywise[figures]'.") from None
    return pandas.DataFrame(list(rows), columns=list(columns))
