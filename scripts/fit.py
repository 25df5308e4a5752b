"""Make the data of one block of cells, fit and judge them: the shares of some cases, each with all its methods."""

from partywise.experiment.results.sources import load_by_content

load_by_content(snakemake.params.sources)

from time import process_time

from partywise.experiment.blocks import write_block
from partywise.experiment.cells import compute
from partywise.experiment.logs import log_to
from partywise.experiment.plan import plan
from partywise.experiment.results.provenance_record import as_planned, write_record
from partywise.experiment.timings import Timings

log = log_to(snakemake.log[0])
params, timings = snakemake.params, Timings()
begun = process_time()
planned = as_planned(params.sources, params.files)
made = planned(plan)(**params.job, complete=False)
computed = [planned(compute)(made, share, params.resources_folder, timings) for share in params.shares]
spent = process_time() - begun
write_block(snakemake.output.block, [cell for cells in computed for cell in cells])
timings.write(snakemake.output.timings)
write_record(snakemake.output.origin, params.fingerprint, [snakemake.output.block])
log.info("%s", timings)
log.info("computing: %.3f CPU s", spent)
