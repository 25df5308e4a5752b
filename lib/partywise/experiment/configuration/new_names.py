"""Names of earlier versions: an old key ends in an error that names the new one, and no old one is read."""

from __future__ import annotations

RENAMED = {
    "bucket_num": "n_bins",
    "criterion": "loss",
    "data_size_for_debug": "rows",
    "holds": "response_party",
    "label": "response",
    "label_bounds": "response_bounds",
    "missing.drop": "missing: drop",
    "missing.marks": "marks",
    "missing.max_gap": "max_gap",
    "missing.min_points": "min_points",
    "n_buckets": "n_bins",
    "own_bucket_num": "own_n_bins",
    "shown": "n_shown",
    "table": "dataset",
    "tables.holds": "response_party",
    "tables.label": "response",
    "airport": "response",
}
# Variables of cubes, by which a cube of an earlier version is compared.
RENAMED_VARIABLES = {
    "chosen_law": "chosen_distribution",
    "floored": "floored_eigenvalues",
    "recovered": "recovered_entries",
    "selected": "selected_columns",
    "skipped": "skipped_clients",
}

# Sources of cases that are shipped data now, each with the settings that name them.
DATASET_SOURCES = {
    "activity": "dataset: activity, screen: true, n_directions: 2, n_shown: 200, delta_power: 1.5",
    "adult": "dataset: adult_indicators, or adult for the 14 columns of the source",
    "beijing": "dataset: beijing",
    "body_fat": "dataset: body_fat",
    "breast_cancer": "dataset: breast_cancer",
    "flights": "dataset: flights, n: 5000",
    "late_flights": "dataset: late_flights, split: own (where it was time) or random",
    "nyc": "dataset: nyc, response: the airport",
}
# Values, likewise; of labels a cube of an earlier version is compared by the new ones.
RENAMED_VALUES = {
    "public_buckets": "public_bins",
    "quantile_buckets": "quantile_bins",
    "repaired": "corrected",
}
# Words of other programs for keys and values of ours, each for those that it may stand for.
OTHER_WORDS = {
    "bernoulli": ("binomial",),
    "categories": ("levels",),
    "count": ("poisson",),
    "csv": ("table", "long"),
    "dec": ("decimal",),
    "error": ("refuse",),
    "features": ("columns",),
    "files": ("tables",),
    "filename": ("file",),
    "holder": ("party",),
    "ignore": ("drop",),
    "inner": ("common",),
    "inverse gaussian": ("inverse_gaussian",),
    "inverse.gaussian": ("inverse_gaussian",),
    "inversegaussian": ("inverse_gaussian",),
    "limits": ("bounds", "range"),
    "linear": ("gaussian",),
    "log10": ("log",),
    "logistic": ("binomial",),
    "logit": ("binomial",),
    "lognormal": ("gaussian",),
    "max": ("bounds", "range"),
    "min": ("bounds", "range"),
    "na_values": ("marks",),
    "nc": ("netcdf",),
    "normal": ("gaussian",),
    "ols": ("gaussian",),
    "outcome": ("response",),
    "own": ("table",),
    "owner": ("party",),
    "path": ("file",),
    "person": ("user",),
    "range": ("bounds",),
    "record": ("row",),
    "sep": ("delimiter",),
    "separator": ("delimiter",),
    "site": ("party",),
    "target": ("response",),
    "variables": ("columns",),
    "wald": ("inverse_gaussian",),
    "y": ("response",),
}
