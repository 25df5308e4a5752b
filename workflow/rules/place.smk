"""The folder of the results: one for each configuration, by its key `name` or its file.

Inputs: the configuration in force and its files.  Steps: the name; a look whose folder that is.  Outputs: PLACE; when jobs start, a record in the folder.
"""

import sys
from pathlib import Path

from fingerprint import share_library

share_library(Path.cwd())

from partywise.experiment.configuration.text import read_file
from partywise.core.errors import ConfigError
from place import place


def naming_files():
    """The files of the configuration that name studies, in order."""
    files = [Path(path) for path in workflow.configfiles]
    if len(files) < 2:
        return files
    return [path for path in files if "studies" in read_file(path)]


def checked_place():
    """The place of the results; a bad name or a folder of another configuration ends here, before any job."""
    try:
        place_of_run = place(config, naming_files(), Path.cwd())
        if workflow.is_main_process:
            place_of_run.refuse_other(Path.cwd())
        return place_of_run
    except ConfigError as error:
        sys.exit(f"Configuration error: {error}")


PLACE = checked_place()


onstart:
    PLACE.record(Path.cwd())
    # As long as it limits starts per second, Snakemake looks through the jobs once a second for every job that has ended.
    if workflow.local_exec:
        workflow.scheduler.job_rate_limiter = None
