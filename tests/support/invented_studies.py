"""What the figures of each study read: which fits have a number, and of what size; what the first fits show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from partywise.experiment.plan import CasePlan, MethodPlan, Plan
from partywise.experiment.study import available, load
from partywise.methods.epidemiology.contributions import contributions
from partywise.methods.epidemiology.layout import Table
from partywise.studies.framework_filters.claims import all_lines
from partywise.studies.framework_filters.judgements import Judgement

Arrays = dict[str, tuple[tuple[str, ...], np.ndarray]]
# Variables of which only the first fits have values, arrays; all others are numbers of every fit.
SHOWN = {name for study in available() for name, one in load(study).own_measures.items() if one.dims}


@dataclass(frozen=True)
class Fit:
    """All fits of a method in a case at a number of parties; ``epsilon`` (e,) its slots."""

    plan: Plan
    case: CasePlan
    method: MethodPlan
    parties: int
    epsilon: np.ndarray
    rng: np.random.Generator

    @cached_property
    def level(self) -> float:
        """Place of the method among those of its case, between 0.3 and 1."""
        return 0.3 + 0.7 * (1 + self.case.methods.index(self.method.label)) / (1 + len(self.case.methods))

    @property
    def falling(self) -> np.ndarray:
        """A loss that falls with epsilon."""
        return 0.3 + 0.7 * self.level / (1 + np.where(np.isfinite(self.epsilon), self.epsilon, 1e3)) + 0.05 * self.level

    def option(self, name: str, default: Any = None) -> Any:
        """An option of the method."""
        return getattr(self.method.options, name, default)

    def setting(self, name: str, default: Any = None) -> Any:
        """A setting of the case."""
        return getattr(self.case.settings, name, default)


def _functional(fit: Fit) -> dict[str, Any]:
    settings, noise = fit.case.settings, fit.option("noise")
    found: dict[str, Any] = {}
    if settings.n_active is None:
        found |= dict.fromkeys(("excess", "sensitivity", "specificity"))
    if fit.method.protocol_name == "baseline":
        found |= dict.fromkeys(("release_bytes", "published_mib"))
    elif not fit.method.uses_epsilon and noise != "none":
        found |= {"epsilon_claimed": 4379.8, "epsilon_certified": 1000.0 * fit.parties}
    if fit.method.protocol_name == "published":
        calibrated = fit.method.uses_epsilon
        found["epsilon_certified"] = fit.epsilon * settings.n_basis_x**2 if calibrated else np.inf
        # Diverged fits lie beyond the scale.
        found["excess"] = 10.0 ** (fit.parties - 4) if settings.n_active is not None else None
    return found


def _functional_arrays(fit: Fit) -> Arrays:
    grid = np.linspace(0, 1, 25)
    kernels = fit.level * np.sin(4 * grid[:, None] + grid)[None] * np.ones((4, 1, 1))
    # Real and own records have dates, simulated ones numbers.
    labels = (20120101.0 + np.arange(4)) if hasattr(fit.case.settings, "response_axis") else np.arange(4.0)
    curve = 80 + 60 * fit.level * np.sin(np.linspace(0, 6, 73)) * np.ones((4, 1))
    return {
        "operator": (("predictor_shown", "s_grid", "t_grid"), kernels),
        "predictor_shown_index": (("predictor_shown",), np.array([1.0, 2.0, 3.0, 20.0])),
        "curve_observed": (("record_shown", "curve_grid"), curve),
        "curve_predicted": (("record_shown", "curve_grid"), 0.9 * curve),
        "record_label": (("record_shown",), labels),
    }


def _label(fit: Fit) -> dict[str, Any]:
    walr = fit.method.protocol_name == "walr"
    rows = {"adult_indicators": 34_189, "breast_cancer": 398, "body_fat": 176, "late_flights": 70_000}
    found: dict[str, Any] = {
        "n_train": round(0.7 * fit.setting("n", rows.get(getattr(fit.case.settings, "dataset", ""), 0) / 0.7)),
        "n_coefficients": fit.setting("k", 31),
        "excess_risk": fit.falling / 10,
        "expected_excess": fit.falling / 10 if fit.option("noise_draws") else None,
        "predicted_excess": fit.falling / 10 if walr and fit.option("noise_draws") else None,
    }
    if not fit.option("noise_draws"):
        found |= dict.fromkeys(("expected_log_loss", "expected_auc", "noise_sd_log_loss", "noise_sd_auc"))
    if not fit.option("bounded_draws"):
        found |= dict.fromkeys(("share_unbounded", "share_unknown"))
    if not fit.option("audit_draws"):
        found |= dict.fromkeys(("audited_epsilon", "audited_mu"))
    else:
        found |= {"audited_epsilon": 0.9 * fit.epsilon, "epsilon_certified": fit.epsilon * (0.7 + fit.epsilon / 30)}
    if fit.option("sigma") == "classic":
        found["classic_limit"] = 9.42
    else:
        found["classic_limit"] = None
    return found


def _label_arrays(fit: Fit) -> Arrays:
    steps = np.unique(np.round(10.0 ** (np.arange(21) / 4)).astype(int)).astype(float)
    bins = np.linspace(0.05, 0.95, 10)
    known = steps <= fit.option("trace_steps", 0) if fit.option("trace_steps", 0) else np.zeros(len(steps), bool)
    free = fit.method.protocol_name == "non_private"
    paths = {
        "path_passes": steps * (1.0 if fit.option("trainer") == "full_batch" else 0.01),
        "path_norm": steps**0.5,
        "path_log_loss": 0.3 + steps**0.2,
        "path_objective": 0.3 + 1 / steps,
        "path_gap": fit.level / steps if free else np.full(len(steps), np.nan),
    }
    found: Arrays = {name: (("path_step",), np.where(known, values, np.nan)) for name, values in paths.items()}
    return found | {
        "path_steps": (("path_step",), steps),
        "calibration_predicted": (("bin",), bins),
        "calibration_observed": (("bin",), bins**fit.level),
    }


def _tracing(fit: Fit) -> bool:
    return "tracing" in fit.case.source.published.expose.address


def _audit(fit: Fit) -> dict[str, Any]:
    claim, variant = fit.case.source, fit.option("variant")
    claimed = np.array([claim.epsilon(variant, e) for e in fit.epsilon])
    certified = fit.epsilon if variant == "corrected" or claim.control else fit.epsilon * 10 ** (3 * fit.rng.random())
    audited = np.where(np.isfinite(certified), 0.8 * certified, np.nan)
    found: dict[str, Any] = {
        "epsilon_claimed": claimed,
        "certified_for_claim": np.inf if claim.states == "none" else certified,
        "audited_lower": audited,
        "epsilon_mu_lower": audited,
        "at_sample_limit": float(claim.document.key == "003"),
        "claim_refuted": float(not claim.control and variant == "published"),
        "control": float(claim.control),
        "recovered_share": (1.0 if variant == "published" else 0.0) if claim.states == "none" else None,
        "claim_unit": np.array(claim.unit),
        "claim_delta": claim.delta(fit.case.settings, fit.plan.spec.delta),
        "source_document": np.array(claim.document.title),
        "title": np.array(claim.title_for(fit.case.settings)),
        "audit_confidence": 0.95,
    }
    if _tracing(fit):
        return found | {"tracing_auc": 0.9 * fit.level, "tracing_se": 0.004, "members": fit.setting("n") // 2}
    return found | dict.fromkeys(("tracing_auc", "tracing_se", "members"))


def _audit_arrays(fit: Fit) -> Arrays:
    if not _tracing(fit):
        return {}
    rate = np.linspace(0, 1, 101)
    return {"roc_false": (("rate",), rate), "roc_true": (("rate",), rate**fit.level)}


def _slicing(fit: Fit) -> dict[str, Any]:
    settings = fit.case.settings
    simulated = fit.case.source_name == "simulated"
    printed = simulated and settings.row is not None and fit.method.protocol_name == "published"
    mean = 0.4 + fit.level * 0.5
    return {
        "loss": mean * fit.rng.uniform(0.9, 1.1, (fit.case.replicates, fit.case.folds, len(fit.epsilon))),
        "paper_mean": mean if printed else None,
        "paper_bracket": 0.12 if printed else None,
        "angle": 80 * fit.level if simulated else None,
        "separation": None if simulated else fit.level,
        "epsilon_user": 12345.0 if fit.case.source_name == "dataset" and fit.method.uses_epsilon else None,
        "support_kept": 0.8 if simulated and settings.screened else None,
        "sd_means": 0.1 * fit.level if fit.method.uses_epsilon else None,
    }


def _slicing_arrays(fit: Fit) -> Arrays:
    if fit.case.source_name == "simulated":
        return {}
    activity = getattr(fit.case.settings, "dataset", None) == "activity"
    seen = fit.rng.standard_normal((200, 2 if activity else 1))
    response = np.arange(200) % 7 if activity else 20 * seen[:, 0]
    return {
        "record_coordinates": (("record_shown", "direction"), seen),
        "shown_response": (("record_shown",), response.astype(float)),
    }


def _trees(fit: Fit) -> dict[str, Any]:
    squared = "MSE" in fit.case.settings.loss_in_force
    alone = fit.method.protocol_name in ("pooled", "active_only")
    encrypts = fit.option("cipher") is not None
    exact = fit.method.protocol_name in ("feature_gathering", "label_scattering", "tables") and not fit.option(
        "protect"
    )
    bytes_sent = 10 ** (4 + 2 * fit.level) * fit.parties
    none: dict[str, Any] = dict.fromkeys(("log_loss", "auc", "accuracy", "scored_log_loss") if squared else ("mse",))
    return none | {
        "bytes_measured": 0.0 if alone else bytes_sent,
        "bytes_formula": bytes_sent if encrypts else None,
        **dict.fromkeys(("encryptions", "additions", "decryptions"), 1e3 * fit.level if encrypts else None),
        "max_prediction_difference": 1e-15 * fit.level if exact else None,
        "rows_rerouted": fit.level if fit.option("protect") else None,
        "epsilon_certified": np.inf if fit.option("budget") == "feature" else fit.epsilon,
    }


def _trees_arrays(fit: Fit) -> Arrays:
    steps, bins = np.arange(0.0, 11), np.arange(1.0, 9)
    found: Arrays = {
        "path_trees": (("path_step",), steps),
        "path_train_loss": (("path_step",), 0.7 * np.exp(-0.1 * steps)),
        "path_test_loss": (("path_step",), 0.7 * np.exp(-0.09 * fit.level * steps)),
    }
    if fit.method.protocol_name not in ("tables", "local_tables"):
        return found
    width = sum(map(len, fit.case.settings.groups(fit.parties)))
    both, values = ("table", "bucket"), np.sin(bins) * np.ones((width, 1))
    return found | {
        "table_column": (("table",), np.arange(float(width))),
        "table_edges": (both, 1000 * bins * np.ones((width, 1))),
        "table_values": (both, values),
        "table_noise": (both, 0.2 * np.ones_like(values)),
    }


def _linear(fit: Fit) -> dict[str, Any]:
    stepping = fit.method.protocol_name in ("published", "certified")
    return {
        "rows_recovered": 32 * fit.level if stepping else None,
        "rows_attacked": 32.0 if stepping else None,
        "max_coefficient_difference": 1e-12 if fit.method.protocol_name != "exact" else None,
    }


def _linear_arrays(fit: Fit) -> Arrays:
    if fit.method.protocol_name == "exact":
        return {}
    rounds = np.arange(20.0)
    paths = {
        "path_rounds": rounds,
        "path_loss": 0.3 + np.exp(-rounds),
        "path_loss_excess": fit.level * np.exp(-rounds / 8),
    }
    return {name: (("path_round",), values) for name, values in paths.items()}


def _matrices(fit: Fit) -> bool:
    return fit.method.protocol_name in ("correlation", "block_svd")


def _glm(fit: Fit) -> dict[str, Any]:
    matrix, unaligned = _matrices(fit), fit.setting("records") == "unaligned"
    found: dict[str, Any] = dict.fromkeys(("excess_deviance", "iterations")) if matrix else {}
    return found | {
        "attack_ids": fit.level if unaligned else None,
        "secure_products": 1e5 * fit.parties if fit.option("link") == "shared" else None,
    }


def _glm_arrays(fit: Fit) -> Arrays:
    p = sum(map(len, fit.case.settings.groups(fit.parties)))
    count = np.arange(1.0, 41)
    found: Arrays = {
        "leaked_messages": (("leaked_message",), count),
        "leaked_share": (("leaked_message",), np.minimum(1, count / 10 * fit.level)),
    }
    if _matrices(fit) or fit.method.protocol_name == "moments":
        near = 0.9 ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
        found |= {name: (("matrix_row", "matrix_column"), near) for name in ("matrix", "pooled_matrix")}
    if _matrices(fit):
        return found
    place = np.arange(60.0)
    found |= {"path_iteration": (("path_point",), place), "path_excess": (("path_point",), np.exp(-place * fit.level))}
    values = np.linspace(-2, 2, p + 1)
    for name in ("coefficients", "interval_centres", "coefficient_errors", "pooled_coefficients", "pooled_errors"):
        found[name] = (("coefficient",), np.full(p + 1, 0.5) if name.endswith("errors") else values * fit.level)
    columns = np.arange(p + 1.0)
    return found | {
        "nested_deviance": (("nested_model",), 100 / (1 + columns)),
        "nested_likelihood": (("nested_model",), -100 / (1 + columns)),
    }


def _survival_arrays(fit: Fit) -> Arrays:
    groups, p = max(len(fit.setting("groups")), 1), fit.setting("n_covariates")
    times = np.linspace(0, fit.setting("end"), 100)
    curve = np.exp(-np.outer(1 + np.arange(groups), np.linspace(0, 1, 100)) * fit.level)
    names = ["pooled", "survival", *(("lower", "upper") if fit.method.uses_epsilon else ())]
    found: Arrays = {f"curve_{name}": (("group", "time_shown"), curve + 0.05 * k) for k, name in enumerate(names)}
    found["curve_time"] = (("time_shown",), times)
    sizes = np.outer(np.full(groups, 3000.0), np.linspace(1, 0.1, 100))
    found |= {
        "pooled_at_risk": (("group", "time_shown"), sizes),
        "pooled_censored": (("group", "time_shown"), sizes > 290),
    }
    if fit.method.uses_epsilon:
        found["curve_at_risk"] = (("group", "time_shown"), sizes + 1)
    if p:
        values = np.linspace(-0.5, 0.5, p)
        found |= {name: (("covariate",), values * fit.level) for name in ("ratio", "ratio_pooled")}
        found |= {name: (("covariate",), np.full(p, 0.1)) for name in ("ratio_error", "ratio_pooled_error")}
    return found


def _epidemiology(fit: Fit) -> dict[str, Any]:
    published = fit.method.protocol_name in ("suppressed", "rounded")
    return {"epsilon_claimed": np.nan if published else fit.epsilon}


def _epidemiology_arrays(fit: Fit) -> Arrays:
    """Sums of 3,000 records that lie evenly in the cells, and those with noise."""
    sizes = np.full(fit.parties, 3000 // fit.parties)
    rows = {}
    for name, names in (("released_sums", [f"client {k}" for k in range(fit.parties)]), ("pooled_sums", ["all"])):
        terms = contributions(fit.case.settings.question_set.layout(names))
        parts = [
            weight * sizes.sum() / (item.entries if isinstance(item, Table) else 10) * np.ones(item.entries)
            for item, weight in zip(terms.layout.items, terms.weights, strict=True)
        ]
        rows[name] = np.concatenate(parts)
    noise = 1e4 * fit.falling[-1] if fit.method.uses_epsilon else 0.0
    box = float(fit.method.protocol_name == "geometric_box")
    return {
        "released_sums": (("entry",), rows["released_sums"] * (1 + 0.1 * fit.rng.random(len(rows["released_sums"])))),
        "pooled_sums": (("pooled_entry",), rows["pooled_sums"]),
        "noise_sd_of_items": (("item",), np.array([noise])),
        "noise_law": (("noise_fact",), np.array([0.0, 50 * box, 0.0])),
        "client_records": (("client",), sizes.astype(float)),
        "named_by_orders": (("order",), 1 - fit.level * 0.8 ** np.arange(1.0, 21)),
    }


def _filters_arrays(fit: Fit) -> Arrays:
    if fit.method.protocol_name == "masks":
        bits = np.arange(14.0, 22, 2)
        lines = np.geomspace(0.1, 1e9, len(list(all_lines())))
        found: Arrays = {f"search_{name}": (("search",), bits) for name in ("bits", "left", "hits")}
        return found | {f"line_{name}": (("line",), lines) for name in Judgement._fields}
    shares = np.full((4, 2), fit.level)
    found = {"identified_shares": (("hospital", "time"), shares), "left": (("hospital", "time"), 100 * shares)}
    if fit.option("layer") == "adaptive_clipping":
        path = 0.1 * fit.level ** np.arange(21.0)
        found |= {"clip_path": (("round",), path), "norm_path": (("trained_round",), path[1:] + 0.5)}
    return found


OWN: dict[str, Callable[[Fit], dict[str, Any]]] = {
    "functional_boosting": _functional,
    "label_private": _label,
    "privacy_audit": _audit,
    "sliced_inverse_regression": _slicing,
    "vertical_trees": _trees,
    "vertical_linear": _linear,
    "vertical_glm": _glm,
    "federated_epidemiology": _epidemiology,
}
ARRAYS: dict[str, Callable[[Fit], Arrays]] = {
    "functional_boosting": _functional_arrays,
    "label_private": _label_arrays,
    "privacy_audit": _audit_arrays,
    "sliced_inverse_regression": _slicing_arrays,
    "vertical_trees": _trees_arrays,
    "vertical_linear": _linear_arrays,
    "vertical_glm": _glm_arrays,
    "federated_survival": _survival_arrays,
    "framework_filters": _filters_arrays,
    "federated_epidemiology": _epidemiology_arrays,
}


def numbers(fit: Fit) -> dict[str, Any]:
    """Numbers of a fit that its study invents itself; of another study none."""
    return OWN[fit.plan.study.name](fit) if fit.plan.study.name in OWN else {}


def arrays(fit: Fit) -> Arrays:
    """Arrays of a first fit; of a study that is not above none."""
    return ARRAYS[fit.plan.study.name](fit) if fit.plan.study.name in ARRAYS else {}
