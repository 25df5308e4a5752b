"""Fit and judge one block of cells: parties x replicates x folds x epsilons of one case and method."""

from time import process_time

from partywise.experiment.blocks import write_corner
from partywise.experiment.cells import run
from partywise.experiment.logs import log_to
from partywise.experiment.plan import plan

log = log_to(snakemake.log[0])
params = snakemake.params
begun = process_time()
cells = run(
    plan(**params.job, complete=False),
    params.case,
    params.method,
    params.parties,
    params.replicates,
    params.folds,
    snakemake.input.data,
)
spent = process_time() - begun
write_corner(snakemake.output[0], cells)
log.info("case %s, method %s, %s parties: %d cells", params.case, params.method, params.parties, len(cells))
log.info("computing: %.3f CPU s", spent)
