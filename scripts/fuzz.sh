#!/bin/sh
# Runs libFuzzer to find inputs for which a target panics or hangs, on stable Rust and without sanitizers, and keeps a
# few dozen inputs that reach most of the reached code: crates/fuzz/corpus/TARGET. Findings are written to
# target/fuzz/found/TARGET-*; a finding copied to the corpus as found-NAME stays there.
set -eu

target=${1:?which target; they are the files in crates/fuzz/src/targets}
seconds=${2:?how many seconds}
cargo=${CARGO:-cargo}
host=$(rustc -vV | sed -n 's/^host: //p')
cd "$(dirname "$0")/.."
kept=crates/fuzz/corpus/$target
found=target/fuzz/found/$target
mkdir -p "$kept" "$found"

# The flags that cargo-fuzz passes to rustc. The explicit target keeps them away from build scripts and procedural
# macros.
RUSTFLAGS='-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table
    -Cllvm-args=-sanitizer-coverage-trace-compares' \
CARGO_PROFILE_RELEASE_OPT_LEVEL=3 \
CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS=true CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS=true \
    "$cargo" build --quiet --release --locked --package ipcmark-fuzz --features libfuzzer --bin fuzz \
    --target "$host" --target-dir target/fuzz
fuzz=$PWD/target/fuzz/$host/release/fuzz

export IPCMARK_FUZZ="$target"
"$fuzz" "$found" "$kept" -artifact_prefix="$found-" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
    -use_value_profile=1 -print_final_stats=1 -verbosity=0

# Keeps the smallest set that reaches all of it, or a sample over all lengths if it is large. Former findings stay.
fewest=$(mktemp -d)
"$fuzz" -set_cover_merge=1 "$fewest" "$kept" "$found" 2>/dev/null
step=$(($(ls "$fewest" | wc -l) / 50 + 1))
find "$kept" -type f ! -name 'found-*' -delete
ls -S -r "$fewest" | awk -v step="$step" 'NR % step == 0' | while read -r input; do
    cp "$fewest/$input" "$kept/"
done
echo "kept $(ls "$kept" | wc -l) of $(ls "$fewest" | wc -l) inputs in $kept"
rm -rf "$fewest"
