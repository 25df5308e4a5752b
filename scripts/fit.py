"""Fit and judge one block of cells: the shares of some cases, each with all its methods, on the data drawn before."""

from partywise.experiment.results.sources import load_by_content

load_by_content(snakemake.params.sources)

from functools import partial
from time import process_time

from partywise.experiment.blocks import write_block
from partywise.experiment.data import read_data
from partywise.experiment.jobs import Timings, log_to
from partywise.experiment.plan import plan
from partywise.experiment.results.provenance_record import as_planned, digest_before, write_record
from partywise.experiment.study import Lazy

log = log_to(snakemake.log[0])
params, inputs, timings = snakemake.params, snakemake.input, Timings()
begun = process_time()
drawn = () if params.runs else [(inputs.data_provenance, params.data_fingerprint, inputs.data)]
planned = as_planned(params.sources, params.files | {source[-1]: digest_before(*source) for source in drawn})
job_plan = planned(plan)(**params.job, complete=False)
data, compute = params.runs or partial(read_data, inputs.data, job_plan), Lazy(params.executor).target
cells = [cell for share in params.shares for cell in planned(compute)(job_plan, share, data, timings)]
spent = process_time() - begun
write_block(snakemake.output.block, cells)
timings.write(snakemake.output.timings)
write_record(snakemake.output.provenance, params.fingerprint, [snakemake.output.block], params.runs)
log.info("%s", timings)
log.info("computing: %.3f CPU s", spent)
