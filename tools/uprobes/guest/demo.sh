#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The demo, in the guest: probes three functions of a running program, and
# compares how often it called them with how often the probes were hit.

set -eu

bin=/uprobes/bin
sample=/uprobes/modules/uprobe_example.ko

hits=0
differ=0

run() {
	echo "# $*"
	"$@"
}

# The lines of the sample since mark $1 in the kernel's log.
sample_log() {
	dmesg | sed -n "/$1\$/,\$ { /uprobe_example:/p; }"
}

# Probe address $2 while the threads of the program call their function $1.
probe() {
	mark="demo of process $pid: $1"
	echo "$mark" >/dev/kmsg
	if ! run insmod "$sample" pid="$pid" vaddr="$2"; then
		sample_log "$mark"
		exit 1
	fi
	echo "$1" >&3
	read -r called _ <&4
	echo "$1: $called calls"
	run rmmod uprobe_example
	echo "# dmesg"
	sample_log "$mark"

	hit=$(sample_log "$mark" | sed -n 's/.*: \([0-9]*\) hits, .*/\1/p')
	[ "$hit" -eq "$called" ] || differ=1
	hits=$((hits + hit))
}

vaddr() {
	echo "# vaddr $pid $1"
	address=$("$bin/vaddr" "$pid" "$1")
	echo "$address"
}

# The program obeys its input, and ends with it, however this script ends.
dir=$(mktemp -d)
mkfifo "$dir/in" "$dir/out"
"$bin/demo" <"$dir/in" >"$dir/out" &
pid=$!
exec 3>"$dir/in" 4<"$dir/out"
rm -r "$dir"
read -r _ _ _ generated <&4
echo "# demo &"
echo "process $pid, generated function at $generated"

vaddr demo_program
probe program "$address"

vaddr libdemo.so:demo_library
probe library "$address"

probe generated "$generated"

exec 3>&-
read -r calls _ <&4
wait "$pid"
echo "demo: 3 probes, $calls calls, $hits hits"
[ "$differ" -eq 0 ] && [ "$calls" -gt 0 ] && [ "$hits" -eq "$calls" ]
