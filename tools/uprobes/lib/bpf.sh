# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# The kernel's own BPF selftests, as far as they use user-space probes.

BPF_PACKAGES=(clang dwarves lld zlib1g-dev)
# What clients/bpf.sh runs, and what it starts. Without test_lsm, bpf_cookie cannot
# be linked; btf_data is what the Makefile wants to link anything.
BPF_TESTS=(attach_probe bpf_cookie build_id fill_link_info get_func_ip_test
	task_pt_regs uprobe uprobe_autoattach uprobe_multi_test uprobe_syscall
	uretprobe_stack usdt)
BPF_HELPERS=(liburandom_read.so uprobe_multi urandom_read)
BPF_ALSO_TESTS=(test_lsm)
BPF_ALSO_PROGRAMS=(btf_data test_usdt_multispec)
BPF_SOURCE=$CACHE/bpf
BPF_SELFTESTS=$BPF_SOURCE/tools/testing/selftests/bpf

# keep_sources FOLDER NAME...: removes all others from it.
keep_sources() {
	local file name

	for file in "$1"/*.c; do
		name=${file##*/}
		[[ " ${*:2} " == *" ${name%.c} "* ]] || rm "$file"
	done
}

# Of a copy, since the Makefile builds every test that is there.
copy_bpf_selftests() {
	local skeletons

	rm -rf "$BPF_SOURCE"
	mkdir -p "$BPF_SOURCE"
	(cd "$CACHE/linux" && cp -a --parents -t "$BPF_SOURCE" \
		kernel/bpf/disasm.[ch] scripts/bpf_doc.py \
		tools/{arch,bpf,build,include,lib,scripts} \
		tools/testing/selftests/{bpf,lib.mk})
	keep_sources "$BPF_SELFTESTS/prog_tests" \
		"${BPF_TESTS[@]}" "${BPF_ALSO_TESTS[@]}"
	mapfile -t skeletons < <(sed -n 's/^#include "\(.*\)\.skel\.h"/\1/p' \
		"$BPF_SELFTESTS"/prog_tests/*.c)
	keep_sources "$BPF_SELFTESTS/progs" \
		"${skeletons[@]}" "${BPF_ALSO_PROGRAMS[@]}"
	# The Makefile overlooks this one, whose test then is not run at all.
	sed -i 's/^__weak \(void test_\)/\1/' \
		"$BPF_SELFTESTS/prog_tests/uretprobe_stack.c"
}

# Any kernel's types will do: where another one has their members, the programs
# find out when they are loaded.
build_bpf_programs() {
	copy_bpf_selftests
	make -C "$BPF_SELFTESTS" -j"$(nproc)" CC="ccache gcc" \
		HOSTCC="ccache gcc" PKG_CONFIG=false \
		feature-llvm=0 feature-clang-bpf-co-re=0 \
		LSKELS= LSKELS_EXTRA= LINKED_SKELS=test_usdt.skel.h \
		TRUNNER_EXTRA_FILES="${BPF_HELPERS[*]/#/$BPF_SELFTESTS/}" \
		VMLINUX_BTF="$BUILD/vmlinux" "$BPF_SELFTESTS/test_progs"
}

# They are the same for all kernels, and built with the first one.
build_bpf_programs_once() {
	local key

	key=$SOURCE_VERSION-$(cd "$TOP" && content_hash "${BASH_SOURCE[0]#"$TOP/"}")
	[[ -f $BPF_SELFTESTS/test_progs ]] || rm -f "$CACHE/stamps/bpf"
	step_once bpf "$key" "building the kernel's BPF selftests" \
		build_bpf_programs
}

# add_bpf_tests FOLDER: the programs, and a module for the kernel at hand.
add_bpf_tests() {
	local file module=$PROGRAMS/bpf_testmod

	rm -rf "$module"
	mkdir -p "$PROGRAMS" "$1"
	cp -a "$BPF_SELFTESTS/bpf_testmod" "$module"
	kmake M="$module" modules
	for file in "${BPF_HELPERS[@]/#/$BPF_SELFTESTS/}" \
			"$BPF_SELFTESTS/test_progs" "$module/bpf_testmod.ko"; do
		strip -g -o "$1/${file##*/}" "$file"
	done
	printf '%s\n' "${BPF_TESTS[@]}" >"$1/list"
}
