"""Keys of earlier versions: an old one ends in an error that names the new one, and no old one is read."""

from __future__ import annotations

RENAMED = {
    "bucket_num": "n_bins",
    "criterion": "loss",
    "n_buckets": "n_bins",
    "own_bucket_num": "own_n_bins",
    "table": "dataset",
}
