# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# The kernel's own clients of user-space probes: the same tests, and Debian's
# programs, on the packaged kernel and on ours, and what differs.
#
# Both guests have the same disk, with Debian's programs, which is not written to.
# All else comes with the kernel, in its initrd.

CLIENTS_PACKAGES=(dwarves e2fsprogs mmdebstrap systemtap-sdt-dev)
DISK_PACKAGES=(bpftrace linux-perf procps python3-minimal trace-cmd)
DISK=$CACHE/programs/clients.disk

# The machine's sources of Debian, whatever they are called, and not its others.
debian_sources() {
	private_apt indextargets --format \
		'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' \
		'Created-By: Packages' 'Origin: Debian' 'Architecture: amd64' |
		sort -u
}

# A bind mount shows the folder without what is mounted on it.
make_disk() {
	local sources path exclude=()

	((!EUID)) || die "only root can make a disk with Debian on it"
	sources=$(debian_sources)
	[[ $sources ]] || { private_apt update || true; sources=$(debian_sources); }
	[[ $sources ]] || die "apt knows no sources of Debian"
	for path in doc info locale man; do
		exclude+=(--dpkgopt="path-exclude=/usr/share/$path/*")
	done
	rm -f "$DISK.new"
	# shellcheck disable=SC2016 # mmdebstrap's $1
	DISK=$DISK mmdebstrap --variant=minbase --include="${DISK_PACKAGES[*]}" \
		"${exclude[@]}" --customize-hook='mount --bind "$1" "$1/mnt" &&
			mke2fs -q -t ext4 -O ^has_journal -d "$1/mnt" "$DISK.new" 1300M &&
			umount "$1/mnt"' '' /dev/null - <<<"$sources"
	mv "$DISK.new" "$DISK"
}

# One folder with the scripts, the programs that they probe, and the kernel's
# own tests.
build_clients() {
	local root=$PROGRAMS/root clients

	clients=$root/uprobes/clients
	new_root "$root"
	mkdir "$clients"
	cp -a "$TOOL"/clients/*.{py,sh} "$clients/"
	gcc -O2 -Wall -Wextra -Werror -static -no-pie -o "$clients/program" \
		"$TOOL"/clients/{program.c,insns.S}
	cp -a "$SOURCE/tools/testing/selftests/ftrace" "$clients/"
	add_bpf_tests "$clients/bpf"
	pack_root "$root"
}

# The scripts in clients/. What something costs is measured in another guest, where
# the time that has passed is the number of instructions.
CLIENTS=(bpf bpftrace ftrace perf tracefs)
# (Copies of a page byte by byte, which a CPU with ERMS does as fast as others, would
# count as thousands.)
COUNTED=(-cpu "max,erms=off,fsrm=off" -smp 1 -icount "shift=0,sleep=off" -seed 42
	-rtc "base=2024-01-01T00:00:00,clock=vm")
COUNTED_PARAMETERS=(norandmaps nokaslr nolapic_timer)

# select_kernel STOCK
select_kernel() {
	STOCK=$1
	load_arch "$ARCH"
	MEMORY=2048
	QEMU+=(-drive "file=$DISK,format=raw,if=virtio,snapshot=on")
}

build_clients_once() {
	local key

	build_kernel_once
	build_bpf_programs_once
	key=$KERNEL_KEY-$(cd "$TOP" && content_hash tools)
	[[ -f $INITRD ]] || rm -f "$CACHE/stamps/image-$FLAVOUR"
	step_once "image-$FLAVOUR" "$key" "packing the guest image" build_clients
}

# run_scripts SCRIPT,... LIMIT [PARAMETER...]: adds their results to those of the
# kernel, which may complain if it is not ours. What else goes wrong counts at the
# end: results may show why.
run_scripts() {
	local scripts=$1 limit=$2

	shift 2
	step_label "testing ${scripts//,/, } ($FLAVOUR)"
	echo "$LABEL"
	boot_guest clients "$limit" "only=$scripts" "limit=$((limit / 2))" "$@"
	cat "$GUEST/results" >>"$LOGS/results-$FLAVOUR"
	mv "$GUEST" "$LOGS/guest-$FLAVOUR-$scripts"
	[[ $END == passed || ($STOCK == 1 && $END == *"kernel complained"*) ]] ||
		{ echo "  the guest $END ($LOGS/guest-$FLAVOUR-$scripts)"
		BAD_ENDS=$((BAD_ENDS + 1)); }
}

test_clients() {
	local QEMU_COMMON=("${QEMU_COMMON[@]}")

	run_scripts "$(IFS=,; echo "${CLIENTS[*]}")" 1800
	QEMU_COMMON+=("${COUNTED[@]}")
	run_scripts cost 600 "${COUNTED_PARAMETERS[@]}"
}

# compare PACKAGED OURS: files of results
compare() {
	awk -f "$TOOL/lib/clients.awk" "$@"
}

# The comparison is right about each way in which two kernels can differ.
test_comparison() {
	local expected='same better same worse better worse same better same worse'
	local found

	found=$({ ! compare <(printf '%s\n' 'ok 1 a' 'not ok 2 b' 'not ok 3 c' \
		'ok 4 d' 'ok 5 e # SKIP' 'ok 6 f' 'ok 7 g # SKIP' \
		'figure h 100 ns' 'figure i 100 ns' 'figure j 100 ns') \
		<(printf '%s\n' 'ok 1 a' 'ok 2 b' 'not ok 3 c' 'not ok 4 d' \
		'ok 5 e' 'ok 7 g # SKIP' 'figure h 90 ns' 'figure i 103 ns' \
		'figure j 110 ns'); } |
		awk 'NR > 1 && !/^clients:/ { printf "%s%s", sep, $NF; sep = " " }')
	[[ $found == "$expected" ]] || die "expected: $expected, found: $found"
}

run_clients() {
	local stock

	BAD_ENDS=0
	STEPS=$((TREE_STEPS + 14))
	step "testing the comparison" test_comparison
	prepare_tree "${PACKAGES[@]}" "${ARCH_PACKAGES[@]}" "${CLIENTS_PACKAGES[@]}" \
		"${BPF_PACKAGES[@]}"
	[[ -f $DISK ]] || rm -f "$CACHE/stamps/disk"
	step_once disk "${DISK_PACKAGES[*]}" "making a disk with Debian on it" \
		make_disk
	for stock in 1 0; do
		select_kernel "$stock"
		build_clients_once
	done
	unlock_builds
	for stock in 1 0; do
		select_kernel "$stock"
		test_clients
	done
	compare "$LOGS/results-$ARCH-$KIND"{-stock,} && ((!BAD_ENDS))
}
