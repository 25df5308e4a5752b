"""
Error against epsilon, from a cube
==================================

A run of the pipeline ends in one cube per study. Here it is the stored reference of the default run; your own is
``results/<name>/<study>/cube.nc``. What was certified stands at its epsilon, what was only claimed is hollow.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

import partywise as pw
from partywise.experiment.differences.verb import ARCHIVE, unpack
from partywise.experiment.results.cube import open_cube

with tempfile.TemporaryDirectory() as folder:
    unpack(ARCHIVE, Path(folder) / "default")
    cube = open_cube(Path(folder) / "default" / "label_private" / "cube.nc").load()

ax = pw.plot.epsilon_against_error(cube, "log_loss", case="adult")
ax.set_yscale("log")
ax.yaxis.set_major_formatter("{x:g}")
ax.yaxis.set_minor_formatter(plt.NullFormatter())
plt.show()
