#!/bin/sh
# How many queues took the ticket: one, or something is wrong.
set -eu
queues=$(grep -o '"queue"' "$PLAN_INPUTS_FILE" | wc -l)
printf '{"queues": %d}\n' "$queues"
[ "$queues" -eq 1 ]
