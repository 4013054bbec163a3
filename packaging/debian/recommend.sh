#!/bin/sh
# Writes the dependencies of a package's modules: the runtimes of C and C++ as dependencies, every other library as
# recommended. For each module with a library in another package, it writes the command that installs the library, for
# `ipcmark list`.
#
#   recommend.sh FOLDER OPTION...     the folder of the package's files, and options for dpkg-shlibdeps
set -eu

package=$(basename "$1")
modules=$1/usr/lib/ipcmark/modules
shift
options=$*
runtime='^(libc6|libgcc-s1|libstdc\+\+6)( |$)'

# The packages of the libraries that a module is linked with, one per line with its version.
needed() {
    # shellcheck disable=SC2086
    dpkg-shlibdeps -O $options -e"$1" 2>/dev/null | sed -n 's/^shlibs:Depends=//p' | sed 's/, */\n/g'
}

for module in "$modules"/*.so; do
    libraries=$(needed "$module" | grep -vE "$runtime" | sed 's/ .*//' | paste -s -d ' ' -)
    [ -z "$libraries" ] || echo "apt install $libraries" >"${module%.so}.install"
done

all=$(for module in "$modules"/*.so; do needed "$module"; done | sort -u)
list() {
    echo "$all" | grep "$@" "$runtime" | paste -s -d ',' - | sed 's/,/, /g'
}
{
    echo "library:Depends=$(list -E)"
    echo "library:Recommends=$(list -vE)"
} >>"debian/$package.substvars"
