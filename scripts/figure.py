"""Draw one figure of one study from its cube."""

from partywise.experiment.results.sources import load_by_content

load_by_content(snakemake.params.sources)

from partywise.experiment.jobs import log_to
from partywise.experiment.plotting.save import draw_figure
from partywise.experiment.results.provenance_record import as_planned, digests_before, write_record

log = log_to(snakemake.log[0])
params, inputs, outputs = snakemake.params, snakemake.input, dict(snakemake.output.items())
provenance = outputs.pop("provenance")
planned = as_planned(
    params.sources, digests_before(params.inputs_digest, params.fingerprint, inputs.provenance, inputs.cube)
)
planned(draw_figure)(params.address, inputs.cube[0], **outputs)
write_record(provenance, params.fingerprint, outputs.values())
log.info("drawn by %s", params.address)
