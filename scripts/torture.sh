#!/bin/bash
# Kills processes once at every name that they make or remove; then sends the given number of random signals to
# processes of random runs, a hundred runs per test, and summarises what they hit. Each test has its own seed;
# IPCMARK_TORTURE='100 SEED' repeats its choices.
set -u

signals=${1:?how many signals}
part=100
cargo=${CARGO:-cargo}
tests=$("$cargo" test --locked --package ipcmark-cli --test end_to_end --no-run --message-format json 2>/dev/null |
    sed -n 's/.*"executable":"\([^"]*end_to_end[^"]*\)".*/\1/p')
[ -n "$tests" ] || { echo 'torture: the tests do not build' >&2; exit 1; }
logs=$(mktemp -d)

summary() { grep '^test result:' "$1" || tail -n 1 "$1"; }

sent=0 failed=0
IPCMARK_TEST_ALL=1 "$tests" leftovers:: >"$logs/leftovers" 2>&1 || failed=1
echo "killed at every name: $(summary "$logs/leftovers")"
while [ "$sent" -lt "$signals" ]; do
    runs=$((signals - sent < part ? signals - sent : part))
    seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
    IPCMARK_TORTURE="$runs $seed" "$tests" --nocapture torture:: >"$logs/$seed" 2>&1 || failed=$((failed + 1))
    sent=$((sent + runs))
    echo "$sent of $signals: $(summary "$logs/$seed")"
done

echo "$failed parts failed, of those killed at every name and $sent runs in parts of $part; what they said: $logs"
sed -n 's/.*torture: \([0-9]*\) \(.*\)/\1 \2/p' "$logs"/* |
    awk '{ count = $1; $1 = ""; hits[$0] += count } END { for (name in hits) print hits[name], "hit" name }' | sort -rn
[ "$failed" -eq 0 ]
