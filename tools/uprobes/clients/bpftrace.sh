#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Debian's bpftrace, on a program of ours, on bash, libc and python: counts
# that are known.

# shellcheck source=tools/uprobes/clients/results.sh
source /clients/results.sh

program=/clients/program
libc=$(ldd /bin/bash | awk '$1 == "libc.so.6" { print $3 }')
python=$(readlink -f /usr/bin/python3)

# trace PROBES COMMAND: what bpftrace has counted, and what the command printed
trace() {
	bpftrace -q -e "$1" -c "$2" 2>&1
}

# counted NAME NUMBER REPORT
counted() {
	same "$1" "$2" "$(sed -n "s/^@$1: //p" <<<"$3")"
}

entry_and_return() {
	local report

	report=$(trace "
		uprobe:$program:work { @calls = count(); @sum = sum(arg0) }
		uretprobe:$program:work { @returns = count(); @twice = sum(retval) }
		" "$program calls 100")
	echo "$report"
	counted calls 100 "$report"
	counted sum 4950 "$report"
	counted returns 100 "$report"
	counted twice 9900 "$report"
}

usdt() {
	local report

	report=$(trace "usdt:$program:clients:step {
			@steps = count(); @sum = sum(arg0); @thrice = sum(arg1) }
		" "$program calls 100")
	echo "$report"
	counted steps 100 "$report"
	counted sum 4950 "$report"
	counted thrice 14850 "$report"
	# What the program printed: how often it saw that it was traced
	grep -qx 100 <<<"$report"
	same "asked afterwards" 0 "$("$program" calls 100)"
}

bash_and_libc() {
	local report

	report=$(trace "
		uprobe:/bin/bash:cd_builtin { @builtin = count() }
		uretprobe:/bin/bash:cd_builtin /retval == 0/ { @zero = count() }
		uprobe:$libc:chdir { @chdir = count() }
		uretprobe:$libc:chdir /retval == 0/ { @success = count() }
		" '/bin/bash /clients/cd.sh')
	echo "$report"
	counted builtin 100 "$report"
	counted zero 100 "$report"
	counted chdir 100 "$report"
	counted success 100 "$report"
}

# This probe has a semaphore
python_usdt() {
	local report

	report=$(trace "
		usdt:$python:python:function__return /str(arg1) == \"called\"/ {
			@left = count() }
		" "$python /clients/called.py")
	echo "$report"
	counted left 100 "$report"
}

for test in entry_and_return usdt bash_and_libc python_usdt; do
	try "$test" "$test"
done
