#!/usr/bin/env bash
# Runs the acceptance areas of areas.txt; the result says how many cases passed and failed.
set -eu
cases=../shared/cases
mapfile -t areas < <(sed 's/#.*//; /^[[:space:]]*$/d' packs/ci/areas.txt)
mkdir -p target
code=0
python3 "$cases/run.py" --plan target/release/plan "${areas[@]/#/$cases/}" > target/acceptance.txt 2>&1 || code=$?
cat target/acceptance.txt >&2
sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/{"passed": \1, "failed": \2}/p' target/acceptance.txt
exit "$code"
