"""Differentially private federated statistics: every study of the configuration, from data to figures.

    snakemake                       (the default configuration, config.yaml)
    snakemake --configfile config/tiny.yaml

Inputs: the configuration and, for real data, the files in resources/.  Steps: fetch, generate, fit, collect, figure or table.
Outputs, in the folder of the configuration: results/{name}/{study}/cube.nc with its tables, results/{name}/figures/{study}/.
"""

import os
import sys
from pathlib import Path

from snakemake.utils import min_version

min_version("9.27")

# The folder of this file, whichever file includes it.
ROOT = Path(workflow.current_basedir.path)
sys.path.insert(0, str(ROOT / "workflow"))

from forks import fork_scripts

if workflow.is_main_process:
    fork_scripts()

# The default one is that of the folder of the run, or else the one beside this file.
DEFAULT = "config.yaml"
if not os.path.exists(DEFAULT):
    DEFAULT = str(ROOT / DEFAULT)

# A configuration given on the command line replaces the default one, it is not merged into it.
if "studies" not in config:

    configfile: DEFAULT


include: "workflow/rules/place.smk"


# <results> in the paths of rules.
pathvars:
    results=PLACE.folder,


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/resources.smk"
include: "workflow/rules/provenance.smk"
include: "workflow/rules/study.smk"


refuse_folders()


localrules:
    all,


rule all:
    default_target: True
    input:
        cubes(),
        figures(),
