"""Put all corners of one study into its cube, with the ledger, the wire table and the summary beside it."""

from pathlib import Path

from partywise.experiment.logs import log_to
from partywise.experiment.plan import plan
from partywise.experiment.results.collect import collect

log = log_to(snakemake.log[0])
params = snakemake.params
collect(
    plan(**params.job),
    snakemake.input.corners,
    dict(snakemake.output.items()),
    code_sha256=params.code,
    root=Path(snakemake.scriptdir).parent,
)
log.info("study %s: %d corners", params.job["name"], len(snakemake.input.corners))
