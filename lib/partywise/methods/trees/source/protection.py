"""Protections and ways of inference as the source's configuration names them."""

from __future__ import annotations

from .keys import Keys

MODE, DISTRIBUTED = "federate.mode", "distributed"
# Of places without data and of the first party.
PORTS = ("distribute.server_port", "distribute.client_port")
OBJECT, METHOD, ARGS, KEY_SIZE = (
    f"vertical.{name}" for name in ("protect_object", "protect_method", "protect_args", "key_size")
)
# Keys that are read in some configurations only, and with what.
READERS = {
    METHOD: "vertical.protect_object",
    ARGS: "vertical.protect_object",
    KEY_SIZE: "vertical.protect_method 'he', vertical.eval 'he' or model.type 'lr'",
    "vertical.mode": "trees",
    "vertical.algo": "trees",
    "vertical.eval": "trees",
    "vertical.feature_subsample_ratio": "trees",
    "vertical.data_size_for_debug": "trees",
    "eval.best_res_update_round_wise_key": "trees",
    "train.optimizer.eta": "trees",
    "train.optimizer.lr": "model.type 'lr'",
    "federate.total_round_num": "model.type 'lr'",
    "model.use_bias": "model.type 'lr'",
} | dict.fromkeys((*PORTS, "distribute.use"), f"{MODE} {DISTRIBUTED!r}")
GATHERING, SCATTERING = "feature_gathering", "label_scattering"
# Words of the source for label scattering: one of its configurations, and one of its text.
LABEL_BASED = ("label_based", SCATTERING)
# Larger than any residual of the source's regressions, whose labels are numbers of rings up to 29.
RESIDUAL_BOUND = 64.0


def protection_of(keys: Keys, algo: str, criterion: str) -> tuple[str, dict[str, object], float | None]:
    """Protocol, its options, and the claim for a feature."""
    mode = keys.take("vertical.mode", str, None, allowed=(GATHERING, *LABEL_BASED))
    scatters = mode in LABEL_BASED
    if OBJECT not in keys:
        if scatters:
            raise ValueError(f"{OBJECT} is missing: vertical.mode {mode!r} goes with 'grad_and_hess'.")
        return GATHERING, {}, None
    target = keys.take(OBJECT, str, allowed=("feature_order", "grad_and_hess"))
    if (target == "grad_and_hess") != scatters:
        wanted = "'grad_and_hess'" if scatters else "'feature_order', or vertical.mode 'label_based'"
        raise ValueError(f"{OBJECT} is {target!r}: with vertical.mode {mode!r} it must be {wanted}.")
    method = keys.take(METHOD, str, allowed=("he",) if scatters else ("dp", "op_boost"))
    args = keys.inner(ARGS)
    if method == "he":
        return SCATTERING, _paillier_options(keys, args, criterion), None
    options, epsilon = _bin_indices(args) if method == "dp" else _order_preserving(args)
    if algo == "rf" and options.get("randomise", True):
        options["redraw"] = "tree"
        keys.notes.append("vertical.algo is 'rf': noise is drawn anew for each tree, and costs as many times as much.")
    return GATHERING, options, epsilon


def inference_of(keys: Keys, protocol: str) -> dict[str, object]:
    """Options of scoring held-out rows, and the key size of an encryption."""
    options: dict[str, object] = {}
    if "vertical.eval" in keys:
        way = keys.take("vertical.eval", str, allowed=("", "ss", "he"))
        options["inference"] = way or "plain"
    else:
        keys.notes.append("vertical.eval is absent: an evaluator scores the test rows, and nothing crosses for it.")
    if KEY_SIZE in keys and (protocol == SCATTERING or options.get("inference") == "he"):
        options["key_size"] = keys.take(KEY_SIZE, int)
    return options


def _bin_indices(args: Keys) -> tuple[dict[str, object], float | None]:
    """Randomised response on bins of equal counts; without epsilon rows are only shuffled."""
    options = {"protect": "dp", "edges": "quantile", "n_bins": args.whole("bucket_num", 2)}
    if args.nothing("epsilon"):
        args.refuse_rest({})
        return options | {"randomise": False}, None
    epsilon = _positive(args, "epsilon")
    args.refuse_rest({})
    return options | {"budget": "feature"}, epsilon


def _order_preserving(args: Keys) -> tuple[dict[str, object], float | None]:
    """OpBoost on integers to which the sample's own extremes are mapped."""
    algo = args.take("algo", str, allowed=("global", "adjusting", "adjust"))
    options: dict[str, object] = {"protect": "op_boost", "variant": algo, "extremes": "sample", "budget": "feature"}
    options |= {name: args.take(name, int) for name in ("lower_bound", "upper_bound")}
    if "bucket_num" in args:
        options["n_bins"] = args.whole("bucket_num", 2)
    epsilon = None
    if algo == "global":
        epsilon = _positive(args, "epsilon")
    else:
        options |= {name: _positive(args, name) for name in ("epsilon_prt", "epsilon_ner")}
        options["partition_num"] = args.take("partition_num", int)
    names = ("epsilon_prt", "epsilon_ner", "partition_num")
    args.refuse_rest(dict.fromkeys(names, "algo 'adjusting'") | {"epsilon": "algo 'global'"})
    return options, epsilon


def _paillier_options(keys: Keys, args: Keys, criterion: str) -> dict[str, object]:
    """Gradients under Paillier encryption."""
    options: dict[str, object] = {"cipher": "paillier", "n_bins": args.whole("bucket_num", 2)}
    args.refuse_rest({})
    if KEY_SIZE not in keys:
        raise ValueError(f"{KEY_SIZE} is missing: {METHOD} 'he' needs the bits of its modulus.")
    if criterion == "RegressionMSELoss":
        options["residual_bound"] = RESIDUAL_BOUND
        keys.notes.append(
            f"residual_bound is {RESIDUAL_BOUND:g}, which the source does not name: slots of ciphers hold residuals up "
            "to a public bound."
        )
    return options


def _positive(args: Keys, name: str) -> float:
    value: float = args.take(name, float)
    if not value > 0:
        raise ValueError(f"{args.path(name)} is {value!r}: it must be positive.")
    return value
