#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests vaddr on processes that tell themselves where their functions are.
# Prints KTAP. Needs VADDR, the program to test; CC is the compiler, CROSS_CC one
# for another machine, if files of that are to be tested, too.
#
# shellcheck disable=SC2317 # the tests are called by name

set -euo pipefail

: "${VADDR:?the program to test}"
CC=${CC:-cc}
CROSS_CC=${CROSS_CC:-}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir"

bad=0			# checks of the current test that failed
declare -A address	# what the current target says of itself
launch=()		# how to run target and vaddr: empty, or without privileges

complain() {
	echo "# $*"
	bad=$((bad + 1))
}

finds() { # SPEC ADDRESS [PID]
	local out status=0
	out=$("${launch[@]}" "$VADDR" "${3:-$TARGET_PID}" "$1" 2>&1) ||
		status=$?
	[[ $status == 0 && $out == "$2" ]] ||
		complain "$1: expected $2, got $out (exit $status)"
}

refuses() { # PATTERN ARGUMENT...
	local out status=0 pattern=$1
	shift
	out=$("${launch[@]}" "$VADDR" "$@" 2>&1 >"$dir/stdout") || status=$?
	[[ $status == 1 && $out == "vaddr: "$pattern && $out != *$'\n'* ]] ||
		complain "$*: expected '$pattern', got '$out' (exit $status)"
	[[ ! -s $dir/stdout ]] || complain "$*: printed $(<"$dir/stdout")"
}

# Run a program until stop; it says "NAME ADDRESS" lines, then "ready".
start() {
	local name value
	address=()
	coproc TARGET { exec "${launch[@]}" "$@"; }
	while read -r -t 20 name value <&"${TARGET[0]}"; do
		[[ $name != ready ]] || return 0
		address[$name]=$value
	done
	complain "target $* did not start"
}

stop() {
	local pid=$TARGET_PID fd=${TARGET[1]}
	exec {fd}>&-
	wait "$pid" || complain "target failed"
}

build() { # OUTPUT FLAG..., source on stdin
	local output=$1
	shift
	"$CC" -g -O1 -x c - -o "$dir/$output" "$@"
}

library() {
	build "$1" -shared -fPIC "${@:2}"
}

build_targets() {
	cat >"$dir/say.h" <<-'END'
	typedef void say_fn(const char *name, void *addr);
	#define SAY(fn) say(#fn, (void *)fn)
	#define FN __attribute__((noinline, noclone)) int
	void report(say_fn *say);
	END
	cat >"$dir/program.c" <<-'END'
	#define _GNU_SOURCE
	#include <dlfcn.h>
	#include <stdio.h>
	#include <string.h>
	#include "say.h"
	static const char *object = "program";
	static void say(const char *name, void *addr)
	{
		printf("%s:%s %p\n", object, name, addr);
	}
	int a_variable = 1;
	asm(".data\n data_label: .quad 0\n .text\n"
	    ".type code_table, @object\n code_table: .quad 0\n"
	    ".globl absolute\n absolute = 0x1010\n");
	FN in_program(int x) { return x + a_variable; }
	FN aliased(int x) { return x - a_variable; }
	extern __typeof(aliased) alias_of __attribute__((alias("aliased")));
	int main(int argc, char **argv)
	{
		SAY(in_program);
		SAY(aliased);
	#ifndef STATIC
		for (int i = 1; i < argc; i++) {
			int again = !strcmp(argv[i], "again");
			void *lib, *report;

			if (again)
				i++;
			lib = again ? dlmopen(LM_ID_NEWLM, argv[i], RTLD_NOW) :
				      dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
			report = lib ? dlsym(lib, "report") : NULL;
			if (!report)
				return fprintf(stderr, "# %s\n", dlerror());
			object = strrchr(argv[i], '/') + 1;
			((void (*)(say_fn *))report)(say);
		}
	#endif
		puts("ready");
		fflush(stdout);
		return getchar() != EOF;
	}
	END
	build pie -I"$dir" -fPIE -pie <"$dir/program.c"
	build no-pie -I"$dir" -fno-pie -no-pie <"$dir/program.c"
	build static -I"$dir" -DSTATIC -static <"$dir/program.c"
	# code and data share a page of the file
	build packed -I"$dir" -pie -fPIE -Wl,-z,noseparate-code,-z,norelro \
		<"$dir/program.c"

	cat >"$dir/one.c" <<-'END'
	#include "say.h"
	static FN hidden_in_one(int x) { return x * 5; }
	FN only_in_one(int x) { return x * 3 + hidden_in_one(x); }
	FN in_both(int x) { return x * 7; }
	int lib_variable = 1;
	__thread int lib_tls = 1;
	static FN real(int x) { return x; }
	static void *resolve(void) { return real; }
	int indirect(int x) __attribute__((ifunc("resolve")));
	void report(say_fn *say)
	{
		SAY(only_in_one); SAY(hidden_in_one); SAY(in_both);
	}
	END
	library one.so -I"$dir" <"$dir/one.c"
	# the file's addresses are not its offsets
	library moved.so -I"$dir" -Wl,-Ttext-segment=0x5000000 <"$dir/one.c"
	strip -o "$dir/stripped.so" "$dir/one.so"
	library two.so -I"$dir" <<-'END'
	#include "say.h"
	FN in_both(int x) { return x * 9; }
	void report(say_fn *say) { SAY(in_both); }
	END

	# a function whose page is no longer executable
	library shut.so -I"$dir" <<-'END'
	#include <sys/mman.h>
	#include "say.h"
	__attribute__((aligned(4096))) FN shut(int x) { return x; }
	__attribute__((aligned(4096))) FN still_open(int x) { return x; }
	void report(say_fn *say)
	{
		if (!mprotect((void *)shut, 4096, PROT_READ))
			SAY(still_open);
	}
	END

	# two static functions of one name
	echo '#include "say.h"
	static FN same(int x) { return x + 11; } void *a(void) { return same; }
	void *b(void);
	void report(say_fn *say) { say("a", a()); say("b", b()); }' \
		>"$dir/same_a.c"
	echo '#include "say.h"
	static FN same(int x) { return x + 13; } void *b(void) { return same; }' \
		>"$dir/same_b.c"
	"$CC" -g -O1 -shared -fPIC -I"$dir" "$dir"/same_[ab].c -o "$dir/same.so"

	# versions: of one function, and of two
	echo 'V1 { global: report; kept; changed; }; V2 { } V1;' \
		>"$dir/versions"
	library versions.so -I"$dir" -Wl,--version-script="$dir/versions" <<-'END'
	#include "say.h"
	#define VERSION(fn, v) __attribute__((symver(v))) FN fn(int x)
	VERSION(kept_1, "kept@V1") { return x + 17; }
	extern __typeof(kept_1) kept_2 __attribute__((alias("kept_1"),
						      symver("kept@@V2")));
	VERSION(changed_1, "changed@V1") { return x + 19; }
	VERSION(changed_2, "changed@@V2") { return x + 23; }
	FN plain(int x) { return x + 29; }
	void report(say_fn *say)
	{
		SAY(kept_1); SAY(changed_1); SAY(changed_2); SAY(plain);
	}
	END
	strip "$dir/versions.so"
}

program_is_found() { # PROGRAM
	start "$dir/$1"
	finds in_program "${address[program:in_program]}"
	finds "$1:in_program" "${address[program:in_program]}"
	finds aliased "${address[program:aliased]}"
	finds alias_of "${address[program:aliased]}"
	for name in a_variable data_label code_table; do
		refuses "$name is data, not code" "$TARGET_PID" "$name"
	done
	stop
}

test_position_independent() { program_is_found pie; }
test_not_position_independent() { program_is_found no-pie; }
test_static() { program_is_found static; }
test_code_and_data_in_one_page() { program_is_found packed; }

test_offset() {
	start "$dir/pie"
	local at=${address[program:in_program]} size
	size=$(nm -S "$dir/pie" | awk '$4 == "in_program" { print $2 }')
	finds in_program+0 "$at"
	finds in_program+3 "$(printf '0x%x' $((at + 3)))"
	finds pie:in_program+0x3 "$(printf '0x%x' $((at + 3)))"
	refuses "bad offset: *in_program ends after *" "$TARGET_PID" \
		"in_program+0x$size"
	for offset in '' 0x x 3x -3 ' 3' 0x0x3 3+ 99999999999999999999; do
		refuses "bad offset: *" "$TARGET_PID" "in_program+$offset"
	done
	refuses "bad offset: *" "$TARGET_PID" "in_program+0xffffffffffffffff"
	stop
}

library_is_found() { # LIBRARY
	start "$dir/pie" "$dir/$1"
	finds only_in_one "${address[$1:only_in_one]}"
	finds "$1:only_in_one" "${address[$1:only_in_one]}"
	finds "$dir/$1:only_in_one+1" \
		"$(printf '0x%x' $((${address[$1:only_in_one]} + 1)))"
	refuses "lib_variable is data, not code" "$TARGET_PID" lib_variable
	refuses "lib_tls is data, not code" "$TARGET_PID" lib_tls
	refuses "* is an IFUNC *" "$TARGET_PID" indirect
	refuses "* is an IFUNC *" "$TARGET_PID" "$1:indirect+1"
}

test_library() {
	library_is_found one.so
	finds hidden_in_one "${address[one.so:hidden_in_one]}"
	stop
}

test_library_at_other_addresses() {
	library_is_found moved.so
	finds hidden_in_one "${address[moved.so:hidden_in_one]}"
	stop
}

test_stripped_library() {
	library_is_found stripped.so
	refuses "no symbol hidden_in_one in process *" "$TARGET_PID" \
		hidden_in_one
	stop
}

test_libc() {
	start "$dir/pie"
	refuses "*libc.so.6:strlen* is an IFUNC *" "$TARGET_PID" \
		libc.so.6:strlen
	stop
}

test_ambiguous_in_two_objects() {
	start "$dir/pie" "$dir/one.so" "$dir/two.so"
	local one=${address[one.so:in_both]} two=${address[two.so:in_both]}
	refuses "in_both is ambiguous*$dir/one.so:in_both ($one)*" \
		"$TARGET_PID" in_both
	refuses "in_both is ambiguous*$dir/two.so:in_both ($two)*" \
		"$TARGET_PID" in_both
	finds one.so:in_both "$one"
	finds two.so:in_both "$two"
	stop
}

test_ambiguous_in_one_object() {
	start "$dir/pie" "$dir/same.so"
	refuses "same is ambiguous*(${address[same.so:a]})*" "$TARGET_PID" same
	refuses "same is ambiguous*(${address[same.so:b]})*" "$TARGET_PID" \
		same.so:same
	stop
}

test_ambiguous_object_loaded_twice() {
	start "$dir/pie" "$dir/two.so" again "$dir/two.so"
	refuses "in_both is ambiguous*(${address[two.so:in_both]})*" \
		"$TARGET_PID" in_both
	stop
}

test_versions() {
	start "$dir/pie" "$dir/versions.so"
	local one=${address[versions.so:changed_1]}
	local two=${address[versions.so:changed_2]}
	finds kept "${address[versions.so:kept_1]}"
	finds kept@V1 "${address[versions.so:kept_1]}"
	finds kept@@V2 "${address[versions.so:kept_1]}"
	refuses "changed is ambiguous*:changed@V1 ($one)*" "$TARGET_PID" changed
	refuses "changed is ambiguous*:changed@@V2 ($two)*" "$TARGET_PID" changed
	finds changed@V1 "$one"
	finds changed@@V2 "$two"
	finds plain "${address[versions.so:plain]}"
	refuses "no symbol plain@@versions.so in process *" "$TARGET_PID" \
		plain@@versions.so
	refuses "no symbol changed@V3 in process *" "$TARGET_PID" changed@V3
	stop
}

test_no_longer_executable() {
	start "$dir/pie" "$dir/shut.so"
	finds shut.so:still_open "${address[shut.so:still_open]}"
	refuses "shut is not in executable memory of process *" \
		"$TARGET_PID" shut
	stop
}

test_unknown() {
	start "$dir/pie"
	refuses "no symbol nothing in process $TARGET_PID" \
		"$TARGET_PID" nothing
	refuses "no symbol in_progra in process $TARGET_PID" \
		"$TARGET_PID" in_progra
	refuses "no symbol in_program in libc.so.6 of process $TARGET_PID" \
		"$TARGET_PID" libc.so.6:in_program
	refuses "process $TARGET_PID maps no executable file nothing.so" \
		"$TARGET_PID" nothing.so:in_program
	refuses "no symbol absolute in process $TARGET_PID" \
		"$TARGET_PID" absolute
	# declared there, but defined in libc.so.6
	refuses "no symbol dlsym in pie of process $TARGET_PID" \
		"$TARGET_PID" pie:dlsym
	stop
}

test_process() {
	sleep 0 &
	local gone=$!
	wait "$gone"
	refuses "no such process: $gone" "$gone" main
	for pid in '' 0 -1 x 1x 0x 99999999999; do
		refuses "bad process id: $pid" "$pid" main
	done
}

test_zombie() {
	local zombie state='' deadline=$((SECONDS + 20))
	mkfifo "$dir/go"
	# cat does not reap the child that it inherits from the shell
	coproc TARGET {
		sh -c 'read -r _ <"$0" & echo $!; exec cat' "$dir/go"
	}
	read -r zombie <&"${TARGET[0]}"
	echo >&"${TARGET[1]}"
	read -r _ <&"${TARGET[0]}"
	echo >"$dir/go"
	while [[ $state != Z ]] && ((SECONDS < deadline)); do
		read -r _ _ state _ <"/proc/$zombie/stat"
	done
	refuses "process $zombie has no memory: *" "$zombie" main
	stop
}

test_usage() {
	refuses "usage: vaddr PID *"
	refuses "usage: vaddr PID *" $$
	refuses "usage: vaddr PID *" $$ main exit
	for spec in '' : : libc.so.6: :main +1 libc.so.6:+1; do
		refuses "usage: vaddr PID *" $$ "$spec"
	done
}

test_output_is_checked() {
	start "$dir/pie"
	local out status=0
	out=$("$VADDR" "$TARGET_PID" in_program 2>&1 >/dev/full) || status=$?
	[[ $status == 1 && $out == "vaddr: cannot write the address: "* ]] ||
		complain "full device: got '$out' (exit $status)"
	stop
}

# A successor has taken the place of the library, the program is deleted.
replaced_files() {
	cp "$dir/pie" "$dir/deleted"
	cp "$dir/one.so" "$dir/replaced.so"
	start "$dir/deleted" "$dir/replaced.so"
	rm "$dir/deleted"
	cp "$dir/two.so" "$dir/new"
	mv "$dir/new" "$dir/replaced.so"
	finds deleted:in_program "${address[program:in_program]}"
}

test_deleted_files() {
	replaced_files
	finds replaced.so:only_in_one "${address[replaced.so:only_in_one]}"
	stop
}

test_without_privileges() {
	if ((EUID == 0)); then
		launch=(setpriv --reuid 65534 --regid 65534 --clear-groups
			--inh-caps=-all --bounding-set=-all)
	fi
	cp "$VADDR" "$dir/vaddr"
	local VADDR=$dir/vaddr
	library_is_found one.so
	stop
	replaced_files
	refuses "no symbol only_in_one in *cannot read $dir/replaced.so *" \
		"$TARGET_PID" replaced.so:only_in_one
	stop
	launch=()
}

# Files of another machine, which a program has mapped: a function may have two
# entries there, or a symbol that is not its address.
build_cross_targets() {
	build mapper <<-'END'
	#include <fcntl.h>
	#include <stdio.h>
	#include <sys/mman.h>
	int main(int argc, char **argv)
	{
		int fd = open(argv[1], O_RDONLY);
		void *at = mmap(NULL, 1 << 20, PROT_READ | PROT_EXEC,
				MAP_PRIVATE, fd, 0);

		if (at == MAP_FAILED)
			return perror("# mmap"), 1;
		printf("file %p\nready\n", at);
		fflush(stdout);
		return getchar() != EOF;
	}
	END
	cat >"$dir/cross.c" <<-'END'
	int variable = 1;
	int fn(int x)
	{
		asm volatile("fn_code:");
		return x + variable;
	}
	END
	# such that the label stands first
	"$CROSS_CC" -O2 -fno-pic -shared -nostdlib -Wl,-z,notext \
		"$dir/cross.c" -o "$dir/cross.so"
}

if [[ -n $CROSS_CC ]]; then
test_other_machine() {
	local offset
	offset=$(readelf -sW "$dir/cross.so" |
		awk '$8 == "fn_code" { print $2 }')
	start "$dir/mapper" "$dir/cross.so"
	finds fn "$(printf '0x%x' $((address[file] + 0x$offset)))"
	refuses "variable is data, not code" "$TARGET_PID" variable
	refuses "bad offset: *" "$TARGET_PID" fn+0x1000
	stop
}
fi

build_targets
[[ -z $CROSS_CC ]] || build_cross_targets
mapfile -t tests < <(compgen -A function test_ | sort)
echo "KTAP version 1"
echo "1..${#tests[@]}"
failed=0
for ((i = 0; i < ${#tests[@]}; i++)); do
	bad=0
	"${tests[i]}"
	result=ok
	if ((bad)); then
		result="not ok"
		failed=1
	fi
	echo "$result $((i + 1)) ${tests[i]#test_}"
done
exit "$failed"
