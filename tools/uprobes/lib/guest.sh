# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Booting a guest and judging how it ended.
#
# The guest has two serial lines: the console, and one for the results of its
# job. The last line of the results is the verdict, written by init when all
# else is done; a guest that does not get there has crashed or hangs.

VERDICT='uprobes-verdict: '
# Both CPUs in one thread: with one each, a CPU may go on executing what it had
# translated before the other one patched the text, which no real CPU does.
QEMU_COMMON=(-accel "${ACCEL:-tcg,thread=single}" -smp 2 -nodefaults -nographic -no-reboot)

# scan_console FILE: prints what the kernel complained about, and fails then.
scan_console() {
	awk -v allowed="$TOOL/guest/allowed" -f "$TOOL/guest/scan.awk" "$1"
}

# A guest's verdict is not believed against its console.
judge_guest() {
	local verdict complaints

	verdict=$(tail -n 1 "$GUEST/results" | tr -d '\r')
	if (($1 == 124 || $1 == 137)); then
		END=hung
	elif [[ $verdict != "$VERDICT"* || $1 != 0 ]]; then
		END=crashed
	elif ! complaints=$(scan_console "$GUEST/console"); then
		END="failed: the kernel complained: ${complaints%%$'\n'*}"
	else
		END=${verdict#"$VERDICT"}
	fi
}

# KUnit suites run at boot, where they are asked for.
kernel_parameters() {
	echo "console=$CONSOLE panic=-1 kunit.enable=0 $ARCH_PARAMETERS"
}

start_guest() {
	local job=$1 limit=$2

	shift 2
	GUEST=$LOGS/guest-$job
	mkdir -p "$GUEST"
	: >"$GUEST/results"
	: >"$GUEST/console"
	set -m
	timeout -k 5 "$limit" "${QEMU[@]}" "${QEMU_COMMON[@]}" -m "$MEMORY" \
		-kernel "$BUILD/$IMAGE" -initrd "$INITRD" \
		-serial "file:$GUEST/console" -serial "file:$GUEST/results" \
		-append "$(kernel_parameters) results=$RESULTS job=$job $*" \
		</dev/null >"$GUEST/qemu" 2>&1 &
	JOB=$!
	set +m
}

end_guest() {
	local rc=0

	wait "$JOB" || rc=$?
	JOB=
	judge_guest "$rc"
}

# boot_guest JOB LIMIT [PARAMETER...]: leaves the console and the results in
# $GUEST, and in $END: "passed", "failed: why", "crashed" or "hung".
boot_guest() {
	start_guest "$@"
	end_guest
}

# The same, while the results are shown as they come.
follow_guest() {
	start_guest "$@"
	tail -n +1 -f --pid="$JOB" "$GUEST/results" |
		grep --line-buffered -v "^$VERDICT" || true
	end_guest
}
