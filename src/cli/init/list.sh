#!/bin/sh
# Names the files in texts/ as a JSON object on the last line: {"texts": ["a.txt", "b.txt"]}
set -eu
cd texts
names=""
for file in *.txt; do
    names="$names${names:+, }\"$file\""
done
printf '{"texts": [%s]}\n' "$names"
