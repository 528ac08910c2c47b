#!/bin/sh
# Counts the words of the text that this instance is for. $PLAN_ITEM is its name.
set -eu
words=$(wc -w < "texts/$PLAN_ITEM")
echo "$PLAN_ITEM has $words words"
if [ "$words" -lt "$LEAST" ]; then
    printf '{"words": %d, "status": "fail", "note": "fewer than %d words"}\n' "$words" "$LEAST"
else
    printf '{"words": %d}\n' "$words"
fi
