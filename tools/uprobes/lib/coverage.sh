# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# How much of programs that everybody runs can be probed.

# PACKAGE/PATH, for both architectures
COVERAGE_FILES=(
	libc6/lib/TRIPLET/libc.so.6
	libstdc++6/usr/lib/TRIPLET/libstdc++.so.6
	bash/bin/bash
	python3.11-minimal/usr/bin/python3.11
	perl-base/usr/bin/perl
	libssl3/usr/lib/TRIPLET/libcrypto.so.3
	libavcodec59/usr/lib/TRIPLET/libavcodec.so.59
)

# coverage_files ARCHITECTURE TRIPLET: as above, with both filled in.
coverage_files() {
	local file

	for file in "${COVERAGE_FILES[@]/TRIPLET/$2}"; do
		echo "${file%%/*}:$1/${file#*/}"
	done
}

# The judgement is in the report, not in the end of this step.
count_coverage() {
	local out=$LOGS/coverage rc=0

	mkdir "$out"
	make -s --no-print-directory KDIR="$TREE" OUTPUT="$out" \
		-C "$TOP/tools/testing/selftests/uprobes/host" all
	"$out/uprobes_insn_coverage" "${@/#/$CACHE/packages/}" \
		>"$LOGS/coverage.rst" || rc=$?
	echo "$rc" >"$LOGS/coverage.end"
}

run_coverage() {
	local files

	mapfile -t files < <(coverage_files amd64 x86_64-linux-gnu
		coverage_files i386 i386-linux-gnu)
	STEPS=$((TREE_STEPS + 1))
	prepare_tree "${PACKAGES[@]}"
	unpack_missing "${files[@]%%/*}"
	step "counting instructions" count_coverage "${files[@]}"
	unlock_builds
	cat "$LOGS/coverage.rst"
	return "$(<"$LOGS/coverage.end")"
}
