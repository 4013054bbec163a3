#!/bin/sh
# Builds the image of packaging/oci/Containerfile on a base of Debian packages only, and measures in it. Uses no image
# registry. Needs root, mmdebstrap and buildah.
#
#   test-image.sh OUT     the folder of the packages
set -eu

out=$1
base=localhost/ipcmark-test-base
image=localhost/ipcmark-test
place=$(mktemp -d)
# Private storage, so that no image is left behind or replaced.
store="--root $place/store --runroot $place/run --storage-driver vfs"
trap 'rm -rf "$place"' EXIT

fails() {
    echo "test-image: $1" >&2
    exit 1
}

[ "$(id -u)" = 0 ] || fails 'only root can make a root of Debian; sudo make test-image'
for tool in buildah mmdebstrap; do
    command -v $tool >/dev/null || fails "there is no $tool: apt install $tool"
done

# In a chroot, for systems without the prerequisites of a container.
build() {
    # shellcheck disable=SC2086
    buildah $store "$@" >"$place/log" 2>&1 || fails "$(tail -n 20 "$place/log")"
}

inside() {
    # shellcheck disable=SC2086
    buildah $store run --isolation chroot "$container" -- "$@"
}

echo 'test-image: a base of Debian'
mmdebstrap --quiet --variant=minbase bookworm "$place/base.tar"
echo "FROM scratch
ADD base.tar /" >"$place/Containerfile"
build build --isolation chroot --tag $base "$place"
rm "$place/base.tar"

echo 'test-image: the image'
build build --isolation chroot --build-arg BASE=$base --tag $image --file packaging/oci/Containerfile "$out"

# shellcheck disable=SC2086
container=$(buildah $store from $image)
# shellcheck disable=SC2086
starts=$(buildah $store inspect --format '{{.OCIv1.Config.Entrypoint}} {{.OCIv1.Config.Cmd}}' $image)
[ "$starts" = '[ipcmark] [run]' ] || fails "the image starts $starts"
inside ipcmark run -t os,zeromq,nng,iceoryx,fastdds,cyclonedds -w block -s 64 -n 50 --trials 3 --format csv \
    >"$place/rows" 2>"$place/words" || fails "$(tail -n 20 "$place/words")"
# One line per trial: count the transports.
measured=$(grep ',ok,' "$place/rows" | cut -d, -f1 | sort -u | wc -l)
[ "$measured" -ge 25 ] || fails "$measured transports were measured, not 25: $(cat "$place/rows")"
echo "test-image: $measured transports were measured"
