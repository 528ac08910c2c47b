#!/bin/sh
# Counts the words of each queue in $TICKET; the queue with most of them owns it.
set -eu
if [ ! -s "$TICKET" ]; then
    echo "there is no ticket at $TICKET" >&2
    exit 1
fi
awk '
    BEGIN {
        words["outage"] = "down|outage|crash|error 5[0-9][0-9]|unreachable|timeout"
        words["billing"] = "invoice|charged|refund|payment|price"
        words["feature"] = "please add|would be nice|wish|feature|support for"
    }
    { line = tolower($0); for (queue in words) while (match(line, words[queue])) {
        count[queue]++
        line = substr(line, 1, RSTART - 1) " " substr(line, RSTART + RLENGTH)
    } }
    END {
        best = "feature"
        if (count["billing"] > count[best]) best = "billing"
        if (count["outage"] >= count[best] && count["outage"] > 0) best = "outage"
        printf "{\"bucket\": \"%s\", \"matches\": %d}\n", best, count[best]
    }
' "$TICKET"
