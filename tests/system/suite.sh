#!/bin/sh
# The checks on system packages: suite.sh PYTHON [words of pytest].  `./run test --system` calls it.
set -eu
python=$1
shift
tests/system/slurm_node.sh install
tests/system/browser.sh install
tests/system/r.sh install
# Whatever becomes of the tests: a Slurm that is left over makes every later run wait for its controller.
trap 'tests/system/slurm_node.sh stop' EXIT
trap 'exit 143' TERM HUP
trap 'exit 130' INT
"$python" -m pytest -m "system or runs" tests/system/*.py tests/workflow tests/experiment -s "$@"
