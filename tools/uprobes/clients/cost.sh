#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What it costs to register a probe in a file that many processes map, and to
# unregister it: for each process, not counting what waits, nor what it costs when
# there is none.

# shellcheck source=tools/uprobes/clients/results.sh
source /clients/results.sh

program=/clients/program
processes=500

# rounds WHO: sets on and off; the first round has to allocate more.
rounds() {
	for _ in 1 2 3; do
		on=$(cost 1)
		off=$(cost 0)
		echo "$1: $on ns to register, $off ns to unregister"
	done
}

cost() {
	"$program" cost "$TRACING/events/clients/event/enable" "$1"
}

set -e
offset=$("$program" offset work)
echo "p:clients/event $program:$offset" >"$TRACING/uprobe_events"
rounds "no process"
register=$on
unregister=$off
coproc "$program" wait $processes
read -r _ <&"${COPROC[0]}"
rounds "$processes processes"
echo "figure register_per_process $(((on - register) / processes)) ns"
echo "figure unregister_per_process $(((off - unregister) / processes)) ns"
