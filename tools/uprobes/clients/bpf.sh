#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The kernel's own BPF selftests, from the folder that lib/bpf.sh fills. Each has a
# process of its own, which may crash or hang: how that ends is the result of the
# test, and its parts are those that had ended by then.

set -euo pipefail

# Seconds for one test. The longest waits for some thousand grace periods.
LIMIT=600

# shellcheck source=tools/uprobes/clients/results.sh
source "${BASH_SOURCE[0]%/*}/results.sh"

# parts TEST LOG: the result and the name of each.
parts() {
	sed -n "s|^#[0-9]*/[0-9]* *\($1/.*\):\([A-Z]*\)\$|\2 \1|p" "$2"
}

run_test() {
	local log=/tmp/bpf-$1 rc=0 word name

	timeout -k 5 "$LIMIT" stdbuf -oL ./test_progs -v -a "$1" </dev/null \
		>"$log" 2>&1 || rc=$?
	parts "$1" "$log" >"$log.parts"
	while read -r word name; do
		case $word in
		OK) result 0 "$name" ;;
		SKIP) skip "$name" ;;
		*) result 1 "$name" ;;
		esac
	done <"$log.parts"
	if grep -q "^#[0-9]* *$1:SKIP\$" "$log"; then
		skip "$1"
	else
		result "$rc" "$1"
	fi
	((rc == 0)) || grep -v ':PASS:' "$log" | tail -n 100 | sed 's/^/# /'
}

cd "${BASH_SOURCE[0]%/*}/bpf"
while read -r test; do
	run_test "$test"
done <list
