#!/bin/sh
# Findings of one kind, with those that $POLICY accepts: out/KIND.tsv, and a reading with the open ones.
set -eu
kind=$1
if [ ! -f "$POLICY" ]; then
    echo "there is no policy at $POLICY" >&2
    exit 1
fi
awk -v kind="$kind" -f lib/findings.awk "$POLICY" "$PLAN_FILES/scan/out/packages.tsv" > "out/$kind.tsv"
awk -F '\t' '
    $1 == "open" { open[++count] = $2 " " $3 }
    $1 == "accepted" { accepted++ }
    END {
        printf "{\"score\": %d, \"accepted\": %d, \"open\": [", count, accepted
        for (i = 1; i <= count; i++) {
            gsub(/[\\"]/, "\\\\&", open[i])
            printf "%s\"%s\"", (i > 1 ? ", " : ""), open[i]
        }
        print "]}"
    }
' "out/$kind.tsv"
