#!/bin/sh
# A browser for the test of the report: browser.sh install (Debian's Chromium and its driver; needs root).
set -eu
[ "${1:-}" = install ] || { echo "use: browser.sh install" >&2; exit 2; }
if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then exit 0; fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "browser: chromium and chromedriver are needed; install them by this system's means." >&2
    exit 3
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends chromium chromium-driver
