#!/bin/sh
# The trace of the machine and how it ended, kept however the run ended.
set -eu
mkdir -p out
{
    echo "# Refactoring"
    echo
    echo '```json'
    cat "$PLAN_INPUTS_FILE"
    echo
    echo '```'
} > out/REPORT.md
