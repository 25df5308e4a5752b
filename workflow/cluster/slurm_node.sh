#!/bin/bash
# A real Slurm on this one machine, for tests: slurm_node.sh install | start DIR | stop DIR.  Needs root.
#
# install  munge, slurmctld, slurmd and the clients, from Debian's packages
# start    munged, the controller and the node daemon, with their state in DIR; returns when the node is idle
# stop     ends them in the reverse order and waits until they are gone
set -euo pipefail

say() { echo "slurm_node: $*" >&2; }

need_root() {
    if [ "$(id -u)" != 0 ]; then
        say "starting Slurm's daemons needs root; run this as root, or use the cluster you have."
        exit 3
    fi
}

install_packages() {
    if command -v slurmctld >/dev/null && command -v slurmd >/dev/null && command -v munged >/dev/null; then return; fi
    if ! command -v apt-get >/dev/null; then
        say "there is no apt-get; install slurmctld, slurmd, slurm-client and munge by this system's means."
        exit 3
    fi
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends slurmctld slurmd slurm-client munge
}

configuration() {
    local dir=$1 host memory
    host=$(hostname -s)
    memory=$(($(awk '/MemTotal/{print $2}' /proc/meminfo) / 1024 - 1024))
    cat <<CONF
ClusterName=one
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
MinJobAge=3600
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,bf_interval=1
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=$memory State=UNKNOWN
PartitionName=main Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
}

start() {
    local dir=$1
    need_root
    # The plugin strips SLURM_* from the environment of jobs, so the configuration must lie where Slurm looks by itself.
    if [ -e /etc/slurm/slurm.conf ] && ! grep -q "^ClusterName=one$" /etc/slurm/slurm.conf; then
        say "/etc/slurm/slurm.conf belongs to a real cluster; this test node is not started over it."
        exit 3
    fi
    mkdir -p "$dir/state" "$dir/spool" /etc/slurm
    install -d -o munge -g munge -m 0755 /run/munge
    install -d -o munge -g munge -m 0700 /var/log/munge /var/lib/munge
    test -s /etc/munge/munge.key || mungekey --create
    if ! munge -n 2>/dev/null | unmunge >/dev/null 2>&1; then runuser -u munge -- munged; fi
    configuration "$dir" >/etc/slurm/slurm.conf
    slurmctld
    slurmd
    for _ in $(seq 120); do
        if [ "$(sinfo -h -o %t 2>/dev/null)" = idle ]; then return; fi
        sleep 0.25
    done
    say "the node did not become idle within 30 seconds:"
    tail -n 20 "$dir"/*.log >&2
    exit 1
}

stop() {
    local dir=$1 daemon pid
    for daemon in slurmd slurmctld; do
        [ -s "$dir/$daemon.pid" ] || continue
        pid=$(cat "$dir/$daemon.pid")
        kill "$pid" 2>/dev/null || continue
        # An early restart would talk to the dying controller.
        for _ in $(seq 80); do kill -0 "$pid" 2>/dev/null || break; sleep 0.25; done
    done
    pkill -x munged || true
    # Without a controller every client would wait for one, Snakemake's executor included.
    if grep -qs "^ClusterName=one$" /etc/slurm/slurm.conf; then rm -f /etc/slurm/slurm.conf; fi
}

case "${1:-}" in
    install) need_root && install_packages ;;
    start) start "${2:?folder for its state}" ;;
    stop) stop "${2:?folder of its state}" ;;
    *) say "use: slurm_node.sh install | start DIR | stop DIR"; exit 2 ;;
esac
