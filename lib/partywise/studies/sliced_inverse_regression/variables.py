"""Names and units of the variables that the study of sliced inverse regression puts into its cube."""

from __future__ import annotations

VARIABLES: dict[str, tuple[str, str]] = {
    "loss": ("Frobenius distance of the projections on the estimated and the true subspace", "1"),
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
    "diverged": ("1 if no finite basis was found", "1"),
    "projected": ("coordinates of real records in the estimated subspace", "1"),
    "shown_response": ("response (or class) of these records", "1"),
}
