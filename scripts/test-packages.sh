#!/bin/sh
# Installs the packages from packages.sh into a root file system of Debian packages only, measures with them, removes
# them and looks for leftovers; then does the same with the wheel in a new environment. Needs root, mmdebstrap and
# Debian's archive.
#
#   test-packages.sh OUT     the folder of the packages
set -eu

out=$(cd "$1" && pwd)
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")

inside() {
    chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        sh -euc "$1"
}

fails() {
    echo "test-packages: $1" >&2
    exit 1
}

step() {
    echo "test-packages: $1"
}

install() {
    inside "apt-get install -y -qq $1 >/root/apt.log 2>&1 || { cat /root/apt.log; exit 1; }"
}

# A package may leave lists, caches and copies made by Debian's own tools, and files of other packages.
files() {
    inside 'find / -xdev ! -type d ! -path "/root/*" ! -path "/var/lib/dpkg/*" ! -path "/var/lib/apt/*" \
        ! -path "/var/cache/*" ! -path "/var/log/*" ! -path "/etc/ld.so.cache" ! -path "/etc/*-" \
        ! -path "/run/adduser" | sort'
}

# Every available row is measured, and no file of a run is left.
measures() {
    inside "ipcmark run $1 -w all -s 64 -n 100 --trials 3 -o /root/result.json >/root/table" ||
        fails "$(cat "$root/root/table")"
    # One line per trial: count the pairs of transport and wait.
    rows=$(inside 'ipcmark show /root/result.json --format csv' | grep ',ok,' | cut -d, -f1,6 | sort -u | wc -l)
    [ "$rows" -ge "$2" ] || fails "$1: $rows rows were measured, not $2"
    ! inside 'ls -d /tmp/ipcmark-* /dev/shm/*' 2>/dev/null || fails 'a run left something'
}

lists() {
    inside "ipcmark list $1" | tr -s ' \n' ' ' | grep -F -- "$2" >/dev/null || fails "ipcmark list $1 does not say '$2'"
}

debian() {
    step "a root of Debian's packages alone"
    root=$(mktemp -d)
    trap 'umount -R "$root" && rm -rf "$root"' EXIT
    mmdebstrap --quiet --variant=minbase "$suite" "$root"
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"
    mount -t sysfs -o ro sysfs "$root/sys"
    mount -t devpts devpts "$root/dev/pts" -o newinstance,ptmxmode=0666 2>/dev/null || true
    mkdir -p "$root/dev/shm"
    mount -t tmpfs tmpfs "$root/dev/shm"
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    cp "$out"/*.deb "$root/root/"
    inside 'rm -f /root/*-dbgsym_*.deb; apt-get update -qq'
    files >"$out/before"

    step 'the command alone'
    install '--no-install-recommends /root/ipcmark_*.deb'
    inside 'ipcmark --version; test -e /usr/share/man/man1/ipcmark-run.1.gz -a -e /usr/share/doc/ipcmark/THIRD-PARTY.txt.gz'
    measures '-t os' 20
    lists zeromq-ipc 'apt install ipcmark-modules'

    step 'the modules, without a library'
    install '--no-install-recommends /root/ipcmark-modules_*.deb'
    measures '-t boost,iceoryx2,zenoh,tonic,varlink,aeron' 22
    lists zeromq-ipc 'apt install libzmq5'

    step 'the modules, with one library'
    install '--no-install-recommends libzmq5'
    measures '-t zeromq' 6
    for row in nng-ipc cyclonedds fastdds-udp; do lists $row 'install it with: apt install lib'; done
    inside 'apt-get purge -y -qq --autoremove libzmq5 >/dev/null'

    step 'the modules, with every library'
    inside 'apt-get purge -y -qq ipcmark-modules >/dev/null'
    install '--install-recommends /root/ipcmark-modules_*.deb'
    measures '-t zeromq,nng,boost,iceoryx,iceoryx2,zenoh,fastdds,cyclonedds,ucx,libfabric,dbus,python,grpc,tonic,varlink,redis,nanomsg,aeron,capnproto,lcm' 82

    step 'nothing is left when they are removed'
    inside 'apt-get purge -y -qq --autoremove -o APT::AutoRemove::RecommendsImportant=false "ipcmark*" >/dev/null'
    files >"$out/after"
    left=$(comm -13 "$out/before" "$out/after" | head -n 20)
    [ -z "$left" ] || fails "they left $left"
    rm "$out/before" "$out/after"
}

wheel() {
    step 'the wheel, in an environment of its own'
    place=$(mktemp -d)
    python3 -m venv "$place"
    "$place/bin/python" -m pip install --quiet --disable-pip-version-check "$out"/ipcmark-*.whl
    "$place/bin/ipcmark" run -t pipe,shm-ring -s 64 -n 100 --trials 3 --format json >/dev/null
    ! "$place/bin/python" -c 'import ipcmark' 2>"$place/said" || fails 'ipcmark is imported without what it needs'
    grep -q "pip install 'ipcmark\[data\]'" "$place/said" || fails "$(cat "$place/said")"
    "$place/bin/python" -m pip install --quiet --disable-pip-version-check "$(ls "$out"/ipcmark-*.whl)[data]"
    (cd "$place" && bin/python -c 'import ipcmark; assert len(ipcmark.run("-t pipe -w block -s 64 -n 100 --trials 3").rows)')
    "$place/bin/python" -m pip uninstall --quiet --yes ipcmark
    ! [ -e "$place/bin/ipcmark" ] || fails 'the wheel left its command'
    rm -rf "$place"
}

# Builds the command only from the packages for crates.io: each is unpacked with current timestamps for cargo, and
# replaces the crate in the registry.
crates() {
    step 'the command, from its crates'
    cargo=${CARGO:-cargo}
    names=$(grep -L '^publish = false' crates/*/Cargo.toml | sed 's:crates/\(.*\)/.*:ipcmark-\1:')
    # shellcheck disable=SC2046
    "$cargo" package --quiet --locked --allow-dirty --no-verify $(printf -- '-p %s ' $names) 2>"$out/crates.log" ||
        fails "$(tail -n 5 "$out/crates.log")"
    rm "$out/crates.log"
    place=$(mktemp -d)
    for name in $names; do
        tar -xzmf target/package/"$name"-[0-9]*.crate -C "$place"
        echo "$name = { path = \"$(cd "$place" && echo "$name"-[0-9]*)\" }" >>"$place/patches"
    done
    { printf '[workspace]\nresolver = "3"\nmembers = ["ipcmark-*"]\n[patch.crates-io]\n'; cat "$place/patches"; } \
        >"$place/Cargo.toml"
    cp Cargo.lock "$place/"
    "$cargo" update --quiet --workspace --manifest-path "$place/Cargo.toml"
    "$cargo" install --quiet --root "$place" --path "$place"/ipcmark-cli-* --target-dir target/crates --debug
    "$place/bin/ipcmark" run -t pipe -s 64 -n 100 --trials 3 --format json >/dev/null
    rm -rf "$place"
}

case ${2:-} in
debian) debian ;;
'')
    [ "$(id -u)" = 0 ] || fails 'only root can make a root to install in; sudo make test-packages'
    command -v mmdebstrap >/dev/null || fails 'there is no mmdebstrap: apt install mmdebstrap'
    unshare --mount --pid --fork --kill-child sh "$0" "$out" debian
    wheel
    crates
    step 'all holds'
    ;;
esac
