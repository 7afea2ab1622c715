# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# The differential tester in the guest: instructions unprobed and probed.

DEFAULT_SEED=1

# The last line of the tester's report, or nothing.
tester_summary() {
	sed -n '/^insn: /h; ${ x; p }' "$GUEST/results"
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

# Boots kernels with one mistake each. Only what the tester itself says counts.
run_mutations() {
	local table opcode like_table like_opcode what all=0 noticed=0 summary
	local original=$BUILD/$IMAGE

	# A folder of this run: nobody else boots, or builds, from there.
	cp "$original" "$LOGS/original"
	BUILD=$LOGS
	IMAGE=mutated
	while read -r table opcode like_table like_opcode what; do
		[[ $table && $table != '#'* ]] || continue
		all=$((all + 1))
		cp "$LOGS/original" "$BUILD/$IMAGE"
		mutate "$BUILD/$IMAGE" "$table" "$opcode" "$like_table" \
			"$like_opcode"
		boot_guest insn 300 "seed=$SEED"
		summary=$(tester_summary)
		mv "$GUEST" "$GUEST-$all"
		if [[ $summary =~ \ ([1-9][0-9]*)\ different$ ]]; then
			noticed=$((noticed + 1))
			echo "  $what: ${BASH_REMATCH[1]} different"
		else
			echo "  $what: NOT NOTICED, the guest $END ($GUEST-$all)"
		fi
	done <"$TOOL/mutations"
	rm -f "$LOGS/original" "$BUILD/$IMAGE"
	echo "mutations: $noticed of $all noticed"
	((noticed == all && all))
}

run_insn() {
	local limit=300 parameters=("seed=$SEED")

	((!MUTATE)) || [[ $FULL$CASE$BYTES == 0 ]] ||
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
	step_label "comparing instructions unprobed and probed"
	echo "$LABEL"
	follow_guest insn "$limit" "${parameters[@]}"
	[[ $END == passed ]] || die "the guest $END (logs: $GUEST)"
	[[ $(tester_summary) == *" 0 different" ]] ||
		die "the tester did not come to its end (logs: $GUEST)"
}
