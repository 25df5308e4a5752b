#!/bin/sh
# A browser for the test of the report: browser.sh install (Debian's Chromium and its driver; needs root).
set -eu
[ "${1:-}" = install ] || { echo "use: browser.sh install" >&2; exit 2; }
exec "$(dirname "$0")/debian_packages.sh" chromium=chromium chromium-driver=chromedriver
