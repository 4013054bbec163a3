#!/bin/bash
# Runs the end-to-end tests repeatedly, half of the runs with a busy loop on each processor, and counts the failures of
# each test. A failed test is not run a second time.
set -u
export IPCMARK_TEST_STRICT=1

runs=${1:?how many runs}
cargo=${CARGO:-cargo}
tests=$("$cargo" test --locked --workspace --test end_to_end --no-run --message-format json 2>/dev/null |
    sed -n 's/.*"executable":"\([^"]*end_to_end[^"]*\)".*/\1/p')
[ -n "$tests" ] || { echo 'soak: the tests do not build' >&2; exit 1; }
logs=$(mktemp -d)
busy=''

start_busy_loops() {
    for _ in $(seq "$(nproc)"); do
        while :; do :; done &
        busy="$busy $!"
        disown
    done
}

stop_busy_loops() {
    # shellcheck disable=SC2086
    [ -z "$busy" ] || kill $busy
    busy=''
}
trap stop_busy_loops EXIT

failed=0
for run in $(seq "$runs"); do
    if [ $((run % 2)) -eq 0 ]; then start_busy_loops; fi
    "$tests" >"$logs/$run" 2>&1 || failed=$((failed + 1))
    echo "run $run of $runs${busy:+, beside busy loops}: $(grep '^test result:' "$logs/$run" || tail -n 1 "$logs/$run")"
    stop_busy_loops
done

echo "$failed of $runs runs failed; what they said: $logs"
grep -h ' \.\.\. FAILED' "$logs"/* | sort | uniq -c | sort -rn
[ "$failed" -eq 0 ]
