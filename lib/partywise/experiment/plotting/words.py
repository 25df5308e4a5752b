"""Words of declared figures that need no drawing: what every caption ends in, and whom an epsilon is of."""

from __future__ import annotations

# The unit that a study protects.
PROTECTED = {
    "row": "a record",
    "label": "a label",
    "features": "a record's features",
    "user": "all records of a person",
    "user_label": "all labels of a person",
}
MEANS = "Lines: means over {replicates}, bands or bars: ± 1 standard error."
ENDINGS = {
    "epsilon": f"{MEANS} Horizontal lines: methods without a target of epsilon; thin dotted ones: the method of that "
    "colour without noise. Hollow marks: the target is not certified.",
    "path": "The first replicate and fold at the fewest parties, of a private method at its largest target; no mean.",
    "bars": "Bars: the largest value in {replicates}; of arrays, in the first.",
}


def caption_of(kind: str, title: str, caption: str = "", x: str = "") -> str:
    """Caption of a figure that is declared as ``kind`` (Lines, Bars, Panels) with these words."""
    ending = "" if kind == "Panels" else ENDINGS["bars"] if kind == "Bars" else ENDINGS.get(x, MEANS)
    if x.startswith("path_"):
        ending = ENDINGS["path"]
    return " ".join(filter(None, (caption or f"{title}.", ending)))
