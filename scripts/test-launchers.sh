#!/bin/sh
# Measures with `ipcmark rank` under Open MPI, MPICH and Slurm, and kills a rank to check that all
# ranks end.
#
#   test-launchers.sh COMMAND [LAUNCHER...]
set -eu

here=$(cd "$(dirname "$0")" && pwd)
command=$1
shift
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
rows='-w block -s 64 -n 100 --trials 3 --format json'

fails() {
    echo "test-launchers: $1" >&2
    exit 1
}

# By default Open MPI refuses root, and more ranks than processors.
start() {
    launcher=$1
    shift
    case $launcher in
    openmpi) mpirun.openmpi --allow-run-as-root --oversubscribe "$@" ;;
    mpich) mpiexec.hydra "$@" ;;
    slurm) srun --overcommit --kill-on-bad-exit "$@" ;;
    esac
}

measures() {
    # shellcheck disable=SC2086
    start "$1" -n "$2" "$command" rank -t pipe,tcp $rows --rendezvous meeting -o "$1.json" >/dev/null 2>"$1.log" ||
        fails "$1: $(cat "$1.log")"
    # shellcheck disable=SC2086
    [ "$("$command" show "$1.json" --format csv | grep -c ',ok,')" = 6 ] || fails "$1: not two rows of three trials"
    [ ! -e meeting ] || fails "$1: the ranks left their meeting"
    echo "test-launchers: $1 with $2 ranks"
}

# A launcher ends its job when a rank dies; no rank may remain.
ends() {
    # shellcheck disable=SC2086
    start "$1" -n 2 "$command" rank -t pipe $rows --trials 1000 --rendezvous meeting >/dev/null 2>&1 &
    job=$!
    tries=0
    until rank=$(pgrep -f "^$command rank .*--rendezvous meeting" | tail -n 1) && [ -S meeting/socket ]; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || fails "$1: the ranks do not start"
        sleep 0.1
    done
    sleep 1
    kill -KILL "$rank"
    wait $job && fails "$1: it ends with 0 though a rank was killed"
    rm -rf meeting
    echo "test-launchers: $1 ends with a rank that is killed"
}

# Every pair of four ranks.
pairs() {
    # shellcheck disable=SC2086
    start "$1" -n 4 "$command" rank --all-pairs -t tcp $rows --rendezvous meeting -o "$1.json" >/dev/null \
        2>"$1.log" || fails "$1: $(cat "$1.log")"
    [ "$("$command" show "$1.json" --format csv | grep -c ',ok,')" = 18 ] || fails "$1: not six pairs of three trials"
    [ ! -e meeting ] || fails "$1: the ranks left their meeting"
    echo "test-launchers: $1 with six pairs of four ranks"
}

# Starts Slurm's daemons for these tests only, which start jobs as root.
slurm() {
    if [ "$(id -u)" != 0 ]; then
        echo "test-launchers: Slurm was not run, for its daemons want root"
    else
        sh "$here/slurm.sh" sh "$here/test-launchers.sh" "$command" in-slurm
    fi
}

[ $# -gt 0 ] || set -- openmpi mpich slurm
for launcher; do
    case $launcher in
    slurm)
        slurm
        continue
        ;;
    in-slurm) launcher=slurm ;;
    esac
    measures "$launcher" 2
    measures "$launcher" 3
    pairs "$launcher"
    ends "$launcher"
done
