#!/bin/sh
# Checks that the packages in a folder have the names that other tools look for: cargo-binstall by the templates in
# crates/cli/Cargo.toml, the release by .github/workflows/release.yml.
#
#   package-names.sh TARGET OUT     TARGET: the Rust target triple; OUT: the folder of packages.sh
set -eu

target=$1
out=$2
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)

fails() {
    echo "package-names: $1" >&2
    exit 1
}

# A template of cargo-binstall, filled in for this version and target.
filled() {
    sed -n "s/^$1 = \"\(.*\)\"/\1/p" crates/cli/Cargo.toml |
        sed "s/{ version }/$version/g; s/{ target }/$target/g; s/{ bin }/ipcmark/g; s/{ binary-ext }//g"
}

archive=$(basename "$(filled pkg-url)")
[ -f "$out/$archive" ] || fails "cargo-binstall looks for $archive, which is not in $out"
tar -tzf "$out/$archive" | grep -qx "$(filled bin-dir)" || fails "cargo-binstall looks for $(filled bin-dir) in $archive"

# The files that the release uploads from this folder, one pattern per line, each of which must match a file.
missing=$(sed -n "s:^ *\($out/[^ ]*\)$:\1:p" .github/workflows/release.yml |
    while read -r pattern; do
        # shellcheck disable=SC2086
        ls $pattern >/dev/null 2>&1 || echo "$pattern"
    done)
[ -z "$missing" ] || fails "the release uploads $missing, which is not there"
