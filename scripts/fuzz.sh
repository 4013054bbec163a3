#!/bin/sh
# Lets libFuzzer look for bytes at which a target panics or hangs, on stable Rust and without sanitizers, and keeps a
# few dozen inputs that reach most of what was reached: crates/fuzz/corpus/TARGET. The input of a finding lies beside
# target/fuzz/found/TARGET; one that is copied to the corpus as found-NAME stays there.
set -eu

target=${1:?which target; they are the files in crates/fuzz/src/targets}
seconds=${2:?how many seconds}
cargo=${CARGO:-cargo}
host=$(rustc -vV | sed -n 's/^host: //p')
cd "$(dirname "$0")/.."
kept=crates/fuzz/corpus/$target
found=target/fuzz/found/$target
mkdir -p "$kept" "$found"

# What cargo-fuzz has rustc do. A target of its own keeps the flags from build scripts and procedural macros.
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

# The fewest that reach all of it, spread over short and long ones where they are many. What once was a finding stays.
fewest=$(mktemp -d)
"$fuzz" -set_cover_merge=1 "$fewest" "$kept" "$found" 2>/dev/null
step=$(($(ls "$fewest" | wc -l) / 50 + 1))
find "$kept" -type f ! -name 'found-*' -delete
ls -S -r "$fewest" | awk -v step="$step" 'NR % step == 0' | while read -r input; do
    cp "$fewest/$input" "$kept/"
done
echo "kept $(ls "$kept" | wc -l) of $(ls "$fewest" | wc -l) inputs in $kept"
rm -rf "$fewest"
