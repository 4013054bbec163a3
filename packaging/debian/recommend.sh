#!/bin/sh
# What the modules of a package need: the runtime of C and C++ as dependencies, every other library as recommended.
# Beside each module whose library is another package goes the command that brings it, for `ipcmark list`.
#
#   recommend.sh FOLDER     the folder of the package's files
set -eu

package=$(basename "$1")
modules=$1/usr/lib/ipcmark/modules
runtime='^(libc6|libgcc-s1|libstdc\+\+6)( |$)'

# The packages of the libraries that a module is linked with, a line each with their versions.
needed() {
    dpkg-shlibdeps -O -e"$1" 2>/dev/null | sed -n 's/^shlibs:Depends=//p' | sed 's/, */\n/g'
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
