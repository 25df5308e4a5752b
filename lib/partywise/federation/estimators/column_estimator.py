"""Common parts of estimators beyond the run: predictions and their quality, and the holders of columns of arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

# Any: the user's arrays and data frames, one or one a party.
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...core.verdicts import Verdict, growth_verdict, response_verdict
from ...models.links import LOGIT, Link
from ..parties import Party, split_columns
from .estimator import Estimator
from .inputs import check_parties, column_labels, groups_of, numbers, party, vector

LIKE = "(n,): one label or number for each record"
COLUMNS = "(n, p): records, columns of all parties without one for the intercept"
VECTOR = "(n,): one a record of the first party"
# Options that are the length of a step.
STEP_LENGTHS = ("learning_rate", "learning_rates", "step", "eta")


class Predictor(Estimator):
    """An estimator of two labels or of numbers, by its options; a subclass has its scores, on a link's scale."""

    @property
    def _link(self) -> Link:
        """Link by which scores become probabilities of the second label."""
        return LOGIT

    @property
    def _has_noise(self) -> bool:
        """Whether a fit may be worse than none because of its noise."""
        return self.epsilon != math.inf

    def _scores(self, X: np.ndarray) -> np.ndarray:
        """One number a record, shape (n,): of labels on the scale of the link."""
        raise NotImplementedError

    def _probabilities(self, X: np.ndarray) -> np.ndarray:
        """Probabilities of both labels, shape (n, 2)."""
        ones = self._link.mean(self._scores(X))
        return np.column_stack([1 - ones, ones])

    def _likeliest(self, X: np.ndarray) -> np.ndarray:
        """Place of the likeliest label among the classes, or of two whether it is the second one, shape (n,)."""
        return np.asarray(self._link.label(self._scores(X)) == 1)

    def _judge_records(self, X: np.ndarray, response: np.ndarray, *verdicts: Verdict) -> None:
        """Judge a fit by its records (n, d), and by its loss on their responses (n,): numbers, or labels 0 and 1."""
        scores = self._scores(X)
        loss, start = self._loss(scores, response), self._loss(np.zeros_like(scores), response)
        growth = growth_verdict(loss, start, self._shorter_steps(), noise=self._has_noise)
        self._judge(*verdicts, response_verdict("y", response), growth)

    def _loss(self, scores: np.ndarray, response: np.ndarray) -> float:
        """Mean squared error, or mean log-loss of labels, of scores (n,)."""
        with np.errstate(over="ignore", invalid="ignore"):
            if self._kind == "regressor":
                return float(np.mean((scores - response) ** 2))
            return float(np.mean(self._link.log_loss(scores, response)))

    def _shorter_steps(self) -> str:
        """The remedy for steps that grow."""
        options = self._options()
        name = next((name for name in STEP_LENGTHS if hasattr(options, name)), None)
        if name is None:
            return "scale the columns to about 1, or give a larger ridge"
        return f"lower {name}={getattr(options, name)!r}, and scale the columns to about 1"

    def _require_labels(self, name: str) -> None:
        """AttributeError for what a model of numbers has not."""
        if self._kind != "classifier":
            raise AttributeError(f"{name} is of a model of labels: this {type(self).__name__} predicts numbers.")

    @property
    def predict_proba(self) -> Callable[[np.ndarray], np.ndarray]:
        """Probabilities of both labels, shape (n, 2): ``predict_proba(X)``, of a model of labels."""
        self._require_labels("predict_proba")
        return self._probabilities

    @property
    def predict_log_proba(self) -> Callable[[np.ndarray], np.ndarray]:
        """Their logarithms: ``predict_log_proba(X)``, likewise."""
        self._require_labels("predict_log_proba")
        return lambda X: np.log(self._probabilities(X))

    @property
    def decision_function(self) -> Callable[[np.ndarray], np.ndarray]:
        """Scores, log odds except for the shares of a forest, shape (n,): ``decision_function(X)``, likewise."""
        self._require_labels("decision_function")
        return self._scores

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The likelier label of each record, or its number.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Records with the columns of the fit.

        Returns
        -------
        ndarray of shape (n,)

        Examples
        --------
        >>> import partywise as pw
        >>> X = pw.stream(1, "records").normal(size=(200, 4))
        >>> y = ["ill" if one > 0 else "well" for one in X[:, 3]]
        >>> trees = pw.VerticalBoosting("pooled", num_of_trees=5, parties=[[0, 1], [2, 3]], random_state=7)
        >>> trees.fit(X, y).predict([[0, 0, 0, 2.0], [2, 2, 2, -1]]).tolist()  # the last column says all
        ['ill', 'well']
        """
        if self._kind == "regressor":
            return self._scores(X)
        return self._shown_class(self._likeliest(X))

    def score(self, X: np.ndarray, y: np.ndarray, sample_weight: ArrayLike | None = None) -> float:
        """Share of labels that are predicted right; the coefficient of determination of numbers.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Records with the columns of the fit.
        y : ndarray of shape (n,)
            Their labels or numbers.
        sample_weight : ndarray of shape (n,), optional

        Examples
        --------
        >>> import partywise as pw
        >>> X = pw.stream(1, "records").normal(size=(400, 4))
        >>> y = X[:, 0] + X[:, 3] + 0.5 * pw.stream(1, "noise").normal(size=400)
        >>> split = pw.VerticalLinear("exact", model="linear", parties=[[0, 1], [2, 3]], random_state=7)
        >>> round(split.fit(X[:200], y[:200]).score(X[200:], y[200:]), 2)  # the noise leaves 2 / 2.25 to explain
        0.88
        """
        if self._kind == "classifier":
            return self._accuracy(X, y, sample_weight)
        return share_explained(self.predict(X), y, sample_weight)


def checked_range(name: str, bounds: Sequence[float]) -> tuple[float, float]:
    """Two increasing numbers; ValueError with the name for others."""
    ends = tuple(float(end) for end in bounds)
    if len(ends) != 2 or not -np.inf < ends[0] < ends[1] < np.inf:
        raise ValueError(f"{name}={bounds!r}: give two increasing numbers, or None.")
    return ends[0], ends[1]


def check_classes(estimator: Estimator, count: int = 2) -> None:
    """ValueError unless it has so many classes."""
    if getattr(estimator, "classes_", np.empty(0)).shape != (count,):
        raise ValueError(f"classes_ must be {'two' if count == 2 else count}, of a model of labels")


def check_coefficients(name: str, coefficients: np.ndarray, p: int) -> None:
    """ValueError unless they are those of p columns, the intercept first."""
    if coefficients.shape != (1 + p,) or not np.all(np.isfinite(coefficients)):
        raise ValueError(f"{name} must be {1 + p} finite numbers")


def held_columns(X: np.ndarray, y: np.ndarray, groups: Sequence[Sequence[int]], active: int) -> list[Party]:
    """The parties in the order of their columns, the passive ones numbered from 1.

    active : place of the one that has y as well
    """
    parties, passive = list[Party](), 0
    for place, group in enumerate(groups):
        block = np.ascontiguousarray(X[:, list(group)])
        if place == active:
            parties.append(party("active", "active", group, X=block, y=y))
        else:
            passive += 1
            parties.append(party(f"passive {passive}", "passive", group, X=block))
    return parties


def columns_by_party(
    frame: Iterable[object], parties: int | Sequence[Sequence[int | str]] | Mapping[str, Sequence[int | str]]
) -> dict[str, list[str]]:
    """Return the names of the columns of each party by its name.

    frame : names of all columns, by which parties may number them
    parties : a number of runs of the columns, the columns of each, or these by the party's name
    """
    labels = [str(name) for name in frame]
    names = list(parties) if isinstance(parties, Mapping) else []
    groups = column_numbers(list(parties.values()) if isinstance(parties, Mapping) else parties, labels)
    if isinstance(groups, int):
        groups = [list(run) for run in split_columns(len(labels), groups, "contiguous")]
    for number in (number for group in groups for number in group):
        if not 0 <= number < len(labels):
            raise ValueError(f"parties have the column {number!r}: columns are numbered 0 to {len(labels) - 1}.")
    names = names or [f"party {k + 1}" for k in range(len(groups))]
    return {name: [labels[number] for number in group] for name, group in zip(names, groups, strict=True)}


def response_of(y: np.ndarray, n: int) -> np.ndarray:
    """Numbers (n,); ValueError for another number of them than of rows."""
    return numbers("y", vector("y", y, n), 1, LIKE)


def share_explained(predicted: np.ndarray, y: np.ndarray, sample_weight: ArrayLike | None = None) -> float:
    """The coefficient of determination."""
    truth = response_of(y, len(predicted))
    weights = np.ones(len(truth)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    mean = np.average(truth, weights=weights)
    return float(1 - weights @ (predicted - truth) ** 2 / (weights @ (truth - mean) ** 2))


def blocks_of(
    X: Any,
    parties: int | Sequence[Sequence[int | str]],
    ids: Sequence[Sequence[str]] | None,
    names: Sequence[str] | None = None,
    *,
    bare: bool = False,
) -> tuple[list[np.ndarray], list[tuple[int, ...]], tuple[str, ...]]:
    """Columns of each party (n_k, p_k), their global numbers, and the names of all.

    bare : whether the first party may have none
    """
    if ids is None:
        whole = numbers("X", X, 2, COLUMNS)
        column_names = names_of([X], [whole], names)
        division, p = column_numbers(parties, column_names), whole.shape[1]
        groups = groups_of(
            division, p, lambda count, k: split_columns(count, k, "contiguous"), bare=0 if bare else None
        )
        return [np.ascontiguousarray(whole[:, list(group)]) for group in groups], groups, column_names
    if len(X) != len(ids):
        raise ValueError(f"ids has {len(ids)} lists, X {len(X)} arrays: give one of each a party.")
    blocks = [
        np.empty((len(array), 0))
        if bare and place == 0 and np.shape(array)[1:] == (0,)
        else numbers(f"X[{place}]", array, 2, "(n_k, p_k): records of a party")
        for place, array in enumerate(X)
    ]
    for place, (block, block_ids) in enumerate(zip(blocks, ids, strict=True)):
        if len(block) != len(block_ids):
            raise ValueError(
                f"ids[{place}] has {len(block_ids)} entries for {len(block)} rows of X[{place}]: give one per row."
            )
    ends = [0, *np.cumsum([block.shape[1] for block in blocks]).tolist()]
    return blocks, [tuple(range(*pair)) for pair in pairwise(ends)], names_of(X, blocks, names)


def names_of(arrays: Sequence[ArrayLike], blocks: Sequence[np.ndarray], names: Sequence[str] | None) -> tuple[str, ...]:
    """Names of all columns: as given, else those of data frames, else x0, x1, ..."""
    p = sum(block.shape[1] for block in blocks)
    labels = column_labels(arrays) if names is None else tuple(map(str, names))
    if labels is None:
        return tuple(f"x{j}" for j in range(p))
    if len(labels) != p or len(set(labels)) != p:
        raise ValueError(f"names={labels if p < 20 else '...'}: give {p} different ones, one a column.")
    return labels


def column_numbers(parties: int | Sequence[Sequence[int | str]], names: Sequence[str]) -> int | list[list[int]]:
    """Columns of each party by their numbers, where some are given by name."""
    check_parties(parties)
    if isinstance(parties, int | np.integer):
        return int(parties)
    place = {name: number for number, name in enumerate(names)}
    unknown = [column for group in parties for column in group if isinstance(column, str) and column not in place]
    if unknown:
        raise ValueError(f"parties name the column {unknown[0]!r}, which X does not have: it has {list(names)}.")
    return [[place[column] if isinstance(column, str) else column for column in group] for group in parties]


def holders(
    blocks: Sequence[np.ndarray],
    groups: Sequence[tuple[int, ...]],
    vectors: Mapping[str, ArrayLike | None],
    ids: Sequence[Sequence[str]] | None,
) -> list[Party]:
    """The parties in order, the active one first, with y and what else is given of its records."""
    n = len(blocks[0])
    active_arrays = {name: numbers(name, value, 1, VECTOR) for name, value in vectors.items() if value is not None}
    for name, value in active_arrays.items():
        if len(value) != n:
            raise ValueError(f"{name} has {len(value)} entries for {n} rows of X: give one per row.")
    parties = []
    for place, (block, group) in enumerate(zip(blocks, groups, strict=True)):
        arrays = {"X": block} | ({} if place else active_arrays)
        if ids is not None:
            arrays["ids"] = np.asarray(ids[place])
        name, role = (f"passive {place}", "passive") if place else ("active", "active")
        parties.append(party(name, role, group, **arrays))
    return parties
