#!/bin/sh
# Writes how the run went. An epilogue task finds every result in its input `outcome`.
set -eu
{
    echo "# Word counts"
    echo
    echo '```json'
    cat "$PLAN_INPUTS_FILE"
    echo
    echo '```'
} > REPORT.md
