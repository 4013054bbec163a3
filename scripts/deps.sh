#!/bin/sh
# Installs what building and testing ipcmark needs and is not there yet. Touches no network when
# nothing is missing.
set -eu

packages='gcc libc6-dev make pkg-config'

missing() {
    for package in $packages; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || echo "$package"
    done
}

install_packages() {
    wanted=$(missing | tr '\n' ' ')
    [ -n "$wanted" ] || return 0
    echo "deps: installing $wanted"
    if [ "$(id -u)" = 0 ]; then root=''; else root='sudo'; fi
    $root apt-get update -qq
    # shellcheck disable=SC2086
    $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $wanted >/dev/null
}

if command -v dpkg-query >/dev/null 2>&1; then
    install_packages
else
    echo "deps: this is no Debian system; see that these are there: $packages" >&2
fi

if ! command -v "${CARGO:-cargo}" >/dev/null 2>&1; then
    echo 'deps: there is no cargo; install Rust 1.88 or later: https://rustup.rs' >&2
    exit 1
fi

cargo=${CARGO:-cargo}
"$cargo" fetch --locked --offline >/dev/null 2>&1 || "$cargo" fetch --locked
