#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Uprobe events as they are made by hand: instructions of every kind, what cannot
# be probed, returns, semaphores.

# shellcheck source=tools/uprobes/clients/results.sh
source /clients/results.sh

program=/clients/program

# event DEFINITION: one at a time, called "event"
event() {
	echo "$1" >"$TRACING/uprobe_events"
}

enable() {
	echo "$1" >"$TRACING/events/clients/event/enable"
}

remove_event() {
	[[ ! -d $TRACING/events/clients ]] || enable 0
	echo >"$TRACING/uprobe_events"
	echo >"$TRACING/trace"
}

# offset NAME [FILE]
offset() {
	echo "${2:-$program}:$("$program" offset "$1")"
}

hits() {
	awk '$2 == "event" { print $3 }' "$TRACING/uprobe_profile"
}

exact() {
	local unprobed probed where

	unprobed=$("$program" insn "$1" 100)
	where=$(offset "$1")
	event "p:clients/event $where"
	enable 1
	probed=$("$program" insn "$1" 100)
	same state "$unprobed" "$probed"
	same hits 100 "$(hits)"
}

# What cannot be executed, in a file that nobody has mapped yet
refused() {
	local copy=/clients/copy where

	cp "$program" "$copy"
	where=$(offset no_insn "$copy")
	event "p:clients/event $where"
	if enable 1; then
		echo "a probe on what is no instruction"
		return 1
	fi
	rm "$copy"
}

beyond() {
	event "p:clients/event $program:0x10000000"
	if enable 1; then
		echo "a probe beyond the end of the file"
		return 1
	fi
}

argument() {
	local where

	where=$(offset work)
	event "p:clients/event $where n=%di:s64"
	enable 1
	"$program" calls 50
	enable 0
	same sum $((50 * 49 / 2)) "$(sum n)"
}

returns() {
	local where

	where=$(offset work)
	event "r:clients/event $where n=\$retval:s64"
	enable 1
	"$program" calls 50
	enable 0
	same sum $((50 * 49)) "$(sum n)"
}

# sum ARGUMENT: of all events in the buffer
sum() {
	awk -v prefix="$1=" 'index($0, " event: ") {
		for (i = 1; i <= NF; i++)
			if (index($i, prefix) == 1)
				sum += substr($i, length(prefix) + 1)
	} END { print sum + 0 }' "$TRACING/trace"
}

semaphore() {
	local where counter

	where=$(offset work)
	counter=$("$program" offset semaphore)
	event "p:clients/event $where($counter)"
	same before 0 "$("$program" calls 20)"
	enable 1
	same while 20 "$("$program" calls 20)"
	enable 0
	same after 0 "$("$program" calls 20)"
}

# Two events at one address
shared() {
	local where

	where=$(offset work)
	event "p:clients/event $where"
	echo "p:clients/other $where" >>"$TRACING/uprobe_events"
	enable 1
	echo 1 >"$TRACING/events/clients/other/enable"
	"$program" calls 30
	echo 0 >"$TRACING/events/clients/other/enable"
	"$program" calls 30
	same hits 60 "$(hits)"
	same "hits of the other" 30 \
		"$(awk '$2 == "other" { print $3 }' "$TRACING/uprobe_profile")"
}

# A process that was there before
running() {
	local where process input

	where=$(offset work)
	coproc "$program" later 30
	process=$COPROC_PID
	input=${COPROC[1]}
	read -r _ <&"${COPROC[0]}"
	event "p:clients/event $where"
	enable 1
	exec {input}>&-
	wait "$process"
	same hits 30 "$(hits)"
}

mapfile -t insns < <("$program" list)
((${#insns[@]})) || exit 1
for insn in "${insns[@]}"; do
	try "exact_$insn" exact "$insn"
	remove_event
done
for test in refused beyond argument returns semaphore shared running; do
	try "$test" "$test"
	remove_event
done
