"""Draw the data of some replicates of each case, for the fits of all methods."""

from partywise.experiment.results.sources import load_by_content

load_by_content(snakemake.params.sources)

from partywise.experiment.data import write_data
from partywise.experiment.jobs import log_to
from partywise.experiment.plan import plan
from partywise.experiment.results.provenance_record import as_planned, write_record

log = log_to(snakemake.log[0])
params, outputs = snakemake.params, snakemake.output
planned = as_planned(params.sources, params.files)
job_plan = planned(plan)(**params.job, complete=False)
planned(write_data)(outputs.data, job_plan, params.replicates, params.resources_folder)
write_record(outputs.provenance, params.fingerprint, [outputs.data])
log.info("%d replicates of %d cases", sum(map(len, params.replicates.values())), len(params.replicates))
