#!/bin/sh
# The project's own tests: what the refactoring may not change. Put your test command here.
set -eu
if [ -f Cargo.toml ]; then
    exec cargo test --quiet
elif [ -f package.json ]; then
    exec npm test --silent
elif ls tests/*.sh > /dev/null 2>&1; then
    for test in tests/*.sh; do
        sh "$test"
    done
else
    echo "there are no tests to hold the refactoring to" >&2
    exit 1
fi
