"""Question sets: the tables, means and curves that one release answers, with public levels, bands and ranges."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from types import MappingProxyType

from ...core.checks import Noise, positive
from ...federation.exchanges.noisy_sums import noise_factor
from ...privacy.accounting.calibration import gdp_mu
from .contributions import table_noise
from .estimates.inference import Answer, Inference, Target
from .estimates.report import report
from .layout import MISSING, PARTY, ExitVariable, Layout, Moments, Table, Variable
from .options import Choice, TablesOptions, WeightRule
from .plan import Expected, expected_tables

MOST_CELLS = 5000


@dataclass(frozen=True)
class Bands:
    """Bands of a numeric column, between public edges.

    Parameters
    ----------
    edges : sequence of float
        Increasing, one more than there are bands. A band holds its lower edge; a value outside of all bands counts in
        the nearest. The outer edges may be infinite, and then the column has no quantiles.
    whole : bool
        Whether the column holds whole numbers: quantiles are then whole as well.

    Raises
    ------
    ValueError
        If there are fewer than two edges, or they do not increase.

    Examples
    --------
    >>> import partywise as pw
    >>> pw.Bands([20, 40, 60, 80]).labels
    ('20 to 40', '40 to 60', '60 to 80')
    """

    edges: Sequence[float]
    whole: bool = False

    def __post_init__(self) -> None:
        edges = tuple(map(float, self.edges))
        if len(edges) < 2 or not all(low < high for low, high in pairwise(edges)):
            raise ValueError(f"edges is {list(edges)}: give at least two increasing numbers.")
        object.__setattr__(self, "edges", edges)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the bands."""
        return tuple(f"{low:g} to {high:g}" for low, high in pairwise(self.edges))


@dataclass(frozen=True)
class Incidence:
    """Curves of one or several causes by which records leave, and rates by their person-time.

    Parameters
    ----------
    time, cause : str
        Columns of the time of leaving, and of its cause. Every value that is not in ``causes`` is a censoring.
    causes : sequence
        Values of the causes, such as ``["relapse", "death"]``.
    horizon : float
        Public end of follow-up.
    bins : int
        Number of bins of equal width.
    person_time : bool
        Whether person-time is released as well, for rates.

    Raises
    ------
    ValueError
        If the horizon is not positive and finite, or causes or bins are too few or repeated.

    Examples
    --------
    >>> import partywise as pw
    >>> incidence = pw.Incidence(time="years", cause="cause", causes=["relapse", "death"], horizon=10, bins=2)
    >>> incidence.name, incidence.variable.levels[:3]
    ('exit by cause', ('relapse 0 to 5', 'relapse 5 to 10', 'death 0 to 5'))
    """

    time: str
    cause: str
    causes: Sequence[object]
    horizon: float
    bins: int = 12
    person_time: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.horizon < math.inf:
            raise ValueError(f"horizon is {self.horizon!r}: give the public end of follow-up, a positive number.")
        if self.bins < 1 or self.bins != int(self.bins):
            raise ValueError(f"bins is {self.bins!r}: it must be a whole number from 1.")
        _checked_levels("causes", self.causes, least=1)
        object.__setattr__(self, "causes", tuple(self.causes))

    @property
    def name(self) -> str:
        """Name of the variable in tables."""
        return f"exit by {self.cause}"

    @property
    def variable(self) -> ExitVariable:
        """The variable of the ways in which a record leaves."""
        edges = tuple(self.horizon * bin / self.bins for bin in range(self.bins + 1))
        ways = [*map(str, self.causes), "censored"]
        levels = tuple(f"{way} {low:g} to {high:g}" for way in ways for low, high in pairwise(edges))
        values = tuple(self.causes)
        return ExitVariable(self.name, (*levels, "followed"), values, edges, time=self.time, cause=self.cause)


Levels = Sequence[object] | Bands


@dataclass(frozen=True, eq=False)
class Questions:
    """A question set: what one release answers.

    Everything is public: levels, edges and ranges are fixed before records are read.

    Parameters
    ----------
    by : str, optional
        Variable of the groups that are compared, such as the arm of a trial. The last level is the exposed group.
    levels : mapping
        Levels of ``by`` and of variables of ``cross`` that are not in ``table_one``: a sequence of values, or `Bands`.
        Of an outcome the last level is the event.
    table_one : mapping
        Variables that are described by group, with their levels in the same way.
    means : mapping
        Public range (low, high) by numeric column. Values outside of it are clipped.
    cross : sequence of tuple of str
        Further tables, such as ``("arm", "died", "stage")``.
    incidence : sequence of Incidence
        Curves of times until an event, by group.
    complete : collection of str
        Variables whose column is never empty; the others have the level "missing".
    may_be_missing : collection of str
        Columns of ``means`` that may be empty.
    sd : bool
        Whether standard deviations are released with means.
    where : mapping
        Values by variable that a record must have to be counted. The number of such records is then not public.
    impossible : sequence of mapping
        Combinations of levels that cannot occur, such as ``{"sex": "m", "stage": "pregnant"}``; they are left out of
        standardised measures.
    by_party : bool
        Whether every table is released by party.

    Raises
    ------
    ValueError
        If a level, edge or range is missing or wrong; the message names the key, the value and the remedy.

    Examples
    --------
    >>> import partywise as pw
    >>> questions = pw.Questions(
    ...     by="arm",
    ...     levels={"arm": ["placebo", "drug"], "died": ["no", "yes"]},
    ...     table_one={"sex": ["f", "m"], "age": pw.Bands([20, 40, 60, 80])},
    ...     means={"age": (20, 90)},
    ...     cross=[("arm", "died", "sex")],
    ...     complete=["arm", "died", "sex", "age"],
    ... )
    >>> [item.name for item in questions.layout().items], questions.merged_tables
    (['arm x sex', 'arm x age', 'arm x died x sex', 'age by arm'], ())
    """

    by: str | None = None
    levels: Mapping[str, Levels] = field(default_factory=dict)
    table_one: Mapping[str, Levels] = field(default_factory=dict)
    means: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    cross: Sequence[Sequence[str]] = ()
    incidence: Sequence[Incidence] = ()
    complete: Collection[str] = ()
    may_be_missing: Collection[str] = ()
    sd: bool = True
    where: Mapping[str, Sequence[object]] = field(default_factory=dict)
    impossible: Sequence[Mapping[str, object]] = ()
    by_party: bool = False

    def __post_init__(self) -> None:
        known = {**self.levels, **self.table_one}
        for name in known:
            if name in self.levels and name in self.table_one:
                raise ValueError(f"levels.{name} is given in table_one as well: leave one of them out.")
            _checked_variable(name, known[name])
        derived = {incidence.name for incidence in self.incidence} | {known_variable(name).name for name in self.means}
        for name in sorted(derived & known.keys()):
            raise ValueError(f"levels.{name} is the name of another variable of these questions: rename the column.")
        for key, mentioned in (
            ("by", [self.by] if self.by else []),
            ("cross", [name for names in self.cross for name in _checked_names(names)]),
            ("complete", self.complete),
            ("where", self.where),
            ("impossible", [name for combination in self.impossible for name in combination]),
        ):
            _require_levels(key, mentioned, known)
        for column, ends in self.means.items():
            if len(ends) != 2 or not -math.inf < ends[0] < ends[1] < math.inf:
                raise ValueError(f"means.{column} is {ends!r}: give a public range (low, high) of finite numbers.")
        for column in self.may_be_missing:
            if column not in self.means:
                raise ValueError(f"may_be_missing has {column!r}: it is for columns of means; leave it out.")
            if column in self.complete:
                raise ValueError(f"may_be_missing has {column!r}, which is in complete as well: leave it out of one.")
        for number, incidence in enumerate(self.incidence):
            self._check_incidence(incidence, self.incidence[:number])
        if not (self.table_one or self.means or self.cross or self.incidence):
            raise ValueError("questions ask for nothing: give table_one, means, cross or incidence.")
        self.layout()

    def _check_incidence(self, incidence: Incidence, before: Sequence[Incidence]) -> None:
        """Raise where the sums or the table of an incidence would be those of other questions."""
        if incidence.time in self.means:
            raise ValueError(
                f"means has {incidence.time!r}, the time of an incidence: leave it out for its restricted mean."
            )
        for other in before:
            if other.cause == incidence.cause:
                raise ValueError(f"incidence has two curves by {other.cause!r}: give all causes in one Incidence.")
            if other.time == incidence.time and other.horizon != incidence.horizon:
                raise ValueError(
                    f"incidence has horizons {other.horizon:g} and {incidence.horizon:g} of {other.time!r}: give one."
                )

    @property
    def merged_tables(self) -> tuple[str, ...]:
        """Sentences on tables that were asked for twice, each of which is released once."""
        names = [frozenset(names) for names in self._table_names()]
        repeated = [group for number, group in enumerate(names) if group in names[:number]]
        return tuple(
            f"the table {' x '.join(sorted(group))} is asked for twice; it is released once" for group in repeated
        )

    def layout(self, parties: Sequence[str] = ()) -> Layout:
        """Return the items of the release.

        Parameters
        ----------
        parties : sequence of str
            Names of the parties, the levels of the variable ``party`` if ``by_party`` is True.

        Returns
        -------
        Layout
            Tables and moments in the order of the released numbers.

        Raises
        ------
        ValueError
            If a table has more than 5,000 cells.

        Examples
        --------
        >>> import partywise as pw
        >>> pw.Questions(levels={"sex": ["f", "m"]}, cross=[("sex",)], by_party=True).layout(["north", "south"]).entries
        6
        """
        exits = {incidence.name: incidence.variable for incidence in self.incidence}
        group = self._variable(self.by) if self.by else None
        unique = {frozenset(names): names for names in reversed(self._table_names())}
        party = (Variable(PARTY, tuple(parties), tuple(parties)),) if self.by_party and parties else ()
        tables = [
            Table((*(exits[name] if name in exits else self._variable(name) for name in names), *party))
            for names in reversed(unique.values())
        ]
        moments = [
            Moments(column, float(low), float(high), group, self.sd, column in self.may_be_missing)
            for column, (low, high) in self.means.items()
        ]
        moments += [
            Moments(incidence.time, 0.0, float(incidence.horizon), group, False, False)
            for incidence in self.incidence
            if incidence.person_time
        ]
        # Causes with one time share its person-time.
        moments = list(dict.fromkeys(moments))
        tables += [
            Table((*([group] if group else []), known_variable(column), *party)) for column in self._columns_to_count()
        ]
        # Means need the number of records of each group.
        if moments and (group or self.where) and not any(group is None or group in table.variables for table in tables):
            tables.append(Table((group,) if group else ()))
        for table in tables:
            if table.entries > MOST_CELLS:
                widest = max(table.variables, key=lambda variable: len(variable.levels)).name
                raise ValueError(
                    f"the table {table.name} has {table.entries} cells, more than {MOST_CELLS}: give {widest!r} fewer "
                    "levels, or ask for smaller tables."
                )
        subset = tuple(
            (variable, tuple(_code(f"where.{name}", variable, value) for value in values))
            for name, values in self.where.items()
            for variable in [self._variable(name)]
        )
        impossible = tuple(
            tuple((name, _code(f"impossible.{name}", self._variable(name), value)) for name, value in row.items())
            for row in self.impossible
        )
        cross = tuple(tuple(names) for names in self.cross)
        return Layout(
            self.by,
            tuple(tables),
            tuple(dict.fromkeys(moments)),
            tuple(self.table_one),
            cross,
            tuple(exits),
            subset,
            impossible,
        )

    def plan(
        self,
        records: int,
        epsilon: float,
        parties: int = 3,
        *,
        noise: Noise = "shared",
        colluders: int = 1,
        delta: float = 1e-5,
        distribution: Choice = "auto",
        weights: WeightRule = "auto",
        expected: Expected = MappingProxyType({}),
        target: Target = "population",
    ) -> tuple[Answer, ...]:
        """Return all answers as they are expected, with the widths of their intervals, before any record is read.

        Parameters
        ----------
        records : int
            Number of records of all parties.
        epsilon : float
            Of the release, for one record.
        parties : int
            Number of parties that hold the records.
        noise : {"shared", "local", "central"}
            Where noise is added.
        colluders : int
            Parties against which shared noise protects the others; at most all but one.
        delta : float
            Of epsilon.
        distribution : {"auto", "gaussian", "laplace"}
            Of the noise, as of a fit.
        weights : {"auto", "equal"} or mapping
            Of tables and moments in the noise, as of a fit; a mapping has weights by the names of items.
        expected : mapping
            Public guesses: shares by variable in the order of its levels (of two levels that of the last), shares of
            a whole table by the tuple of its names, and (mean, standard deviation) by column of ``means``.
        target : {"population", "cohort"}
            Whether records are a sample.

        Returns
        -------
        tuple of Answer
            As from a fit; ``width`` of each is the planned one.

        Raises
        ------
        ValueError
            If an argument is out of its range, or an expected share is not about the questions.

        Examples
        --------
        >>> import partywise as pw
        >>> questions = pw.Questions(by="arm", levels={"arm": [0, 1], "died": [0, 1]}, cross=[("arm", "died")],
        ...                          complete=["arm", "died"])
        >>> answers = questions.plan(records=3000, epsilon=2.0, expected={"died": 0.2})
        >>> {answer.name: round(answer.width, 3) for answer in answers}["risk difference"]
        0.058
        """
        for name, value in (("records", records), ("parties", parties)):
            if value < 1 or value != int(value):
                raise ValueError(f"{name} is {value!r}: it must be a whole number from 1.")
        positive(epsilon=epsilon)
        options = TablesOptions(noise, colluders, distribution, weights)
        layout = self.layout([f"party {k}" for k in range(1, parties + 1)])
        factor = noise_factor(noise, parties, colluders)
        chosen = table_noise(options, layout, epsilon, float(gdp_mu(epsilon, delta)), factor)
        return report(expected_tables(chosen, records, expected), Inference(target))

    def _table_names(self) -> list[tuple[str, ...]]:
        """Names of the variables of all tables that are asked for."""
        group = (self.by,) if self.by else ()
        described = [(*group, name) for name in self.table_one if name != self.by]
        return [*described, *map(tuple, self.cross), *((*group, incidence.name) for incidence in self.incidence)]

    def _columns_to_count(self) -> Iterable[str]:
        """Columns of means that may be empty and whose number of known values no other table has."""
        return [
            column
            for column in self.means
            if column in self.may_be_missing and not isinstance(self.table_one.get(column), Bands)
        ]

    def _variable(self, name: str) -> Variable:
        """The variable of a name, with its level for missing values."""
        levels = self.table_one[name] if name in self.table_one else self.levels[name]
        missing = name not in self.complete
        labels = levels.labels if isinstance(levels, Bands) else tuple(map(str, levels))
        variable = Variable(name, (*labels, MISSING) if missing else labels, missing=missing)
        if isinstance(levels, Bands):
            return replace(variable, edges=tuple(levels.edges), whole=levels.whole)
        return replace(variable, values=tuple(levels))


def known_variable(column: str) -> Variable:
    """Return the variable that states whether a numeric column has a value."""
    edges = (-math.inf, math.inf)
    return Variable(f"{column} known", ("known", MISSING), edges=edges, missing=True, column=column)


def _require_levels(key: str, names: Iterable[str], known: Mapping[str, Levels]) -> None:
    """Raise for the first name without levels."""
    for name in names:
        if name not in known:
            raise ValueError(
                f"{key} has {name!r}, which has no levels: declare them as levels={{{name!r}: [...]}}; they are never "
                "read from records."
            )


def _checked_names(names: Sequence[str]) -> Sequence[str]:
    """Names of one table; ValueError for a single text, none, or a variable that is repeated."""
    if isinstance(names, str) or not names or len(set(names)) != len(names):
        raise ValueError(f"cross has {names!r}: give each table as a tuple of different variables, ('arm', 'died').")
    return names


def _checked_variable(name: str, levels: Levels) -> None:
    """Raise where levels of a variable are not public labels."""
    if name == PARTY:
        raise ValueError(f"levels.{PARTY} is {levels!r}: this name is that of the parties; rename the column.")
    if not isinstance(levels, Bands):
        _checked_levels(f"levels.{name}", levels, least=2)


def _checked_levels(key: str, levels: Sequence[object], least: int) -> None:
    """Raise where levels are too few, repeated or read as an empty value."""
    if isinstance(levels, str) or not isinstance(levels, Sequence) or len(levels) < least:
        raise ValueError(
            f"{key} is {levels!r}: give at least {least} levels as a list; they are never read from records."
        )
    labels = list(map(str, levels))
    if len(set(labels)) < len(labels) or len(set(levels)) < len(levels):
        raise ValueError(f"{key} is {list(levels)}: a level is repeated; leave it out.")
    for level in levels:
        if level is None or level == MISSING or level != level:
            raise ValueError(
                f"{key} has the level {level!r}: it is read as an empty value; rename it, or quote it where it is text."
            )


def _code(key: str, variable: Variable, value: object) -> int:
    """Number of a level by its label."""
    if str(value) not in variable.levels:
        raise ValueError(f"{key} is {value!r}: it is not among the levels {', '.join(variable.levels)}.")
    return variable.levels.index(str(value))
