# SPDX-License-Identifier: GPL-2.0-only
# Compares instructions unprobed and probed: full, seed, case and bytes say
# which ones.
# shellcheck disable=SC2154

# One argument, whose name is a word of its own.
set --
[ -z "$full" ] || set -- --full
[ -z "$seed" ] || set -- "$@" --seed "$seed"
[ -z "$case" ] || set -- "$@" --case "$case"
[ -z "$bytes" ] || set -- "$@" --bytes "$bytes"
exec /uprobes/tests/encodings "$@" 2>&1
