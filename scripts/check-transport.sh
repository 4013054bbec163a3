#!/bin/sh
# Runs all checks for a new transport, in the development build, and lists what is missing.
#
#   check-transport.sh NAME MODULE_DIR BUILD_DIR          builds, checks, tests and measures it
#   check-transport.sh NAME MODULE_DIR BUILD_DIR --list   only lists
set -u

cargo=${CARGO:-cargo}
name=$1
module_dir=$2
build_dir=$3
what=${4:-}
missing=0

# Prints a line of the list: status (0: present), item, its place, what to do if it is missing.
line() {
    if [ "$1" = 0 ]; then
        printf '  ✓ %-12s %s\n' "$2" "$3"
    else
        printf '  ✗ %-12s %s\n' "$2" "$4"
        missing=$((missing + 1))
    fi
}

# True if a line of a file matches.
has() {
    grep -qse "$1" "$2"
}

# Runs a step and records its status.
step() {
    step=$1
    shift
    echo "check-transport: $step: $*"
    "$@"
    status=$?
    steps="$steps$step:$status "
    return $status
}

# The folder of the transport's module, from module.toml.
folder() {
    grep -lse "^name = \"$name\"\$" modules/*/module.toml | head -n 1 | cut -d / -f 2
}

native_file=crates/native/src/$(echo "$name" | tr - _).rs
module=$(folder)
# A module without module.toml is recognised by a folder of that name.
if [ -z "$module" ] && [ ! -e "$native_file" ] && [ -d "modules/$name" ]; then module=$name; fi

build_native() {
    step build "$cargo" build --locked --package ipcmark-cli
}

build_module() {
    step build "$cargo" build --locked --package ipcmark-cli &&
        step module sh scripts/modules.sh "$module_dir" "$build_dir" "$module"
}

lint_native() {
    step lint "$cargo" clippy --locked --quiet --package ipcmark-native --all-targets -- --deny warnings
    step format "$cargo" fmt --package ipcmark-native --check
}

lint_module() {
    if [ -e "modules/$module/Cargo.toml" ]; then
        step format "$cargo" fmt --manifest-path "modules/$module/Cargo.toml" --check
    else
        step lint sh scripts/lint-c.sh "$module_dir" "$build_dir" "modules/$module"
    fi
}

test_and_measure() {
    step conformance sh scripts/conformance.sh "$name"
    step run target/debug/ipcmark run -t "$name" -s 16,64,4k --trials 1 --duration 100ms
}

list_native() {
    has "\"$name\"" "$native_file" && has '^pub const TRANSPORT' "$native_file"
    line $? definition "$native_file" "$native_file ends in no definition with the name \"$name\""
    # The compiler requires one; transports over shared memory share a common one.
    has 'DeclaredCarrier::\(Always\|BySize\)\|shared::definition' "$native_file"
    line $? carrier 'its own statement of what carries the messages' \
        "$native_file states no carrier; leave it out only if it depends on the machine"
    file=$(basename "$native_file" .rs)
    has "^    $file,\$" crates/native/src/lib.rs
    line $? list crates/native/src/lib.rs "transports![…] in crates/native/src/lib.rs lacks $file"
}

list_module() {
    toml=modules/$module/module.toml
    test -e "modules/$module/CMakeLists.txt"
    line $? build "modules/$module/CMakeLists.txt" "there is no modules/$module/CMakeLists.txt"
    has "^name = \"$name\"\$" "$toml"
    line $? definition "$toml" "$toml has no [[transport]] with the name \"$name\""
    has "^    \"$module\",\{0,1\}\$" crates/abi/src/catalogue.rs
    line $? catalogue crates/abi/src/catalogue.rs "catalogue![…] in crates/abi/src/catalogue.rs lacks \"$module\""
    # scripts/deps.sh installs the packages of 'apt install … && make build'; any other line must itself say what to do.
    has '^install = ".*make build' "$toml"
    line $? install "$(sed -n 's/^install = //p' "$toml" 2>/dev/null)" \
        "$toml has no install = \"apt install … && make build\""
}

list_documents() {
    page=docs/transports/$name.md
    test "$(head -n 1 "$page" 2>/dev/null)" = "# $name"
    line $? page "$page" "there is no $page that begins with '# $name'"
    # null-module measures the harness's own cost through the C contract and is not a transport to choose.
    [ "$name" = null-module ] || has "\`$name\`" README.md
    line $? README 'README.md, Transports' "README.md does not name \`$name\` under Transports"
    # The changelog may name the library instead: 'Cyclone DDS' for cyclonedds.
    grep -qi -e "\\b$(echo "${module:-$name}" | sed 's/-//g; s/./&[ -]*/g')\\b" CHANGELOG.md
    line $? changelog CHANGELOG.md "CHANGELOG.md names neither $name nor its library"
}

list_steps() {
    for done in $steps; do
        line "${done#*:}" "${done%:*}" 'passed' 'failed: see above'
    done
}

if [ -n "$module" ]; then
    kind=module
    where="a transport of the module modules/$module"
elif [ -e "$native_file" ]; then
    kind=native
    where="a transport of the operating system, $native_file"
else
    echo "check-transport: there is neither $native_file nor a module.toml in modules/ that names '$name';" \
        'docs/adding-a-transport.md says how to begin' >&2
    exit 2
fi

steps=''
if [ "$what" != --list ]; then
    export IPCMARK_MODULE_PATH="$module_dir"
    if "build_$kind"; then
        "lint_$kind"
        test_and_measure
    fi
    echo
fi

echo "$name: $where"
list_steps
"list_$kind"
list_documents
if [ "$missing" -gt 0 ]; then
    echo "check-transport: $missing missing or failed" >&2
    exit 1
fi
