"""Draw one figure of one study from its cube."""

from partywise.cube import open_cube
from partywise.figures.save import save_figure
from partywise.logs import log_to
from partywise.study import Lazy

log = log_to(snakemake.log[0])
draw = Lazy(snakemake.params.address)
with open_cube(snakemake.input.cube, load=False) as cube:
    save_figure(draw(cube), **snakemake.output)
log.info("drawn by %s", draw.address)
