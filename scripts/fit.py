"""Fit and judge one block of cells: parties x replicates x folds x epsilons of one case and method."""

from partywise.cells import run
from partywise.corners import write_corner
from partywise.logs import log_to
from partywise.plan import plan

log = log_to(snakemake.log[0])
params = snakemake.params
cells = run(
    plan(**params.job, complete=False),
    params.case,
    params.method,
    params.parties,
    params.replicates,
    params.folds,
    snakemake.input.data,
)
write_corner(snakemake.output[0], cells)
log.info("case %s, method %s, %s parties: %d cells", params.case, params.method, params.parties, len(cells))
