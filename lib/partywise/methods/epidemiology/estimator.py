"""Certified tables of parties that hold different records or columns, as an estimator: Table 1, association, curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace

# Any: the user's data frame.
from typing import Any, ClassVar, Literal, NoReturn

import numpy as np

from ...core.verdicts import OK, WARNED, Verdict
from ...federation.estimators.column_estimator import columns_by_party
from ...federation.estimators.estimator import Estimator
from ...federation.estimators.fit_budget import Budget
from ...federation.estimators.parameters import Method
from ...federation.roles import ANALYST
from ...federation.secure_streams import Randomness
from . import options as kinds
from .consistency import ReleasedTables
from .contributions import undeclared_values
from .estimates.counts import count_answers
from .estimates.curves import ExitAnswers, RocCurve, cumulative_incidence, quantiles, rates, roc_curve
from .estimates.inference import Answer, Inference, Target, sidak_factor
from .estimates.moments import means
from .estimates.report import report, report_tests
from .estimates.strata import mantel_haenszel, standardise
from .estimates.tests import HypothesisTest
from .estimates.two_by_two import two_by_two
from .layout import Columns, Layout, columns_of, organisations_of
from .model import EpidemiologyEstimate, EpidemiologyFacts
from .protocols import geometric_box, products, reference, rounding, suppression, tables
from .questions import Questions
from .render import TableOne, release_notes, table_one

# Rows or columns of each party, or how many parties there are.
Division = int | Sequence[Sequence[int | str]] | Mapping[str, Sequence[int | str]]
UNPROTECTED = "Nothing protects the records: the numbers may not be published."


class FederatedEpidemiology(Estimator):
    """Tables and curves of an epidemiological paper from one release of several parties.

    Parameters
    ----------
    questions : Questions
        The public question set: what is released.
    protocol : {"tables", "products", "reference", "suppressed", "rounded", "geometric_box"}
        Certified by one noisy release, of parties that hold different persons, or different columns of the same persons
        (``products``); exact sums; or as published: refused tables or rounded counts, which protect nothing, or
        geometric noise whose regions are read from a box around all cells.
    epsilon : float, optional
        Of the release, for one record. inf: no noise; refused by the others.
    delta : float
        Of every epsilon.
    target : {"population", "cohort"}
        Intervals are about a population of which the records are a sample, or about these records.
    together : bool
        Whether the intervals of one table hold together.
    parties, random_state, shared_budget, clipped
        As in `Estimator`; ``parties`` and ``rng`` of a fit come before those given here.
    **options
        Fields of the protocol's dataclass in `partywise.methods.epidemiology.options`, such as ``noise``.

    Attributes
    ----------
    released_ : ReleasedTables
        Tables and moments that agree on their common margins: what every result reads.
    estimate_, ledger_, transcript_, privacy_, epsilon_claimed_
        As in `Estimator`; the unit of ``privacy_`` is ``row``.

    Notes
    -----
    Formal guarantee: ``privacy_.epsilon_certified`` at ``delta`` for replacing one record of a party; of ``products``
    one record at all parties together, whose records are aligned before. Every result is computed from the release and
    costs nothing more. A result that the question set does not hold raises KeyError with the table that is needed.

    Examples
    --------
    >>> import partywise as pw
    >>> rng = pw.stream(1, "records")
    >>> frame = {"arm": rng.integers(2, size=3000)}
    >>> frame["died"] = (rng.random(3000) < 0.2 + 0.1 * frame["arm"]).astype(int)
    >>> levels = {"arm": [0, 1], "died": [0, 1]}
    >>> questions = pw.Questions(by="arm", levels=levels, cross=[("arm", "died")], complete=["arm", "died"])
    >>> model = pw.FederatedEpidemiology(questions, epsilon=2.0, parties=3, random_state=7).fit(frame)
    >>> difference = model.two_by_two("arm", "died")["risk difference"]
    >>> difference.lower < 0.1 < difference.upper
    True
    """

    methods: ClassVar[Mapping[str, Method]] = {
        "tables": Method(kinds.TablesOptions, tables.fit, ("server",)),
        "products": Method(kinds.ProductsOptions, products.fit, (ANALYST,)),
        "reference": Method(kinds.TablesReferenceOptions, reference.fit, ("server",)),
        "suppressed": Method(kinds.SuppressedOptions, suppression.fit, ("server",)),
        "rounded": Method(kinds.RoundedOptions, rounding.fit, ("server",)),
        "geometric_box": Method(kinds.GeometricBoxOptions, geometric_box.fit, ("server", "aggregator")),
    }
    unit = "row"
    _estimate = EpidemiologyEstimate
    _without_holder = "a question set has no form in a file of a model; keep the tables of its results"
    estimate_: EpidemiologyEstimate

    def __init__(
        self,
        questions: Questions | None = None,
        protocol: str = "tables",
        *,
        epsilon: float | None = None,
        delta: float = 1e-5,
        target: Target = "population",
        together: bool = False,
        parties: Division | None = None,
        random_state: Randomness | None = None,
        shared_budget: Budget | None = None,
        clipped: Literal["refuse", "allow"] = "refuse",
        **options: object,
    ) -> None:
        self.questions, self.target, self.together = questions, target, together
        self.clipped: Literal["refuse", "allow"] = clipped
        super().__init__(protocol, epsilon, delta, parties, random_state, shared_budget, options)

    def __sklearn_tags__(self) -> NoReturn:
        """These are not estimators of scikit-learn: a fit takes a frame with text and empty cells."""
        raise AttributeError(f"{type(self).__name__} takes columns of text, which scikit-learn does not know.")

    def fit(
        self,
        frame: Any,
        *,
        parties: Division | None = None,
        rng: Randomness | None = None,
    ) -> FederatedEpidemiology:
        """Simulate the protocol.

        Parameters
        ----------
        frame : data frame, or mapping of arrays of shape (n,)
            Columns by name; others than those of the questions are not read. Empty: None, NaN or "".
        parties : int, sequence of sequences, or mapping of str to sequence
            How many parties hold the rows in contiguous runs, or the rows of each. Of ``products`` the columns of each,
            by number or name, and with a mapping the names of the parties: {"hospital": ["arm"], "registry": ["died"]}.
        rng : int, numpy.random.Generator, Streams or SecureStreams
            Source of all noise.

        Raises
        ------
        ValueError
            For questions or a column that is missing, or columns of different lengths.

        Examples
        --------
        >>> import partywise as pw
        >>> sex = ["f", "m", "", "f"] * 500
        >>> questions = pw.Questions(table_one={"sex": ["f", "m"]})
        >>> model = pw.FederatedEpidemiology(questions, epsilon=4.0).fit({"sex": sex}, parties=2, rng=7)
        >>> [abs(answer.estimate - known) < 30 for answer, known in zip(model.counts("sex"), [1000, 500, 500])]
        [True, True, True]
        """
        if not isinstance(self.questions, Questions):
            raise ValueError(f"questions={self.questions!r}: give pw.Questions, with public levels and ranges.")
        Inference(self.target)
        layout = self.questions.layout()
        columns = columns_of(frame, layout)
        undeclared = self._judge_levels(columns, layout)
        n = len(next(iter(columns.values())))
        division, sizes = self._division(parties), tuple[int, ...]()
        if self.protocol == "products":
            labels = columns if isinstance(division, int | np.integer) else frame
            clients = organisations_of(columns, layout, columns_by_party(labels, division))
        else:
            clients = self._clients(division, columns)
            sizes = tuple(len(client.block[layout.columns[0]]) for client in clients)
        facts = EpidemiologyFacts(n, self.questions, sizes)
        self._simulate(clients, n, rng, public=facts, settings=SimpleNamespace(delta=self.delta))
        self.n_features_in_ = len(columns)
        self._derive()
        self._judge(undeclared, self._judge_tables())
        return self

    def _derive(self) -> None:
        assert self.questions is not None
        self.released_: ReleasedTables = self.estimate_.tables(self.questions)

    def _judge_levels(self, columns: Columns, layout: Layout) -> Verdict:
        """Judge values without a level, by their number; ValueError for one of a complete variable, unless allowed."""
        complete = [variable.name for variable in layout.read_variables if not variable.missing]
        counts = undeclared_values(layout, columns)
        for name in complete:
            if name in counts and self.clipped == "refuse":
                raise ValueError(
                    f"frame has {counts[name]} values of {name!r} that are empty or not among its levels, and it is "
                    f"declared complete: add their levels, leave {name!r} out of complete so that they count as "
                    "missing, or give clipped='allow', which leaves them out of tables."
                )
        most = WARNED * len(next(iter(columns.values())))
        listed = ", ".join(f"{count} of {name!r}" for name, count in counts.items() if count > most or name in complete)
        return Verdict("clipped", f"values are not among their declared levels ({listed}): add these") if listed else OK

    def _judge_tables(self) -> Verdict:
        """Judge whether any number is determined."""
        if not self.released_.tables and not self.released_.moments:
            return Verdict("not_estimable", "every table is refused, for each has a small cell")
        answers = report(self.released_, self._inference())
        if not answers or any(answer.determined for answer in answers):
            return OK
        return Verdict("not_estimable", f"no number is determined, the first because {answers[0].reason}")

    def _with_values(self, bound: str, options: object) -> str:
        assert self.questions is not None
        low, high = self.questions.means[bound.removeprefix("means.")]
        return f"{bound}=({low:g}, {high:g})"

    def _inference(self) -> Inference:
        return Inference(self.target, together=self.together).of_release(self.released_)

    def _tables(self) -> ReleasedTables:
        self._fitted_estimate()
        return self.released_

    def answers(self) -> tuple[Answer, ...]:
        """All numbers that the question set reports; with ``together`` their intervals hold together.

        Returns
        -------
        tuple of Answer
            ``name``, ``estimate``, ``lower``, ``upper``, ``target``, ``noise_share``, ``determined``, ``reason``.

        Examples
        --------
        >>> import partywise as pw
        >>> questions = pw.Questions(table_one={"sex": ["f", "m"]}, complete=["sex"])
        >>> model = pw.FederatedEpidemiology(questions, epsilon=1.0, parties=2, random_state=7)
        >>> [answer.name for answer in model.fit({"sex": ["f", "m"] * 500}).answers()]
        ['sex = m']
        """
        answers = report(self._tables(), self._inference())
        if not self.together or not answers:
            return answers
        inference = replace(self._inference(), factor=sidak_factor(len(answers)), together=False)
        return report(self._tables(), inference)

    def tests(self) -> tuple[HypothesisTest, ...]:
        """All tests of the question set, whose distributions count the noise.

        Returns
        -------
        tuple of HypothesisTest
            ``name``, ``statistic``, ``p_value``, ``distribution``, ``reason``.

        Examples
        --------
        >>> import partywise as pw
        >>> frame = {"arm": [0, 1] * 500, "sex": ["f", "f", "m", "m"] * 250}
        >>> given = {"levels": {"arm": [0, 1]}, "table_one": {"sex": ["f", "m"]}, "complete": ["arm", "sex"]}
        >>> questions = pw.Questions(by="arm", **given)
        >>> model = pw.FederatedEpidemiology(questions, epsilon=4.0, parties=2, random_state=7).fit(frame)
        >>> [(test.name, test.p_value > 0.05) for test in model.tests()]
        [('independence of arm and sex', True)]
        """
        return report_tests(self._tables())

    def table_one(self) -> TableOne:
        """Table that describes the groups: counts, percentages, means and quartiles with intervals and tests.

        Returns
        -------
        TableOne
            ``rows``, ``notes``; ``html()``, ``csv()`` and ``frame()`` write it.

        Examples
        --------
        >>> import partywise as pw
        >>> questions = pw.Questions(table_one={"sex": ["f", "m"]}, complete=["sex"])
        >>> model = pw.FederatedEpidemiology(questions, epsilon=1.0, parties=2, random_state=7)
        >>> print(model.fit({"sex": ["f", "m"] * 500}).table_one().csv().splitlines()[0])
        variable,level,all,p
        """
        spent = self.privacy_
        notes = release_notes(self._own_cost(), spent.trust, self.target, self.released_.radius)
        if not np.isfinite(spent.epsilon_certified):
            notes = (UNPROTECTED,)
        return table_one(self._tables(), self._inference(), notes)

    def counts(self, *names: str) -> tuple[Answer, ...]:
        """Counts of a table for reading, whole and not negative, with intervals for these records.

        Parameters
        ----------
        *names : str
            Variables of the table, which the question set has in one table; without any, the number of all records.

        Examples
        --------
        >>> import partywise as pw
        >>> questions = pw.Questions(table_one={"sex": ["f", "m"]}, complete=["sex"])
        >>> model = pw.FederatedEpidemiology(questions, epsilon=1.0, parties=2, random_state=7)
        >>> int(sum(answer.estimate for answer in model.fit({"sex": ["f", "m"] * 500}).counts("sex")))
        1000
        """
        return tuple(count_answers(self._tables().table(*names), self._inference()))

    def means(self, column: str) -> dict[str, Answer]:
        """Means and standard deviations of a column by group and, of two groups, their differences.

        Parameters
        ----------
        column : str
            One of ``means`` of the question set.

        Examples
        --------
        >>> import partywise as pw
        >>> age = pw.stream(1, "age").normal(50, 10, size=2000)
        >>> model = pw.FederatedEpidemiology(pw.Questions(means={"age": (0, 100)}), epsilon=2.0, random_state=7)
        >>> print(f"{model.fit({'age': age}, parties=2).means('age')['mean of age'].estimate:.0f}")
        50
        """
        return _by_name(means(self._tables(), column, self._inference()))

    def quantiles(self, column: str, probabilities: Sequence[float] = (0.25, 0.5, 0.75)) -> dict[str, Answer]:
        """Quantiles of a column that is described in bands, by group.

        Parameters
        ----------
        column : str
            A variable with finite `Bands`.
        probabilities : sequence of float
            Between 0 and 1.

        Examples
        --------
        >>> import partywise as pw
        >>> age = pw.stream(1, "age").normal(50, 10, size=2000)
        >>> questions = pw.Questions(table_one={"age": pw.Bands([0, 20, 35, 45, 55, 65, 80, 100])}, complete=["age"])
        >>> model = pw.FederatedEpidemiology(questions, epsilon=2.0, parties=2, random_state=7).fit({"age": age})
        >>> print(f"{model.quantiles('age', [0.5])['quantile 0.5 of age'].estimate:.0f}")
        50
        """
        return _by_name(quantiles(self._tables(), column, self._inference(), probabilities))

    def two_by_two(self, exposure: str, outcome: str) -> dict[str, Answer]:
        """Eight measures of two variables of two levels each, the last of which are the exposed and the event.

        Parameters
        ----------
        exposure, outcome : str
            Variables that one table of the question set has.

        Examples
        --------
        >>> import partywise as pw
        >>> frame = {"arm": [0, 1] * 1000, "died": [0, 1, 1, 1] * 500}
        >>> levels = {"arm": [0, 1], "died": [0, 1]}
        >>> questions = pw.Questions(levels=levels, cross=[("arm", "died")], complete=["arm", "died"])
        >>> model = pw.FederatedEpidemiology(questions, epsilon=4.0, parties=2, random_state=7).fit(frame)
        >>> print(f"{model.two_by_two('arm', 'died')['risk difference'].estimate:.1f}")  # 1 - 1/2
        0.5
        """
        return _by_name(two_by_two(self._tables(), exposure, outcome, self._inference()))

    def mantel_haenszel(self, exposure: str, outcome: str, *strata: str) -> dict[str, Answer]:
        """Common odds ratio and risk ratio over strata.

        Parameters
        ----------
        exposure, outcome, *strata : str
            Variables that one table of the question set has.

        Examples
        --------
        >>> import partywise as pw
        >>> frame = {"arm": [0, 1] * 1000, "died": [0, 1, 1, 1] * 500, "sex": ["f", "m"] * 500 + ["f"] * 1000}
        >>> levels = {"arm": [0, 1], "died": [0, 1], "sex": ["f", "m"]}
        >>> questions = pw.Questions(levels=levels, cross=[("arm", "died", "sex")], complete=["arm", "died", "sex"])
        >>> model = pw.FederatedEpidemiology(questions, epsilon=4.0, parties=2, random_state=7).fit(frame)
        >>> list(model.mantel_haenszel("arm", "died", "sex"))
        ['Mantel-Haenszel odds ratio', 'Mantel-Haenszel risk ratio']
        """
        return _by_name(mantel_haenszel(self._tables(), exposure, outcome, strata, self._inference()))

    def standardise(
        self, exposure: str, outcome: str, *strata: str, weights: Sequence[float] | None = None
    ) -> dict[str, Answer]:
        """Risks standardised over strata, their difference and ratio, and observed over expected events.

        Parameters
        ----------
        exposure, outcome, *strata : str
            Variables that one table of the question set has.
        weights : sequence of float, optional
            Public weights of the strata; by default those of all records (g-formula).

        Examples
        --------
        >>> import partywise as pw
        >>> frame = {"arm": [0, 1, 1, 0] * 500, "died": [0, 1, 1, 1] * 500, "sex": ["f", "m"] * 1000}
        >>> levels = {"arm": [0, 1], "died": [0, 1], "sex": ["f", "m"]}
        >>> questions = pw.Questions(levels=levels, cross=[("arm", "died", "sex")], complete=["arm", "died", "sex"])
        >>> model = pw.FederatedEpidemiology(questions, epsilon=4.0, parties=2, random_state=7).fit(frame)
        >>> print(f"{model.standardise('arm', 'died', 'sex')['standardised risk difference'].estimate:.1f}")
        0.5
        """
        return _by_name(standardise(self._tables(), exposure, outcome, strata, self._inference(), weights))

    def roc(self, score: str, outcome: str) -> RocCurve:
        """ROC curve of a score in bands, and the area under it.

        Parameters
        ----------
        score, outcome : str
            A variable in `Bands` and one of two levels that one table of the question set has.

        Examples
        --------
        >>> import partywise as pw
        >>> score = pw.stream(1, "score").random(4000)
        >>> frame = {"score": score, "died": (score > pw.stream(2, "died").random(4000)).astype(int)}
        >>> levels = {"died": [0, 1], "score": pw.Bands([0, 0.2, 0.4, 0.6, 0.8, 1])}
        >>> questions = pw.Questions(levels=levels, cross=[("died", "score")], complete=["died", "score"])
        >>> model = pw.FederatedEpidemiology(questions, epsilon=4.0, parties=2, random_state=7).fit(frame)
        >>> print(f"{model.roc('score', 'died').area.estimate:.1f}")  # 5/6
        0.8
        """
        return roc_curve(self._tables(), score, outcome, self._inference())

    def cumulative_incidence(self, cause: str) -> list[ExitAnswers]:
        """Curves by group of an `Incidence`: shares that have left by each cause, survival and its restricted mean.

        Parameters
        ----------
        cause : str
            Column of the causes.

        Examples
        --------
        >>> import partywise as pw
        >>> years = pw.stream(1, "years").exponential(5, size=3000)
        >>> frame = {"years": years, "cause": ["death"] * 3000}
        >>> incidence = pw.Incidence(time="years", cause="cause", causes=["death"], horizon=10, bins=10)
        >>> model = pw.FederatedEpidemiology(pw.Questions(incidence=[incidence]), epsilon=4.0, random_state=7)
        >>> (curves,) = model.fit(frame, parties=2).cumulative_incidence("cause")
        >>> print(f"{curves.incidence['death'][-1].estimate:.1f}")  # 1 - exp(-2)
        0.9
        """
        return cumulative_incidence(self._tables(), self._exit(cause), self._inference())

    def rates(self, cause: str) -> dict[str, Answer]:
        """Rates of every cause of an `Incidence` by group, per unit of time, and between two groups their ratio.

        Parameters
        ----------
        cause : str
            Column of the causes.

        Examples
        --------
        >>> import partywise as pw
        >>> years = pw.stream(1, "years").exponential(5, size=3000)
        >>> frame = {"years": years, "cause": ["death"] * 3000}
        >>> incidence = pw.Incidence(time="years", cause="cause", causes=["death"], horizon=10, bins=10)
        >>> model = pw.FederatedEpidemiology(pw.Questions(incidence=[incidence]), epsilon=4.0, random_state=7)
        >>> (rate,) = model.fit(frame, parties=2).rates("cause").values()
        >>> print(f"{rate.estimate:.1f}")
        0.2
        """
        return _by_name(rates(self._tables(), self._exit(cause), self._inference()))

    def _exit(self, cause: str) -> str:
        """Name of the variable of an incidence; KeyError for a cause without one."""
        assert self.questions is not None
        names = [incidence.name for incidence in self.questions.incidence if incidence.cause == cause]
        if not names:
            raise KeyError(f"no incidence of {cause!r} was released: add pw.Incidence to the question set.")
        return names[0]


def _by_name(answers: Sequence[Answer]) -> dict[str, Answer]:
    """Answers by their names."""
    return {answer.name: answer for answer in answers}
