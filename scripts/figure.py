"""Draw one figure of one study from its cube."""

from partywise.figures.save import draw_figure
from partywise.logs import log_to

log = log_to(snakemake.log[0])
draw_figure(snakemake.params.address, snakemake.input.cube, **snakemake.output)
log.info("drawn by %s", snakemake.params.address)
