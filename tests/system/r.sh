#!/bin/sh
# R and its package jsonlite for the test of the page on R: r.sh install (Debian; needs root).
set -eu
[ "${1:-}" = install ] || { echo "use: r.sh install" >&2; exit 2; }
exec "$(dirname "$0")/debian_packages.sh" r-cran-jsonlite=Rscript
