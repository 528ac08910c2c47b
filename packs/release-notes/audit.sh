#!/bin/sh
# What a careful reader would mark in the draft. Exits 1 if there is anything.
set -eu
draft="$PLAN_FILES/draft/out/draft.md"
mkdir -p out
{
    grep -n -i -E 'various|misc(ellaneous)?|several improvements|minor fixes' "$draft" | sed 's/^/says nothing: /' || true
    grep -q '^- ' "$draft" || echo "has no entry"
    awk 'length > 160 { print "long line " NR }' "$draft"
} > out/audit.txt
awk 'BEGIN { printf "{\"remarks\": [" }
     { gsub(/[\\"]/, "\\\\&"); printf "%s\"%s\"", (NR > 1 ? ", " : ""), $0 }
     END { print "]}" }' out/audit.txt
[ ! -s out/audit.txt ]
