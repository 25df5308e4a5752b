"""Put all blocks of one study into its cube, with the ledger, the wire table, the summary and the timings beside it."""

from pathlib import Path

from partywise.experiment.collect import collect
from partywise.experiment.logs import log_to
from partywise.experiment.plan import plan
from partywise.experiment.results.origin import write_origin
from partywise.experiment.timings import gather

log = log_to(snakemake.log[0])
params, outputs = snakemake.params, dict(snakemake.output.items())
origin = outputs.pop("origin")
gather(snakemake.input.timings).write(outputs.pop("timings"))
root = Path(snakemake.scriptdir).parent
collect(plan(**params.job), snakemake.input.blocks, outputs, code_sha256=params.code, root=root)
write_origin(origin, params.told, outputs.values(), snakemake.input.origins)
log.info("study %s: %d blocks", params.job["name"], len(snakemake.input.blocks))
