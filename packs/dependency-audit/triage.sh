#!/bin/sh
# All findings in one table, open ones first. Fails if one is open, or a check has no reading.
set -eu
awk -f lib/json.awk "$PLAN_INPUTS_FILE" > out/triage.in
: > out/triage.all
unread=
for kind in duplicate source checksum withdrawn; do
    if grep -q "^$kind/output/score	" out/triage.in && [ -f "$PLAN_FILES/$kind/out/$kind.tsv" ]; then
        sed "s/^/$kind	/" "$PLAN_FILES/$kind/out/$kind.tsv" >> out/triage.all
    else
        unread="$unread${unread:+, }\"$kind\""
    fi
done
awk -F '\t' '$2 == "open"' out/triage.all > out/triage.tsv
awk -F '\t' '$2 != "open"' out/triage.all >> out/triage.tsv
open=$(awk -F '\t' '$2 == "open"' out/triage.tsv | wc -l)
accepted=$(awk -F '\t' '$2 == "accepted"' out/triage.tsv | wc -l)
rm -f out/triage.in out/triage.all
printf '{"open": %d, "accepted": %d, "unread": [%s]}\n' "$open" "$accepted" "$unread"
if [ "$open" -gt 0 ] || [ -n "$unread" ]; then
    echo "$open open${unread:+, and no reading of $unread}" >&2
    exit 1
fi
