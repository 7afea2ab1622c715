# SPDX-License-Identifier: GPL-2.0-only
# Compares instructions unprobed and probed: full, seed, case and bytes say
# which ones, and tester by which program, or by all there are.
# shellcheck disable=SC2154

# One argument, whose name is a word of its own.
set --
[ -z "$full" ] || set -- --full
[ -z "$seed" ] || set -- "$@" --seed "$seed"
[ -z "$case" ] || set -- "$@" --case "$case"
[ -z "$bytes" ] || set -- "$@" --bytes "$bytes"

rc=0
for program in /uprobes/tests/${tester:-encodings*}; do
	"$program" "$@" 2>&1 || rc=1
done
exit $rc
