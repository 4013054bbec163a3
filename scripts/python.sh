#!/bin/sh
# Tests the Python package against the command, and the formats for other tools with those tools, in a virtual
# environment.
#
#   python.sh COMMAND VENV
set -eu

command=$1
venv=$2
requirements=python/requirements-test.txt

# Otherwise these tests would write files next to the sources, which git would list.
export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1

if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo 'python: there is no Python 3.11 or later, so its package was not tested' >&2
    exit 1
fi

if ! cmp -s "$requirements" "$venv/installed.txt"; then
    echo "python: installing what $requirements names"
    python3 -m venv --clear "$venv"
    "$venv/bin/python" -m pip install --quiet --requirement "$requirements"
    cp "$requirements" "$venv/installed.txt"
fi
# Uses the package from the sources; a wheel would also compile the command.
echo "$PWD/python/src" >"$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/ipcmark.pth"

"$venv/bin/python" -m mypy --config-file python/pyproject.toml --cache-dir "$venv/mypy" python/src/ipcmark
IPCMARK=$command MPLBACKEND=agg \
    "$venv/bin/python" -m pytest --quiet -o "cache_dir=$PWD/$venv/pytest" -c python/pyproject.toml python/tests
