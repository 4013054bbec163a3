#!/bin/bash
# Kills processes once at every name that they make or remove; then sends the given number of random signals to
# processes of random runs, a hundred runs per test, and summarises what they hit. Runs mostly wait, so several tests
# run at once: two per processor, or as many as the second argument says. Each test has its own seed;
# IPCMARK_TORTURE='100 SEED' repeats its choices.
set -u

signals=${1:?how many signals}
jobs=${2:-$((2 * $(nproc)))}
part=100
cargo=${CARGO:-cargo}
tests=$("$cargo" test --locked --package ipcmark-cli --test end_to_end --no-run --message-format json 2>/dev/null |
    sed -n 's/.*"executable":"\([^"]*end_to_end[^"]*\)".*/\1/p')
[ -n "$tests" ] || { echo 'torture: the tests do not build' >&2; exit 1; }
logs=$(mktemp -d)
export tests logs

summary() { grep '^test result:' "$1" || tail -n 1 "$1"; }

# Sends this many signals; false if a test failed.
send() {
    local seed status=0
    seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
    IPCMARK_TORTURE="$1 $seed" "$tests" --nocapture torture:: >"$logs/$seed" 2>&1 || status=1
    echo "$1 runs, seed $seed: $(summary "$logs/$seed")"
    return "$status"
}
export -f summary send

failed=0
IPCMARK_TEST_ALL=1 "$tests" leftovers:: >"$logs/leftovers" 2>&1 || failed=1
echo "killed at every name: $(summary "$logs/leftovers")"
# The last part is the rest.
for ((sent = 0; sent < signals; sent += part)); do
    echo $((signals - sent < part ? signals - sent : part))
done | xargs -P "$jobs" -I '{}' bash -c 'send {}' || failed=1

echo "$([ "$failed" -eq 0 ] && echo 'nothing failed' || echo 'some failed'), of those killed at every name and" \
    "$signals runs in parts of $part; what they said: $logs"
sed -n 's/.*torture: \([0-9]*\) \(.*\)/\1 \2/p' "$logs"/* |
    awk '{ count = $1; $1 = ""; hits[$0] += count } END { for (name in hits) print hits[name], "hit" name }' | sort -rn
[ "$failed" -eq 0 ]
