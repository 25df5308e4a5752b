#!/bin/bash
# Debian packages for tests on system software: debian_packages.sh PACKAGE=COMMAND ...  Needs root where one is missing.
#
# Nothing is done when all commands are there.  What a mirror or another apt may spoil for a moment is tried again, with a
# limit in time; whatever else is missing is an error (exit code 3) that names it.
set -euo pipefail
# Daemons lie where the path of a plain user does not look.
export PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
export DEBIAN_FRONTEND=noninteractive

say() { echo "packages: $*" >&2; }

missing() {
    local pair
    for pair in "$@"; do command -v "${pair#*=}" >/dev/null || echo "${pair%=*}"; done
}

# One step of apt: it waits for another apt's lock, and is ended when a server keeps it waiting.
apt() {
    timeout -k 30 600 apt-get -qq -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 -o Acquire::http::Timeout=60 \
        -o APT::Color=0 -o Dpkg::Use-Pty=0 "$@" </dev/null >>"$log" 2>&1
}

# Downloads may fail for a while; what they fetched is kept for the next attempt.
download() {
    local attempt
    for attempt in 1 2 3; do
        # A foreign source that does not answer is no reason to stop: the download tells whether something is missing.
        apt update || say "apt-get update had errors (attempt $attempt)"
        if apt install -y --no-install-recommends --download-only "$@"; then return; fi
        say "downloading $* failed (attempt $attempt of 3)"
        sleep $((attempt * 10))
    done
    return 1
}

mapfile -t wanted < <(missing "$@")
if [ "${#wanted[@]}" = 0 ]; then exit 0; fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    say "missing: ${wanted[*]}.  Run this as root on Debian, or install them by this system's means."
    exit 3
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
say "installing ${wanted[*]}"
if ! { download "${wanted[@]}" && apt install -y --no-install-recommends "${wanted[@]}"; }; then
    tail -n 30 "$log" >&2
    say "${wanted[*]} could not be installed; apt-get's last words stand above."
    exit 3
fi
mapfile -t wanted < <(missing "$@")
if [ "${#wanted[@]}" != 0 ]; then
    say "installed, but its command is not there: ${wanted[*]}"
    exit 3
fi
