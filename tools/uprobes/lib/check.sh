# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# The reviewers' checks. Each is a function that fails, with the reason on its
# output.

CHECKS=0
CHECKS_FAILED=0

# check NAME COMMAND...: like step(), but the next one runs all the same.
check() {
	local name=$1 log rc=0

	shift
	log=$LOGS/check-${name//[^A-Za-z0-9]/-}.log
	set -m
	("$@") </dev/null >"$log" 2>&1 &
	JOB=$!
	set +m
	wait "$JOB" || rc=$?
	JOB=
	CHECKS=$((CHECKS + 1))
	if ((rc)); then
		CHECKS_FAILED=$((CHECKS_FAILED + 1))
		echo "  $name: FAILED"
		tail -n 20 "$log"
		echo "  log: $log"
	else
		echo "  $name: ok"
	fi
}

# ours PATTERN...: our files whose names match, relative to the top.
ours() {
	local tests=() pattern dirs=()

	for pattern in "$@"; do
		tests+=(-o -name "$pattern")
	done
	for pattern in "${OVERLAY_DIRS[@]}"; do
		[[ ! -d $TOP/$pattern ]] || dirs+=("$pattern")
	done
	(cd "$TOP" && find "${dirs[@]}" -type f \( "${tests[@]:1}" \) | sort)
}

kernel_code() {
	ours '*.[ch]' | grep -v '^tools/'
}

# The shell scripts that are not the guest's; "run" stands for all of lib/.
bash_scripts() {
	echo tools/uprobes/run
	echo .ci/run
	ours '*.sh' | grep -v '^tools/uprobes/\(lib\|guest\)/'
}

guest_scripts() {
	echo tools/uprobes/guest/init
	ours '*.sh' | grep '^tools/uprobes/guest/'
}

checkpatch() {
	local out

	out=$("$TREE/scripts/checkpatch.pl" --no-tree --root="$TREE" --strict \
		--terse --show-types --quiet "$@" 2>&1) || { echo "$out"; return 1; }
}

# libelf has names of its own taste, and stubs do answer -ENOSYS.
check_style() {
	local file ignore rc=0

	mkdir "$LOGS/scratch"	# checkpatch leaves a cache where it runs
	cd "$TOP"
	ours '*' | xargs cp -t "$LOGS/scratch" --parents
	cd "$LOGS/scratch"
	while read -r file; do
		ignore=()
		[[ $file != tools/uprobes/*.c ]] || ignore=(--ignore CAMELCASE)
		[[ $file != include/*.h ]] || ignore=(--ignore ENOSYS)
		checkpatch "${ignore[@]}" -f "$file" || rc=1
	done < <(ours '*.[chS]' Makefile Kbuild 'Kconfig*' '*.rst' '*.sh')
	return "$rc"
}

# What a patch file has no room for is not asked of it.
check_patches() {
	local patch rc=0

	cd "$LOGS"
	for patch in "$TOOL"/patches/*.patch; do
		[[ -f $patch ]] || continue
		grep -qx "${patch##*/}" "$TOOL/patches/series" ||
			{ echo "${patch##*/} is not in the series"; rc=1; }
		checkpatch --no-signoff \
			--ignore COMMIT_MESSAGE,FILE_PATH_CHANGES "$patch" || rc=1
	done
	return "$rc"
}

check_kernel_doc() {
	cd "$TREE"
	kernel_code | xargs scripts/kernel-doc -none -Werror -Wall
}

check_rst() {
	cd "$TOP"
	ours '*.rst' | xargs -r rstcheck --report-level warning \
		--ignore-directives kernel-doc,toctree --ignore-roles c:func,doc,ref
}

check_htmldocs() {
	local out=$CACHE/build/docs

	rm -rf "$out"
	mkdir -p "$out"
	make -C "$TREE" O="$out" SPHINXDIRS=trace/uprobes htmldocs \
		>"$out/log" 2>&1 || { cat "$out/log"; return 1; }
	! grep -iE 'uprobe.*(warning|error)' "$out/log"
}

check_spelling() {
	cd "$TOP"
	ours '*' | xargs codespell --ignore-words-list=aadd,daa,iput,leas \
		README MAINTAINERS .ci/run
}

check_shell() {
	cd "$TOP"
	bash_scripts | xargs shellcheck -x
	guest_scripts | xargs shellcheck -s dash
}

# Every path of ours has to be in our section.
check_maintainers() {
	local title file sections rc=0

	[[ -f $TOP/MAINTAINERS ]] || { echo "no MAINTAINERS"; return 1; }
	title=$(head -n 1 "$TOP/MAINTAINERS")
	cd "$TREE"
	while read -r file; do
		sections=$(scripts/get_maintainer.pl --no-git \
			--no-git-fallback --sections -f "$file" </dev/null)
		grep -qxF "$title" <<<"$sections" ||
			{ echo "$file: not in \"$title\": $sections"; rc=1; }
	done < <(ours '*')
	return "$rc"
}

# Objects below kernel/ and arch/ that are made of our files.
our_objects() {
	kernel_code | grep -E "^(arch/$ARCH_FOLDER|[^a].*)/" |
		sed -n 's/\.c$/.o/p'
}

# Lines about our files in a build's log, our paths as the compiler shows them.
complaints() {
	kernel_code | grep -Ff - "$1" | grep -E 'warning|error'
}

# A build folder of its own, so that other flags do not spoil the kernel's.
configure_check() {
	BUILD=$CACHE/build/check-$1
	COMPILER=$2
	mkdir -p "$BUILD"
	config_fragments | xargs cat | grep '^CONFIG_' |
		grep -v '^CONFIG_WERROR=' >"$BUILD/wanted.config"
	[[ $1 != off ]] || sed -i '/UPROBE/d' "$BUILD/wanted.config"
	kmake KCONFIG_ALLCONFIG="$BUILD/wanted.config" allnoconfig
}

# check_compile COMPILER [ARGUMENT...]
check_compile() {
	local log

	configure_check "$1" "$1"
	log=$BUILD/log
	# shellcheck disable=SC2046 # one word an object
	(cd "$BUILD" && rm -f $(our_objects)) # their warnings come once
	# shellcheck disable=SC2046
	kmake W=1 "${@:2}" $(our_objects) >"$log" 2>&1 || { cat "$log"; return 1; }
	! complaints "$log"
}

# The rest of the kernel, as it sees the header without the engine.
# The stubs: for those who call them in the kernel, and for modules.
check_off() {
	local log

	configure_check off gcc
	log=$BUILD/log
	mkdir -p "$BUILD/caller"
	cat >"$BUILD/caller/caller.c" <<-'C'
	#include <linux/bug.h>
	#include <linux/uprobes.h>

	int __init caller(void);
	int __init caller(void)
	{
		static_assert(sizeof(struct uprobes_state) == 0);
		unregister_uprobe(NULL);
		unregister_uprobes(NULL, 0);
		unregister_uretprobe(NULL);
		unregister_uretprobes(NULL, 0);
		if (__builtin_constant_p(register_uprobe(NULL)))
			BUILD_BUG_ON(register_uprobe(NULL) != -ENOSYS);
		return register_uprobes(NULL, 0) ?: enable_uprobe(NULL) ?:
		       disable_uprobe(NULL) ?: init_uretprobes(0, 0) ?:
		       register_uretprobe(NULL) ?:
		       register_uretprobes(NULL, 0) ?:
		       enable_uretprobe(NULL) ?: disable_uretprobe(NULL);
	}
	C
	echo 'obj-y := caller.o' >"$BUILD/caller/Makefile"
	kmake W=1 kernel/{fork,signal,exit,rseq}.o kernel/events/core.o \
		kernel/entry/common.o mm/{mmap,memory,mremap}.o \
		arch/x86/kernel/{traps,signal}.o >"$log" 2>&1 &&
		kmake W=1 M="$BUILD/caller" caller.o >>"$log" 2>&1 ||
		{ cat "$log"; return 1; }
	! grep -E 'uprobe.*(warning|error)|caller.c.*(warning|error)' "$log"
}

# Nothing but the engine: it needs no option that it does not ask for.
check_alone() {
	BUILD=$CACHE/build/check-alone
	COMPILER=gcc
	mkdir -p "$BUILD"
	printf 'CONFIG_64BIT=y\nCONFIG_UPROBES=y\n' >"$BUILD/wanted.config"
	kmake KCONFIG_ALLCONFIG="$BUILD/wanted.config" allnoconfig
	grep -qx CONFIG_UPROBES=y "$BUILD/.config"
	# shellcheck disable=SC2046 # one word an object
	kmake W=1 $(our_objects | grep -v /tests/)
}

# sums TREE: one hash over it, but for what we remember there.
sums() {
	(cd "$1" && content_hash $(ls -A | grep -vxF "$STATE"))
}

fail() {
	echo "$*"
	exit 1
}

# Those files of the kernel that the overlay touches or looks at, as hard links
# to the pristine ones: a write in place would show there.
link_touched_files() {
	local path

	{
		printf '%s\n' Makefile Kbuild MAINTAINERS
		cat "$TOOL"/patches/removed "$TOOL"/patches/*.patch 2>/dev/null |
			sed -n 's,^+++ b/\([^\t]*\).*,\1,p; /^[a-z][^ ]*$/p'
		ours '*'
	} | sort -u | while read -r path; do
		[[ -f $CACHE/linux/$path ]] || continue
		mkdir -p "$1/$(dirname "$path")"
		ln "$CACHE/linux/$path" "$1/$path"
	done
}

check_overlay() {
	local dir before overlaid victim

	dir=$(mktemp -d "$CACHE/overlay.XXX")
	# shellcheck disable=SC2064 # this folder
	trap "rm -rf '$dir'" EXIT
	mkdir "$dir/tree" "$dir/empty"
	link_touched_files "$dir/tree"
	cp -a "$dir/tree" "$dir/pristine"
	before=$(sums "$dir/tree")

	"$TOOL/run" apply "$dir/tree" || fail "apply failed"
	overlaid=$(sums "$dir/tree")
	[[ $overlaid != "$before" ]] || fail "apply did nothing"
	"$TOOL/run" apply "$dir/tree" || fail "applying twice failed"
	[[ $(sums "$dir/tree") == "$overlaid" ]] || fail "applying twice differs"

	# A file of ours that vanished since, one more of ours by now.
	mkdir -p "$dir/ours/kernel" "$dir/ours/tools/uprobes/lib"
	cp "$TOOL/run" "$dir/ours/tools/uprobes/"
	cp "$TOOL"/lib/*.sh "$dir/ours/tools/uprobes/lib/"
	cp -r "$TOOL/arch" "$dir/ours/tools/uprobes/"
	echo new >"$dir/ours/kernel/uprobes_new.c"
	"$dir/ours/tools/uprobes/run" apply "$dir/tree" || fail "shrinking failed"
	[[ -f $dir/tree/kernel/uprobes_new.c ]] || fail "a new file is missing"
	[[ ! -f $dir/tree/kernel/uprobes.c ]] || fail "a vanished file stays"
	"$TOOL/run" apply "$dir/tree" || fail "growing again failed"
	[[ $(sums "$dir/tree") == "$overlaid" ]] || fail "growing again differs"

	"$TOOL/run" revert "$dir/tree" || fail "revert failed"
	[[ $(sums "$dir/tree") == "$before" ]] ||
		{ diff -r "$dir/tree" "$dir/pristine"; fail "revert differs"; }
	[[ ! -e $dir/tree/$STATE ]] || fail "revert left $STATE"
	! "$TOOL/run" revert "$dir/tree" || fail "reverting twice passed"
	! "$TOOL/run" apply "$dir/empty" || fail "an empty folder was accepted"
	[[ -z $(ls -A "$dir/empty") ]] || fail "an empty folder was changed"

	# A patch that does not fit any more: nothing at all may change.
	victim=$(sed -n 's,^+++ b/\([^\t]*\).*,\1,p' "$TOOL"/patches/*.patch | tail -n 1)
	rm "$dir/tree/$victim"
	echo other >"$dir/tree/$victim"
	before=$(sums "$dir/tree")
	! "$TOOL/run" apply "$dir/tree" || fail "a patch that does not fit passed"
	[[ $(sums "$dir/tree") == "$before" ]] || fail "a failed apply left traces"
	rm -rf "$dir/tree"
	mkdir "$dir/tree"
	link_touched_files "$dir/tree"
	diff -r "$dir/tree" "$dir/pristine" || fail "the source was written to"
}

# Only on request: it takes as long as all the others together.
# The rules do not know that kunit_skip() does not return.
check_cocci() {
	local dir=$LOGS/cocci

	mkdir "$dir"
	cd "$TREE"
	kernel_code | grep -v /tests/ | xargs cp -t "$dir" --parents
	kmake coccicheck MODE=report M="$dir" >"$dir/log" 2>&1 ||
		{ tail "$dir/log"; return 1; }
	! grep -E '^[^ ]+:[0-9]+' "$dir/log"
}

run_check() {
	local packages=("${PACKAGES[@]}" "${CHECK_PACKAGES[@]}")

	((!FULL)) || packages+=(coccinelle ocaml-nox)
	STEPS=$((TREE_STEPS + 1))
	prepare_tree "${packages[@]}"
	step_label "checking"
	echo "$LABEL"
	check "checkpatch on files" check_style
	check "checkpatch on patches" check_patches
	check "kernel-doc" check_kernel_doc
	check "rst" check_rst
	check "htmldocs" check_htmldocs
	check "codespell" check_spelling
	check "shellcheck" check_shell
	check "MAINTAINERS" check_maintainers
	check "overlay" check_overlay
	check "sparse and gcc W=1" check_compile gcc C=2
	check "clang W=1" check_compile clang
	check "engine off" check_off
	check "engine alone" check_alone
	((!FULL)) || check "coccicheck" check_cocci
	echo "check: $CHECKS checks, $CHECKS_FAILED failed"
	((CHECKS_FAILED == 0))
}
