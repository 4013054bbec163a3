#!/bin/sh
# Checks C and C++: the format of every file with clang-format, and the modules' sources with clang-tidy.
#
#   lint-c.sh MODULE_DIR BUILD_DIR           all of them
#   lint-c.sh MODULE_DIR BUILD_DIR FOLDER    only one folder: modules/zeromq
#   lint-c.sh --fix                          formats the files
set -eu

format=clang-format-19
tidy=clang-tidy-19
folder=${3:-}

files() {
    # shellcheck disable=SC2086
    find ${folder:-modules include docs/examples crates} -name target -prune -o \
        \( -name '*.c' -o -name '*.h' -o -name '*.cpp' -o -name '*.hpp' \) -print
}

if [ "$1" = --fix ]; then
    files | xargs "$format" -i
    exit
fi

for tool in "$format" "$tidy"; do
    if ! command -v "$tool" >/dev/null; then
        echo "lint: C and C++ are not checked, for there is no $tool; Debian 12 and later have it" >&2
        exit
    fi
done

files | xargs "$format" --dry-run --Werror || { echo 'lint: make format mends it' >&2; exit 1; }

# Only the sources whose library is installed; the compilation database contains the compile commands.
build_dir=$2
sh scripts/modules.sh "$1" "$build_dir" --generated
compiled=$(sed -n 's|^ *"file": "\(.*\)"$|\1|p' "$build_dir/compile_commands.json" | sort -u)
# Files compiled together stand in one that CMake wrote into the module's build folder.
together="$(cd "$build_dir" && pwd)${folder:+/${folder#modules/}}/.*/Unity/"
sources=$(echo "$compiled" | grep -e "^$PWD/${folder:-modules}/" -e "^$together")
log=$build_dir/clang-tidy.log
echo "lint: clang-tidy of $(echo "$sources" | wc -l) files"
if ! echo "$sources" | xargs -P "$(nproc)" -n 1 "$tidy" -p "$build_dir" --quiet >"$log" 2>&1; then
    grep -v ' warnings\? generated' "$log" >&2
    exit 1
fi
