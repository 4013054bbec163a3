#!/bin/sh
# Runs a command in a single-machine Slurm, whose daemons, state and sockets are in a private directory: nothing is left
# behind, and the system's Slurm is not touched. As root, because slurmd starts jobs as their user.
#
#   slurm.sh COMMAND [ARGUMENT...]
set -eu

place=$(mktemp -d)
daemons=''
ends() {
    status=$?
    # shellcheck disable=SC2086
    [ -z "$daemons" ] || kill $daemons 2>/dev/null || true
    wait
    [ $status = 0 ] || tail -n 5 "$place"/*.log >&2 || true
    rm -rf "$place"
    exit $status
}
trap ends EXIT
trap 'exit 143' TERM
trap 'exit 130' INT
chmod 755 "$place"

# Debian's alternatives may lie outside the PATH.
daemon() {
    PATH="$PATH:/usr/sbin:/sbin" command -v "$1-wlm" || PATH="$PATH:/usr/sbin:/sbin" command -v "$1"
}

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])'
}

awaits() {
    tries=0
    until "$@" >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ $tries -lt 300 ] || {
            echo "slurm: waited in vain for: $*" >&2
            exit 1
        }
        sleep 0.2
    done
}

mkdir "$place/munge" "$place/state" "$place/spool"
dd if=/dev/urandom of="$place/munge/key" bs=1024 count=1 2>/dev/null
chmod 700 "$place/munge"
chmod 600 "$place/munge/key"
# Its directory is closed to other users: --force, because it would warn that they cannot reach the socket.
"$(daemon munged)" --foreground --force --key-file="$place/munge/key" --socket="$place/munge/socket" \
    --pid-file="$place/munge/pid" --log-file="$place/munge.log" --seed-file="$place/munge/seed" \
    >"$place/munged.log" 2>&1 &
daemons="$daemons $!"
awaits test -S "$place/munge/socket"

cat >"$place/slurm.conf" <<END
ClusterName=ipcmark
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$place/munge/socket
CredType=cred/munge
StateSaveLocation=$place/state
SlurmdSpoolDir=$place/spool
SlurmctldPidFile=$place/slurmctld.pid
SlurmdPidFile=$place/slurmd.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/linear
MpiDefault=none
ReturnToService=2
${SLURM_PLUGINS:+PluginDir=$SLURM_PLUGINS}
NodeName=$(hostname -s) NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES OverSubscribe=FORCE State=UP
END
# Nothing here uses control groups, but slurmd has no plugin without them: this one searches a nonexistent mount point.
printf 'CgroupPlugin=cgroup/v1\nCgroupMountpoint=/nonexistent\n' >"$place/cgroup.conf"
export SLURM_CONF="$place/slurm.conf"
"$(daemon slurmctld)" -D -i -f "$SLURM_CONF" >"$place/slurmctld.log" 2>&1 &
daemons="$daemons $!"
stepd=$(daemon slurmstepd)
"$(daemon slurmd)" -D -f "$SLURM_CONF" -d "$stepd" >"$place/slurmd.log" 2>&1 &
daemons="$daemons $!"
is_idle() { sinfo --noheader --format=%T | grep -qx idle; }
awaits is_idle
status=0
"$@" || status=$?
# The processes that serve a job end only after the daemons have seen the job's end.
awaits is_idle
exit $status
