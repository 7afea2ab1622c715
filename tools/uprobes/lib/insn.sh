# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# The differential tester in the guest: instructions unprobed and probed.

DEFAULT_SEED=1

# The last line of each tester's report, or nothing.
tester_summaries() {
	tr -d '\r' <"$GUEST/results" | sed -n '/^insn.*: .* different$/p'
}

# choose_testers 32?: those there are, or that of 32 bits. Its name says so only
# where there is another.
choose_testers() {
	TESTERS=("$PROGRAMS"/tests/encodings{,_32})
	((!$1)) || TESTERS=("${TESTERS[-1]}")
	[[ -e ${TESTERS[-1]} ]] || TESTERS=("${TESTERS[0]%_32}")
	if (($1)) && ! readelf -h "${TESTERS[0]}" | grep -q ELF32; then
		die "--32: there are no programs of 32 bits on $ARCH"
	fi
	TESTERS=("${TESTERS[@]##*/}")
}

# symbol_offset IMAGE SYMBOL: where in the file it is.
symbol_offset() {
	local address start offset size

	address=$(nm "$1" | awk -v name="$2" '$3 == name { print $1 }')
	[[ $address =~ ^[0-9a-f]+$ ]] || die "$1: no symbol $2, or several"
	while read -r start offset size; do
		((16#$address >= 16#$start)) || continue
		((16#$address - 16#$start < 16#$size)) || continue
		echo $((16#$address - 16#$start + 16#$offset))
		return
	done < <(readelf -SW "$1" | sed -n \
		's/.* PROGBITS *\([0-9a-f]*\) \([0-9a-f]*\) \([0-9a-f]*\) .*/\1 \2 \3/p')
	die "$1: $2 is in no section"
}

# byte_at FILE OFFSET
byte_at() {
	od -An -v -tx1 -j "$2" -N 1 "$1" | tr -d ' '
}

# mutate IMAGE TABLE OPCODE TABLE OPCODE: the first gets what the second has.
mutate() {
	local to from old new

	to=$(symbol_offset "$1" "$2")
	from=$(symbol_offset "$1" "$4")
	to=$((to + 16#$3))
	from=$((from + 16#$5))
	old=$(byte_at "$1" "$to")
	new=$(byte_at "$1" "$from")
	[[ $old != "$new" ]] || die "$2 $3: already the same as $4 $5"
	# shellcheck disable=SC2059 # an escape sequence is meant
	printf "\\x$new" |
		dd of="$1" bs=1 seek="$to" conv=notrunc status=none
}

# mutate_tables TABLE OPCODE TABLE OPCODE: in a copy of the kernel.
mutate_tables() {
	cp "$BUILD/$IMAGE" "$MUTATED/$IMAGE"
	mutate "$MUTATED/$IMAGE" "$@"
}

# mutate_source FILE SCRIPT: builds a kernel from what sed makes of a file. That
# is given back before anybody else builds, at the latest by the next overlay.
mutate_source() {
	local file=$TREE/$1 rc=0

	lock_builds
	[[ -d $MUTATED/arch ]] || cp -a "$BUILD/." "$MUTATED"
	cp -p "$file" "$LOGS/original"
	sed -i "$2" "$file"
	! cmp -s "$file" "$LOGS/original" || die "$1 has nothing for $2"
	BUILD=$MUTATED kmake "$IMAGE" </dev/null >"$LOGS/mutated.log" 2>&1 ||
		rc=$?
	mv "$LOGS/original" "$file"
	unlock_builds
	((!rc)) || die "$2 does not compile (log: $LOGS/mutated.log)"
}

# One line of the list: sets WHAT, and ONLY_32 if it is to be looked for there.
make_mistake() {
	local script table opcode like_table like_opcode

	ONLY_32=0
	if [[ $1 == *$'\t'* ]]; then
		IFS=$'\t' read -r script WHAT <<<"$1"
		mutate_source "arch/$ARCH_FOLDER/kernel/uprobes.c" "$script"
		return
	fi
	read -r table opcode like_table like_opcode WHAT <<<"$1"
	[[ $table != *_32bit ]] || ONLY_32=1
	mutate_tables "$table" "$opcode" "$like_table" "$like_opcode"
}

# Boots kernels with one mistake each. Only what the tester itself says counts.
run_mutations() {
	local line all=0 noticed=0 summary list=$TOOL/mutations/$ARCH_FOLDER

	[[ -f $list ]] || die "--mutate: no mistakes are known for $ARCH"
	# A folder of this run: nobody else boots, or builds, from there.
	MUTATED=$LOGS/mutated
	mkdir -p "$MUTATED"
	while read -r line; do
		[[ $line && $line != '#'* ]] || continue
		all=$((all + 1))
		make_mistake "$line"
		choose_testers "$ONLY_32"
		BUILD=$MUTATED boot_guest insn 300 "seed=$SEED" \
			"tester=${TESTERS[0]}"
		summary=$(tester_summaries)
		mv "$GUEST" "$GUEST-$all"
		if [[ $summary =~ \ ([1-9][0-9]*)\ different$ ]]; then
			noticed=$((noticed + 1))
			echo "  $WHAT: ${BASH_REMATCH[1]} different"
		else
			echo "  $WHAT: NOT NOTICED, the guest $END ($GUEST-$all)"
		fi
	done <"$list"
	rm -r "$MUTATED"
	echo "mutations: $noticed of $all noticed"
	((noticed == all && all))
}

run_insn() {
	local limit=300 parameters=("seed=$SEED")

	((!MUTATE)) || [[ $FULL$BITS_32$CASE$BYTES == 00 ]] ||
		die "--mutate goes with --seed only"
	STEPS=$((BUILD_STEPS + 1))
	build_all
	if ((MUTATE)); then
		step_label "comparing instructions in kernels with mistakes"
		echo "$LABEL"
		run_mutations
		return
	fi
	if ((FULL)); then
		limit=3600
		parameters+=(full=1)
	fi
	[[ -z $CASE ]] || parameters+=("case=$CASE")
	[[ -z $BYTES ]] || parameters+=("bytes=$BYTES")
	choose_testers "$BITS_32"
	# A case, or bytes, are something else in the other mode.
	[[ -z $CASE$BYTES ]] || TESTERS=("${TESTERS[0]}")
	((${#TESTERS[@]} > 1)) || parameters+=("tester=${TESTERS[0]}")
	step_label "comparing instructions unprobed and probed"
	echo "$LABEL"
	follow_guest insn "$limit" "${parameters[@]}"
	[[ $END == passed ]] || die "the guest $END (logs: $GUEST)"
	(($(tester_summaries | grep -c ' 0 different$') == ${#TESTERS[@]})) ||
		die "the tester did not come to its end (logs: $GUEST)"
}
