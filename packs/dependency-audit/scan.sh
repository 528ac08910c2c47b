#!/bin/sh
# Cuts $LOCK into out/packages.tsv: name, version, source, checksum. Prints how many there are.
set -eu
if [ ! -f "$LOCK" ]; then
    echo "there is no lock file at $LOCK" >&2
    exit 1
fi
mkdir -p out
awk -f lib/lock.awk "$LOCK" > out/packages.tsv
packages=$(wc -l < out/packages.tsv)
format=$(awk '$1 == "version" && $2 == "=" { print $3; exit } /^\[\[/ { exit }' "$LOCK")
if [ "$packages" -eq 0 ]; then
    echo "$LOCK lists no package" >&2
    exit 1
fi
printf '{"packages": %d, "format": %d}\n' "$packages" "${format:-1}"
