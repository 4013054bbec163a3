#!/bin/sh
# Runs the processor-dependent tests, built for aarch64, under qemu-user: unit tests, the C contract, the conformance
# suite for the operating system's transports and for modules in C and in Rust, and the command.
#
#   test-aarch64.sh
#   test-aarch64.sh OUT     instead, the packages of `make packages ARCH=arm64` in this folder
#
# It does not show: memory order, because qemu uses this processor's (make loom tests all orders that the language
# allows), pages larger than 4 KiB, and times.
set -eu

target=aarch64-unknown-linux-gnu
triple=aarch64-linux-gnu
cargo=${CARGO:-cargo}
qemu=${QEMU:-$(command -v qemu-aarch64 || command -v qemu-aarch64-static || true)}

# Tests that fail because qemu-user differs from Linux. A part of a test's name, and the reason.
left_out='
shared::tests::signal::|qemu-user blocks other signals than the program asks for, which the transport sees
signal::tests::only_a_thread|the same
signal/|the same
sysv_mq::tests::every_length|qemu-user writes over the type of a message where msgrcv finds none, and a spinning end looks often
sysv-mq/spin|the same
sysv-mq/block/steady|qemu-user allocates memory for every msgrcv
this_process_is_among_all_and_faults|qemu-user says 0 page faults
a_mount_point_is_not_crossed|qemu-user has no openat2 before version 9
cma::tests::|qemu-user has no process_vm_readv
a_process_may_read_itself|the same
vsock::buffer::|qemu-user refuses the options of vsock sockets
'

fails() {
    echo "test-aarch64: $1" >&2
    exit 1
}

step() {
    echo "test-aarch64: $1"
}

# A user namespace in which qemu runs the programs of the other processor: the machine is not changed, and no root is
# needed. If root makes it, it contains all users of this machine.
emulating() {
    mkfifo "$place/mapped"
    unshare --user --mount -- sh "$0" --inside "$place" &
    inside=$!
    trap 'kill $inside 2>/dev/null || true; rm -rf "$place"' EXIT
    until [ "$(readlink /proc/$inside/ns/user)" != "$(readlink /proc/self/ns/user)" ]; do sleep 0.1; done
    if [ "$(id -u)" = 0 ]; then
        map='0 0 65536'
    else
        map="0 $(id -u) 1"
        echo deny >/proc/$inside/setgroups
    fi
    echo "$map" >/proc/$inside/uid_map
    if [ "$(id -u)" != 0 ]; then map="0 $(id -g) 1"; fi
    echo "$map" >/proc/$inside/gid_map
    echo >"$place/mapped"
    wait $inside
}

# A 64-bit ELF file for processor 183. O: qemu receives the open file, C: qemu runs with the file's credentials, F: the
# interpreter is opened now, so that it is available in every root file system.
register() {
    mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
    magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
    mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
    printf '%s' ":ipcmark-arm64:M::$magic:$mask:$qemu:OCF" >/proc/sys/fs/binfmt_misc/register
}

build() {
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=$triple-gcc
    export CC_aarch64_unknown_linux_gnu=$triple-gcc CARGO_PROFILE_DEV_DEBUG=0
    step 'building'
    "$cargo" test --quiet --locked --target $target --no-run --message-format json \
        -p ipcmark-transport -p ipcmark-fdpass -p ipcmark-native -p ipcmark-machine -p ipcmark-contract -p ipcmark-abi \
        -p ipcmark-conformance >"$place/messages"
    sed -n 's/.*"name":"\([^"]*\)".*"test":true.*"executable":"\([^"]*\)".*/\1 \2/p' "$place/messages" |
        grep -vE '^(fastdds|faulty|walk_through) ' >"$place/tests"
    "$cargo" build --quiet --locked --target $target -p ipcmark-cli
}

# Tests that compile must use the compilers for the other processor.
other_compilers() {
    mkdir "$place/bin"
    ln -s "$(command -v $triple-gcc)" "$place/bin/cc"
    ln -s "$(command -v $triple-g++)" "$place/bin/c++"
    PATH=$place/bin:$PATH
    export PATH QEMU_LD_PREFIX=/usr/$triple
    # Installed modules are for this processor.
    unset IPCMARK_MODULE_PATH
}

# True if a process can adopt orphans, as the process that examines a module does: qemu-user 7.2 in Debian 12 refuses
# it, and modules are left out.
adopts() {
    {
        echo '#include <sys/prctl.h>'
        echo 'int main(void) { return prctl(PR_SET_CHILD_SUBREAPER, 1) != 0; }'
    } >"$place/adopts.c"
    cc "$place/adopts.c" -o "$place/adopts"
    "$place/adopts" && return
    step "left out: modules, whose processes adopt orphans: $("$qemu" --version | head -n 1) refuses it"
    step '(Debian 13 and the backports of 12 have one that does not; QEMU=FILE names it)'
    false
}

# Checks the modules in the packages: one per library, each a file for aarch64 that exports one function, apart from weak
# symbols of C++ templates and a reserved name of iceoryx2's, and names the packages of its libraries.
unpack() {
    step 'the packages'
    for package in "$1"/ipcmark_*.deb "$1"/ipcmark-modules_*.deb; do dpkg-deb --extract "$package" "$place/root"; done
    packaged=$place/root/usr/lib/ipcmark/modules
    for folder in modules/*/module.toml; do
        module=$packaged/$(basename "$(dirname "$folder")")
        [ -e "$module.so" ] || grep -q '^make build' "$module.install" || fails "there is no $module.so"
    done
    for module in "$packaged"/*.so; do
        readelf --file-header "$module" | grep -q AArch64 || fails "$module is not for aarch64"
        exported=$(nm --dynamic --defined-only "$module" | sed -n 's/^[^ ]* [A-TX-Z] //p' | grep -v '^__internal')
        [ "$exported" = ipcmark_module ] || fails "$module exports $exported"
        ! readelf --dynamic "$module" | grep NEEDED | grep -qvE 'lib(c|m|gcc_s|stdc\+\+)\.so|ld-linux' ||
            grep -q '^apt install' "${module%.so}.install" || fails "$module does not say which package has its library"
    done
}

# Every row of these modules can run with the libraries that they were linked with, unless qemu-user lacks the system
# call, or this machine the server.
run_packages() {
    adopts || return 0
    step 'ipcmark list'
    # Modules have 15 s to answer, which is not enough for Python on a busy machine.
    for _ in 1 2 3 4 5 6; do
        QEMU_LD_PREFIX=$PWD/target/sysroot-arm64 "$place/root/usr/bin/ipcmark" list --format json >"$place/list"
        grep -q '"reason": "it did not answer' "$place/list" || break
    done
    awk -F '"' '/^    "family"/ { row = $4 } /^    "name"/ { row = row " " $4 } /^    "reason": "/ { print row, $4 }' \
        "$place/list" >"$place/reasons"
    ! grep -vE '^(os|alephzero|cpp-ipc) |process_vm_readv|there is no such program' "$place/reasons" ||
        fails 'these cannot run'
}

skips() {
    echo "$left_out" | sed -n 's/^\([^|]*\)|.*/--skip \1/p'
}

suite() {
    step "$1"
    # shellcheck disable=SC2046
    "$2" --quiet $(skips) || fails "$1 failed"
}

# One transport of each kind of mechanism.
command_measures() {
    step 'the command'
    target/$target/debug/ipcmark run -t pipe,uds-stream,tcp,posix-mq,shm-ring,shm-slot,memfd -w all -s 64 -n 50 \
        --trials 3 --format csv >"$place/rows" 2>"$place/words" || fails "$(tail -n 20 "$place/words")"
    measured=$(grep ',ok,' "$place/rows" | cut -d, -f1 | sort -u | wc -l)
    [ "$measured" = 7 ] || fails "$measured transports were measured, not 7: $(cat "$place/rows")"
}

run_all() {
    echo "$left_out" | sed -n 's/^\([^|]*\)|\(.*\)/test-aarch64: left out: \1: \2/p'
    grep -vE '^(conformance|exported) ' "$place/tests" | while read -r name file; do suite "$name" "$file"; done
    command_measures
    adopts || return 0
    grep -E '^(conformance|exported) ' "$place/tests" | while read -r name file; do suite "$name" "$file"; done
}

if [ "${1:-}" = --inside ]; then
    place=$2
    read -r _ <"$place/mapped"
    register
    other_compilers
    if [ -e "$place/root" ]; then run_packages; else run_all; fi
    step 'all holds'
    exit
fi
[ -n "$qemu" ] || fails 'there is no qemu-aarch64: apt install qemu-user'
command -v $triple-gcc >/dev/null || fails "there is no $triple-gcc: apt install gcc-$triple"
"$cargo" --version >/dev/null
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
export QEMU="$qemu"
if [ $# = 1 ]; then unpack "$1"; else build; fi
emulating
