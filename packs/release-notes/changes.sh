#!/bin/sh
# out/changes.txt: one line a commit since $SINCE, oldest first.
set -eu
mkdir -p out
git log --reverse --no-merges --format='%h %s' "$SINCE..HEAD" -- > out/changes.txt
commits=$(wc -l < out/changes.txt)
if [ "$commits" -eq 0 ]; then
    echo "no commit since $SINCE" >&2
    exit 1
fi
printf '{"commits": %d}\n' "$commits"
