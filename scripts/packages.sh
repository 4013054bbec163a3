#!/bin/sh
# Makes the packages of what `make build` built: two for Debian and a wheel for Python, each with the licences of what is
# linked in and a bill of materials.
#
#   packages.sh MODULE_DIR OUT     OUT: the folder of the packages, made anew
set -eu

modules=$1
out=$2
cargo=${CARGO:-cargo}
tools=target/tools
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
# The moment of the last commit, so that two packages of one commit are alike.
moment=$(git log -1 --format=%ct 2>/dev/null || date +%s)

# A tool from crates.io, at one version.
tool() {
    [ -e "$tools/$1-$2" ] && return
    echo "packages: building $1 $2, once"
    "$cargo" install --quiet --locked --root "$tools" "$1@$2" ${3:+--features $3}
    touch "$tools/$1-$2"
}

# The crates that are linked into a package: licences and bill of materials of the crate with this manifest.
materials() {
    "$tools/bin/cargo-cyclonedx" cyclonedx --quiet --manifest-path "$1" --format json --spec-version 1.5 \
        --no-build-deps --override-filename "ipcmark-bill"
    mkdir -p "$stage/materials/$2"
    mv "$(dirname "$1")/ipcmark-bill.json" "$stage/materials/$2/$2.cdx.json"
    find crates modules -name ipcmark-bill.json -delete
    "$tools/bin/cargo-about" about generate --manifest-path "$1" --config packaging/about.toml --fail \
        packaging/third-party.hbs --output-file "$stage/materials/$2/THIRD-PARTY.txt"
}

# What the packages hold, as files.
fill_stage() {
    mkdir -p "$stage/completions/bash" "$stage/completions/zsh" "$stage/completions/fish" "$stage/modules"
    cp target/release/ipcmark "$stage/"
    "$stage/ipcmark" man "$stage/man"
    "$stage/ipcmark" completions bash >"$stage/completions/bash/ipcmark"
    "$stage/ipcmark" completions zsh >"$stage/completions/zsh/_ipcmark"
    "$stage/ipcmark" completions fish >"$stage/completions/fish/ipcmark.fish"
    cp -r README.md CHANGELOG.md docs examples "$stage/"
    cp "$modules"/*.so "$stage/modules/"
    echo 'apt install ipcmark-modules' >"$stage/install"
    for left_out in 'alephzero its package on PyPI states no licence' 'cpp-ipc it is in no package of Debian'; do
        name=${left_out%% *}
        rm -f "$stage/modules/$name.so"
        echo "make build in a checkout of ipcmark, for ${left_out#* }" >"$stage/modules/$name.install"
    done
    materials crates/cli/Cargo.toml ipcmark
    materials modules/iceoryx2/Cargo.toml iceoryx2
}

# debian/changelog and the two debian/*.copyright, which are not written by hand.
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

# What dpkg-buildpackage says is shown where it fails.
make_debs() {
    if ! command -v dpkg-buildpackage >/dev/null || ! command -v dh >/dev/null; then
        echo 'packages: no packages for Debian, for this system has no debhelper' >&2
        return
    fi
    fill_debian
    (cd "$deb" && SOURCE_DATE_EPOCH=$moment dpkg-buildpackage --build=binary --no-sign >build.log 2>&1) ||
        { tail -n 20 "$deb/build.log" >&2; exit 1; }
    mv "$out"/work/*.deb "$out/"
}

# The wheel is named after the oldest C library that its command can do with.
make_wheel() {
    if ! [ -x "$tools/maturin/bin/maturin" ] && ! python3 -m venv "$tools/maturin" 2>/dev/null; then
        echo 'packages: no wheel, for this system has no Python with venv' >&2
        return
    fi
    "$tools/maturin/bin/python" -m pip install --quiet --disable-pip-version-check maturin==1.16.0
    cp "$stage/materials/ipcmark/THIRD-PARTY.txt" python/THIRD-PARTY.txt
    (cd python && ../"$tools/maturin/bin/maturin" build --quiet --release --out "../$out")
    rm python/THIRD-PARTY.txt
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
rm -rf "$out/work"
ls -l "$out"
