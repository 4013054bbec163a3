#!/bin/sh
# Installs missing packages for building ipcmark. Uses no network if nothing is missing.
#
#   deps.sh           compilers, and the libraries that modules are built for
#   deps.sh aarch64   also tools to build for aarch64, and to run the result
#   deps.sh broker    also dbus-broker, which Debian makes the machine's own bus from its next start on, and
#                     nats-server and redis-server, of which Debian starts one each for the machine
#   deps.sh browser   also a browser to test the report, shells to test completion, and network tools to test runs
#                     by hand
#   deps.sh image     also tools to build a container image
#   deps.sh lint      also tools to check C and C++
#   deps.sh launchers also the launchers that start the ranks of a job
#   deps.sh packages  also tools to build packages, and to make a root file system to install them in
#   deps.sh python    also Python with virtual environments, and the tool that compares results of Google Benchmark
#   deps.sh sysroot   also the libraries for modules that are built for aarch64, at target/sysroot-arm64
#
# With IPCMARK_ASK=1 and a user at the terminal, it first shows what it would install, with the size. After a no, the
# build continues without the missing packages. YES=1 answers yes.
set -eu

packages='gcc g++ libc6-dev make cmake pkg-config'

# The packages of the libraries that modules are built for, as each module.toml names them. If this system does not
# offer one, its transports are left out, without an error.
libraries=$(sed -n 's/^install = "apt install \(.*\) && make build"$/\1/p' modules/*/module.toml |
    tr ' ' '\n' | sort -u)

# AlephZero has no Debian package; the source package on PyPI contains headers and a static library.
alephzero=0.3.17
alephzero_sha256=cf3a7c73127b4fda58ece0b8abc2a5f48816b4396a27a77fb2e70992263e9686

# Tests and checks that need a missing one of these report that they were not run.
case ${1:-} in
aarch64) libraries="$libraries gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user" ;;
broker) libraries="$libraries dbus-broker nats-server redis-server" ;;
browser)
    libraries="$libraries iproute2 iptables zsh fish"
    { command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null ||
        libraries="$libraries chromium"
    ;;
packages)
    libraries="$libraries debhelper dpkg-dev mmdebstrap"
    python3 -c 'import ensurepip, venv' 2>/dev/null || libraries="$libraries python3 python3-venv"
    ;;
image) libraries="$libraries buildah mmdebstrap" ;;
launchers) libraries="$libraries openmpi-bin mpich slurmctld slurmd slurm-client munge python3" ;;
lint) libraries="$libraries clang-format-19 clang-tidy-19" ;;
python)
    libraries="$libraries libbenchmark-tools"
    python3 -c 'import ensurepip, venv' 2>/dev/null || libraries="$libraries python3 python3-venv"
    ;;
sysroot)
    of_sysroot="libc6-dev $libraries"
    libraries="$libraries dpkg-dev mmdebstrap"
    ;;
esac

# Packages that the system does not offer, recorded so that the network is asked only once. `make clean` removes the
# record.
not_offered=target/not-offered

# Set if the user wants nothing installed.
goes_without=''

missing() {
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || echo "$package"
    done
}

missing_libraries() {
    # shellcheck disable=SC2086
    for library in $(missing $libraries); do
        grep -qsx "$library" "$not_offered" || echo "$library"
    done
}

# Prints the packages that the system offers; records the others.
offered() {
    for package in "$@"; do
        if apt-cache show "$package" >/dev/null 2>&1; then
            echo "$package"
        else
            echo "deps: this system does not offer $package" >&2
            mkdir -p target
            echo "$package" >>"$not_offered"
        fi
    done
}

asks() {
    [ "${IPCMARK_ASK:-}" = 1 ] && [ "${YES:-}" != 1 ] && [ -t 0 ] && [ -t 2 ]
}

# The download size in megabytes, as apt reports it; needs no root.
how_much() {
    # shellcheck disable=SC2046
    set -- $(for package in "$@"; do ! apt-cache show "$package" >/dev/null 2>&1 || echo "$package"; done)
    words=$([ $# = 0 ] ||
        LC_ALL=C apt-get install --assume-no --no-install-recommends -o Debug::NoLocking=1 "$@" 2>/dev/null |
        grep -E '^(Need to get|After this operation)') || true
    echo "${words:-How much that is apt knows after apt-get update, which needs root.}"
}

# Asks once. False unless the answer is y or yes.
allowed() {
    asks || return 0
    # shellcheck disable=SC2086
    set -- $wanted $libraries
    {
        echo "ipcmark is built with $# packages that are not here:"
        echo "$*" | fold -s -w 90 | sed 's/^/    /'
        # shellcheck disable=SC2086
        how_much "$@" | sed 's/^/    /'
        [ "$(id -u)" = 0 ] || echo 'apt-get installs them with sudo.'
        echo 'Without them only what is here is built, and the rows of the operating system need only cc.'
        printf 'Install them? [y/N] '
    } >&2
    read -r answer || answer=''
    case $answer in
    [yY] | [yY][eE][sS]) return 0 ;;
    esac
    echo 'deps: nothing is installed; make deps does it later' >&2
    goes_without=1
    return 1
}

# A compiler is required even if nothing is installed, because Rust links with it.
check_compiler() {
    ! command -v cc >/dev/null 2>&1 || return 0
    echo 'deps: nothing can be built without a C compiler, with which Rust links: apt install gcc libc6-dev' >&2
    echo '      docs/install.md says how to install ipcmark without building it' >&2
    exit 1
}

install_packages() {
    # shellcheck disable=SC2086
    wanted=$(missing $packages)
    libraries=$(missing_libraries)
    [ -n "$wanted$libraries" ] || return 0
    allowed || return 0
    if [ "$(id -u)" = 0 ]; then root=''; else root='sudo'; fi
    $root apt-get update -qq
    # shellcheck disable=SC2046,SC2086
    set -- $wanted $(offered $libraries)
    [ $# -gt 0 ] || return 0
    echo "deps: installing $*"
    $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

has_pip() {
    python3 -m pip --version >/dev/null 2>&1
}

# Unpacks AlephZero in target/deps and verifies its checksum. Without it, its transports are left out.
get_alephzero() {
    target=target/deps/alephzero-$alephzero
    [ "$(uname -m)" = x86_64 ] && [ ! -e "$target" ] || return 0
    ! grep -qsx alephzero "$not_offered" || return 0
    scratch=$(mktemp -d)
    if has_pip && echo "deps: getting alephzero $alephzero from PyPI" &&
        python3 -m pip download --quiet --no-deps --no-binary :all: --dest "$scratch" \
            "alephzero==$alephzero" >"$scratch/words" 2>&1 &&
        (cd "$scratch" && echo "$alephzero_sha256  alephzero-$alephzero.tar.gz" | sha256sum --check --quiet) &&
        tar -xzf "$scratch/alephzero-$alephzero.tar.gz" -C "$scratch"
    then
        mkdir -p target/deps
        mv "$scratch/alephzero-$alephzero" "$target"
    else
        echo "deps: no alephzero $alephzero, so no module for it: python3 -m pip could not get it" >&2
        tail -n 2 "$scratch/words" >&2 2>/dev/null || true
        mkdir -p target
        echo alephzero >>"$not_offered"
    fi
    rm -rf "$scratch"
}

# Unpacks the arm64 packages of the libraries, without root and without running anything of them. A package that Debian
# lacks for arm64 is not unpacked, so that its module is left out. The files in DEBIAN name the package of each library,
# for dpkg-shlibdeps.
get_sysroot() {
    sysroot=$PWD/target/sysroot-arm64
    suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
    # shellcheck disable=SC2086
    list=$(echo $suite $of_sysroot)
    [ "$list" != "$(cat "$sysroot/packages" 2>/dev/null)" ] || return 0
    echo 'deps: unpacking the libraries for aarch64'
    rm -rf "$sysroot"
    # shellcheck disable=SC2016,SC2046,SC2086
    mmdebstrap --quiet --mode=chrootless --variant=extract --architectures=arm64 \
        $(printf -- '--include=?exact-name(%s) ' $of_sysroot) \
        --extract-hook='mkdir "$1/DEBIAN"; for deb in "$1"/var/cache/apt/archives/*.deb; do
            dpkg-deb --info "$deb" shlibs 2>/dev/null >>"$1/DEBIAN/shlibs" || true
            dpkg-deb --info "$deb" symbols 2>/dev/null >>"$1/DEBIAN/symbols" || true
        done' "$suite" "$sysroot"
    # What points to /usr means the one of this root.
    find "$sysroot/usr/lib" -lname '/*' | while read -r link; do
        ln -sfrn "$sysroot$(readlink "$link")" "$link"
    done
    # shellcheck disable=SC2016
    find "$sysroot/usr/lib" -path '*/cmake/*.cmake' \
        -exec sed -i 's:\([" ;]\)/usr\b:\1${CMAKE_SYSROOT}/usr:g' {} +
    echo "$list" >"$sysroot/packages"
}

if [ "$(uname -m)" = x86_64 ] && ! has_pip; then
    libraries="$libraries python3-pip"
fi

if command -v dpkg-query >/dev/null 2>&1; then
    install_packages
else
    echo "deps: this is no Debian system; see that these are there: $packages" >&2
fi

if [ -n "$goes_without" ]; then
    check_compiler
else
    get_alephzero
    [ -z "${of_sysroot:-}" ] || get_sysroot
fi

if ! command -v "${CARGO:-cargo}" >/dev/null 2>&1; then
    echo 'deps: there is no cargo; install Rust 1.89 or later: https://rustup.rs' >&2
    exit 1
fi

if [ "${1:-}" = aarch64 ] && [ ! -d "$(rustc --print sysroot)/lib/rustlib/aarch64-unknown-linux-gnu" ]; then
    rustup target add aarch64-unknown-linux-gnu
fi

cargo=${CARGO:-cargo}
"$cargo" fetch --locked --offline >/dev/null 2>&1 || "$cargo" fetch --locked
