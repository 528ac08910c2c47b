#!/bin/sh
# Files the ticket into a queue: a line in out/QUEUE.txt.
set -eu
mkdir -p out
echo "$PLAN_RUN" >> "out/$1.txt"
printf '{"queue": "%s"}\n' "$1"
