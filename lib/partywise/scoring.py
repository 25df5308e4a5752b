"""Saved models: read again, and records of a table scored by one."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import ModelError

if TYPE_CHECKING:
    from .federation.estimator import Estimator


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
    from .federation.estimator import Estimator
    from .federation.publication.saved_model import read, restore

    path = Path(path)
    found = read(path)
    package, _, name = str(found["estimator"]).partition(".")
    module = f"{__package__}.{package}.estimator"
    known = package.isidentifier() and (Path(__file__).parent / package / "estimator.py").is_file()
    kind = getattr(import_module(module), name, None) if known else None
    if not (isinstance(kind, type) and issubclass(kind, Estimator) and kind.methods and kind.__module__ == module):
        raise ModelError(
            f"{path}: estimator is {str(found['estimator'])[:40]!r}, which is no estimator here: save the model again."
        )
    return restore(kind, found, path)
