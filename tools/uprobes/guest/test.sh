# SPDX-License-Identifier: GPL-2.0-only
# Prints one KTAP report: the KUnit suites that ran at boot, then every test
# program. Fails when one of them did not end as it should, whatever it printed.
# A program has "limit" seconds; "torture" is told to the one of that name. "only"
# those programs run, if it is there.
# shellcheck disable=SC2154

pattern=${pattern:-*}
program_glob=${pattern%%.*}
test_glob='*'
case $pattern in
*.*) test_glob=${pattern#*.} ;;
esac

rc=0
n=0

# Programs can list their tests; the last word of a line is the name.
has_test() {
	[ "$test_glob" != '*' ] || return 0
	"/uprobes/tests/$1" -l 2>&1 | awk '{ print $NF }' >/tmp/names
	while read -r name; do
		# shellcheck disable=SC2254 # a glob is meant
		case $name in
		$test_glob) return 0 ;;
		esac
	done </tmp/names
	return 1
}

suites=$(cd /sys/kernel/debug/kunit 2>/dev/null && ls)
programs=
while read -r program; do
	case ,${only:-$program}, in
	*,"$program",*) ;;
	*) continue ;;
	esac
	# shellcheck disable=SC2254 # a glob is meant
	case $program in
	$program_glob) ! has_test "$program" || programs="$programs $program" ;;
	esac
done </uprobes/tests/LIST

# A test program's report becomes a subtest: indented, named, and without the
# header that it may have.
nest() {
	printf '    KTAP version 1\n    # Subtest: %s\n' "$1"
	awk '/^K?TAP version 1/ || /^# Subtest: / { next } { print "    " $0 }'
}

run_program() {
	local end

	echo "uprobes-test: $1" >/dev/kmsg
	(cd /uprobes/tests && timeout -s KILL "$limit" "./$1" "$test_glob" \
		</dev/null 2>/dev/console >/tmp/report)
	end=$?
	echo "uprobes-test: none" >/dev/kmsg
	nest "$1" </tmp/report
	if [ $end = 4 ]; then
		echo "ok $n $1 # SKIP"
	elif [ $end != 0 ]; then
		echo "    # $1 ended with $end"
		echo "not ok $n $1"
		rc=1
	else
		echo "ok $n $1"
	fi
}

# Both are always there; without either, the harness has lost something.
if [ "$pattern" = '*' ] && { [ -z "$suites" ] || [ -z "$programs" ]; }; then
	echo "test.sh: no KUnit suite, or no test program" >/dev/console
	rc=1
fi

echo "KTAP version 1"
# shellcheck disable=SC2086 # words are meant
set -- $suites $programs
echo "1..$#"
for suite in $suites; do
	n=$((n + 1))
	sed -e 1,2d -e "s/^\(ok\|not ok\) 1 /\1 $n /" \
		"/sys/kernel/debug/kunit/$suite/results" >/tmp/report
	cat /tmp/report
	! grep -q '^ *not ok' /tmp/report || rc=1
done
for program in $programs; do
	n=$((n + 1))
	run_program "$program"
done
exit $rc
