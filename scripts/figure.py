"""Draw one figure of one study from its cube."""

from partywise.experiment.logs import log_to
from partywise.experiment.plotting.save import draw_figure
from partywise.experiment.results.origin import write_origin

log = log_to(snakemake.log[0])
params, outputs = snakemake.params, dict(snakemake.output.items())
origin = outputs.pop("origin")
draw_figure(params.address, snakemake.input.cube[0], **outputs)
write_origin(origin, params.told, snakemake.output, snakemake.input.origin)
log.info("drawn by %s", params.address)
