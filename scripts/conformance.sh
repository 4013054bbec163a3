#!/bin/sh
# Runs the conformance suite; with a name (TRANSPORT, TRANSPORT/WAIT or TRANSPORT/WAIT/CHECK) that part of
# it, which must be there. A transport that fails now and then has failed: nothing is run a second time.
set -eu
export IPCMARK_TEST_STRICT=1

cargo=${CARGO:-cargo}

suite() {
    "$cargo" test --locked --workspace --no-fail-fast "$@"
}

if [ $# -eq 0 ]; then
    suite --test native --test conformance --test exported
    exit
fi

# The transports of the operating system are in one suite, those of modules in the other.
for name in native conformance; do
    # grep reads to the end: a list that cannot be written is a failed test.
    if suite --quiet --test "$name" -- --list | grep "^$1[/:]" >/dev/null; then
        IPCMARK_CONFORM=$1 suite --test "$name"
        exit
    fi
done
echo "conformance: no transport or check is called '$1'; ipcmark list shows the transports" >&2
exit 1
