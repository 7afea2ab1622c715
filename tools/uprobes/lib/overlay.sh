# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Laying our files over a kernel tree, and taking them off again.
#
# What the overlaid tree has to look like is made up in a scratch folder first,
# from the originals: patches are tried there, and nothing in the tree changes
# when one of them does not apply. $STATE in the tree then remembers each file
# that we replaced or removed (orig/) and the name of each that we added.

OVERLAY_DIRS=(Documentation arch include kernel samples tools)
STATE=.uprobes-overlay

check_kernel_tree() {
	[[ -d $1 ]] || die "$1: no such folder"
	if ! grep -qx 'VERSION = 6' "$1/Makefile" 2>/dev/null ||
	   ! grep -qx 'PATCHLEVEL = 12' "$1/Makefile" ||
	   [[ ! -f $1/Kbuild || ! -f $1/MAINTAINERS ]]; then
		die "$1: not a Linux 6.12 source tree"
	fi
}

# original TREE PATH: where the pristine file is; fails when there is none.
original() {
	if [[ -f $1/$STATE/orig/$2 ]]; then
		echo "$1/$STATE/orig/$2"
	elif [[ -f $1/$2 ]] && ! grep -qxF "$2" "$1/$STATE/added" 2>/dev/null; then
		echo "$1/$2"
	else
		return 1
	fi
}

# A section of the same title is replaced, else ours goes to its place in the
# alphabet.
merge_maintainers() {
	LC_ALL=C awk -v ours="$1" '
		function flush() {
			while ((getline line < ours) > 0)
				print line
			print ""
			done = 1
		}
		BEGIN { getline title < ours; close(ours) }
		/^Maintainers List$/ { list = 1 }
		list && start && /^[0-9A-Z]/ {
			skip = $0 == title
			if (!done && $0 >= title)
				flush()
		}
		{ start = /^$/ }
		!skip { print }
		END { if (!done) { print ""; flush() } }' "$2"
}

stage_patches() {
	local tree=$1 stage=$2 patch file from

	[[ -f $TOOL/patches/series ]] || return 0
	while read -r patch; do
		[[ -n $patch && $patch != \#* ]] || continue
		while read -r file; do
			[[ ! -f $stage/$file ]] || continue
			from=$(original "$tree" "$file") ||
				die "$patch: the tree has no $file"
			mkdir -p "$stage/$(dirname "$file")"
			cp -p "$from" "$stage/$file"
		done < <(sed -n 's,^+++ b/\([^	]*\).*,\1,p' "$TOOL/patches/$patch")
		patch -d "$stage" -p1 --fuzz=0 --no-backup-if-mismatch --quiet \
			-r - <"$TOOL/patches/$patch" ||
			die "$patch does not apply to $tree"
	done <"$TOOL/patches/series"
}

stage_overlay() {
	local tree=$1 stage=$2 dir from

	for dir in "${OVERLAY_DIRS[@]}"; do
		[[ ! -d $TOP/$dir ]] || cp -a "$TOP/$dir" "$stage/"
	done
	if [[ -f $TOP/MAINTAINERS ]]; then
		from=$(original "$tree" MAINTAINERS)
		cp -p "$from" "$stage/MAINTAINERS"
		merge_maintainers "$TOP/MAINTAINERS" "$from" >"$stage/MAINTAINERS"
	fi
	stage_patches "$tree" "$stage"
}

same_file() {
	cmp -s "$1" "$2" && [[ $(stat -c %a "$1") == $(stat -c %a "$2") ]]
}

# keep TREE PATH: remember what PATH was, before its first change.
keep() {
	local kept=$1/$STATE/orig/$2

	[[ ! -f $kept ]] || return 0
	! grep -qxF "$2" "$1/$STATE/added" || return 0
	if [[ -f $1/$2 ]]; then
		mkdir -p "${kept%/*}"
		cp -p "$1/$2" "$kept.new"
		mv "$kept.new" "$kept"
	else
		echo "$2" >>"$1/$STATE/added"
	fi
}

# The new time stamp makes "make" notice; the rename keeps hard links apart.
put() {
	mkdir -p "$(dirname "$2")"
	cp --preserve=mode "$1" "$2.uprobes-new"
	mv -f "$2.uprobes-new" "$2"
}

# undo TREE PATH: as it was before us.
undo() {
	local tree=$1 path=$2

	if [[ -f $tree/$STATE/orig/$path ]]; then
		put "$tree/$STATE/orig/$path" "$tree/$path"
		rm "$tree/$STATE/orig/$path"
		return
	fi
	rm -f "$tree/$path"
	(cd "$tree" && rmdir -p --ignore-fail-on-non-empty "$(dirname "$path")" 2>/dev/null) || true
	grep -vxF "$path" "$tree/$STATE/added" >"$tree/$STATE/added.new" || true
	mv "$tree/$STATE/added.new" "$tree/$STATE/added"
}

changed_paths() {
	[[ -d $1/$STATE ]] || return 0
	cat "$1/$STATE/added"
	[[ ! -d $1/$STATE/orig ]] || find "$1/$STATE/orig" -type f -printf '%P\n'
}

overlay_apply() {
	local tree=$1 stage path removed=$TOOL/patches/removed

	check_kernel_tree "$tree"
	stage=$(mktemp -d)
	# shellcheck disable=SC2064 # this stage, whatever is staged later
	trap "rm -rf '$stage'" EXIT
	stage_overlay "$tree" "$stage"
	mkdir -p "$tree/$STATE"
	touch "$tree/$STATE/added"
	while read -r path; do
		[[ -f $stage/$path ]] ||
			{ [[ -f $removed ]] && grep -qxF "$path" "$removed"; } ||
			undo "$tree" "$path"
	done < <(changed_paths "$tree")
	while read -r path; do
		! same_file "$stage/$path" "$tree/$path" || continue
		keep "$tree" "$path"
		put "$stage/$path" "$tree/$path"
	done < <(find "$stage" -type f -printf '%P\n')
	[[ -f $removed ]] || return 0
	while read -r path; do
		original "$tree" "$path" >/dev/null ||
			die "patches/removed: the tree has no $path"
		[[ -f $tree/$path ]] || continue
		keep "$tree" "$path"
		rm -f "$tree/$path"
	done < <(grep -v '^#' "$removed")
}

overlay_revert() {
	local path

	check_kernel_tree "$1"
	[[ -d $1/$STATE ]] || die "$1: our files are not in this tree"
	while read -r path; do
		undo "$1" "$path"
	done < <(changed_paths "$1")
	rm -r "${1:?}/$STATE"
}
