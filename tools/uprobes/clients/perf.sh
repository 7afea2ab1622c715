#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Debian's perf and trace-cmd: the events that they define, and count.

# shellcheck source=tools/uprobes/clients/results.sh
source /clients/results.sh

program=/clients/program
data=/tmp/perf.data

# occurrences PATTERN TEXT
occurrences() {
	grep -c "$1" <<<"$2" || true
}

perf_entry() {
	local report

	perf probe -q -x "$program" --add 'enter=work n=%di:s64'
	perf record -q -o "$data" -e probe_program:enter "$program" calls 100
	report=$(perf script -i "$data")
	same events 100 "$(occurrences 'probe_program:enter' "$report")"
	same arguments 1 "$(occurrences 'n=99$' "$report")"
}

perf_return() {
	local report

	perf probe -q -x "$program" --add "leave=work%return n=\$retval:s64"
	perf record -q -o "$data" -e 'probe_program:leave*' "$program" calls 100
	report=$(perf script -i "$data")
	same events 100 "$(occurrences 'probe_program:leave' "$report")"
	same values 1 "$(occurrences 'n=198$' "$report")"
}

# Counted, not recorded, for one process of two
perf_stat() {
	local count

	perf probe -q -x "$program" --add work
	"$program" calls 100
	count=$(perf stat -x, -e probe_program:work "$program" calls 100 2>&1 >/dev/null)
	"$program" calls 100
	same count 100 "${count%%,*}"
}

perf_libc() {
	local libc report

	libc=$(ldd /bin/bash | awk '$1 == "libc.so.6" { print $3 }')
	perf probe -q -x "$libc" --add chdir
	perf record -q -o "$data" -e probe_libc:chdir /bin/bash /clients/cd.sh
	report=$(perf script -i "$data")
	same events 100 "$(occurrences 'probe_libc:chdir' "$report")"
}

trace_cmd() {
	local offset report

	offset=$("$program" offset work)
	echo "p:clients/enter $program:$offset n=%di:s64" \
		>"$TRACING/uprobe_events"
	echo "r:clients/leave $program:$offset n=\$retval:s64" \
		>>"$TRACING/uprobe_events"
	trace-cmd record -q -o /tmp/trace.dat -e clients "$program" calls 100
	report=$(trace-cmd report -i /tmp/trace.dat)
	same entered 100 "$(occurrences ' enter: ' "$report")"
	same left 100 "$(occurrences ' leave: ' "$report")"
	same values 1 "$(occurrences 'n=198$' "$report")"
}

for test in perf_entry perf_return perf_stat perf_libc trace_cmd; do
	try "$test" "$test"
	echo >"$TRACING/uprobe_events"
done
