"""Study 001: federated sliced inverse regression under differential privacy, as published and with a proof.

Document: seed 001 (a paper with four tables and five figures).  Data, split, metrics and figures are named here and
live with their numerics; the pipeline imports what a job needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ...checks import Checked
from ...errors import ConfigError
from ...experiment.study import Figure, Heading, Lazy, Protocol, Source, Study
from ...inverse_regression.options import (
    CertifiedOptions,
    PublishedOptions,
    ReferenceOptions,
    WhitenedOptions,
    check_budget_options,
)
from .own_settings import OwnSettings
from .settings import ActivitySettings, FlightsSettings, SimulatedSettings

if TYPE_CHECKING:
    from ...experiment.plan import Plan


@dataclass(frozen=True)
class Spec(Checked):
    """Constant of the study: the unit that is protected.  Each case has its own delta, from its public n.

    unit : ``user`` are all records of one person
    """

    unit: Literal["row", "label", "features", "user"] = "row"


CLIENTS = {"flights": 11, "activity": 10}
# Figures of own data.
OWN_FIGURES = ("separation_by_epsilon", "projected_records")


def check(plan: Plan) -> None:
    """Contradictions between keys that only this study can see."""
    for name, case in plan.cases.items():
        where = f"studies.sliced_inverse_regression.cases.{name}"
        if plan.spec.unit == "user" and plan.rows_per_user(name) is None:
            raise ConfigError(
                f"studies.sliced_inverse_regression.spec.unit is 'user': case {name} does not say how many records a "
                "person has; give user and rows_per_user in its settings (source table), or take another unit."
            )
        most = getattr(case.settings, "clients", None) or CLIENTS[_kind(case.settings)]
        for count in case.parties:
            if count > most:
                raise ConfigError(f"{where}.grid.parties is {count}: the case has {most} clients.")
        if case.folds != 1:
            raise ConfigError(f"{where}.grid.folds is {case.folds}: nothing is held out, so it must be 1.")
        for label in case.methods:
            _check_method(plan.methods[label].options, f"{where}.grid.methods lists {label}", case.settings)
    _check_figures(plan)


def _check_figures(plan: Plan) -> None:
    """Figures that a configuration lists have something to show."""
    own = {isinstance(case.settings, OwnSettings) for case in plan.cases.values()}
    for figure in plan.figures if "figures" in plan.block else ():
        lists = f"studies.sliced_inverse_regression.figures lists {figure!r}"
        if own == {True} and figure not in OWN_FIGURES:
            wanted = " or ".join(OWN_FIGURES)
            raise ConfigError(f"{lists}: it shows cases of the source, and all cases here are own data; take {wanted}.")
        if own == {False} and figure in OWN_FIGURES:
            raise ConfigError(f"{lists}: it shows own data, and no case here has source table; take it out.")


def _kind(settings: Any) -> str:
    return "flights" if isinstance(settings, FlightsSettings) else "activity"


def _check_method(options: Any, lists: str, settings: Any) -> None:
    active = getattr(settings, "active", None)
    try:
        check_budget_options(options, settings.epsilon_second)
    except ValueError as error:
        raise ConfigError(f"{lists}: {error}") from None
    if getattr(options, "estimator", "sir") == "lda" and settings.slices != 2:
        raise ConfigError(f"{lists}, whose estimator is 'lda': the case has {settings.slices} classes, not 2.")
    size = getattr(options, "max_size", None)
    if size is not None and not settings.screened:
        raise ConfigError(f"{lists} with max_size {size}: the case has no columns to screen.")
    for name, default in (("screening", "signs"), ("rounds", 2), ("screening_share", 1 / 3)):
        given = getattr(options, name, default)
        if given != default and not settings.screened:
            raise ConfigError(f"{lists} with {name} {given}: the case has no columns to screen.")
    if size is not None and size < settings.n_directions:
        raise ConfigError(f"{lists} with max_size {size}: there are {settings.n_directions} directions.")
    if settings.screened and active is None:
        wanted = "max_size" if isinstance(options, CertifiedOptions | WhitenedOptions) else "top"
        if getattr(options, wanted, None) is None and getattr(options, "threshold", None) is None:
            raise ConfigError(f"{lists}, which screens columns: the true support is unknown, so give {wanted}.")


VARIABLES: dict[str, tuple[str, str]] = {
    "loss": ("Frobenius distance of the projections on the estimated and the true subspace", "1"),
    "worse_than_random": ("1 if the loss exceeds that of a random subspace, sqrt(2 d (1 - d/p))", "1"),
    "entry_clip_share": ("share of the entries behind the moments of the fit that the public radius clipped", "1"),
    "angle": ("largest principal angle between the estimated and the true subspace", "degree"),
    "separation": ("share of the variance of projected records between slices, mean over directions", "1"),
    "paper_mean": ("mean loss that the source prints for this cell", "1"),
    "paper_bracket": ("bracket that the source prints for this cell, of the size of a standard deviation", "1"),
    "n_records": ("records of each client", "1"),
    "n_columns": ("columns p", "1"),
    "floored": ("eigenvalues of the merged second moment that were raised", "1"),
    "indefinite": ("1 if the merged second moment has an eigenvalue that is not positive", "1"),
    "unidentified": ("1 if the last direction is tied with the next or empty", "1"),
    "skipped": ("clients that were too small to take part", "1"),
    "completed": ("1 if screening kept fewer columns than directions and was completed", "1"),
    "selected": ("columns that screening kept", "1"),
    "support_kept": ("share of the true support that screening kept", "1"),
    "false_positives": ("kept columns outside the true support", "1"),
    "sd_means": ("noise standard deviation of an entry of the slice means (the floor, for shaped noise)", "1"),
    "sd_second": ("noise standard deviation of a diagonal entry of the second moment", "1"),
    "epsilon_user": ("certified epsilon of all records of one person together", "1"),
    "clip_radius": ("radius of the ball to which records are clipped before their second moment is released", "1"),
    "shrunk": ("share of whitened records that the ball shrank", "1"),
    "diverged": ("1 if the fit is not finite", "1"),
    "record_coordinates": ("coordinates of real records in the estimated subspace", "1"),
    "shown_response": ("response (or class) of these records", "1"),
}

_PROTOCOLS = "partywise.inverse_regression.protocols."
_CASES = "partywise.studies.sliced_inverse_regression.cases:"
_FIGURES = "partywise.studies.sliced_inverse_regression.figures."

STUDY = Study(
    name="sliced_inverse_regression",
    title="Federated sliced inverse regression under differential privacy",
    references="Seed 001: Federated Sliced Inverse Regression (paper)",
    spec=Spec,
    sources={
        "simulated": Source(SimulatedSettings, Lazy(_CASES + "draw_simulated"), Lazy(_CASES + "simulated")),
        "flights": Source(FlightsSettings, Lazy(_CASES + "flights"), resources=("nyc_flights",)),
        "table": Source(
            OwnSettings,
            Lazy("partywise.studies.sliced_inverse_regression.own_cases:draw"),
            complete=Lazy("partywise.studies.sliced_inverse_regression.own_cases:table"),
            home=Lazy("partywise.studies.sliced_inverse_regression.own_cases:owner_outputs"),
            apart=Lazy("partywise.datasets.own.remote.clients:placeholders"),
        ),
        "activity": Source(ActivitySettings, Lazy(_CASES + "activity"), resources=("watch_activity",)),
    },
    methods={
        "published": Protocol(PublishedOptions, Lazy(_PROTOCOLS + "published:fit"), extra=("server",)),
        "certified": Protocol(CertifiedOptions, Lazy(_PROTOCOLS + "certified:fit"), extra=("server",)),
        "whitened": Protocol(WhitenedOptions, Lazy(_PROTOCOLS + "whitened:fit"), extra=("server",)),
        "reference": Protocol(ReferenceOptions, Lazy(_PROTOCOLS + "reference:fit"), extra=("server",)),
    },
    data=Lazy("partywise.studies.sliced_inverse_regression.data:SlicingData"),
    split=Lazy("partywise.studies.sliced_inverse_regression.data:split"),
    folds=Lazy("partywise.studies.sliced_inverse_regression.data:folds"),
    metrics=Lazy("partywise.studies.sliced_inverse_regression.metrics:metrics"),
    example_fits=Lazy("partywise.studies.sliced_inverse_regression.metrics:example_fits"),
    variables=VARIABLES,
    figures={
        "table_1": Figure(_FIGURES + "tables:table_1", output="table"),
        "table_2": Figure(_FIGURES + "tables:table_2", output="table"),
        "table_3": Figure(_FIGURES + "tables:table_3", output="table"),
        "table_4": Figure(_FIGURES + "tables:table_4", output="table"),
        "angle_by_size": Figure(_FIGURES + "angles:angle_by_size"),
        "angle_by_clients": Figure(_FIGURES + "angles:angle_by_clients"),
        "noise_levels": Figure(_FIGURES + "noise:noise_levels"),
        "activity": Figure(_FIGURES + "projections:activity", records=True),
        "flights": Figure(_FIGURES + "projections:flights", records=True),
        "separation_by_epsilon": Figure(_FIGURES + "own:separation_by_epsilon"),
        "projected_records": Figure(_FIGURES + "own:projected_records", records=True),
    },
    check=check,
    summary=("loss", "worse_than_random", "angle", "separation", "entry_clip_share", "paper_mean", "selected"),
    headings={
        "loss": Heading("projection loss", "lower"),
        "worse_than_random": Heading("worse than random", "lower"),
        "angle": Heading("angle, degrees", "lower"),
        "separation": Heading("separation of slices", "higher"),
        "entry_clip_share": Heading("clipped share", "neither"),
        "paper_mean": Heading("loss in the source", "neither"),
        "selected": Heading("columns kept", "neither"),
    },
    headline=("loss", "separation"),
    trials=Lazy("partywise.studies.sliced_inverse_regression.trials:TRIALS"),
)
