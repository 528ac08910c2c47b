#!/bin/sh
# The report for people, from the outcome of the main graph and the triage's table, if there is one.
set -eu
mkdir -p out
awk -f lib/json.awk "$PLAN_INPUTS_FILE" > out/report.in
read_one() { awk -F '\t' -v path="$1" '$1 == path { print $2 }' out/report.in; }
table="$PLAN_FILES/triage/out/triage.tsv"
{
    echo "# Dependency audit"
    echo
    echo "The run ended \`$(read_one outcome/exit)\`; its verdict is \`$(read_one outcome/verdict)\`."
    echo
    echo "| task | status | note |"
    echo "| --- | --- | --- |"
    for task in scan duplicate source checksum withdrawn triage; do
        status=$(read_one "outcome/tasks/$task/status")
        note=$(read_one "outcome/tasks/$task/note")
        [ "$note" = null ] && note=
        echo "| $task | ${status:-did not settle} | $note |"
    done
    for state in open accepted; do
        echo
        echo "## Findings that are $state"
        echo
        if [ ! -f "$table" ]; then
            echo "Unknown: the triage left no table."
        elif ! awk -F '\t' -v state="$state" '
            $2 == state { print "- " $1 ": " $3 " (" $4 ")" (state == "open" ? "" : " — " $5); some = 1 }
            END { exit !some }' "$table"; then
            echo "None."
        fi
    done
} > out/REPORT.md
rm -f out/report.in
