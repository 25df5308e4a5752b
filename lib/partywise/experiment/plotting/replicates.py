"""Words of a caption about replicates: how many there are, and whether a band is drawn."""

from __future__ import annotations

from collections.abc import Sequence

import xarray as xr

from .series import MANY


def replicates(cube: xr.Dataset, cases: Sequence[str]) -> tuple[int, int]:
    """Least and largest number of replicates that were computed of some cases."""
    status = cube["status"].sel(case=list(cases))
    done = (status > 0).any([dim for dim in status.dims if dim not in ("case", "replicate")])
    counts = done.sum("replicate").values
    return int(counts.min()), int(counts.max())


def over(cube: xr.Dataset, cases: Sequence[str]) -> str:
    """Words such as "mean over 2 to 10 replicates"; "one replicate" is not a mean."""
    least, most = replicates(cube, cases)
    if most == 1:
        return "one replicate"
    return f"mean over {most if least == most else f'{least} to {most}'} replicates"


def over_with_bands(cube: xr.Dataset, cases: Sequence[str], spread: str = "bands") -> str:
    """Return the words of `over`, and what bands or bars are if some case has any; ``middle`` is as in `summarise`."""
    least, most = replicates(cube, cases)
    if spread == "middle":
        reach = "5 % to 95 % of them" if least >= MANY else "from the least to the largest"
        return f"{over(cube, cases)}, bars: {reach}"
    return over(cube, cases) + (f", {spread}: ± 1 standard error" if most > 1 else "")
