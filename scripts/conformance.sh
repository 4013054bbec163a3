#!/bin/sh
# Runs the conformance suite; a name (TRANSPORT, TRANSPORT/WAIT or TRANSPORT/WAIT/CHECK) selects a part of it, which
# must exist. A transport that fails now and then has failed: nothing is run a second time.
set -eu
export IPCMARK_TEST_STRICT=1 IPCMARK_TEST_ALL=1

cargo=${CARGO:-cargo}

suite() {
    "$cargo" test --locked --workspace --no-fail-fast "$@"
}

if [ $# -eq 0 ]; then
    suite --test native --test conformance --test exported
    exit
fi

# One suite contains the transports of the operating system, the other those of modules.
for name in native conformance; do
    # Without -q, grep reads to the end: otherwise writing the list would fail, and with it the test.
    if suite --quiet --test "$name" -- --list | grep "^$1[/:]" >/dev/null; then
        IPCMARK_CONFORM=$1 suite --test "$name"
        exit
    fi
done
echo "conformance: no transport or check is called '$1'; ipcmark list shows the transports" >&2
exit 1
