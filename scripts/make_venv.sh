#!/bin/sh
# Make .venv with a Python that is new enough. With --check: only tell by the exit status whether
# a usable one is there.
set -eu

new_enough='import sys; sys.exit(sys.version_info < (3, 11))'

# The scripts of a virtual environment name the folder they were made in: after the clone was
# moved they are of no use, nor are they when the Python behind them is gone.
usable() {
    grep -qsF "$(pwd -P)/.venv/bin/python" .venv/bin/pip &&
        .venv/bin/python -c "$new_enough" 2>/dev/null
}

if [ "${1-}" = --check ]; then
    usable && exit 0 || exit 1
fi

if ! usable; then
    found=
    for python in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
        if "$python" -c "$new_enough" 2>/dev/null; then
            found=$python
            break
        fi
    done
    if [ -z "$found" ]; then
        if version=$("${PYTHON:-python3}" --version 2>&1); then
            echo "specchat needs Python 3.11 or newer; ${PYTHON:-python3} here is $version." >&2
        else
            echo "specchat needs Python 3.11 or newer; no ${PYTHON:-python3} was found." >&2
        fi
        echo "Install one (\`sudo apt install python3 python3-venv\` on Debian or Ubuntu," \
            "\`brew install python\` on macOS), or name one: make PYTHON=/path/to/python3 ..." >&2
        exit 1
    fi
    if ! "$found" -c 'import ensurepip, venv' 2>/dev/null; then
        echo "This Python cannot make virtual environments." \
            "Install that part: \`sudo apt install python3-venv\` on Debian or Ubuntu." >&2
        exit 1
    fi
    [ ! -e .venv ] || echo "The .venv here is of no use (moved, or its Python is gone)."
    echo "Making the virtual environment .venv with $("$found" --version)"
    rm -rf .venv
    "$found" -m venv .venv
fi

# Dependency groups came with pip 25.1.
.venv/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
