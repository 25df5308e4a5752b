#!/bin/bash
# A real Slurm on this one machine, for tests.  Needs root.
#
# slurm_node.sh install           munge, slurmctld, slurmd and the clients, from Debian's packages
# slurm_node.sh start DIR         munged, controller and node daemon, with their state in DIR; returns when the node is idle
# slurm_node.sh kill-controller   kill -9 of the controller, as a crash does; its jobs run on
# slurm_node.sh start-controller  starts it again with the state that it had saved
# slurm_node.sh stop              ends the jobs, then all daemons, and waits until they are gone; without a node it does nothing
set -euo pipefail
export PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"

CONF=/etc/slurm/slurm.conf
# First line of the configuration of such a node: what it does not head is somebody's cluster and is not touched.
MARK="# A test node, written by slurm_node.sh; its state is in "

say() { echo "slurm_node: $*" >&2; }

fail() { say "$*"; exit 3; }

# wait_until SECONDS COMMAND ...: whether the command succeeds within that time.
wait_until() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        if [ $SECONDS -ge $end ]; then return 1; fi
        sleep 0.25
    done
}

ours() { [ "$(head -c ${#MARK} "$CONF" 2>/dev/null)" = "$MARK" ]; }

state_folder() {
    ours || fail "there is no node that slurm_node.sh started."
    head -n 1 "$CONF" | tail -c "+$((${#MARK} + 1))"
}

configuration() {
    local dir=$1 host memory
    host=$(uname -n | cut -d. -f1)
    memory=$(($(awk '/MemTotal/{print $2}' /proc/meminfo) / 1024 - 1024))
    cat <<TEXT
$MARK$dir
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
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(getconf _NPROCESSORS_ONLN) RealMemory=$memory State=UNKNOWN
PartitionName=main Nodes=$host Default=YES MaxTime=INFINITE State=UP
TEXT
}

munge_works() { munge -n 2>/dev/null | unmunge >/dev/null 2>&1; }

# A munged that runs already is used and left alone.
start_munge() {
    local dir=$1
    if munge_works; then return; fi
    install -d -o munge -g munge -m 0755 /run/munge
    install -d -o munge -g munge -m 0700 /etc/munge /var/log/munge /var/lib/munge
    test -s /etc/munge/munge.key || runuser -u munge -- mungekey --create
    runuser -u munge -- munged
    cp /run/munge/munged.pid "$dir/munged.pid"
    wait_until 30 munge_works || fail "munge does not answer; see /var/log/munge/munged.log."
}

node_is_idle() { [ "$(timeout 20 sinfo -h -o %t 2>/dev/null)" = idle ]; }

controller_answers() { timeout 20 scontrol ping 2>/dev/null | grep -q "is UP"; }

start() {
    local dir=$1
    if [ -e "$CONF" ] && ! ours; then
        fail "$CONF belongs to a real cluster; a test node is not started over it."
    fi
    stop # what an interrupted test may have left
    mkdir -p "$dir/state" "$dir/spool" /etc/slurm
    start_munge "$dir"
    configuration "$dir" >"$CONF"
    slurmctld
    slurmd
    if ! wait_until 120 node_is_idle; then
        tail -n 20 "$dir"/*.log >&2
        fail "the node did not become idle within two minutes; the ends of the logs stand above."
    fi
}

# The process of a pid file, if it runs and is what the file is named after: numbers of processes are used again.
process_of() {
    local pid
    pid=$(cat "$1" 2>/dev/null) || return 0
    if runs "$pid" "$(basename "$1" .pid)"; then echo "$pid"; fi
}

# runs PID NAME: a process that ended but that nobody has asked about (a zombie) does not.
runs() { [ -n "$1" ] && [ "$(ps -o comm=,state= -p "$1" 2>/dev/null | awk '$NF != "Z" {print $1}')" = "$2" ]; }

gone() { ! runs "$@"; }

# A daemon removes its pid file before it is gone, and an early restart would talk to the dying one: the process counts.
end() {
    local name pid
    name=$(basename "$1" .pid)
    pid=$(process_of "$1")
    if [ -z "$pid" ]; then return; fi
    kill "$pid" 2>/dev/null || true
    if ! wait_until 20 gone "$pid" "$name"; then
        kill -9 "$pid" 2>/dev/null || true
        wait_until 20 gone "$pid" "$name" || say "$name (process $pid) cannot be ended."
    fi
}

# Keepers of this node's jobs, told from another node's by the log that they write.
keepers() {
    local pid
    for pid in $(pgrep -x slurmstepd); do
        if readlink "/proc/$pid/fd/"* 2>/dev/null | grep -qxF "$1/slurmd.log"; then echo "$pid"; fi
    done
}

# Jobs outlive the daemons; the node knows their processes, whether or not the controller lives.  Without a controller a
# keeper would try to reach it for ever.
end_jobs() {
    local pids
    pids="$(timeout 20 scontrol listpids 2>/dev/null | awk '$1 ~ /^[0-9]+$/ && $1 > 1 {print $1}') $(keepers "$1")"
    # shellcheck disable=SC2086
    kill -9 $pids 2>/dev/null || true
}

stop() {
    local dir
    ours || return 0
    dir=$(state_folder)
    end "$dir/slurmd.pid"
    end_jobs "$dir"
    end "$dir/slurmctld.pid"
    end "$dir/munged.pid"
    # Without a controller every client would wait for one, Snakemake's executor included.
    rm -f "$CONF"
}

kill_controller() {
    local dir pid
    dir=$(state_folder)
    pid=$(process_of "$dir/slurmctld.pid")
    if [ -z "$pid" ]; then fail "the controller does not run."; fi
    kill -9 "$pid"
    wait_until 20 gone "$pid" slurmctld
}

start_controller() {
    local dir
    dir=$(state_folder)
    if [ -n "$(process_of "$dir/slurmctld.pid")" ]; then fail "the controller runs already."; fi
    slurmctld
    wait_until 60 controller_answers || fail "the controller does not answer."
}

case "${1:-}" in
    install | start | stop | kill-controller | start-controller)
        if [ "$(id -u)" != 0 ]; then fail "Slurm's daemons need root; run this as root, or use the cluster you have."; fi
        ;;
esac
case "${1:-}" in
    install)
        exec "$(dirname "$0")/debian_packages.sh" slurmctld=slurmctld slurmd=slurmd slurm-client=squeue munge=munged
        ;;
    start) start "${2:?folder for its state}" ;;
    stop) stop ;;
    kill-controller) kill_controller ;;
    start-controller) start_controller ;;
    *) say "use: slurm_node.sh install | start DIR | stop | kill-controller | start-controller"; exit 2 ;;
esac
