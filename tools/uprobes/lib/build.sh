# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# From the packaged source to a kernel and a guest image.
#
# $CACHE/linux is the pristine source, $CACHE/tree the same with our files over
# it (hard links: the overlay never writes into a file that was there).

TREE=$CACHE/tree
SOURCE_TARBALL=/usr/src/$SOURCE_PACKAGE.tar.xz

# Fixed, so that ccache and two builds of one source agree.
export KBUILD_BUILD_TIMESTAMP='2024-11-17 00:00:00 UTC'
export KBUILD_BUILD_USER=uprobes KBUILD_BUILD_HOST=uprobes
export KCONFIG_NOTIMESTAMP=1

# What a kernel is for, unless it is for our own tests and the demo: a file of that
# name in config/. And is it the kernel as it is packaged, to compare with?
KIND=
STOCK=0

load_arch() {
	[[ $1 =~ ^[a-z0-9_]+$ && -f $TOOL/arch/$1 ]] ||
		die "no such architecture: $1 (there are: $(ls "$TOOL/arch"))"
	TARGET_SOURCES=()
	# shellcheck source=tools/uprobes/arch/x86_64
	source "$TOOL/arch/$1"
	ARCH=$1
	FLAVOUR=$ARCH${KIND:+-$KIND}
	SOURCE=$TREE
	MEMORY=512
	if ((STOCK)); then
		FLAVOUR+=-stock
		SOURCE=$CACHE/linux
	fi
	if ((DEBUG)); then
		FLAVOUR+=-debug
		IMAGE=$DEBUG_IMAGE
		MEMORY=1024
	fi
	BUILD=$CACHE/build/$FLAVOUR
	PROGRAMS=$CACHE/programs/$FLAVOUR
	INITRD=$CACHE/programs/$FLAVOUR.cpio
}

has_guests() (
	load_arch "$1"
	[[ -n $IMAGE ]]
)

kmake() {
	make -C "$SOURCE" O="$BUILD" ARCH="$KERNEL_ARCH" -s -j"$(nproc)" \
		CROSS_COMPILE="$CROSS_COMPILE" HOSTCC="ccache gcc" \
		CC="ccache $CROSS_COMPILE${COMPILER:-gcc}" "$@"
}

unpack_source() {
	# The dates in the package are older than what was built from the last.
	rm -rf "$CACHE"/{linux,linux.new,tree,tree.new,stamps,build}
	mkdir -p "$CACHE/linux.new"
	tar -C "$CACHE/linux.new" --strip-components=1 -xf "$SOURCE_TARBALL"
	mv "$CACHE/linux.new" "$CACHE/linux"
	cp -al "$CACHE/linux" "$CACHE/tree.new"
	mv "$CACHE/tree.new" "$TREE"
}

config_fragments() {
	if [[ -z $IMAGE ]]; then
		echo "$TOOL/config/objects"
		return
	fi
	printf '%s\n' "$TOOL/config/common" "$TOOL/config/$ARCH" \
		"$TOOL/config/${KIND:-engine}"
	((!DEBUG)) || printf '%s\n' "$TOOL/config/debug" "$TOOL/config/$ARCH-debug"
}

# An option that allnoconfig could not keep is an error, not a surprise.
configure_kernel() {
	local option lost=()

	mkdir -p "$BUILD"
	config_fragments | xargs cat | grep '^CONFIG_' >"$BUILD/wanted.config"
	kmake KCONFIG_ALLCONFIG="$BUILD/wanted.config" allnoconfig
	while read -r option; do
		grep -qxF "$option" "$BUILD/.config" || lost+=("$option")
	done <"$BUILD/wanted.config"
	((${#lost[@]} == 0)) ||
		die "the configuration lost: ${lost[*]}"
}

build_kernel() {
	local targets=(vmlinux modules)

	[[ $IMAGE == vmlinux ]] || targets+=("${IMAGE##*/}")
	kmake "${targets[@]}"
}

# Test modules are built in a copy: the tree stays clean.
build_modules() {
	local from=$TREE/tools/testing/selftests/uprobes/test_modules
	local copy=$PROGRAMS/test_modules

	mkdir -p "$PROGRAMS/modules"
	rm -rf "$PROGRAMS"/modules/*.ko "$copy"
	if [[ -d $from ]]; then
		cp -a "$from" "$copy"
		kmake M="$copy" modules
		cp "$copy"/*.ko "$PROGRAMS/modules/"
	fi
	find "$BUILD/samples" -name '*.ko' -exec cp -t "$PROGRAMS/modules" {} +
}

build_programs() {
	local tests=$TREE/tools/testing/selftests/uprobes
	local out=$PROGRAMS/tests cc="${CROSS_COMPILE}gcc"

	rm -rf "$out"
	mkdir -p "$out" "$PROGRAMS/bin"
	: >"$out/LIST"
	if [[ -f $tests/Makefile ]]; then
		make -C "$tests" -j"$(nproc)" OUTPUT="$out" CC="$cc" all
		make -C "$tests" OUTPUT="$out" CC="$cc" -s emit_tests | sed 's/.*://' \
			>"$out/LIST"
	fi
	if [[ -f $TREE/tools/uprobes/Makefile ]]; then
		make -C "$TREE/tools/uprobes" OUTPUT="$PROGRAMS/bin" CC="$cc" \
			"${PROGRAM_FLAGS[@]}" all
	fi
	build_modules
}

# What a program of another architecture wants to be loaded with: nothing, if it
# is none.
needed_by() {
	{ "${CROSS_COMPILE}readelf" -ld "$1" 2>/dev/null || true; } |
		sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p
			s/.*program interpreter: \(.*\)\]/\1/p'
}

# Where a library is: the cross compiler's, our own, or one from a package.
find_library() {
	local file

	for file in "$LIBRARIES/$1" "$PROGRAMS/bin/$1"; do
		[[ ! -e $file ]] || { echo "$file"; return; }
	done
	file=$(find "${TARGET_PACKAGES[@]/#/$CACHE/packages/}" -name "$1" -print -quit)
	[[ $file ]] || die "there is no $1"
	echo "$file"
}

# The loader has a path, the others are all in one folder.
add_cross_libraries() {
	local root=$1 file from name new=1

	mkdir -p "$root/lib"
	while ((new)); do
		new=0
		while read -r name; do
			file=$root/lib/$name
			[[ $name != /* ]] || file=$root$name
			[[ ! -e $file ]] || continue
			mkdir -p "${file%/*}"
			from=$(find_library "${name##*/}")
			cp -L "$from" "$file"
			new=1
		done < <(find "$root/uprobes/bin" "$root/uprobes/tests" \
			"$root/lib" -type f -perm /444 -print0 |
			while IFS= read -r -d '' file; do
				# Not all of them are programs
				needed_by "$file" || true
			done | sort -u)
	done
}

# The shared libraries that the programs in DIR need, under their own paths.
add_libraries() {
	local root=$1 lib libs

	if [[ -n $LIBRARIES ]]; then
		add_cross_libraries "$root"
		return
	fi
	# Most are static, which ldd regrets
	libs=$(find "$root/uprobes/bin" "$root/uprobes/tests" -type f \
		-perm /111 -exec ldd {} \; 2>/dev/null)
	! grep 'not found' <<<"$libs" || die "libraries are missing"
	grep -o '/[^ ]*' <<<"$libs" | sort -u |
		while read -r lib; do
			[[ -f $lib ]] || continue
			mkdir -p "$root${lib%/*}"
			cp -L "$lib" "$root$lib"
		done
}

# A guest image begins with what runs jobs,
new_root() {
	rm -rf "$1"
	mkdir -p "$1"/{bin,dev,proc,sys,tmp,uprobes}
	cp "$BUSYBOX" "$1/bin/"
	cp -a "$TOOL/guest" "$1/uprobes/jobs"
	mv "$1/uprobes/jobs/init" "$1/init"
}

# and ends as an archive.
pack_root() {
	(cd "$1" && find . | cpio -o -H newc -R 0:0 --quiet) >"$INITRD.new"
	mv "$INITRD.new" "$INITRD"
}

build_image() {
	local root=$PROGRAMS/root

	new_root "$root"
	cp -a "$PROGRAMS/bin" "$PROGRAMS/modules" "$PROGRAMS/tests" \
		"$root/uprobes/"
	((${#GUEST_PROGRAMS[@]} == 0)) ||
		cp "${GUEST_PROGRAMS[@]/#/$CACHE/packages/}" "$root/uprobes/bin/"
	add_libraries "$root"
	pack_root "$root"
}

TREE_STEPS=2
BUILD_STEPS=$((TREE_STEPS + 4))

# Overlaying is never skipped: it takes a second, and the tree may have been
# touched.
prepare_tree() {
	lock_builds
	need_packages "$@"
	SOURCE_VERSION=$(dpkg-query -Wf '${Version}' "$SOURCE_PACKAGE")
	[[ -d $TREE ]] || rm -f "$CACHE/stamps/source"
	step_once source "$SOURCE_VERSION" "unpacking the kernel source" \
		unpack_source
	step "laying our files over it" overlay_apply "$TREE"
}

# What the kernel is made of: paths below $TOP that exist.
kernel_inputs() {
	local path paths=(tools/uprobes/{arch,config,lib})

	((STOCK)) || paths+=(arch include kernel samples tools/uprobes/patches)
	for path in "${paths[@]}"; do
		[[ ! -e $TOP/$path ]] || echo "$path"
	done
}

# Configures and builds it, unless that has been done. Sets KERNEL_KEY.
build_kernel_once() {
	# shellcheck disable=SC2046 # one word a path
	KERNEL_KEY=$SOURCE_VERSION-$(cd "$TOP" && content_hash $(kernel_inputs))
	[[ -f $BUILD/$IMAGE ]] ||
		rm -f "$CACHE/stamps/"{config,kernel}-"$FLAVOUR"
	step_once "config-$FLAVOUR" "$KERNEL_KEY" "configuring the kernel" \
		configure_kernel
	step_once "kernel-$FLAVOUR" "$KERNEL_KEY" "building the kernel" \
		build_kernel
}

# Everything that a guest needs, and no more than has changed.
build_all() {
	local programs

	prepare_tree "${PACKAGES[@]}" "${ARCH_PACKAGES[@]}"
	fetch_packages "${GUEST_PROGRAMS[@]%%/*}"
	unpack_missing "${TARGET_PACKAGES[@]}"
	make_missing "${TARGET_SOURCES[@]}"
	build_kernel_once
	programs=$KERNEL_KEY-$(cd "$TOP" && content_hash tools)
	[[ -f $INITRD ]] ||
		rm -f "$CACHE/stamps/"{programs,image}-"$FLAVOUR"
	step_once "programs-$FLAVOUR" "$programs" \
		"building programs and modules" build_programs
	step_once "image-$FLAVOUR" "$programs" "packing the guest image" \
		build_image
	unlock_builds
}

# The engine, and what its architecture has for it: any warning is an error.
build_objects() {
	local objects

	configure_kernel
	objects=$(cd "$TREE" && find kernel "arch/$ARCH_FOLDER" -name tests \
		-prune -o -name 'u*probes*.c' -print | sed 's/c$/o/')
	# shellcheck disable=SC2086 # one word an object
	(cd "$BUILD" && rm -f $objects)
	# shellcheck disable=SC2086
	kmake W=1e $objects
}

run_build() {
	local arch arches=("$ARCH") packages=("${PACKAGES[@]}")

	[[ $ARCH != all ]] || mapfile -t arches < <(ls "$TOOL/arch")
	for arch in "${arches[@]}"; do
		load_arch "$arch"
		packages+=("${ARCH_PACKAGES[@]}")
	done
	STEPS=$((TREE_STEPS + ${#arches[@]}))
	prepare_tree "${packages[@]}"
	for arch in "${arches[@]}"; do
		load_arch "$arch"
		BUILD=$CACHE/build/objects-$arch
		step "compiling the engine for $arch" build_objects
	done
}
