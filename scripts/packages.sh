#!/bin/sh
# Makes packages of the build: two for Debian, a wheel for Python and an archive, each with the licences of the linked
# crates and a bill of materials.
#
#   packages.sh MODULE_DIR OUT           of this machine's command, and the modules from `make build`
#   packages.sh MODULE_DIR OUT arm64     of both cross-built for aarch64-unknown-linux-gnu
#
# OUT is the folder for the packages; its old content is removed.
set -eu

modules=$1
out=$2
cross=${3:-}
case $cross in
'')
    target=$(rustc -vV | sed -n 's/^host: //p')
    binary=target/release/ipcmark
    ;;
arm64)
    target=aarch64-unknown-linux-gnu
    binary=target/$target/release/ipcmark
    libraries=/usr/aarch64-linux-gnu/lib
    sysroot=$PWD/target/sysroot-arm64
    ;;
*)
    echo "packages: there is no cross build for $cross, only for arm64" >&2
    exit 2
    ;;
esac
cargo=${CARGO:-cargo}
tools=target/tools
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
# The time of the last commit, so that two builds of one commit give equal packages.
moment=$(git log -1 --format=%ct 2>/dev/null || date +%s)

# Installs one version of a tool from crates.io.
tool() {
    [ -e "$tools/$1-$2" ] && return
    echo "packages: building $1 $2, once"
    "$cargo" install --quiet --locked --root "$tools" "$1@$2" ${3:+--features $3}
    touch "$tools/$1-$2"
}

# The licences and the bill of materials of the crates linked into the crate with this manifest.
materials() {
    "$tools/bin/cargo-cyclonedx" cyclonedx --quiet --manifest-path "$1" --format json --spec-version 1.5 \
        --target "$target" --no-build-deps --override-filename "ipcmark-bill"
    mkdir -p "$stage/materials/$2"
    mv "$(dirname "$1")/ipcmark-bill.json" "$stage/materials/$2/$2.cdx.json"
    find crates modules -name ipcmark-bill.json -delete
    "$tools/bin/cargo-about" about generate --manifest-path "$1" --config packaging/about.toml --fail \
        packaging/third-party.hbs --output-file "$stage/materials/$2/THIRD-PARTY.txt"
}

# Runs the command, under qemu-user if it is for another processor. The C library is passed by name: with its prefix
# option, qemu would also look up every other path below the prefix.
built() {
    if [ -n "$cross" ]; then
        qemu-aarch64 $libraries/ld-linux-aarch64.so.1 --library-path $libraries "$stage/ipcmark" "$@"
    else
        "$stage/ipcmark" "$@"
    fi
}

# Collects the files for the packages.
fill_stage() {
    mkdir -p "$stage/completions/bash" "$stage/completions/zsh" "$stage/completions/fish" "$stage/modules"
    cp "$binary" "$stage/"
    built man "$stage/man"
    built completions bash >"$stage/completions/bash/ipcmark"
    built completions zsh >"$stage/completions/zsh/_ipcmark"
    built completions fish >"$stage/completions/fish/ipcmark.fish"
    cp -r README.md CHANGELOG.md LICENSE-* docs examples "$stage/"
    materials crates/cli/Cargo.toml ipcmark
    fill_modules
}

fill_modules() {
    cp "$modules"/*.so "$stage/modules/"
    echo 'apt install ipcmark-modules' >"$stage/install"
    for left_out in 'alephzero its package on PyPI states no licence and is for x86-64' \
        'cpp-ipc it is in no package of Debian'; do
        name=${left_out%% *}
        rm -f "$stage/modules/$name.so"
        echo "make build in a checkout of ipcmark, for ${left_out#* }" >"$stage/modules/$name.install"
    done
    materials modules/iceoryx2/Cargo.toml iceoryx2
    materials modules/zenoh/Cargo.toml zenoh
    materials modules/tonic/Cargo.toml tonic
    materials modules/varlink/Cargo.toml varlink
}

# Generates debian/changelog and the two debian/*.copyright.
fill_debian() {
    cp -r packaging/debian "$deb/"
    {
        echo "ipcmark ($version) unstable; urgency=medium"
        echo
        echo '  * See CHANGELOG.md.'
        echo
        sed -n 's/^Maintainer: \(.*\)/ -- \1  /p' packaging/debian/control | tr -d '\n'
        date -u -R -d "@$moment"
    } >"$deb/debian/changelog"
    for package in ipcmark ipcmark-modules; do
        {
            cat packaging/copyright
            echo
            cat LICENSE-MIT
            [ "$package" = ipcmark ] || cat packaging/copyright-modules
        } >"$deb/debian/$package.copyright"
    done
}

# Shows the output of dpkg-buildpackage only if it fails.
make_debs() {
    if ! command -v dpkg-buildpackage >/dev/null || ! command -v dh >/dev/null; then
        echo 'packages: no packages for Debian, for this system has no debhelper' >&2
        return
    fi
    fill_debian
    # The files are already compiled: the packages that dpkg would require for a cross build are not needed.
    (cd "$deb" && IPCMARK_SYSROOT=${sysroot:-} SOURCE_DATE_EPOCH=$moment dpkg-buildpackage --build=binary --no-sign \
        ${cross:+--host-arch=$cross --no-check-builddeps} >build.log 2>&1) ||
        { tail -n 20 "$deb/build.log" >&2; exit 1; }
    mv "$out"/work/*.deb "$out/"
}

# The wheel's name contains the oldest C library version that its command works with.
make_wheel() {
    if ! [ -x "$tools/maturin/bin/maturin" ] && ! python3 -m venv "$tools/maturin" 2>/dev/null; then
        echo 'packages: no wheel, for this system has no Python with venv' >&2
        return
    fi
    "$tools/maturin/bin/python" -m pip install --quiet --disable-pip-version-check maturin==1.16.0
    cp "$stage/materials/ipcmark/THIRD-PARTY.txt" python/THIRD-PARTY.txt
    (cd python && ../"$tools/maturin/bin/maturin" build --quiet --release ${cross:+--target "$target"} --out "../$out")
    rm python/THIRD-PARTY.txt
}

# The archive for cargo-binstall; crates/cli/Cargo.toml defines the names.
make_archive() {
    name=ipcmark-$version-$target
    mkdir "$out/work/$name"
    cp -r "$stage/ipcmark" "$stage/man" "$stage/completions" "$stage/README.md" "$stage"/LICENSE-* \
        "$stage/materials/ipcmark/THIRD-PARTY.txt" "$stage/materials/ipcmark/ipcmark.cdx.json" "$out/work/$name/"
    tar -C "$out/work" --sort=name --mtime="@$moment" --owner=0 --group=0 --numeric-owner -cf - "$name" |
        gzip -n >"$out/$name.tar.gz"
    cp "$stage/materials/ipcmark/ipcmark.cdx.json" "$out/$name.cdx.json"
}

rm -rf "$out"
mkdir -p "$out/work/deb"
deb=$PWD/$out/work/deb
stage=$deb/stage
tool cargo-cyclonedx 0.5.9
tool cargo-about 0.9.3 cli
fill_stage
make_debs
make_wheel
make_archive
rm -rf "$out/work"
ls -l "$out"
sh scripts/package-names.sh "$target" "$out"
