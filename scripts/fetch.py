"""Fetch the files of one real data set; files that are already there are used as they are."""

from pathlib import Path

from partywise.data.fetch import fetch
from partywise.experiment.jobs import log_to

log = log_to(snakemake.log[0])
fetch(snakemake.params.dataset, Path(snakemake.output[0]).parent)
log.info("data set %s is in place", snakemake.params.dataset)
