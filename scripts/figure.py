"""Draw one figure of one study from its cube."""

from partywise.experiment.logs import log_to
from partywise.experiment.plotting.save import draw_figure

log = log_to(snakemake.log[0])
draw_figure(snakemake.params.address, snakemake.input.cube, **snakemake.output)
log.info("drawn by %s", snakemake.params.address)
