# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# The tests: on the host, of the harness itself, in the guest.

PASSED=0
FAILED=0
SKIPPED=0

tally() {
	PASSED=$((PASSED + $1))
	FAILED=$((FAILED + $2))
	SKIPPED=$((SKIPPED + $3))
}

closing_line() {
	printf '%d passed, %d failed' "$PASSED" "$FAILED"
	((!SKIPPED)) || printf ', %d skipped' "$SKIPPED"
	printf '\n'
}

# selected PROGRAM [TEST]: is it among what the user asked for?
selected() {
	local program=${PATTERN%%.*} test='*'

	[[ $PATTERN != *.* ]] || test=${PATTERN#*.}
	# shellcheck disable=SC2053 # globs are meant
	[[ -z $PATTERN || ($1 == $program && (-z ${2-} || ${2-} == $test)) ]]
}

# The figure for $2 in the summary of kunit.py's report $1.
figure() {
	local n

	n=$(sed -n "s/.* Ran [0-9]* tests:.* $2: \([0-9]*\).*/\1/p" "$1")
	echo "${n:-0}"
}

# judge_report NAME FILE END: adds a KTAP report to the tally. A report cannot
# make up for a bad end of what wrote it, nor for there being no tests.
judge_report() {
	local name=$1 report=$2.judged end=$3 passed failed crashed errors skipped bad

	PYTHONDONTWRITEBYTECODE=1 python3 \
		"$TREE/tools/testing/kunit/kunit.py" parse "$2" >"$report" || true
	passed=$(figure "$report" passed)
	failed=$(figure "$report" failed)
	crashed=$(figure "$report" crashed)
	errors=$(figure "$report" errors)
	skipped=$(figure "$report" skipped)
	if ((passed + failed + crashed + skipped == 0)); then
		[[ -z $PATTERN || $end != passed ]] || return 0
		errors=1
		[[ $end != passed ]] || end="no tests"
	fi
	bad=$((failed + crashed + errors))
	[[ $bad != 0 || $end == passed ]] || bad=1
	grep -E '\[(SKIPPED|FAILED|CRASHED|ERROR)\]' "$report" |
		sed 's/^\[[0-9:]*\]/ /' || true
	tally "$passed" "$bad" "$skipped"
	printf '  %s: %d passed, %d failed' "$name" "$passed" "$bad"
	((!skipped)) || printf ', %d skipped' "$skipped"
	[[ $bad == 0 && $end == passed ]] ||
		printf ' (%s; %s)' "${end/#passed/test failures}" "$2"
	printf '\n'
}

# Suites that run here, each as a whole, and the folders whose "make check"
# prints KTAP.
declare -A HOST_SUITES=(
	[insn]=tools/testing/selftests/uprobes/host
	[vaddr]=tools/uprobes
)

selected_host_suites() {
	local name

	((!QUICK)) || return 0
	for name in insn vaddr; do
		! selected "$name" || echo "$name"
	done
}

host_suite() {
	local out=$LOGS/host-$1 rc=0

	mkdir -p "$out"
	make -s --no-print-directory -C "$TOP/$2" KDIR="$TREE" OUTPUT="$out" \
		CROSS_CC="${CROSS_COMPILE:+${CROSS_COMPILE}gcc}" \
		check >"$LOGS/$1.ktap" || rc=$?
	if ((rc)); then
		echo "failed: make check ended with $rc" >"$LOGS/$1.end"
	else
		echo passed >"$LOGS/$1.end"
	fi
}

host_tests() {
	local name

	for name in $(selected_host_suites); do
		step "testing on the host ($name)" \
			host_suite "$name" "${HOST_SUITES[$name]}"
		judge_report "$name" "$LOGS/$name.ktap" "$(<"$LOGS/$name.end")"
	done
}

# Guests for the harness to be right about: JOB, END as a glob, time limit, and
# what has to have been printed before (else it proves nothing).
HARNESS_TESTS=(
	fail 'failed: the job ended with 1' 60 '^not ok 1 on_purpose'
	crash crashed 60 '^ok 1 before_the_crash'
	hang hung 30 '^ok 1 before_the_hang'
	warn 'failed: the kernel complained: *WARNING: on purpose' 60 '^ok 1 unaware'
)

harness_tests() {
	local i job end

	((!DEBUG)) || HARNESS_TESTS+=(leak
		'failed: the kernel complained: unreferenced object*' 180
		'^ok 1 unaware')
	for ((i = 0; i < ${#HARNESS_TESTS[@]}; i += 4)); do
		job=${HARNESS_TESTS[i]}
		end=${HARNESS_TESTS[i + 1]}
		selected harness "$job" || continue
		boot_guest "selftest-$job" "${HARNESS_TESTS[i + 2]}"
		# shellcheck disable=SC2053 # a glob is meant
		if [[ $END == $end ]] &&
		   grep -q "${HARNESS_TESTS[i + 3]}" "$GUEST/results"; then
			tally 1 0 0
			echo "  harness.$job: passed, the guest $END"
		else
			tally 0 1 0
			echo "  harness.$job: FAILED, the guest $END ($GUEST)"
		fi
	done
}

# Scenarios A and B, and every call of the interface.
QUICK_PROGRAMS=api,defer,fork,hit,ret

guest_tests() {
	# What hangs is ended; there may be two guests and a build at a time.
	local all=1800 one=600 parameters=(kunit.enable=1 "torture=$TORTURE")

	# The checks of a debug kernel make it three times as slow
	((!DEBUG)) || { all=2700; one=900; parameters+=(slow=1); }
	parameters+=("limit=$((one + TORTURE))")
	((!QUICK)) || parameters+=("only=$QUICK_PROGRAMS")
	[[ -z $PATTERN ]] ||
		parameters+=("pattern=$PATTERN" "kunit.filter_glob=$PATTERN")
	boot_guest test $((all + TORTURE)) "${parameters[@]}"
	[[ $END != crashed && $END != hung ]] ||
		{ echo "  the end of the console, and QEMU's own words:"
		tail -n 20 "$GUEST/console" "$GUEST/qemu"; }
	judge_report guest "$GUEST/results" "$END"
}

run_test() {
	STEPS=$((BUILD_STEPS + $(selected_host_suites | wc -l) + 2))
	build_all
	host_tests
	step_label "testing the harness"
	echo "$LABEL"
	harness_tests
	step_label "testing in the guest"
	echo "$LABEL"
	guest_tests
	((PASSED + FAILED + SKIPPED)) || die "no test matches \"$PATTERN\""
	closing_line
	((FAILED == 0 && PASSED > 0))
}

# The guests of each architecture in a process of its own; what there are none of
# is compiled.
test_all() {
	local arch n=1

	begin_parts
	part build
	for arch in "$TOOL"/arch/*; do
		arch=${arch##*/}
		has_guests "$arch" || continue
		# The last option counts.
		part test "$@" --arch "$arch"
		n=$((n + 1))
	done
	end_parts "$n"
}
