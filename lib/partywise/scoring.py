"""Saved models: read again, and the records of a table scored by one, apart from any training."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np

from . import public_homes
from .core.checks import Range
from .core.errors import ConfigError, ModelError
from .core.files import replacing
from .data.own.grammar import ColumnBlock, OwnFiles, twice

if TYPE_CHECKING:
    from .federation.estimators.estimator import Estimator


def load(path: Path | str) -> Estimator:
    """A fitted estimator from the file that its `save` wrote: it predicts the same, to the last bit.

    Parameters
    ----------
    path : path
        JSON; nothing in it is run.

    Returns
    -------
    Estimator
        Of the class and with the settings that were saved, with its ledger and ``privacy_``; without messages
        (``transcript_``), records, or what steers a fit (``parties``, ``random_state``, ``shared_budget``).

    Raises
    ------
    ModelError
        If the file cannot be read, is of another format, was cut off or changed, or holds what no fit leaves; the
        message names file and key.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import partywise as pw
    >>> X = pw.stream(1, "records").uniform(size=(500, 2))
    >>> model = pw.LabelPrivateLogisticRegression(epsilon=1.0, random_state=7).fit(X, X[:, 0] > 0.5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(Path(folder, "model.json"))
    ...     again = pw.load(Path(folder, "model.json"))
    >>> bool((again.predict_proba(X) == model.predict_proba(X)).all()), round(again.privacy_.epsilon_certified, 2)
    (True, 1.0)
    """
    from .federation.estimators.estimator import Estimator
    from .federation.estimators.saved_model import read, restore

    path = Path(path)
    content = read(path)
    package, _, name = str(content["estimator"]).partition(".")
    home = public_homes().get(name, "")
    known = home.startswith(f"methods.{package}.")
    kind = getattr(import_module(f".{home}", __package__), name) if known else None
    if not (isinstance(kind, type) and issubclass(kind, Estimator)):
        raise ModelError(
            f"{path}: estimator is {str(content['estimator'])[:40]!r}, which is not an estimator here: save the "
            "model again."
        )
    return restore(kind, content, path)


@dataclass(frozen=True, kw_only=True)
class ScoredTable(OwnFiles):
    """Keys of a table whose records are scored, as those of own files that train (docs/your_own_data.md).

    columns : columns that need more than their name, such as the levels of a category; the others are numbers
    """

    columns: tuple[ColumnBlock, ...] = ()
    min_records: Annotated[int, Range(1)] = 1

    def __post_init__(self) -> None:
        self.check_files()
        if (again := twice([column.name for column in self.columns])) is not None:
            raise ValueError(f"columns has {again!r} twice: give each column once.")

    def columns_of(self, names: Sequence[str]) -> list[tuple[ColumnBlock, bool]]:
        """The columns behind the names of a model, in any order, each with whether its levels are indicators."""
        columns, rest = list[tuple[ColumnBlock, bool]](), set(names)
        for column in self.columns:
            indicators = column.label not in rest
            labels = column.names if indicators else (column.label,)
            if not set(labels) <= rest:
                raise ValueError(
                    f"columns has {column.name!r}, which makes {', '.join(labels)}: the model has {', '.join(names)}; "
                    "give the levels and the unit that the fit had, or leave it out."
                )
            rest -= set(labels)
            columns.append((column, indicators))
        return columns + [(ColumnBlock(name=name), False) for name in names if name in rest]


def score(model: Path, table: str, into: Path, keys: Path | None, id: str | None) -> int:
    """Write a prediction for each record of a table as CSV, and print what was scored by what.

    ConfigError, DataMissing and ModelError before anything is written.
    """
    from .experiment.configuration.build import build
    from .experiment.configuration.text import read_file
    from .privacy.rounding import upward

    if into.exists():
        raise ConfigError(f"--into is '{into}': that file is there already; name another, or remove it.")
    if not into.parent.is_dir():
        raise ConfigError(f"--into is '{into}': the folder {into.parent} does not exist; make it, or name another.")
    block = {} if keys is None else read_file(keys)
    settings = build(ScoredTable, block | ({} if id is None else {"id": id}), "" if keys is None else str(keys))
    fitted = load(model)
    names = getattr(fitted, "feature_names_in_", getattr(fitted, "names_", None))
    if names is None or fitted._axes != 2:
        what = "is of curves" if fitted._axes != 2 else "was fitted without names of columns"
        raise ModelError(f"{model} {what}: score with pw.load in Python, or fit it on a data frame.")
    ids, X = _records(settings, table, list(map(str, names)))
    columns = _predictions(fitted, X)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["id", *columns])
    writer.writerows(zip(ids, *columns.values(), strict=True))
    with replacing(into) as temporary:
        temporary.write_bytes(text.getvalue().encode())
    spent = fitted.privacy_
    print(
        f"{into}: {len(ids)} records scored by {type(fitted).__name__}, protocol {fitted.protocol}, whose fit cost "
        f"epsilon {upward(spent.epsilon_certified)} at delta {spent.delta:g} for one {spent.unit}. Scores of these "
        "records cost those who trained nothing more; what they say of these records nothing protects."
    )
    return 0


def _records(settings: ScoredTable, file: str, names: list[str]) -> tuple[list[str], np.ndarray]:
    """Return the id of each record of a table, and its numbers (n, p) in the order of the names."""
    from .data.own.columns import data_columns
    from .data.own.csv import read_bytes, read_table
    from .data.own.grammar import check_untold, is_typed
    from .data.own.plausible import check_entries
    from .data.own.records import check_count, complete, record_names

    try:
        columns = settings.columns_of(names)
        if is_typed(file):
            check_untold(settings, file)
    except ValueError as error:
        raise ConfigError(str(error)) from None
    whole = read_table(read_bytes(file), file, settings.text_of(None))
    record_names(whole, settings.id, several=False)
    table = complete(whole, [column.name for column, _ in columns], settings)
    features = dict[str, np.ndarray]()
    for column, divided in columns:
        parts = data_columns(table, [column], check_entries, divided)
        features |= dict(zip(column.names if divided else (column.label,), parts, strict=True))
    check_count(len(table.rows), settings)
    return record_names(table, settings.id, several=False), np.column_stack([features[name] for name in names])


def _predictions(fitted: Estimator, X: np.ndarray) -> dict[str, list[object]]:
    """Columns of the file by name: labels with their probabilities, numbers, or projections."""
    from .federation.estimators.estimator import Transformer

    if isinstance(fitted, Transformer):
        return dict(zip(map(str, fitted.get_feature_names_out()), fitted.transform(X).T.tolist(), strict=True))  # type: ignore[attr-defined]
    predictions = {"predicted": fitted.predict(X).tolist()}  # type: ignore[attr-defined]
    if fitted._kind == "classifier":
        shares = fitted.predict_proba(X).T.tolist()  # type: ignore[attr-defined]
        predictions |= {f"probability of {label}": share for label, share in zip(fitted.classes_, shares, strict=True)}
    return predictions
