# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Several commands and the sum of what they say. They may run at the same time.

begin_parts() {
	PARTS=$(mktemp)
}

# part COMMAND [OPTION]...: the closing line tells what passed and what failed; of
# a command that has none, its end is the one test.
part() {
	local out line rc=0 passed=0 failed=0 skipped=0

	echo "== run $*"
	out=$(mktemp)
	"${BASH_SOURCE[0]%/*}/../run" "$@" </dev/null 2>&1 | tee "$out" || rc=$?
	line=$(tail -n 1 "$out")
	rm -f "$out"
	if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed(,\ ([0-9]+)\ skipped)?$ ]]; then
		passed=${BASH_REMATCH[1]}
		failed=${BASH_REMATCH[2]}
		skipped=${BASH_REMATCH[4]:-0}
	elif [[ $line =~ ^check:\ ([0-9]+)\ checks,\ ([0-9]+)\ failed$ ]]; then
		failed=${BASH_REMATCH[2]}
		passed=$((BASH_REMATCH[1] - failed))
	elif [[ $line =~ ^clients:\ ([0-9]+)\ same,\ ([0-9]+)\ better,\ ([0-9]+)\ worse$ ]]; then
		failed=${BASH_REMATCH[3]}
		passed=$((BASH_REMATCH[1] + BASH_REMATCH[2]))
	elif ((rc == 0)); then
		passed=1
	fi
	# A bad end counts even when no test of its own failed.
	((rc == 0 || failed)) || failed=1
	echo "$passed $failed $skipped" >>"$PARTS"
}

# end_parts NUMBER: prints the sum, and fails unless all is well, and all there.
end_parts() {
	local passed=0 failed=0 skipped=0 parts=0 p f s

	while read -r p f s; do
		parts=$((parts + 1))
		passed=$((passed + p))
		failed=$((failed + f))
		skipped=$((skipped + s))
	done <"$PARTS"
	rm -f "$PARTS"
	failed=$((failed + $1 - parts))
	echo "$passed passed, $failed failed, $skipped skipped"
	((failed == 0 && passed > 0))
}
