# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What the scripts that run in the guest have in common: they print one line for
# each test, "ok N NAME" or "not ok N NAME".

# shellcheck disable=SC2034
TRACING=/sys/kernel/tracing

NUMBER=0

# result STATUS NAME
result() {
	local word=ok

	(($1 == 0)) || word="not ok"
	NUMBER=$((NUMBER + 1))
	echo "$word $NUMBER $2"
}

skip() {
	NUMBER=$((NUMBER + 1))
	echo "ok $NUMBER $1 # SKIP"
}

# try NAME COMMAND...: the test fails where the first of the command's commands
# does. Never call it in a condition: "set -e" would be off in the command.
try() {
	local name=$1

	shift
	(set -e; "$@")
	result $? "$name"
}

# same WHAT EXPECTED FOUND
same() {
	[[ $2 == "$3" ]] || { echo "$1: expected $2, found $3"; return 1; }
}
