#!/bin/sh
# Builds modules and prints what it compiles; prints nothing if everything is up to date.
#
#   modules.sh MODULE_DIR BUILD_DIR          all modules whose library is installed
#   modules.sh MODULE_DIR BUILD_DIR NAME     the module of one folder of modules/
#   modules.sh MODULE_DIR BUILD_DIR --bare   the bare programs; --generated: only generated sources
#
# MODULE_PROFILE is release, or quick: without optimisation, for tests, never to be measured. Each has a BUILD_DIR of
# its own.
set -eu

module_dir=$1
build_dir=$2
what=${3:-}

names() {
    for list in modules/*/CMakeLists.txt; do
        basename "$(dirname "$list")"
    done | paste -s -d ' '
}

case $what in
'') target='' ;;
--bare | --generated) target=${what#--} ;;
*) target=module-$what ;;
esac

if [ "$target" = "module-$what" ] && [ ! -e "modules/$what/CMakeLists.txt" ]; then
    echo "modules: there is no module $what; there are: $(names)" >&2
    exit 2
fi

for tool in cmake make "${CC:-cc}" "${CXX:-c++}"; do
    if ! command -v "$tool" >/dev/null; then
        echo "modules: none are built, for this machine has no $tool; make deps installs it" >&2
        [ -z "$target" ]
        exit
    fi
done

# CMake rejects a build folder made for a checkout at another path.
if ! grep -qsx "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD/modules" "$build_dir/CMakeCache.txt"; then
    rm -rf "$build_dir"
fi

cmake --log-level=NOTICE -S modules -B "$build_dir" -DIPCMARK_MODULE_DIR="$module_dir" \
    -DIPCMARK_PROFILE="${MODULE_PROFILE:-release}" >/dev/null

if [ -n "$what" ] && reason=$(sed -n "s/^modules: left out \($what: .*\)/\1/p" "$build_dir/summary" | grep .); then
    echo "modules: cannot build $reason" >&2
    exit 1
fi

# With an outer make's flags, this one would print every directory that it enters.
unset MAKEFLAGS MFLAGS MAKELEVEL
# shellcheck disable=SC2086
cmake --build "$build_dir" --parallel "$(nproc)" ${target:+--target $target}
