#!/bin/sh
# What came of it, from the outcome; kept however the run ended.
set -eu
mkdir -p out
{
    echo "# Release notes"
    echo
    echo '```json'
    cat "$PLAN_INPUTS_FILE"
    echo
    echo '```'
} > out/REPORT.md
