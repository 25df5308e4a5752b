"""What a job says goes to its log file: messages, warnings, and the error that ended it."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import Any

from ..errors import DataMissing

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def log_to(path: Path | str) -> logging.Logger:
    """Send everything this process prints, logs or dies of to a file, and note its thread variables and cluster job."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = path.open("w", encoding="utf-8", buffering=1)
    sys.stdout.flush()
    sys.stderr.flush()
    # On the level of file descriptors, so that compiled libraries and the interpreter's last words are caught too.
    for stream in (1, 2):
        os.dup2(handle.fileno(), stream)
    logging.basicConfig(stream=handle, level=logging.INFO, format="%(levelname)s %(message)s", force=True)
    logging.captureWarnings(True)
    sys.excepthook = _last_words
    logger = logging.getLogger("partywise")
    logger.info("threads: %s", ", ".join(f"{name}={os.environ.get(name, 'unset')}" for name in THREADS))
    if "SLURM_JOB_ID" in os.environ:
        logger.info("cluster: job %s on %s", os.environ["SLURM_JOB_ID"], os.environ.get("SLURMD_NODENAME", "unknown"))
    return logger


def _last_words(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    """A mistake in a person's data is one sentence, the last line of the log; of a bug a traceback tells."""
    if isinstance(error, DataMissing):
        logging.getLogger("partywise").error("%s", " ".join(str(error).split()))
    else:
        sys.__excepthook__(kind, error, trace)
