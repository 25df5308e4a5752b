"""Make the data of one block of replicates of one case."""

from partywise.experiment.cells import generate, save_data
from partywise.experiment.logs import log_to
from partywise.experiment.plan import plan

log = log_to(snakemake.log[0])
params = snakemake.params
data = generate(plan(**params.job, complete=False), params.case, params.replicates, params.resources_folder)
save_data(snakemake.output[0], data)
log.info("case %s: %d replicates", params.case, len(data))
